/*
 * A child's first site is new to its parent, too, which uses another new one at the same time: each goes into its
 * own session. Functions are compiler-instrumented, except those on the way to the key.
 *     late_sites key|function
 */
#include "support.h"

#include <sys/wait.h>
#include <unistd.h>

static HOTPATH_NO_MEASURE __attribute__((noinline)) void keyed(const char *key)
{
    HOTPATH_BLOCK_KEY("keyed", key);
    spin_us(1);
}

static __attribute__((noinline)) void only_in_child(void) { spin_us(1); }
static __attribute__((noinline)) void only_in_parent(void) { spin_us(1); }

static HOTPATH_NO_MEASURE void child(int is_keyed)
{
    if (is_keyed)
        keyed("child");
    else
        only_in_child();
    _exit(3);
}

static HOTPATH_NO_MEASURE void parent(int is_keyed)
{
    if (is_keyed)
        keyed("parent");
    else
        only_in_parent();
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    const int is_keyed = is_case(argc, argv, "key");
    int status = 0, ways[2];
    char go = 0;
    keyed("both");
    MUST(pipe(ways) == 0);
    const pid_t pid = fork();
    if (pid == 0) { /* after the parent, so that its writes would stay */
        MUST(read(ways[0], &go, 1) == 1);
        child(is_keyed);
    }
    parent(is_keyed);
    MUST(pid > 0 && write(ways[1], &go, 1) == 1 && waitpid(pid, &status, 0) == pid);
    parent(is_keyed);
    tell("child", (uint64_t)WEXITSTATUS(status));
    return 0;
}
