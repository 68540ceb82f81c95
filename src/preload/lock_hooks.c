/*
 * Locks: interposed functions of mutexes, read-write locks and spinlocks of pthread, and of mutexes of C11, in
 * the library that `hotpath run --locks` preloads. A lock is tried first, and waited for only if it is busy: so a
 * wait is known without reading a clock at each call. Where trying has any other result, that is what waiting
 * would return, too. Results and behaviour are those of the C library.
 *
 * Functions that end in _slowly are jumped to, so that their caller is the program. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <threads.h>
#include <time.h>

#include "lock_entry.h"
#include "real_functions.h"

/* Missing in older headers, and in musl. */
HP_PUBLIC_IN_GLIBC int clock_lock(pthread_mutex_t *mutex, clockid_t clock,
                                  const struct timespec *limit) __asm__("pthread_mutex_clocklock");
HP_PUBLIC_IN_GLIBC int clock_read(pthread_rwlock_t *lock, clockid_t clock,
                                  const struct timespec *limit) __asm__("pthread_rwlock_clockrdlock");
HP_PUBLIC_IN_GLIBC int clock_write(pthread_rwlock_t *lock, clockid_t clock,
                                   const struct timespec *limit) __asm__("pthread_rwlock_clockwrlock");

/* clang-format off */
#define EACH(DO, AS)                                                                                               \
    DO(pthread_mutex_trylock) DO(pthread_mutex_lock) DO(pthread_mutex_unlock) DO(pthread_mutex_timedlock)          \
    AS(pthread_mutex_clocklock, clock_lock) DO(pthread_mutex_init) DO(pthread_mutex_destroy)                       \
    DO(pthread_rwlock_tryrdlock) DO(pthread_rwlock_rdlock) DO(pthread_rwlock_timedrdlock)                          \
    AS(pthread_rwlock_clockrdlock, clock_read) DO(pthread_rwlock_trywrlock) DO(pthread_rwlock_wrlock)              \
    DO(pthread_rwlock_timedwrlock) AS(pthread_rwlock_clockwrlock, clock_write) DO(pthread_rwlock_unlock)           \
    DO(pthread_rwlock_init) DO(pthread_rwlock_destroy) DO(pthread_spin_trylock) DO(pthread_spin_lock)              \
    DO(pthread_spin_unlock) DO(pthread_spin_init) DO(pthread_spin_destroy) DO(mtx_trylock) DO(mtx_lock)            \
    DO(mtx_timedlock) DO(mtx_unlock) DO(mtx_init) DO(mtx_destroy)
/* clang-format on */
HP_REAL_FUNCTIONS(EACH)

/*
 * While the file is made, what other threads lock is not counted: so it is made before there are any; and before
 * another user could not make it.
 */
static void begin_now(void) { hp_locks_on(); }

/* Also decides whether locks are recorded: before, and without a run, calls are only forwarded. */
__attribute__((constructor)) static void find_next(void)
{
    hp_resolve_all(find_each);
    hp_locks_prepare();
    if (hp_locks == NULL)
        return;
    hp_begin_more = begin_now;
#ifdef HOTPATH_LOCKS_WRAP
    begin_now(); /* nothing tells of the first thread */
#endif
}

_Static_assert(offsetof(__typeof__(next), pthread_mutex_lock) ==
                   offsetof(__typeof__(next), pthread_mutex_trylock) + sizeof(void *),
               "pthread_mutex_lock chooses between both");

#define SLOWLY static __attribute__((noinline))
#define MISSING ENOSYS /* what the caller would not have found without us */

/* ---------------------------------------------------------------------------------------------------- in common */

static inline bool has_got(int result) { return result == 0 || result == EOWNERDEAD; }
static inline bool has_got_thrd(int result) { return result == thrd_success; }

static void count_taken(struct hp_locks *locks, struct hp_lock_entry *entry)
{
    if (entry != NULL)
        hp_lock_taken(locks, entry);
    else
        hp_lock_taken_among_others(locks);
}

