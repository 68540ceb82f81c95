/*
 * Every function of locks, for every type and attribute that there is, in many situations: prints one line for
 * each, with the result, errno and what can be seen of the lock. The output is the same however the functions are
 * interposed.
 *
 *     lock_rules        calls them
 *     lock_rules maps   shows what is mapped
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define MUST(condition)                                                                                            \
    do                                                                                                             \
        if (!(condition)) {                                                                                        \
            fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, strerror(errno));                  \
            exit(1);                                                                                               \
        }                                                                                                          \
    while (0)

#define UNTOUCHED 4095
static char situation[256];

static void tell(const char *call, int result)
{
    if (errno == UNTOUCHED)
        printf("%s: %s = %d\n", situation, call, result);
    else
        printf("%s: %s = %d, errno %d\n", situation, call, result, errno);
}

/* Calls a function and tells of it, by the text of the call. */
#define CALL(...)                                                                                                  \
    do {                                                                                                           \
        errno = UNTOUCHED;                                                                                         \
        const int result_ = (__VA_ARGS__);                                                                         \
        tell(#__VA_ARGS__, result_);                                                                               \
    } while (0)

/* Newer functions, which not every C library has. */
typedef int clock_mutex(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *limit);
typedef int clock_rwlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *limit);
typedef int clock_cond(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                       const struct timespec *limit);
typedef int clock_sem(sem_t *semaphore, clockid_t clock, const struct timespec *limit);
extern clock_mutex pthread_mutex_clocklock __attribute__((weak));
extern clock_rwlock pthread_rwlock_clockrdlock __attribute__((weak)),
    pthread_rwlock_clockwrlock __attribute__((weak));
extern clock_cond pthread_cond_clockwait __attribute__((weak));
extern clock_sem sem_clockwait __attribute__((weak));

static struct timespec soon(clockid_t clock, long ms)
{
    struct timespec now;
    clock_gettime(clock, &now);
    now.tv_nsec += ms % 1000 * 1000000;
    now.tv_sec += ms / 1000 + now.tv_nsec / 1000000000;
    now.tv_nsec %= 1000000000;
    return now;
}

static const struct timespec odd = {0, 1000000000}, odder = {0, -1}, past = {1, 0};

static void run_in_thread(void *(*routine)(void *context), void *context)
{
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, routine, context) == 0);
    MUST(pthread_join(thread, NULL) == 0);
}

/* ------------------------------------------------------------------------------------------------------ mutexes */

struct kind {
    const char *name;
    int type, protocol, robust, shared;
};

static bool make_mutex(pthread_mutex_t *mutex, const struct kind *kind)
{
    pthread_mutexattr_t attributes;
    MUST(pthread_mutexattr_init(&attributes) == 0);
    pthread_mutexattr_settype(&attributes, kind->type);
    pthread_mutexattr_setprotocol(&attributes, kind->protocol);
#ifdef __GLIBC__ /* musl knows no ceilings: it refuses the protocol */
    if (kind->protocol == PTHREAD_PRIO_PROTECT)
        pthread_mutexattr_setprioceiling(&attributes, 50);
#endif
    pthread_mutexattr_setrobust(&attributes, kind->robust);
    pthread_mutexattr_setpshared(&attributes, kind->shared);
    const int result = pthread_mutex_init(mutex, &attributes);
    CALL(result);
    pthread_mutexattr_destroy(&attributes);
    return result == 0;
}

static void *try_all(void *context)
{
    pthread_mutex_t *mutex = context;
    struct timespec limit;
    CALL(pthread_mutex_trylock(mutex));
    limit = soon(CLOCK_REALTIME, 3);
    CALL(pthread_mutex_timedlock(mutex, &limit));
    CALL(pthread_mutex_timedlock(mutex, &past));
#ifdef __GLIBC__ /* musl waits for ever for a limit that is none, with inheritance */
    CALL(pthread_mutex_timedlock(mutex, &odd));
    CALL(pthread_mutex_timedlock(mutex, &odder));
#endif
    if (pthread_mutex_clocklock != NULL) {
        limit = soon(CLOCK_MONOTONIC, 3);
        CALL(pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &limit));
        CALL(pthread_mutex_clocklock(mutex, CLOCK_PROCESS_CPUTIME_ID, &limit));
        CALL(pthread_mutex_clocklock(mutex, 77, &limit));
        CALL(pthread_mutex_clocklock(mutex, CLOCK_REALTIME, &odd));
    }
    return NULL;
}

static void *unlock_of_another(void *context)
{
    CALL(pthread_mutex_unlock((pthread_mutex_t *)context));
    return NULL;
}

