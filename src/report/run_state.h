/*
 * What a run did as a whole: its programs by CPU time, what its threads waited for, and in how much of it anything
 * worked. SPDX-License-Identifier: MIT
 */
#ifndef HP_REPORT_RUN_STATE_H
#define HP_REPORT_RUN_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "thread_usage_profile.h"

struct hp_model;

/* All processes of a program. */
struct hp_program_use {
    const char *name;  /* of its file: "python3.11" */
    const char *shown; /* as it was started: "python3" */
    uint64_t cpu_ns, processes;
    struct hp_transfers moved; /* by those of them that were watched */
    uint64_t longest_ns;       /* private: CPU time of the process that has the shown name */
};

struct hp_run_state {
    uint64_t elapsed_ns;
    uint32_t cpus;
    struct hp_program_use **programs; /* the most CPU time first */
    size_t program_count;
    uint64_t used_ns; /* by all of them */
    uint64_t processes;
    uint64_t largest_process_ns;
    struct hp_process_use *known; /* private: sorted by pid */
    size_t known_count;
    const struct hp_run_thread_usage *usage;
    uint64_t watched_ns;                        /* CPU time of threads whose waits were seen */
    uint64_t queued_ns;                         /* of the threads that matter */
    uint64_t waited_ns[HP_THREAD_USAGE_CAUSES]; /* of all threads, by enum hp_wait_cause */
    uint64_t busiest_ns;                        /* CPU time of the busiest thread */
    uint64_t worked_ns;                         /* of the run: anything ran or was ready to run; 0: unknown */
    bool knows_work;                            /* the next is known */
    bool is_idle;     /* for at least half of the time that it was not ready without a CPU */
    double idle_part; /* of the run: nothing ran, or waited for a device */
};

/* False: no memory. */
bool hp_run_state_make(struct hp_run_state *state, struct hp_model *model);

/* The program that a process ran for longest; NULL: unknown. */
const struct hp_program_use *hp_run_state_program(const struct hp_run_state *state, uint32_t pid);

/* A thread whose waits were seen. */
static inline bool hp_run_state_has_waits(const struct hp_thread_usage_member *thread)
{
    return thread->is_watched && thread->lived_ns > 0;
}

#endif
