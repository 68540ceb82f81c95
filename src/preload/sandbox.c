/*
 * Sandboxes. A process that confines itself (seccomp) is killed by the next system call it did not allow, and with
 * strict seccomp by reading the time stamp counter. Afterwards it is too late to notice. So the library that
 * `hotpath run` preloads interposes the two functions that do it, tells the recorder first, and forwards the call.
 * They are called rarely.
 *
 * A program that is executed in a sandbox inherits it, and would be killed by what this library does at its start.
 * So it runs without: our entry is taken out of LD_PRELOAD by the functions that execute programs (exec_hooks.c).
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <alloca.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hook_entries.h"
#include "resolve.h"
#include "sandbox.h"
#include "stack_sampler.h"

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

bool hp_sandbox_is_around(void) { return has_child_inside() || is_process_inside(); }

void hp_sandbox_before_shell(void)
{
    if (is_process_inside() || hp_preload_is_out_of_reach())
        hp_preload_hide();
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
__attribute__((constructor)) static void find_next(void)
{
    next_syscall = (system_call *)(uintptr_t)hp_resolve_symbol("syscall");
    next_prctl = (process_control *)(uintptr_t)hp_resolve_symbol("prctl");
}

static long no_such_call(void)
{
    errno = ENOSYS;
    return -1;
}

static long pass_on(const struct call *call)
{
    const unsigned long *words = call->words;
    if (next_syscall == NULL)
        find_next();
    return next_syscall != NULL
               ? next_syscall(call->number, words[0], words[1], words[2], words[3], words[4], words[5])
               : no_such_call();
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

/* By these a process changes who and where it is: as the functions of identity_hooks.c, and pivot_root. */
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
    const long result = pass_on(call);
    if (result == 0)
        hp_preload_note_move();
    return result;
}

__attribute__((visibility("default"))) long syscall(long number, ...)
{
    struct call call = {.number = number};
    va_list list;
    va_start(list, number);
    for (size_t at = 0; at < sizeof call.words / sizeof call.words[0]; at++)
        call.words[at] = va_arg(list, unsigned long);
    va_end(list);
    unsigned long *const environment = environment_of(&call);
    if (environment != NULL) {
        HP_WITHOUT_US((char *const *)*environment, passed);
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

__attribute__((visibility("default"))) int prctl(int option, ...)
{
    unsigned long words[4];
    va_list list;
    va_start(list, option);
    for (size_t at = 0; at < sizeof words / sizeof words[0]; at++)
        words[at] = va_arg(list, unsigned long);
    va_end(list);
    if (next_prctl == NULL)
        find_next();
    if (next_prctl == NULL)
        return (int)no_such_call();
    const int what = what_prctl_confines((unsigned long)option, words[0], words[1]);
    if (what != 0)
        announce(what);
    const int result = next_prctl(option, words[0], words[1], words[2], words[3]);
    if (what != 0 && result != 0)
        take_back(what);
    return result;
}
