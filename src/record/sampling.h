/* What is kept of samples, by thread and by process: see sampler.h. SPDX-License-Identifier: MIT */
#ifndef HP_RECORD_SAMPLING_H
#define HP_RECORD_SAMPLING_H

#include <stdbool.h>
#include <stdint.h>

#include "cpu.h"
#include "layout.h"
#include "private_signal.h"
#include "stacks.h"

#define HP_SAMPLER_SEEN 16u
#define HP_SAMPLER_FOLDED 16u

/* Samples for which a node is to be credited beside the tree. */
struct hp_folded {
    uint32_t node, samples;
};

/* Of a thread. */
struct hp_sampler {
    struct hp_cpu_thread *cpu;  /* in the session; NULL: this thread is not sampled */
    struct hp_cpu_time counted; /* what of the thread's clocks is in there */
    uint64_t ticked_ns;         /* of its time there, what was used up to the last timer's signal, ... */
    uint64_t ticked_waits;      /* ... and how often it had waited */
    uint64_t timer_ns;          /* after which the next one is due */
    uint64_t stacked_ns;        /* of the thread's clock, what stacks of samples stand for: sample_stacks.h */
    struct hp_cpu_time judged;  /* its clocks when it was last asked whether it is switched often */
    uint64_t chance;            /* from which the next random number comes */
    struct hp_stack known;      /* zones there need not be looked at: sources are as they should be */
    void *alternate;            /* a stack of ours; NULL: none */
    void *perf;                 /* NULL: none */
    uint64_t perf_ns;           /* its period */
    uint32_t perf_samples;      /* that the next one is good for; 0: it is the first */
    int timer;
    enum hp_private_signal signal; /* by which samples come */
    bool has_timer;
    bool perf_was_tried;
    bool has_had_perf;      /* a signal may still be on its way when there is none any more */
    bool has_begun;         /* it has met a zone */
    bool is_switched_often; /* no perf */
    uint32_t unseen;        /* signals of the timer in a row, with user time and without a sample of perf's */
    uint32_t
        is_at_work;   /* the handler, or who meets a zone, looks at the session, or asks the kernel for something */
    uint64_t since;   /* it is in the session since then, in ticks; 0: it is not */
    uint64_t seen_ns; /* periods that the following stand for, together */
    uint32_t seen_count;            /* in use of them */
    uint32_t seen[HP_SAMPLER_SEEN]; /* nodes where perf has found the thread since user time was last shared out */
    uint32_t folded_count;
    struct hp_folded folded[HP_SAMPLER_FOLDED]; /* by these samples */
};

/* Of the process. */
struct hp_sampling {
    uint32_t engine; /* enum hp_cpu_engine; of the running session */
    bool has_stacks; /* samples go to `hotpath run`, with their stacks */
    uint32_t begun;  /* atomic: how far the first thread with a zone has come */
    uint64_t period_ns;
    void *perf; /* atomic: an event that never fires, so that others are started quickly; gone in a forked child */
    uint32_t perf_thread; /* which bears its price */
    uint32_t is_weighed;  /* atomic: somebody has found out, or does, what an interrupt of perf's costs */
};

#endif
