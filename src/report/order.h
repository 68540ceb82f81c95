/*
 * The order of a section's rows. A section has its own default order, and HOTPATH_SORT may request another column:
 * text ascending, numbers descending, a minus in front reverses it.
 *
 *     hp_order_choose, when the columns are there; section->order says from then on what holds
 *     hp_order_apply, when all rows are filled, in the default order; hp_order_fill does both
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_REPORT_ORDER_H
#define HP_REPORT_ORDER_H

#include "section.h"

/*
 * Decides the order of a section whose default is the column `usual`, the largest first; `share` is the column with
 * the same order, as a share, or NULL. The requested column becomes visible, and a note says so. False: no memory.
 */
bool hp_order_choose(struct hotpath_results *results, struct hotpath_section *section, const char *usual,
                     const char *share);

/* Sorts the rows and cuts them to the limit; main rows are the last to be dropped. False: no memory. */
bool hp_order_apply(struct hotpath_results *results, struct hotpath_section *section, uint32_t limit);

/*
 * Makes a row for each of `entries`, which are in the default order, and applies the chosen order. Fills no more
 * rows than are shown. False: no memory.
 */
bool hp_order_fill(struct hotpath_results *results, struct hotpath_section *section, uint32_t limit,
                   const void *const *entries, size_t count, void *view);

/* For most sections: describes the columns and chooses the order; fills the rows, up to the usual limit. */
bool hp_section_begin(struct hotpath_results *results, struct hotpath_section *section, void *view, uint32_t facts,
                      const char *usual, const char *share);
bool hp_section_fill_rows(struct hotpath_results *results, struct hotpath_section *section,
                          const void *const *entries, size_t count, void *view);

#endif
