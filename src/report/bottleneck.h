/*
 * Shared by the files of the section `bottlenecks`: each function with what is known of it, and the sentences about
 * them. SPDX-License-Identifier: MIT
 */
#ifndef HP_REPORT_BOTTLENECK_H
#define HP_REPORT_BOTTLENECK_H

#include "alloc_profile.h"
#include "cpu_profile.h"
#include "section.h"
#include "text.h"
#include "verdict.h"
#include "wait_profile.h"

#define HP_BOTTLENECK_LINE_BYTES 512u

/* A future row. */
struct hp_bottleneck {
    const struct hp_site_sums *site;
    double wall_ns;
    double work_ns;                /* the same without idle time, and without what is in rows of tasks */
    double loop_ns;                /* of its waiting, that of an event loop: for events, or of unknown cause */
    const struct hp_cpu_sums *cpu; /* NULL: not sampled */
    const char *cause;             /* its largest cause of waiting, or NULL */
    const char *cause_function;    /* with whose name that ends; NULL: none */
    bool is_named;                 /* the cause is most of its waiting */
    double cause_ns;
    uint64_t probes; /* wait samples that found it */
    struct hp_site_allocs allocs;
    struct hp_evidence evidence;
    struct hp_judgement judgement;
};

/* All rows. */
struct hp_bottlenecks {
    struct hotpath_results *results;
    struct hotpath_section *section;
    const struct hp_cpu *cpu;         /* NULL: not sampled */
    const struct hp_cpu *used;        /* the same, or as seen from outside; NULL: unknown */
    bool is_unsampled;                /* sampling was requested, but hardly a sample came */
    const struct hp_run_waits *waits; /* NULL: waits were not watched */
    const struct hp_allocs *allocs;   /* NULL: not counted */
    double whole_ns;                  /* what 100 % is, without idle time */
    double inside_ns;                 /* of that, in measured functions */
    double idle_ns;                   /* in addition to that */
    double outside_for_tasks_ns;      /* idle outside of functions, but for tasks: in their rows */
    double observations;              /* samples of CPU time or of waits per second */
    struct hp_bottleneck **entries;
    size_t count;
};

static inline double hp_part_of(double part, double whole) { return whole > 0 ? part / whole : 0; }

/* What is known, and in which order (bottleneck_weights.c). */
const char *hp_bottleneck_name_cause(const struct hp_bottlenecks *view, const struct hp_wait_sums *wait);
uint32_t hp_bottleneck_largest_cause(const struct hp_site_waits *waits, bool has_queue, bool is_idle);
void hp_bottleneck_put_name(struct hp_text *line, const struct hp_site_sums *site);
void hp_bottleneck_put_share(struct hp_text *line, double part);
bool hp_bottleneck_is_guessed(const struct hp_bottleneck *entry);
bool hp_bottleneck_is_long_enough(const struct hp_bottleneck *entry);
bool hp_bottleneck_is_scaled(const struct hp_site_sums *site);
bool hp_bottlenecks_gather(struct hp_bottlenecks *view);
void hp_bottlenecks_set_whole(struct hp_bottlenecks *view);
bool hp_bottlenecks_measure(struct hp_bottlenecks *view);

/* The first line (bottleneck_headline.c). */
struct hp_channel_jam;
void hp_bottleneck_put_jam(struct hp_text *line, const struct hp_channel_jam *jam, bool is_of_senders);
bool hp_bottlenecks_set_headline(struct hp_bottlenecks *view);
const struct hp_found_function *hp_bottlenecks_first_function(const struct hp_bottlenecks *view);
bool hp_bottlenecks_has_stacks(const struct hp_bottlenecks *view);

#endif
