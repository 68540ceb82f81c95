/*
 * Files for the viewers of other programs: writes weighted stacks in foreign formats. A format is one file with one
 * writer, and one line in HP_EXPORT_FORMATS. SPDX-License-Identifier: MIT
 */
#ifndef HP_EXPORT_EXPORT_H
#define HP_EXPORT_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text.h"
#include "weighted.h"

/* ---------------------------------------------------------------------------------------------- single calls */

/*
 * Single calls of measured functions with known times: the latest calls of functions whose calls are logged, and
 * the slowest call of every function, per thread. All others are only in sums.
 */

struct hp_model;

struct hp_export_call {
    const char *name;   /* of the function */
    const char *thread; /* "worker 4243" */
    const char *note;   /* NULL: none */
    double start_ns;    /* since the run began */
    double ns;
    uint64_t alloc_bytes, alloc_count;
    bool is_slowest; /* and not among the latest, or these were not logged */
};

struct hp_export_calls {
    struct hp_export_call *all; /* sorted by start */
    size_t count;
    bool has_allocs; /* their allocations are known */
};

/* Valid as long as the model. NULL: no memory. */
const struct hp_export_calls *hp_export_calls_make(struct hp_model *model);

/* -------------------------------------------------------------------------------------------------- counters */

/* The numbers of a run over time, as counters that viewers draw next to stacks. */

struct hp_model;

/* What its values are. */
enum hp_counter_kind {
    HP_COUNTER_SHARE, /* percent of a CPU or of a thread's time, per slot */
    HP_COUNTER_RATE,  /* events per second, per slot */
    HP_COUNTER_LEVEL, /* a level, the maximum of each slot */
};

struct hp_export_counter {
    const char *name; /* "memory of <process>" */
    const char *what; /* "memory" */
    const char *unit;
    enum hp_counter_kind kind;
    uint64_t first_ns;          /* start of the first value, since the run began */
    const double *values;       /* one per slot from there on */
    const double *gained;       /* increase in each slot: nanoseconds, or a count; NULL: it is a level */
    const uint64_t *moments_ns; /* end of each increase, since the run began; first, the start of the first one */
    size_t count;
};

struct hp_export_counters {
    struct hp_export_counter *all;
    size_t count;
    uint64_t slot_ns;
};

/* From the time axis of a run; valid as long as its model. NULL: no memory. */
const struct hp_export_counters *hp_export_counters_make(struct hp_model *model);

/* --------------------------------------------------------------------------------------------------- formats */

/* What to write. */
struct hp_export {
    const struct hp_weighted *weighted;
    enum hp_dimension dimensions[HP_DIMENSIONS]; /* the dimensions, the primary one first */
    size_t dimension_count;                      /* at least 1 */
    const char *command;                         /* of the program */
    const char *remark;                          /* on what is left out; NULL: none. Of pprof only */
    const char *compared_with;                   /* command of the run it is compared with; NULL: none */
    const char *service, *host;                  /* names of both; NULL: unknown. Of otlp only, and ... */
    size_t stacks_limit;                         /* ... so many stacks, the rest as one; 0: all */
    uint32_t pid;
    uint64_t began_ns; /* by CLOCK_REALTIME */
    uint64_t elapsed_ns;
    uint64_t period_ns;                        /* of samples; 0: there are none */
    bool counts_instructions;                  /* and not time */
    const struct hp_export_counters *counters; /* over time; NULL: unknown */
    const struct hp_export_calls *calls;       /* single calls with known times; NULL: unknown */
};

struct hp_export_format {
    const char *name;
    bool is_binary;
    bool is_of_one;                                                      /* it holds one dimension */
    bool is_of_bytes;                                                    /* it is about memory only */
    bool is_of_time;                                                     /* or about time only */
    bool has_lines;                                                      /* it distinguishes lines of a function */
    bool (*write)(const struct hp_export *export, struct hp_text *text); /* false: no memory */
};

/* All formats, in the order of the help, with what they are; each is one file. A new one is one line here. */
#define HP_EXPORT_FORMATS(FORMAT)                                                                                  \
    FORMAT(firefox, "profiler.firefox.com")                                                                        \
    FORMAT(pprof, "go tool pprof")                                                                                 \
    FORMAT(speedscope, "speedscope.app")                                                                           \
    FORMAT(folded, "one line per stack")                                                                           \
    FORMAT(flamegraph, "an SVG picture")                                                                           \
    FORMAT(perfetto, "ui.perfetto.dev")                                                                            \
    FORMAT(dhat, "valgrind's heap viewer")                                                                         \
    FORMAT(otlp, "OpenTelemetry collectors")

extern const struct hp_export_format *const hp_export_formats[];
extern const size_t hp_export_format_count;

/* NULL: there is none of that name. */
const struct hp_export_format *hp_export_format_find(const char *name);

#define HP_DECLARE_FORMAT_(name, about) extern const struct hp_export_format hp_format_##name;
HP_EXPORT_FORMATS(HP_DECLARE_FORMAT_)

static inline const struct hp_weights *hp_export_weights(const struct hp_export *export, size_t at)
{
    return &export->weighted->weights[export->dimensions[at]];
}

static inline const struct hp_dimension_type *hp_export_type(const struct hp_export *export, size_t at)
{
    return hp_dimension_type_of(export->dimensions[at], export->counts_instructions);
}

/* Whether a stack has a weight or a count in any dimension of the file. */
static inline bool hp_export_has(const struct hp_export *export, size_t node)
{
    for (size_t at = 0; at < export->dimension_count; at++)
        if (hp_weight_own(hp_export_weights(export, at), node) > 0 ||
            hp_weight_count(hp_export_weights(export, at), node) > 0)
            return true;
    return false;
}

#endif