static void *die_with(void *context)
{
    CALL(pthread_mutex_lock((pthread_mutex_t *)context));
    return NULL;
}

struct waiting {
    pthread_mutex_t *mutex;
    pthread_barrier_t both;
    int result;
};

static void *wait_for(void *context)
{
    struct waiting *waiting = context;
    pthread_barrier_wait(&waiting->both);
    waiting->result = pthread_mutex_lock(waiting->mutex);
    if (waiting->result == EOWNERDEAD)
        MUST(pthread_mutex_consistent(waiting->mutex) == 0);
    if (waiting->result == 0 || waiting->result == EOWNERDEAD)
        MUST(pthread_mutex_unlock(waiting->mutex) == 0);
    return NULL;
}

/* Another thread waits while we have it. */
static void contend(pthread_mutex_t *mutex)
{
    struct waiting waiting = {.mutex = mutex};
    pthread_t thread;
    MUST(pthread_barrier_init(&waiting.both, NULL, 2) == 0);
    CALL(pthread_mutex_lock(mutex));
    MUST(pthread_create(&thread, NULL, wait_for, &waiting) == 0);
    pthread_barrier_wait(&waiting.both);
    usleep(2000);
    CALL(pthread_mutex_unlock(mutex));
    MUST(pthread_join(thread, NULL) == 0);
    CALL(waiting.result);
    pthread_barrier_destroy(&waiting.both);
}

/* For types that tell of it, or allow it. */
static void lock_again(pthread_mutex_t *mutex, const struct kind *kind)
{
    struct timespec limit = soon(CLOCK_REALTIME, 3);
    CALL(pthread_mutex_lock(mutex));
    CALL(pthread_mutex_trylock(mutex));
    if (kind->type == PTHREAD_MUTEX_RECURSIVE || kind->type == PTHREAD_MUTEX_ERRORCHECK)
        CALL(pthread_mutex_lock(mutex));
    CALL(pthread_mutex_timedlock(mutex, &limit));
    run_in_thread(try_all, mutex);
    for (int times = 0; times < 4 && (times == 0 || kind->type == PTHREAD_MUTEX_RECURSIVE); times++)
        CALL(pthread_mutex_unlock(mutex));
    run_in_thread(try_all, mutex);
}

static void abandon(const struct kind *kind)
{
    pthread_mutex_t mutex;
    make_mutex(&mutex, kind);
    run_in_thread(die_with, &mutex);
    CALL(pthread_mutex_trylock(&mutex));
    CALL(pthread_mutex_unlock(&mutex)); /* without making it consistent */
    CALL(pthread_mutex_lock(&mutex));
    CALL(pthread_mutex_trylock(&mutex));
    CALL(pthread_mutex_destroy(&mutex));
    make_mutex(&mutex, kind);
    run_in_thread(die_with, &mutex);
    CALL(pthread_mutex_lock(&mutex));
    CALL(pthread_mutex_consistent(&mutex));
    CALL(pthread_mutex_unlock(&mutex));
    contend(&mutex);
    CALL(pthread_mutex_destroy(&mutex));
}

