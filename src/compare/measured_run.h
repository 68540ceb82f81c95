/*
 * A run as its report in JSON has it: its functions with their numbers, and who calls whom. Everything is copied;
 * the text may go. SPDX-License-Identifier: MIT
 */
#ifndef HP_COMPARE_MEASURED_RUN_H
#define HP_COMPARE_MEASURED_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "hash_index.h"

/* Versions of reports that can be read, docs/report.schema.json. */
#define HP_REPORT_OLDEST 2u
#define HP_REPORT_NEWEST 2u

enum hp_metric {
    HP_METRIC_CALLS,
    HP_METRIC_TYPICAL, /* nanoseconds, as all times */
    HP_METRIC_QUARTER, /* a quarter of the calls took less */
    HP_METRIC_P50,     /* percentiles that the report has */
    HP_METRIC_P90,
    HP_METRIC_P95,
    HP_METRIC_P99,
    HP_METRIC_P99_9,
    HP_METRIC_MAX,
    HP_METRIC_SELF,
    HP_METRIC_TOTAL,
    HP_METRIC_CPU,
    HP_METRIC_WAITING, /* without waiting for a CPU */
    HP_METRIC_LOCKS,   /* the part of it for locks */
    HP_METRIC_ALLOCATIONS,
    HP_METRIC_BYTES,
    HP_METRIC_PEAK,
    HP_METRIC_INSTRUCTIONS, /* own ones, by a clock that counts them */
    HP_METRIC_SAMPLES,
    HP_METRICS
};

struct hp_measured_function {
    const char *name;    /* without the line, if the report has it there */
    const char *file;    /* the last part of its path, or "" */
    const char *path;    /* all of it */
    const char *library; /* of a sampled function, or "" */
    uint32_t line;
    uint32_t known; /* a bit per metric */
    double values[HP_METRICS];
    bool is_sampled; /* found in stacks; a measured one of this name is another row */
    bool is_nested;  /* calls itself, directly or not */
};

/* A lock, or all of one name. */
struct hp_measured_lock {
    const char *name;
    double locked, contended, wait_ns;
};

/* Texts; "": unknown. */
struct hp_measured_source {
    const char *commit, *branch, *ci, *job;
    const char *dirty; /* "true" or "false" */
};

struct hp_measured_run {
    struct hp_arena arena;
    const char *path; /* as the user named it */
    const char *command, *system, *clock, *library;
    struct hp_measured_source source; /* of the program */
    double hz, cores;
    double elapsed_ns, cpu_ns; /* 0: unknown */
    bool is_running;           /* it had not ended. One that has may lack an end: of exec or _exit, say */
    bool is_part;              /* a time range of a run */
    struct hp_measured_function *functions;
    size_t count, room;
    struct hp_measured_lock *locks;
    size_t lock_count, lock_room;
    struct hp_hash_index index;   /* of functions */
    struct hp_pair_table callees; /* caller and callee, by number */
    double *calls;                /* of each pair */
    size_t calls_room;
    uint32_t known; /* a bit per metric that a function without it has none of: allocations, if they were counted */
    bool has_tree;
    bool is_cut; /* the report shows some of the measured functions only */
};

/*
 * Reads a report. False: `problem` says why, in words that follow the name of the file: "is not a report". Free
 * the run in either case.
 */
bool hp_measured_run_read(struct hp_measured_run *run, const char *path, const char *bytes, size_t length,
                          char *problem, size_t size);
void hp_measured_run_free(struct hp_measured_run *run);

/* Whether a number is known of a function in this run: of one without allocations, that there are none. */
static inline bool hp_measured_knows(const struct hp_measured_run *run, const struct hp_measured_function *function,
                                     enum hp_metric metric)
{
    return ((function->known | run->known) >> metric & 1) != 0;
}

static inline bool hp_measured_has(const struct hp_measured_function *function, enum hp_metric metric)
{
    return (function->known >> metric & 1) != 0;
}

#endif
