/*
 * A table on the screen: columns with numbers, bars or histories; rows have identities. Views fill it; which rows
 * are shown, and in which order, is decided here; draw_table.c decides on column widths, and which columns are
 * dropped if there is no room.
 *
 * Sections of a report are copied. Other views write each column once, as reports do (columns.h), in a function
 * that is called without a row, to add the columns, and then for each row:
 *
 *     HP_SHOW(to, program->command, "command", "Program", HP_CELL_NAME, HP_FIGURE_TEXT, 20, 0, "The command.");
 *     HP_SHOW_IF(to, age >= 0, age, "age", "Age", HP_CELL_FIGURE, HP_FIGURE_NS, 7, 3, "Time since it began.");
 *
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
#define HP_TABLE_LANE 60u /* steps of a lane, which has at most so many columns */

enum hp_column_kind {
    HP_CELL_NAME,   /* the first: never dropped, and grows */
    HP_CELL_TEXT,   /* as wide as its texts, up to its width */
    HP_CELL_FIGURE, /* right-aligned, never cut */
    HP_CELL_BAR,    /* parts of the longest row */
    HP_CELL_SPARK,  /* a history */
    HP_CELL_LANE    /* what was done over time: the same of each activity */
};

struct hp_table_column {
    const char *key, *title;
    enum hp_column_kind kind;
    enum hp_figure figure;
    unsigned width;    /* minimum for the name; maximum for texts and bars */
    unsigned rank;     /* 0: never dropped; otherwise the highest is dropped first */
    const char *about; /* a sentence, or NULL */
    unsigned gap;      /* blanks before it; 0: two */
    unsigned from;     /* minimum width of the screen */
    bool is_chart;     /* a text with a character for each step of time */
};

struct hp_table_cell {
    bool has_value;
    bool is_over;      /* above a limit: '!' after it */
    const char *marks; /* before the number, as in reports: "~", "^"; NULL: none */
    double number;
    const char *text;
    /* HP_PARTS parts of a bar; one value per column of a history; HP_ALL_PARTS times HP_TABLE_LANE of a lane. */
    const double *values;
};

struct hp_table_row {
    uint64_t id;
    uint64_t subject; /* identity of the function that it is about, as other rows may be; 0: none */
    unsigned depth;
    bool has_children; /* rows below it, visible or not */
    bool is_folded;
    bool begins_folded; /* until the user opens it */
    bool is_last;       /* after all others, in any order */
    size_t index;       /* in the table */
    struct hp_table_cell *cells;
};

struct hp_table {
    const char *key; /* for remembering choices: "functions" */
    struct hp_table_column columns[HP_TABLE_COLUMNS];
    size_t column_count;
    struct hp_table_row *rows;
    size_t row_count;
    bool is_tree;      /* rows are not sorted */
    const char *sort;  /* key of the default sort column; NULL: rows are not sorted */
    bool is_ascending; /* in that column */
    const char *if_empty;
};

/* The view of a table, kept between refreshes. */
struct hp_table_view {
    char table[32]; /* of this table */
    char sort[32];  /* column; "": the default */
    bool is_reversed;
    char filter[HP_TABLE_FILTER]; /* only names that contain it are shown; "": all */
    uint64_t cursor;              /* identity of the row; 0: the first */
    size_t line;                  /* its line, among visible rows */
    size_t top;                   /* the first line on the screen */
    unsigned shift;               /* columns scrolled off by the arrow keys */
    uint64_t sorted_ns;           /* when rows were last sorted */
    uint64_t *order;              /* identities in that order */
    size_t order_count, order_room;
    uint64_t *folded; /* rows of a tree that the user has folded, or opened if they begin folded */
    size_t folded_count, folded_room;
    uint64_t hidden; /* hidden columns, by index */
};

/* Adds a column, unless the table is full. */
void hp_table_add(struct hp_table *table, const struct hp_table_column *column);
/* NULL: no memory. */
struct hp_table_row *hp_table_make_rows(struct hp_table *table, struct hp_arena *arena, size_t count);

/* The columns and cells of a view. */
struct hp_table_fields {
    struct hp_table *table;
    struct hp_table_row *row; /* being filled; NULL: columns are added */
    size_t at;                /* cells of the row so far */
};

/*
 * The value of a cell, then the members of its struct hp_table_column. A value is a number, a text, or a struct
 * hp_table_cell; a column that is filled later has none. Without a row, values are not evaluated.
 */
