/*
 * What a futex is used for.
 *
 * Rules for glibc (mutexes since 2.3, conditions, semaphores and read-write locks since 2.25, joins before and
 * since 2.34) and for musl. If two rules fit, the words in memory decide; if none does, nothing is claimed: a lock
 * or a condition. SPDX-License-Identifier: MIT
 */
#include "futex.h"

#include "layout.h"

/* Operations and their flags. The same on every machine; not all headers have all of them. */
#define WAIT 0u
#define LOCK_PI 6u
#define WAIT_BITSET 9u
#define WAIT_REQUEUE_PI 11u
#define LOCK_PI2 13u
#define IS_PRIVATE 128u
#define BY_REAL_TIME 256u

/* Values and parts of words. */
#define CONTENDED 2u /* glibc: a contended lock */
#define HAS_WAITERS UINT32_C(0x80000000)
#define MAY_HAVE_WAITERS UINT32_C(0x40000000) /* musl: of stdio's locks */
#define OWNER_BITS UINT32_C(0x3fffffff)
#define TAKEN_FOR_WRITING UINT32_MAX /* musl; also a semaphore of 0 with waiters */
#define MOST_WAITERS 65536u          /* plausible maximum of a counter of waiters */
#define NEAR_BYTES 4096u             /* of a variable in a frame of the C library, from the end of the stack */

static uint32_t word(const struct hp_futex *futex, int at) { return futex->words[(int)HP_FUTEX_BEFORE + at]; }

static bool is_count(uint32_t number) { return number >= 1 && number <= MOST_WAITERS; }

static uint32_t thread_or_none(const struct hp_futex *futex, uint32_t tid)
{
    return tid != 0 && futex->is_thread(futex->context, tid) ? tid : 0;
}

static bool is_on_own_stack(const struct hp_futex *futex)
{
    return futex->stack != 0 && futex->address > futex->stack && futex->address - futex->stack < NEAR_BYTES;
}

static bool is_private(const struct hp_futex *futex) { return (futex->operation & IS_PRIVATE) != 0; }

/*
 * glibc: arrivals so far, the futex (arrivals at the end of the last round), size of a round. musl: similar, from
 * 0.
 */
static bool is_barrier(const struct hp_futex *futex)
{
    const uint32_t arrived = word(futex, -1) - futex->value, round = word(futex, 1);
    if (!futex->has_words)
        return false;
    if (is_on_own_stack(futex) && futex->value == 1) /* musl: the first thread waits for the others to leave */
        return true;
    return is_count(arrived) && is_count(round) && (arrived <= round || futex->value == 0);
}

/*
 * musl: a variable of the waiting thread, with the state before it and a pointer after it, all zero until it is
 * woken.
 */
static bool is_waiter_of_condition(const struct hp_futex *futex)
{
    return futex->has_words && is_on_own_stack(futex) && word(futex, -1) == 0 && word(futex, 1) == 0 &&
           word(futex, 2) == 0;
}

/*
 * glibc: the number of waiters, in units of eight, is before the two words one of which is the futex. Up to 2.40
 * the waiters of each group are counted, too.
 */
static bool is_condition(const struct hp_futex *futex)
{
    const uint32_t waiters = word(futex, futex->address % 8 == 0 ? -1 : -2) >> 3;
    return futex->has_words && is_count(waiters);
}

static bool has_waiters_of_group(const struct hp_futex *futex)
{
    const uint32_t waiters = word(futex, futex->address % 8 == 0 ? -1 : -2) >> 3, of_group = word(futex, -6) >> 1;
    return is_count(of_group) && of_group <= waiters;
}

/* glibc: the number of waiters is after the value, then whether it is shared. */
static bool is_semaphore(const struct hp_futex *futex)
{
    return futex->has_words && futex->value == 0 && futex->address % 8 == 0 && is_count(word(futex, 1)) &&
           (word(futex, 2) == 0 || word(futex, 2) == IS_PRIVATE);
}

/* The owner of a glibc mutex. */
static uint32_t owner_of_mutex(const struct hp_futex *futex)
{
    return futex->has_words ? thread_or_none(futex, word(futex, 2)) : 0;
}

