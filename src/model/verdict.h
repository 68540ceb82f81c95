/*
 * What kind of bottleneck a function is: one word from a few numbers. docs/verdict.md is the manual of these rules.
 *
 *     hp_judge(&(struct hp_evidence){.wall_ns = 2e9, .has_cpu = true, .cpu_ns = 1.9e9, .samples_due = 1994}, &judgement);
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_VERDICT_H
#define HP_MODEL_VERDICT_H

#include <stdbool.h>

/* --- The thresholds. Parts are of the function's own time, unless it says otherwise. */

/* With fewer samples than this, had it been busy all the time, a share may be off by more than 11 points: none is given. */
#define HP_VERDICT_LEAST_SAMPLES 20.0
/* Who is busy, or waits, for less than this is as much of the one as of the other. */
#define HP_VERDICT_BUSY_PART 0.6
#define HP_VERDICT_WAITING_PART 0.6
/* More than this ready to run and without a processor ... */
#define HP_VERDICT_STARVED_PART 0.25
/* ... and that part of all waiting that was seen: then another machine would help, and nothing else. */
#define HP_VERDICT_QUEUE_PART 0.5
/* Who does nobody's work for that long is idle, whatever else it waits for. */
#define HP_VERDICT_IDLE_PART 0.6
/* A program with less work than this, of the time it ran, and that much idling, is idle. */
#define HP_VERDICT_IDLE_RUN 0.5
/* Idle time is mentioned where it is more than this of all. */
#define HP_VERDICT_IDLE_SAID 0.05
/* So much of a time that is scaled up must have been found as work or as waiting: else it may not have been there. */
#define HP_VERDICT_FOUND_PART 0.6
/* So much of the time it was busy must be allocations, at what they take at least. */
#define HP_VERDICT_ALLOC_PART (1.0 / 3)
/* What malloc and free of a small block take, counted, when nothing is in their way (docs/overhead.md). */
#define HP_VERDICT_PAIR_NS 25.0

/* What a function waited for is named if it waited longer for it than this ... */
#define HP_VERDICT_NAMED_PART 0.001
/* ... and for that part of all its waiting. */
#define HP_VERDICT_CAUSE_PART 0.25

/* Who uses a channel and is blocked for more than this of its time has found who is too slow ... */
#define HP_VERDICT_BLOCKED_PART 0.5
/* ... if that is so much of all the run: a channel that was there for a moment holds up nobody. */
#define HP_VERDICT_BLOCKED_RUN 0.1

enum hp_verdict {
    HP_VERDICT_CPU_BOUND,
    HP_VERDICT_WAITING,
    HP_VERDICT_ALLOCATION_HEAVY,
    HP_VERDICT_STARVED,
    HP_VERDICT_IDLE,
    HP_VERDICT_MIXED,
    HP_VERDICT_TOO_SHORT, /* too few samples to tell */
    HP_VERDICT_UNKNOWN,   /* neither processor time nor waiting was measured, or too little of either was found */
    HP_VERDICTS
};

/* What is known of a function, without those inside, over all threads. */
struct hp_evidence {
    double wall_ns;
    bool is_wall_scaled; /* from calls of which not all were timed: what is not work need not be waiting */
    double samples_due;  /* samples, or looks, that there would be if each had found it */
    bool has_cpu;
    double cpu_ns;
    bool has_waits;
    double waited_ns; /* as watched: found in looks, so not exact */
    double queue_ns;  /* of that, ready to run */
    double idle_ns;   /* of that, nobody's work */
    bool has_allocs;
    double alloc_count;
};

struct hp_judgement {
    enum hp_verdict verdict;
    bool knows_waiting; /* the two that follow mean something */
    double busy_ns;
    double waiting_ns;   /* all the rest, ready to run included */
    double queue_ns;     /* of that, ready to run */
    double waited_scale; /* what was watched, by this, is what was waited */
    double idle_ns;      /* of the waiting, nobody's work */
    double alloc_part;   /* of the time it was busy, or of all its time where that is not known; at most 1 */
};

void hp_judge(const struct hp_evidence *evidence, struct hp_judgement *ret_judgement);

/* "cpu-bound" */
const char *hp_verdict_name(enum hp_verdict verdict);

#endif
