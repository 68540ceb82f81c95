/*
 * In which order the rows of a section stand. A section has an order of its own, the usual one, and HOTPATH_SORT may ask
 * for that of another column: names and other text ascending, numbers descending, a minus in front turns it round.
 *
 *     hp_order_choose, when the columns are there; section->order says from then on what holds
 *     hp_order_apply, when all rows are filled, in the usual order; hp_order_fill does both
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_SECTIONS_ORDER_H
#define HP_SECTIONS_ORDER_H

#include "section.h"

/*
 * Settles the order of a section whose usual one is that of the column `usual`, the largest first; `share` is the column
 * that has the same order, as a share, or HP_MAX_COLUMNS. The column that is asked for becomes visible, and a note says so.
 * False: no memory.
 */
bool hp_order_choose(struct hotpath_results *results, struct hotpath_section *section, size_t usual, size_t share);

/* Puts rows in that order and cuts them to the limit; main rows are the last to go. False: no memory. */
bool hp_order_apply(struct hotpath_results *results, struct hotpath_section *section, uint32_t limit);

/* Fills a row with what it is about. False: no memory. */
typedef bool hp_fill_row(void *view, struct hp_row *row, const void *entry);

/*
 * Makes a row for each of `entries`, which are in the usual order, and applies the order that was chosen. No more are filled
 * than will be shown. False: no memory.
 */
bool hp_order_fill(struct hotpath_results *results, struct hotpath_section *section, uint32_t limit,
                   const void *const *entries, size_t count, hp_fill_row *fill, void *view);

#endif
