/* Slots of stacks in files. SPDX-License-Identifier: MIT */
#include "slot_records.h"

#include <stdlib.h>
#include <string.h>

/* Its entries and their parts follow. */
struct record {
    uint32_t kind, slot, count, shift;
    uint64_t amount, part;
};

_Static_assert(sizeof(struct record) == 32 && sizeof(struct hp_slot_entry) == 8, "no gaps");

#define BYTES_OF_ENTRY (sizeof(struct hp_slot_entry) + sizeof(uint8_t))

size_t hp_slot_write(FILE *file, const struct hp_stack_slots *slots, enum hp_slot_kind kind, uint32_t slot)
{
    const struct hp_stack_slot *its = &slots->all[kind][slot];
    const struct record record = {kind, slot, its->count, its->shift, its->amount, its->part};
    if (its->count == 0)
        return 0;
    fwrite(&record, sizeof record, 1, file);
    fwrite(its->entries, sizeof *its->entries, its->count, file);
    fwrite(its->parts, sizeof *its->parts, its->count, file);
    return sizeof record + its->count * BYTES_OF_ENTRY;
}

static bool is_sound(const struct record *record, const struct hp_slot_entry *entries, uint32_t nodes)
{
    uint64_t amount = 0;
    for (uint32_t at = 0; at < record->count; at++) {
        if (entries[at].node >= nodes)
            return false;
        amount += (uint64_t)entries[at].amount << record->shift;
    }
    return amount <= record->amount && record->part <= record->amount;
}

/* False: it is broken. */
static bool take(const char *bytes, size_t left, uint32_t nodes, struct hp_stack_slots *slots, size_t *ret_size)
{
    struct record record;
    if (left < sizeof record)
        return false;
    memcpy(&record, bytes, sizeof record);
    *ret_size = sizeof record + (size_t)record.count * BYTES_OF_ENTRY;
    if (record.kind >= HP_SLOT_KINDS || record.slot >= HP_STACK_SLOTS || record.count > HP_SLOT_ENTRIES ||
        record.count == 0 || record.shift > HP_SLOT_MOST_SHIFT || *ret_size > left)
        return false;
    struct hp_slot_entry *entries = malloc(record.count * BYTES_OF_ENTRY);
    if (entries == NULL)
        return false;
    memcpy(entries, bytes + sizeof record, record.count * BYTES_OF_ENTRY);
    struct hp_stack_slot *slot = &slots->all[record.kind][record.slot];
    free(slot->entries);
    *slot = (struct hp_stack_slot){.entries = entries,
                                   .parts = (uint8_t *)(entries + record.count),
                                   .count = record.count,
                                   .shift = record.shift,
                                   .amount = record.amount,
                                   .part = record.part};
    return is_sound(&record, entries, nodes);
}

bool hp_slots_parse(const void *bytes, size_t size, uint32_t nodes, struct hp_stack_slots *slots)
{
    const char *at = bytes;
    for (size_t taken; size > 0; at += taken, size -= taken)
        if (!take(at, size, nodes, slots, &taken))
            return false;
    return true;
}
