/*
 * Files for the viewers of other programs: writes weighted stacks in foreign formats. A format is one file with one
 * writer, and one line in HP_EXPORT_FORMATS. SPDX-License-Identifier: MIT
 */
#ifndef HP_EXPORT_EXPORT_H
#define HP_EXPORT_EXPORT_H

#include "counters.h"
#include "logged_calls.h"
#include "text.h"
#include "weighted.h"

/* What to write. */
struct hp_export {
    const struct hp_weighted *weighted;
    enum hp_dimension dimensions[HP_DIMENSIONS]; /* the dimensions, the primary one first */
    size_t dimension_count;                      /* at least 1 */
    const char *command;                         /* of the program */
    const char *compared_with;                   /* command of the run it is compared with; NULL: none */
    uint32_t pid;
    uint64_t began_ns; /* by CLOCK_REALTIME */
    uint64_t elapsed_ns;
    uint64_t period_ns;                        /* of samples; 0: there are none */
    const struct hp_export_counters *counters; /* over time; NULL: unknown */
    const struct hp_export_calls *calls;       /* single calls with known times; NULL: unknown */
};

struct hp_export_format {
    const char *name;
    const char *about;
    bool is_binary;
    bool is_of_one;                                                      /* it holds one dimension */
    bool is_of_bytes;                                                    /* it is about memory only */
    bool is_of_time;                                                     /* or about time only */
    bool has_lines;                                                      /* it distinguishes lines of a function */
    bool (*write)(const struct hp_export *export, struct hp_text *text); /* false: no memory */
};

/* All formats, in the order of the help; each is one file. A new one is one line here. */
#define HP_EXPORT_FORMATS(FORMAT)                                                                                  \
    FORMAT(firefox)                                                                                                \
    FORMAT(pprof)                                                                                                  \
    FORMAT(speedscope)                                                                                             \
    FORMAT(folded)                                                                                                 \
    FORMAT(flamegraph)                                                                                             \
    FORMAT(perfetto)                                                                                               \
    FORMAT(dhat)

extern const struct hp_export_format *const hp_export_formats[];
extern const size_t hp_export_format_count;

/* NULL: there is none of that name. */
const struct hp_export_format *hp_export_format_find(const char *name);

#define HP_DECLARE_FORMAT_(name) extern const struct hp_export_format hp_format_##name;
HP_EXPORT_FORMATS(HP_DECLARE_FORMAT_)

static inline const struct hp_weights *hp_export_weights(const struct hp_export *export, size_t at)
{
    return &export->weighted->weights[export->dimensions[at]];
}

static inline const struct hp_dimension_type *hp_export_type(const struct hp_export *export, size_t at)
{
    return &hp_dimension_types[export->dimensions[at]];
}

#endif
