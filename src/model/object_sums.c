/* Adds up the counters of objects. SPDX-License-Identifier: MIT */
#include "object_sums.h"

#include <string.h>

static void add_counter(struct hp_object_sums *sums, uint32_t merge, uint32_t counter, const struct hp_part *part)
{
    uint64_t *to = &sums->count[counter];
    const uint64_t value = part->count[counter];
    switch ((enum hp_merge)merge) {
    case HP_MERGE_SUM:
        *to += value;
        break;
    case HP_MERGE_LEAST:
        *to = sums->parts == 0 || value < *to ? value : *to;
        break;
    case HP_MERGE_MOST:
        *to = value > *to ? value : *to;
        break;
    case HP_MERGE_NEWEST:
        *to = part->last_tick >= sums->newest ? value : *to;
        break;
    case HP_MERGE_NONE:
        break;
    }
}

static void add_part(struct hp_object_sums *sums, const struct hp_kind *kind, const struct hp_part *part)
{
    for (uint32_t counter = 0; counter < kind->counter_count; counter++)
        add_counter(sums, kind->counters[counter].merge, counter, part);
    sums->newest = part->last_tick > sums->newest ? part->last_tick : sums->newest;
    sums->parts++;
}

/* For an instance its own parts; for a class also those of its instances, in succession. */
static void add_record(struct hp_object_sums *sums, const struct hp_object_record *record)
{
    for (const struct hp_object_part *at = record->parts; at != NULL; at = at->next)
        if (!at->is_former) {
            add_part(sums, &record->kind, &at->part);
            sums->threads++; /* a user of an instance also has a part of its class */
        }
    for (const struct hp_object_record *member = record->members; member != NULL; member = member->next_member)
        for (const struct hp_object_part *at = member->parts; at != NULL; at = at->next)
            add_part(sums, &record->kind, at->whole);
}

void hp_object_sums_of(const struct hp_object_record *row, struct hp_object_sums *ret_sums)
{
    memset(ret_sums, 0, sizeof *ret_sums);
    for (const struct hp_object_record *record = row; record != NULL; record = record->next)
        add_record(ret_sums, record);
}

bool hp_object_sums_left(const struct hp_object_record *row, const struct hp_object_sums *class_,
                         const struct hp_object_sums *instances, struct hp_object_sums *ret_left)
{
    bool is_any = false;
    memset(ret_left, 0, sizeof *ret_left);
    for (uint32_t counter = 0; counter < row->kind.counter_count; counter++) {
        if (row->kind.counters[counter].merge == HP_MERGE_SUM)
            ret_left->count[counter] = class_->count[counter] - instances->count[counter];
        is_any |= ret_left->count[counter] != 0;
    }
    return is_any;
}
