/*
 * A child of vfork works in its parent's memory: how it ends is none of the parent's session's business.
 *     term     by a signal for which the parent has a handler of ours
 *     exit     by exit(), which it must not call, but programs do
 */
#include "support.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static void work(void) { HOTPATH_MEASURE(); }

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    int status = 0;
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
