/*
 * Conditions, semaphores and barriers: interposed functions of pthread and C11, in the library that `hotpath run
 * --locks` preloads. A thread that waits for a condition gives the mutex up and takes it again, which counts.
 * Results, cancellation and errno are those of the C library. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>
#include <time.h>

#include "lock_entry.h"
#include "real_functions.h"

/* Missing in older headers, and in musl. */
HP_PUBLIC_IN_GLIBC int clock_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                                  const struct timespec *limit) __asm__("pthread_cond_clockwait");
HP_PUBLIC_IN_GLIBC int clock_sem(sem_t *semaphore, clockid_t clock,
                                 const struct timespec *limit) __asm__("sem_clockwait");

/* glibc has two kinds of conditions; all programs since 2003 have the one that is the default version. */
/* clang-format off */
#define EACH(DO, AS)                                                                                               \
    DO(pthread_cond_wait) DO(pthread_cond_timedwait) AS(pthread_cond_clockwait, clock_wait)                        \
    DO(pthread_cond_signal) DO(pthread_cond_broadcast) DO(pthread_cond_init) DO(pthread_cond_destroy)              \
    DO(cnd_wait) DO(cnd_timedwait) DO(cnd_signal) DO(cnd_broadcast) DO(cnd_init) DO(cnd_destroy) DO(sem_trywait)   \
    DO(sem_wait) DO(sem_timedwait) AS(sem_clockwait, clock_sem) DO(sem_post) DO(sem_init) DO(sem_destroy)          \
    DO(pthread_barrier_wait) DO(pthread_barrier_init) DO(pthread_barrier_destroy)
/* clang-format on */
HP_REAL_FUNCTIONS(EACH)

__attribute__((constructor)) static void find_next(void) { hp_resolve_all(find_each); }

#define SLOWLY static __attribute__((noinline))
#define MISSING ENOSYS

/* ----------------------------------------------------------------------------------------------------- sleeping */

/* A wait that is going on. */
struct sleep {
    struct hp_locks *locks;
    struct hp_lock_entry *entry, *mutex; /* NULL: none, or no room */
    struct hp_caller caller;
    struct hp_lock_wait wait;
    bool has_given_up; /* the mutex */
    bool is_passage;   /* what is waited for is counted itself: a semaphore, a barrier */
};

static void count_passed(struct hp_lock_entry *entry)
{
    if (entry != NULL)
        __atomic_fetch_add(&entry->locked, 1, __ATOMIC_RELAXED);
}

/* Before the wait is counted: after that the semaphore may be gone. */
static void count_passage(const struct sleep *sleep)
{
    struct hp_lock_place *place = hp_lock_place_at(sleep->locks, sleep->wait.place);
    count_passed(sleep->entry);
    if (sleep->entry != NULL && place != NULL)
        __atomic_fetch_add(&place->contended, 1, __ATOMIC_RELAXED);
}

/* Apart: takes no stack while the entry is made. */
static __attribute__((noinline)) void give_up_mutex(struct sleep *sleep, const void *mutex)
{
    struct hp_lock_charge charge;
    if (hp_lock_released(sleep->mutex, mutex, HP_LOCK_MUTEX)) {
        hp_lock_release(sleep->locks, sleep->mutex, &sleep->caller, &charge);
        hp_lock_charge(sleep->locks, &charge, &sleep->caller);
    }
    sleep->has_given_up = true;
}

static __attribute__((noinline)) void begin_sleep(struct sleep *sleep, const void *object, enum hp_lock_kind kind,
                                                  const void *mutex)
{
    struct hp_locks *locks = sleep->locks;
    sleep->wait.pid = locks->file.pid;
    sleep->entry = hp_lock_meet(locks, object, kind, &sleep->caller, false);
    sleep->mutex = mutex != NULL ? hp_lock_find(locks, mutex, HP_LOCK_MUTEX) : NULL;
    if (sleep->entry != NULL)
        hp_lock_sleep(locks, sleep->entry, sleep->mutex, &sleep->wait);
    if (sleep->mutex != NULL && hp_lock_is_own(sleep->mutex))
        give_up_mutex(sleep, mutex);
}

