/*
 * Sandboxes of this process, and programs executed in one: interposed prctl and syscall, the functions that execute
 * a program, and those by which a process changes who and where it is. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <alloca.h>
#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <wordexp.h>

#include "hook_entries.h"
#include "preload.h"
#include "real_functions.h"
#include "stack_sampler.h"

/* ---------------------------------------------------------------------------------------------------- sandboxes */

/*
 * A process that confines itself (seccomp) is killed by the next system call it did not allow, and with
 * strict seccomp by reading the time stamp counter. Afterwards it is too late to notice. So the library that
 * `hotpath run` preloads interposes the two functions that do it, tells the recorder first, and forwards the call.
 * They are called rarely.
 *
 * A program that is executed in a sandbox inherits it, and would be killed by what this library does at its start.
 * So it runs without: our entry is taken out of LD_PRELOAD by the functions that execute programs, below.
 */

/* musl-gcc has no linux/seccomp.h; these numbers are kernel ABI. */
enum { MODE_STRICT = 1, MODE_FILTER = 2 };
enum { OPERATION_STRICT = 0, OPERATION_FILTER = 1 };
enum { FOR_ALL_THREADS = 1 << 0, WITH_LISTENER = 1 << 3 };

#if defined __x86_64__ || defined __i386__
#define BY_STRICT (HOTPATH_CONFINES_CALLS_ | HOTPATH_CONFINES_COUNTER_)
#else
#define BY_STRICT HOTPATH_CONFINES_CALLS_
#endif

/* The arguments of a system call. */
struct call {
    long number;
    unsigned long words[6];
};

/* Without a filter the call only asks whether filters are supported. */
static int what_prctl_confines(unsigned long option, unsigned long mode, unsigned long filter)
{
    if (option == PR_SET_SECCOMP && mode == MODE_STRICT)
        return BY_STRICT;
    if (option == PR_SET_SECCOMP && mode == MODE_FILTER && filter != 0)
        return HOTPATH_CONFINES_CALLS_;
    return option == PR_SET_TSC && mode == PR_TSC_SIGSEGV ? HOTPATH_CONFINES_COUNTER_ : 0;
}

static int what_confines(const struct call *call)
{
    if (call->number == SYS_prctl)
        return what_prctl_confines(call->words[0], call->words[1], call->words[2]);
#ifdef SYS_seccomp
    if (call->number == SYS_seccomp && call->words[0] == OPERATION_STRICT)
        return BY_STRICT;
    if (call->number == SYS_seccomp && call->words[0] == OPERATION_FILTER && call->words[2] != 0)
        return HOTPATH_CONFINES_CALLS_;
#endif
    return 0;
}

static uint32_t depth; /* atomic: sandboxes that were announced and not refused */

/*
 * The thread that has, or had, a vfork child in a sandbox: they are the same to us, and only the kernel can tell
 * which it is. Atomic, by thread pointer; 0: none.
 */
static uintptr_t half_inside;
#define SEVERAL UINTPTR_MAX

static uintptr_t this_thread(void) { return (uintptr_t)&errno; }

static void note_child(void)
{
    uintptr_t other = 0;
    if (!__atomic_compare_exchange_n(&half_inside, &other, this_thread(), false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED) &&
        other != this_thread())
        __atomic_store_n(&half_inside, SEVERAL, __ATOMIC_RELAXED);
}

static bool has_child_inside(void)
{
    const uintptr_t which = __atomic_load_n(&half_inside, __ATOMIC_RELAXED);
    return which != 0 && (which == SEVERAL || which == this_thread());
}

/* Tells the recorder, and the stack sampler beside it. */
static void announce(int what)
{
    if (what & HOTPATH_CONFINES_CALLS_)
        hp_stack_sampler_confine();
    const bool is_own = hotpath_v1_confine(what);
    if (!(what & HOTPATH_CONFINES_CALLS_))
        return;
    if (is_own)
        __atomic_fetch_add(&depth, 1, __ATOMIC_RELAXED);
    else
        note_child();
}

static void take_back(int what)
{
    const bool is_own = hotpath_v1_confine(-what);
    if (!(what & HOTPATH_CONFINES_CALLS_))
        return;
    if (is_own)
        __atomic_fetch_sub(&depth, 1, __ATOMIC_RELAXED);
    hp_stack_sampler_release();
}

static bool is_process_inside(void)
{
    return __atomic_load_n(&depth, __ATOMIC_RELAXED) != 0 || hotpath_v1_is_confined();
}

/* Whether the caller may be in one. It may also be a thread whose vfork child went into one. */
static bool is_sandboxed(void) { return has_child_inside() || is_process_inside(); }

/* Before a function that executes a program with `environ`, deep in the C library. */
static void before_shell(void)
{
    if (is_process_inside() || hp_preload_is_out_of_reach())
        hp_preload_hide();
}

/*
 * Declares `passed`: the environment for a program to be executed. In a sandbox, and where this library cannot be
 * read any more, it does not name this library. A copy is on the stack: a vfork child must leave
 * no memory behind, and in a sandbox there may be none.
 */
