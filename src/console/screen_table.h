/*
 * A table on the screen: columns with figures, fills or histories, rows that are known by their identities. Views make one from what
 * they know; how wide columns are, which of them leave when there is no room, and in which order rows stand is settled here.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_CONSOLE_SCREEN_TABLE_H
#define HP_CONSOLE_SCREEN_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "figures.h"
#include "screen.h"
#include "watched.h"

struct hp_arena;

#define HP_TABLE_COLUMNS 40u
#define HP_TABLE_FILTER 64u

enum hp_column_kind {
    HP_CELL_NAME,   /* the first: never leaves, and grows */
    HP_CELL_TEXT,   /* as wide as its texts are, up to its width */
    HP_CELL_FIGURE, /* right-aligned, never cut */
    HP_CELL_BAR,    /* parts of the longest row */
    HP_CELL_SPARK   /* a history */
};

struct hp_table_column {
    const char *key, *title;
    const char *about; /* a sentence, or NULL */
    enum hp_column_kind kind;
    enum hp_figure figure;
    unsigned width; /* of the name, at least; of texts and fills, at most */
    unsigned gap;   /* blanks before it */
    unsigned rank;  /* 0: it never leaves; otherwise the highest is the first to do so */
    unsigned from;  /* it is there from that width of the screen on */
};

struct hp_table_cell {
    bool has_value;
    bool is_over; /* above a limit: '!' behind it */
    double number;
    const char *text;
    const double *values; /* HP_PARTS parts of a bar, or as many of a history as the column is wide */
};

struct hp_table_row {
    uint64_t id;
    unsigned depth;
    bool has_children; /* rows below it, shown or not */
    bool is_folded;
    bool is_last; /* after all that are not, whatever they are sorted by */
    size_t index; /* in the table */
    struct hp_table_cell *cells;
};

struct hp_table {
    const char *key; /* by which choices are remembered: "functions" */
    struct hp_table_column columns[HP_TABLE_COLUMNS];
    size_t column_count;
    struct hp_table_row *rows;
    size_t row_count;
    bool is_tree;      /* rows stand as they are */
    const char *sort;  /* key of the column that is usual; NULL: rows stand as they are */
    bool is_ascending; /* there */
    const char *if_empty;
};

/* How one looks at a table, kept from one refresh to the next. */
struct hp_table_view {
    char table[32]; /* which it is about */
    char sort[32];  /* column; "": the usual one */
    bool is_reversed;
    char filter[HP_TABLE_FILTER]; /* names that are shown have it in them; "": all */
    uint64_t cursor;              /* row; 0: the first */
    size_t line;                  /* of it, among those that are shown */
    size_t top;                   /* the first line on the screen */
    unsigned shift;               /* columns that are skipped, by the arrow */
    uint64_t sorted_ns;           /* when rows were put in order last */
    uint64_t *order;              /* identities in that order */
    size_t order_count, order_room;
    uint64_t *folded; /* rows of a tree that are */
    size_t folded_count, folded_room;
    uint64_t hidden; /* columns that were taken away, by their places */
};

/* False: no room. */
struct hp_table_column *hp_table_add(struct hp_table *table, const char *key, const char *title,
                                     enum hp_column_kind kind, enum hp_figure figure);
/* NULL: no memory. */
struct hp_table_row *hp_table_make_rows(struct hp_table *table, struct hp_arena *arena, size_t count);

/* The place of a column; how many there are: there is none. */
size_t hp_table_find(const struct hp_table *table, const char *key);

/* Rows as they are shown: filtered, unfolded, in order. */
struct hp_shown_rows {
    const struct hp_table_row **all;
    size_t count;
    size_t of; /* without the filter */
};

/*
 * Settles that. Rows stand still while somebody reads: they are sorted anew when `may_sort`, or have another order to be in; new ones come
 * last until then. The cursor stays on its row. False: no memory.
 */
bool hp_table_arrange(const struct hp_table *table, struct hp_table_view *view, struct hp_arena *arena,
                      bool may_sort, struct hp_shown_rows *ret_rows);

/* Where a table is on the screen. */
struct hp_area {
    unsigned row, rows; /* the heading is the first */
    unsigned column, columns;
};

/* What did not fit. */
struct hp_hidden_columns {
    char names[200]; /* "P50, Alloc/s"; "": all did */
};

/* Draws it; `is_marked`: with the row of the cursor. */
void hp_table_draw(struct hp_screen *screen, const struct hp_table *table, struct hp_table_view *view,
                   const struct hp_shown_rows *rows, const struct hp_area *area, bool is_marked,
                   struct hp_hidden_columns *ret_hidden);

/* The column whose heading is at a place of the screen, when the table was drawn there; NULL: none. */
const char *hp_table_heading_at(const struct hp_table *table, const struct hp_table_view *view,
                                const struct hp_shown_rows *rows, const struct hp_area *area, unsigned column);

void hp_table_view_free(struct hp_table_view *view);

/* A fill of `width` columns: its length is the sum of the parts against `longest`. */
void hp_draw_bar(struct hp_screen *screen, unsigned row, unsigned column, unsigned width, const double *parts,
                 double longest);
/* A history, the highest as high as can be; `lowest` is 0 for most. */
void hp_draw_spark(struct hp_screen *screen, unsigned row, unsigned column, unsigned width, const double *values,
                   double highest, enum hp_ink ink);

enum hp_ink hp_part_ink(enum hp_activity part);
uint32_t hp_part_glyph(enum hp_activity part);

#endif
