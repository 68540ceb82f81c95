/* The latest values of objects. SPDX-License-Identifier: MIT */
#include "recent_list.h"

#include <string.h>

/* Newest first; the oldest are dropped. */
static void add(struct hp_recent_list *list, const struct hp_recent_copy *recent)
{
    uint32_t at = list->count;
    while (at > 0 && list->all[at - 1].value.tick < recent->value.tick)
        at--;
    if (at == HP_RECENT_SHOWN)
        return;
    const uint32_t kept = list->count < HP_RECENT_SHOWN ? list->count : HP_RECENT_SHOWN - 1;
    memmove(&list->all[at + 1], &list->all[at], (kept - at) * sizeof list->all[0]);
    list->all[at] = *recent;
    list->count = kept + 1;
}

void hp_recent_list_add(struct hp_recent_list *list, const struct hp_snapshot *session, const struct hp_part *part)
{
    struct hp_recent_copy recent;
    struct hp_walk walk = {0};
    while (hp_snapshot_next_recent(session, part, &walk, &recent))
        add(list, &recent);
}

void hp_recent_list_of(const struct hp_object_record *row, struct hp_recent_list *ret_list)
{
    ret_list->count = 0;
    for (; row != NULL; row = row->next)
        for (const struct hp_object_part *at = row->parts; at != NULL; at = at->next)
            hp_recent_list_add(ret_list, row->session, &at->part);
}
