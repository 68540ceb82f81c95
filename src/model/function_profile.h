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

/* What of a function is told by zone: the whole of it, with what it called. */
enum hp_zone_part {
    HP_ZONES_OF_CPU,     /* total_ns */
    HP_ZONES_OF_WAITING, /* total_waiting_ns */
    HP_ZONES_OF_HEAP,    /* total_heap.bytes */
    HP_ZONE_PARTS
};

/* A zone in which a function was found, and how much of it that was: nanoseconds, or bytes. */
struct hp_found_zone {
    const char *name;
    uint64_t amount;
};

/* Most first; what is missing was in none. */
struct hp_found_zones {
    const struct hp_found_zone *all;
    size_t count;
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
    struct hp_found_zones zones[HP_ZONE_PARTS];
};

/* Processes whose stacks could not be recorded: those of samples, those of allocations, and the kernel's number for the first reason. */
struct hp_unmade {
    uint32_t samples, heaps;
    int32_t error;
    uint32_t unused;
};

struct hp_function_profile {
    const struct hp_found_function *all; /* most time of its own first, idle time left out */
    size_t count;
    struct hp_found_zones zones[HP_ZONE_PARTS]; /* of all functions */
    uint64_t cpu_ns, kernel_ns;                 /* of all samples */
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
    struct hp_unmade unmade;
};

/* What could be won there: what is idle could not. */
static inline uint64_t hp_found_work_ns(const struct hp_found_function *function)
{
    return function->user_ns + function->kernel_ns + function->waiting_ns - function->idle_ns;
}

#endif