static __attribute__((noinline)) void end_sleep(struct sleep *sleep, enum hp_lock_outcome outcome)
{
    if (!hp_lock_is_same_process(sleep->locks, sleep->wait.pid))
        return; /* a handler has forked: this is the child */
    if (sleep->is_passage && outcome == HP_LOCK_GOT)
        count_passage(sleep);
    if (sleep->entry != NULL)
        hp_lock_slept(sleep->locks, sleep->entry, sleep->mutex, &sleep->caller, &sleep->wait, outcome);
    if (sleep->entry != NULL && outcome == HP_LOCK_GOT)
        hp_lock_slept_path(sleep->locks, sleep->entry, sleep->mutex, &sleep->caller, &sleep->wait);
    if (!sleep->has_given_up)
        return;
    hp_lock_taken(sleep->locks, sleep->mutex);
    if (outcome == HP_LOCK_FAILED)
        sleep->mutex->locked--; /* refused: the thread had it all the time */
}

/* The thread is cancelled: it has the mutex again, and unwinds. */
static void end_cancelled(void *context)
{
    struct sleep *sleep = context;
    end_sleep(sleep, HP_LOCK_TIMED_OUT);
}

static enum hp_lock_outcome outcome_of(int result)
{
    return result == 0 || result == EOWNERDEAD ? HP_LOCK_GOT
           : result == ETIMEDOUT               ? HP_LOCK_TIMED_OUT
                                               : HP_LOCK_FAILED;
}

static enum hp_lock_outcome outcome_of_thrd(int result)
{
    return result == thrd_success ? HP_LOCK_GOT : result == thrd_timedout ? HP_LOCK_TIMED_OUT : HP_LOCK_FAILED;
}

/* For a function that was called by the program, or jumped to: its caller is the program. */
#define SLEEP(kind, object, mutex_, outcome_of_, ...)                                                              \
    struct sleep sleep = {.locks = hp_locks, .caller = HP_CALLER(), .is_passage = (kind) != HP_LOCK_CONDITION};    \
    int result;                                                                                                    \
    begin_sleep(&sleep, object, kind, mutex_);                                                                     \
    pthread_cleanup_push(end_cancelled, &sleep);                                                                   \
    result = __VA_ARGS__;                                                                                          \
    pthread_cleanup_pop(0);                                                                                        \
    end_sleep(&sleep, outcome_of_(result))

/* --------------------------------------------------------------------------------------------------- conditions */

#define SLEEP_SLOWLY(...)                                                                                          \
    SLEEP(HP_LOCK_CONDITION, condition, mutex, outcome_of, __VA_ARGS__);                                           \
    return result
#define SLEEP_THRD_SLOWLY(...)                                                                                     \
    SLEEP(HP_LOCK_CONDITION, condition, mutex, outcome_of_thrd, __VA_ARGS__);                                      \
    return result

SLOWLY int wait_slowly(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    SLEEP_SLOWLY(next.pthread_cond_wait(condition, mutex));
}
SLOWLY int timed_slowly(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *limit)
{
    SLEEP_SLOWLY(next.pthread_cond_timedwait(condition, mutex, limit));
}
SLOWLY int clock_slowly(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                        const struct timespec *limit)
{
    SLEEP_SLOWLY(next.pthread_cond_clockwait(condition, mutex, clock, limit));
}
SLOWLY int wait_cnd_slowly(cnd_t *condition, mtx_t *mutex) { SLEEP_THRD_SLOWLY(next.cnd_wait(condition, mutex)); }
SLOWLY int timed_cnd_slowly(cnd_t *condition, mtx_t *mutex, const struct timespec *limit)
{
    SLEEP_THRD_SLOWLY(next.cnd_timedwait(condition, mutex, limit));
}

HP_PUBLIC int pthread_cond_wait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex)
{
    HP_NEED(pthread_cond_wait);
    struct hp_locks *locks = hp_locks_on();
    if (locks == NULL)
        return next.pthread_cond_wait(condition, mutex);
    return wait_slowly(condition, mutex);
}

