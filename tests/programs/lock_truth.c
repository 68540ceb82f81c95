/*
 * Locks that are used a known number of times, and waited for a known number of times and by the program's own
 * clock: prints these numbers. A thread that is to wait is seen to sleep before the lock is given up.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define WAITS 15
#define HOLD_US 20000
#define NOINLINE __attribute__((noinline))

pthread_mutex_t counted = PTHREAD_MUTEX_INITIALIZER, forced = PTHREAD_MUTEX_INITIALIZER,
                limited = PTHREAD_MUTEX_INITIALIZER, guard = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t shelf = PTHREAD_RWLOCK_INITIALIZER;
pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
sem_t tickets;
pthread_spinlock_t spun;
mtx_t modern;
static double waited_ms;
static int partner; /* thread id of the one that waits */

static double now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static void begin_wait(void) { waited_ms -= now_ms(); }
static void end_wait(void) { waited_ms += now_ms(); }

static bool sleeps(int thread)
{
    char path[64], text[256] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/wchan", thread);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return true;
    const size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    return strstr(text, "futex") != NULL;
}

/* Until the other thread waits, and a while longer. */
static void let_wait(void)
{
    while (__atomic_load_n(&partner, __ATOMIC_SEQ_CST) == 0 || !sleeps(partner))
        usleep(200);
    usleep(HOLD_US);
}

static void tell(const char *name, int locked, int contended)
{
    printf("%s %d %d %.6f\n", name, locked, contended, waited_ms);
    waited_ms = 0;
}

/* -------------------------------------------------------------------------------------------- one after another */

static pthread_barrier_t both;

/* The other thread waits in `wait` while we are in `hold`, WAITS times. */
struct play {
    void (*hold)(void), (*wait)(void), (*give)(void);
};