static void end_wait(struct hp_locks *locks, struct hp_lock_entry *entry, const struct hp_lock_wait *wait,
                     enum hp_lock_outcome outcome)
{
    if (entry != NULL)
        hp_lock_waited(locks, entry, wait, outcome);
    else
        hp_lock_waited_among_others(locks, wait, outcome);
}

static enum hp_lock_outcome outcome_of(int result)
{
    return has_got(result) ? HP_LOCK_GOT : result == ETIMEDOUT ? HP_LOCK_TIMED_OUT : HP_LOCK_FAILED;
}

static enum hp_lock_outcome outcome_of_thrd(int result)
{
    return has_got_thrd(result) ? HP_LOCK_GOT : result == thrd_timedout ? HP_LOCK_TIMED_OUT : HP_LOCK_FAILED;
}

/* A thread that died with it, perhaps one at the same address. */
static void forget_holder(struct hp_lock_entry *entry)
{
    entry->held = 0;
    entry->since = 0;
}

/* After a lock was tried with this result: the whole rest of a call. `count` is for one that was got. */
#define ACQUIRE_SLOWLY(kind, lock, tried, busy, outcome_of_, count, ...)                                           \
    const struct hp_caller caller = HP_CALLER();                                                                   \
    struct hp_locks *locks = hp_locks_on();                                                                        \
    int result = tried;                                                                                            \
    if (locks == NULL)                                                                                             \
        return result == (busy) ? __VA_ARGS__ : result;                                                            \
    struct hp_lock_entry *entry = hp_lock_meet(locks, lock, kind, &caller, false);                                 \
    if (result == (busy)) {                                                                                        \
        struct hp_lock_wait wait;                                                                                  \
        hp_lock_wait(locks, entry, &caller, &wait);                                                                \
        result = __VA_ARGS__;                                                                                      \
        if (!hp_lock_is_same_process(locks, wait.pid))                                                             \
            return result; /* a handler has forked: this is the child */                                           \
        end_wait(locks, entry, &wait, outcome_of_(result));                                                        \
    }                                                                                                              \
    if (result == EOWNERDEAD && entry != NULL)                                                                     \
        forget_holder(entry);                                                                                      \
    if (outcome_of_(result) == HP_LOCK_GOT)                                                                        \
        count(locks, entry);                                                                                       \
    return result

/*
 * The usual case: it is free, and known. There is no call behind that of the C library, but one jump to what does
 * all of the rest, so hardly a register is saved.
 */
#define TRY_FAST(kind, lock, try, take)                                                                            \
    const int tried = next.try(lock);                                                                              \
    TAKE_FAST(kind, lock, take)
#define TAKE_FAST(kind, lock, take)                                                                                \
    if (__builtin_expect(tried == 0, 1) && take(hp_locks, lock, kind))                                             \
        return 0;

/* Gives it up, and charges the caller with what others waited. */
#define RELEASE_SLOWLY(lock, release, unlock)                                                                      \
    const struct hp_caller caller = HP_CALLER();                                                                   \
    struct hp_locks *locks = hp_locks;                                                                             \
    struct hp_lock_charge charge;                                                                                  \
    release(locks, entry, &caller, &charge);                                                                       \
    const int result = next.unlock(lock);                                                                          \
    hp_lock_charge(locks, &charge, &caller);                                                                       \
    return result

/* ------------------------------------------------------------------------------------------------------ mutexes */

/*
 * glibc's trylock of a robust mutex that cannot be recovered any more fails, but leaves it locked: the next
 * thread would wait forever. So a robust mutex is waited for at once. Then there was a wait if another thread is
 * known to have it.
 */
#ifdef __GLIBC__
#define ROBUST_BIT 16
static inline bool may_be_tried(const pthread_mutex_t *mutex) { return !(mutex->__data.__kind & ROBUST_BIT); }
#else
static inline bool may_be_tried(const pthread_mutex_t *mutex)
{
    (void)mutex;
    return true;
}
#endif

