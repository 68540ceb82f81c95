/*
 * Locks that are used a known number of times, and waited for a known number of times and by the program's own
 * clock: prints these numbers. A thread that is to wait is seen to sleep before the lock is given up.
 *
 *     lock_truth         does it once
 *     lock_truth live    waits for one lock again and again, until its input ends
 */
#define _GNU_SOURCE 1
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define WAITS 15
#define HOLD_US 20000
#define NOINLINE __attribute__((noinline))

pthread_mutex_t counted = PTHREAD_MUTEX_INITIALIZER, forced = PTHREAD_MUTEX_INITIALIZER,
                limited = PTHREAD_MUTEX_INITIALIZER, guard = PTHREAD_MUTEX_INITIALIZER,
                passed = PTHREAD_MUTEX_INITIALIZER, of_child = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t shelf = PTHREAD_RWLOCK_INITIALIZER;
pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
sem_t tickets, left, forked;
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

/* ----------------------------------------------------------------------------------------------- unusual waits */

/* It is given up by a thread that has not locked it, which glibc and musl allow for plain mutexes. */
static NOINLINE void *pass_on(void *unused)
{
    pthread_mutex_unlock(&passed);
    return unused;
}
static NOINLINE void hold_passed(void) { pthread_mutex_lock(&passed); }
static NOINLINE void give_passed(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, pass_on, NULL);
    pthread_join(thread, NULL);
}
static NOINLINE void wait_passed(void)
{
    begin_wait();
    pthread_mutex_lock(&passed);
    end_wait();
    pthread_mutex_unlock(&passed);
    __asm__ volatile("");
}

/* Handlers leave waits by a jump: none of them waits after that. */
static sigjmp_buf outside;
static void jump_out(int number)
{
    (void)number;
    siglongjmp(outside, 1);
}

static void leave_waits(void)
{
    const struct sigaction action = {.sa_handler = jump_out};
    sigaction(SIGALRM, &action, NULL);
    for (volatile int round = 0; round < WAITS; round++)
        if (sigsetjmp(outside, 1) == 0) {
            ualarm(2000, 0);
            sem_wait(&left);
        }
    sem_post(&left);
    sem_wait(&left);
}

/* A handler forks while its thread waits: the child has no waits of its parent. */
static void fork_here(int number)
{
    (void)number;
    const pid_t child = fork();
    if (child == 0)
        for (int at = 0; at < 3; at++) {
            pthread_mutex_lock(&of_child);
            pthread_mutex_unlock(&of_child);
        }
    else if (waitpid(child, NULL, 0) != child)
        abort();
    sem_post(&forked);
}

static void fork_in_handler(void)
{
    const struct sigaction action = {.sa_handler = fork_here, .sa_flags = SA_RESTART};
    const pid_t parent = getpid();
    sigaction(SIGALRM, &action, NULL);
    ualarm(2000, 0);
    while (sem_wait(&forked) != 0)
        ;
    if (getpid() != parent)
        _exit(0);
}

/* Memory that had a mutex has a condition, and no call tells of that. */
static union {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
} * reused;

static NOINLINE void *use_mutex_there(void *unused)
{
    pthread_mutex_lock(&reused->mutex);
    pthread_mutex_unlock(&reused->mutex);
    return unused;
}

static NOINLINE void *signal_there(void *unused)
{
    usleep(HOLD_US);
    pthread_mutex_lock(&counted);
    pthread_cond_signal(&reused->condition);
    pthread_mutex_unlock(&counted);
    return unused;
}

static NOINLINE void reuse_memory(void)
{
    pthread_t thread;
    reused = calloc(1, sizeof *reused);
    if (reused == NULL)
        abort();
    pthread_mutex_lock(&reused->mutex);
    pthread_create(&thread, NULL, use_mutex_there, NULL);
    usleep(HOLD_US);
    pthread_mutex_unlock(&reused->mutex);
    pthread_join(thread, NULL);
    const pthread_cond_t fresh = PTHREAD_COND_INITIALIZER;
    memcpy(&reused->condition, &fresh, sizeof fresh);
    pthread_mutex_lock(&counted);
    pthread_create(&thread, NULL, signal_there, NULL);
    begin_wait();
    pthread_cond_wait(&reused->condition, &counted);
    end_wait();
    pthread_mutex_unlock(&counted);
    pthread_join(thread, NULL);
}

/* A child has it. */
static NOINLINE void hold_in_child(pthread_mutex_t *mutex, int told)
{
    pthread_mutex_lock(mutex);
    if (write(told, "x", 1) != 1)
        abort();
    usleep(HOLD_US);
    pthread_mutex_unlock(mutex);
    _exit(0);
}

static NOINLINE void wait_for_child(void)
{
    int told[2];
    char byte;
    pthread_mutexattr_t attributes;
    pthread_mutex_t *mutex = mmap(NULL, sizeof *mutex, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    if (mutex == MAP_FAILED || pthread_mutex_init(mutex, &attributes) != 0 || pipe(told) != 0)
        abort();
    if (fork() == 0)
        hold_in_child(mutex, told[1]);
    if (read(told[0], &byte, 1) != 1)
        abort();
    begin_wait();
    pthread_mutex_lock(mutex);
    end_wait();
    pthread_mutex_unlock(mutex);
    wait(NULL);
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

static int live(void)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    while (poll(&input, 1, 0) == 0)
        run_play(&(struct play){hold_forced, wait_forced, give_forced});
    return 0;
}

int main(int count, char **arguments)
{
    pthread_t threads[2];
    pthread_barrier_init(&both, NULL, 2);
    if (count > 1 && strcmp(arguments[1], "live") == 0)
        return live();
    sem_init(&tickets, 0, 0);
    sem_init(&left, 0, 0);
    sem_init(&forked, 0, 0);
    pthread_spin_init(&spun, PTHREAD_PROCESS_PRIVATE);
    mtx_init(&modern, mtx_plain);
    use_alone();
    run_play(&(struct play){hold_nothing, wait_ready, signal_ready});
    tell("ready", 0, WAITS);
    tell("counted", MANY + 3 * WAITS + 3, 0); /* waiting gives it up and takes it again; reuse_memory */
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
    run_play(&(struct play){hold_passed, wait_passed, give_passed});
    tell("passed", 2 * WAITS, WAITS);
    leave_waits();
    tell("left", 1, -1);
    fork_in_handler();
    tell("of_child", 3, 0);
    reuse_memory();
    tell("reuse_memory", 0, 1);
    wait_for_child();
    tell("wait_for_child", 1, 1);
    return 0;
}
