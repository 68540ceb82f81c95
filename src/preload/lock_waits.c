/*
 * Waiting for locks, and who is charged for it (lock_entry.h says how). All of this is off the fast path.
 *
 * A signal of a condition wakes threads that the signaling thread does not know, so there the thread that woke up
 * does the counting: it finds the time and the place of the latest signal in the entry. If the signal came under
 * the mutex, nobody could run before the mutex was given up, so that is the moment from which waking up is
 * counted.
 *
 * Threads often wait for a condition in a loop with a timeout. That is one wait: the parts are added up.
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <string.h>

#include "hook_entries.h"
#include "lock_entry.h"

#define SUM_MASK (UINT64_MAX >> HP_LOCK_WAITERS_BITS)
#define TICKS_BETWEEN_NOTES UINT64_C(1000000000)

static void add(uint64_t *to, uint64_t number) { __atomic_fetch_add(to, number, __ATOMIC_RELAXED); }

/* ------------------------------------------------------------------------------------------------------- counts */

static void note_time_aside(void *file) { hp_side_note_time(file); }

/* Rarely: it may cost two system calls, but not the stack of the program. */
static void note_time(struct hp_locks *locks, uint64_t now)
{
    if (now - HOTPATH_GET_(hp_side_header(&locks->file)->latest_ticks) > TICKS_BETWEEN_NOTES)
        hp_aside(note_time_aside, &locks->file);
}

static void distribute(struct hp_lock_place *place, uint64_t ticks)
{
    __atomic_fetch_add(&place->wait_steps[hp_step_of(ticks, HP_LOCK_WAIT_BITS, HP_LOCK_OCTAVES)], 1,
                       __ATOMIC_RELAXED);
    hp_side_raise(&place->wait_longest, ticks);
}

static uint64_t free_cpus_now(const struct hp_locks *locks)
{
    return __atomic_load_n(&hp_locks_header(locks)->free_cpus.sum, __ATOMIC_RELAXED);
}

/* Which part of the time since then a CPU was free, of HP_LOCK_FREE_WHOLE. False: not known. */
static bool find_free_part(const struct hp_locks *locks, uint64_t before, uint64_t ticks, uint64_t *ret_part)
{
    const uint64_t now = free_cpus_now(locks);
    const uint32_t time = (uint32_t)(now >> 32) - (uint32_t)(before >> 32), free = (uint32_t)now - (uint32_t)before;
    *ret_part = time != 0 ? ((uint64_t)free * HP_LOCK_FREE_WHOLE) / time
                          : HOTPATH_GET_(hp_locks_header(locks)->free_cpus.part);
    *ret_part = *ret_part < HP_LOCK_FREE_WHOLE ? *ret_part : HP_LOCK_FREE_WHOLE;
    return before != 0 && (time != 0 || ticks < TICKS_BETWEEN_NOTES); /* else the observer is gone */
}

/* Of a wait that has ended: how much of it a thread could have run. */
static void count_free(const struct hp_locks *locks, struct hp_lock_place *place, uint64_t before, uint64_t ticks)
{
    uint64_t part;
    if (!find_free_part(locks, before, ticks, &part))
        return;
    add(&place->watched_ticks, ticks);
    add(&place->free_ticks,
        ticks / HP_LOCK_FREE_WHOLE * part + ticks % HP_LOCK_FREE_WHOLE * part / HP_LOCK_FREE_WHOLE);
}

