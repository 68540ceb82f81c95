/* The latest values or texts of an object, over all threads and processes. SPDX-License-Identifier: MIT */
#ifndef HP_MODEL_RECENT_LIST_H
#define HP_MODEL_RECENT_LIST_H

#include "object_profile.h"

#define HP_RECENT_SHOWN 16u

struct hp_recent_list {
    struct hp_recent_copy all[HP_RECENT_SHOWN]; /* newest first */
    uint32_t count;
};

/* Adds those of one more part; the oldest are dropped if there is no room. */
void hp_recent_list_add(struct hp_recent_list *list, const struct hp_snapshot *session, const struct hp_part *part);

/* Those of all parts of a row. */
void hp_recent_list_of(const struct hp_object_record *row, struct hp_recent_list *ret_list);

#endif
