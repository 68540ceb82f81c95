/*
 * Functions as found in sampled stacks, measured or not: CPU time and waiting, own and with callees. The reader of
 * the stacks builds it; the library itself has no stacks. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_FUNCTION_PROFILE_H
#define HP_MODEL_FUNCTION_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "axis.h"

/* The source of CPU samples. */
enum hp_stack_source {
    HP_STACKS_BY_NOBODY,
    HP_STACKS_BY_PERF,   /* the kernel takes them */
    HP_STACKS_BY_TIMERS, /* signal handlers in the program do, because the kernel refuses */
    HP_STACKS_BY_PROGRAM /* the same, because they know the interrupted zones */
};

/* Which total of a function, with callees, is split by zone. */
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

/* CPU time of a zone itself, and the part that it has of the time on the clock. */
struct hp_zone_time {
    const char *name;
    uint64_t cpu_ns, wall_ns;
};

/* Largest first; the rest was in no zone. */
struct hp_found_zones {
    const struct hp_found_zone *all;
    size_t count;
};

/* Heap use, estimated. */
struct hp_found_heap {
    uint64_t bytes, blocks;           /* allocated */
    uint64_t peak_bytes, peak_blocks; /* of these, live when the heap was at its largest */
    uint64_t left_bytes, left_blocks; /* never freed */
};

/* The name of a cause of waiting, which does not end with a zero; NULL: there is none. */
struct hp_found_cause {
    const char *text;
    size_t length;
};

struct hp_found_function {
    const char *name;                /* of C++, its whole signature */
    const char *shown;               /* as much of that as tells it from others */
    const char *library;             /* the file that it is in, without its folders; "" where it is in none */
    const char *file;                /* its source; "" where it is not known */
    uint64_t samples;                /* that found it innermost */
    uint64_t user_ns, kernel_ns;     /* own */
    uint64_t total_ns;               /* with callees; recursive calls count once */
    uint64_t wall_ns, total_wall_ns; /* own, and with callees: as in struct hp_function_profile */
    /*
     * The same for waiting, in which the thread is neither running nor runnable. Waits inside the C library belong
     * to its caller.
     */
    uint64_t waits;                    /* number of waits that were found */
    uint64_t waiting_ns, idle_ns;      /* own, and of that, idle */
    uint64_t total_waiting_ns;         /* with callees */
    uint64_t blocked_ns[HP_PARTS];     /* waiting_ns without idle_ns, by enum hp_activity */
    struct hp_found_cause waits_for;   /* most of its waiting, idle or not: "condition", "disk: /data/x.db" */
    struct hp_found_cause blocked_for; /* most of its waiting that is not idle */
    /* While it waited for locks: the innermost function in which they were held for half of the known time. */
    const char *held_in;            /* NULL: too little is known */
    uint64_t held_ns, held_samples; /* for which is known where locks were held; probes of their holders */
    /* What it allocated, by samples; allocations by the C library belong to its caller. */
    struct hp_found_heap heap;       /* own */
    struct hp_found_heap total_heap; /* with callees */
    uint64_t alloc_samples;
    struct hp_found_zones zones[HP_ZONE_PARTS];
    const char *program; /* in which it used most of its CPU time; "": none, or unknown */
    uint64_t program_ns; /* the part of total_ns that was in it */
    uint32_t number;     /* in the stacks */
};

/*
 * The stacks themselves, as a tree of functions: a node is a function as called from its parent. One tree of all
 * processes, each below a node of its own; inlined functions have nodes, too.
 */

#define HP_NO_FOUND UINT32_MAX

struct hp_found_node {
    uint32_t parent;   /* always a lower number; the first node is the root */
    uint32_t function; /* index of hp_function_profile.all; HP_NO_FOUND: the root, a process, or a wait */
    uint32_t process;  /* index of hp_function_profile.processes; HP_NO_FOUND: unknown */
    bool is_inner;     /* a recursive call: its function is on the way to it already */
    /* Of stacks that end here. */
    uint64_t user_ns, kernel_ns, samples;
    uint64_t wall_ns;
    uint64_t zoned_ns; /* of user_ns and kernel_ns, in zones */
    uint64_t waited_ns, idle_ns;
    uint32_t cause;              /* of a wait: enum hp_wait_cause */
    struct hp_found_cause waits; /* the same with what was waited for; without text: this is no wait */
};

/* What the holder of a lock did while a function waited for it. */
struct hp_found_hold {
    uint32_t function; /* that waited: index of hp_function_profile.all */
    uint32_t node;     /* where the holder was */
    uint64_t ns, samples;
};

