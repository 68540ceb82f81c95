/*
 * The distinct rules of an image. There are hundreds of thousands of addresses and some hundred rules, so each row
 * has the number of its rule. Rules are added on demand and never move: callers may keep their addresses.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_UNWIND_RULE_SET_H
#define HP_UNWIND_RULE_SET_H

#include "hash_index.h"
#include "rule.h"

#define HP_RULE_BLOCK 64u

struct hp_rule_set {
    struct hp_unwind_rule **blocks; /* HP_RULE_BLOCK rules each */
    size_t block_count, block_room;
    size_t count;
    struct hp_hash_index index;
    uint8_t *expressions; /* each with its length before it, in two bytes */
    size_t expressions_size, expressions_room;
};

/* Into a zeroed struct: the first rule, number 0, means unknown. False: no memory. */
bool hp_rule_set_begin(struct hp_rule_set *set);
void hp_rule_set_free(struct hp_rule_set *set);

/* The number of a rule, added if it is new. 0 for unknown rules, and if there are too many. */
uint16_t hp_rule_set_number(struct hp_rule_set *set, const struct hp_unwind_rule *rule);

/* The offset of an expression, added if it is new. Negative: there are too many. */
int32_t hp_rule_set_add_expression(struct hp_rule_set *set, const uint8_t *bytes, size_t size);

/* The bytes of an expression, until the next one is added. */
const uint8_t *hp_rule_set_expression(const struct hp_rule_set *set, int32_t at, size_t *ret_size);

static inline const struct hp_unwind_rule *hp_rule_set_at(const struct hp_rule_set *set, size_t number)
{
    return &set->blocks[number / HP_RULE_BLOCK][number % HP_RULE_BLOCK];
}

#endif
