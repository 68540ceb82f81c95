/*
 * Sandboxes. A process that confines itself (seccomp) is killed by the next system call it did not allow, and with
 * strict seccomp by reading the time stamp counter. Afterwards it is too late to notice. So the library that
 * `hotpath run` preloads interposes the two functions that do it, tells the recorder first, and forwards the call.
 * They are called rarely. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hotpath.h"
#include "resolve.h"
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

/* Tells the recorder, and the stack sampler beside it. */
static void announce(int what)
{
    if (what & HOTPATH_CONFINES_CALLS_)
        hp_stack_sampler_confine();
    hotpath_v1_confine(what);
}

static void take_back(int what)
{
    hotpath_v1_confine(-what);
    if (what & HOTPATH_CONFINES_CALLS_)
        hp_stack_sampler_release();
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

__attribute__((visibility("default"))) long syscall(long number, ...)
{
    struct call call = {.number = number};
    va_list list;
    va_start(list, number);
    for (size_t at = 0; at < sizeof call.words / sizeof call.words[0]; at++)
        call.words[at] = va_arg(list, unsigned long);
    va_end(list);
    const int what = what_confines(&call);
    if (number == SYS_sigaltstack) /* samples depend on it, by whatever name (thread_hooks.c) */
        return sigaltstack((const stack_t *)call.words[0], (stack_t *)call.words[1]);
    if (what == 0)
        return pass_on(&call);
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