#define HP_PATH_OPEN_KEY UINT32_MAX /* of the first thread's segment that had not ended */

/* What a stack had in segments of critical paths (path_profile.h), of those with one key in one process. */
struct hp_found_path {
    uint32_t node;     /* where it ends */
    uint32_t function; /* that it counts for: outside of the C library and the kernel; HP_NO_FOUND: unknown */
    uint32_t pid, key;
    uint64_t cpu_ns, waited_ns;
};

#define HP_LEAST_HOLDS 5u /* samples of holders: fewer name no function */

/* A process that has stacks, while it ran one program. */
struct hp_found_process {
    uint32_t pid;
    const char *program, *file; /* as the user knows it, and its path; "": unknown */
    uint64_t cpu_ns;
};

/*
 * Processes whose stacks could not be recorded: those of samples, those of allocations, and the errno of the first
 * failure.
 */
struct hp_failed {
    uint32_t samples, heaps;
    int32_t error;
    uint32_t unused;
};

/* What is known of all stacks of a run. */
struct hp_stack_counts {
    uint64_t period_ns;                           /* of samples */
    uint64_t samples, whole, lost;                /* whole: unwound to the start of the thread */
    uint64_t waits, waits_whole, waits_recovered; /* recovered: a caller was found by scanning the stack */
    uint64_t allocs, allocs_whole, allocs_lost;   /* sampled allocations; lost: in no sum */
    uint64_t alloc_mean;                          /* bytes between them, as requested */
    uint64_t refused;                             /* threads that could not be sampled */
    bool has_kernel;                              /* samples come from kernel mode, too */
    bool hides_kernel;                            /* but it does not tell the names of its functions */
    enum hp_stack_source source;                  /* of samples */
    struct hp_failed failed;
};

/* Code that was seen running without names. */
struct hp_nameless {
    const char *library; /* the file with the most CPU time in functions without a name; NULL: none */
    uint64_t library_ns; /* that time, in these functions themselves */
    const char
        *debug_package;     /* the package that has its names; NULL: unknown, a debuginfod server may have them */
    const char *generator;  /* the program with the most time in generated code without a name; NULL: none */
    const char *map_option; /* what makes it write names; NULL: unknown */
    uint64_t generated_ns;
};

#define HP_KERNEL_LIBRARY "[kernel]" /* the library of functions of the kernel, which are below "[kernel: write]" */
#define HP_JIT_LIBRARY "[JIT]"       /* that of functions that programs generated, named by themselves */
#define HP_NOT_SAMPLED "<not sampled" /* CPU time without samples: begins the name of its row, which says why */

struct hp_function_profile {
    const struct hp_found_function *all; /* sorted by own time without idle time, largest first */
    size_t count;
    struct hp_found_zones zones[HP_ZONE_PARTS]; /* of all functions */
    struct hp_zone_time *zone_times;
    size_t zone_time_count;
    uint64_t cpu_ns, kernel_ns; /* of all samples */
    uint64_t wall_ns; /* time in which at least one thread ran: CPU time, divided by how many ran at that time */
    uint64_t own_ns;  /* of that, hotpath's own in the processes of the run */
    uint64_t waited_ns, idle_ns; /* of all threads that were found waiting */
    struct hp_found_heap heap;   /* of all stacks */
    struct hp_stack_counts counts;
    struct hp_nameless nameless;
    struct hp_found_node *nodes; /* without those that neither ran nor waited, such as of the heap */
    size_t node_count;
    struct hp_found_hold *holds; /* sorted by function */
    size_t hold_count;
    struct hp_found_path *paths; /* sorted by process and key */
    size_t path_count;
    struct hp_found_process *processes;
    size_t process_count;
    char *shown_names; /* of all functions: their memory */
};

#define HP_SEVERAL_RAN 1.02 /* threads on average, while any ran: wall time is the same where they are fewer */

/* Whether shares of CPU time and of wall-clock time differ. */
static inline bool hp_found_has_wall(const struct hp_function_profile *profile)
{
    return profile->wall_ns > 0 && (double)profile->cpu_ns > HP_SEVERAL_RAN * (double)profile->wall_ns;
}

/* Time that could be saved; idle time could not. */
static inline uint64_t hp_found_work_ns(const struct hp_found_function *function)
{
    return function->user_ns + function->kernel_ns + function->waiting_ns - function->idle_ns;
}

#endif
