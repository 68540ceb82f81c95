/*
 * The columns of a section as a table: their names, what their numbers mean, and when they are present. The rows of
 * a report, its schema and the help for a column are made from the same lines.
 *
 *     struct columns {
 *         size_t name, calls;
 *     };
 *     #define AT(column) .index = offsetof(struct columns, column)
 *     static const struct hp_column_spec columns[] = {
 *         {"name", "Function", HOTPATH_UNIT_TEXT, HP_COLUMN_NAME | HP_COLUMN_SHOWN, AT(name)},
 *         {"calls", "Calls", HOTPATH_UNIT_COUNT, HP_COLUMN_SHOWN, AT(calls), "Those that have ended."},
 *     };
 *     ... {.name = "mine", .fill = fill, HP_COLUMNS(columns)};
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_REPORT_COLUMNS_H
#define HP_REPORT_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "hotpath.h"
#include "options.h"

#define HP_MAX_COLUMNS 64u

/* How a renderer treats a column, besides its unit. */
enum hp_column_trait {
    HP_COLUMN_NAME =
        1 << 0, /* names the row: indented in a tree, marked when open, shortened when space is short */
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
    HP_COLUMN_ESTIMATE = 1 << 14, /* estimated from samples: rounded where it is shown; no sample is no value */
    HP_COLUMN_FAMILY = 1 << 13,   /* one column per requested percentile: "p99" is put before `key` and `title` */
};

struct hp_column {
    struct hotpath_column shown;
    uint32_t traits; /* enum hp_column_trait */
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
    const char *key;
    const char *title;
    uint32_t unit;     /* enum hotpath_unit */
    uint32_t traits;   /* enum hp_column_trait */
    size_t index;      /* offset in the section's struct of column indexes; for a family, an array of them */
    const char *about; /* a sentence or two; NULL: the title is enough */
    const char *words; /* all texts that cells can have, "none|self|all"; NULL: any */
    uint32_t needs;    /* facts without which the column is not present */
    uint32_t shown_by; /* facts without which it is not shown */
    const char *before,
        *title_before; /* for a family: what comes before "p99": "delay" for "delay_p99"; NULL: nothing */
};

/*
 * For the type of a section. A key may occur twice, where facts decide on its place; the first one present counts.
 */
#define HP_COLUMNS(table) .columns = (table), .column_count = HP_ROOM_CHECKED(table, (size_t)2 * HP_MAX_PERCENTILES)
#define HP_TOTALS(table) .totals = (table), .total_count = sizeof(table) / sizeof((table)[0])

/* Number of columns, for which there is always room, with two families. */
#define HP_ROOM_CHECKED(table, more)                                                                               \
    (sizeof(table) / sizeof((table)[0]) + 0 * sizeof(struct {                                                      \
                                              _Static_assert(sizeof(table) / sizeof((table)[0]) + (more) <=        \
                                                                 HP_MAX_COLUMNS,                                   \
                                                             "HP_MAX_COLUMNS has to grow");                        \
                                              int unused;                                                          \
                                          }))

#endif