static __attribute__((noinline)) bool has_holder(const pthread_mutex_t *mutex)
{
    struct hp_locks *locks = hp_locks_on();
    const struct hp_lock_entry *entry = locks != NULL ? hp_lock_find(locks, mutex, HP_LOCK_MUTEX) : NULL;
    return entry != NULL && hp_lock_holder(HOTPATH_GET_(entry->held)) != 0 && !hp_lock_is_own(entry);
}

#define IF_ROBUST(slowly, call, ...)                                                                               \
    if (__builtin_expect(!may_be_tried(mutex), 0))                                                                 \
        return slowly(__VA_ARGS__, has_holder(mutex) ? EBUSY : (call));

/*
 * A plain mutex of a process with one thread is not busy. glibc's lock knows that, too, and then costs less than
 * half of its trylock.
 */
#ifdef __GLIBC__
static inline bool need_not_try(const pthread_mutex_t *mutex)
{
    return (mutex->__data.__kind == PTHREAD_MUTEX_NORMAL) & hp_lock_is_alone();
}
#else
static inline bool need_not_try(const pthread_mutex_t *mutex)
{
    (void)mutex;
    return false;
}
#endif

#define MUTEX_SLOWLY(...) ACQUIRE_SLOWLY(HP_LOCK_MUTEX, mutex, tried, EBUSY, outcome_of, count_taken, __VA_ARGS__)

/* The rest of a try: it is not waited for. */
SLOWLY int try_mutex_slowly(pthread_mutex_t *mutex, int tried)
{
    const struct hp_caller caller = HP_CALLER();
    struct hp_locks *locks = has_got(tried) ? hp_locks_on() : NULL;
    if (locks == NULL)
        return tried;
    struct hp_lock_entry *entry = hp_lock_find_or_meet(locks, mutex, HP_LOCK_MUTEX, &caller);
    if (tried == EOWNERDEAD && entry != NULL)
        forget_holder(entry);
    count_taken(locks, entry);
    return tried;
}

/* It was got, and is most likely a hold to be timed. */
SLOWLY int take_mutex(pthread_mutex_t *mutex)
{
    struct hp_lock_entry *entry = hp_lock_find(hp_locks, mutex, HP_LOCK_MUTEX);
    if (entry == NULL)
        return try_mutex_slowly(mutex, 0);
    hp_lock_taken(hp_locks, entry);
    return 0;
}

SLOWLY int lock_mutex_slowly(pthread_mutex_t *mutex, int tried) { MUTEX_SLOWLY(next.pthread_mutex_lock(mutex)); }
SLOWLY int timed_mutex_slowly(pthread_mutex_t *mutex, const struct timespec *limit, int tried)
{
    MUTEX_SLOWLY(next.pthread_mutex_timedlock(mutex, limit));
}
SLOWLY int clock_mutex_slowly(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *limit, int tried)
{
    MUTEX_SLOWLY(next.pthread_mutex_clocklock(mutex, clock, limit));
}

HP_PUBLIC int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    if (__builtin_expect(hp_locks == NULL, 0)) {
        HP_NEED(pthread_mutex_trylock);
        return next.pthread_mutex_trylock(mutex);
    }
    TRY_FAST(HP_LOCK_MUTEX, mutex, pthread_mutex_trylock, hp_lock_take_fast)
    return try_mutex_slowly(mutex, tried);
}

HP_PUBLIC int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    if (__builtin_expect(hp_locks == NULL, 0)) {
        HP_NEED(pthread_mutex_lock);
        return next.pthread_mutex_lock(mutex);
    }
    IF_ROBUST(lock_mutex_slowly, next.pthread_mutex_lock(mutex), mutex)
    /* Side by side in the table, so the choice takes no branch. */
    const size_t way = offsetof(__typeof__(next), pthread_mutex_trylock) + need_not_try(mutex) * sizeof(void *);
    const int tried = (*(__typeof__(next.pthread_mutex_lock) *)(void *)((char *)&next + way))(mutex);
    TAKE_FAST(HP_LOCK_MUTEX, mutex, hp_lock_take_fast)
    if (tried == 0)
        return take_mutex(mutex);
    return tried == EBUSY ? lock_mutex_slowly(mutex, tried) : try_mutex_slowly(mutex, tried);
}

