/*
 * Instances of objects, found by address. Each thread caches those it used last. Behind the caches is one table,
 * changed under the lock and read without it: its chains may change during a search. So the address of what is
 * found is checked, a search is bounded, and a reader that finds nothing searches again under the lock.
 *
 * The first user in a session resets the table: instances of an earlier session become free, and the state in which
 * a forked child inherited it does not matter.
 *
 * SPDX-License-Identifier: MIT
 */
#include "instances.h"

#include <errno.h>
#include <string.h>

#include "holding.h"
#include "thread_context.h"

#define LONGEST_CHAIN 64u

static uint32_t *bucket_of(const void *address, uint32_t class_)
{
    return &hp_runtime->instance_buckets[hp_instance_hash(address, class_) >> 32 & (HP_INSTANCE_BUCKETS - 1)];
}

static bool is_known_as(const struct hp_known_object *known, const void *address, uint32_t class_)
{
    return __atomic_load_n(&known->address, __ATOMIC_RELAXED) == (uintptr_t)address &&
           __atomic_load_n(&known->class_, __ATOMIC_RELAXED) == class_;
}

/* The number of an instance, or 0. Under the lock the search is unbounded, so what is there is found. */
static uint32_t find(const void *address, uint32_t class_, uint32_t steps)
{
    uint32_t number = __atomic_load_n(bucket_of(address, class_), __ATOMIC_ACQUIRE);
    for (; number != 0 && steps > 0; steps--) {
        const struct hp_known_object *known = hp_object_known(number);
        if (is_known_as(known, address, class_))
            return number;
        number = __atomic_load_n(&known->next, __ATOMIC_ACQUIRE);
    }
    return 0;
}

/* Remembers that the session with this number has no space for more instances, so that no thread tries again. */
static void set_full(uint32_t class_, uint32_t epoch)
{
    __atomic_store_n(&hp_object_known(class_)->full, epoch, __ATOMIC_RELAXED);
}

static bool is_full(uint32_t class_, uint32_t epoch)
{
    return __atomic_load_n(&hp_object_known(class_)->full, __ATOMIC_RELAXED) == epoch;
}

/* --------------------------------------------------------------------------------------------- under the lock */

static void link_in(uint32_t number, const void *address, uint32_t class_)
{
    struct hp_known_object *known = hp_object_known(number);
    uint32_t *bucket = bucket_of(address, class_);
    __atomic_store_n(&known->class_, class_, __ATOMIC_RELAXED);
    __atomic_store_n(&known->address, (uintptr_t)address, __ATOMIC_RELAXED);
    __atomic_store_n(&known->next, *bucket, __ATOMIC_RELAXED);
    __atomic_store_n(bucket, number, __ATOMIC_RELEASE); /* pairs with find */
}

static void take_out(uint32_t number)
{
    struct hp_known_object *known = hp_object_known(number);
    uint32_t *link = bucket_of((const void *)known->address, known->class_);
    while (*link != 0 && *link != number)
        link = &hp_object_known(*link)->next;
    if (*link == number)
        __atomic_store_n(link, known->next, __ATOMIC_RELEASE);
    __atomic_store_n(&known->address, 0, __ATOMIC_RELAXED);
}

/* Appends it to the ended instances of its class. */
static void queue_ended(uint32_t number)
{
    struct hp_known_object *class_ = hp_object_known(hp_object_known(number)->class_);
    __atomic_store_n(&hp_object_known(number)->next, 0, __ATOMIC_RELAXED);
    if (class_->ended_last != 0)
        __atomic_store_n(&hp_object_known(class_->ended_last)->next, number, __ATOMIC_RELAXED);
    else
        class_->ended_first = number;
    class_->ended_last = number;
}

/* The instance that ended first, or 0. */
static uint32_t oldest_ended(struct hp_known_object *class_)
{
    const uint32_t number = class_->ended_first;
    if (number != 0)
        class_->ended_first = hp_object_known(number)->next;
    if (class_->ended_first == 0)
        class_->ended_last = 0;
    return number;
}

