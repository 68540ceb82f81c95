/*
 * Reading reports in the program that is measured: the rows that a hotpath_reporter receives. Part of hotpath.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HOTPATH_RESULTS_H
#define HOTPATH_RESULTS_H

#ifndef HOTPATH_H
#error "include <hotpath.h>, which includes this"
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hotpath_section hotpath_section;

/* The unit of the number in a cell. */
enum hotpath_unit {
    HOTPATH_UNIT_TEXT = 0,
    HOTPATH_UNIT_COUNT = 1,
    HOTPATH_UNIT_NS = 2,
    HOTPATH_UNIT_BYTES = 3,
    HOTPATH_UNIT_PERCENT = 4, /* 100.0 is the whole */
    HOTPATH_UNIT_NUMBER = 5,  /* a count with decimals: an average */
    HOTPATH_UNIT_SIGNED_COUNT = 6,
    HOTPATH_UNIT_SIGNED_BYTES = 7,
    HOTPATH_UNIT_RATE = 8,         /* per second */
    HOTPATH_UNIT_INSTANT = 9,      /* nanoseconds since 1970, in UTC */
    HOTPATH_UNIT_STATE = 10,       /* one of a few fixed words */
    HOTPATH_UNIT_HISTOGRAM = 11,   /* see hotpath_section_histogram */
    HOTPATH_UNIT_SERIES = 12,      /* see hotpath_section_series */
    HOTPATH_UNIT_VALUE = 13,       /* a number from the program: integer or not, of any sign */
    HOTPATH_UNIT_INSTRUCTIONS = 14 /* where durations are counted in instructions; else they are in NS */
};

struct hotpath_column {
    const char *key;   /* the key in JSON: "avg_ns" */
    const char *title; /* the heading in the table: "Avg" */
    uint32_t unit;     /* enum hotpath_unit */
    uint32_t visible;  /* in the table by default */
};

/* One cell. `has_value` is 0 if there is nothing to show (such as a percentile of a call that never ended). */
struct hotpath_cell {
    uint32_t unit; /* enum hotpath_unit */
    uint32_t has_value;
    /* COUNT, BYTES, INSTANT; NS, INSTRUCTIONS and NUMBER (rounded); for SIGNED units cast it to int64_t */
    uint64_t count;
    double number;    /* the same unrounded; also PERCENT, RATE and VALUE */
    const char *text; /* TEXT, STATE; otherwise NULL */
};

enum hotpath_row_flag {
    HOTPATH_ROW_OPEN = 1,        /* includes a call that has not ended */
    HOTPATH_ROW_MAIN = 2,        /* the row that is 100 % */
    HOTPATH_ROW_ROUGH = 4,       /* measuring overhead may be a large part of its numbers */
    HOTPATH_ROW_SCALED = 8,      /* its times are estimates: not all calls were timed */
    HOTPATH_ROW_SELF_SCALED = 16 /* its self time is an estimate */
};

/* A row without its cells. Set `size` before the call, here and in the two structs below. */
struct hotpath_row {
    size_t size;     /* sizeof(struct hotpath_row) */
    uint64_t id;     /* identifies the subject: the same in every report, in every process, after every refresh */
    uint64_t parent; /* in a tree, the id of the parent row; 0: none */
    uint32_t depth;  /* in a tree; parents come before children */
    uint32_t flags;  /* enum hotpath_row_flag */
};

/* Amounts per bar. Bars are ranges, as for durations, or have labels, as for causes. */
struct hotpath_histogram {
    size_t size;
    size_t bars;
    uint32_t unit;        /* unit of the bounds: enum hotpath_unit */
    uint32_t amount_unit; /* unit of the amounts */
    const double *from;   /* bar i covers from[i] <= x < to[i]; NULL if bars have labels */
    const double *to;
    const uint64_t *amounts;
    const char *const *labels; /* NULL if bars have bounds */
};

/* A number over time, oldest first. */
struct hotpath_series {
    size_t size;
    size_t points;
    uint32_t unit; /* unit of the values: enum hotpath_unit */
    uint32_t reserved;
    const uint64_t *times_ns; /* since the start of the run */
    const double *values;
};

/* Reading results: sections, their columns, their rows. An index out of range gives NULL or 0. */
HOTPATH_API_ uint64_t hotpath_results_elapsed_ns(const hotpath_results *results);
HOTPATH_API_ const char *hotpath_results_label(const hotpath_results *results);
/* The bottleneck in one sentence, if the section `bottlenecks` is present and found one; otherwise "". */
HOTPATH_API_ const char *hotpath_results_headline(const hotpath_results *results);
HOTPATH_API_ size_t hotpath_results_sections(const hotpath_results *results);
HOTPATH_API_ const hotpath_section *hotpath_results_section(const hotpath_results *results, size_t index);
HOTPATH_API_ const char *hotpath_section_name(const hotpath_section *section);
HOTPATH_API_ const char *hotpath_section_description(const hotpath_section *section);
HOTPATH_API_ size_t hotpath_section_columns(const hotpath_section *section);
HOTPATH_API_ const struct hotpath_column *hotpath_section_column(const hotpath_section *section, size_t index);
HOTPATH_API_ size_t hotpath_section_rows(const hotpath_section *section);
HOTPATH_API_ size_t hotpath_section_total_rows(const hotpath_section *section);
HOTPATH_API_ int hotpath_section_cell(const hotpath_section *section, size_t row, size_t column,
                                      struct hotpath_cell *ret_cell);
HOTPATH_API_ int hotpath_section_row(const hotpath_section *section, size_t row, struct hotpath_row *ret_row);
/* For columns with the unit HISTOGRAM or SERIES. A cell without a value has no bars and no points. */
HOTPATH_API_ int hotpath_section_histogram(const hotpath_section *section, size_t row, size_t column,
                                           struct hotpath_histogram *ret_histogram);
HOTPATH_API_ int hotpath_section_series(const hotpath_section *section, size_t row, size_t column,
                                        struct hotpath_series *ret_series);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* HOTPATH_RESULTS_H */
