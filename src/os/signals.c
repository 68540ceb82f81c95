/* Blocks signals, by the kernel's 64-bit mask. SPDX-License-Identifier: MIT */
#include "signals.h"

#include <signal.h>
#include <time.h>

#include "raw_call.h"
#include "sys.h"

static uint64_t bit(int signal) { return UINT64_C(1) << (signal - 1); }

static void set_mask(int how, uint64_t mask, uint64_t *ret_before)
{
    hp_raw(SYS_rt_sigprocmask, how, &mask, ret_before, sizeof mask);
}

void hp_signals_hold(struct hp_signals *held)
{
    /* Faults stay unblocked: a blocked SIGSEGV would turn a crash into something else. */
    const uint64_t faults = bit(SIGSEGV) | bit(SIGBUS) | bit(SIGFPE) | bit(SIGILL) | bit(SIGTRAP) | bit(SIGABRT);
    held->before = 0;
    held->is_held = true;
    set_mask(SIG_BLOCK, ~faults, &held->before);
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
