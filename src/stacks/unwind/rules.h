/*
 * Rules: how to get from a function to its caller, at one address. All saved registers are at fixed offsets from
 * the canonical frame address (CFA), the value of the stack pointer before the call. SPDX-License-Identifier: MIT
 */
#ifndef HP_UNWIND_RULES_H
#define HP_UNWIND_RULES_H

#include <limits.h>

#include "hash_index.h"
#include "machine.h"

enum hp_cfa_kind {
    HP_CFA_NONE,     /* nothing is known of this address */
    HP_CFA_REGISTER, /* a register plus an offset */
    HP_CFA_PLT, /* a PLT stub on x86-64: the stack pointer plus 8, or plus 16 from `cfa_offset` on, modulo 16 */
    HP_CFA_EXPRESSION, /* DWARF, at `cfa_offset` in the table's expressions */
    HP_CFA_SIGNAL,     /* sigreturn code: all registers are in the signal frame */
};

/* Instead of an offset. */
#define HP_SAVED_SAME INT32_MIN            /* still in the register */
#define HP_SAVED_UNDEFINED (INT32_MIN + 1) /* lost; for the return address: there is no caller */
#define HP_SAVED_ELSEWHERE (INT32_MIN + 2) /* in `other_register` */
#define HP_SAVED_FURTHEST (INT32_MAX / 2)  /* largest valid offset */

/* Without padding: rules are compared as bytes. */
struct hp_unwind_rule {
    uint8_t cfa_kind;
    uint8_t cfa_register;
    uint8_t other_register;
    uint8_t spare;
    int32_t cfa_offset;
    int32_t saved[HP_SAVED]; /* offsets from the CFA, in the order of the machine's registers */
};

/* ----------------------------------------------------------------------------------------------------- rule set */

/*
 * The distinct rules of an image. There are hundreds of thousands of addresses and some hundred rules, so each row
 * has the number of its rule. Rules are added on demand and never move: callers may keep their addresses.
 */

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
