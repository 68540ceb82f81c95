/*
 * The columns of a section as a table: what each is called, what its numbers mean, and when it is there. The rows of a report,
 * its schema and the help for a column are made from the same lines.
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
#ifndef HP_SECTIONS_COLUMNS_H
#define HP_SECTIONS_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "hotpath.h"
#include "options.h"

#define HP_MAX_COLUMNS 64u

/* What a renderer may do with a column, beyond what its unit says. */
enum hp_column_trait {
    HP_COLUMN_NAME =
        1 << 0, /* names the row: indented in a tree, marked when open, shortened when space is short */
    HP_COLUMN_KEEP = 1 << 1,         /* stays however narrow the terminal is */
    HP_COLUMN_LATE = 1 << 4,         /* goes only when all others that can have gone */
    HP_COLUMN_ELASTIC = 1 << 5,      /* text of any length: gives way before names do */
    HP_COLUMN_ROUGH = 1 << 2,        /* shows the mark of rows that measuring may have changed much */
    HP_COLUMN_SAMPLED = 1 << 6,      /* shows the mark of rows of which not all calls were timed */
    HP_COLUMN_SAMPLED_SELF = 1 << 9, /* the same where it is those inside that were not */
    HP_COLUMN_LOCATION = 1 << 3,     /* cells hold a struct hp_location besides their text: an object in JSON */
    HP_COLUMN_THREAD = 1 << 7,       /* likewise a struct hp_thread_label */
    HP_COLUMN_BELOW = 1 << 8,        /* a sentence: not in the table but below it, a line for each row */
    /* For tables of columns: */
    HP_COLUMN_SHOWN = 1 << 10, /* in the table, unless facts are missing */
    HP_COLUMN_MAYBE = 1 << 11, /* cells may have no value */
    HP_COLUMN_PART = 1 << 12,  /* a percentage that never is above 100 */
    HP_COLUMN_FAMILY =
        1 << 13, /* one column for each percentile that is asked for: `key` and `title` follow "p99" */
};

struct hp_column {
    struct hotpath_column shown;
    uint32_t traits; /* enum hp_column_trait */
};

/* What all sections know. Those that only one knows begin at HP_FACT_OWN. */
enum hp_fact {
    HP_FACT_BY_THREAD = 1 << 0,  /* functions are kept apart by thread */
    HP_FACT_INCLUSIVE = 1 << 1,  /* times count functions inside */
    HP_FACT_ALLOCS = 1 << 2,     /* allocations were counted */
    HP_FACT_PROCESSES = 1 << 3,  /* there are several */
    HP_FACT_WHOLE = 1 << 4,      /* it is about all of the run, not a stretch of it */
    HP_FACT_PART_CPU = 1 << 5,   /* of a stretch, in which processor time was sampled ... */
    HP_FACT_PART_BYTES = 1 << 6, /* ... and in which allocations were counted */
    HP_FACT_OWN = 1 << 8,
};

struct hp_column_spec {
    const char *key;
    const char *title;
    uint32_t unit;   /* enum hotpath_unit */
    uint32_t traits; /* enum hp_column_trait */
    size_t index;    /* where the struct of the section's columns keeps its place; of a family, an array of them */
    const char *about; /* a sentence or two, or NULL: the title says it */
    const char *words; /* all texts that cells can have, "none|self|all"; NULL: any */
    uint32_t needs;    /* facts without which the column is not there */
    uint32_t shown_by; /* facts without which it is not shown */
    const char *before,
        *title_before; /* of a family: what is before "p99", "delay" for "delay_p99"; NULL: nothing */
};

/* For the type of a section. A key may come twice, where facts decide on its place; the first one that is there counts. */
#define HP_COLUMNS(table) .columns = (table), .column_count = HP_ROOM_CHECKED(table, (size_t)2 * HP_MAX_PERCENTILES)
#define HP_TOTALS(table) .totals = (table), .total_count = sizeof(table) / sizeof((table)[0])

/* How many there are, all of which have room, with two families. */
#define HP_ROOM_CHECKED(table, more)                                                                               \
    (sizeof(table) / sizeof((table)[0]) + 0 * sizeof(struct {                                                      \
                                              _Static_assert(sizeof(table) / sizeof((table)[0]) + (more) <=        \
                                                                 HP_MAX_COLUMNS,                                   \
                                                             "HP_MAX_COLUMNS has to grow");                        \
                                              int unused;                                                          \
                                          }))

#endif
