/*
 * What kind of bottleneck a function is: one word from a few numbers. docs/verdict.md describes these rules.
 *
 *     struct hp_evidence evidence = {.wall_ns = 2e9, .has_cpu = true, .cpu_ns = 1.9e9, .samples_due = 1994};
 *     hp_judge(&evidence, &judgement);
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_VERDICT_H
#define HP_MODEL_VERDICT_H

#include <stdbool.h>

/* --- The thresholds. Parts are of the function's own time, unless noted. */

/* With fewer possible samples than this, a share may be off by more than 11 points: no verdict. */
#define HP_VERDICT_LEAST_SAMPLES 20.0
/* Below this share of CPU time or of waiting, a function is mixed. */
#define HP_VERDICT_BUSY_PART 0.6
#define HP_VERDICT_WAITING_PART 0.6
/* Minimum share of run queue time (runnable without a CPU) ... */
#define HP_VERDICT_STARVED_PART 0.25
/* ... and its minimum part of all waiting that was seen: then only a machine with more CPUs would help. */
#define HP_VERDICT_QUEUE_PART 0.5
/* A function that idles this long is idle, whatever else it waits for. */
#define HP_VERDICT_IDLE_PART 0.6
/* A program is idle with less work than this, of its time, and at least this much idle time. */
#define HP_VERDICT_IDLE_RUN 0.5
/* Idle time is mentioned if it exceeds this part of all time. */
#define HP_VERDICT_IDLE_SAID 0.05
/* Below this part of all time, the main function has no time of its own that could be judged. */
#define HP_VERDICT_OWN_PART 0.05
/* Minimum part of a scaled-up time that must have been found as CPU time or as waiting: else it may not exist. */
#define HP_VERDICT_FOUND_PART 0.6
/* Minimum part of the CPU time that allocations take, by their lower bound. */
#define HP_VERDICT_ALLOC_PART (1.0 / 3)
/* Time of malloc and free of a small block, counted, in the best case (docs/overhead.md). */
#define HP_VERDICT_PAIR_NS 25.0

/* A wait is named if the function waited longer for it than this ... */
#define HP_VERDICT_NAMED_PART 0.001
/* ... and for that part of all its waiting. */
#define HP_VERDICT_CAUSE_PART 0.25

/* A channel holds up its users if they are blocked for more than this part of their time ... */
#define HP_VERDICT_BLOCKED_PART 0.5
/* ... and of the run: a short-lived channel holds up nothing. */
#define HP_VERDICT_BLOCKED_RUN 0.1

enum hp_verdict {
    HP_VERDICT_CPU_BOUND,
    HP_VERDICT_WAITING,
    HP_VERDICT_ALLOCATION_HEAVY,
    HP_VERDICT_STARVED,
    HP_VERDICT_IDLE,
    HP_VERDICT_MIXED,
    HP_VERDICT_TOO_SHORT, /* too few samples */
    HP_VERDICT_UNKNOWN,   /* neither CPU time nor waiting was measured, or too little of both was found */
    HP_VERDICTS
};

/* What is known of a function, without inner zones, over all threads. */
struct hp_evidence {
    double wall_ns;
    bool is_wall_scaled; /* includes untimed calls: what is not CPU time need not be waiting */
    double samples_due;  /* possible samples: as many as if each had found it */
    bool has_cpu;
    double cpu_ns;
    bool has_waits;
    bool has_queue;   /* queue_ns is known */
    double waited_ns; /* by samples of waits, so not exact */
    double queue_ns;  /* of that, runnable; without waits, an estimate from the sum of all threads */
    double idle_ns;   /* of that, idle */
    bool has_allocs;
    double alloc_count;
};

struct hp_judgement {
    enum hp_verdict verdict;
    bool knows_waiting; /* the next two are valid */
    double busy_ns;
    double waiting_ns;   /* all the rest, including runnable time */
    double queue_ns;     /* of that, runnable */
    double waited_scale; /* sampled waiting times this is the actual waiting */
    double idle_ns;      /* of the waiting, idle */
    double alloc_part;   /* of its CPU time, or of all its time if that is unknown; at most 1 */
};

void hp_judge(const struct hp_evidence *evidence, struct hp_judgement *ret_judgement);

/* "cpu-bound" */
const char *hp_verdict_name(enum hp_verdict verdict);

#endif
