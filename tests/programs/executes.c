/*
 * Goes into a sandbox that allows everything, and executes `printenv LD_PRELOAD` there. Nothing of hotpath is in
 * this program.
 *     execv, execve, copied, syscall   how; `copied` passes a copy of the environment
 *     refused                          the kernel refuses the sandbox: nothing has changed
 *     vfork                            only a child by vfork is in the sandbox; then the same from outside
 *     raw                              by instructions that nothing sees; repeated until an observer has noticed
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "raw_call.h"

static char name[] = "printenv", variable[] = "LD_PRELOAD", *const arguments[] = {name, variable, NULL};

static bool shut_in(bool is_raw, unsigned short length)
{
    struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {length, all};
    if (is_raw)
        return hp_raw(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
               hp_raw(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
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

static int in_vfork_child(void)
{
    int status;
    const pid_t child = vfork();
    if (child == 0) {
        if (shut_in(false, 1))
            execve("/usr/bin/printenv", arguments, environ);
        _exit(77);
    }
    waitpid(child, &status, 0);
    printf("then %s\n", getenv("LD_PRELOAD") != NULL ? getenv("LD_PRELOAD") : "none");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}

/* What a child prints, until it is not ours. */
static int until_noticed(void)
{
    char line[4096];
    int tries = 3000;
    do {
        int ends[2], status;
        usleep(10000);
        if (pipe(ends) != 0)
            return 3;
        const pid_t pid = fork();
        if (pid == 0) {
            dup2(ends[1], 1);
            execve("/usr/bin/printenv", arguments, environ);
            _exit(98);
        }
        close(ends[1]);
        const ssize_t length = read(ends[0], line, sizeof line - 1);
        line[length > 0 ? length : 0] = '\0';
        close(ends[0]);
        if (waitpid(pid, &status, 0) != pid)
            return 3;
    } while (strstr(line, "hotpath") != NULL && --tries > 0);
    fputs(line, stdout);
    return 0;
}

int main(int count, char **words)
{
    const char *const how = count > 1 ? words[1] : "";
    char **const copy = copied();
    if (strcmp(how, "vfork") == 0)
        return in_vfork_child();
    if (strcmp(how, "raw") == 0)
        return shut_in(true, 1) ? until_noticed() : 77;
    if (shut_in(false, strcmp(how, "refused") != 0) != (strcmp(how, "refused") != 0))
        return 77;
    if (strcmp(how, "execv") == 0 || strcmp(how, "refused") == 0)
        execv("/usr/bin/printenv", arguments);
    else if (strcmp(how, "execve") == 0)
        execve("/usr/bin/printenv", arguments, environ);
    else if (strcmp(how, "copied") == 0)
        execve("/usr/bin/printenv", arguments, copy);
    else
        syscall(SYS_execve, "/usr/bin/printenv", arguments, copy);
    return 98;
}
