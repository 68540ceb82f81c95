/*
 * The tables of functions, sections and call trees (views.c lists those of each tab).
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_CONSOLE_VIEWS_H
#define HP_CONSOLE_VIEWS_H

#include "state.h"

#define HP_VIEW_SPARK 20u /* columns of a history */
#define HP_VIEW_HISTORY_NS UINT64_C(60000000000)

/* The column of polls of tasks, if the section shows it; the number of columns: none. */
size_t hp_view_polls_column(const struct hotpath_section *section);

/* The table of functions of that name: "timing", "cpu", "memory", "waiting". */
void hp_view_functions(struct hp_console *console, const char *name);
/* Fills cells that visit all threads: before sorting, if the order needs them; and afterwards, for visible rows. */
void hp_view_functions_before_order(struct hp_console *console);
void hp_view_functions_shown(struct hp_console *console);

/* Whether the table is made of stacks, which may be known of the whole run only. */
bool hp_view_is_of_stacks(const struct hp_console *console);
/* NULL: not requested, or there is none. */
const struct hotpath_section *hp_view_section_named(const struct hp_console *console, const char *name);
/* A section of a report. */
void hp_view_section(struct hp_console *console, const struct hotpath_section *section);
/* The same with more columns, which the caller fills. NULL: no memory. */
struct hp_table_row *hp_view_section_with(struct hp_console *console, const struct hotpath_section *section,
                                          const struct hp_table_column *more, size_t count);
/* What threads wait for, by place; and by their stacks, which functions wait. */
void hp_view_waits(struct hp_console *console);
void hp_view_waiters(struct hp_console *console);
/* Threads, with what they did over time. */
void hp_view_threads(struct hp_console *console, const struct hotpath_section *section);
/* Begins the row of a section's row; `begins_folded`: until the user opens it. */
void hp_view_begin_row(struct hp_console *console, const struct hotpath_section *section, size_t at,
                       bool begins_folded);
/* The call tree of measured or sampled functions. */
void hp_view_tree(struct hp_console *console, const struct hotpath_section *section);
/* The inverted tree: below each function its callers. */
void hp_view_callers(struct hp_console *console, const struct hotpath_section *section);

#endif
