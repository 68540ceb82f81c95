/* Which counter is reliable on this machine. SPDX-License-Identifier: MIT */
#include "counter.h"

#include "files.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#if defined(__x86_64__) || defined(__i386__)

static bool tsc_is_invariant(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & (1u << 8)) != 0;
}

/* The kernel removes the TSC from this list if it has seen it drift or differ between cores. */
static bool kernel_trusts_tsc(void)
{
    char sources[256];
    if (!hp_file_read_text("/sys/devices/system/clocksource/clocksource0/available_clocksource", sources,
                           sizeof sources))
        return tsc_is_invariant(); /* no sysfs in this container: trust the CPU */
    for (const char *at = sources; *at; at++)
        if (at[0] == 't' && at[1] == 's' && at[2] == 'c' && (at == sources || at[-1] == ' '))
            return true;
    return false;
}

enum hp_counter hp_clock_counter(void)
{
    return hp_clock_may_be_read() && kernel_trusts_tsc() ? HP_COUNTER_TSC : HP_COUNTER_NONE;
}

#elif defined(__aarch64__)
enum hp_counter hp_clock_counter(void) { return HP_COUNTER_CNTVCT; }
#elif defined(__riscv) && __riscv_xlen == 64
enum hp_counter hp_clock_counter(void) { return HP_COUNTER_RDTIME; }
#else
enum hp_counter hp_clock_counter(void) { return HP_COUNTER_NONE; }
#endif
