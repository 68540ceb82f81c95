/*
 * Compiled with -finstrument-functions: an empty function, measured by the compiler's hooks.
 * SPDX-License-Identifier: MIT
 */
#include "everything.h"

__attribute__((noinline)) void measured_by_compiler(void) { __asm__ volatile("" ::: "memory"); }

/* The loop itself is not measured. */
__attribute__((no_instrument_function)) void run_measured_by_compiler(uint32_t passes)
{
    while (passes-- > 0)
        measured_by_compiler();
}
