/*
 * Locks that are used a known number of times, and waited for and held a known number of times and by the program's
 * own clock: prints these numbers.
 *
 *     lock_truth         does it once
 *     lock_truth live    waits for one lock again and again, until its input ends
 *     lock_truth crowd   uses a million locks, and prints by how many KB its memory has grown meanwhile
 */
#define _GNU_SOURCE 1
#include "lock_truth.h"

#include <poll.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

pthread_mutex_t counted = PTHREAD_MUTEX_INITIALIZER, forced = PTHREAD_MUTEX_INITIALIZER,
                limited = PTHREAD_MUTEX_INITIALIZER, guard = PTHREAD_MUTEX_INITIALIZER,
                passed = PTHREAD_MUTEX_INITIALIZER, of_child = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t shelf = PTHREAD_RWLOCK_INITIALIZER;
pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
sem_t tickets, left, forked;
pthread_spinlock_t spun;
mtx_t modern;
/* ------------------------------------------------------------------------------------------------------ mutexes */

static double before_forced, in_forced, given_forced;
static NOINLINE void hold_forced(void)
{
    before_forced = now_ms();
    pthread_mutex_lock(&forced);
    in_forced = now_ms();
}
static NOINLINE void give_forced(void)
{
    const double now = given_forced = now_ms();
    pthread_mutex_unlock(&forced);
    count_held(&held, now - in_forced, now_ms() - before_forced);
}
static NOINLINE void wait_forced(void)
{
    begin_wait();
    pthread_mutex_lock(&forced);
    end_wait();
    const double given = given_forced, least = now_ms();
    usleep(HOLD_US / 4);
    const double held_ms = now_ms() - least;
    pthread_mutex_unlock(&forced);
    count_held(&held_by_waiter, held_ms, now_ms() - given);
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

/* Held for different times, each kind of lock that one thread has for itself; nobody waits. */
pthread_mutex_t kept = PTHREAD_MUTEX_INITIALIZER, nested, lent = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t written = PTHREAD_RWLOCK_INITIALIZER;
pthread_spinlock_t turned;
mtx_t retained;
pthread_cond_t never = PTHREAD_COND_INITIALIZER;

#define HOLD(take, work, give)                                                                                     \
    do {                                                                                                           \
        const double before = now_ms();                                                                            \
        take;                                                                                                      \
        const double inside = now_ms();                                                                            \
        work;                                                                                                      \
        const double least = now_ms() - inside;                                                                    \
        give;                                                                                                      \
        count_held(&held, least, now_ms() - before);                                                               \
    } while (0)

static void work(int round) { usleep(400u * (unsigned)(1 + round % 5)); }

/* It is held until it is given up as often as it was taken. */
static NOINLINE void nest(int round)
{
    pthread_mutex_lock(&nested);
    work(round);
    pthread_mutex_unlock(&nested);
    work(round);
}

/* Waiting for a condition ends a hold and begins another. */
static NOINLINE void lend(int round)
{
    struct timespec limit;
    double inside[2];
    const double before = now_ms();
    pthread_mutex_lock(&lent);
    inside[0] = now_ms();
    work(round);
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_nsec += HOLD_US * 1000 / 2;
    limit.tv_sec += limit.tv_nsec / 1000000000;
    limit.tv_nsec %= 1000000000;
    const double given = now_ms(), till_limit = HOLD_US / 2000.0;
    while (pthread_cond_timedwait(&never, &lent, &limit) == 0)
        ;
    inside[1] = now_ms();
    count_held(&held, given - inside[0], inside[1] - before - till_limit);
    work(round);
    const double least = now_ms() - inside[1];
    pthread_mutex_unlock(&lent);
    count_held(&held, least, now_ms() - given - till_limit);
}

static void keep_all(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&nested, &attributes);
    pthread_spin_init(&turned, PTHREAD_PROCESS_PRIVATE);
    mtx_init(&retained, mtx_plain);
    for (int at = 0; at < WAITS; at++)
        HOLD(pthread_mutex_lock(&kept), work(at), pthread_mutex_unlock(&kept));
    tell_held("kept", WAITS, 0);
    for (int at = 0; at < WAITS; at++)
        HOLD(pthread_rwlock_wrlock(&written), work(at), pthread_rwlock_unlock(&written));
    tell_held("written", WAITS, 0);
    for (int at = 0; at < WAITS; at++)
        HOLD(pthread_spin_lock(&turned), work(at), pthread_spin_unlock(&turned));
    tell_held("turned", WAITS, 0);
    for (int at = 0; at < WAITS; at++)
        HOLD(mtx_lock(&retained), work(at), mtx_unlock(&retained));
    tell_held("retained", WAITS, 0);
    for (int at = 0; at < WAITS; at++)
        HOLD(pthread_mutex_lock(&nested), nest(at), pthread_mutex_unlock(&nested));
    tell_held("nested", 2 * WAITS, 0);
    for (int at = 0; at < WAITS; at++)
        lend(at);
    tell_held("lent", 2 * WAITS, 0);
}