/* In memory that a child shares: the child dies with it, or waits for it. */
static void share(const struct kind *kind)
{
    pthread_mutex_t *mutex = mmap(NULL, sizeof *mutex, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    MUST(mutex != MAP_FAILED);
    make_mutex(mutex, kind);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(pthread_mutex_lock(mutex) == 0 && pthread_mutex_unlock(mutex) == 0 ? 3 : 4);
    int status;
    MUST(waitpid(child, &status, 0) == child);
    CALL(WEXITSTATUS(status));
    CALL(pthread_mutex_lock(mutex));
    fflush(stdout);
    int ends[2];
    char byte;
    MUST(pipe(ends) == 0);
    child = fork();
    if (child == 0) {
        const bool is_busy = pthread_mutex_trylock(mutex) == EBUSY;
        MUST(write(ends[1], "x", 1) == 1);
        _exit(is_busy && pthread_mutex_lock(mutex) == 0 ? 5 : 6);
    }
    MUST(read(ends[0], &byte, 1) == 1);
    close(ends[0]);
    close(ends[1]);
    CALL(pthread_mutex_unlock(mutex));
    MUST(waitpid(child, &status, 0) == child);
    CALL(WEXITSTATUS(status));
    if (kind->robust == PTHREAD_MUTEX_ROBUST) {
        CALL(pthread_mutex_lock(mutex));
        CALL(pthread_mutex_consistent(mutex));
        CALL(pthread_mutex_unlock(mutex));
    } else {
        CALL(pthread_mutex_trylock(mutex));
    }
    MUST(munmap(mutex, sizeof *mutex) == 0);
}

static void try_kind(const struct kind *kind)
{
    pthread_mutex_t mutex;
    snprintf(situation, sizeof situation, "%s", kind->name);
    if (!make_mutex(&mutex, kind))
        return; /* not every combination exists */
    CALL(pthread_mutex_lock(&mutex));
    CALL(pthread_mutex_unlock(&mutex));
    if (kind->type == PTHREAD_MUTEX_ERRORCHECK || kind->type == PTHREAD_MUTEX_RECURSIVE) {
        CALL(pthread_mutex_unlock(&mutex));
        CALL(pthread_mutex_lock(&mutex));
        run_in_thread(unlock_of_another, &mutex);
        CALL(pthread_mutex_unlock(&mutex));
    }
    lock_again(&mutex, kind);
    if (pthread_mutex_trylock(&mutex) == 0) { /* a thread of try_all may have taken it along */
        pthread_mutex_unlock(&mutex);
        contend(&mutex);
        CALL(pthread_mutex_lock(&mutex));
        CALL(pthread_mutex_destroy(&mutex));
        CALL(pthread_mutex_unlock(&mutex));
        CALL(pthread_mutex_destroy(&mutex));
    }
    if (kind->robust == PTHREAD_MUTEX_ROBUST)
        abandon(kind);
    bool can_share = kind->shared == PTHREAD_PROCESS_SHARED && kind->protocol != PTHREAD_PRIO_PROTECT;
#ifndef __GLIBC__ /* with inheritance, musl waits for ever for the lock of a process that died */
    can_share &= kind->protocol != PTHREAD_PRIO_INHERIT;
#endif
    if (can_share)
        share(kind);
}

static void try_mutexes(void)
{
    static const struct {
        const char *name;
        int value;
    } types[] = {{"normal", PTHREAD_MUTEX_NORMAL},
                 {"default", PTHREAD_MUTEX_DEFAULT},
#ifdef PTHREAD_MUTEX_ADAPTIVE_NP
                 {"adaptive", 3},
#endif
                 {"recursive", PTHREAD_MUTEX_RECURSIVE},
                 {"checking", PTHREAD_MUTEX_ERRORCHECK}},
      protocols[] = {{"", PTHREAD_PRIO_NONE}, {"inherit", PTHREAD_PRIO_INHERIT}, {"protect", PTHREAD_PRIO_PROTECT}};
    char name[100];
    for (size_t type = 0; type < sizeof types / sizeof types[0]; type++)
        for (size_t protocol = 0; protocol < 3; protocol++)
            for (int robust = 0; robust < 2; robust++)
                for (int shared = 0; shared < 2; shared++) {
                    snprintf(name, sizeof name, "mutex %s %s %s %s", types[type].name, protocols[protocol].name,
                             robust ? "robust" : "", shared ? "shared" : "");
                    try_kind(&(struct kind){name, types[type].value, protocols[protocol].value,
                                            robust ? PTHREAD_MUTEX_ROBUST : PTHREAD_MUTEX_STALLED,
                                            shared ? PTHREAD_PROCESS_SHARED : PTHREAD_PROCESS_PRIVATE});
                }
}

static void try_static(void)
{
    static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
    static pthread_mutex_t zeroed;
#ifdef PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP
    static pthread_mutex_t again = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    snprintf(situation, sizeof situation, "static recursive");
    CALL(pthread_mutex_lock(&again));
    CALL(pthread_mutex_lock(&again));
    CALL(pthread_mutex_unlock(&again));
    CALL(pthread_mutex_unlock(&again));
    CALL(pthread_mutex_unlock(&again));
#endif
    snprintf(situation, sizeof situation, "static");
    contend(&plain);
    contend(&zeroed);
    CALL(pthread_mutex_destroy(&plain));
    CALL(pthread_mutex_init(&plain, NULL));
    contend(&plain);
    unsigned char bytes[sizeof plain];
    memset(bytes, 0, sizeof bytes);
    CALL(pthread_mutex_lock(&zeroed));
    CALL(pthread_mutex_unlock(&zeroed));
    CALL(memcmp(&zeroed, bytes, sizeof bytes)); /* nothing is written into it */
}

/* A hundred levels, and unlocking in another order. */
static void nest(void)
{
    pthread_mutex_t mutexes[3];
    const struct kind kind = {"", PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED,
                              PTHREAD_PROCESS_PRIVATE};
    snprintf(situation, sizeof situation, "nested");
    for (int at = 0; at < 3; at++)
        make_mutex(&mutexes[at], &kind);
    int sum = 0;
    for (int level = 0; level < 300; level++)
        sum += pthread_mutex_lock(&mutexes[level % 3]);
    run_in_thread(try_all, &mutexes[1]);
    for (int level = 0; level < 300; level++)
        sum += pthread_mutex_unlock(&mutexes[(level + 1) % 3]);
    CALL(sum);
    for (int at = 0; at < 3; at++)
        CALL(pthread_mutex_destroy(&mutexes[at]));
}

/* ---------------------------------------------------------------------------------------------------------- C11 */

static void *try_mtx(void *context)
{
    mtx_t *mutex = context;
    struct timespec limit;
    timespec_get(&limit, TIME_UTC);
    CALL(mtx_trylock(mutex));
    CALL(mtx_timedlock(mutex, &limit));
    CALL(mtx_timedlock(mutex, &past));
    return NULL;
}

static void *wait_for_mtx(void *context)
{
    int *result = context;
    mtx_t *mutex = *(mtx_t **)(void *)(result + 2);
    *result = mtx_lock(mutex);
    MUST(mtx_unlock(mutex) == thrd_success);
    return NULL;
}

static void try_c11(void)
{
    static const int types[] = {mtx_plain, mtx_timed, mtx_plain | mtx_recursive, mtx_timed | mtx_recursive};
    for (size_t at = 0; at < sizeof types / sizeof types[0]; at++) {
        mtx_t mutex;
        pthread_t thread;
        struct {
            int result, unused;
            mtx_t *mutex;
        } waiting = {-1, 0, &mutex};
        snprintf(situation, sizeof situation, "mtx %d", types[at]);
        CALL(mtx_init(&mutex, types[at]));
        CALL(mtx_lock(&mutex));
        CALL(mtx_trylock(&mutex));
        run_in_thread(try_mtx, &mutex);
        if (types[at] & mtx_recursive)
            CALL(mtx_unlock(&mutex));
        MUST(pthread_create(&thread, NULL, wait_for_mtx, &waiting) == 0);
        usleep(2000);
        CALL(mtx_unlock(&mutex));
        MUST(pthread_join(thread, NULL) == 0);
        CALL(waiting.result);
        mtx_destroy(&mutex);
    }
    mtx_t odd_one;
    snprintf(situation, sizeof situation, "mtx");
    CALL(mtx_init(&odd_one, 99));
    cnd_t condition;
    mtx_t mutex;
    struct timespec limit;
    CALL(mtx_init(&mutex, mtx_plain));
    CALL(cnd_init(&condition));
    CALL(mtx_lock(&mutex));
    timespec_get(&limit, TIME_UTC);
    CALL(cnd_timedwait(&condition, &mutex, &limit));
    CALL(cnd_timedwait(&condition, &mutex, &odd));
    CALL(cnd_signal(&condition));
    CALL(cnd_broadcast(&condition));
    CALL(mtx_unlock(&mutex));
    cnd_destroy(&condition);
    mtx_destroy(&mutex);
}

struct meeting {
    mtx_t mutex;
    cnd_t condition;
    int turn;
};

static void *take_turns(void *context)
{
    struct meeting *meeting = context;
    mtx_lock(&meeting->mutex);
    for (int turn = 1; turn < 20; turn += 2) {
        while (meeting->turn != turn)
            MUST(cnd_wait(&meeting->condition, &meeting->mutex) == thrd_success);
        meeting->turn++;
        cnd_broadcast(&meeting->condition);
    }
    mtx_unlock(&meeting->mutex);
    return NULL;
}

static void meet(void)
{
    struct meeting meeting = {.turn = 0};
    pthread_t thread;
    snprintf(situation, sizeof situation, "cnd");
    CALL(mtx_init(&meeting.mutex, mtx_plain));
    CALL(cnd_init(&meeting.condition));
    MUST(pthread_create(&thread, NULL, take_turns, &meeting) == 0);
    mtx_lock(&meeting.mutex);
    for (int turn = 0; turn < 20; turn += 2) {
        while (meeting.turn != turn)
            MUST(cnd_wait(&meeting.condition, &meeting.mutex) == thrd_success);
        meeting.turn++;
        cnd_signal(&meeting.condition);
    }
    mtx_unlock(&meeting.mutex);
    MUST(pthread_join(thread, NULL) == 0);
    CALL(meeting.turn);
    cnd_destroy(&meeting.condition);
    mtx_destroy(&meeting.mutex);
}

/* --------------------------------------------------------------------------------------------- read-write locks */

static void *try_rwlock(void *context)
{
    pthread_rwlock_t *lock = context;
    struct timespec limit = soon(CLOCK_REALTIME, 3);
    int got = 0;
#define TRIED(...)                                                                                                 \
    errno = UNTOUCHED;                                                                                             \
    got = __VA_ARGS__;                                                                                             \
    tell(#__VA_ARGS__, got);                                                                                       \
    if (got == 0)                                                                                                  \
    MUST(pthread_rwlock_unlock(lock) == 0)
    TRIED(pthread_rwlock_tryrdlock(lock));
    TRIED(pthread_rwlock_trywrlock(lock));
    TRIED(pthread_rwlock_timedrdlock(lock, &limit));
    TRIED(pthread_rwlock_timedwrlock(lock, &limit));
    TRIED(pthread_rwlock_timedrdlock(lock, &odd));
    TRIED(pthread_rwlock_timedwrlock(lock, &odd));
    TRIED(pthread_rwlock_timedrdlock(lock, &past));
    TRIED(pthread_rwlock_timedwrlock(lock, &odder));
    if (pthread_rwlock_clockrdlock != NULL && pthread_rwlock_clockwrlock != NULL) {
        limit = soon(CLOCK_MONOTONIC, 3);
        TRIED(pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, &limit));
        TRIED(pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, &limit));
        TRIED(pthread_rwlock_clockrdlock(lock, 77, &limit));
        TRIED(pthread_rwlock_clockwrlock(lock, CLOCK_THREAD_CPUTIME_ID, &limit));
        TRIED(pthread_rwlock_clockrdlock(lock, CLOCK_REALTIME, &odd));
        TRIED(pthread_rwlock_clockwrlock(lock, CLOCK_REALTIME, &odd));
    }
    return NULL;
}

