/* Programs that a client of `hotpath mcp` has run. SPDX-License-Identifier: MIT */
#include "agent_runs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "command.h"

#define GRACE_NS UINT64_C(5000000000) /* hotpath run names stacks after its program has ended */
#define SECOND_NS UINT64_C(1000000000)

/* The words of `hotpath run` for it; NULL: no memory. */
static char **words_of(const struct hp_agent_run *run, const char *path, const struct hp_mcp_words *argv)
{
    static char hotpath[] = "hotpath", name[] = "run", dir[] = "--dir", end[] = "--";
    char **words = calloc(argv->count + 7, sizeof *words);
    size_t count = 0;
    if (words == NULL)
        return NULL;
    words[count++] = hotpath;
    words[count++] = name;
    if (run->folder != NULL) {
        words[count++] = dir;
        words[count++] = (char *)(uintptr_t)run->folder;
    }
    words[count++] = end;
    words[count++] = (char *)(uintptr_t)path;
    memcpy(words + count, argv->all + 1, (argv->count - 1) * sizeof *words);
    return words;
}

/*
 * In the child: its group is its own, so that all of it can be ended; it ends with us; and what it reads and
 * writes is not what the client and we say to each other.
 */
static _Noreturn void become(char **words, pid_t parent)
{
    sigset_t none;
    const int nothing = open("/dev/null", O_RDWR);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    setpgid(0, 0);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    dup2(nothing, STDERR_FILENO);
    setenv("HOTPATH_OUTPUT_FORMAT", "none", 1);
    unsetenv("HOTPATH_OUTPUT_PATH");
    signal(SIGPIPE, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (getppid() == parent)
        execv("/proc/self/exe", words);
    _exit(126);
}

bool hp_agent_run_start(void *context, const struct hp_mcp_words *argv, size_t seconds, char *problem, size_t size)
{
    struct hp_agent_run *run = context;
    const pid_t parent = getpid();
    if (run->pid != 0) {
        snprintf(problem, size, "the program that was cancelled has not ended yet: call again in some seconds");
        return false;
    }
    const char *path = hp_allowed_runs_find(run->allowed, argv->all, argv->count, problem, size);
    if (path == NULL)
        return false;
    const uint64_t began_ns = hp_clock_wall_ns();
    char **words = words_of(run, path, argv);
    const pid_t pid = words != NULL ? fork() : -1;
    if (pid == 0)
        become(words, parent);
    free(words);
    if (pid < 0) {
        snprintf(problem, size, "the program cannot be started: %s", strerror(errno));
        return false;
    }
    setpgid(pid, pid);
    run->pid = pid;
    run->began_ns = began_ns;
    run->is_asked = false;
    run->end_ns = hp_clock_monotonic_ns() + seconds * SECOND_NS;
    return true;
}

static void ask_to_end(struct hp_agent_run *run)
{
    kill(run->pid, run->is_asked ? SIGKILL : SIGTERM); /* hotpath run passes it on */
    if (run->is_asked)
        kill(-run->pid, SIGKILL);
    run->is_asked = true;
    run->end_ns = hp_clock_monotonic_ns() + GRACE_NS;
}

void hp_agent_run_stop(void *context)
{
    struct hp_agent_run *run = context;
    if (run->pid != 0 && !run->is_asked)
        ask_to_end(run);
}

int hp_agent_run_time_left(struct hp_agent_run *run)
{
    if (run->pid == 0)
        return -1;
    const uint64_t now = hp_clock_monotonic_ns();
    if (now >= run->end_ns)
        ask_to_end(run);
    return (int)((run->end_ns - now) / 1000000u) + 1;
}

static void describe_end(struct hp_agent_run *run, int status)
{
    snprintf(run->session, sizeof run->session, "%d-", (int)run->pid);
    run->problem[0] = '\0';
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        snprintf(run->problem, sizeof run->problem, "the program could not be executed");
}

bool hp_agent_run_has_ended(struct hp_agent_run *run)
{
    int status;
    if (run->pid == 0 || waitpid(run->pid, &status, WNOHANG) != run->pid)
        return false;
    kill(-run->pid, SIGKILL); /* what it left behind in its group */
    describe_end(run, status);
    run->pid = 0;
    return true;
}
