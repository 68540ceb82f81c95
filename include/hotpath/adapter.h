/*
 * What adapters of libraries with callbacks have in common (hotpath/uv.h and its kin); programs need not include it.
 *
 * A call that begins something and is told of its end by a callback makes a wait: an entry in a table, by the address of what
 * the library knows it by, with the host's callback and two tasks. `own` is what is waited for, from the call to the callback.
 * `then` is the task of the host's that made the call: the callback is a poll of it. Where there was none, or it is over, the
 * callback is the last poll of `own`. So nothing of the host's objects is read or written, and they may be freed or used again
 * inside their own callbacks.
 *
 * Where there is no entry left, or nothing is recorded, the library is given the host's callback, as if there were no adapter.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HOTPATH_ADAPTER_H
#define HOTPATH_ADAPTER_H

#include <hotpath.h>

#if HOTPATH_ON_

#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>

#define HOTPATH_ADAPTER_ static inline __attribute__((unused, no_instrument_function))

/* What an adapter's macro gives its function: where in the host the call is. */
#define HOTPATH_TASK_SITE_(label) HOTPATH_STATIC_SITE_(HOTPATH_KIND_TASK_, label)

/* Not seen with -std=c11 and nothing else; the same on all machines that are measured. */
#ifdef MAP_ANONYMOUS
#define HOTPATH_ANONYMOUS_ MAP_ANONYMOUS
#else
#define HOTPATH_ANONYMOUS_ 0x20
#endif

typedef void hotpath_callback_(void);

struct hotpath_wait_ {
    uint64_t key; /* atomic: the object and the kind of wait, 0: free, HOTPATH_FILLING_ */
    struct hotpath_site *site;
    hotpath_task own, then;
    hotpath_task queued;         /* of work for another thread: from the call to when it begins */
    hotpath_callback_ *callback; /* the host's */
    hotpath_callback_ *other;    /* where there are two, or three */
    hotpath_callback_ *third;
    void *argument;  /* for those that are not told which object they are called for */
    int is_held;     /* atomic: by who changes or copies what is above, where another thread may do the same */
    int is_repeated; /* it comes again; or how many need the entry, atomic */
};

/* What one object may wait for at the same time. */
enum {
    HOTPATH_REQUEST_ = 2,
    HOTPATH_TIMER_,
    HOTPATH_READING_,
    HOTPATH_CLOSING_,
    HOTPATH_EVENT_,
    HOTPATH_JOB_,
    HOTPATH_ONCE_
};

#define HOTPATH_FILLING_ 1u
#define HOTPATH_WAITS_ 8192u
#define HOTPATH_NEAR_ 32u

/* One for all files of a program or library, made when first needed: it costs nothing where nothing is recorded. */
extern struct hotpath_wait_ *hotpath_waits_ __attribute__((weak, visibility("hidden")));
struct hotpath_wait_ *hotpath_waits_;

/* The `own` whose callback runs on this thread: what is begun there goes on after it has ended, so it is nobody's `then`. */
extern __thread uint64_t hotpath_own_ __attribute__((weak, visibility("hidden")));
__thread uint64_t hotpath_own_;

/* --------------------------------------------------------------------------------------------------------- table */