static void *read_it(void *context)
{
    MUST(pthread_rwlock_rdlock((pthread_rwlock_t *)context) == 0);
    usleep(500);
    MUST(pthread_rwlock_unlock((pthread_rwlock_t *)context) == 0);
    return NULL;
}

static void *write_it(void *context)
{
    MUST(pthread_rwlock_wrlock((pthread_rwlock_t *)context) == 0);
    usleep(500);
    MUST(pthread_rwlock_unlock((pthread_rwlock_t *)context) == 0);
    return NULL;
}

static void crowd(pthread_rwlock_t *lock)
{
    pthread_t threads[6];
    for (int at = 0; at < 6; at++)
        MUST(pthread_create(&threads[at], NULL, at % 3 == 0 ? write_it : read_it, lock) == 0);
    usleep(1000);
    CALL(pthread_rwlock_unlock(lock));
    for (int at = 0; at < 6; at++)
        MUST(pthread_join(threads[at], NULL) == 0);
}

static void try_rwlocks(void)
{
    for (int kind = 0; kind < 3; kind++)
        for (int shared = 0; shared < 2; shared++) {
            pthread_rwlock_t lock;
            pthread_rwlockattr_t attributes;
            MUST(pthread_rwlockattr_init(&attributes) == 0);
#ifdef __GLIBC__
            pthread_rwlockattr_setkind_np(&attributes, kind);
#endif
            pthread_rwlockattr_setpshared(&attributes, shared ? PTHREAD_PROCESS_SHARED : PTHREAD_PROCESS_PRIVATE);
            snprintf(situation, sizeof situation, "rwlock %d %d", kind, shared);
            CALL(pthread_rwlock_init(&lock, &attributes));
            run_in_thread(try_rwlock, &lock);
            CALL(pthread_rwlock_rdlock(&lock));
            CALL(pthread_rwlock_rdlock(&lock));
            run_in_thread(try_rwlock, &lock);
            CALL(pthread_rwlock_trywrlock(&lock));
            CALL(pthread_rwlock_unlock(&lock));
            crowd(&lock);
            CALL(pthread_rwlock_wrlock(&lock));
            CALL(pthread_rwlock_tryrdlock(&lock));
            CALL(pthread_rwlock_trywrlock(&lock));
#ifdef __GLIBC__
            CALL(pthread_rwlock_wrlock(&lock)); /* it would wait for itself, and says so */
            CALL(pthread_rwlock_rdlock(&lock));
#endif
            run_in_thread(try_rwlock, &lock);
            crowd(&lock);
            CALL(pthread_rwlock_destroy(&lock));
            pthread_rwlockattr_destroy(&attributes);
        }
}

