/* Sums of critical paths, and how they are handed over. SPDX-License-Identifier: MIT */
#include "path_sums.h"

#include <string.h>

#include "hotpath.h"

/* Not longer than a few copies of sums take: the owner of a lock may have lost its CPU, and the host must go on. */
#define PATIENCE 2000u

#define PUT(place, value) __atomic_store_n(&(place), (value), __ATOMIC_RELAXED)
#define GET(place) __atomic_load_n(&(place), __ATOMIC_RELAXED)
#define ADD(place, value) __atomic_fetch_add(&(place), (value), __ATOMIC_RELAXED)

static bool try_lock(uint32_t *lock)
{
    for (uint32_t turn = 0; turn < PATIENCE; turn++) {
        uint32_t is_taken = 0;
        if (GET(*lock) == 0 &&
            __atomic_compare_exchange_n(lock, &is_taken, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return true;
    }
    return false;
}

static void unlock(uint32_t *lock) { __atomic_store_n(lock, 0, __ATOMIC_RELEASE); }

static uint32_t mix(uint64_t number) { return (uint32_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> 32); }

/* ------------------------------------------------------------------------------------------------------- keys */

/* The keys with this hash, one by one, beginning with a walk of 0. False: no more. */
static bool next_key(const struct hp_paths *paths, uint32_t hash, uint32_t *walk, uint32_t *ret_key)
{
    const uint32_t place = (hash + *walk) & (HP_PATH_BUCKETS - 1);
    /* Acquire pairs with add_key: the key is filled in. */
    const uint32_t number = __atomic_load_n(&paths->buckets[place], __ATOMIC_ACQUIRE);
    *ret_key = number - 1;
    ++*walk;
    return number != 0 && number <= HP_PATH_KEYS;
}

/* Under the lock. There are always free buckets: there are fewer keys. */
static uint32_t add_key(struct hp_paths *paths, uint32_t hash, const struct hp_path_key *key)
{
    const uint32_t number = paths->used;
    uint32_t walk = 0, other;
    paths->keys[number] = *key;
    while (next_key(paths, hash, &walk, &other))
        continue;
    __atomic_store_n(&paths->used, number + 1, __ATOMIC_RELEASE); /* pairs with readers of keys */
    __atomic_store_n(&paths->buckets[(hash + walk - 1) & (HP_PATH_BUCKETS - 1)], (uint16_t)(number + 1),
                     __ATOMIC_RELEASE);
    return number;
}

static uint32_t find_site(const struct hp_paths *paths, uint32_t site)
{
    uint32_t walk = 0, key;
    while (next_key(paths, mix(site), &walk, &key))
        if (paths->keys[key].kind == HP_PATH_KEY_SITE && paths->keys[key].site == site)
            return key;
    return HP_PATH_OTHER;
}

static __attribute__((noinline)) uint32_t add_site(struct hp_paths *paths, uint32_t site)
{
    if (GET(paths->sites) >= HP_PATH_SITES || !try_lock(&paths->lock))
        return HP_PATH_OTHER;
    uint32_t key = find_site(paths, site);
    if (key == HP_PATH_OTHER && paths->sites < HP_PATH_SITES) {
        key = add_key(paths, mix(site), &(struct hp_path_key){.kind = HP_PATH_KEY_SITE, .site = site});
        PUT(paths->sites, paths->sites + 1);
    }
    unlock(&paths->lock);
    return key;
}

uint32_t hp_path_site_key(struct hp_paths *paths, uint32_t site)
{
    if (site == HP_SITE_OTHER)
        return HP_PATH_OTHER;
    const uint32_t key = find_site(paths, site);
    return HOTPATH_LIKELY_(key != HP_PATH_OTHER) ? key : add_site(paths, site);
}

/* ---------------------------------------------------------------------------------------- keys of segments */

static uint32_t hash_segment(const struct hp_path_ending *ending)
{
    return mix((UINT64_C(0x3333) << 44 | (uint64_t)ending->caller << 3 | ending->kind) * 31 + ending->tid);
}

static uint32_t find_segment(const struct hp_paths *paths, const struct hp_path_ending *ending)
{
    uint32_t walk = 0, number;
    while (next_key(paths, hash_segment(ending), &walk, &number)) {
        const struct hp_path_key *key = &paths->keys[number];
        if (key->kind == HP_PATH_KEY_SEGMENT && key->wait == ending->kind && key->caller == ending->caller &&
            key->tid == ending->tid)
            return number;
    }
    return HP_PATH_OTHER;
}

static uint32_t make_segment(struct hp_paths *paths, const struct hp_path_ending *ending, uint32_t most)
{
    uint32_t key = find_segment(paths, ending);
    if (key != HP_PATH_OTHER || GET(paths->sites) >= most || !try_lock(&paths->lock))
        return key;
    key = find_segment(paths, ending);
    if (key == HP_PATH_OTHER && paths->sites < most) {
        key = add_key(paths, hash_segment(ending),
                      &(struct hp_path_key){.kind = HP_PATH_KEY_SEGMENT,
                                            .site = HP_SITE_ROOT,
                                            .wait = ending->kind,
                                            .caller = ending->caller,
                                            .tid = ending->tid});
        PUT(paths->sites, paths->sites + 1);
    }
    unlock(&paths->lock);
    return key;
}

uint32_t hp_path_segment_key(struct hp_paths *paths, const struct hp_path_ending *ending)
{
    const uint32_t own = make_segment(paths, ending, HP_PATH_THREAD_KEYS);
    return HOTPATH_LIKELY_(own != HP_PATH_OTHER)
               ? own
               : make_segment(paths, &(struct hp_path_ending){ending->kind, ending->caller, 0}, HP_PATH_SITES);
}

/* ------------------------------------------------------------------------------------------- keys of waits */

static uint32_t hash_wait(const struct hp_path_waited *waited)
{
    uint64_t hash = (uint64_t)waited->site << 8 | waited->kind;
    hash = (hash * 31 + waited->place) * 31 + waited->caller;
    for (const char *at = waited->name; *at != '\0'; at++)
        hash = hash * 31 + (unsigned char)*at;
    return mix(hash ^ UINT64_C(0x5555) << 40);
}

static bool has_name(const char *base, uint32_t offset, const char *name)
{
    return offset == 0 ? name[0] == '\0'
                       : strcmp(((const struct hp_string *)(const void *)(base + offset))->bytes, name) == 0;
}

uint32_t hp_path_find_wait(const struct hp_paths *paths, const char *base, const struct hp_path_waited *waited)
{
    uint32_t walk = 0, number;
    while (next_key(paths, hash_wait(waited), &walk, &number)) {
        const struct hp_path_key *key = &paths->keys[number];
        if (key->kind == HP_PATH_KEY_WAIT && key->site == waited->site && key->wait == waited->kind &&
            key->place == waited->place && key->caller == waited->caller && has_name(base, key->name, waited->name))
            return number;
    }
    return 0;
}

uint32_t hp_path_make_wait(struct hp_paths *paths, const char *base, const struct hp_path_waited *waited,
                           uint32_t name)
{
    if (!try_lock(&paths->lock))
        return 0;
    uint32_t key = hp_path_find_wait(paths, base, waited);
    if (key == 0 && paths->waits < HP_PATH_WAITS) {
        key = add_key(paths, hash_wait(waited),
                      &(struct hp_path_key){.kind = HP_PATH_KEY_WAIT,
                                            .site = waited->site,
                                            .wait = waited->kind,
                                            .name = name,
                                            .place = waited->place,
                                            .caller = waited->caller});
        PUT(paths->waits, paths->waits + 1);
    }
    unlock(&paths->lock);
    return key;
}

/* ----------------------------------------------------------------------------------------------------- traces */

static uint32_t set_of(uint64_t object) { return mix(object) & (HP_PATH_SETS - 1); }

static struct hp_path_trace *trace_at(char *base, uint32_t offset)
{
    return (struct hp_path_trace *)(void *)(base + offset);
}

/* In a locked set. */
static struct hp_path_trace *find_trace(struct hp_paths *paths, char *base, uint64_t object)
{
    const uint32_t *traces = paths->traces[set_of(object)];
    for (uint32_t way = 0; way < HP_PATH_WAYS && traces[way] != 0; way++)
        if (trace_at(base, traces[way])->object == object)
            return trace_at(base, traces[way]);
    return NULL;
}

/* Whether `a` is needed less than `b`: nobody waits for it, or it is older. */
static bool is_lesser(const struct hp_path_trace *a, const struct hp_path_trace *b)
{
    const bool is_awaited = a->waiters != 0, is_other_awaited = b->waiters != 0;
    return is_awaited != is_other_awaited ? is_other_awaited : a->left < b->left;
}

static struct hp_path_trace *reuse_trace(struct hp_paths *paths, char *base, uint64_t object)
{
    const uint32_t *traces = paths->traces[set_of(object)];
    struct hp_path_trace *least = NULL;
    for (uint32_t way = 0; way < HP_PATH_WAYS && traces[way] != 0; way++)
        if (least == NULL || is_lesser(trace_at(base, traces[way]), least))
            least = trace_at(base, traces[way]);
    if (least == NULL)
        return NULL;
    PUT(least->object, object);
    PUT(least->left, 0);
    PUT(least->waiters, 0);
    return least;
}

bool hp_path_has_room(const struct hp_paths *paths, uint64_t object)
{
    return GET(paths->traces[set_of(object)][HP_PATH_WAYS - 1]) == 0;
}

/* Acquire pairs with hp_path_make_trace: the memory is a trace. */
static const struct hp_path_trace *see_trace(const struct hp_paths *paths, const char *base, uint64_t object)
{
    const uint32_t *traces = paths->traces[set_of(object)];
    for (uint32_t way = 0; way < HP_PATH_WAYS; way++) {
        const uint32_t offset = __atomic_load_n(&traces[way], __ATOMIC_ACQUIRE);
        const struct hp_path_trace *trace = (const struct hp_path_trace *)(const void *)(base + offset);
        if (offset == 0)
            return NULL;
        if (GET(trace->object) == object)
            return trace;
    }
    return NULL;
}

bool hp_path_peek(const struct hp_paths *paths, const char *base, uint64_t object, struct hp_path_peek *ret_peek)
{
    const struct hp_path_trace *trace = see_trace(paths, base, object);
    if (trace == NULL || GET(trace->left) == 0)
        return false;
    *ret_peek = (struct hp_path_peek){GET(trace->left), GET(trace->site), GET(trace->tid), GET(trace->caller)};
    return true;
}

bool hp_path_is_awaited(const struct hp_paths *paths, const char *base, uint64_t object)
{
    const struct hp_path_trace *trace = see_trace(paths, base, object);
    return trace != NULL && GET(trace->waiters) != 0;
}

struct hp_path_trace *hp_path_take_trace(struct hp_paths *paths, char *base, uint64_t object)
{
    if (!try_lock(&paths->set_locks[set_of(object)])) {
        ADD(paths->lost, 1);
        return NULL;
    }
    struct hp_path_trace *trace = find_trace(paths, base, object);
    if (trace == NULL)
        hp_path_give_trace(paths, object);
    return trace;
}

struct hp_path_trace *hp_path_make_trace(struct hp_paths *paths, char *base, uint64_t object, uint32_t spare)
{
    const uint32_t set = set_of(object);
    if (!try_lock(&paths->set_locks[set])) {
        ADD(paths->lost, 1);
        return NULL;
    }
    struct hp_path_trace *trace = find_trace(paths, base, object);
    for (uint32_t way = 0; trace == NULL && spare != 0 && way < HP_PATH_WAYS; way++)
        if (paths->traces[set][way] == 0) {
            trace = trace_at(base, spare);
            PUT(trace->object, object);
            __atomic_store_n(&paths->traces[set][way], spare, __ATOMIC_RELEASE);
        }
    if (trace == NULL)
        trace = reuse_trace(paths, base, object);
    if (trace == NULL) {
        ADD(paths->lost, 1);
        hp_path_give_trace(paths, object);
    }
    return trace;
}

void hp_path_give_trace(struct hp_paths *paths, uint64_t object) { unlock(&paths->set_locks[set_of(object)]); }

/* ----------------------------------------------------------------------------------------------------- steps */

/* The turns of others may be overwritten while a reader looks at them: `number` tells. */
static void note_segment(struct hp_paths *paths, uint32_t tid, uint32_t key, uint64_t now)
{
    const uint32_t turn = ADD(paths->segment_count, 1);
    struct hp_path_segment *segment = &paths->segments[turn & (HP_PATH_SEGMENTS - 1)];
    PUT(segment->number, 0);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    PUT(segment->end, now);
    PUT(segment->tid, tid);
    PUT(segment->key, key);
    __atomic_store_n(&segment->number, turn + 1, __ATOMIC_RELEASE);
}

/* Of a thread with too many nodes it is not known what is outside of all zones: nothing, then. */
void hp_path_end_segment(struct hp_paths *paths, struct hp_path_thread *thread, uint32_t tid, uint32_t key,
                         uint64_t now)
{
    const uint32_t outside = hp_path_site_key(paths, HP_SITE_ROOT);
    const uint64_t ticks = thread->own[outside] - thread->segment;
    if (key == HP_PATH_OTHER || outside == HP_PATH_OTHER || thread->last_node != 0)
        return;
    thread->segment = thread->own[outside];
    PUT(thread->sums[outside].ticks, thread->sums[outside].ticks - ticks);
    PUT(thread->sums[key].ticks, thread->sums[key].ticks + ticks);
    note_segment(paths, tid, key, now);
}

/* A copy of the keys in use. Those that are new since then are 0 in it. */
void hp_path_leave(const struct hp_paths *paths, const struct hp_path_thread *thread, struct hp_path_trace *trace,
                   const struct hp_path_waker *waker, uint64_t now)
{
    const uint32_t keys = __atomic_load_n(&paths->used, __ATOMIC_ACQUIRE);
    for (uint32_t key = 0; key < keys; key++) {
        trace->sums[key].ticks = thread->sums[key].ticks + thread->own[key];
        trace->sums[key].more = thread->sums[key].more;
    }
    trace->keys = keys;
    trace->arrived = thread->arrived;
    trace->began = thread->began;
    PUT(trace->site, waker->site);
    PUT(trace->tid, waker->tid);
    PUT(trace->caller, waker->caller);
    PUT(trace->period, waker->period);
    PUT(trace->left, now); /* hp_path_peek reads it without the lock, and then again with it */
    memcpy(trace->name, waker->name, sizeof trace->name);
}

/* Waits may be inside others: only what none of them has covered. */
static uint64_t uncovered(const struct hp_path_thread *thread, const struct hp_path_wait *wait)
{
    const uint64_t since = thread->judged > wait->since ? thread->judged : wait->since;
    return wait->now > since ? wait->now - since : 0;
}

bool hp_path_is_known(const struct hp_path_thread *thread, const struct hp_path_wait *wait, uint64_t left)
{
    return thread->taken >= left && thread->arrived >= wait->since;
}

/* The wait's is the time on the path in which this thread waited and the path was the waker's. */
static void count_wait(struct hp_path_thread *thread, const struct hp_path_trace *trace,
                       const struct hp_path_wait *wait)
{
    const uint64_t since = trace->arrived > wait->since ? trace->arrived : wait->since;
    struct hp_path_sum *latency = &thread->sums[HP_PATH_WAKE_UP], *sum = &thread->sums[wait->key];
    PUT(latency->ticks, latency->ticks + (wait->now > trace->left ? wait->now - trace->left : 0));
    PUT(latency->more, latency->more + 1);
    if (wait->key == 0)
        return;
    PUT(sum->ticks, sum->ticks + (trace->left > since ? trace->left - since : 0));
    PUT(sum->more, sum->more + 1);
}

static void note_wait(struct hp_paths *paths, struct hp_path_thread *thread, const struct hp_path_trace *trace,
                      const struct hp_path_wait *wait)
{
    const uint64_t ticks = uncovered(thread, wait);
    ADD(paths->keys[wait->site_key].known, ticks);
    ADD(paths->keys[wait->site_key].latency, wait->now > trace->left ? wait->now - trace->left : 0);
    PUT(thread->known, thread->known + ticks);
    PUT(thread->waker_tid, trace->tid);
    PUT(thread->waker_kind, wait->kind);
    memcpy(thread->waker_name, trace->name, sizeof thread->waker_name);
}

void hp_path_adopt(struct hp_paths *paths, struct hp_path_thread *thread, const struct hp_path_trace *trace,
                   const struct hp_path_wait *wait)
{
    const uint32_t keys = __atomic_load_n(&paths->used, __ATOMIC_ACQUIRE);
    PUT(thread->sequence, thread->sequence + 1);
    __atomic_thread_fence(__ATOMIC_RELEASE); /* both pair with hp_snapshot_path */
    for (uint32_t key = 0; key < keys; key++) {
        const bool is_in = key < trace->keys;
        PUT(thread->sums[key].ticks, (is_in ? trace->sums[key].ticks : 0) - thread->own[key]);
        PUT(thread->sums[key].more, is_in ? trace->sums[key].more : 0);
    }
    thread->segment = thread->own[hp_path_site_key(paths, HP_SITE_ROOT)]; /* what was before is not on the path */
    count_wait(thread, trace, wait);
    note_wait(paths, thread, trace, wait);
    PUT(thread->began, trace->began);
    thread->arrived = thread->judged = wait->now;
    thread->taken = trace->left;
    __atomic_store_n(&thread->sequence, thread->sequence + 1, __ATOMIC_RELEASE);
    ADD(paths->taken, 1);
}

#define PERIODS_TO_END 2u

bool hp_path_was_asked(const struct hp_path_trace *trace, const struct hp_path_wait *wait)
{
    return trace->period != 0 && trace->left - wait->since <= PERIODS_TO_END * trace->period;
}

void hp_path_stay(struct hp_paths *paths, struct hp_path_thread *thread, const struct hp_path_wait *wait)
{
    const uint64_t ticks = uncovered(thread, wait);
    ADD(paths->keys[wait->site_key].known, ticks);
    PUT(thread->known, thread->known + ticks);
    thread->judged = wait->now;
    ADD(paths->taken, 1);
}

void hp_path_adopt_none(struct hp_paths *paths, struct hp_path_thread *thread, const struct hp_path_wait *wait)
{
    const uint64_t ticks = uncovered(thread, wait);
    struct hp_path_sum *sum = &thread->sums[wait->site_key];
    if (ticks == 0)
        return;
    PUT(sum->more, sum->more + ticks);
    PUT(thread->unknown, thread->unknown + ticks);
    thread->judged = wait->now;
    ADD(paths->unknown, 1);
}
