/*
 * The short report: what is shown unless sections were asked for. Functions are in one table, timing and verdict side by side; flows keep a table
 * each, of a few rows; every other section is a line with its totals. SPDX-License-Identifier: MIT
 */
#ifndef HP_RENDER_BRIEF_H
#define HP_RENDER_BRIEF_H

#include "section.h"

#define HP_BRIEF_ROWS 5u        /* of a table beside that of functions */
#define HP_BRIEF_FOUND_ROWS 15u /* of one that takes its place */

struct hp_brief {
    const struct hotpath_section *functions; /* timing and verdict, side by side; NULL: no function was measured */
    const char *why_none;                    /* what to say then, or NULL */
    const struct hotpath_section *tables[HP_MAX_SECTIONS]; /* shown as they are, with fewer rows */
    size_t table_count;
    const struct hotpath_section *lines[HP_MAX_SECTIONS]; /* of which only the line with totals is shown */
    size_t line_count;
};

/* Whether nobody asked for sections, and there is a verdict to put first. */
bool hp_brief_applies(const hotpath_results *results);

/* False: the arena of the results has no memory. */
bool hp_brief_make(const hotpath_results *results, struct hp_brief *ret_brief);

#endif
