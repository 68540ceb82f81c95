/*
 * A vfork child works in its parent's memory: its end must not affect the parent's session.
 *     term     by a signal for which the parent has a handler of ours
 *     exit     by exit(), which it must not call, but programs do
 *     threads  children of many threads, some of which have had no zone before, have one and end
 */
#include "support.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static void work(void) { HOTPATH_MEASURE(); }

#define THREADS 32
#define ROUNDS 2000

static void dive(int n)
{
    HOTPATH_MEASURE();
    if (n > 0)
        dive(n - 1);
}

/* Every second one. */
static void *live(void *first)
{
    int status = 0;
    const pid_t child = first != NULL ? vfork() : -1;
    if (child == 0) {
        work();
        _exit(0);
    }
    if (child > 0)
        MUST(waitpid(child, &status, 0) == child && status == 0);
    for (int i = 0; i < ROUNDS; i++)
        dive(i % 40);
    return NULL;
}

static int live_in_threads(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        MUST(pthread_create(&threads[i], NULL, live, i % 2 ? threads : NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    puts("done");
    return 0;
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    int status = 0;
    if (is_case(argc, argv, "threads"))
        return live_in_threads();
    work();
    const pid_t child = vfork();
    if (child == 0) {
        if (is_case(argc, argv, "term"))
            kill(getpid(), SIGTERM);
        if (is_case(argc, argv, "exit"))
            exit(3);
        _exit(0);
    }
    MUST(child > 0 && waitpid(child, &status, 0) == child);
    if (WIFSIGNALED(status))
        printf("signal %d\n", WTERMSIG(status));
    else
        printf("exit %d\n", WEXITSTATUS(status));
    for (int i = 0; i < 100; i++)
        work();
    return 0;
}
