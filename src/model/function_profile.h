/*
 * What stacks say of functions, whether or not they are measured: time on the processor and waiting, by themselves and with all that
 * they called. Whoever has the stacks makes it; the library itself has none. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_FUNCTION_PROFILE_H
#define HP_MODEL_FUNCTION_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where samples of processor time come from. */
enum hp_stack_source {
    HP_STACKS_BY_NOBODY,
    HP_STACKS_BY_PERF,   /* the kernel takes them */
    HP_STACKS_BY_TIMERS, /* handlers in the program do, since the kernel refuses that */
    HP_STACKS_BY_PROGRAM /* the same, since they know the zones that they have interrupted */
};

/* A zone in which a function was found running, and for how long. */
struct hp_found_zone {
    const char *name;
    uint64_t ns;
};

/* Of the heap, estimated. */
struct hp_found_heap {
    uint64_t bytes, blocks;           /* allocated */
    uint64_t peak_bytes, peak_blocks; /* of these, what lived when the heap was at its largest */
    uint64_t left_bytes, left_blocks; /* what was never freed */
};

struct hp_found_function {
    const char *name;
    const char *library;         /* the file that it is in, without its folders; "" where it is in none */
    const char *file;            /* its source; "" where it is not known */
    uint64_t samples;            /* that found it innermost */
    uint64_t user_ns, kernel_ns; /* of itself */
    uint64_t total_ns;           /* with what it called; once where it called itself */
    /* The same of waiting, which is its own where it waits in the C library: neither running nor ready to run. */
    uint64_t waits;               /* times that it was found so, and had not been before */
    uint64_t waiting_ns, idle_ns; /* of itself, and of that, nobody's work */
    uint64_t total_waiting_ns;    /* with what it called */
    const char *waits_for;        /* most of it: "disk: /data/x.db"; NULL: it did not wait */
    size_t waits_for_length;      /* of that text */
    uint64_t waits_for_ns;        /* with the same cause */
    /* What it allocated, by samples: its own where the C library did it for it. */
    struct hp_found_heap heap;       /* of itself */
    struct hp_found_heap total_heap; /* with what it called */
    uint64_t alloc_samples;
    /* The zones that total_ns was spent in, most of it first; what is missing was in none. */
    const struct hp_found_zone *zones;
    size_t zone_count;
};

struct hp_function_profile {
    const struct hp_found_function *all; /* most time of its own first, idle time left out */
    size_t count;
    const struct hp_found_zone *zones; /* of all functions */
    size_t zone_count;
    uint64_t cpu_ns, kernel_ns; /* of all samples */
    uint64_t period_ns;
    uint64_t samples, whole, lost;                /* whole: followed to the start of its thread */
    uint64_t waited_ns, idle_ns;                  /* of all threads that were found waiting */
    uint64_t waits, waits_whole, waits_recovered; /* recovered: a caller was found by a search of the stack */
    struct hp_found_heap heap;                    /* of all stacks */
    uint64_t allocs, allocs_whole, allocs_lost;   /* sampled allocations */
    uint64_t alloc_mean;                          /* bytes between them */
    bool has_kernel;                              /* samples come from the kernel, too */
    enum hp_stack_source source;
    uint64_t refused; /* threads that timers could not sample, as the program's alternate stacks are too small */
};

/* What could be won there: what is idle could not. */
static inline uint64_t hp_found_work_ns(const struct hp_found_function *function)
{
    return function->user_ns + function->kernel_ns + function->waiting_ns - function->idle_ns;
}

#endif
