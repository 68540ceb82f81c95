/* Clocks. SPDX-License-Identifier: MIT */
#include "clock.h"

#include <sys/prctl.h>
#include <time.h>

#include "instruction_clock.h"
#include "raw_call.h"

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

/* Not by the function of that name, which may be interposed, and takes more stack then. */
bool hp_clock_may_be_read(void)
{
#ifdef PR_GET_TSC
    int mode = PR_TSC_ENABLE;
    if (hp_raw(SYS_prctl, PR_GET_TSC, &mode, 0, 0, 0) == 0 && mode == PR_TSC_SIGSEGV)
        return false;
#endif
    return true;
}

/* False: there is no counter; use the clock. */
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
    case HP_COUNTER_INSTRUCTIONS:
        *ret_ticks = hp_instruction_clock_read();
        return true;
    default:
        return false;
    }
}

uint64_t hp_clock_ticks(enum hp_counter counter)
{
    uint64_t ticks;
    return read_counter(counter, &ticks) ? ticks : hp_clock_monotonic_ns();
}

/* No samples are taken where instructions are counted. */
uint64_t hp_clock_ticks_raw(enum hp_counter counter)
{
    uint64_t ticks;
    if (counter == HP_COUNTER_INSTRUCTIONS)
        return hp_instruction_cell_is_none(hp_instruction_cell) ? 0 : *hp_instruction_cell;
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
