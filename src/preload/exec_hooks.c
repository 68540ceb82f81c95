/*
 * Interposed functions that execute a program, with an environment of the caller's choice or with that of the
 * process. In a sandbox, or where this library cannot be read, they pass one that does not name it (sandbox.h);
 * otherwise they only forward.
 * system, popen and wordexp read `environ` deep in the C library, so our entry there is replaced before.
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <alloca.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <wordexp.h>

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
    HP_BEHIND_US(posix_spawn);
    HP_BEHIND_US(posix_spawnp);
    HP_BEHIND_US(system);
    HP_BEHIND_US(popen);
    HP_BEHIND_US(wordexp);
} next;

static void find_each(void)
{
    HP_FIND(execve);
    HP_FIND(execv);
    HP_FIND(execvp);
    HP_FIND(execvpe);
    HP_FIND(fexecve);
    HP_FIND(execveat);
    HP_FIND(posix_spawn);
    HP_FIND(posix_spawnp);
    HP_FIND(system);
    HP_FIND(popen);
    HP_FIND(wordexp);
}

__attribute__((constructor)) static void find_next(void) { hp_resolve_all(find_each); }

#define NEED(name)                                                                                                 \
    if (__builtin_expect(!HP_IS_THERE(name), 0))                                                                   \
    find_next()
#define CALL(name, ...) (HP_IS_THERE(name) ? next.name(__VA_ARGS__) : hp_no_such_function())

/* ------------------------------------------------------------------------------------- with a given environment */

#define EXECUTE(name, ...)                                                                                         \
    HP_WITHOUT_US(environment, passed);                                                                            \
    NEED(name);                                                                                                    \
    return CALL(name, __VA_ARGS__)

static int execute_with(const char *path, char *const arguments[], char *const environment[])
{
    EXECUTE(execve, path, arguments, passed);
}
HP_PUBLIC int execve(const char *path, char *const arguments[], char *const environment[])
{
    return execute_with(path, arguments, environment);
}
HP_PUBLIC int execvpe(const char *file, char *const arguments[], char *const environment[])
{
    EXECUTE(execvpe, file, arguments, passed);
}
HP_PUBLIC int fexecve(int fd, char *const arguments[], char *const environment[])
{
    EXECUTE(fexecve, fd, arguments, passed);
}
HP_PUBLIC int execute_at(int folder, const char *path, char *const arguments[], char *const environment[],
                         int flags)
{
    EXECUTE(execveat, folder, path, arguments, passed, flags);
}

#define SPAWN(name, ...)                                                                                           \
    HP_WITHOUT_US(environment, passed);                                                                            \
    NEED(name);                                                                                                    \
    return HP_IS_THERE(name) ? next.name(__VA_ARGS__) : ENOSYS

HP_PUBLIC int posix_spawn(pid_t *ret_pid, const char *path, const posix_spawn_file_actions_t *actions,
                          const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[])
{
    SPAWN(posix_spawn, ret_pid, path, actions, attributes, arguments, passed);
}
HP_PUBLIC int posix_spawnp(pid_t *ret_pid, const char *file, const posix_spawn_file_actions_t *actions,
                           const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[])
{
    SPAWN(posix_spawnp, ret_pid, file, actions, attributes, arguments, passed);
}

/* ----------------------------------------------------------------------------------------------- with `environ` */

static int execute(const char *path, char *const arguments[])
{
    HP_WITHOUT_US(environ, passed);
    NEED(execv);
    return passed == environ ? CALL(execv, path, arguments) : CALL(execve, path, arguments, passed);
}
static int find_and_execute(const char *file, char *const arguments[])
{
    HP_WITHOUT_US(environ, passed);
    NEED(execvp);
    return passed == environ ? CALL(execvp, file, arguments) : CALL(execvpe, file, arguments, passed);
}
HP_PUBLIC int execv(const char *path, char *const arguments[]) { return execute(path, arguments); }
HP_PUBLIC int execvp(const char *file, char *const arguments[]) { return find_and_execute(file, arguments); }
HP_PUBLIC int system(const char *command)
{
    hp_sandbox_before_shell();
    NEED(system);
    return CALL(system, command);
}
HP_PUBLIC FILE *popen(const char *command, const char *mode)
{
    hp_sandbox_before_shell();
    NEED(popen);
    if (HP_IS_THERE(popen))
        return next.popen(command, mode);
    hp_no_such_function();
    return NULL;
}
HP_PUBLIC int wordexp(const char *words, wordexp_t *expanded, int flags)
{
    hp_sandbox_before_shell();
    NEED(wordexp);
    return HP_IS_THERE(wordexp) ? next.wordexp(words, expanded, flags) : WRDE_NOSPACE;
}

/* ---------------------------------------------------------------------------- with arguments in a variable list */

static size_t count_arguments(const char *first, va_list list)
{
    size_t count = 0;
    for (const char *each = first; each != NULL; each = va_arg(list, const char *))
        count++;
    return count;
}

/* Declares `arguments` on the stack, as the C library does; `list` is behind their end then. */
#define ARGUMENTS(first, list, arguments)                                                                          \
    va_list list;                                                                                                  \
    va_start(list, first);                                                                                         \
    const size_t count = count_arguments(first, list);                                                             \
    va_end(list);                                                                                                  \
    char **const arguments = alloca((count + 1) * sizeof *arguments);                                              \
    va_start(list, first);                                                                                         \
    arguments[0] = (char *)(uintptr_t)(first);                                                                     \
    for (size_t at = 1; at <= count; at++)                                                                         \
    arguments[at] = va_arg(list, char *)

HP_PUBLIC int execl(const char *path, const char *first, ...)
{
    ARGUMENTS(first, list, arguments);
    va_end(list);
    return execute(path, arguments);
}
HP_PUBLIC int execlp(const char *file, const char *first, ...)
{
    ARGUMENTS(first, list, arguments);
    va_end(list);
    return find_and_execute(file, arguments);
}
HP_PUBLIC int execle(const char *path, const char *first, ...)
{
    ARGUMENTS(first, list, arguments);
    char *const *const environment = va_arg(list, char *const *);
    va_end(list);
    return execute_with(path, arguments, environment);
}