HP_PUBLIC int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                                     const struct timespec *restrict limit)
{
    HP_NEED(pthread_cond_timedwait);
    struct hp_locks *locks = hp_locks_on();
    if (locks == NULL || !HP_LIMIT_IS_VALID(limit))
        return next.pthread_cond_timedwait(condition, mutex, limit);
    return timed_slowly(condition, mutex, limit);
}

HP_PUBLIC_IN_GLIBC int clock_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                                  const struct timespec *limit)
{
    HP_NEED(pthread_cond_clockwait);
    struct hp_locks *locks = hp_locks_on();
    if (!HP_IS_THERE(pthread_cond_clockwait))
        return MISSING;
    if (locks == NULL || !HP_CLOCK_IS_USUAL(clock) || !HP_LIMIT_IS_VALID(limit))
        return next.pthread_cond_clockwait(condition, mutex, clock, limit);
    return clock_slowly(condition, mutex, clock, limit);
}

HP_PUBLIC int cnd_wait(cnd_t *condition, mtx_t *mutex)
{
    HP_NEED(cnd_wait);
    struct hp_locks *locks = hp_locks_on();
    if (locks == NULL)
        return next.cnd_wait(condition, mutex);
    return wait_cnd_slowly(condition, mutex);
}

HP_PUBLIC int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict mutex, const struct timespec *restrict limit)
{
    HP_NEED(cnd_timedwait);
    struct hp_locks *locks = hp_locks_on();
    if (locks == NULL || !HP_LIMIT_IS_VALID(limit))
        return next.cnd_timedwait(condition, mutex, limit);
    return timed_cnd_slowly(condition, mutex, limit);
}

/* A signal for somebody: the rest of the call. The condition may be gone when it is done. */
#define SIGNAL_SLOWLY(...)                                                                                         \
    const struct hp_caller caller = HP_CALLER();                                                                   \
    hp_lock_signal(hp_locks, entry, &caller);                                                                      \
    return __VA_ARGS__

#define SIGNAL(kind, object, slowly, name)                                                                         \
    HP_NEED(name);                                                                                                 \
    struct hp_locks *locks = hp_locks_on();                                                                        \
    struct hp_lock_entry *entry = locks != NULL ? hp_lock_find(locks, object, kind) : NULL;                        \
    if (entry != NULL && hp_lock_is_awaited(entry))                                                                \
        return slowly(object, entry);                                                                              \
    return next.name(object)

SLOWLY int signal_slowly(pthread_cond_t *condition, struct hp_lock_entry *entry)
{
    SIGNAL_SLOWLY(next.pthread_cond_signal(condition));
}
SLOWLY int broadcast_slowly(pthread_cond_t *condition, struct hp_lock_entry *entry)
{
    SIGNAL_SLOWLY(next.pthread_cond_broadcast(condition));
}
SLOWLY int signal_cnd_slowly(cnd_t *condition, struct hp_lock_entry *entry)
{
    SIGNAL_SLOWLY(next.cnd_signal(condition));
}
SLOWLY int broadcast_cnd_slowly(cnd_t *condition, struct hp_lock_entry *entry)
{
    SIGNAL_SLOWLY(next.cnd_broadcast(condition));
}

HP_PUBLIC int pthread_cond_signal(pthread_cond_t *condition)
{
    SIGNAL(HP_LOCK_CONDITION, condition, signal_slowly, pthread_cond_signal);
}
HP_PUBLIC int pthread_cond_broadcast(pthread_cond_t *condition)
{
    SIGNAL(HP_LOCK_CONDITION, condition, broadcast_slowly, pthread_cond_broadcast);
}
HP_PUBLIC int cnd_signal(cnd_t *condition) { SIGNAL(HP_LOCK_CONDITION, condition, signal_cnd_slowly, cnd_signal); }
HP_PUBLIC int cnd_broadcast(cnd_t *condition)
{
    SIGNAL(HP_LOCK_CONDITION, condition, broadcast_cnd_slowly, cnd_broadcast);
}