HP_PUBLIC int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *limit)
{
    if (__builtin_expect(hp_locks == NULL, 0)) {
        HP_NEED(pthread_mutex_timedlock);
        return next.pthread_mutex_timedlock(mutex, limit);
    }
    IF_ROBUST(timed_mutex_slowly, next.pthread_mutex_timedlock(mutex, limit), mutex, limit)
    TRY_FAST(HP_LOCK_MUTEX, mutex, pthread_mutex_trylock, hp_lock_take_fast)
    return tried == EBUSY ? timed_mutex_slowly(mutex, limit, tried) : try_mutex_slowly(mutex, tried);
}

HP_PUBLIC_IN_GLIBC int clock_lock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *limit)
{
    HP_NEED(pthread_mutex_clocklock);
    if (!HP_IS_THERE(pthread_mutex_clocklock))
        return MISSING;
    if (hp_locks == NULL || !HP_CLOCK_IS_USUAL(clock))
        return next.pthread_mutex_clocklock(mutex, clock, limit);
    IF_ROBUST(clock_mutex_slowly, next.pthread_mutex_clocklock(mutex, clock, limit), mutex, clock, limit)
    TRY_FAST(HP_LOCK_MUTEX, mutex, pthread_mutex_trylock, hp_lock_take_fast)
    return tried == EBUSY ? clock_mutex_slowly(mutex, clock, limit, tried) : try_mutex_slowly(mutex, tried);
}

SLOWLY int unlock_mutex_slowly(pthread_mutex_t *mutex)
{
    struct hp_lock_entry *entry = hp_lock_find(hp_locks, mutex, HP_LOCK_MUTEX);
    if (entry == NULL || !hp_lock_released(entry, mutex, HP_LOCK_MUTEX))
        return next.pthread_mutex_unlock(mutex);
    RELEASE_SLOWLY(mutex, hp_lock_release, pthread_mutex_unlock);
}

HP_PUBLIC int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    struct hp_locks *locks = hp_locks;
    if (__builtin_expect(locks == NULL, 0)) {
        HP_NEED(pthread_mutex_unlock);
        return next.pthread_mutex_unlock(mutex);
    }
    if (__builtin_expect(hp_lock_release_fast(locks, mutex, HP_LOCK_MUTEX), 1))
        return next.pthread_mutex_unlock(mutex);
    return unlock_mutex_slowly(mutex);
}

HP_PUBLIC int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes)
{
    const struct hp_caller caller = HP_CALLER();
    HP_NEED(pthread_mutex_init);
    return hp_lock_made(next.pthread_mutex_init(mutex, attributes), mutex, HP_LOCK_MUTEX, &caller);
}

HP_PUBLIC int pthread_mutex_destroy(pthread_mutex_t *mutex)
{
    HP_NEED(pthread_mutex_destroy);
    return hp_lock_gone(next.pthread_mutex_destroy(mutex), mutex);
}

/* ----------------------------------------------------------------------------------------------- mutexes of C11 */

#define THRD_SLOWLY(...)                                                                                           \
    ACQUIRE_SLOWLY(HP_LOCK_MUTEX, mutex, tried, thrd_busy, outcome_of_thrd, count_taken, __VA_ARGS__)

SLOWLY int try_mtx_slowly(mtx_t *mutex, int tried)
{
    const struct hp_caller caller = HP_CALLER();
    struct hp_locks *locks = has_got_thrd(tried) ? hp_locks_on() : NULL;
    if (locks != NULL)
        count_taken(locks, hp_lock_find_or_meet(locks, mutex, HP_LOCK_MUTEX, &caller));
    return tried;
}

SLOWLY int lock_mtx_slowly(mtx_t *mutex, int tried) { THRD_SLOWLY(next.mtx_lock(mutex)); }
SLOWLY int timed_mtx_slowly(mtx_t *mutex, const struct timespec *limit, int tried)
{
    THRD_SLOWLY(next.mtx_timedlock(mutex, limit));
}

