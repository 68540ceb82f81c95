/* The distinct rules of an image, by hash. SPDX-License-Identifier: MIT */
#include "rule_set.h"

#include <stdlib.h>
#include <string.h>

#include "growing_array.h"

#define MOST_RULES 65536u
#define MOST_EXPRESSION_BYTES (1u << 16)
#define FIRST_INDEX 256u

/* ------------------------------------------------------------------------------------------------ rules */

static uint64_t hash_of(const struct hp_unwind_rule *rule)
{
    uint64_t words[sizeof *rule / 8], hash = 0;
    memcpy(words, rule, sizeof words);
    for (size_t at = 0; at < sizeof words / 8; at++)
        hash = (hash ^ words[at]) * UINT64_C(0x9e3779b97f4a7c15), hash ^= hash >> 29;
    return hash;
}
_Static_assert(sizeof(struct hp_unwind_rule) % 8 == 0, "compared and hashed as bytes");

static bool make_index(struct hp_rule_set *set)
{
    const size_t room = set->index == NULL ? FIRST_INDEX : (set->index_mask + 1) * 4;
    uint32_t *index = calloc(room, sizeof *index);
    if (index == NULL)
        return false;
    free(set->index);
    set->index = index;
    set->index_mask = room - 1;
    for (size_t at = 0; at < set->count; at++) {
        size_t slot = (size_t)hash_of(hp_rule_set_at(set, at)) & set->index_mask;
        while (index[slot] != 0)
            slot = (slot + 1) & set->index_mask;
        index[slot] = (uint32_t)at + 1;
    }
    return true;
}

static bool add_block(struct hp_rule_set *set)
{
    const bool has_room = HP_MAKE_ROOM(set->blocks, set->block_count + 1, set->block_room);
    struct hp_unwind_rule *block = has_room ? malloc(HP_RULE_BLOCK * sizeof *block) : NULL;
    if (block == NULL)
        return false;
    set->blocks[set->block_count++] = block;
    return true;
}

static bool add_rule(struct hp_rule_set *set, const struct hp_unwind_rule *rule, size_t slot)
{
    if (set->count == set->block_count * HP_RULE_BLOCK && !add_block(set))
        return false;
    set->blocks[set->count / HP_RULE_BLOCK][set->count % HP_RULE_BLOCK] = *rule;
    set->index[slot] = (uint32_t)++set->count;
    return true;
}

bool hp_rule_set_begin(struct hp_rule_set *set)
{
    static const struct hp_unwind_rule none = {.cfa_kind = HP_CFA_NONE};
    return make_index(set) && add_rule(set, &none, (size_t)hash_of(&none) & set->index_mask);
}

void hp_rule_set_free(struct hp_rule_set *set)
{
    for (size_t at = 0; at < set->block_count; at++)
        free(set->blocks[at]);
    free(set->blocks);
    free(set->index);
    free(set->expressions);
    *set = (struct hp_rule_set){.count = 0};
}

uint16_t hp_rule_set_number(struct hp_rule_set *set, const struct hp_unwind_rule *rule)
{
    if (rule->cfa_kind == HP_CFA_NONE)
        return 0;
    if (set->count * 2 > set->index_mask && !make_index(set) && set->count == set->index_mask)
        return 0;
    size_t slot = (size_t)hash_of(rule) & set->index_mask;
    for (; set->index[slot] != 0; slot = (slot + 1) & set->index_mask)
        if (memcmp(hp_rule_set_at(set, set->index[slot] - 1), rule, sizeof *rule) == 0)
            return (uint16_t)(set->index[slot] - 1);
    return set->count < MOST_RULES && add_rule(set, rule, slot) ? (uint16_t)(set->count - 1) : 0;
}

/* ------------------------------------------------------------------------------------------ expressions */

/* There are few different ones. */
int32_t hp_rule_set_add_expression(struct hp_rule_set *set, const uint8_t *bytes, size_t size)
{
    for (size_t at = 0; at < set->expressions_size;) {
        const size_t length = set->expressions[at] | (size_t)set->expressions[at + 1] << 8;
        if (length == size && memcmp(set->expressions + at + 2, bytes, size) == 0)
            return (int32_t)at;
        at += 2 + length;
    }
    if (size >= MOST_EXPRESSION_BYTES || set->expressions_size + 2 + size > MOST_EXPRESSION_BYTES)
        return -1;
    uint8_t *larger = realloc(set->expressions, set->expressions_size + 2 + size);
    if (larger == NULL)
        return -1;
    const size_t at = set->expressions_size;
    set->expressions = larger;
    set->expressions_size += 2 + size;
    larger[at] = (uint8_t)size;
    larger[at + 1] = (uint8_t)(size >> 8);
    if (size > 0)
        memcpy(larger + at + 2, bytes, size);
    return (int32_t)at;
}

const uint8_t *hp_rule_set_expression(const struct hp_rule_set *set, int32_t at, size_t *ret_size)
{
    const uint8_t *length = set->expressions + at;
    *ret_size = length[0] | (size_t)length[1] << 8;
    return length + 2;
}
