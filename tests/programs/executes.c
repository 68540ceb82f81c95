/*
 * Goes into a sandbox that allows everything, and executes `printenv LD_PRELOAD` there in every way. Prints each
 * way with its output. Nothing of hotpath is in this program.
 *     announced   by prctl
 *     raw         by instructions that nothing sees; waits until an observer has noticed
 *     refused     the kernel refuses the sandbox: nothing has changed
 *     vfork       only a child by vfork is in the sandbox; then the same from outside
 *     unseen      by instructions, in sandboxes where calls that beginning a session takes are fatal, and at once:
 *                 in a forked child, which then executes something; in this process, which then has such a child
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wordexp.h>

#include "raw_call.h"

static char path[] = "/usr/bin/printenv", name[] = "printenv",
            variable[] = "LD_PRELOAD", *const arguments[] = {name, variable, NULL};

static bool sandboxed(bool is_raw, unsigned short length)
{
    struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {length, all};
    if (is_raw)
        return hp_raw(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
               hp_raw(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

/* Calls that begin a session are fatal, but none that loading a program takes. */
static bool sandboxed_unseen(void)
{
#define FATAL(call)                                                                                                \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
    struct sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                   FATAL(timer_create),
                                   FATAL(fallocate),
                                   FATAL(memfd_create),
#ifdef SYS_mkdir
                                   FATAL(mkdir),
#endif
                                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    return hp_raw(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           hp_raw(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

static char **copied(void)
{
    size_t count = 0;
    while (environ[count] != NULL)
        count++;
    char **copy = malloc((count + 1) * sizeof *copy);
    for (size_t at = 0; at <= count; at++)
        copy[at] = environ[at] != NULL ? strdup(environ[at]) : NULL;
    return copy;
}

/* ---------------------------------------------------------------------------------------------------- the ways */

static char **copy; /* of the environment, from before the sandbox */

static void by_execve(void) { execve(path, arguments, environ); }
static void by_execve_with_copy(void) { execve(path, arguments, copy); }
static void by_execv(void) { execv(path, arguments); }
static void by_execvp(void) { execvp(name, arguments); }
static void by_execvpe(void) { execvpe(name, arguments, copy); }
static void by_execl(void) { execl(path, name, variable, NULL); }
static void by_execle(void) { execle(path, name, variable, NULL, copy); }
static void by_execlp(void) { execlp(name, name, variable, NULL); }
static void by_syscall(void) { syscall(SYS_execve, path, arguments, copy); }

static void by_posix_spawn(void)
{
    pid_t child;
    _exit(posix_spawn(&child, path, NULL, NULL, arguments, copy) == 0 && waitpid(child, NULL, 0) == child ? 0 : 3);
}

static void by_posix_spawnp(void)
{
    pid_t child;
    _exit(posix_spawnp(&child, name, NULL, NULL, arguments, environ) == 0 && waitpid(child, NULL, 0) == child ? 0
                                                                                                              : 3);
}

static void by_system(void) { _exit(system("exec printenv LD_PRELOAD") >= 0 ? 0 : 3); }

static void by_popen(void)
{
    FILE *const shell = popen("exec printenv LD_PRELOAD >&2", "w");
    _exit(shell != NULL && pclose(shell) >= 0 ? 0 : 3);
}

static void by_wordexp(void)
{
    wordexp_t words;
    _exit(wordexp("$(exec printenv LD_PRELOAD >&2)", &words, WRDE_SHOWERR) == 0 ? 0 : 3);
}

#define WAY(way)                                                                                                   \
    {                                                                                                              \
#way, by_##way                                                                                             \
    }
static const struct {
    const char *name;
    void (*execute)(void);
} ways[] = {WAY(execve),       WAY(execve_with_copy), WAY(execv),  WAY(execvp),  WAY(execvpe),
            WAY(execl),        WAY(execle),           WAY(execlp), WAY(syscall), WAY(posix_spawn),
            WAY(posix_spawnp), WAY(system),           WAY(popen),  WAY(wordexp)};

/* What a child prints that executes it that way. With musl our entries begin with thousands of tabs. */
static const char *printed(void (*execute)(void))
{
    static char text[16384];
    size_t length = 0;
    int ends[2];
    if (pipe(ends) != 0)
        exit(3);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 1);
        dup2(ends[1], 2);
        close(ends[0]);
        close(ends[1]);
        execute();
        _exit(98);
    }
    close(ends[1]);
    for (ssize_t got; (got = read(ends[0], text + length, sizeof text - 1 - length)) > 0;)
        length += (size_t)got;
    text[length] = '\0';
    text[strcspn(text, "\n")] = '\0';
    close(ends[0]);
    if (waitpid(child, NULL, 0) != child)
        exit(3);
    return text + strspn(text, "\t");
}

static int print_all(void)
{
    for (size_t at = 0; at < sizeof ways / sizeof ways[0]; at++)
        printf("%s %s\n", ways[at].name, printed(ways[at].execute));
    return 0;
}

/* ---------------------------------------------------------------------------------------------------- the cases */

static int print_in_vfork_child(void)
{
    int status;
    const pid_t child = vfork();
    if (child == 0) {
        if (sandboxed(false, 1))
            execve(path, arguments, environ);
        _exit(77);
    }
    waitpid(child, &status, 0);
    printf("then %s\n", getenv("LD_PRELOAD") != NULL ? getenv("LD_PRELOAD") : "none");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}

static int status_of(pid_t child)
{
    int status;
    return waitpid(child, &status, 0) == child ? status : -1;
}

static void use_pipe(void)
{
    int ends[2];
    char byte;
    if (pipe(ends) != 0 || write(ends[1], "x", 1) != 1 || read(ends[0], &byte, 1) != 1)
        _exit(3);
}

/* Long enough for samples, where they are taken by timers. */
static void compute(void)
{
    for (const clock_t end = clock() + CLOCKS_PER_SEC / 100; clock() < end;)
        ;
}

static int live_unseen(void)
{
    static char yes[] = "/bin/true", *const nothing[] = {yes, NULL};
    pid_t child = fork();
    if (child == 0) {
        if (!sandboxed_unseen())
            _exit(77);
        compute();
        use_pipe();
        hp_raw(SYS_execve, yes, nothing, environ);
        _exit(98);
    }
    const int in_child = status_of(child);
    if (in_child == 77 << 8 || !sandboxed_unseen())
        return 77;
    child = fork();
    if (child == 0) {
        compute();
        use_pipe();
        execv(yes, nothing);
        _exit(98);
    }
    printf("%d %d\n", in_child, status_of(child));
    return 0;
}

/* Half a minute at most. */
static void wait_until_noticed(void)
{
    for (int tries = 3000; strstr(printed(by_execve), "hotpath") != NULL && tries > 0; tries--)
        usleep(10000);
}

int main(int count, char **words)
{
    const char *const how = count > 1 ? words[1] : "";
    copy = copied();
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (strcmp(how, "vfork") == 0)
        return print_in_vfork_child();
    if (strcmp(how, "unseen") == 0)
        return live_unseen();
    const bool is_refused = strcmp(how, "refused") == 0, is_raw = strcmp(how, "raw") == 0;
    if (sandboxed(is_raw, !is_refused) == is_refused)
        return 77;
    if (is_raw)
        wait_until_noticed();
    return print_all();
}
