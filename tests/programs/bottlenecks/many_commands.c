/* Runs a short command many times, as scripts do: starting and ending processes is the cost. */
#include "bottleneck.h"

#include <spawn.h>

extern char **environ;

static APART void run_command(void)
{
    HOTPATH_MEASURE();
    char name[] = "/bin/true";
    char *words[] = {name, NULL};
    pid_t child;
    must(posix_spawn(&child, name, NULL, NULL, words, environ) == 0, "posix_spawn");
    waitpid(child, NULL, 0);
    COME_BACK();
}

int main(void)
{
    HOTPATH_MAIN();
    for (int at = 0; at < 500; at++)
        run_command();
    return 0;
}
