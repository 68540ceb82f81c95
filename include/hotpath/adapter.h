/*
 * Shared by the adapters for callback libraries (hotpath/uv.h and others); programs need not include it.
 *
 * A call that starts an operation and reports its end by a callback makes a wait: an entry in a table. The key is
 * the address by which the library knows the operation; the entry holds the host's callback and two tasks. `own` is
 * the operation, from the call to the callback. `then` is the host's task that made the call; the callback is a
 * poll of it. If there was no such task, or it has ended, the callback is the last poll of `own`. The adapter never
 * reads or writes the host's objects, so these may be freed or reused inside their own callbacks.
 *
 * Entries do not move, because callbacks and libraries hold their addresses: a table that is full gets another one
 * of twice its size behind it. If there is no memory for that, the operation counts as lost, and the library gets
 * the host's callback, as if there were no adapter, or nothing recorded.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HOTPATH_ADAPTER_H
#define HOTPATH_ADAPTER_H

#ifdef __cplusplus /* C, not C++ as some like it */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

#include <hotpath.h>

#if HOTPATH_ON_

#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>

#define HOTPATH_ADAPTER_ static inline __attribute__((unused, no_instrument_function))

/* The place of the call in the host, passed by an adapter's macro to its function. */
#define HOTPATH_TASK_SITE_(label) HOTPATH_STATIC_SITE_(HOTPATH_KIND_TASK_, label)

/* Hidden by plain -std=c11; the value is the same on all supported machines. */
#ifdef MAP_ANONYMOUS
#define HOTPATH_ANONYMOUS_ MAP_ANONYMOUS
#else
#define HOTPATH_ANONYMOUS_ 0x20
#endif

typedef void hotpath_callback_(void);

struct hotpath_wait_ {
    uint64_t key; /* atomic: the object and the kind of wait; 0: free; or HOTPATH_FILLING_ */
    struct hotpath_site *site;
    hotpath_task own, then;
    hotpath_task queued;         /* work for another thread: from the call until the work starts */
    hotpath_callback_ *callback; /* the host's */
    hotpath_callback_ *other;    /* the second, or third, callback */
    hotpath_callback_ *third;
    void *argument;  /* for callbacks that do not receive their object */
    int is_held;     /* atomic: lock on the fields above, where other threads may change or copy them */
    int is_repeated; /* the callback repeats; or, atomic, the number of users of the entry */
};

/* Kinds of waits that one object can have at the same time. */
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
#define HOTPATH_NEAR_ 16u
#define HOTPATH_LEAST_WAITS_ 8192u
#define HOTPATH_MOST_WAITS_ (HOTPATH_LEAST_WAITS_ << 7) /* of one table; all together are twice as many */

struct hotpath_wait_table_ {
    struct hotpath_wait_table_ *larger; /* atomic: for entries that found no place here; NULL: none */
    uint64_t count;
};

/* One list of tables per program or library, made at first use: no cost if nothing is recorded. */
extern struct hotpath_wait_table_ *hotpath_waits_ __attribute__((weak, visibility("hidden")));
struct hotpath_wait_table_ *hotpath_waits_;

/*
 * The `own` whose callback runs on this thread. It ends with the callback, so operations started there do not
 * continue it: it is never a `then`.
 */
extern __thread uint64_t hotpath_own_ __attribute__((weak, visibility("hidden")));
__thread uint64_t hotpath_own_;

/* -------------------------------------------------------------------------------------------------------- table */