static void begin_session(void)
{
    struct hp_recorder *recorder = hp_runtime;
    if (recorder->instances_epoch == hp_epoch())
        return;
    for (size_t at = 0; at < HP_INSTANCE_BUCKETS; at++)
        __atomic_store_n(&recorder->instance_buckets[at], 0, __ATOMIC_RELAXED);
    for (uint32_t number = recorder->instances; number != 0; number = hp_object_known(number)->older) {
        struct hp_known_object *class_ = hp_object_known(hp_object_known(number)->class_);
        class_->ended_first = class_->ended_last = 0;
    }
    for (uint32_t number = recorder->instances; number != 0; number = hp_object_known(number)->older) {
        __atomic_store_n(&hp_object_known(number)->address, 0, __ATOMIC_RELAXED);
        queue_ended(number);
    }
    recorder->instances_epoch = hp_epoch();
}

static uint32_t add_number(uint32_t site, const struct hp_kind_type *kind, struct hp_known_object *class_)
{
    const bool is_room =
        hp_runtime->instance_count < HP_MOST_INSTANCES && class_->instance_count < HP_MOST_OF_CLASS;
    const uint32_t number = is_room ? hp_object_new(site, kind) : 0;
    if (number != 0) {
        hp_object_known(number)->older = hp_runtime->instances;
        hp_runtime->instances = number;
        hp_runtime->instance_count++;
        class_->instance_count++;
    }
    return number;
}

/*
 * A number for a new instance: an unused one, else that of the instance that ended longest ago. 0: all are in use.
 */
static uint32_t free_number(uint32_t site, const struct hp_kind_type *kind, uint32_t class_)
{
    const uint32_t number = add_number(site, kind, hp_object_known(class_));
    return number != 0 ? number : oldest_ended(hp_object_known(class_));
}

static bool make_instance(struct hotpath_site *site, const struct hp_kind_type *kind, const void *address)
{
    const uint32_t class_ = HOTPATH_GET_(site->log);
    begin_session();
    uint32_t number = find(address, class_, HP_MOST_INSTANCES);
    if (number == 0 && (number = free_number(HOTPATH_GET_(site->id), kind, class_)) != 0)
        link_in(number, address, class_);
    return number != 0 && hp_object_write_instance(number, class_, address);
}

static void need_instance(struct hotpath_site *site, const struct hp_kind_type *kind, const void *address)
{
    struct hp_signals held;
    if (!hp_lock(&held))
        return;
    if (hp_runtime->gate != 0 && HOTPATH_GET_(site->log) != 0 && !make_instance(site, kind, address))
        set_full(HOTPATH_GET_(site->log), hp_epoch());
    hp_unlock(&held);
}

static void end_instance(const void *address, uint32_t class_, uint64_t ticks)
{
    begin_session();
    const uint32_t number = find(address, class_, HP_MOST_INSTANCES);
    if (number == 0)
        return;
    take_out(number);
    hp_object_write_end(number, ticks);
    queue_ended(number);
    set_full(class_, 0);
}

/* An instance that is used for the first time, or ends: done aside (hp_aside). */
struct request {
    struct hotpath_site *site;
    const struct hp_kind_type *kind;
    const void *address;
    uint64_t ended_ns;           /* 0: now */
    struct hp_instance_use *use; /* the result ... */
    bool is_begun;               /* ... if this is set */
};

/* The clock of the session at a moment of CLOCK_MONOTONIC that is not long ago. */
static uint64_t ticks_at(const struct hp_thread_context *context, uint64_t ns)
{
    const uint64_t ago = ns != 0 ? hp_clock_monotonic_ns() - ns : 0;
    return hp_now() - (uint64_t)((double)ago * (double)hp_ticks_per_ms(context) / 1e6);
}

static void end_aside(void *context)
{
    const struct request *request = context;
    struct hp_object_use use;
    struct hp_signals held;
    /* This gives the class a number, and checks the session. */
    if (!hp_object_begin(request->site, request->kind, &use))
        return;
    const uint64_t ticks = ticks_at(use.context, request->ended_ns);
    hp_object_end(&use);
    if (!hp_lock(&held))
        return;
    if (hp_runtime->gate != 0)
        end_instance(request->address, HOTPATH_GET_(request->site->log), ticks);
    hp_unlock(&held);
}

void hp_instance_ended(struct hotpath_site *site, const struct hp_kind_type *kind, const void *address, uint64_t ns)
{
    const int saved = errno;
    struct request request = {.site = site, .kind = kind, .address = address, .ended_ns = ns};
    if (address != NULL)
        hp_aside(end_aside, &request);
    errno = saved;
}

