/*
 * How to get from any place in a program or library to the caller: rows of places, sorted, and for each one of a few rules.
 * Made once per image. SPDX-License-Identifier: MIT
 */
#ifndef HP_UNWIND_UNWIND_TABLE_H
#define HP_UNWIND_UNWIND_TABLE_H

#include "image_file.h"
#include "rule.h"

struct hp_unwind_table {
    const struct hp_machine *machine; /* NULL: one whose code cannot be unwound */
    uint64_t base;                    /* the address, as linked, that places count from */
    uint32_t *places;                 /* where rows begin, ascending */
    uint16_t *rule_of;                /* of each row */
    size_t count;
    struct hp_unwind_rule *rules; /* the first is for what nothing is known of */
    size_t rule_count;
    uint8_t *expressions; /* each with its length before it, in two bytes */
    size_t expressions_size;
};

/* Reads .eh_frame, and .debug_frame for what that has not; `debug` is the file with debug information, or NULL. */
void hp_unwind_table_make(struct hp_unwind_table *table, const struct hp_image_file *file,
                          const struct hp_image_file *debug);
void hp_unwind_table_free(struct hp_unwind_table *table);

/* The rule at an address, as linked. Never NULL, but it may be of the kind HP_CFA_NONE. */
const struct hp_unwind_rule *hp_unwind_table_find(const struct hp_unwind_table *table, uint64_t linked);

/* Whether `start` is where the function begins that `linked` is in. */
bool hp_unwind_table_is_start(const struct hp_unwind_table *table, uint64_t start, uint64_t linked);

/* The bytes of an expression that a rule of the table refers to. */
const uint8_t *hp_unwind_table_expression(const struct hp_unwind_table *table, const struct hp_unwind_rule *rule,
                                          size_t *ret_size);

#endif