static void raise_queue(struct hp_lock_place *place, uint32_t length)
{
    uint32_t present = __atomic_load_n(&place->longest_queue, __ATOMIC_RELAXED);
    while (length > present && !__atomic_compare_exchange_n(&place->longest_queue, &present, length, true,
                                                            __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

/* Those who wait at different places are no pair with anyone. */
static void note_waiter(struct hp_lock_entry *entry, uint32_t site, bool is_first)
{
    const uint32_t present = HOTPATH_GET_(entry->site);
    if (is_first || present == 0)
        HOTPATH_PUT_(entry->site, site);
    else if (present != site)
        HOTPATH_PUT_(entry->site, HP_LOCK_SEVERAL);
}

/* Returns how many there are now. */
static uint32_t arrive(struct hp_lock_entry *entry, uint64_t now)
{
    const uint64_t before =
        __atomic_fetch_add(&entry->waiting, (now << HP_LOCK_WAITERS_BITS) + 1, __ATOMIC_ACQ_REL);
    return (uint32_t)(before & HP_LOCK_WAITERS) + 1;
}

static void leave(struct hp_lock_entry *entry, uint64_t mark)
{
    __atomic_fetch_sub(&entry->waiting, (mark << HP_LOCK_WAITERS_BITS) + 1, __ATOMIC_ACQ_REL);
}

/* ---------------------------------------------------------------------------------------------- critical paths */

/* What waits for a lock, condition, semaphore or barrier takes the path of the one that lets it go on. */

/* Both take some 500 bytes, so they are not for the stack of the program. */

struct left_path {
    const struct hp_lock_entry *entry;
    uint32_t kind, site;
};

static void leave_path_aside(void *context)
{
    const struct left_path *left = context;
    hotpath_v1_path_leave(left->entry, left->kind, left->site);
}

static __attribute__((noinline)) void leave_path_now(const struct hp_lock_entry *entry, uint32_t kind,
                                                     uint32_t site)
{
    hp_aside(leave_path_aside, &(struct left_path){entry, kind, site});
}

static inline void leave_path(struct hp_locks *locks, const struct hp_lock_entry *entry, uint64_t waiting,
                              uint32_t kind, const struct hp_caller *caller)
{
    if (__builtin_expect((waiting & HP_LOCK_WAITERS) != 0, 0) && hotpath_v1_path_is_on())
        leave_path_now(entry, kind, hp_sites_number(&locks->sites, caller));
}

static void take_path_aside(void *wait) { hotpath_v1_path_take(wait); }

static __attribute__((noinline)) void take_path(const struct hp_lock_entry *entry,
                                                const struct hp_lock_entry *mutex, uint32_t place_kind,
                                                const struct hp_lock_wait *wait, uint32_t caller)
{
    const uint32_t kind = place_kind == HP_LOCK_CONDITION   ? HOTPATH_PATH_CONDITION_
                          : place_kind == HP_LOCK_SEMAPHORE ? HOTPATH_PATH_SEMAPHORE_
                          : place_kind == HP_LOCK_BARRIER   ? HOTPATH_PATH_BARRIER_
                                                            : HOTPATH_PATH_LOCK_;
    hp_aside(take_path_aside, &(struct hotpath_path_wait_){.object = entry,
                                                           .second = mutex,
                                                           .since = wait->since,
                                                           .kind = kind,
                                                           .place = wait->place,
                                                           .caller = caller});
}

/* ------------------------------------------------------------------------------------------------------ holders */

static void charge_waiters(struct hp_locks *locks, struct hp_lock_entry *entry, uint64_t now,
                           const struct hp_caller *caller, struct hp_lock_charge *ret_charge)
{
    uint64_t word = __atomic_load_n(&entry->waiting, __ATOMIC_ACQUIRE), sum;
    HOTPATH_PUT_(entry->charged, now);
    ret_charge->pid = locks->file.pid;
    ret_charge->place = HOTPATH_GET_(entry->place);
    ret_charge->waiter = HOTPATH_GET_(entry->site);
    leave_path(locks, entry, word, HOTPATH_PATH_LOCK_, caller);
    /* Durations are positive: a sum that is not was made of a time that another CPU read earlier. */
    do
        sum = ((word & HP_LOCK_WAITERS) * now - (word >> HP_LOCK_WAITERS_BITS)) & SUM_MASK;
    while (word != 0 && !__atomic_compare_exchange_n(&entry->waiting, &word, word + (sum << HP_LOCK_WAITERS_BITS),
                                                     false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
    ret_charge->ticks = word != 0 && sum <= SUM_MASK / 2 ? sum : 0;
}

void hp_lock_taken_again(struct hp_lock_entry *entry)
{
    if (hp_lock_is_own(entry)) {
        if ((entry->held & HP_LOCK_DEPTH) != HP_LOCK_DEPTH)
            HOTPATH_PUT_(entry->held, entry->held + 1);
    } else {
        HOTPATH_PUT_(entry->since, 0);
        HOTPATH_PUT_(entry->held, hp_lock_self() | 1);
    }
}

/* Whether a thread can give it up that has not locked it: as programs do that pass a lock on. */
static bool has_no_owner(const void *lock, enum hp_lock_kind kind)
{
    int type; /* the C library's, in a mutex of C11, too */
    if (kind != HP_LOCK_MUTEX)
        return kind == HP_LOCK_SPIN || kind == HP_LOCK_OWN;
#ifdef __GLIBC__
    enum { RECURSIVE = 1, CHECKING = 2, TYPE = 3, ROBUST = 16, INHERITS = 32 };
    memcpy(&type, (const char *)lock + offsetof(pthread_mutex_t, __data.__kind), sizeof type);
    return (type & TYPE) != RECURSIVE && (type & TYPE) != CHECKING && !(type & (ROBUST | INHERITS));
#else
    memcpy(&type, lock, sizeof type); /* musl: 0 is a normal one */
    return type == 0;
#endif
}

bool hp_lock_released_slowly(struct hp_lock_entry *entry, const void *lock, enum hp_lock_kind kind)
{
    const uint64_t held = entry->held;
    if (!hp_lock_is_own(entry)) {
        if (!has_no_owner(lock, kind))
            return false; /* the C library refuses, or the lock was taken before this began */
        HOTPATH_PUT_(entry->held, 0);
        return (entry->since | __atomic_load_n(&entry->waiting, __ATOMIC_RELAXED)) != 0;
    }
    HOTPATH_PUT_(entry->held, (held & HP_LOCK_DEPTH) > 1 ? held - 1 : 0);
    return (held & HP_LOCK_DEPTH) <= 1;
}

/* The only lock of its place is held by one thread at a time: no other one writes these numbers. */
static void distribute_hold(struct hp_lock_place *place, uint64_t ticks)
{
    uint32_t *step = &place->hold_steps[hp_step_of(ticks, HP_LOCK_HOLD_BITS, HP_LOCK_OCTAVES)];
    if (__builtin_expect(HOTPATH_GET_(place->instances) == 1, 1))
        HOTPATH_PUT_(*step, *step + 1);
    else
        __atomic_fetch_add(step, 1, __ATOMIC_RELAXED);
    if (ticks > HOTPATH_GET_(place->hold_longest))
        hp_side_raise(&place->hold_longest, ticks);
}

static void count_hold(struct hp_locks *locks, struct hp_lock_entry *entry, uint64_t ticks)
{
    struct hp_lock_place *place = hp_lock_place_at(locks, entry->place);
    const uint64_t mean = entry->mean, capped = ticks < UINT32_MAX ? ticks : UINT32_MAX;
    HOTPATH_PUT_(entry->mean, (uint32_t)(mean == 0 ? capped : mean - mean / 4 + capped / 4));
    HOTPATH_PUT_(entry->hold_ticks, entry->hold_ticks + ticks);
    HOTPATH_PUT_(entry->holds, entry->holds + 1);
    if (entry->mean >= locks->long_hold && hp_lock_holder(HOTPATH_GET_(entry->held)) == 0)
        HOTPATH_PUT_(entry->held, HP_LOCK_LONG);
    if (place != NULL)
        distribute_hold(place, ticks);
}

__attribute__((noinline)) void hp_lock_release(struct hp_locks *locks, struct hp_lock_entry *entry,
                                               const struct hp_caller *caller, struct hp_lock_charge *ret_charge)
{
    const uint64_t now = hp_side_now(&locks->file), since = entry->since;
    *ret_charge = (struct hp_lock_charge){0};
    if (now == 0)
        return;
    HOTPATH_PUT_(entry->since, 0);
    if (since != 0)
        count_hold(locks, entry, now > since ? now - since : 0);
    if (__atomic_load_n(&entry->waiting, __ATOMIC_RELAXED) != 0)
        charge_waiters(locks, entry, now, caller, ret_charge);
    else
        HOTPATH_PUT_(entry->charged, now);
}

__attribute__((noinline)) void hp_lock_release_shared(struct hp_locks *locks, struct hp_lock_entry *entry,
                                                      const struct hp_caller *caller,
                                                      struct hp_lock_charge *ret_charge)
{
    const uint64_t now = hp_side_now(&locks->file);
    *ret_charge = (struct hp_lock_charge){0};
    if (now != 0 && __atomic_load_n(&entry->waiting, __ATOMIC_RELAXED) != 0)
        charge_waiters(locks, entry, now, caller, ret_charge);
}

void hp_lock_charge(struct hp_locks *locks, const struct hp_lock_charge *charge, const struct hp_caller *caller)
{
    if (charge->ticks != 0 && hp_lock_is_same_process(locks, charge->pid))
        hp_lock_pair(locks, charge->place, charge->waiter, hp_sites_number(&locks->sites, caller), charge->ticks);
}

/* ------------------------------------------------------------------------------------------ waits that are left */

/*
 * A handler that interrupts a wait may leave it by longjmp: then its thread waits no longer, but nothing tells of
 * that. So each thread knows the waits that it is in: that of a handler lies deeper in the stack than the one that
 * it has interrupted, and what does not has been left. If a handler has a stack of its own above the other, the
 * interrupted wait is forgotten early, and counts for its thread, but not for others.
 */
#define MOST_OPEN 4u
static __thread struct {
    struct {
        const struct hp_lock_wait *wait; /* only an address: it may be gone */
        uintptr_t frame;                 /* where it is on the stack */
        struct hp_lock_entry *entry;
        uint64_t since;     /* of the wait for a lock; 0: of another */
        uint64_t free_cpus; /* the sum of hp_lock_free_cpus then: not on the program's stack */
        uint32_t pid;
    } all[MOST_OPEN];
    uint32_t count;
} open_waits __attribute__((tls_model("initial-exec")));

/* From when on nobody can be charged any more for a wait that ends now. */
static uint64_t mark_of(const struct hp_lock_entry *entry, uint64_t since, uint64_t now,
                        enum hp_lock_outcome outcome)
{
    if (outcome != HP_LOCK_GOT)
        return outcome == HP_LOCK_FAILED ? since : now;
    const uint64_t charged = HOTPATH_GET_(entry->charged), mark = charged > since ? charged : since;
    return mark < now ? mark : now;
}

/* The entry is still that of this lock: nobody forgets one that is awaited. */
static void abandon(const struct hp_locks *locks, uint32_t number)
{
    struct hp_lock_entry *entry = open_waits.all[number].entry;
    const uint64_t since = open_waits.all[number].since;
    if (!hp_lock_is_same_process(locks, open_waits.all[number].pid))
        return;
    if (since != 0)
        leave(entry, mark_of(entry, since, UINT64_MAX, HP_LOCK_GOT));
    else
        __atomic_fetch_sub(&entry->waiting, 1, __ATOMIC_ACQ_REL);
}

/* Before another wait begins. */
static void end_left(const struct hp_locks *locks, uintptr_t frame)
{
    for (uint32_t count = open_waits.count; count > 0 && open_waits.all[count - 1].frame <= frame; count--) {
        HOTPATH_PUT_(open_waits.count, count - 1);
        abandon(locks, count - 1);
    }
}

static void open_wait(struct hp_lock_wait *wait, uintptr_t frame, struct hp_lock_entry *entry, uint64_t since)
{
    const uint32_t count = open_waits.count;
    wait->is_open = count < MOST_OPEN;
    if (!wait->is_open)
        return;
    open_waits.all[count].wait = wait;
    open_waits.all[count].frame = frame;
    open_waits.all[count].entry = entry;
    open_waits.all[count].since = since;
    open_waits.all[count].free_cpus = free_cpus_now(hp_locks);
    open_waits.all[count].pid = wait->pid;
    __atomic_signal_fence(__ATOMIC_SEQ_CST); /* a handler finds it whole */
    HOTPATH_PUT_(open_waits.count, count + 1);
}

/* False: another wait took it for one that was left. */
static bool close_wait(const struct hp_locks *locks, const struct hp_lock_wait *wait, uint64_t *ret_free_cpus)
{
    *ret_free_cpus = 0;
    for (uint32_t count = open_waits.count; wait->is_open && count > 0; count--) {
        HOTPATH_PUT_(open_waits.count, count - 1);
        if (open_waits.all[count - 1].wait == wait) {
            *ret_free_cpus = open_waits.all[count - 1].free_cpus;
            return true;
        }
        abandon(locks, count - 1);
    }
    return !wait->is_open;
}

/* ------------------------------------------------------------------------------------------------------ waiting */

void hp_lock_wait(struct hp_locks *locks, struct hp_lock_entry *entry, const struct hp_caller *caller,
                  struct hp_lock_wait *ret_wait)
{
    hp_lock_wait_at(locks, entry, caller, (uintptr_t)ret_wait, ret_wait);
}

void hp_lock_wait_at(struct hp_locks *locks, struct hp_lock_entry *entry, const struct hp_caller *caller,
                     uintptr_t frame, struct hp_lock_wait *ret_wait)
{
    const uint64_t now = hp_side_now(&locks->file);
    *ret_wait = (struct hp_lock_wait){
        .since = now, .place = entry != NULL ? HOTPATH_GET_(entry->place) : 1, .pid = locks->file.pid};
    struct hp_lock_place *place = hp_lock_place_at(locks, ret_wait->place);
    if (now == 0 || entry == NULL)
        return;
    ret_wait->is_foreign = hp_lock_holder(HOTPATH_GET_(entry->held)) == 0;
    end_left(locks, frame);
    const uint32_t length = arrive(entry, now);
    open_wait(ret_wait, frame, entry, now);
    ret_wait->site = hp_sites_number(&locks->sites, caller);
    note_waiter(entry, ret_wait->site, length == 1);
    if (place != NULL)
        raise_queue(place, length);
}

static void count_wait(struct hp_locks *locks, struct hp_lock_place *place, uint64_t ticks, uint64_t now,
                       enum hp_lock_outcome outcome)
{
    add(outcome == HP_LOCK_GOT ? &place->contended : &place->timeouts, 1);
    add(&place->waits, 1);
    add(&place->wait_ticks, ticks);
    distribute(place, ticks);
    note_time(locks, now);
}

void hp_lock_waited(struct hp_locks *locks, struct hp_lock_entry *entry, const struct hp_lock_wait *wait,
                    enum hp_lock_outcome outcome)
{
    struct hp_lock_place *place = hp_lock_place_at(locks, wait->place);
    const uint64_t read = hp_side_now(&locks->file), since = wait->since, now = read > since ? read : since;
    if (since == 0)
        return;
    const uint64_t mark = mark_of(entry, since, now, outcome);
    if (outcome == HP_LOCK_GOT && hotpath_v1_path_is_on())
        take_path(entry, NULL, HP_LOCK_MUTEX, wait, wait->site);
    uint64_t free_cpus;
    if (close_wait(locks, wait, &free_cpus))
        leave(entry, mark);
    if (place == NULL || outcome == HP_LOCK_FAILED)
        return;
    /* Another process had it, if nobody here did, neither before nor meanwhile. */
    add(wait->is_foreign && mark == since ? &place->unknown_ticks : &place->latency_ticks, now - mark);
    count_free(locks, place, free_cpus, now - since);
    count_wait(locks, place, now - since, now, outcome);
}

void hp_lock_waited_among_others(struct hp_locks *locks, const struct hp_lock_wait *wait,
                                 enum hp_lock_outcome outcome)
{
    struct hp_lock_place *place = hp_lock_place_at(locks, wait->place);
    const uint64_t now = hp_side_now(&locks->file);
    if (wait->since == 0 || now < wait->since || place == NULL || outcome == HP_LOCK_FAILED)
        return;
    add(&place->unknown_ticks, now - wait->since);
    count_wait(locks, place, now - wait->since, now, outcome);
}

/* -------------------------------------------------------------------------- conditions, semaphores and barriers */

/* A wait of this thread that has ended by a timeout, and may go on. */
static __thread struct {
    uint32_t place, pid; /* 0: none */
    uint64_t ticks;
} unfinished __attribute__((tls_model("initial-exec")));

static void finish(struct hp_locks *locks)
{
    const uint32_t number = unfinished.place;
    unfinished.place = 0;
    if (number != 0 && unfinished.pid == hp_side_header(&locks->file)->pid) /* else it was the parent's */
        distribute(hp_lock_place_at(locks, number), unfinished.ticks);
}

void hp_lock_sleep(struct hp_locks *locks, struct hp_lock_entry *entry, const struct hp_lock_entry *mutex,
                   struct hp_lock_wait *ret_wait)
{
    *ret_wait = (struct hp_lock_wait){
        .since = hp_side_now(&locks->file), .place = HOTPATH_GET_(entry->place), .pid = locks->file.pid};
    struct hp_lock_place *place = hp_lock_place_at(locks, ret_wait->place);
    if (ret_wait->since == 0)
        return;
    if (mutex != NULL)
        HOTPATH_PUT_(entry->charged, (uint64_t)((const char *)mutex - locks->file.base));
    end_left(locks, (uintptr_t)ret_wait);
    const uint64_t waiting = __atomic_add_fetch(&entry->waiting, 1, __ATOMIC_ACQ_REL);
    open_wait(ret_wait, (uintptr_t)ret_wait, entry, 0);
    if (unfinished.place != ret_wait->place)
        finish(locks);
    if (place == NULL)
        return;
    raise_queue(place, (uint32_t)(waiting & HP_LOCK_WAITERS));
    if (unfinished.place == 0)
        add(&place->waits, 1);
}

/* When the thread could have run: after the signal, and after the mutex was given up. 0: not known. */
static uint64_t woken_at(const struct hp_lock_entry *entry, const struct hp_lock_entry *mutex, uint64_t since,
                         uint64_t now)
{
    const uint64_t signaled = HOTPATH_GET_(entry->since);
    const uint64_t released = mutex != NULL ? HOTPATH_GET_(mutex->charged) : 0;
    if (signaled < since || signaled > now)
        return 0;
    return released > signaled && released <= now ? released : signaled;
}

/* What the thread waited in earlier parts of the wait, it waited for the same signal. */
static void count_woken(struct hp_locks *locks, struct hp_lock_place *place, uint32_t number, uint32_t waiter,
                        uint32_t signaler, uint64_t ticks)
{
    const uint64_t earlier = unfinished.place == number ? unfinished.ticks : 0;
    if (earlier != 0)
        __atomic_fetch_sub(&place->unknown_ticks, earlier, __ATOMIC_RELAXED);
    if (earlier + ticks != 0) /* the last one at a barrier waits for nobody */
        hp_lock_pair(locks, number, waiter, signaler, earlier + ticks);
}

void hp_lock_slept(struct hp_locks *locks, struct hp_lock_entry *entry, const struct hp_lock_entry *mutex,
                   const struct hp_caller *caller, const struct hp_lock_wait *wait, enum hp_lock_outcome outcome)
{
    struct hp_lock_place *place = hp_lock_place_at(locks, wait->place);
    const uint64_t read = hp_side_now(&locks->file), since = wait->since, now = read > since ? read : since;
    if (since == 0)
        return;
    const uint64_t woken = outcome == HP_LOCK_GOT ? woken_at(entry, mutex, since, now) : 0;
    const uint32_t signaler = HOTPATH_GET_(entry->site);
    /* The last use of the entry: the condition may be gone. */
    uint64_t free_cpus;
    if (close_wait(locks, wait, &free_cpus))
        __atomic_fetch_sub(&entry->waiting, 1, __ATOMIC_ACQ_REL);
    if (place == NULL)
        return;
    add(&place->wait_ticks, now - since);
    count_free(locks, place, free_cpus, now - since);
    note_time(locks, now);
    if (outcome == HP_LOCK_TIMED_OUT)
        add(&place->timeouts, 1);
    if (woken == 0) {
        add(&place->unknown_ticks, now - since);
    } else {
        add(&place->latency_ticks, now - woken);
        count_woken(locks, place, wait->place, hp_sites_number(&locks->sites, caller), signaler, woken - since);
    }
    unfinished.ticks = (unfinished.place == wait->place ? unfinished.ticks : 0) + (now - since);
    unfinished.place = wait->place;
    unfinished.pid = hp_side_header(&locks->file)->pid;
    if (outcome != HP_LOCK_TIMED_OUT)
        finish(locks);
}

/* Only their addresses are used: the condition may be gone. */
void hp_lock_slept_path(struct hp_locks *locks, const struct hp_lock_entry *entry,
                        const struct hp_lock_entry *mutex, const struct hp_caller *caller,
                        const struct hp_lock_wait *wait)
{
    const struct hp_lock_place *place = hp_lock_place_at(locks, wait->place);
    if (wait->since != 0 && place != NULL && hotpath_v1_path_is_on())
        take_path(entry, mutex, place->kind, wait, hp_sites_number(&locks->sites, caller));
}

void hp_lock_signal(struct hp_locks *locks, struct hp_lock_entry *entry, const struct hp_caller *caller)
{
    const uint64_t now = hp_side_now(&locks->file), of_mutex = HOTPATH_GET_(entry->charged);
    if (now == 0)
        return;
    HOTPATH_PUT_(entry->site, hp_sites_number(&locks->sites, caller));
    HOTPATH_PUT_(entry->since, now);
    leave_path(locks, entry, __atomic_load_n(&entry->waiting, __ATOMIC_RELAXED), HOTPATH_PATH_CONDITION_, caller);
    if (of_mutex == 0)
        return;
    struct hp_lock_entry *mutex = (struct hp_lock_entry *)(void *)(locks->file.base + of_mutex);
    if (hp_lock_is_own(mutex))
        HOTPATH_PUT_(mutex->held, mutex->held | HP_LOCK_STAMP);
}