/* ---------------------------------------------------------------------------------------------------- spinlocks */

static void *try_spin(void *context)
{
    CALL(pthread_spin_trylock((pthread_spinlock_t *)context));
    return NULL;
}

static void *spin_for(void *context)
{
    MUST(pthread_spin_lock((pthread_spinlock_t *)context) == 0);
    MUST(pthread_spin_unlock((pthread_spinlock_t *)context) == 0);
    return NULL;
}

static void try_spins(void)
{
    pthread_spinlock_t lock;
    pthread_t thread;
    snprintf(situation, sizeof situation, "spin");
    CALL(pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE));
    CALL(pthread_spin_lock(&lock));
    run_in_thread(try_spin, (void *)(uintptr_t)&lock);
    MUST(pthread_create(&thread, NULL, spin_for, (void *)(uintptr_t)&lock) == 0);
    usleep(2000);
    CALL(pthread_spin_unlock(&lock));
    MUST(pthread_join(thread, NULL) == 0);
    CALL(pthread_spin_trylock(&lock));
    CALL(pthread_spin_trylock(&lock));
    CALL(pthread_spin_unlock(&lock));
    CALL(pthread_spin_destroy(&lock));
}

/* --------------------------------------------------------------------------------------------------- conditions */

static void try_conditions(clockid_t clock, int type)
{
    pthread_cond_t condition;
    pthread_condattr_t attributes;
    pthread_mutex_t mutex;
    const struct kind kind = {"", type, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED, PTHREAD_PROCESS_PRIVATE};
    snprintf(situation, sizeof situation, "condition %d %d", (int)clock, type);
    make_mutex(&mutex, &kind);
    MUST(pthread_condattr_init(&attributes) == 0 && pthread_condattr_setclock(&attributes, clock) == 0);
    CALL(pthread_cond_init(&condition, &attributes));
    CALL(pthread_cond_signal(&condition));
    CALL(pthread_cond_broadcast(&condition));
    struct timespec limit = soon(clock, 3);
    if (type == PTHREAD_MUTEX_ERRORCHECK) {
        CALL(pthread_cond_wait(&condition, &mutex)); /* not locked */
        CALL(pthread_cond_timedwait(&condition, &mutex, &limit));
    }
    CALL(pthread_mutex_lock(&mutex));
    CALL(pthread_cond_timedwait(&condition, &mutex, &limit));
    CALL(pthread_cond_timedwait(&condition, &mutex, &past));
    CALL(pthread_cond_timedwait(&condition, &mutex, &odd));
    CALL(pthread_cond_timedwait(&condition, &mutex, &odder));
    if (pthread_cond_clockwait != NULL) {
        CALL(pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &past));
        CALL(pthread_cond_clockwait(&condition, &mutex, 77, &limit));
        CALL(pthread_cond_clockwait(&condition, &mutex, CLOCK_REALTIME, &odd));
    }
    run_in_thread(try_all, &mutex);
    CALL(pthread_mutex_unlock(&mutex));
    CALL(pthread_cond_destroy(&condition));
    CALL(pthread_mutex_destroy(&mutex));
    pthread_condattr_destroy(&attributes);
}