static void *wait_often(void *context)
{
    const struct play *play = context;
    for (int round = 0; round < WAITS; round++) {
        pthread_barrier_wait(&both);
        __atomic_store_n(&partner, (int)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
        play->wait();
        pthread_barrier_wait(&both);
    }
    return NULL;
}

static void run_play(const struct play *play)
{
    pthread_t thread;
    struct play copy = *play;
    pthread_create(&thread, NULL, wait_often, &copy);
    for (int round = 0; round < WAITS; round++) {
        partner = 0;
        play->hold();
        pthread_barrier_wait(&both);
        let_wait();
        play->give();
        pthread_barrier_wait(&both);
    }
    pthread_join(thread, NULL);
}

/* ------------------------------------------------------------------------------------------------------ mutexes */

static NOINLINE void hold_forced(void) { pthread_mutex_lock(&forced); }
static NOINLINE void give_forced(void)
{
    pthread_mutex_unlock(&forced);
    __asm__ volatile("");
}
static NOINLINE void wait_forced(void)
{
    begin_wait();
    pthread_mutex_lock(&forced);
    end_wait();
    pthread_mutex_unlock(&forced);
    __asm__ volatile("");
}

/* Three threads wait at once; those that come later wait for the earlier ones, too. */
static void *join_queue(void *context)
{
    double *own = context;
    *own = -now_ms();
    pthread_mutex_lock(&guard);
    *own += now_ms();
    usleep(HOLD_US);
    pthread_mutex_unlock(&guard);
    return NULL;
}

static int queue(void)
{
    pthread_t threads[3];
    double own[3];
    pthread_mutex_lock(&guard);
    for (int at = 0; at < 3; at++)
        pthread_create(&threads[at], NULL, join_queue, &own[at]);
    usleep(5 * HOLD_US);
    pthread_mutex_unlock(&guard);
    for (int at = 0; at < 3; at++) {
        pthread_join(threads[at], NULL);
        waited_ms += own[at];
    }
    return 3;
}

static int gave_up;
static NOINLINE void hold_limited(void)
{
    gave_up = 0;
    pthread_mutex_lock(&limited);
}
static NOINLINE void give_limited(void)
{
    while (__atomic_load_n(&gave_up, __ATOMIC_SEQ_CST) == 0)
        usleep(200);
    pthread_mutex_unlock(&limited);
    __asm__ volatile("");
}
/* It gives up before it gets it. */
static NOINLINE void wait_limited(void)
{
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_nsec += HOLD_US * 1000 / 2;
    limit.tv_sec += limit.tv_nsec / 1000000000;
    limit.tv_nsec %= 1000000000;
    begin_wait();
    if (pthread_mutex_timedlock(&limited, &limit) == 0)
        abort();
    end_wait();
    __atomic_store_n(&gave_up, 1, __ATOMIC_SEQ_CST);
}

static NOINLINE void hold_modern(void) { mtx_lock(&modern); }
static NOINLINE void give_modern(void)
{
    mtx_unlock(&modern);
    __asm__ volatile("");
}
static NOINLINE void wait_modern(void)
{
    begin_wait();
    mtx_lock(&modern);
    end_wait();
    mtx_unlock(&modern);
    __asm__ volatile("");
}

static NOINLINE void read_shelf(void) { pthread_rwlock_rdlock(&shelf); }
static NOINLINE void give_shelf(void)
{
    pthread_rwlock_unlock(&shelf);
    __asm__ volatile("");
}
static NOINLINE void write_shelf(void)
{
    begin_wait();
    pthread_rwlock_wrlock(&shelf);
    end_wait();
    pthread_rwlock_unlock(&shelf);
    __asm__ volatile("");
}

/* --------------------------------------------------------------------------------------- conditions, semaphores */

static bool is_ready;
static void hold_nothing(void) { is_ready = false; }
static NOINLINE void signal_ready(void)
{
    pthread_mutex_lock(&counted);
    is_ready = true;
    pthread_cond_signal(&ready);
    pthread_mutex_unlock(&counted);
    __asm__ volatile("");
}
static NOINLINE void wait_ready(void)
{
    pthread_mutex_lock(&counted);
    begin_wait();
    while (!is_ready)
        pthread_cond_wait(&ready, &counted);
    end_wait();
    pthread_mutex_unlock(&counted);
    __asm__ volatile("");
}

static NOINLINE void post_ticket(void)
{
    sem_post(&tickets);
    __asm__ volatile("");
}
static NOINLINE void wait_ticket(void)
{
    begin_wait();
    sem_wait(&tickets);
    end_wait();
}

/* --------------------------------------------------------------------------------------------------------- main */

#define MANY 10007

static void use_alone(void)
{
    for (int at = 0; at < MANY; at++) {
        pthread_mutex_lock(&counted);
        pthread_mutex_unlock(&counted);
    }
    for (int at = 0; at < MANY; at++) {
        pthread_rwlock_rdlock(&shelf);
        pthread_rwlock_unlock(&shelf);
        pthread_spin_lock(&spun);
        pthread_spin_unlock(&spun);
    }
}

static void *use_spin(void *unused)
{
    for (int at = 0; at < MANY; at++) {
        pthread_spin_lock(&spun);
        pthread_spin_unlock(&spun);
        pthread_rwlock_rdlock(&shelf);
        pthread_rwlock_unlock(&shelf);
    }
    return unused;
}

static NOINLINE pthread_mutex_t *make_lock(void)
{
    pthread_mutex_t *lock = malloc(sizeof *lock);
    if (lock == NULL || pthread_mutex_init(lock, NULL) != 0)
        abort();
    return lock;
}

/* A thousand locks of one place, three uses each; most are gone at the end. */
static void use_many(void)
{
    for (int at = 0; at < 1000; at++) {
        pthread_mutex_t *lock = make_lock();
        for (int use = 0; use < 3; use++) {
            pthread_mutex_lock(lock);
            pthread_mutex_unlock(lock);
        }
        if (at % 10 == 0)
            continue;
        pthread_mutex_destroy(lock);
        free(lock);
    }
}

int main(void)
{
    pthread_t threads[2];
    pthread_barrier_init(&both, NULL, 2);
    sem_init(&tickets, 0, 0);
    pthread_spin_init(&spun, PTHREAD_PROCESS_PRIVATE);
    mtx_init(&modern, mtx_plain);
    use_alone();
    run_play(&(struct play){hold_nothing, wait_ready, signal_ready});
    tell("ready", 0, WAITS);
    tell("counted", MANY + 3 * WAITS, 0); /* waiting gives it up and takes it again */
    run_play(&(struct play){hold_forced, wait_forced, give_forced});
    tell("forced", 2 * WAITS, WAITS);
    run_play(&(struct play){hold_limited, wait_limited, give_limited});
    tell("limited", WAITS, 0);
    run_play(&(struct play){hold_modern, wait_modern, give_modern});
    tell("modern", 2 * WAITS, WAITS);
    run_play(&(struct play){read_shelf, write_shelf, give_shelf});
    for (int at = 0; at < 2; at++)
        pthread_create(&threads[at], NULL, use_spin, NULL);
    for (int at = 0; at < 2; at++)
        pthread_join(threads[at], NULL);
    tell("shelf", 3 * MANY + 2 * WAITS, WAITS);
    tell("spun", 3 * MANY, -1);
    run_play(&(struct play){hold_nothing, wait_ticket, post_ticket});
    tell("tickets", WAITS, WAITS);
    const int waits = queue();
    tell("guard", 4, waits);
    use_many();
    tell("make_lock", 3000, 0);
    return 0;
}
