/*
 * The columns of a section. Each is written once, in the section's function of fields: its value in a row, its key,
 * title and unit, how it is shown, and a sentence about it.
 *
 *     static void fields(struct hp_fields *to, void *view, const void *entry)
 *     {
 *         const struct pool *pool = entry;
 *         HP_FIELD(to, pool->name, "name", "Pool", TEXT, HP_COLUMN_FIRST);
 *         HP_FIELD(to, pool->count, "blocks", "Blocks", COUNT, HP_COLUMN_SHOWN, "Those that are not freed.");
 *         HP_FIELD_IF(to, pool->count > 0, pool->bytes / pool->count, "mean_bytes", "Mean", BYTES, 0);
 *     }
 *     ... {.name = "mine", .fill = fill, .fields = fields};
 *
 * The function is called once to list the columns, for the report, its schema and the help for a column, and then
 * for each row, where it may also set what the row has besides its cells (`to->row`: its identity, its marks). In
 * the first call there is no row and no entry: values are only evaluated where there is a cell for them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_REPORT_COLUMNS_H
#define HP_REPORT_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hotpath.h"
#include "options.h"

#define HP_MAX_COLUMNS 64u

struct hp_arena;
struct hp_cell;
struct hp_durations;
struct hp_location;
struct hp_magnitudes;
struct hp_row;
struct hp_thread_label;

/* How a renderer treats a column, besides its unit. */
enum hp_column_trait {
    HP_COLUMN_NAME = 1 << 0,         /* names the row: indented in a tree, marked when open, shortened if need be */
    HP_COLUMN_KEEP = 1 << 1,         /* never dropped, however narrow the terminal is */
    HP_COLUMN_LATE = 1 << 4,         /* dropped last */
    HP_COLUMN_ELASTIC = 1 << 5,      /* text of any length: shrinks before names do */
    HP_COLUMN_ROUGH = 1 << 2,        /* shows the mark of rows that measuring may have changed much */
    HP_COLUMN_SAMPLED = 1 << 6,      /* shows the mark of rows with untimed calls */
    HP_COLUMN_SAMPLED_SELF = 1 << 9, /* shows the mark of rows with untimed inner calls */
    HP_COLUMN_LOCATION = 1 << 3,     /* cells hold a struct hp_location besides their text: an object in JSON */
    HP_COLUMN_THREAD = 1 << 7,       /* likewise a struct hp_thread_label */
    HP_COLUMN_BELOW = 1 << 8,        /* a sentence: not in the table but below it, a line for each row */
    /* For tables of columns: */
    HP_COLUMN_SHOWN = 1 << 10,    /* visible, unless facts are missing */
    HP_COLUMN_MAYBE = 1 << 11,    /* cells may have no value */
    HP_COLUMN_PART = 1 << 12,     /* a percentage that never exceeds 100 */
    HP_COLUMN_TICKS = 1 << 15,    /* a duration by the run's clock, in a section with other times, too */
    HP_COLUMN_ESTIMATE = 1 << 14, /* estimated from samples: rounded where it is shown; 0 is no value */
    HP_COLUMN_FIRST = HP_COLUMN_NAME | HP_COLUMN_KEEP | HP_COLUMN_SHOWN, /* the first of most sections */
};

struct hp_column {
    struct hotpath_column shown;
    uint32_t traits;   /* enum hp_column_trait */
    const char *about; /* NULL: the title is enough */
};

/* Facts of all sections. Those of one section begin at HP_FACT_OWN. */
enum hp_fact {
    HP_FACT_BY_THREAD = 1 << 0,  /* sites are kept apart by thread */
    HP_FACT_INCLUSIVE = 1 << 1,  /* times include inner zones */
    HP_FACT_ALLOCS = 1 << 2,     /* allocations were counted */
    HP_FACT_PROCESSES = 1 << 3,  /* there are several processes */
    HP_FACT_WHOLE = 1 << 4,      /* about the whole run, not a time range */
    HP_FACT_PART_CPU = 1 << 5,   /* a time range with sampled CPU time ... */
    HP_FACT_PART_BYTES = 1 << 6, /* ... and with counted allocations */
    HP_FACT_OWN = 1 << 8,
};

struct hp_column_spec {
    bool is_conditional; /* cells may have no value */
    bool is_family;      /* one column per requested percentile: "p99" is put before `key` and `title` */
    const char *key;
    const char *title;
    uint32_t unit;     /* enum hotpath_unit */
    uint32_t traits;   /* enum hp_column_trait */
    const char *about; /* a sentence or two; NULL: the title is enough */
    const char *words; /* all texts that cells can have, "none|self|all"; NULL: any */
    uint32_t needs;    /* facts without which the column is not present */
    uint32_t shown_by; /* facts without which it is not shown */
    const char *before,
        *title_before; /* for a family: what comes before "p99": "delay" for "delay_p99"; NULL: nothing */
};