#define HP_SHOW(to, value, ...) HP_SHOW_IF(to, true, value, __VA_ARGS__)
#define HP_SHOW_IF(to, condition, value, ...)                                                                      \
    do {                                                                                                           \
        static const struct hp_table_column column_ = {.key = __VA_ARGS__};                                        \
        struct hp_table_cell *cell_ = hp_table_next_cell(to, &column_);                                            \
        if (cell_ != NULL) {                                                                                       \
            *cell_ = HP_SHOW_CELL_(value);                                                                         \
            cell_->has_value &= (condition);                                                                       \
        }                                                                                                          \
    } while (0)
#define HP_SHOW_LATER(to, ...) HP_SHOW(to, ((struct hp_table_cell){0}), __VA_ARGS__)
#define HP_SHOW_CELL_(value)                                                                                       \
    _Generic((value), struct hp_table_cell                                                                         \
             : hp_table_same, const char *                                                                         \
             : hp_table_text, char *                                                                               \
             : hp_table_text, double                                                                               \
             : hp_table_number, default                                                                            \
             : hp_table_count)(value)

/* Adds the column, or returns its cell. */
static inline struct hp_table_cell *hp_table_next_cell(struct hp_table_fields *to,
                                                       const struct hp_table_column *column)
{
    if (to->row != NULL)
        return to->at < to->table->column_count ? &to->row->cells[to->at++] : NULL;
    hp_table_add(to->table, column);
    return NULL;
}

struct hp_table_cell hp_table_same(struct hp_table_cell cell);
/* An empty text is no value. */
struct hp_table_cell hp_table_text(const char *text);
struct hp_table_cell hp_table_number(double number);
struct hp_table_cell hp_table_count(uint64_t count);

/* The index of a column; the number of columns: none. */
size_t hp_table_find(const struct hp_table *table, const char *key);

/* A cell by the key of its column; one without a value: there is none. */
const struct hp_table_cell *hp_table_cell(const struct hp_table *table, const struct hp_table_row *row,
                                          const char *key);
/* Whether that row of a tree is folded. */
bool hp_table_is_folded(const struct hp_table_view *view, const struct hp_table_row *row);

/* The column that rows are sorted by; the number of columns: none. */
size_t hp_table_sort_column(const struct hp_table *table, const struct hp_table_view *view, bool *ret_ascending);

/* "": it has none. */
static inline const char *hp_table_row_name(const struct hp_table_row *row)
{
    return row->cells[0].text != NULL ? row->cells[0].text : "";
}

/* Rows to show: filtered, unfolded, sorted. */
struct hp_shown_rows {
    const struct hp_table_row **all;
    size_t count;
    size_t of; /* without the filter */
};

/*
 * Selects and sorts the rows. They stay in place while the user reads: they are sorted again only if `may_sort`, or
 * if the order was changed; new rows come last until then. The cursor stays on its row. False: no memory.
 */
bool hp_table_arrange(const struct hp_table *table, struct hp_table_view *view, struct hp_arena *arena,
                      bool may_sort, struct hp_shown_rows *ret_rows);

/* Columns that did not fit. */
struct hp_hidden_columns {
    char names[200]; /* "P50, Alloc/s"; "": all fit */
};

/* Draws it (draw_table.c); `is_marked`: with the cursor. */
void hp_table_draw(struct hp_screen *screen, const struct hp_table *table, struct hp_table_view *view,
                   const struct hp_shown_rows *rows, const struct hp_area *area, bool is_marked,
                   struct hp_hidden_columns *ret_hidden);

/* Shows other columns: those further right, if some do not fit, or to the left again. False: there are none. */
bool hp_table_scroll(const struct hp_table *table, struct hp_table_view *view, const struct hp_shown_rows *rows,
                     const struct hp_area *area, bool is_left);

/* The column whose heading was drawn at a position; NULL: none. */
const char *hp_table_heading_at(const struct hp_table *table, const struct hp_table_view *view,
                                const struct hp_shown_rows *rows, const struct hp_area *area, unsigned column);

void hp_table_view_free(struct hp_table_view *view);

/* A bar of `width` columns: its length is the sum of the parts relative to `longest`. */
void hp_draw_bar(struct hp_screen *screen, unsigned row, unsigned column, unsigned width, const double *parts,
                 double longest);
/* A history, scaled to the highest value; `lowest` is mostly 0. */
void hp_draw_spark(struct hp_screen *screen, unsigned row, unsigned column, unsigned width, const double *values,
                   double highest, enum hp_ink ink);

/* The largest of HP_ALL_PARTS parts; idle only if it is more than half. HP_ALL_PARTS: nothing is known. */
unsigned hp_main_part(const double *sums);
/* A lane: each column has what was done for most of it. */
void hp_draw_lane(struct hp_screen *screen, unsigned row, unsigned column, unsigned width, const double *values);

enum hp_ink hp_part_ink(enum hp_activity part);
uint32_t hp_part_glyph(enum hp_activity part);

#endif
