/*
 * Calls on known threads.
 *     by_thread crowd        three threads at the same time: alpha, beta and gamma call work() 10, 20 and 30 times;
 *                            main 5.
 *                            Each call of beta takes 20 microseconds at least
 *     by_thread one_by_one   three threads one after the other, each called worker: 1, 2 and 3 times
 *     by_thread processes    a child and its parent call work() 6 and 4 times
 * Prints the thread ids: "alpha_tid 123".
 */
#include "support.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_barrier_t barrier;

struct task {
    const char *name;
    unsigned calls;
    int is_in_crowd;
    unsigned us; /* that each call takes at least */
    long tid;
};

static void inner(void) { HOTPATH_MEASURE(); }

static void work(unsigned us)
{
    HOTPATH_MEASURE();
    if (us > 0)
        spin_us(us);
    inner();
}

static void call(unsigned calls, unsigned us)
{
    for (unsigned i = 0; i < calls; i++)
        work(us);
}

static void *thread(void *argument)
{
    struct task *task = argument;
    task->tid = syscall(SYS_gettid);
    MUST(pthread_setname_np(pthread_self(), task->name) == 0);
    call(1, task->us);
    if (task->is_in_crowd)
        pthread_barrier_wait(&barrier); /* all have recorded, none has ended */
    call(task->calls - 1, task->us);
    return NULL;
}

static void tell_tid(const struct task *task)
{
    char key[32];
    snprintf(key, sizeof key, "%s_tid", task->name);
    tell(key, (uint64_t)task->tid);
}

static void crowd(void)
{
    struct task tasks[] = {{"alpha", 10, 1, 0, 0}, {"beta", 20, 1, 20, 0}, {"gamma", 30, 1, 0, 0}};
    pthread_t threads[3];
    MUST(pthread_barrier_init(&barrier, NULL, 3) == 0);
    for (int i = 0; i < 3; i++)
        MUST(pthread_create(&threads[i], NULL, thread, &tasks[i]) == 0);
    call(5, 0);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        tell_tid(&tasks[i]);
    }
}

static void one_by_one(void)
{
    struct task task = {"worker", 0, 0, 0, 0};
    pthread_t one;
    for (task.calls = 1; task.calls <= 3; task.calls++) {
        MUST(pthread_create(&one, NULL, thread, &task) == 0);
        pthread_join(one, NULL);
    }
    tell_tid(&task);
}

static void processes(void)
{
    const pid_t child = fork();
    MUST(child >= 0);
    call(child == 0 ? 6 : 4, 0);
    if (child == 0)
        exit(0);
    MUST(waitpid(child, NULL, 0) == child);
    tell("child", (uint64_t)child);
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    tell("main_tid", (uint64_t)syscall(SYS_gettid));
    fflush(stdout);
    if (is_case(argc, argv, "crowd"))
        crowd();
    else if (is_case(argc, argv, "one_by_one"))
        one_by_one();
    else
        processes();
    return 0;
}