/* ------------------------------------------------------------------------------------------- the thread's cache */

/* The part of the instance, if its record still belongs to this address. */
static struct hp_part *own_part(const struct hp_object_use *class_, uint32_t number, const void *address)
{
    struct hp_part *part = number != 0 ? hp_object_part(class_->context, number, class_->part) : NULL;
    if (part == NULL)
        return NULL;
    const struct hp_object *object =
        (const struct hp_object *)(const void *)(class_->context->hot.base + part->object);
    const bool is_it = HOTPATH_GET_(object->key) == (uintptr_t)address &&
                       HOTPATH_GET_(object->class_) == class_->part->object &&
                       HOTPATH_GET_(object->state) == HP_OBJECT_LIVE;
    return is_it ? part : NULL;
}

/*
 * Instances of a logged class are never in the cache: so whatever happens to them takes the slow path, which writes
 * the log, and the fast path need not ask.
 */
static void remember(const struct hp_object_use *use, uint32_t class_, const void *address, struct hp_part *part)
{
    struct hp_thread_context *context = use->context;
    if (hp_parts_make_cache(context) && !hp_object_is_logged(class_))
        *hp_instance_entry(context->instances, address, class_) = (struct hp_cached_instance){
            .address = (uintptr_t)address, .part = part, .class_part = use->part, .class_ = class_};
}

static struct hp_part *find_part(const struct hp_object_use *use, uint32_t class_, const void *address)
{
    if (use->context->instances != NULL) {
        const struct hp_cached_instance *entry = hp_instance_entry(use->context->instances, address, class_);
        if (hp_instance_is_cached(use->context, entry, address, class_))
            return entry->part;
    }
    struct hp_part *part = own_part(use, find(address, class_, LONGEST_CHAIN), address);
    if (part != NULL)
        remember(use, class_, address, part);
    return part;
}

static bool is_in_session(uint32_t number, uint32_t epoch)
{
    return number != 0 && __atomic_load_n(&hp_object_known(number)->place, __ATOMIC_ACQUIRE) >> 32 == epoch;
}

/* Searches again after the instance was made. If the thread has no part of it, the session has no space for one. */
static struct hp_part *find_made(const struct hp_object_use *use, uint32_t class_, const void *address)
{
    struct hp_part *part = find_part(use, class_, address);
    const uint32_t number = part == NULL ? find(address, class_, LONGEST_CHAIN) : 0;
    if (is_in_session(number, use->context->hot.epoch) && hp_object_part(use->context, number, use->part) == NULL)
        set_full(class_, use->context->hot.epoch);
    return part;
}

static bool make_and_begin(const struct request *request)
{
    struct hp_object_use *use = &request->use->class_;
    hp_object_end(use); /* do not wait for the lock while holding a context */
    need_instance(request->site, request->kind, request->address);
    if (!hp_object_begin(request->site, request->kind, use))
        return false;
    struct hp_part *part = find_made(use, HOTPATH_GET_(request->site->log), request->address);
    request->use->part = part != NULL ? part : use->part;
    return true;
}

static bool begin_new(const struct request *request)
{
    struct hp_object_use *use = &request->use->class_;
    if (!hp_object_begin(request->site, request->kind, use))
        return false;
    const uint32_t class_ = HOTPATH_GET_(request->site->log);
    struct hp_part *part = request->use->part = use->part;
    if (request->address == NULL) {
        remember(use, class_, NULL, part);
        return true;
    }
    if ((part = find_part(use, class_, request->address)) != NULL) {
        request->use->part = part;
        return true;
    }
    return is_full(class_, use->context->hot.epoch) || make_and_begin(request);
}

static void begin_aside(void *context)
{
    struct request *request = context;
    const int saved = errno;
    request->is_begun = begin_new(request);
    errno = saved;
}

