/*
 * Threads that stay where they are, in functions that say so, until standard input ends.
 *     standing each N      N threads each in on_lock, on_condition, on_sleep, on_poll and on_read, one in descend
 *                          that calls itself 6 times, one in hold_lock that has the lock and sleeps, and main in
 *                          on_input
 *     standing busy N      the same, and a thread each in spin_here and in spin_there
 *     standing come        threads that begin and end all the time
 *     standing parent      a child that reads from a pipe whose other end is here
 * It prints "ready" when all threads are in their functions, and have begun their zones or task. With hotpath, the
 * functions are zones, and spin_there is in a task.
 */
#include <hotpath.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "computing.h"

#define NOT_LAST() __asm__ volatile("") /* so that nothing is called last, which would leave no frame */

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t has_lock;
static int ends[2], never;
static volatile int is_over;
static atomic_int there;

/*
 * At the place where the thread stays. A thread that has just begun is in system calls, too: its first zone makes
 * some, and in each of them it looks as if it stood still.
 */
static void be_there(void) { atomic_fetch_add(&there, 1); }

/* Nobody wakes it: that would be one more system call of each thread. */
static void wait_for(int count)
{
    const struct timespec millisecond = {.tv_nsec = 1000000};
    while (atomic_load(&there) < count)
        nanosleep(&millisecond, NULL);
}

static APART void on_lock(void)
{
    HOTPATH_MEASURE();
    be_there();
    pthread_mutex_lock(&held);
    pthread_mutex_unlock(&held);
    NOT_LAST();
}

static APART void on_condition(void)
{
    HOTPATH_MEASURE();
    pthread_mutex_lock(&guard);
    be_there();
    while (!never)
        pthread_cond_wait(&news, &guard);
    pthread_mutex_unlock(&guard);
    NOT_LAST();
}

static APART void on_sleep(void)
{
    HOTPATH_MEASURE();
    struct timespec hour = {.tv_sec = 3600};
    be_there();
    nanosleep(&hour, NULL);
    NOT_LAST();
}

static APART void on_poll(void)
{
    HOTPATH_MEASURE();
    be_there();
    poll(NULL, 0, -1);
    NOT_LAST();
}

static APART void on_read(void)
{
    HOTPATH_MEASURE();
    char byte;
    be_there();
    if (read(ends[0], &byte, 1) != 1)
        exit(1);
    NOT_LAST();
}

static APART void hold_lock(void)
{
    HOTPATH_MEASURE();
    pthread_mutex_lock(&held);
    pthread_barrier_wait(&has_lock);
    on_sleep();
    pthread_mutex_unlock(&held);
}

static APART int descend(int depth)
{
    HOTPATH_MEASURE();
    if (depth == 0) {
        on_read();
        return 0;
    }
    const int below = descend(depth - 1);
    NOT_LAST();
    return below + 1;
}

static void to_the_ground(void)
{
    descend(6);
    NOT_LAST();
}

static APART void spin_here(void)
{
    HOTPATH_MEASURE();
    be_there();
    while (!is_over)
        compute(1000);
    NOT_LAST();
}

static APART void spin_there(void)
{
    hotpath_task task[1] = {0};
    HOTPATH_TASK(task, "turning");
    HOTPATH_TASK_RUN(task);
    be_there();
    while (!is_over)
        compute(999);
    NOT_LAST();
}

static void *begin(void *function)
{
    void (*run)(void);
    memcpy(&run, &function, sizeof run);
    run();
    NOT_LAST();
    return NULL;
}

static pthread_t start(void (*run)(void))
{
    pthread_t id;
    void *function;
    memcpy(&function, &run, sizeof run);
    if (pthread_create(&id, NULL, begin, function) != 0)
        exit(2);
    return id;
}

static APART void on_input(void)
{
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    NOT_LAST();
}

static void stand(int each, int is_busy)
{
    static void (*const all[])(void) = {on_lock, on_condition, on_sleep, on_poll, on_read};
    const int kinds = sizeof all / sizeof all[0];
    pthread_barrier_init(&has_lock, NULL, 2);
    start(hold_lock);
    pthread_barrier_wait(&has_lock);
    for (int kind = 0; kind < kinds; kind++)
        for (int at = 0; at < each; at++)
            start(all[kind]);
    start(to_the_ground);
    if (is_busy) {
        start(spin_here);
        start(spin_there);
    }
    wait_for(1 + kinds * each + 1 + (is_busy ? 2 : 0));
    puts("ready");
    on_input();
}

static void briefly(void) { compute(100000); }

static void *come_and_go(void *unused)
{
    while (!is_over)
        pthread_join(start(briefly), NULL);
    return unused;
}

static void let_come(void)
{
    pthread_t id;
    for (int at = 0; at < 3; at++)
        pthread_create(&id, NULL, come_and_go, NULL);
    printf("ready %d\n", 3);
    on_input();
}

static void be_parent(void)
{
    const pid_t child = fork();
    if (child == 0) {
        close(ends[1]);
        on_read();
        _exit(0);
    }
    close(ends[0]);
    printf("ready %ld\n", (long)child);
    on_input();
    close(ends[1]);
    waitpid(child, NULL, 0);
}

int main(int count, char **arguments)
{
    HOTPATH_MAIN();
    const char *what = count > 1 ? arguments[1] : "";
    if (pipe(ends) != 0)
        return 2;
    setvbuf(stdout, NULL, _IONBF, 0);
    if (strcmp(what, "each") == 0 || strcmp(what, "busy") == 0)
        stand(count > 2 ? atoi(arguments[2]) : 1, strcmp(what, "busy") == 0);
    else if (strcmp(what, "come") == 0)
        let_come();
    else if (strcmp(what, "parent") == 0)
        be_parent();
    else
        return 2;
    is_over = 1;
    _exit(0);
}