static pthread_mutex_t room = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t bell = PTHREAD_COND_INITIALIZER;
static sem_t gate;
static int inside, cleaned, woken;

static void leave(void *unused)
{
    (void)unused;
    cleaned += pthread_mutex_trylock(&room) == EBUSY; /* we have it, as the standard says */
    pthread_mutex_unlock(&room);
}

static void *wait_until_cancelled(void *with_limit)
{
    const struct timespec limit = soon(CLOCK_REALTIME, 100000);
    pthread_mutex_lock(&room);
    pthread_cleanup_push(leave, NULL);
    inside++;
    for (;;)
        if (with_limit != NULL)
            pthread_cond_timedwait(&bell, &room, &limit);
        else
            pthread_cond_wait(&bell, &room);
    pthread_cleanup_pop(1);
    return NULL;
}

static void note_cleaned(void *unused)
{
    (void)unused;
    cleaned++;
}

static void *pass_until_cancelled(void *with_limit)
{
    const struct timespec limit = soon(CLOCK_REALTIME, 100000);
    pthread_cleanup_push(note_cleaned, NULL);
    __atomic_fetch_add(&inside, 1, __ATOMIC_SEQ_CST);
    for (;;)
        if (with_limit != NULL)
            sem_timedwait(&gate, &limit);
        else
            sem_wait(&gate);
    pthread_cleanup_pop(1);
    return NULL;
}

