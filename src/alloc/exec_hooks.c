/*
 * Interposed functions that execute a program, with an environment of the caller's choice or with that of the
 * process. In a sandbox they pass one that does not name this library (sandbox.h); outside they only forward.
 * execl, posix_spawn and system are not among them: they mostly use the environment of the process, from which our
 * entry is gone if the sandbox was announced.
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <alloca.h>
#include <stddef.h>
#include <unistd.h>

#include "real_functions.h"
#include "sandbox.h"

HP_PUBLIC int execute_at(int folder, const char *path, char *const arguments[], char *const environment[],
                         int flags) __asm__("execveat"); /* missing in some headers */

static struct {
    HP_BEHIND_US(execve);
    HP_BEHIND_US(execv);
    HP_BEHIND_US(execvp);
    HP_BEHIND_US(execvpe);
    HP_BEHIND_US(fexecve);
    __typeof__(execute_at) *execveat;
} next;

static void find_each(void)
{
    HP_FIND(execve);
    HP_FIND(execv);
    HP_FIND(execvp);
    HP_FIND(execvpe);
    HP_FIND(fexecve);
    HP_FIND(execveat);
}

__attribute__((constructor)) static void find_next(void) { hp_resolve_all(find_each); }

#define CALL(name, ...)                                                                                            \
    if (__builtin_expect(!HP_IS_THERE(name), 0))                                                                   \
        find_next();                                                                                               \
    return HP_IS_THERE(name) ? next.name(__VA_ARGS__) : hp_no_such_function()

HP_PUBLIC int execve(const char *path, char *const arguments[], char *const environment[])
{
    HP_WITHOUT_US(environment, passed);
    CALL(execve, path, arguments, passed);
}
HP_PUBLIC int execvpe(const char *file, char *const arguments[], char *const environment[])
{
    HP_WITHOUT_US(environment, passed);
    CALL(execvpe, file, arguments, passed);
}
HP_PUBLIC int fexecve(int fd, char *const arguments[], char *const environment[])
{
    HP_WITHOUT_US(environment, passed);
    CALL(fexecve, fd, arguments, passed);
}
HP_PUBLIC int execute_at(int folder, const char *path, char *const arguments[], char *const environment[],
                         int flags)
{
    HP_WITHOUT_US(environment, passed);
    CALL(execveat, folder, path, arguments, passed, flags);
}

/* With the environment of the process: as it is, unless it names us in a sandbox that was not announced. */
HP_PUBLIC int execv(const char *path, char *const arguments[])
{
    HP_WITHOUT_US(environ, passed);
    if (__builtin_expect(passed != environ && HP_IS_THERE(execve), 0))
        return next.execve(path, arguments, passed);
    CALL(execv, path, arguments);
}
HP_PUBLIC int execvp(const char *file, char *const arguments[])
{
    HP_WITHOUT_US(environ, passed);
    if (__builtin_expect(passed != environ && HP_IS_THERE(execvpe), 0))
        return next.execvpe(file, arguments, passed);
    CALL(execvp, file, arguments);
}