HP_PUBLIC int mtx_trylock(mtx_t *mutex)
{
    if (__builtin_expect(hp_locks == NULL, 0)) {
        HP_NEED(mtx_trylock);
        return next.mtx_trylock(mutex);
    }
    TRY_FAST(HP_LOCK_MUTEX, mutex, mtx_trylock, hp_lock_take_fast)
    return try_mtx_slowly(mutex, tried);
}

HP_PUBLIC int mtx_lock(mtx_t *mutex)
{
    if (__builtin_expect(hp_locks == NULL, 0)) {
        HP_NEED(mtx_lock);
        return next.mtx_lock(mutex);
    }
    TRY_FAST(HP_LOCK_MUTEX, mutex, mtx_trylock, hp_lock_take_fast)
    return tried == thrd_busy ? lock_mtx_slowly(mutex, tried) : try_mtx_slowly(mutex, tried);
}

HP_PUBLIC int mtx_timedlock(mtx_t *restrict mutex, const struct timespec *restrict limit)
{
    if (__builtin_expect(hp_locks == NULL, 0) || HP_LIMIT_IS_NONE(limit)) {
        HP_NEED(mtx_timedlock);
        return next.mtx_timedlock(mutex, limit);
    }
    TRY_FAST(HP_LOCK_MUTEX, mutex, mtx_trylock, hp_lock_take_fast)
    return tried == thrd_busy ? timed_mtx_slowly(mutex, limit, tried) : try_mtx_slowly(mutex, tried);
}

SLOWLY int unlock_mtx_slowly(mtx_t *mutex)
{
    struct hp_lock_entry *entry = hp_lock_find(hp_locks, mutex, HP_LOCK_MUTEX);
    if (entry == NULL || !hp_lock_released(entry, mutex, HP_LOCK_MUTEX))
        return next.mtx_unlock(mutex);
    RELEASE_SLOWLY(mutex, hp_lock_release, mtx_unlock);
}

HP_PUBLIC int mtx_unlock(mtx_t *mutex)
{
    struct hp_locks *locks = hp_locks;
    if (__builtin_expect(locks == NULL, 0)) {
        HP_NEED(mtx_unlock);
        return next.mtx_unlock(mutex);
    }
    if (__builtin_expect(hp_lock_release_fast(locks, mutex, HP_LOCK_MUTEX), 1))
        return next.mtx_unlock(mutex);
    return unlock_mtx_slowly(mutex);
}

HP_PUBLIC int mtx_init(mtx_t *mutex, int type)
{
    const struct hp_caller caller = HP_CALLER();
    HP_NEED(mtx_init);
    return hp_lock_made(next.mtx_init(mutex, type), mutex, HP_LOCK_MUTEX, &caller);
}

HP_PUBLIC void mtx_destroy(mtx_t *mutex)
{
    HP_NEED(mtx_destroy);
    next.mtx_destroy(mutex);
    hp_lock_gone(0, mutex);
}

/* ---------------------------------------------------------------------------------------------------- spinlocks */

/* The C library declares them as volatile. */
static const void *address_of(const pthread_spinlock_t *lock) { return (const void *)(uintptr_t)lock; }

SLOWLY int try_spin_slowly(pthread_spinlock_t *lock, int tried)
{
    const struct hp_caller caller = HP_CALLER();
    struct hp_locks *locks = has_got(tried) ? hp_locks_on() : NULL;
    if (locks != NULL)
        count_taken(locks, hp_lock_find_or_meet(locks, address_of(lock), HP_LOCK_SPIN, &caller));
    return tried;
}

SLOWLY int lock_spin_slowly(pthread_spinlock_t *lock, int tried)
{
    ACQUIRE_SLOWLY(HP_LOCK_SPIN, address_of(lock), tried, EBUSY, outcome_of, count_taken,
                   next.pthread_spin_lock(lock));
}

HP_PUBLIC int pthread_spin_trylock(pthread_spinlock_t *lock)
{
    if (__builtin_expect(hp_locks == NULL, 0)) {
        HP_NEED(pthread_spin_trylock);
        return next.pthread_spin_trylock(lock);
    }
    const int tried = next.pthread_spin_trylock(lock);
    TAKE_FAST(HP_LOCK_SPIN, address_of(lock), hp_lock_take_fast)
    return try_spin_slowly(lock, tried);
}