/* Functions that are only there to lock: users know those that call them, the first of them by the lock's name. */
static pthread_mutex_t *wrapped, *wrapped_too;
static NOINLINE void my_lock(pthread_mutex_t *mutex)
{
    pthread_mutex_lock(mutex);
    __asm__ volatile("");
}
static NOINLINE void my_unlock(pthread_mutex_t *mutex)
{
    pthread_mutex_unlock(mutex);
    __asm__ volatile("");
}
static NOINLINE void hold_wrapped(void)
{
    my_lock(wrapped);
    __asm__ volatile("");
}
static NOINLINE void give_wrapped(void)
{
    my_unlock(wrapped);
    __asm__ volatile("");
}
static NOINLINE void wait_wrapped(void)
{
    begin_wait();
    my_lock(wrapped);
    end_wait();
    my_unlock(wrapped);
    __asm__ volatile("");
}
static NOINLINE void hold_another(void)
{
    my_lock(wrapped_too);
    __asm__ volatile("");
}
static NOINLINE void give_another(void)
{
    my_unlock(wrapped_too);
    __asm__ volatile("");
}
static NOINLINE void wait_another(void)
{
    begin_wait();
    my_lock(wrapped_too);
    end_wait();
    my_unlock(wrapped_too);
    __asm__ volatile("");
}

/* No call makes them. */
static void use_wrapped(void)
{
    const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    wrapped = malloc(sizeof *wrapped);
    wrapped_too = malloc(sizeof *wrapped_too);
    if (wrapped == NULL || wrapped_too == NULL)
        abort();
    memcpy(wrapped, &fresh, sizeof fresh);
    memcpy(wrapped_too, &fresh, sizeof fresh);
    run_play(&(struct play){hold_wrapped, wait_wrapped, give_wrapped});
    tell("hold_wrapped", 2 * WAITS, WAITS);
    run_play(&(struct play){hold_another, wait_another, give_another});
    tell("hold_another", 2 * WAITS, WAITS);
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

/* Each half by a thread, two uses each. */
#define CROWD 1000000
static pthread_mutex_t *crowd;
static NOINLINE void *use_half(void *half)
{
    for (int use = 0; use < 2; use++)
        for (int at = 0; at < CROWD / 2; at++) {
            pthread_mutex_lock((pthread_mutex_t *)half + at);
            pthread_mutex_unlock((pthread_mutex_t *)half + at);
        }
    return NULL;
}

static long resident_kb(void)
{
    char line[256];
    long kb = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "VmRSS: %ld", &kb) == 1)
            break;
    if (file != NULL)
        fclose(file);
    return kb;
}

static int use_crowd(void)
{
    const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    pthread_t threads[2];
    crowd = malloc(CROWD * sizeof *crowd);
    if (crowd == NULL)
        abort();
    for (int at = 0; at < CROWD; at++)
        memcpy(&crowd[at], &fresh, sizeof fresh);
    const long before = resident_kb();
    for (int at = 0; at < 2; at++)
        pthread_create(&threads[at], NULL, use_half, crowd + at * (CROWD / 2));
    for (int at = 0; at < 2; at++)
        pthread_join(threads[at], NULL);
    tell("crowd", 2 * CROWD, 0);
    tell("kb", (int)(resident_kb() - before), 0);
    return 0;
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
    if (count > 1 && strcmp(arguments[1], "crowd") == 0)
        return use_crowd();
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
    tell_held("forced", 2 * WAITS, WAITS);
    keep_all();
    use_wrapped();
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