HP_PUBLIC int pthread_cond_init(pthread_cond_t *restrict condition, const pthread_condattr_t *restrict attributes)
{
    const struct hp_caller caller = HP_CALLER();
    HP_NEED(pthread_cond_init);
    return hp_lock_made(next.pthread_cond_init(condition, attributes), condition, HP_LOCK_CONDITION, &caller);
}

HP_PUBLIC int pthread_cond_destroy(pthread_cond_t *condition)
{
    HP_NEED(pthread_cond_destroy);
    return hp_lock_gone(next.pthread_cond_destroy(condition), condition);
}

HP_PUBLIC int cnd_init(cnd_t *condition)
{
    const struct hp_caller caller = HP_CALLER();
    HP_NEED(cnd_init);
    return hp_lock_made(next.cnd_init(condition), condition, HP_LOCK_CONDITION, &caller);
}

HP_PUBLIC void cnd_destroy(cnd_t *condition)
{
    HP_NEED(cnd_destroy);
    next.cnd_destroy(condition);
    hp_lock_gone(0, condition);
}

/* --------------------------------------------------------------------------------------------------- semaphores */

static enum hp_lock_outcome outcome_of_sem(int result)
{
    return result == 0 ? HP_LOCK_GOT : errno == ETIMEDOUT ? HP_LOCK_TIMED_OUT : HP_LOCK_FAILED;
}

#define SEM_SLOWLY(...)                                                                                            \
    SLEEP(HP_LOCK_SEMAPHORE, semaphore, NULL, outcome_of_sem, __VA_ARGS__);                                        \
    return result

SLOWLY int try_sem_slowly(sem_t *semaphore)
{
    const struct hp_caller caller = HP_CALLER();
    count_passed(hp_lock_meet(hp_locks, semaphore, HP_LOCK_SEMAPHORE, &caller, false));
    return 0;
}

SLOWLY int wait_sem_slowly(sem_t *semaphore) { SEM_SLOWLY(next.sem_wait(semaphore)); }
SLOWLY int timed_sem_slowly(sem_t *semaphore, const struct timespec *limit)
{
    SEM_SLOWLY(next.sem_timedwait(semaphore, limit));
}
SLOWLY int clock_sem_slowly(sem_t *semaphore, clockid_t clock, const struct timespec *limit)
{
    SEM_SLOWLY(next.sem_clockwait(semaphore, clock, limit));
}

/* A cancellation point, also where it need not wait. */
static int try_sem(sem_t *semaphore)
{
    const int saved = errno;
    pthread_testcancel();
    const int tried = next.sem_trywait(semaphore);
    errno = saved;
    return tried;
}

#define WAIT_SEM(name, slowly, ...)                                                                                \
    HP_NEED(name);                                                                                                 \
    struct hp_locks *locks = hp_locks_on();                                                                        \
    if (!HP_IS_THERE(name)) {                                                                                      \
        errno = ENOSYS;                                                                                            \
        return -1;                                                                                                 \
    }                                                                                                              \
    if (locks == NULL || !is_valid)                                                                                \
        return next.name(__VA_ARGS__);                                                                             \
    const int tried = try_sem(semaphore);                                                                          \
    struct hp_lock_entry *entry = tried == 0 ? hp_lock_find(locks, semaphore, HP_LOCK_SEMAPHORE) : NULL;           \
    if (__builtin_expect(entry == NULL, 0))                                                                        \
        return tried == 0 ? try_sem_slowly(semaphore) : slowly(__VA_ARGS__);                                       \
    count_passed(entry);                                                                                           \
    return 0

HP_PUBLIC int sem_wait(sem_t *semaphore)
{
    const bool is_valid = true;
    WAIT_SEM(sem_wait, wait_sem_slowly, semaphore);
}

HP_PUBLIC int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict limit)
{
    const bool is_valid = HP_LIMIT_IS_VALID(limit);
    WAIT_SEM(sem_timedwait, timed_sem_slowly, semaphore, limit);
}

