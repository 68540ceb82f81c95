/* Signals, by the kernel's 64-bit masks and structs. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* for ucontext_t, and POLL_IN */
#include "signals.h"

#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <ucontext.h>

#include "raw_call.h"

static uint64_t bit(int signal) { return UINT64_C(1) << (signal - 1); }

/* Faults stay unblocked: a blocked SIGSEGV would turn a crash into something else. */
static uint64_t faults(void)
{
    return bit(SIGSEGV) | bit(SIGBUS) | bit(SIGFPE) | bit(SIGILL) | bit(SIGTRAP) | bit(SIGABRT);
}

static void set_mask(int how, uint64_t mask, uint64_t *ret_before)
{
    hp_raw(SYS_rt_sigprocmask, how, &mask, ret_before, sizeof mask);
}

void hp_signals_hold(struct hp_signals *held)
{
    held->before = 0;
    held->is_held = true;
    set_mask(SIG_BLOCK, ~faults(), &held->before);
}

void hp_signals_hold_write_errors(struct hp_signals *held)
{
    held->before = 0;
    held->is_held = true;
    set_mask(SIG_BLOCK, bit(SIGPIPE) | bit(SIGXFSZ), &held->before);
}

void hp_signals_release(const struct hp_signals *held) { set_mask(SIG_SETMASK, held->before, NULL); }

uint64_t hp_signals_pending(void)
{
    uint64_t pending = 0;
    syscall(SYS_rt_sigpending, &pending, sizeof pending);
    return pending;
}

void hp_signals_swallow_write_errors(uint64_t pending_before)
{
    const uint64_t ours = (bit(SIGPIPE) | bit(SIGXFSZ)) & ~pending_before;
    const struct timespec at_once = {0, 0};
    if (ours != 0)
        while (syscall(SYS_rt_sigtimedwait, &ours, NULL, &at_once, sizeof ours) > 0)
            ;
}

void hp_signals_raise_now(int signal)
{
    syscall(SYS_tgkill, hp_sys_process_id(), hp_sys_thread_id(), signal);
    set_mask(SIG_UNBLOCK, bit(signal), NULL);
}

/* ------------------------------------------------------------------------------------- signals of the C library */

#ifndef SA_RESTORER
#define SA_RESTORER 0x04000000
#endif

#ifdef __GLIBC__
enum { CANCEL = 32, OTHER = 33 };
#else
enum { CANCEL = 33, OTHER = 32 };
#endif

int hp_private_signal_number(enum hp_private_signal which) { return which == HP_SIGNAL_HERE ? CANCEL : OTHER; }

/* ------------------------------------------------------------------------------------------------ in the kernel */

/*
 * On x86-64 the kernel has no sigreturn trampoline of its own. Unwinders recognize one by its bytes, which are
 * those of the C library's; they look up the byte before it, which must belong to no function.
 */
#if defined __x86_64__ && defined __LP64__
#define RETURN_FLAG SA_RESTORER
static uintptr_t way_back(void)
{
    uintptr_t address;
    __asm__(".pushsection .text.hotpath_return, \"ax\", @progbits\n"
            ".p2align 4\n"
            ".skip 16, 0x90\n"
            "1:\n"
            "mov $15, %%rax\n"
            "syscall\n"
            ".popsection\n"
            "lea 1b(%%rip), %0\n"
            : "=r"(address));
    return address;
}
#else
#define RETURN_FLAG 0
#ifndef __riscv
static uintptr_t way_back(void) { return 0; }
#endif
#endif

/* Both may be NULL. */
static bool set_action(int signal, const struct hp_kernel_action *action, struct hp_kernel_action *ret_before)
{
    return hp_raw(SYS_rt_sigaction, signal, action, ret_before, sizeof(uint64_t)) == 0;
}

static struct hp_kernel_action make_action(hp_signal_handler *handler, int flags, uint64_t mask)
{
    struct hp_kernel_action action = {.handler = (uintptr_t)handler,
                                      .flags = (unsigned long)(SA_SIGINFO | SA_RESTART | RETURN_FLAG | flags),
                                      .mask = mask};
#ifndef __riscv
    action.restorer = way_back();
#endif
    return action;
}

/*
 * Blocks all signals except faults and one that no program uses. No other handler has this mask, so copies of the
 * library recognize each other's handlers by it. The kernel drops the two that cannot be blocked.
 */
static uint64_t our_mask(void) { return ~(faults() | bit(SIGSTKFLT) | bit(SIGKILL) | bit(SIGSTOP)); }

static bool is_handler(const struct hp_kernel_action *action)
{
    return action->handler != (uintptr_t)SIG_DFL && action->handler != (uintptr_t)SIG_IGN;
}

/* ------------------------------------------------------------------------------------------------------- taking */

/* Never writes the entry in use. */
static void keep(struct hp_taken_signal *taken, const struct hp_kernel_action *before)
{
    const uint32_t next = taken->present + 1;
    taken->before[next % HP_ACTIONS_KEPT] = *before;
    __atomic_store_n(&taken->present, next, __ATOMIC_RELEASE);
}

static bool is_ours(const struct hp_taken_signal *taken, const struct hp_kernel_action *action)
{
    return taken->handler != NULL && action->handler == (uintptr_t)taken->handler;
}

/*
 * The C library may set its handler at any time. It is saved before ours is installed; if another one came in
 * between, our handler waits until that one is saved.
 */
