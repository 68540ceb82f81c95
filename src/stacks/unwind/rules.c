/* The distinct rules of an image, by hash. SPDX-License-Identifier: MIT */
#include "rules.h"

#include <stdlib.h>
#include <string.h>

#include "growing_array.h"

#define MOST_RULES 65536u
#define MOST_EXPRESSION_BYTES (1u << 16)

/* ------------------------------------------------------------------------------------------------ rules */

static uint32_t hash_of(const struct hp_rule_set *set, const struct hp_unwind_rule *rule)
{
    uint64_t words[sizeof *rule / 8];
    uint32_t hash = 0;
    memcpy(words, rule, sizeof words);
    for (size_t at = 0; at < sizeof words / 8; at++)
        hash = hp_hash_with(&set->index, hash, words[at]);
    return hash;
}
_Static_assert(sizeof(struct hp_unwind_rule) % 8 == 0, "compared and hashed as bytes");

static bool add_block(struct hp_rule_set *set)
{
    const bool has_room = HP_MAKE_ROOM(set->blocks, set->block_count + 1, set->block_room);
    struct hp_unwind_rule *block = has_room ? malloc(HP_RULE_BLOCK * sizeof *block) : NULL;
    if (block == NULL)
        return false;
    set->blocks[set->block_count++] = block;
    return true;
}

static bool add_rule(struct hp_rule_set *set, const struct hp_unwind_rule *rule)
{
    if (set->count == set->block_count * HP_RULE_BLOCK && !add_block(set))
        return false;
    set->blocks[set->count / HP_RULE_BLOCK][set->count % HP_RULE_BLOCK] = *rule;
    set->count++;
    return true;
}

bool hp_rule_set_begin(struct hp_rule_set *set)
{
    return add_rule(set, &(struct hp_unwind_rule){.cfa_kind = HP_CFA_NONE});
}

void hp_rule_set_free(struct hp_rule_set *set)
{
    for (size_t at = 0; at < set->block_count; at++)
        free(set->blocks[at]);
    free(set->blocks);
    hp_hash_free(&set->index);
    free(set->expressions);
    *set = (struct hp_rule_set){.count = 0};
}

uint16_t hp_rule_set_number(struct hp_rule_set *set, const struct hp_unwind_rule *rule)
{
    if (rule->cfa_kind == HP_CFA_NONE)
        return 0;
    if (!hp_hash_make_room(&set->index))
        return 0;
    const uint32_t hash = hash_of(set, rule);
    size_t slot = HP_HASH_BEGIN;
    for (uint32_t number; (number = hp_hash_next(&set->index, hash, &slot)) != 0;)
        if (memcmp(hp_rule_set_at(set, number - 1), rule, sizeof *rule) == 0)
            return (uint16_t)(number - 1);
    if (set->count >= MOST_RULES || !add_rule(set, rule))
        return 0;
    hp_hash_put(&set->index, slot, hash, (uint32_t)set->count);
    return (uint16_t)(set->count - 1);
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
    const size_t at = set->expressions_size;
    if (!HP_MAKE_ROOM(set->expressions, at + 2 + size, set->expressions_room))
        return -1;
    set->expressions_size += 2 + size;
    set->expressions[at] = (uint8_t)size;
    set->expressions[at + 1] = (uint8_t)(size >> 8);
    if (size > 0)
        memcpy(set->expressions + at + 2, bytes, size);
    return (int32_t)at;
}

const uint8_t *hp_rule_set_expression(const struct hp_rule_set *set, int32_t at, size_t *ret_size)
{
    const uint8_t *length = set->expressions + at;
    *ret_size = length[0] | (size_t)length[1] << 8;
    return length + 2;
}