HOTPATH_ADAPTER_ struct hotpath_wait_ *hotpath_wait_table_(int is_made)
{
    struct hotpath_wait_ *table = __atomic_load_n(&hotpath_waits_, __ATOMIC_ACQUIRE);
    const size_t size = HOTPATH_WAITS_ * sizeof *table;
    if (table != NULL || !is_made)
        return table;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | HOTPATH_ANONYMOUS_, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    struct hotpath_wait_ *made = (struct hotpath_wait_ *)memory;
    if (__atomic_compare_exchange_n(&hotpath_waits_, &table, made, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return made;
    munmap(memory, size);
    return table;
}

HOTPATH_ADAPTER_ uint64_t hotpath_wait_key_(const void *object, unsigned kind)
{
    return (uint64_t)(uintptr_t)object << 4 | kind;
}

HOTPATH_ADAPTER_ struct hotpath_wait_ *hotpath_wait_near_(struct hotpath_wait_ *table, uint64_t key, unsigned step)
{
    return &table[((key * UINT64_C(0x9e3779b97f4a7c15) >> 40) + step) & (HOTPATH_WAITS_ - 1)];
}

HOTPATH_ADAPTER_ struct hotpath_wait_ *hotpath_wait_with_(uint64_t key)
{
    struct hotpath_wait_ *table = hotpath_wait_table_(0);
    for (unsigned step = 0; table != NULL && step < HOTPATH_NEAR_; step++) {
        struct hotpath_wait_ *wait = hotpath_wait_near_(table, key, step);
        if (__atomic_load_n(&wait->key, __ATOMIC_ACQUIRE) == key) /* pairs with hotpath_wait_begin_ */
            return wait;
    }
    return NULL;
}

/* NULL: nothing is known of it. */
HOTPATH_ADAPTER_ struct hotpath_wait_ *hotpath_wait_find_(const void *object, unsigned kind)
{
    return hotpath_wait_with_(hotpath_wait_key_(object, kind));
}

HOTPATH_ADAPTER_ struct hotpath_wait_ *hotpath_wait_claim_(uint64_t key)
{
    struct hotpath_wait_ *table = hotpath_wait_table_(1);
    for (unsigned step = 0; table != NULL && step < HOTPATH_NEAR_; step++) {
        struct hotpath_wait_ *wait = hotpath_wait_near_(table, key, step);
        uint64_t none = 0;
        if (__atomic_load_n(&wait->key, __ATOMIC_RELAXED) == 0 &&
            __atomic_compare_exchange_n(&wait->key, &none, HOTPATH_FILLING_, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return wait; /* pairs with hotpath_wait_free_ */
    }
    return NULL;
}

HOTPATH_ADAPTER_ void hotpath_wait_free_(struct hotpath_wait_ *wait)
{
    __atomic_store_n(&wait->key, 0, __ATOMIC_RELEASE);
}

/* --------------------------------------------------------------------------------------------------------- waits */

/* The task of the host's that runs, or none. */
HOTPATH_ADAPTER_ hotpath_task hotpath_then_(void)
{
    hotpath_task task = hotpath_current();
    if (task.id_ == hotpath_own_)
        task.id_ = 0;
    return task;
}

/* `then` waits for it, unless it is none. */
HOTPATH_ADAPTER_ hotpath_task hotpath_own_begin_(struct hotpath_site *site, hotpath_task then)
{
    hotpath_task task;
    if (then.id_ != 0)
        hotpath_task_with_(&task, site, then, 0);
    else
        hotpath_task_(&task, site);
    return task;
}

HOTPATH_ADAPTER_ void hotpath_wait_hold_(struct hotpath_wait_ *wait)
{
    while (__atomic_exchange_n(&wait->is_held, 1, __ATOMIC_ACQUIRE) != 0) /* for some stores, no longer */
        sched_yield();
}

HOTPATH_ADAPTER_ void hotpath_wait_let_go_(struct hotpath_wait_ *wait)
{
    __atomic_store_n(&wait->is_held, 0, __ATOMIC_RELEASE);
}

/* What is above `is_held`. */
HOTPATH_ADAPTER_ void hotpath_wait_copy_(struct hotpath_wait_ *ret_wait, const struct hotpath_wait_ *wait)
{
    __builtin_memcpy(ret_wait, wait, offsetof(struct hotpath_wait_, is_held));
}

HOTPATH_ADAPTER_ void hotpath_wait_cancel_(struct hotpath_wait_ *wait)
{
    hotpath_wait_hold_(wait);
    hotpath_task own = wait->own, queued = wait->queued;
    wait->own.id_ = wait->queued.id_ = 0;
    hotpath_wait_let_go_(wait);
    hotpath_v1_task_end(&own, 1);
    hotpath_v1_task_end(&queued, 1);
}

/*
 * An entry, without a task so far. NULL: the adapter has no part in it, for want of room or because nothing is recorded. What else it
 * has is set by the caller, before the library knows of it.
 */
HOTPATH_ADAPTER_ struct hotpath_wait_ *hotpath_wait_make_(uint64_t key, struct hotpath_site *site,
                                                          hotpath_callback_ *callback)
{
    struct hotpath_wait_ *wait = hotpath_wait_with_(key);
    if (HOTPATH_GET_(hotpath_v1_head->skip) != 0)
        return NULL;
    if (wait != NULL) /* of this object, or of one that was there before and whose end nobody has told */
        hotpath_wait_cancel_(wait);
    else
        wait = hotpath_wait_claim_(key);
    if (wait == NULL)
        return NULL;
    wait->site = site;
    wait->then.id_ = wait->own.id_ = wait->queued.id_ = 0;
    wait->callback = callback;
    wait->other = wait->third = NULL;
    wait->argument = NULL;
    wait->is_repeated = 0;
    __atomic_store_n(&wait->key, key, __ATOMIC_RELEASE);
    return wait;
}

HOTPATH_ADAPTER_ void hotpath_wait_start_(struct hotpath_wait_ *wait, struct hotpath_site *site)
{
    const hotpath_task then = hotpath_then_(), own = hotpath_own_begin_(site, then);
    hotpath_wait_cancel_(wait);
    hotpath_wait_hold_(wait);
    wait->site = site;
    wait->then = then;
    wait->own = own;
    hotpath_wait_let_go_(wait);
}

HOTPATH_ADAPTER_ struct hotpath_wait_ *hotpath_wait_begin_(const void *object, unsigned kind,
                                                           struct hotpath_site *site, hotpath_callback_ *callback)
{
    struct hotpath_wait_ *wait = hotpath_wait_make_(hotpath_wait_key_(object, kind), site, callback);
    if (wait != NULL)
        hotpath_wait_start_(wait, site);
    return wait;
}

/* For what comes once and has no object of its own: the entry is the callback's argument. */
HOTPATH_ADAPTER_ struct hotpath_wait_ *hotpath_wait_once_(struct hotpath_site *site, hotpath_callback_ *callback,
                                                          void *argument)
{
    static uint32_t made; /* so that no two have one key; several of these differ by the address */
    const uint64_t number = __atomic_add_fetch(&made, 1, __ATOMIC_RELAXED);
    const uint64_t key = ((uint64_t)(uintptr_t)&made + (number << 28)) << 4 | HOTPATH_ONCE_;
    struct hotpath_wait_ *wait = hotpath_wait_make_(key, site, callback);
    if (wait == NULL)
        return NULL;
    wait->argument = argument;
    hotpath_wait_start_(wait, site);
    return wait;
}

/* Away with it, as nothing will come of it any more. `wait` may be NULL. */
HOTPATH_ADAPTER_ void hotpath_wait_drop_(struct hotpath_wait_ *wait)
{
    if (wait == NULL)
        return;
    hotpath_wait_cancel_(wait);
    hotpath_wait_free_(wait);
}

/* Out of the table, into the frame of a callback that comes once. 0: nothing is known of it. */
HOTPATH_ADAPTER_ int hotpath_wait_take_(const void *object, unsigned kind, struct hotpath_wait_ *ret_wait)
{
    struct hotpath_wait_ *wait = hotpath_wait_find_(object, kind);
    if (wait == NULL)
        return 0;
    hotpath_wait_copy_(ret_wait, wait);
    hotpath_wait_free_(wait);
    return 1;
}

/*
 * Of a callback that may come again: what it needs is in its frame, as the host may end the wait inside, and another wait begins when
 * the callback is over, unless the host has ended it or begun another one.
 */
HOTPATH_ADAPTER_ int hotpath_wait_look_(struct hotpath_wait_ *wait, int comes_again, struct hotpath_wait_ *ret_wait)
{
    if (wait == NULL)
        return 0;
    hotpath_wait_hold_(wait);
    hotpath_wait_copy_(ret_wait, wait);
    wait->own.id_ = comes_again ? HOTPATH_FILLING_ : 0; /* no task's: it says that nobody was here meanwhile */
    hotpath_wait_let_go_(wait);
    return 1;
}

HOTPATH_ADAPTER_ void hotpath_wait_again_(uint64_t key)
{
    struct hotpath_wait_ *wait = hotpath_wait_with_(key);
    if (wait == NULL)
        return;
    hotpath_wait_hold_(wait);
    if (wait->own.id_ == HOTPATH_FILLING_)
        wait->own = hotpath_own_begin_(wait->site, wait->then);
    hotpath_wait_let_go_(wait);
}

/* --------------------------------------------------------------------------------------------------------- turns */

/* What a callback of the host's runs as. */
struct hotpath_turn_ {
    struct hotpath_poll_ poll;
    uint64_t own; /* that was there before */
};

/* Returns what it fills in. */
HOTPATH_ADAPTER_ struct hotpath_turn_ *hotpath_turn_begin_(struct hotpath_turn_ *turn, struct hotpath_wait_ *wait,
                                                           int is_cancelled)
{
    /* What runs already needs no poll: the library calls back at once. */
    const int runs = wait->then.id_ != 0 && wait->then.id_ == hotpath_current().id_;
    turn->own = hotpath_own_;
    hotpath_begin_poll_(&turn->poll, runs ? NULL : &wait->then, HOTPATH_MAY_BE_OVER_);
    if (runs || is_cancelled || hotpath_is_polled_(&turn->poll)) {
        hotpath_own_ = 0;
        hotpath_v1_task_end(&wait->own, is_cancelled);
    } else {
        hotpath_own_ = wait->own.id_;
        hotpath_begin_poll_(&turn->poll, &wait->own, HOTPATH_LAST_POLL_ | HOTPATH_MAY_BE_OVER_);
    }
    return turn;
}

HOTPATH_ADAPTER_ void hotpath_turn_end_(struct hotpath_turn_ *turn)
{
    hotpath_end_poll_(&turn->poll);
    hotpath_own_ = turn->own;
}

#define HOTPATH_AS_TURN_(turn)                                                                                     \
    HOTPATH_SCOPE_ struct hotpath_turn_ turn HOTPATH_AT_END_(hotpath_turn_end_), *const turn##begun_ HOTPATH_SCOPE_

/* Declaration: the host's callback runs from here to the end of the braces. `wait` is in the same frame. */
#define HOTPATH_TURN_(wait, is_cancelled)                                                                          \
    HOTPATH_AS_TURN_(hotpath_turn_now_) = hotpath_turn_begin_(&hotpath_turn_now_, wait, is_cancelled)

/* ---------------------------------------------------------------------------------------------- work of other threads */

/* From now on it waits in a queue, for a thread that calls `work`, which is a task of its own beside the whole of it. */
HOTPATH_ADAPTER_ void hotpath_wait_queue_(struct hotpath_wait_ *wait, struct hotpath_site *site,
                                          hotpath_callback_ *work)
{
    const hotpath_task nobody = {0},
                       queued = hotpath_own_begin_(site, nobody); /* it is part of the whole, which is waited for */
    hotpath_wait_hold_(wait);
    wait->queued = queued;
    wait->other = work;
    hotpath_wait_let_go_(wait);
}

/* On that thread: what it needs is in its frame, and `queued` nobody else's any more. */
HOTPATH_ADAPTER_ void hotpath_wait_unqueue_(struct hotpath_wait_ *wait, struct hotpath_wait_ *ret_wait)
{
    hotpath_wait_hold_(wait);
    hotpath_wait_copy_(ret_wait, wait);
    wait->queued.id_ = 0;
    hotpath_wait_let_go_(wait);
}

/* The work itself, on the thread that does it: a poll of `own`, or its last one. */
HOTPATH_ADAPTER_ struct hotpath_turn_ *hotpath_work_begin_(struct hotpath_turn_ *turn, struct hotpath_wait_ *wait,
                                                           int how)
{
    hotpath_v1_task_end(&wait->queued, 0);
    turn->own = hotpath_own_;
    hotpath_begin_poll_(&turn->poll, &wait->own, how | HOTPATH_MAY_BE_OVER_);
    hotpath_own_ = wait->own.id_;
    return turn;
}

#define HOTPATH_WORK_(wait, how)                                                                                   \
    HOTPATH_AS_TURN_(hotpath_turn_now_) = hotpath_work_begin_(&hotpath_turn_now_, wait, how)

#endif /* HOTPATH_ON_ */
#endif