#define WITHOUT_US(environment_, passed)                                                                           \
    char *const *passed = (environment_);                                                                          \
    struct hp_environment found_;                                                                                  \
    if (__builtin_expect((is_sandboxed() || hp_preload_is_out_of_reach()) && hp_preload_is_in(passed, &found_),    \
                         0)) {                                                                                     \
        char **const copy_ = alloca((found_.count + 1) * sizeof *copy_ + found_.length);                           \
        hp_preload_copy(passed, &found_, copy_);                                                                   \
        passed = copy_;                                                                                            \
    }

/*
 * A filter with a listener returns a descriptor. One for all threads may return the id of a thread that prevents
 * it.
 */
static bool is_refused(const struct call *call, long result)
{
    const unsigned long flags = call->number == SYS_prctl ? 0 : call->words[1];
    return result < 0 || (result > 0 && (flags & (FOR_ALL_THREADS | WITH_LISTENER)) == FOR_ALL_THREADS);
}

typedef long system_call(long number, ...);
typedef int process_control(int option, ...);
static system_call *next_syscall;
static process_control *next_prctl;

/* A child inherits a sandbox that only an observer has noticed, and the recorder's note of it. */
static void look_before_fork(void) { hotpath_v1_is_confined(); }

__attribute__((constructor)) static void prepare_for_fork(void) { pthread_atfork(look_before_fork, NULL, NULL); }

/* Early: the dynamic linker may hold a lock that a forked child would wait for forever. */
__attribute__((constructor)) static void find_calls(void)
{
    next_syscall = (system_call *)(uintptr_t)hp_resolve_symbol("syscall");
    next_prctl = (process_control *)(uintptr_t)hp_resolve_symbol("prctl");
}

static long pass_on(const struct call *call)
{
    const unsigned long *words = call->words;
    if (next_syscall == NULL)
        find_calls();
    return next_syscall != NULL
               ? next_syscall(call->number, words[0], words[1], words[2], words[3], words[4], words[5])
               : hp_no_such_function();
}

/* The argument that is an environment; NULL: none is. */
static unsigned long *environment_of(struct call *call)
{
#ifdef SYS_execveat
    if (call->number == SYS_execveat)
        return &call->words[3];
#endif
    return call->number == SYS_execve ? &call->words[2] : NULL;
}

/* By these a process changes who and where it is: as the functions at the end, and pivot_root. */
static bool is_move(long number)
{
    switch (number) {
    case SYS_setuid:
    case SYS_setgid:
    case SYS_setreuid:
    case SYS_setregid:
    case SYS_setresuid:
    case SYS_setresgid:
    case SYS_setgroups:
#ifdef SYS_setuid32
    case SYS_setuid32:
    case SYS_setgid32:
    case SYS_setreuid32:
    case SYS_setregid32:
    case SYS_setresuid32:
    case SYS_setresgid32:
    case SYS_setgroups32:
#endif
    case SYS_chroot:
    case SYS_pivot_root:
    case SYS_unshare:
    case SYS_setns:
        return true;
    default:
        return false;
    }
}

static long move(const struct call *call)
{
    hotpath_v1_begin();
    hp_begin_early();
    const long result = pass_on(call);
    if (result == 0)
        hp_preload_note_move();
    return result;
}

HP_PUBLIC long syscall(long number, ...)
{
    struct call call = {.number = number};
    va_list list;
    va_start(list, number);
    for (size_t at = 0; at < sizeof call.words / sizeof call.words[0]; at++)
        call.words[at] = va_arg(list, unsigned long);
    va_end(list);
    unsigned long *const environment = environment_of(&call);
    if (environment != NULL) {
        WITHOUT_US((char *const *)*environment, passed);
        *environment = (unsigned long)passed;
        return pass_on(&call);
    }
    const int what = what_confines(&call);
    if (number == SYS_sigaltstack) /* samples depend on it, by whatever name (thread_hooks.c) */
        return sigaltstack((const stack_t *)call.words[0], (stack_t *)call.words[1]);
    if (what == 0)
        return is_move(number) ? move(&call) : pass_on(&call);
    announce(what);
    const long result = pass_on(&call);
    if (is_refused(&call, result))
        take_back(what);
    return result;
}

HP_PUBLIC int prctl(int option, ...)
{
    unsigned long words[4];
    va_list list;
    va_start(list, option);
    for (size_t at = 0; at < sizeof words / sizeof words[0]; at++)
        words[at] = va_arg(list, unsigned long);
    va_end(list);
    if (next_prctl == NULL)
        find_calls();
    if (next_prctl == NULL)
        return hp_no_such_function();
    const int what = what_prctl_confines((unsigned long)option, words[0], words[1]);
    if (what != 0)
        announce(what);
    const int result = next_prctl(option, words[0], words[1], words[2], words[3]);
    if (what != 0 && result != 0)
        take_back(what);
    return result;
}

