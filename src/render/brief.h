/*
 * The short report, shown unless sections were requested. Functions are in one table, timing and verdict side by
 * side; flows keep a table each, of a few rows; every other section is one line with its totals.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_RENDER_BRIEF_H
#define HP_RENDER_BRIEF_H

#include "section.h"

#define HP_BRIEF_ROWS 5u        /* of a table next to that of functions */
#define HP_BRIEF_FOUND_ROWS 15u /* of one that replaces it */

struct hp_brief {
    const struct hotpath_section *functions; /* timing and verdict, side by side; NULL: no function was measured */
    const char *why_none;                    /* the text in that case, or NULL */
    const struct hotpath_section *tables[HP_MAX_SECTIONS]; /* shown as they are, with fewer rows */
    size_t table_count;
    const struct hotpath_section *lines[HP_MAX_SECTIONS]; /* only their line with totals is shown */
    size_t line_count;
};

/* Whether no sections were requested, and there is a verdict to put first. */
bool hp_brief_applies(const hotpath_results *results);

/* False: the arena of the results has no memory. */
bool hp_brief_make(const hotpath_results *results, struct hp_brief *ret_brief);

#endif