HP_PUBLIC int pthread_spin_lock(pthread_spinlock_t *lock)
{
    if (__builtin_expect(hp_locks == NULL, 0)) {
        HP_NEED(pthread_spin_lock);
        return next.pthread_spin_lock(lock);
    }
    const int tried = next.pthread_spin_trylock(lock);
    TAKE_FAST(HP_LOCK_SPIN, address_of(lock), hp_lock_take_fast)
    return tried == EBUSY ? lock_spin_slowly(lock, tried) : try_spin_slowly(lock, tried);
}

SLOWLY int unlock_spin_slowly(pthread_spinlock_t *lock)
{
    struct hp_lock_entry *entry = hp_lock_find(hp_locks, address_of(lock), HP_LOCK_SPIN);
    if (entry == NULL || !hp_lock_released(entry, address_of(lock), HP_LOCK_SPIN))
        return next.pthread_spin_unlock(lock);
    RELEASE_SLOWLY(lock, hp_lock_release, pthread_spin_unlock);
}

HP_PUBLIC int pthread_spin_unlock(pthread_spinlock_t *lock)
{
    struct hp_locks *locks = hp_locks;
    if (__builtin_expect(locks == NULL, 0)) {
        HP_NEED(pthread_spin_unlock);
        return next.pthread_spin_unlock(lock);
    }
    if (__builtin_expect(hp_lock_release_fast(locks, address_of(lock), HP_LOCK_SPIN), 1))
        return next.pthread_spin_unlock(lock);
    return unlock_spin_slowly(lock);
}

HP_PUBLIC int pthread_spin_init(pthread_spinlock_t *lock, int shared)
{
    const struct hp_caller caller = HP_CALLER();
    HP_NEED(pthread_spin_init);
    return hp_lock_made(next.pthread_spin_init(lock, shared), address_of(lock), HP_LOCK_SPIN, &caller);
}

HP_PUBLIC int pthread_spin_destroy(pthread_spinlock_t *lock)
{
    HP_NEED(pthread_spin_destroy);
    return hp_lock_gone(next.pthread_spin_destroy(lock), address_of(lock));
}

/* --------------------------------------------------------------------------------------------- read-write locks */

/* Several threads may read at once. */
static inline void count_read(struct hp_lock_entry *entry)
{
    __atomic_fetch_add(&entry->locked, 1, __ATOMIC_RELAXED);
}

static inline bool count_read_fast(struct hp_locks *locks, const void *lock, enum hp_lock_kind kind)
{
    struct hp_lock_entry *entry = hp_lock_find_first(locks, lock, kind);
    if (entry != NULL)
        count_read(entry);
    return entry != NULL;
}

static void count_reader(struct hp_locks *locks, struct hp_lock_entry *entry)
{
    if (entry != NULL)
        count_read(entry);
    else
        hp_lock_taken_among_others(locks);
}

#define READ_SLOWLY(...) ACQUIRE_SLOWLY(HP_LOCK_RWLOCK, lock, tried, EBUSY, outcome_of, count_reader, __VA_ARGS__)
#define WRITE_SLOWLY(...) ACQUIRE_SLOWLY(HP_LOCK_RWLOCK, lock, tried, EBUSY, outcome_of, count_taken, __VA_ARGS__)

SLOWLY int try_read_slowly(pthread_rwlock_t *lock, int tried)
{
    const struct hp_caller caller = HP_CALLER();
    struct hp_locks *locks = tried == 0 ? hp_locks_on() : NULL;
    if (locks != NULL)
        count_reader(locks, hp_lock_find_or_meet(locks, lock, HP_LOCK_RWLOCK, &caller));
    return tried;
}

