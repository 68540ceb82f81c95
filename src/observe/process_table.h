/*
 * The processes of a run, seen from outside, and the programs that each executed in turn. Needed for processes that
 * leave no session, and for the end of those that do not finish theirs.
 *
 * Where the kernel sends events (task_events.h) it is exact. Elsewhere /proc is polled, which misses processes
 * shorter than the interval between two scans. SPDX-License-Identifier: MIT
 */
#ifndef HP_OBSERVE_PROCESS_TABLE_H
#define HP_OBSERVE_PROCESS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run_work.h"

/*
 * One program that a process executed. The first one of a process is its parent's, from fork to exec or to the end.
 */
struct hp_executed {
    uint64_t began_ns;  /* by CLOCK_MONOTONIC */
    char name[16];      /* comm, from the kernel */
    char *file;         /* NULL: unknown */
    char *command;      /* NULL: it ended before it was read */
    uint64_t looked_ns; /* when the command had been read */
};

struct hp_process {
    uint32_t pid, parent;
    uint64_t start;                /* when it began, by the kernel, where /proc is polled; 0: unknown */
    uint64_t began_ns, ended_ns;   /* 0: still alive */
    uint32_t threads;              /* live threads, where the kernel sends events */
    uint64_t cpu_ns;               /* over all its programs, see hp_process_table_share_out */
    uint64_t seen_cpu_ns, seen_ns; /* its own clock, when last read */
    uint64_t waited_ns;            /* since then: how long it had children, and is taken to wait for them */
    bool is_hidden; /* no more events since it executed a program with privileges that we do not have */
    struct hp_executed *images;
    size_t image_count;
};

struct hp_process_table {
    struct hp_process *all; /* the program itself first */
    size_t count;
    bool is_exact;
    bool has_missed;      /* events were lost, or there were too many processes */
    bool may_have_missed; /* processes may have been missed */
};

/* The program has been forked and waits. Discards any earlier table. */
void hp_process_table_begin(uint32_t pid);

/* The same for a process that runs: with those that descend from it already. */
void hp_process_table_attach(uint32_t pid);

/* Whether the kernel tells of every process. */
bool hp_process_table_is_exact(void);

/*
 * A process left a session: `met` is what the session says of it, with an end if it is gone already. Its parents
 * may be gone, and it may have ended before any scan; without this its CPU time would be given to others. Call it
 * on the thread that scans.
 */
void hp_process_table_meet(const struct hp_process *met);

/* Takes in what has happened since. From one thread at a time. */
void hp_process_table_look(void);

/*
 * What the processes did between the last two looks, by their CPU clocks, and whether one of those runs or is ready
 * to run of which `is_sampled` is false: see run_work.h. Nothing before hp_process_table_begin.
 */
typedef bool hp_is_sampled(uint32_t pid);
struct hp_work_found hp_process_table_found(hp_is_sampled *is_sampled);

/*
 * The living processes, the newest first, at most so many; returns how many. `ret_generation` changes when there is
 * another one. On the thread that scans.
 */
size_t hp_process_table_living(uint32_t *pids, size_t most, uint32_t *ret_generation);

/* The newest process with this pid, or NULL. */
const struct hp_process *hp_process_table_find(uint32_t pid);

/*
 * Whether a live process belongs to the run: it descends from us or from a process that is known. From any thread.
 */
bool hp_process_table_has(uint32_t pid);

/* The last scan. The result stays valid until the end of the process. */
const struct hp_process_table *hp_process_table_end(void);

/*
 * After that: by `ns`, the process with this pid had used so much CPU time. Its session says so, most often for a
 * later moment than its clock was read at.
 */
void hp_process_table_learn(uint32_t pid, uint64_t ns, uint64_t cpu_ns);

/* After that: gives each process its part of the CPU time that no clock tells of. */
void hp_process_table_share_out(void);

#endif