/* Cancelled before it calls: the call does not return, also if there is something to take. */
static void *pass_cancelled(void *unused)
{
    (void)unused;
    pthread_cleanup_push(note_cleaned, NULL);
    pthread_cancel(pthread_self());
    sem_wait(&gate);
    woken++;
    pthread_cleanup_pop(1);
    return NULL;
}

static void cancel(void *(*routine)(void *), void *context, bool is_waiting)
{
    pthread_t thread;
    void *end = NULL;
    inside = cleaned = 0;
    MUST(pthread_create(&thread, NULL, routine, context) == 0);
    while (is_waiting && __atomic_load_n(&inside, __ATOMIC_SEQ_CST) == 0)
        usleep(100);
    usleep(2000);
    pthread_cancel(thread);
    MUST(pthread_join(thread, &end) == 0);
    CALL(end == PTHREAD_CANCELED);
    CALL(cleaned);
}

static void cancel_all(void)
{
    snprintf(situation, sizeof situation, "cancelled");
    cancel(wait_until_cancelled, NULL, true);
    cancel(wait_until_cancelled, &room, true);
    CALL(pthread_mutex_trylock(&room));
    CALL(pthread_mutex_unlock(&room));
    MUST(sem_init(&gate, 0, 0) == 0);
    cancel(pass_until_cancelled, NULL, true);
    cancel(pass_until_cancelled, &gate, true);
    MUST(sem_post(&gate) == 0);
    cancel(pass_cancelled, NULL, false);
    CALL(woken);
    int value = -1;
    MUST(sem_getvalue(&gate, &value) == 0);
    CALL(value);
    CALL(sem_destroy(&gate));
}

/* The waiter destroys what woke it, at once. */
struct brief {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    sem_t semaphore;
    int is_done;
};

static void *wake_brief(void *context)
{
    struct brief *brief = context;
    pthread_mutex_lock(&brief->mutex);
    brief->is_done = 1;
    pthread_cond_broadcast(&brief->condition);
    pthread_mutex_unlock(&brief->mutex);
    sem_post(&brief->semaphore);
    return NULL;
}

static void be_brief(void)
{
    int sum = 0;
    snprintf(situation, sizeof situation, "brief");
    for (int round = 0; round < 200; round++) {
        struct brief *brief = calloc(1, sizeof *brief);
        pthread_t thread;
        MUST(brief != NULL);
        sum += pthread_mutex_init(&brief->mutex, NULL) + pthread_cond_init(&brief->condition, NULL) +
               sem_init(&brief->semaphore, 0, 0);
        MUST(pthread_create(&thread, NULL, wake_brief, brief) == 0);
        pthread_mutex_lock(&brief->mutex);
        while (!brief->is_done)
            pthread_cond_wait(&brief->condition, &brief->mutex);
        pthread_mutex_unlock(&brief->mutex);
        sum += sem_wait(&brief->semaphore);
        sum += pthread_mutex_destroy(&brief->mutex) + pthread_cond_destroy(&brief->condition);
        MUST(pthread_join(thread, NULL) == 0);
        sum += sem_destroy(&brief->semaphore);
        memset(brief, 0xa5, sizeof *brief);
        free(brief);
    }
    CALL(sum);
}

/* --------------------------------------------------------------------------------------------------- semaphores */

static void on_signal(int number)
{
    (void)number;
    sem_post(&gate);
}

static void do_nothing(int number) { (void)number; }

static void try_semaphores(void)
{
    struct timespec limit = soon(CLOCK_REALTIME, 3);
    sem_t *named;
    snprintf(situation, sizeof situation, "semaphore");
    CALL(sem_init(&gate, 0, 2));
    CALL(sem_wait(&gate));
    CALL(sem_timedwait(&gate, &odd));
    CALL(sem_timedwait(&gate, &past));
    CALL(sem_trywait(&gate));
    CALL(sem_timedwait(&gate, &limit));
    CALL(sem_timedwait(&gate, &past));
    CALL(sem_timedwait(&gate, &odd));
    if (sem_clockwait != NULL) {
        limit = soon(CLOCK_MONOTONIC, 3);
        CALL(sem_clockwait(&gate, CLOCK_MONOTONIC, &limit));
        CALL(sem_clockwait(&gate, 77, &limit));
        CALL(sem_clockwait(&gate, CLOCK_REALTIME, &odd));
    }
    CALL(sem_post(&gate));
    CALL(sem_wait(&gate));
    /* A handler posts, and a handler interrupts. */
    struct sigaction action = {.sa_handler = on_signal};
    MUST(sigaction(SIGALRM, &action, NULL) == 0);
    alarm(1);
    CALL(sem_wait(&gate));
    CALL(sem_wait(&gate)); /* what the handler has posted */
    action.sa_handler = do_nothing;
    MUST(sigaction(SIGALRM, &action, NULL) == 0);
    alarm(1);
    CALL(sem_wait(&gate));
    CALL(sem_destroy(&gate));
    CALL(sem_init(&gate, 0, SEM_VALUE_MAX));
    CALL(sem_post(&gate));
    CALL(sem_init(&gate, 0, (unsigned)SEM_VALUE_MAX + 1u));
    named = mmap(NULL, sizeof *named, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    MUST(named != MAP_FAILED);
    CALL(sem_init(named, 1, 0));
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        usleep(2000);
        _exit(sem_post(named) == 0 ? 3 : 4);
    }
    CALL(sem_wait(named));
    int status;
    MUST(waitpid(child, &status, 0) == child);
    CALL(WEXITSTATUS(status));
    CALL(sem_destroy(named));
}

