/* Which clock can be trusted on this machine. SPDX-License-Identifier: MIT */
#include "clock.h"

#include <sys/prctl.h>
#include <time.h>

#include "files.h"
#include "raw_call.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

static uint64_t read_clock(clockid_t id)
{
    struct timespec time = {0, 0};
    clock_gettime(id, &time);
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

uint64_t hp_clock_monotonic_ns(void) { return read_clock(CLOCK_MONOTONIC); }

uint64_t hp_clock_wall_ns(void) { return read_clock(CLOCK_REALTIME); }

uint64_t hp_clock_boot_ns(void) { return read_clock(CLOCK_BOOTTIME); }

uint64_t hp_clock_thread_ns(void) { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

bool hp_clock_may_be_read(void)
{
#ifdef PR_GET_TSC
    int mode = PR_TSC_ENABLE;
    if (prctl(PR_GET_TSC, &mode, 0, 0, 0) == 0 && mode == PR_TSC_SIGSEGV)
        return false;
#endif
    return true;
}

#if defined(__x86_64__) || defined(__i386__)

static bool tsc_is_invariant(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & (1u << 8)) != 0;
}

/* The kernel strikes the TSC off this list when it has seen it drift or differ between cores. */
static bool kernel_trusts_tsc(void)
{
    char sources[256];
    if (!hp_file_read_text("/sys/devices/system/clocksource/clocksource0/available_clocksource", sources,
                           sizeof sources))
        return tsc_is_invariant(); /* no sysfs in this container: the CPU's word has to do */
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

/* False: there is none, and the clock has to be asked. */
static inline bool read_counter(enum hp_counter counter, uint64_t *ret_ticks)
{
    (void)ret_ticks;
    switch (counter) {
#if defined(__x86_64__) || defined(__i386__)
    case HP_COUNTER_TSC:
        *ret_ticks = __builtin_ia32_rdtsc();
        return true;
#elif defined(__aarch64__)
    case HP_COUNTER_CNTVCT:
        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(*ret_ticks));
        return true;
#elif defined(__riscv) && __riscv_xlen == 64
    case HP_COUNTER_RDTIME:
        __asm__ volatile("rdtime %0" : "=r"(*ret_ticks));
        return true;
#endif
    default:
        return false;
    }
}

uint64_t hp_clock_ticks(enum hp_counter counter)
{
    uint64_t ticks;
    return read_counter(counter, &ticks) ? ticks : hp_clock_monotonic_ns();
}

uint64_t hp_clock_ticks_raw(enum hp_counter counter)
{
    uint64_t ticks;
    return read_counter(counter, &ticks) ? ticks : hp_raw_clock(CLOCK_MONOTONIC);
}

void hp_clock_pair(enum hp_counter counter, uint64_t *ret_ticks, uint64_t *ret_ns)
{
    uint64_t narrowest = UINT64_MAX;
    for (int try = 0; try < 5; try++) {
        const uint64_t before = hp_clock_ticks(counter);
        const uint64_t ns = hp_clock_monotonic_ns();
        const uint64_t after = hp_clock_ticks(counter);
        if (after - before < narrowest) {
            narrowest = after - before;
            *ret_ticks = before + (after - before) / 2;
            *ret_ns = ns;
        }
    }
    if (counter == HP_COUNTER_NONE)
        *ret_ticks = *ret_ns;
}