SLOWLY int try_write_slowly(pthread_rwlock_t *lock, int tried)
{
    const struct hp_caller caller = HP_CALLER();
    struct hp_locks *locks = tried == 0 ? hp_locks_on() : NULL;
    if (locks != NULL)
        count_taken(locks, hp_lock_find_or_meet(locks, lock, HP_LOCK_RWLOCK, &caller));
    return tried;
}

SLOWLY int read_slowly(pthread_rwlock_t *lock, int tried) { READ_SLOWLY(next.pthread_rwlock_rdlock(lock)); }
SLOWLY int write_slowly(pthread_rwlock_t *lock, int tried) { WRITE_SLOWLY(next.pthread_rwlock_wrlock(lock)); }
SLOWLY int timed_read_slowly(pthread_rwlock_t *lock, const struct timespec *limit, int tried)
{
    READ_SLOWLY(next.pthread_rwlock_timedrdlock(lock, limit));
}
SLOWLY int timed_write_slowly(pthread_rwlock_t *lock, const struct timespec *limit, int tried)
{
    WRITE_SLOWLY(next.pthread_rwlock_timedwrlock(lock, limit));
}
SLOWLY int clock_read_slowly(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *limit, int tried)
{
    READ_SLOWLY(next.pthread_rwlock_clockrdlock(lock, clock, limit));
}
SLOWLY int clock_write_slowly(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *limit, int tried)
{
    WRITE_SLOWLY(next.pthread_rwlock_clockwrlock(lock, clock, limit));
}

HP_PUBLIC int pthread_rwlock_tryrdlock(pthread_rwlock_t *lock)
{
    if (__builtin_expect(hp_locks == NULL, 0)) {
        HP_NEED(pthread_rwlock_tryrdlock);
        return next.pthread_rwlock_tryrdlock(lock);
    }
    TRY_FAST(HP_LOCK_RWLOCK, lock, pthread_rwlock_tryrdlock, count_read_fast)
    return try_read_slowly(lock, tried);
}

HP_PUBLIC int pthread_rwlock_rdlock(pthread_rwlock_t *lock)
{
    if (__builtin_expect(hp_locks == NULL, 0)) {
        HP_NEED(pthread_rwlock_rdlock);
        return next.pthread_rwlock_rdlock(lock);
    }
    TRY_FAST(HP_LOCK_RWLOCK, lock, pthread_rwlock_tryrdlock, count_read_fast)
    return read_slowly(lock, tried == 0 ? 0 : EBUSY);
}

HP_PUBLIC int pthread_rwlock_timedrdlock(pthread_rwlock_t *restrict lock, const struct timespec *restrict limit)
{
    if (__builtin_expect(hp_locks == NULL, 0) || !HP_LIMIT_IS_VALID(limit)) {
        HP_NEED(pthread_rwlock_timedrdlock);
        return next.pthread_rwlock_timedrdlock(lock, limit);
    }
    TRY_FAST(HP_LOCK_RWLOCK, lock, pthread_rwlock_tryrdlock, count_read_fast)
    return timed_read_slowly(lock, limit, tried == 0 ? 0 : EBUSY);
}

HP_PUBLIC_IN_GLIBC int clock_read(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *limit)
{
    HP_NEED(pthread_rwlock_clockrdlock);
    if (!HP_IS_THERE(pthread_rwlock_clockrdlock))
        return MISSING;
    if (hp_locks == NULL || !HP_CLOCK_IS_USUAL(clock) || !HP_LIMIT_IS_VALID(limit))
        return next.pthread_rwlock_clockrdlock(lock, clock, limit);
    TRY_FAST(HP_LOCK_RWLOCK, lock, pthread_rwlock_tryrdlock, count_read_fast)
    return clock_read_slowly(lock, clock, limit, tried == 0 ? 0 : EBUSY);
}

HP_PUBLIC int pthread_rwlock_trywrlock(pthread_rwlock_t *lock)
{
    if (__builtin_expect(hp_locks == NULL, 0)) {
        HP_NEED(pthread_rwlock_trywrlock);
        return next.pthread_rwlock_trywrlock(lock);
    }
    TRY_FAST(HP_LOCK_RWLOCK, lock, pthread_rwlock_trywrlock, hp_lock_take_fast)
    return try_write_slowly(lock, tried);
}