/*
 * The key as reports have it: a duration counted in instructions has "total_instructions" for "total_ns". Inside,
 * columns are found by the same key in every run.
 */
struct hp_key_text {
    char bytes[64];
};
struct hp_key_text hp_column_key(const char *key, bool is_of_instructions);

/* ------------------------------------------------------------------------------------------------------- fields */

/* A call of a function of fields: it lists columns, or fills a row, or adds the totals of a section. */
struct hp_fields {
    struct hotpath_results *results;
    struct hotpath_section *section;
    struct hp_row *row;          /* NULL: the totals */
    struct hp_column_list *list; /* NULL: there is a row */
    size_t at;                   /* cells so far */
    bool is_out_of_memory;
};

typedef void hp_put_fields(struct hp_fields *to, void *view, const void *entry);

struct hp_column_list {
    const struct hp_column_spec *specs[HP_MAX_COLUMNS];
    size_t count;
};

/* Whether its cells may have no value. */
bool hp_column_may_be_empty(const struct hp_column_spec *spec);

/* `view` may decide on the order of columns; NULL: the usual one. */
void hp_fields_list(hp_put_fields *fields, void *view, struct hp_column_list *ret_list);

/*
 * A column: its value, then the members of its struct hp_column_spec from `key`; HOTPATH_UNIT_ is put before the
 * unit. The value is a number, a text, a location, a thread, a histogram or a series; NULL or an estimate of 0:
 * none (NULL in a column of texts without HP_COLUMN_MAYBE: no memory). A struct hp_cell is taken as it is. With a
 * condition that does not hold there is no value.
 */
#define HP_FIELD(to, value, ...) HP_FIELD_(to, false, true, value, __VA_ARGS__)
#define HP_FIELD_IF(to, condition, value, ...) HP_FIELD_(to, true, condition, value, __VA_ARGS__)
/* A column for each requested percentile, which is in the variable `percentile`. */
#define HP_FIELD_FAMILY(to, percentile, condition, value, key_, title_, unit_, ...)                                \
    do {                                                                                                           \
        static const struct hp_column_spec spec_ = HP_COLUMN(true, true, key_, title_, unit_, __VA_ARGS__);        \
        HP_FIELD_FAMILY_AS(to, percentile, &spec_, condition, value);                                              \
    } while (0)

#define HP_FIELD_(to, is_conditional_, condition, value, key_, title_, unit_, ...)                                 \
    do {                                                                                                           \
        static const struct hp_column_spec spec_ =                                                                 \
            HP_COLUMN(is_conditional_, false, key_, title_, unit_, __VA_ARGS__);                                   \
        HP_FIELD_AS(to, &spec_, condition, value);                                                                 \
    } while (0)

/* The same where a table has the columns, made with HP_COLUMN: for sections that differ only in words and units. */
#define HP_FIELD_AS(to, spec, condition, value)                                                                    \
    do {                                                                                                           \
        struct hp_cell *cell_ = hp_fields_begin(to, spec);                                                         \
        if (cell_ != NULL && (condition))                                                                          \
            HP_FIELD_SET_(to, cell_, spec, value);                                                                 \
    } while (0)
#define HP_FIELD_FAMILY_AS(to, percentile, spec, condition, value)                                                 \
    for (uint32_t at_ = 0, count_ = hp_fields_begin_family(to, spec); at_ < count_; at_++) {                       \
        const double percentile = hp_fields_percentile(to, at_);                                                   \
        struct hp_cell *cell_ = hp_fields_next_cell(to);                                                           \
        if (cell_ != NULL && (condition))                                                                          \
            HP_FIELD_SET_(to, cell_, spec, value);                                                                 \
    }

#define HP_COLUMN(is_conditional_, is_family_, key_, title_, unit_, ...)                                           \
    {                                                                                                              \
        .is_conditional = (is_conditional_), .is_family = (is_family_), .key = (key_), .title = (title_),          \
        .unit = HOTPATH_UNIT_##unit_, .traits = __VA_ARGS__                                                        \
    }

#define HP_FIELD_SET_(to, cell, spec, value)                                                                       \
    _Generic((value), struct hp_cell                                                                               \
             : hp_fields_set_cell, const char *                                                                    \
             : hp_fields_set_text, char *                                                                          \
             : hp_fields_set_text, double                                                                          \
             : hp_fields_set_number, int                                                                           \
             : hp_fields_set_signed, long                                                                          \
             : hp_fields_set_signed, long long                                                                     \
             : hp_fields_set_signed, const struct hp_location *                                                    \
             : hp_fields_set_location, const struct hp_thread_label *                                              \
             : hp_fields_set_thread, const struct hotpath_histogram *                                              \
             : hp_fields_set_histogram, const struct hotpath_series *                                              \
             : hp_fields_set_series, default                                                                       \
             : hp_fields_set_count)(to, cell, spec, value)

