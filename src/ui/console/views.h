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

/* NULL: not requested, or there is none. */
const struct hotpath_section *hp_view_section_named(const struct hp_console *console, const char *name);
/* A section of a report. */
void hp_view_section(struct hp_console *console, const struct hotpath_section *section);
/* The call tree: times are in threads, as everywhere; a bar is added to the percentage. */
void hp_view_tree(struct hp_console *console, const struct hotpath_section *section);
/* The inverted tree: below each function its callers. */
void hp_view_callers(struct hp_console *console, const struct hotpath_section *section);

#endif
