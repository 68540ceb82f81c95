/*
 * The short report: what is shown unless sections were asked for. Functions are in one table, timing and verdict
 * side by side; flows keep a table each, of a few rows, as long as all of it fits on a screen; every other section
 * is a line with its totals. Rows without a number but zero, and sections that have no others, are left out.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_RENDER_BRIEF_H
#define HP_RENDER_BRIEF_H

#include "section.h"

#define HP_BRIEF_ROWS 5u        /* of a table beside that of functions */
#define HP_BRIEF_FOUND_ROWS 15u /* of one that takes its place */
#define HP_BRIEF_LINES 45u      /* of the whole, at 80 columns, as far as tables can help it */

struct hp_brief {
    const struct hotpath_section *functions; /* timing and verdict, side by side; NULL: no function was measured */
    const char *why_none;                    /* the text in that case, or NULL */
    const struct hotpath_section *tables[HP_MAX_SECTIONS]; /* shown as they are, with fewer rows */
    size_t table_count;
    const struct hotpath_section *lines[HP_MAX_SECTIONS]; /* shown as a line: the totals, or the names of rows */
    size_t line_count;
    size_t lines_left; /* on the screen; private */
};

/* Whether no sections were requested, and there is a verdict to put first. */
bool hp_brief_applies(const hotpath_results *results);

/* False: the arena of the results has no memory. */
bool hp_brief_make(const hotpath_results *results, struct hp_brief *ret_brief);

#endif