/* ----------------------------------------------------------------------------------- programs that are executed */

/*
 * Interposed functions that execute a program, with an environment of the caller's choice or with that of the
 * process. In a sandbox, or where this library cannot be read, they pass one that does not name it; otherwise they
 * only forward. system, popen and wordexp read `environ` deep in the C library, so our entry there is replaced
 * before.
 */

HP_PUBLIC int execute_at(int folder, const char *path, char *const arguments[], char *const environment[],
                         int flags) __asm__("execveat"); /* missing in some headers */

/* clang-format off */
#define EACH(DO, AS)                                                                                               \
    DO(execve) DO(execv) DO(execvp) DO(execvpe) DO(fexecve) AS(execveat, execute_at) DO(posix_spawn)               \
    DO(posix_spawnp) DO(system) DO(popen) DO(wordexp) DO(setuid) DO(setgid) DO(seteuid) DO(setegid) DO(setreuid)   \
    DO(setregid) DO(setresuid) DO(setresgid) DO(setgroups) DO(initgroups) DO(chroot) DO(unshare) DO(setns)
/* clang-format on */
HP_REAL_FUNCTIONS(EACH)

__attribute__((constructor)) static void find_next(void) { hp_resolve_all(find_each); }

/* ------------------------------------------------------------------------------------- with a given environment */

#define EXECUTE(name, ...)                                                                                         \
    WITHOUT_US(environment, passed);                                                                               \
    HP_NEED(name);                                                                                                 \
    return HP_CALL(name, __VA_ARGS__)

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
    WITHOUT_US(environment, passed);                                                                               \
    HP_NEED(name);                                                                                                 \
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
    WITHOUT_US(environ, passed);
    HP_NEED(execv);
    return passed == environ ? HP_CALL(execv, path, arguments) : HP_CALL(execve, path, arguments, passed);
}
static int find_and_execute(const char *file, char *const arguments[])
{
    WITHOUT_US(environ, passed);
    HP_NEED(execvp);
    return passed == environ ? HP_CALL(execvp, file, arguments) : HP_CALL(execvpe, file, arguments, passed);
}
HP_PUBLIC int execv(const char *path, char *const arguments[]) { return execute(path, arguments); }
HP_PUBLIC int execvp(const char *file, char *const arguments[]) { return find_and_execute(file, arguments); }
HP_PUBLIC int system(const char *command)
{
    before_shell();
    HP_NEED(system);
    return HP_CALL(system, command);
}
HP_PUBLIC FILE *popen(const char *command, const char *mode)
{
    before_shell();
    HP_NEED(popen);
    if (HP_IS_THERE(popen))
        return next.popen(command, mode);
    hp_no_such_function();
    return NULL;
}
HP_PUBLIC int wordexp(const char *words, wordexp_t *expanded, int flags)
{
    before_shell();
    HP_NEED(wordexp);
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

/* ----------------------------------------------------------------------------------- who and where a process is */

/*
 * Interposed functions by which a process changes who and where it is: its user, its root, its namespaces. A
 * session that has not begun (src/record/core/no_session.h) could not begin afterwards: its folder would be out of
 * reach. So it begins now. Programs that are executed afterwards may not be able to read this library (preload.h).
 * These functions are called rarely, and forwarded unchanged.
 */

#define CHANGE(name, ...)                                                                                          \
    HP_NEED(name);                                                                                                 \
    hotpath_v1_begin();                                                                                            \
    hp_begin_early();                                                                                              \
    const int result_ = HP_CALL(name, __VA_ARGS__);                                                                \
    if (result_ == 0)                                                                                              \
        hp_preload_note_move();                                                                                    \
    return result_

HP_PUBLIC int setuid(uid_t user) { CHANGE(setuid, user); }
HP_PUBLIC int setgid(gid_t group) { CHANGE(setgid, group); }
HP_PUBLIC int seteuid(uid_t user) { CHANGE(seteuid, user); }
HP_PUBLIC int setegid(gid_t group) { CHANGE(setegid, group); }
HP_PUBLIC int setreuid(uid_t real, uid_t effective) { CHANGE(setreuid, real, effective); }
HP_PUBLIC int setregid(gid_t real, gid_t effective) { CHANGE(setregid, real, effective); }
HP_PUBLIC int setresuid(uid_t real, uid_t effective, uid_t saved) { CHANGE(setresuid, real, effective, saved); }
HP_PUBLIC int setresgid(gid_t real, gid_t effective, gid_t saved) { CHANGE(setresgid, real, effective, saved); }
HP_PUBLIC int setgroups(size_t count, const gid_t *groups) { CHANGE(setgroups, count, groups); }
HP_PUBLIC int initgroups(const char *user, gid_t group) { CHANGE(initgroups, user, group); }
HP_PUBLIC int chroot(const char *path) { CHANGE(chroot, path); }
HP_PUBLIC int unshare(int what) { CHANGE(unshare, what); }
HP_PUBLIC int setns(int space, int kind) { CHANGE(setns, space, kind); }
