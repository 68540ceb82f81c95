/* Sampling state, per thread and per process: see sampler.h. SPDX-License-Identifier: MIT */
#ifndef HP_CORE_SAMPLING_H
#define HP_CORE_SAMPLING_H

#include <stdbool.h>
#include <stdint.h>

#include "cpu.h"
#include "layout.h"
#include "signals.h"
#include "stacks.h"

#define HP_SAMPLER_SEEN 16u
#define HP_SAMPLER_FOLDED 16u

/* Samples for which a node is credited beside the tree. */
struct hp_folded {
    uint32_t node, samples;
};

/* Per thread. */
struct hp_sampler {
    struct hp_cpu_thread *cpu;  /* in the session; NULL: this thread is not sampled */
    struct hp_cpu_time counted; /* readings of the thread's clocks that are counted there */
    uint64_t ticked_ns;         /* its CPU time there at the last timer signal ... */
    uint64_t ticked_waits;      /* ... and its number of waits */
    uint64_t timer_ns;          /* time until the next one is due */
    uint64_t stacked_ns;        /* CPU time that stacks of samples stand for: sample_stacks.h */
    struct hp_cpu_time judged;  /* its clocks at the last check whether it switches often */
    uint64_t chance;            /* state of the random number generator */
    struct hp_stack known;      /* stack on which the sources are set up, so zones there need no check */
    struct hp_stack alternate;  /* our alternate stack; all zero: none */
    void *perf;                 /* NULL: none */
    uint64_t perf_ns;           /* its period */
    uint32_t perf_samples;      /* number of samples of the next event; 0: it is the first */
    int timer;
    enum hp_private_signal signal; /* signal by which samples arrive */
    bool has_timer;
    bool perf_was_tried;
    bool has_had_perf;      /* a signal may still arrive after perf was stopped */
    bool has_begun;         /* it has entered a zone */
    bool is_switched_often; /* no perf */
    uint32_t unseen;        /* consecutive timer signals with user time but without a perf sample */
    uint32_t is_at_work;    /* the handler, or a zone on the slow path, uses the session or makes system calls */
    uint64_t since;         /* when it entered the session, in ticks; 0: it has not */
    uint64_t seen_ns;       /* total time that the following samples stand for */
    uint32_t seen_count;    /* number of these */
    uint32_t seen[HP_SAMPLER_SEEN]; /* nodes where perf found the thread since user time was last distributed */
    uint32_t folded_count;
    struct hp_folded folded[HP_SAMPLER_FOLDED]; /* of these samples */
};

/* Per process. */
struct hp_sampling {
    uint32_t engine; /* enum hp_cpu_engine of the running session */
    bool has_stacks; /* samples go to `hotpath run` with their stacks */
    uint32_t begun;  /* atomic: progress of the first thread with a zone */
    uint64_t period_ns;
    void *perf; /* atomic: an event that never fires, so that others start quickly; gone in a forked child */
    uint32_t perf_thread; /* the thread that bears its cost */
    uint32_t is_weighed;  /* atomic: the cost of a perf interrupt was, or is being, measured */
};

#endif