HP_PUBLIC_IN_GLIBC int clock_sem(sem_t *semaphore, clockid_t clock, const struct timespec *limit)
{
    const bool is_valid = HP_CLOCK_IS_USUAL(clock) && HP_LIMIT_IS_VALID(limit);
    WAIT_SEM(sem_clockwait, clock_sem_slowly, semaphore, clock, limit);
}

HP_PUBLIC int sem_trywait(sem_t *semaphore)
{
    HP_NEED(sem_trywait);
    struct hp_locks *locks = hp_locks_on();
    const int tried = next.sem_trywait(semaphore);
    if (locks == NULL || tried != 0)
        return tried;
    struct hp_lock_entry *entry = hp_lock_find(locks, semaphore, HP_LOCK_SEMAPHORE);
    if (__builtin_expect(entry == NULL, 0))
        return try_sem_slowly(semaphore);
    count_passed(entry);
    return 0;
}

SLOWLY int post_slowly(sem_t *semaphore, struct hp_lock_entry *entry) { SIGNAL_SLOWLY(next.sem_post(semaphore)); }

/* Also in signal handlers. */
HP_PUBLIC int sem_post(sem_t *semaphore) { SIGNAL(HP_LOCK_SEMAPHORE, semaphore, post_slowly, sem_post); }

HP_PUBLIC int sem_init(sem_t *semaphore, int shared, unsigned value)
{
    const struct hp_caller caller = HP_CALLER();
    HP_NEED(sem_init);
    return hp_lock_made(next.sem_init(semaphore, shared, value), semaphore, HP_LOCK_SEMAPHORE, &caller);
}

HP_PUBLIC int sem_destroy(sem_t *semaphore)
{
    HP_NEED(sem_destroy);
    return hp_lock_gone(next.sem_destroy(semaphore), semaphore);
}

/* ----------------------------------------------------------------------------------------------------- barriers */

static enum hp_lock_outcome outcome_of_barrier(int result)
{
    return result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD ? HP_LOCK_GOT : HP_LOCK_FAILED;
}

/* Each that arrives may be the last one, which wakes the others. */
static __attribute__((noinline)) void arrive(struct hp_locks *locks, const void *barrier,
                                             const struct hp_caller *caller)
{
    struct hp_lock_entry *entry = hp_lock_find(locks, barrier, HP_LOCK_BARRIER);
    if (entry != NULL)
        hp_lock_signal(locks, entry, caller);
}

/* No cancellation point. */
SLOWLY int barrier_slowly(pthread_barrier_t *barrier)
{
    struct sleep sleep = {.locks = hp_locks, .caller = HP_CALLER(), .is_passage = true};
    begin_sleep(&sleep, barrier, HP_LOCK_BARRIER, NULL);
    arrive(hp_locks, barrier, &sleep.caller);
    const int result = next.pthread_barrier_wait(barrier);
    end_sleep(&sleep, outcome_of_barrier(result));
    return result;
}

HP_PUBLIC int pthread_barrier_wait(pthread_barrier_t *barrier)
{
    HP_NEED(pthread_barrier_wait);
    struct hp_locks *locks = hp_locks_on();
    if (locks == NULL)
        return next.pthread_barrier_wait(barrier);
    return barrier_slowly(barrier);
}

HP_PUBLIC int pthread_barrier_init(pthread_barrier_t *restrict barrier,
                                   const pthread_barrierattr_t *restrict attributes, unsigned count)
{
    const struct hp_caller caller = HP_CALLER();
    HP_NEED(pthread_barrier_init);
    return hp_lock_made(next.pthread_barrier_init(barrier, attributes, count), barrier, HP_LOCK_BARRIER, &caller);
}

HP_PUBLIC int pthread_barrier_destroy(pthread_barrier_t *barrier)
{
    HP_NEED(pthread_barrier_destroy);
    return hp_lock_gone(next.pthread_barrier_destroy(barrier), barrier);
}
