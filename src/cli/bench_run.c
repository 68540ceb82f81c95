/* Runs a command for a benchmark. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1
#include "bench_run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "command.h"
#include "session_dirs.h"
#include "text.h"

#define GRACE_NS UINT64_C(3000000000) /* from SIGTERM to SIGKILL */
#define SHOWN_BYTES 2000u             /* of output */
#define SHOWN_LINES 10u

static sigset_t ends, taken, before;
static int interruption;

/* Those that are ignored stay so, as under nohup. */
void hp_bench_hold_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    sigemptyset(&ends);
    for (size_t at = 0; at < sizeof signals / sizeof signals[0]; at++) {
        struct sigaction action;
        if (sigaction(signals[at], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(&ends, signals[at]);
    }
    taken = ends;
    sigaddset(&taken, SIGCHLD);
    signal(SIGCHLD, SIG_DFL);
    sigprocmask(SIG_BLOCK, &taken, &before);
}

int hp_bench_interruption(void)
{
    const struct timespec now = {0, 0};
    const int signal = interruption == 0 ? sigtimedwait(&ends, NULL, &now) : 0;
    if (signal > 0)
        interruption = signal;
    return interruption;
}

/* The words of `hotpath run` for it; NULL: no memory. */
static const char **words_of(const struct hp_bench_run *run)
{
    const char *const start[] = {"hotpath", "run", "--format", "none", "--dir", run->folder};
    size_t flags = 0, words = 0, count = sizeof start / sizeof start[0];
    while (run->recording[flags] != NULL)
        flags++;
    while (run->command[words] != NULL)
        words++;
    const char **all = malloc((count + flags + 1 + words + 1) * sizeof *all);
    if (all == NULL)
        return NULL;
    memcpy(all, start, sizeof start);
    memcpy(all + count, run->recording, flags * sizeof *all);
    count += flags;
    all[count++] = "--";
    memcpy(all + count, run->command, (words + 1) * sizeof *all);
    return all;
}

/* In the child. The group is its own, so that all of it can be ended. */
static void become(const char **words, int output)
{
    const int nothing = open("/dev/null", O_RDONLY);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    setpgid(0, 0);
    dup2(nothing, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    sigprocmask(SIG_SETMASK, &before, NULL);
    execv("/proc/self/exe", (char **)(uintptr_t)words);
    _exit(126);
}

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
}

/* Waits for the child; ends it when its time is over or we are asked to end. */
static void wait_for(struct hp_bench_run *run, pid_t pid, uint64_t start)
{
    uint64_t limit = run->limit_ns > 0 ? start + run->limit_ns : UINT64_MAX;
    bool is_asked = false;
    while (waitpid(pid, &run->status, WNOHANG) == 0) {
        const uint64_t now = hp_clock_monotonic_ns();
        if (now >= limit && is_asked) {
            kill(-pid, SIGKILL);
            limit = UINT64_MAX;
            continue;
        }
        if (now >= limit || (interruption != 0 && !is_asked)) {
            run->is_late = interruption == 0;
            is_asked = true;
            kill(pid, SIGTERM); /* hotpath run passes it on */
            limit = now + GRACE_NS;
            continue;
        }
        const struct timespec rest = timespec_of(limit == UINT64_MAX ? UINT64_C(60000000000) : limit - now);
        const int signal = sigtimedwait(&taken, NULL, &rest);
        if (signal > 0 && signal != SIGCHLD)
            interruption = signal;
    }
    if (is_asked)
        kill(-pid, SIGKILL); /* what did not hear */
}

/* The run that is in the folder. */
static void find_path(struct hp_bench_run *run)
{
    DIR *folder = opendir(run->folder);
    run->path[0] = '\0';
    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        if (hp_text_has_suffix(entry->d_name, HP_RUN_SUFFIX))
            snprintf(run->path, sizeof run->path, "%.900s/%.255s", run->folder, entry->d_name);
    if (folder != NULL)
        closedir(folder);
}

bool hp_bench_run(struct hp_bench_run *run)
{
    run->status = 0;
    run->is_late = false;
    run->path[0] = '\0';
    if (hp_bench_interruption() != 0)
        return false;
    snprintf(run->output, sizeof run->output, "%.1000s/output", run->folder);
    const int output = open(run->output, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (output < 0) {
        hp_fail("cannot write '%s': %s", run->output, strerror(errno));
        return false;
    }
    const uint64_t start = hp_clock_monotonic_ns();
    const char **words = words_of(run);
    const pid_t pid = words != NULL ? fork() : -1;
    if (pid == 0)
        become(words, output);
    free(words);
    close(output);
    if (pid < 0) {
        hp_fail("cannot start a run: %s", strerror(errno));
        return false;
    }
    setpgid(pid, pid);
    wait_for(run, pid, start);
    run->took_ns = hp_clock_monotonic_ns() - start;
    find_path(run);
    return interruption == 0;
}

void hp_bench_show_output(const struct hp_bench_run *run)
{
    char bytes[SHOWN_BYTES + 1];
    const int fd = open(run->output, O_RDONLY | O_CLOEXEC);
    const off_t end = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
    const off_t from = end > (off_t)SHOWN_BYTES ? end - (off_t)SHOWN_BYTES : 0;
    const ssize_t length = end > 0 ? pread(fd, bytes, SHOWN_BYTES, from) : 0;
    if (fd >= 0)
        close(fd);
    if (length <= 0)
        return;
    size_t start = (size_t)length;
    for (unsigned lines = 0; start > 0; start--)
        if (bytes[start - 1] == '\n' && start < (size_t)length && ++lines == SHOWN_LINES)
            break;
    fprintf(stderr, "its output ends with:\n");
    for (const char *line = bytes + start, *stop = bytes + length; line < stop;) {
        const char *newline = memchr(line, '\n', (size_t)(stop - line));
        const size_t width = (size_t)((newline != NULL ? newline : stop) - line);
        char plain[SHOWN_BYTES + 1], shown[SHOWN_BYTES + 1];
        memcpy(plain, line, width);
        plain[width] = '\0';
        hp_copy_printable(shown, sizeof shown, plain);
        fprintf(stderr, "  %s\n", shown);
        line += width + 1;
    }
}