/* The writer of a glibc read-write lock; readers wait on its third word, writers on the fourth. */
static uint32_t owner_for_writing(const struct hp_futex *futex)
{
    if (!futex->has_words || (futex->value != 2 && futex->value != 3))
        return 0;
    return thread_or_none(futex, word(futex, futex->address % 8 == 0 ? 4 : 3));
}

/* For a word with its highest bit set. */
static uint32_t cause_of_marked(const struct hp_futex *futex, bool is_plain, uint32_t *ret_tid)
{
    if (futex->value == HAS_WAITERS)
        return HP_WAIT_SEMAPHORE; /* musl, since 1.2.4 */
    if (futex->value != TAKEN_FOR_WRITING) {
        *ret_tid = thread_or_none(futex, futex->value & OWNER_BITS);
        return HP_WAIT_LOCK;
    }
    if (!is_plain || !futex->has_words)
        return HP_WAIT_FUTEX;
    /* musl marks semaphores as private, read-write locks as shared. */
    return word(futex, 2) == (is_private(futex) ? IS_PRIVATE : 0) ? HP_WAIT_SEMAPHORE : HP_WAIT_LOCK;
}

/* A glibc lock; with musl a condition or the exit of a thread, whose id is two words before. */
static uint32_t cause_of_contended(const struct hp_futex *futex, uint32_t *ret_tid)
{
    *ret_tid = owner_of_mutex(futex);
    if (*ret_tid != 0 || !futex->has_words)
        return HP_WAIT_LOCK;
    if (is_waiter_of_condition(futex))
        return HP_WAIT_CONDITION;
    *ret_tid = thread_or_none(futex, word(futex, -2));
    return *ret_tid != 0 ? HP_WAIT_THREAD : HP_WAIT_LOCK;
}

static uint32_t cause_of_plain(const struct hp_futex *futex, uint32_t *ret_tid)
{
    if (is_barrier(futex) && (futex->value != CONTENDED || owner_of_mutex(futex) == 0))
        return HP_WAIT_BARRIER;
    if (futex->value == CONTENDED)
        return cause_of_contended(futex, ret_tid);
    *ret_tid = (futex->value & MAY_HAVE_WAITERS) != 0 ? thread_or_none(futex, futex->value & OWNER_BITS) : 0;
    return *ret_tid != 0 ? HP_WAIT_LOCK : HP_WAIT_FUTEX;
}

/* glibc, if a wait can be cancelled or has a timeout. */
static uint32_t cause_of_bitset(const struct hp_futex *futex, uint32_t *ret_tid)
{
    if (futex->value == CONTENDED && (*ret_tid = owner_of_mutex(futex)) != 0)
        return HP_WAIT_LOCK;
    if ((*ret_tid = owner_for_writing(futex)) != 0)
        return HP_WAIT_LOCK;
    if (is_semaphore(futex) && !(is_condition(futex) && has_waiters_of_group(futex)))
        return HP_WAIT_SEMAPHORE;
    if (is_condition(futex))
        return HP_WAIT_CONDITION;
    return futex->value == 2 || futex->value == 3 ? HP_WAIT_LOCK : HP_WAIT_FUTEX;
}

uint32_t hp_futex_cause(const struct hp_futex *futex, uint32_t *ret_tid)
{
    const uint32_t operation = futex->operation & ~(IS_PRIVATE | BY_REAL_TIME);
    const bool is_plain = operation == WAIT;
    *ret_tid = 0;
    if (operation == LOCK_PI || operation == LOCK_PI2) {
        *ret_tid = futex->has_words ? thread_or_none(futex, word(futex, 0) & OWNER_BITS) : 0;
        return HP_WAIT_LOCK;
    }
    if (operation == WAIT_REQUEUE_PI)
        return HP_WAIT_CONDITION;
    if (!is_plain && operation != WAIT_BITSET)
        return HP_WAIT_FUTEX;
    /* glibc: the kernel clears the word when the thread has exited, so the futex is not private. */
    if (!is_private(futex) && (*ret_tid = thread_or_none(futex, futex->value)) != 0)
        return HP_WAIT_THREAD;
    if ((futex->value & HAS_WAITERS) != 0)
        return cause_of_marked(futex, is_plain, ret_tid);
    return is_plain ? cause_of_plain(futex, ret_tid) : cause_of_bitset(futex, ret_tid);
}
