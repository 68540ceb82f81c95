/*
 * The families of metrics: which numbers of which section of the report are served, under which names and labels.
 * The sections have the numbers and their meaning; a family only says where its own are.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_SERVE_METRIC_FAMILIES_H
#define HP_SERVE_METRIC_FAMILIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hp_metric_type { HP_METRIC_COUNTER, HP_METRIC_GAUGE, HP_METRIC_HISTOGRAM };

/* What the values of a label are names of. Each kind has a limit of its own. */
enum hp_metric_kind {
    HP_METRIC_NO_KIND,
    HP_METRIC_SERVICE,
    HP_METRIC_FUNCTION,
    HP_METRIC_LOCK,
    HP_METRIC_THREAD, /* without digits: "worker-12" is one of "worker-" */
    HP_METRIC_TASK,
    HP_METRIC_AWAITED,
    HP_METRIC_CHANNEL,
    HP_METRIC_STREAM,
    HP_METRIC_LOOP,
    HP_METRIC_VALUE,
    HP_METRIC_WORD, /* of a fixed list: causes, operations */
    HP_METRIC_KINDS
};

/* Facts about a whole session, which are in no section. */
enum hp_metric_fact {
    HP_METRIC_NO_FACT,
    HP_METRIC_RUNNING,
    HP_METRIC_ELAPSED,
    HP_METRIC_PROCESSES,
    HP_METRIC_STARTS,
    HP_METRIC_LOST,
};

#define HP_METRIC_LABELS 2u

struct hp_metric_label {
    const char *name;
    uint8_t kind;       /* enum hp_metric_kind; none: there is no such label */
    const char *column; /* that has its values; NULL: it is always ... */
    const char *always; /* ... this */
};

/* Rows of one family follow each other: they differ in their columns and labels. */
struct hp_metric_family {
    const char *name; /* without the _total of counters */
    uint8_t type;     /* enum hp_metric_type */
    const char *unit; /* the end of its name; NULL: a number */
    const char *help;
    const char *section, *column; /* by name and key; nanoseconds are served as seconds */
    const char *mean;             /* of a histogram: that of its mean; NULL: it is computed from its bars */
    bool is_total;                /* one of the totals of the section, not a column */
    bool is_of_one;               /* only where one session is served, not where several are added up */
    uint8_t fact;                 /* enum hp_metric_fact, without a section */
    struct hp_metric_label labels[HP_METRIC_LABELS];
};

extern const struct hp_metric_family hp_metric_families[];
extern const size_t hp_metric_family_count;

/* How many names of a kind a service may have series for. */
uint32_t hp_metric_kind_limit(enum hp_metric_kind kind);

/* The label of a kind: "function". */
const char *hp_metric_kind_name(enum hp_metric_kind kind);

#endif