static bool go_in_front(struct hp_taken_signal *taken, enum hp_private_signal which, hp_signal_handler *handler,
                        const struct hp_kernel_action *present)
{
    const struct hp_kernel_action ours =
        make_action(handler, which == HP_SIGNAL_ASIDE ? SA_ONSTACK : 0, our_mask());
    struct hp_kernel_action before;
    keep(taken, present);
    __atomic_store_n(&taken->handler, handler, __ATOMIC_RELEASE);
    if (!set_action(hp_private_signal_number(which), &ours, &before))
        return false;
    if (before.handler != present->handler && !is_ours(taken, &before))
        keep(taken, &before);
    return true;
}

bool hp_private_signal_take(struct hp_taken_signal *taken, enum hp_private_signal which, hp_signal_handler *handler)
{
    struct hp_kernel_action present;
    uint32_t idle = 0;
    if (!set_action(hp_private_signal_number(which), NULL, &present))
        return false;
    const bool is_another_copys = is_handler(&present) && present.mask == our_mask();
    if (is_ours(taken, &present) || (is_another_copys && taken->handler != NULL))
        return true;
    if (!__atomic_compare_exchange_n(&taken->is_changing, &idle, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return true;
    /* Checked again: another thread may have been faster. */
    const bool is_there = set_action(hp_private_signal_number(which), NULL, &present) &&
                          (is_ours(taken, &present) ||
                           go_in_front(taken, which, taken->handler != NULL ? taken->handler : handler, &present));
    __atomic_store_n(&taken->is_changing, 0, __ATOMIC_RELEASE);
    return is_there;
}

/* --------------------------------------------------------------------------------------------------- passing on */

/* Sent by a source of signals like ours, not by anyone who means to end the process. */
static bool is_of_a_source(const siginfo_t *info)
{
    return info->si_code == SI_TIMER || (info->si_code >= POLL_IN && info->si_code <= POLL_HUP);
}

/* It is delivered as soon as the handler returns. */
static void do_as_by_default(int signal)
{
    struct hp_kernel_action usual = make_action(NULL, 0, 0);
    usual.flags = 0;
    set_action(signal, &usual, NULL);
    hp_raw(SYS_tgkill, hp_raw(SYS_getpid, 0), hp_raw(SYS_gettid, 0), signal);
}

/* The mask that the other handler expects: what was blocked before, what it asks for, and the signal itself. */
static void use_mask_of(const struct hp_kernel_action *action, int signal, const void *context)
{
    const ucontext_t *interrupted = context;
    const uint64_t *before = (const uint64_t *)(const void *)&interrupted->uc_sigmask;
    const uint64_t mask = *before | action->mask | (action->flags & SA_NODEFER ? 0 : bit(signal));
    hp_raw(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof mask);
}

/* Installing takes two system calls; the installing thread may be waiting for this CPU. */
static void wait_for_change(const struct hp_taken_signal *taken)
{
    const struct {
        long seconds, nanoseconds;
    } moment = {0, 50000};
    for (int tries = 0; tries < 20000 && __atomic_load_n(&taken->is_changing, __ATOMIC_ACQUIRE); tries++)
#ifdef SYS_nanosleep
        hp_raw(SYS_nanosleep, &moment, NULL);
#else
        hp_raw(SYS_sched_yield, &moment);
#endif
}

void hp_private_signal_pass_on(struct hp_taken_signal *taken, int signal, siginfo_t *info, void *context)
{
    wait_for_change(taken);
    const uint32_t present = __atomic_load_n(&taken->present, __ATOMIC_ACQUIRE);
    const struct hp_kernel_action action = taken->before[present % HP_ACTIONS_KEPT];
    if (!is_handler(&action)) {
        if (action.handler == (uintptr_t)SIG_DFL && !is_of_a_source(info))
            do_as_by_default(signal);
        return;
    }
    use_mask_of(&action, signal, context);
    ((hp_signal_handler *)action.handler)(signal, info, context);
}

/* ----------------------------------------------------------------------------------------------------- dropping */

#define MOST_OTHERS 2 /* a cancellation is sent once */

void hp_private_signal_drop(enum hp_private_signal which)
{
    const int signal = hp_private_signal_number(which);
    const uint64_t mask = bit(signal);
    const struct {
        long seconds, nanoseconds;
    } at_once = {0, 0};
    siginfo_t others[MOST_OTHERS + 1];
    uint32_t count = 0;
#ifdef SYS_rt_sigtimedwait
    while (count < MOST_OTHERS &&
           hp_raw(SYS_rt_sigtimedwait, &mask, &others[count], &at_once, sizeof mask) == signal)
        if (!is_of_a_source(&others[count]))
            count++;
#endif
    while (count-- > 0)
        hp_raw(SYS_rt_tgsigqueueinfo, hp_raw(SYS_getpid, 0), hp_raw(SYS_gettid, 0), signal, &others[count]);
}

/* -------------------------------------------------------------------------------------------------------- SIGIO */

static void on_io(int signal, siginfo_t *info, void *context)
{
    (void)context;
    if (info->si_code != SI_KERNEL)
        do_as_by_default(signal);
}

static bool is_harmless(const struct hp_kernel_action *action)
{
    return action->handler == (uintptr_t)on_io || !is_handler(action);
}

bool hp_private_signal_guard_io(void)
{
    const struct hp_kernel_action ours = make_action(on_io, 0, 0);
    struct hp_kernel_action present, before;
    if (!set_action(SIGIO, NULL, &present) || present.handler != (uintptr_t)SIG_DFL)
        return is_harmless(&present);
    /* The host may have set its own meanwhile. */
    if (set_action(SIGIO, &ours, &before) && before.handler != (uintptr_t)SIG_DFL) {
        set_action(SIGIO, &before, NULL);
        return is_harmless(&before);
    }
    return true;
}
