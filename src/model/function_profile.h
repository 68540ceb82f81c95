/*
 * What stacks say of functions, whether or not they are measured: time on the processor, by themselves and with all that they
 * called. Whoever has the stacks makes it; the library itself has none. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_FUNCTION_PROFILE_H
#define HP_MODEL_FUNCTION_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hp_found_function {
    const char *name;
    const char *library;         /* the file that it is in, without its folders; "" where it is in none */
    const char *file;            /* its source; "" where it is not known */
    uint64_t samples;            /* that found it innermost */
    uint64_t user_ns, kernel_ns; /* of itself */
    uint64_t total_ns;           /* with what it called; once where it called itself */
};

struct hp_function_profile {
    const struct hp_found_function *all; /* most time of its own first */
    size_t count;
    uint64_t cpu_ns, kernel_ns; /* of all samples */
    uint64_t period_ns;
    uint64_t samples, whole, lost; /* whole: followed to the start of its thread */
    bool has_kernel;               /* samples come from the kernel, too */
};

#endif
