/*
 * Compares short processes with and without the library. A child starts them: it needs the environment of a run,
 * and ours stays as it is. SPDX-License-Identifier: MIT
 */
#include "load_cost.h"

#include <errno.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alloc_library.h"
#include "options.h"

#define PAIRS 4u
#define NEVER_NS UINT64_MAX

extern char **environ;

static uint64_t ns_of(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_usec * 1000u;
}

/* The CPU time of a shell that does nothing. */
static uint64_t run_short(void)
{
    char *const words[] = {(char[]){"sh"}, (char[]){"-c"}, (char[]){":"}, NULL};
    struct rusage used;
    pid_t pid;
    int status;
    if (posix_spawn(&pid, "/bin/sh", NULL, NULL, words, environ) != 0)
        return NEVER_NS;
    while (wait4(pid, &status, 0, &used) < 0)
        if (errno != EINTR)
            return NEVER_NS;
    return status == 0 ? ns_of(&used.ru_utime) + ns_of(&used.ru_stime) : NEVER_NS;
}

/* As processes of a run have it, except that no session can begin: the run is over. */
static void set_environment(const char *library)
{
    setenv("HOTPATH", "1", 1);
    setenv("HOTPATH_RUN", "1", 1);
    setenv("HOTPATH_DIR", "/nonexistent.run", 1);
    setenv(HP_RUN_PROGRAM, "1", 1);
    hp_alloc_library_preload(library, true);
}

/* The shortest are those that nothing disturbed. 0: unknown. */
static uint64_t compare(const char *library)
{
    uint64_t least[2] = {NEVER_NS, NEVER_NS};
    set_environment(library);
    const char *with = getenv("LD_PRELOAD");
    char *const value = with != NULL ? strdup(with) : NULL;
    for (unsigned at = 0; value != NULL && at < 2 * PAIRS; at++) {
        const bool is_loaded = at % 2 != 0;
        if (is_loaded)
            setenv("LD_PRELOAD", value, 1);
        else
            unsetenv("LD_PRELOAD");
        const uint64_t ns = run_short();
        if (ns < least[is_loaded])
            least[is_loaded] = ns;
    }
    free(value);
    return least[1] != NEVER_NS && least[1] > least[0] ? least[1] - least[0] : 0;
}

uint64_t hp_load_cost_ns(const char *library)
{
    int ends[2];
    uint64_t ns = 0;
    if (library[0] == '\0' || pipe(ends) != 0)
        return 0;
    const pid_t pid = fork();
    if (pid == 0) {
        ns = compare(library);
        _exit(write(ends[1], &ns, sizeof ns) == (ssize_t)sizeof ns ? 0 : 1);
    }
    close(ends[1]);
    const bool is_read = pid > 0 && read(ends[0], &ns, sizeof ns) == (ssize_t)sizeof ns;
    close(ends[0]);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return is_read ? ns : 0;
}
