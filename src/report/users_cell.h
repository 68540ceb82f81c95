/* The users of an object, as text. SPDX-License-Identifier: MIT */
#ifndef HP_REPORT_USERS_CELL_H
#define HP_REPORT_USERS_CELL_H

#include "object_profile.h"
#include "section.h"

/* "produce, refill, ..."; without users, the cell stays empty. False: no memory. */
bool hp_users_set(struct hotpath_results *results, struct hp_row *row, size_t column,
                  const struct hp_object_users *users);

#endif