/* What the thread has used before but is no longer in its cache: nothing has to be made. */
static __attribute__((noinline)) bool begin_again(const struct hotpath_site *site, const struct hp_kind_type *kind,
                                                  const void *address, struct hp_instance_use *ret_use)
{
    struct hp_thread_context *context = (struct hp_thread_context *)(void *)hotpath_v1_context;
    const uint32_t class_ = HOTPATH_GET_(site->log);
    struct hp_object_use *use = &ret_use->class_;
    if (hp_context_is_held(&context->hot))
        return false;
    hp_context_hold(&context->hot);
    if (hp_object_clock_for(context, kind, &use->now) && context->instances != NULL &&
        (use->part = hp_object_part_at(context, class_)) != NULL) {
        const uint32_t number = address != NULL ? find(address, class_, LONGEST_CHAIN) : 0;
        const bool is_own = hp_object_part_at(context, number) != NULL;
        use->context = context;
        ret_use->part = address == NULL ? use->part : is_own ? own_part(use, number, address) : NULL;
        if (ret_use->part != NULL)
            remember(use, class_, address, ret_use->part);
        else if (is_full(class_, context->hot.epoch))
            ret_use->part = use->part;
        if (ret_use->part != NULL)
            return true;
    }
    hp_context_let_go(&context->hot);
    return false;
}

static __attribute__((noinline)) bool begin_slowly(struct hotpath_site *site, const struct hp_kind_type *kind,
                                                   const void *address, struct hp_instance_use *ret_use)
{
    struct request request = {.site = site, .kind = kind, .address = address, .use = ret_use};
    if (!hp_aside(begin_aside, &request))
        hp_session_lose(HP_LOSS_VALUES);
    return request.is_begun;
}

bool hp_instance_begin_out_of_line(struct hotpath_site *site, const struct hp_kind_type *kind, const void *address,
                                   struct hp_instance_use *ret_use)
{
    if (begin_again(site, kind, address, ret_use))
        return true;
    return (kind->goes_on || !hp_objects_are_paused()) && begin_slowly(site, kind, address, ret_use);
}

/* Searches in the cache, or for a logged class, which is not there, in the tables. */
static bool find_known(struct hp_thread_context *context, uint32_t class_, const void *address,
                       struct hp_instance_use *ret_use)
{
    const struct hp_cached_instance *entry = hp_instance_entry(context->instances, address, class_);
    if (hp_instance_is_cached(context, entry, address, class_)) {
        *ret_use = (struct hp_instance_use){{context, entry->class_part, hp_object_now()}, entry->part};
        return true;
    }
    struct hp_part *class_part = hp_object_is_logged(class_) ? hp_object_part_at(context, class_) : NULL;
    if (class_part == NULL)
        return false;
    ret_use->class_ = (struct hp_object_use){context, class_part, hp_object_now()};
    ret_use->part = find_part(&ret_use->class_, class_, address);
    return ret_use->part != NULL;
}

bool hp_instance_begin_known(const struct hotpath_site *site, const void *address, struct hp_instance_use *ret_use)
{
    struct hp_thread_context *context = hp_objects_hold();
    if (context == NULL)
        return false;
    if (context->instances != NULL && find_known(context, HOTPATH_GET_(site->log), address, ret_use))
        return true;
    hp_context_let_go(&context->hot);
    return false;
}

/* For a thread that has not used it yet. */
static struct hp_part *make_part_at(struct hp_thread_context *context, uint64_t place)
{
    const uint32_t count = __atomic_load_n(&hp_runtime->object_count, __ATOMIC_ACQUIRE);
    uint32_t number = 1;
    while (number <= count && __atomic_load_n(&hp_object_known(number)->place, __ATOMIC_ACQUIRE) != place)
        number++;
    if (number > count)
        return NULL;
    const uint32_t class_ = __atomic_load_n(&hp_object_known(number)->class_, __ATOMIC_RELAXED);
    struct hp_object_use use;
    if (!hp_object_use_known(context, class_ != 0 ? class_ : number, &use))
        return NULL;
    return class_ != 0 ? hp_object_part(context, number, use.part) : use.part;
}

struct hp_part *hp_instance_part_at(struct hp_thread_context *context, uint64_t place)
{
    char *const base = context->hot.base;
    const struct hp_object *object = (const struct hp_object *)(const void *)(base + (uint32_t)place);
    uint32_t offset = __atomic_load_n(&object->parts, __ATOMIC_ACQUIRE);
    while (offset != 0) {
        struct hp_part *part = (struct hp_part *)(void *)(base + offset);
        if (part->thread == context->record_offset && part->generation == HOTPATH_GET_(object->generation))
            return part;
        offset = part->sibling;
    }
    return make_part_at(context, place);
}