/* ----------------------------------------------------------------------------------------------------- barriers */

static pthread_barrier_t barrier;
static int serial;

static void *arrive(void *unused)
{
    for (int round = 0; round < 20; round++)
        if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
            __atomic_fetch_add(&serial, 1, __ATOMIC_SEQ_CST);
    return unused;
}

static void try_barriers(void)
{
    pthread_t threads[3];
    snprintf(situation, sizeof situation, "barrier");
    CALL(pthread_barrier_init(&barrier, NULL, 0));
    CALL(pthread_barrier_init(&barrier, NULL, 1));
    CALL(pthread_barrier_wait(&barrier));
    CALL(pthread_barrier_destroy(&barrier));
    CALL(pthread_barrier_init(&barrier, NULL, 3));
    for (int at = 0; at < 3; at++)
        MUST(pthread_create(&threads[at], NULL, arrive, NULL) == 0);
    for (int at = 0; at < 3; at++)
        MUST(pthread_join(threads[at], NULL) == 0);
    CALL(serial);
    CALL(pthread_barrier_destroy(&barrier));
}

/* ------------------------------------------------------------------------------------------- fork among threads */

static volatile bool is_over;
static pthread_mutex_t busy[4] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                  PTHREAD_MUTEX_INITIALIZER};

static void *keep_busy(void *context)
{
    const size_t which = (size_t)(uintptr_t)context;
    while (!is_over) {
        pthread_mutex_lock(&busy[which]);
        pthread_mutex_unlock(&busy[which]);
        pthread_mutex_lock(&room);
        pthread_mutex_unlock(&room);
    }
    return NULL;
}

static void fork_among_threads(void)
{
    pthread_t threads[4];
    int right = 0;
    snprintf(situation, sizeof situation, "fork");
    is_over = false;
    for (size_t at = 0; at < 4; at++)
        MUST(pthread_create(&threads[at], NULL, keep_busy, (void *)(uintptr_t)at) == 0);
    for (int round = 0; round < 20; round++) {
        MUST(pthread_mutex_lock(&room) == 0); /* no other thread has it in the child */
        fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
            const bool is_right = pthread_mutex_unlock(&room) == 0 && pthread_mutex_lock(&room) == 0 &&
                                  pthread_mutex_trylock(&room) == EBUSY && pthread_mutex_lock(&own) == 0;
            _exit(is_right ? 3 : 4);
        }
        MUST(pthread_mutex_unlock(&room) == 0);
        int status;
        MUST(waitpid(child, &status, 0) == child);
        right += WIFEXITED(status) && WEXITSTATUS(status) == 3;
    }
    is_over = true;
    for (int at = 0; at < 4; at++)
        MUST(pthread_join(threads[at], NULL) == 0);
    CALL(right);
}

static void show_maps(void)
{
    char line[1024];
    FILE *maps = fopen("/proc/self/maps", "r");
    MUST(maps != NULL);
    while (fgets(line, sizeof line, maps) != NULL)
        if (strchr(line, '/') != NULL)
            fputs(strchr(line, '/'), stdout);
    fclose(maps);
}

int main(int count, char **arguments)
{
    if (count > 1 && strcmp(arguments[1], "maps") == 0) {
        show_maps();
        return 0;
    }
    try_mutexes();
    try_static();
    nest();
    try_c11();
    meet();
    try_rwlocks();
    try_spins();
    for (int type = 0; type < 3; type++) {
        try_conditions(CLOCK_REALTIME, type);
        try_conditions(CLOCK_MONOTONIC, type);
    }
    cancel_all();
    be_brief();
    try_semaphores();
    try_barriers();
    fork_among_threads();
    return 0;
}