/* NULL: there is no cell for it. */
struct hp_cell *hp_fields_begin(struct hp_fields *to, const struct hp_column_spec *spec);
/* Returns how many cells it has in a row. */
uint32_t hp_fields_begin_family(struct hp_fields *to, const struct hp_column_spec *spec);
double hp_fields_percentile(const struct hp_fields *to, uint32_t at);
struct hp_cell *hp_fields_next_cell(struct hp_fields *to);

void hp_fields_set_cell(struct hp_fields *to, struct hp_cell *cell, const struct hp_column_spec *spec,
                        struct hp_cell value);
void hp_fields_set_text(struct hp_fields *to, struct hp_cell *cell, const struct hp_column_spec *spec,
                        const char *value);
void hp_fields_set_count(struct hp_fields *to, struct hp_cell *cell, const struct hp_column_spec *spec,
                         uint64_t value);
void hp_fields_set_signed(struct hp_fields *to, struct hp_cell *cell, const struct hp_column_spec *spec,
                          int64_t value);
void hp_fields_set_number(struct hp_fields *to, struct hp_cell *cell, const struct hp_column_spec *spec,
                          double value);
/* As text "file:line"; without a file there is no value. */
void hp_fields_set_location(struct hp_fields *to, struct hp_cell *cell, const struct hp_column_spec *spec,
                            const struct hp_location *value);
void hp_fields_set_thread(struct hp_fields *to, struct hp_cell *cell, const struct hp_column_spec *spec,
                          const struct hp_thread_label *value);
/* Not copied; NULL: no memory. */
void hp_fields_set_histogram(struct hp_fields *to, struct hp_cell *cell, const struct hp_column_spec *spec,
                             const struct hotpath_histogram *value);
void hp_fields_set_series(struct hp_fields *to, struct hp_cell *cell, const struct hp_column_spec *spec,
                          const struct hotpath_series *value);

/* Copies a text for a cell. NULL: there is none, or no memory, which the fields remember. */
const char *hp_fields_copy(struct hp_fields *to, const char *text, size_t length);
/* Of the run's clock. */
double hp_fields_ns(const struct hp_fields *to, uint64_t ticks);
/* A PERCENT; of nothing, it has no value. */
struct hp_cell hp_percent_of(uint64_t part, uint64_t whole);
/* "name tid", with the process before the tid if there are several. */
const char *hp_fields_name_thread(struct hp_fields *to, const struct hp_thread_label *thread);
/* An empty text is no value. */
static inline const char *hp_text_or_none(const char *text) { return text[0] != '\0' ? text : NULL; }

/* -------------------------------------------------------------------------------------------------- percentiles */

struct hp_percentile_names {
    const char *title; /* "P99.9", "Min", "Max" */
    const char *key;   /* "p99_9_ns" */
};

/* Prefixes: "delay" for "delay_p99_ns", "Delay" for "Delay P99"; NULL: none. */
struct hp_percentile_family {
    const char *before_key, *before_title;
    const char *after_key, *after_title;
};

/* 0 is the minimum, 100 the maximum. False: no memory. */
bool hp_percentile_name(struct hp_arena *arena, double percentile, const struct hp_percentile_family *family,
                        struct hp_percentile_names *ret_names);

/* --------------------------------------------------------------------------------------------------- histograms */

/*
 * Converts a distribution to bars, four per power of two, or 64 for fine histograms; empty ones are left out.
 * Bounds do not depend on the data, so that two readings can be compared; `scale` is one tick in `unit`. NULL: no
 * memory.
 */
const struct hotpath_histogram *hp_histogram_of_durations(const struct hotpath_results *results,
                                                          const struct hp_durations *durations, double scale,
                                                          enum hotpath_unit unit);

/* The same of a histogram of ticks, and of one by steps (hp_step_of), whose fine bars are these. */
const struct hotpath_histogram *hp_histogram_of_magnitudes(const struct hotpath_results *results,
                                                           const struct hp_magnitudes *magnitudes);
const struct hotpath_histogram *hp_histogram_of_steps(const struct hotpath_results *results, const uint64_t *steps,
                                                      uint32_t bits, uint32_t octaves, double tick_ns);

/* Waiting time by cause, the longest first. NULL: no memory. */
const struct hotpath_histogram *hp_histogram_of_waits(struct hp_arena *arena, const uint64_t *by_cause);

#endif