/* The table that `link` points to, made by the first caller. NULL: no memory, or too many. */
HOTPATH_ADAPTER_ struct hotpath_wait_table_ *hotpath_wait_need_(struct hotpath_wait_table_ **link, uint64_t count)
{
    struct hotpath_wait_table_ *table = __atomic_load_n(link, __ATOMIC_ACQUIRE);
    const size_t size = sizeof *table + (size_t)count * sizeof(struct hotpath_wait_);
    if (table != NULL || count > HOTPATH_MOST_WAITS_)
        return table;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | HOTPATH_ANONYMOUS_, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    struct hotpath_wait_table_ *made = (struct hotpath_wait_table_ *)memory;
    made->count = count;
    if (__atomic_compare_exchange_n(link, &table, made, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return made;
    munmap(memory, size);
    return table;
}

HOTPATH_ADAPTER_ uint64_t hotpath_wait_key_(const void *object, unsigned kind)
{
    return (uint64_t)(uintptr_t)object << 4 | kind;
}

HOTPATH_ADAPTER_ struct hotpath_wait_ *hotpath_wait_near_(struct hotpath_wait_table_ *table, uint64_t key,
                                                          unsigned step)
{
    struct hotpath_wait_ *waits = (struct hotpath_wait_ *)(void *)(table + 1);
    return &waits[((key * UINT64_C(0x9e3779b97f4a7c15) >> 40) + step) & (table->count - 1)];
}

HOTPATH_ADAPTER_ struct hotpath_wait_ *hotpath_wait_with_(uint64_t key)
{
    struct hotpath_wait_table_ *table = __atomic_load_n(&hotpath_waits_, __ATOMIC_ACQUIRE);
    for (; table != NULL; table = __atomic_load_n(&table->larger, __ATOMIC_ACQUIRE))
        for (unsigned step = 0; step < HOTPATH_NEAR_; step++) {
            struct hotpath_wait_ *wait = hotpath_wait_near_(table, key, step);
            if (__atomic_load_n(&wait->key, __ATOMIC_ACQUIRE) == key) /* pairs with hotpath_wait_make_ */
                return wait;
        }
    return NULL;
}

/* NULL: unknown object. */
HOTPATH_ADAPTER_ struct hotpath_wait_ *hotpath_wait_find_(const void *object, unsigned kind)
{
    return hotpath_wait_with_(hotpath_wait_key_(object, kind));
}

HOTPATH_ADAPTER_ struct hotpath_wait_ *hotpath_wait_claim_(uint64_t key)
{
    struct hotpath_wait_table_ *table = hotpath_wait_need_(&hotpath_waits_, HOTPATH_LEAST_WAITS_);
    for (; table != NULL; table = hotpath_wait_need_(&table->larger, 2 * table->count))
        for (unsigned step = 0; step < HOTPATH_NEAR_; step++) {
            struct hotpath_wait_ *wait = hotpath_wait_near_(table, key, step);
            uint64_t none = 0;
            if (__atomic_load_n(&wait->key, __ATOMIC_RELAXED) == 0 &&
                __atomic_compare_exchange_n(&wait->key, &none, HOTPATH_FILLING_, 0, __ATOMIC_ACQUIRE,
                                            __ATOMIC_RELAXED))
                return wait; /* pairs with hotpath_wait_free_ */
        }
    hotpath_v1_task_lost();
    return NULL;
}

HOTPATH_ADAPTER_ void hotpath_wait_free_(struct hotpath_wait_ *wait)
{
    __atomic_store_n(&wait->key, 0, __ATOMIC_RELEASE);
}

/* -------------------------------------------------------------------------------------------------------- waits */

/* The host's running task, or none. */
HOTPATH_ADAPTER_ hotpath_task hotpath_then_(void)
{
    hotpath_task task = hotpath_current();
    if (task.id_ == hotpath_own_)
        task.id_ = 0;
    return task;
}

/* `then` waits for it, unless `then` is none. */
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
    while (__atomic_exchange_n(&wait->is_held, 1, __ATOMIC_ACQUIRE) != 0) /* held only for a few stores */
        sched_yield();
}

HOTPATH_ADAPTER_ void hotpath_wait_let_go_(struct hotpath_wait_ *wait)
{
    __atomic_store_n(&wait->is_held, 0, __ATOMIC_RELEASE);
}

/* Copies the fields above `is_held`. */
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
 * Makes an entry, without a task so far. NULL: the adapter stays out, because there is no memory or nothing is
 * recorded. The caller sets the other fields before the library learns of the entry.
 */
HOTPATH_ADAPTER_ struct hotpath_wait_ *hotpath_wait_make_(uint64_t key, struct hotpath_site *site,
                                                          hotpath_callback_ *callback)
{
    struct hotpath_wait_ *wait = hotpath_wait_with_(key);
    if (HOTPATH_GET_(hotpath_v1_context->skip) != 0)
        return NULL;
    if (wait != NULL) /* of this object, or of an earlier one at this address whose end was not reported */
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

/* For one-shot callbacks without an object: the entry is the callback's argument. */
HOTPATH_ADAPTER_ struct hotpath_wait_ *hotpath_wait_once_(struct hotpath_site *site, hotpath_callback_ *callback,
                                                          void *argument)
{
    static uint32_t made; /* makes keys unique; copies of this variable differ by address */
    const uint64_t number = __atomic_add_fetch(&made, 1, __ATOMIC_RELAXED);
    const uint64_t key = ((uint64_t)(uintptr_t)&made + (number << 28)) << 4 | HOTPATH_ONCE_;
    struct hotpath_wait_ *wait = hotpath_wait_make_(key, site, callback);
    if (wait == NULL)
        return NULL;
    wait->argument = argument;
    hotpath_wait_start_(wait, site);
    return wait;
}

/* Drops an entry whose callback will not come. `wait` may be NULL. */
HOTPATH_ADAPTER_ void hotpath_wait_drop_(struct hotpath_wait_ *wait)
{
    if (wait == NULL)
        return;
    hotpath_wait_cancel_(wait);
    hotpath_wait_free_(wait);
}

/* Moves an entry from the table into the frame of a one-shot callback. 0: unknown object. */
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
 * For a callback that may repeat: copies the entry into the callback's frame, since the host may end the wait
 * inside. The next wait begins when the callback returns, unless the host has ended it or begun another one.
 */
HOTPATH_ADAPTER_ int hotpath_wait_look_(struct hotpath_wait_ *wait, int comes_again, struct hotpath_wait_ *ret_wait)
{
    if (wait == NULL)
        return 0;
    hotpath_wait_hold_(wait);
    hotpath_wait_copy_(ret_wait, wait);
    wait->own.id_ = comes_again ? HOTPATH_FILLING_ : 0; /* marks an entry that has not changed since */
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

/* -------------------------------------------------------------------------------------------------------- turns */

/* How one callback of the host is recorded. */
struct hotpath_turn_ {
    struct hotpath_poll_ poll;
    uint64_t own; /* the previous hotpath_own_ */
};

/* Returns `turn`. */
HOTPATH_ADAPTER_ struct hotpath_turn_ *hotpath_turn_begin_(struct hotpath_turn_ *turn, struct hotpath_wait_ *wait,
                                                           int is_cancelled)
{
    /* The task runs already, so it needs no poll: the library called back immediately. */
    const int runs = wait->then.id_ != 0 && wait->then.id_ == hotpath_current().id_;
    turn->own = hotpath_own_;
    hotpath_begin_poll_(&turn->poll, runs ? NULL : &wait->then, HOTPATH_MAY_BE_OVER_);
    if (runs || hotpath_is_polled_(&turn->poll)) {
        hotpath_own_ = 0;
        hotpath_v1_task_end(&wait->own, is_cancelled);
    } else {
        hotpath_own_ = wait->own.id_;
        hotpath_begin_poll_(&turn->poll, &wait->own,
                            HOTPATH_LAST_POLL_ | HOTPATH_MAY_BE_OVER_ | (is_cancelled ? HOTPATH_CANCELLED_ : 0));
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

/* -------------------------------------------------------------------------------------- work on other threads */

/* From now on the operation waits in a queue until a thread runs `work`. This waiting is a task of its own. */
HOTPATH_ADAPTER_ void hotpath_wait_queue_(struct hotpath_wait_ *wait, struct hotpath_site *site,
                                          hotpath_callback_ *work)
{
    /* No `then`: that waits for the whole operation, and this is a part of it. */
    const hotpath_task none = {0}, queued = hotpath_own_begin_(site, none);
    hotpath_wait_hold_(wait);
    wait->queued = queued;
    wait->other = work;
    hotpath_wait_let_go_(wait);
}

/* On that thread: copies the entry into its frame and takes `queued` out of the entry. */
HOTPATH_ADAPTER_ void hotpath_wait_unqueue_(struct hotpath_wait_ *wait, struct hotpath_wait_ *ret_wait)
{
    hotpath_wait_hold_(wait);
    hotpath_wait_copy_(ret_wait, wait);
    wait->queued.id_ = 0;
    hotpath_wait_let_go_(wait);
}

/* The work itself, on its thread: a poll of `own`, or its last one. */
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
#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif

#endif
