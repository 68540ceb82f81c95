/* The latest values of an object as text. SPDX-License-Identifier: MIT */
#ifndef HP_REPORT_RECENT_CELL_H
#define HP_REPORT_RECENT_CELL_H

#include "section.h"
#include "text.h"
#include "value_profile.h"

/* Writes one of them. */
void hp_recent_put(struct hp_text *text, const struct hp_recent_copy *recent);

/* Writes all, the newest first, separated by commas; without values, the cell stays empty. False: no memory. */
bool hp_recent_set(struct hotpath_results *results, struct hp_row *row, size_t column,
                   const struct hp_recent_list *list);

#endif
