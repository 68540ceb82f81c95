/* Recognises call instructions. SPDX-License-Identifier: MIT */
#include "calls.h"

#include <string.h>

#define LONGEST 7u

bool hp_code_before(const struct hp_space *space, uint64_t address, uint8_t *bytes, size_t size)
{
    const struct hp_mapping *mapping = hp_space_find(space, address - 1);
    if (mapping == NULL || mapping->image == NULL || !mapping->has_bias || !mapping->image->is_readable)
        return false;
    const struct hp_elf *elf = &mapping->image->file.elf;
    const uint64_t first = address - size + mapping->bias;
    for (size_t at = 0; at < elf->part_count; at++) {
        const struct hp_elf_part *part = &elf->parts[at];
        if (part->is_code && first >= part->linked && first - part->linked <= part->size &&
            size <= part->size - (first - part->linked))
            return hp_elf_read_at(mapping->image->file.fd, part->offset + (first - part->linked), bytes, size);
    }
    return false;
}

/*
 * "call *%rax", "call *8(%rbx)", "call *table(,%rax,8)": the opcode is ff, with 2 in the middle of the next byte.
 */
static bool is_indirect(const uint8_t *bytes, size_t size)
{
    static const struct {
        uint8_t length, mode; /* mode: the upper two bits of the byte after the opcode */
        bool has_index;       /* and one more byte follows */
    } ways[] = {{2, 3, false}, {2, 0, false}, {3, 1, false}, {6, 2, false},
                {3, 0, true},  {4, 1, true},  {7, 2, true}};
    for (size_t at = 0; at < sizeof ways / sizeof ways[0]; at++) {
        const uint8_t *call = size >= ways[at].length ? bytes + size - ways[at].length : NULL;
        if (call == NULL || call[0] != 0xff || (call[1] >> 3 & 7) != 2 || call[1] >> 6 != ways[at].mode)
            continue;
        const bool has_index = ways[at].mode != 3 && (call[1] & 7) == 4;
        const bool is_absolute = ways[at].mode == 0 && (call[1] & 7) == 5; /* that one is longer */
        if (has_index == ways[at].has_index && !is_absolute)
            return true;
    }
    /* "call *somewhere(%rip)" and "call *table(,%rax,8)" */
    return (size >= 6 && bytes[size - 6] == 0xff && bytes[size - 5] == 0x15) ||
           (size >= 7 && bytes[size - 7] == 0xff && bytes[size - 6] == 0x14);
}

enum hp_call_kind hp_call_at_end(const uint8_t *bytes, size_t size, int32_t *ret_distance)
{
    if (size >= 5 && bytes[size - 5] == 0xe8) {
        memcpy(ret_distance, bytes + size - 4, sizeof *ret_distance);
        return HP_CALL_DIRECT;
    }
    return is_indirect(bytes, size) ? HP_CALL_INDIRECT : HP_CALL_NONE;
}

enum hp_call_kind hp_call_before(const struct hp_space *space, uint64_t address, uint64_t *ret_target)
{
    uint8_t bytes[LONGEST];
    int32_t distance = 0;
    if (!hp_code_before(space, address, bytes, sizeof bytes))
        return HP_CALL_NONE;
    const enum hp_call_kind kind = hp_call_at_end(bytes, sizeof bytes, &distance);
    *ret_target = address + (uint64_t)(int64_t)distance;
    return kind;
}