HP_PUBLIC int pthread_rwlock_wrlock(pthread_rwlock_t *lock)
{
    if (__builtin_expect(hp_locks == NULL, 0)) {
        HP_NEED(pthread_rwlock_wrlock);
        return next.pthread_rwlock_wrlock(lock);
    }
    TRY_FAST(HP_LOCK_RWLOCK, lock, pthread_rwlock_trywrlock, hp_lock_take_fast)
    return write_slowly(lock, tried == 0 ? 0 : EBUSY);
}

HP_PUBLIC int pthread_rwlock_timedwrlock(pthread_rwlock_t *restrict lock, const struct timespec *restrict limit)
{
    if (__builtin_expect(hp_locks == NULL, 0) || !HP_LIMIT_IS_VALID(limit)) {
        HP_NEED(pthread_rwlock_timedwrlock);
        return next.pthread_rwlock_timedwrlock(lock, limit);
    }
    TRY_FAST(HP_LOCK_RWLOCK, lock, pthread_rwlock_trywrlock, hp_lock_take_fast)
    return timed_write_slowly(lock, limit, tried == 0 ? 0 : EBUSY);
}

HP_PUBLIC_IN_GLIBC int clock_write(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *limit)
{
    HP_NEED(pthread_rwlock_clockwrlock);
    if (!HP_IS_THERE(pthread_rwlock_clockwrlock))
        return MISSING;
    if (hp_locks == NULL || !HP_CLOCK_IS_USUAL(clock) || !HP_LIMIT_IS_VALID(limit))
        return next.pthread_rwlock_clockwrlock(lock, clock, limit);
    TRY_FAST(HP_LOCK_RWLOCK, lock, pthread_rwlock_trywrlock, hp_lock_take_fast)
    return clock_write_slowly(lock, clock, limit, tried == 0 ? 0 : EBUSY);
}

SLOWLY int unlock_write_slowly(pthread_rwlock_t *lock, struct hp_lock_entry *entry)
{
    RELEASE_SLOWLY(lock, hp_lock_release, pthread_rwlock_unlock);
}
SLOWLY int unlock_read_slowly(pthread_rwlock_t *lock, struct hp_lock_entry *entry)
{
    RELEASE_SLOWLY(lock, hp_lock_release_shared, pthread_rwlock_unlock);
}

/* A writer is known as such; all others read. */
HP_PUBLIC int pthread_rwlock_unlock(pthread_rwlock_t *lock)
{
    struct hp_locks *locks = hp_locks;
    if (__builtin_expect(locks == NULL, 0)) {
        HP_NEED(pthread_rwlock_unlock);
        return next.pthread_rwlock_unlock(lock);
    }
    struct hp_lock_entry *entry = hp_lock_find(locks, lock, HP_LOCK_RWLOCK);
    if (entry == NULL)
        return next.pthread_rwlock_unlock(lock);
    if (hp_lock_holder(HOTPATH_GET_(entry->held)) != 0) {
        if (hp_lock_released(entry, lock, HP_LOCK_RWLOCK))
            return unlock_write_slowly(lock, entry);
    } else if (__builtin_expect(__atomic_load_n(&entry->waiting, __ATOMIC_RELAXED) != 0, 0)) {
        return unlock_read_slowly(lock, entry);
    }
    return next.pthread_rwlock_unlock(lock);
}

HP_PUBLIC int pthread_rwlock_init(pthread_rwlock_t *restrict lock, const pthread_rwlockattr_t *restrict attributes)
{
    const struct hp_caller caller = HP_CALLER();
    HP_NEED(pthread_rwlock_init);
    return hp_lock_made(next.pthread_rwlock_init(lock, attributes), lock, HP_LOCK_RWLOCK, &caller);
}

HP_PUBLIC int pthread_rwlock_destroy(pthread_rwlock_t *lock)
{
    HP_NEED(pthread_rwlock_destroy);
    return hp_lock_gone(next.pthread_rwlock_destroy(lock), lock);
}
