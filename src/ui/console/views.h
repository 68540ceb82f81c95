/*
 * Functions for making tables, and the larger tables (views.c lists the tables of each tab).
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_CONSOLE_VIEWS_H
#define HP_CONSOLE_VIEWS_H

#include "state.h"

#define HP_VIEW_SPARK 20u /* columns of a history */
#define HP_VIEW_HISTORY_NS UINT64_C(60000000000)

/* The column of polls of tasks, if the section shows it; the number of columns: none. */
size_t hp_view_polls_column(const struct hotpath_section *section);

struct hp_table_column *hp_view_add(struct hp_table *table, const char *key, const char *title,
                                    enum hp_column_kind kind, enum hp_figure figure, unsigned width, unsigned rank,
                                    const char *about);
void hp_view_set_number(struct hp_table_cell *cell, bool has_value, double number);
void hp_view_set_text(struct hp_table_cell *cell, const char *text);
/* Whether the user has folded that row of a tree. */
bool hp_view_is_folded(const struct hp_table_view *view, uint64_t id);

/* The table of functions of that name: "timing", "cpu", "memory", "waiting". */
void hp_view_functions(struct hp_console *console, const char *name);
/* Fills cells that visit all threads: before sorting, if the order needs them; and afterwards, for visible rows. */
void hp_view_functions_before_order(struct hp_console *console);
void hp_view_functions_shown(struct hp_console *console);

/* NULL: not requested, or there is none. */
const struct hotpath_section *hp_view_section_named(const struct hp_console *console, const char *name);
/* A section of a report. */
void hp_view_section(struct hp_console *console, const struct hotpath_section *section);
/* The call tree: times are in threads, as everywhere; a bar is added to the percentage. */
void hp_view_tree(struct hp_console *console, const struct hotpath_section *section);
/* The inverted tree: below each function its callers. */
void hp_view_callers(struct hp_console *console, const struct hotpath_section *section);

#endif
