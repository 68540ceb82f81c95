/* Blocks signals and takes them one by one. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall */
#include "held_signals.h"

#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)

/* The kernel's layout on 32-bit machines, where the C library may have a newer one. */
struct kernel_timespec {
    long seconds, nanoseconds;
};

uint64_t hp_held_begin(void)
{
    const uint64_t all = UINT64_MAX;
    uint64_t before = 0;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof before);
    return before;
}

void hp_held_end(uint64_t before) { syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before); }

int hp_held_take(uint64_t set, siginfo_t *ret_info, uint64_t ns)
{
    const struct kernel_timespec limit = {(long)(ns / SECOND), (long)(ns % SECOND)};
    const long taken =
        syscall(SYS_rt_sigtimedwait, &set, ret_info, ns == HP_HELD_FOREVER ? NULL : &limit, sizeof set);
    return taken > 0 ? (int)taken : 0;
}

bool hp_held_is_pending(int signal)
{
    uint64_t pending = 0;
    syscall(SYS_rt_sigpending, &pending, sizeof pending);
    return (pending & hp_held_bit(signal)) != 0;
}
