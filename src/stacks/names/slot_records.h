/*
 * Slots of stacks in files: one record for each slot of a kind that has weights, in the machine's byte order.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_NAMES_SLOT_RECORDS_H
#define HP_NAMES_SLOT_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "stack_slots.h"

/* Writes a slot; an empty one is left out. The stream knows whether that failed. Returns its size in the file. */
size_t hp_slot_write(FILE *file, const struct hp_stack_slots *slots, enum hp_slot_kind kind, uint32_t slot);

/*
 * Reads records, and trusts nothing. A later one of the same slot replaces it. Nodes are below `nodes`. False: they
 * are broken, or there is no memory.
 */
bool hp_slots_parse(const void *bytes, size_t size, uint32_t nodes, struct hp_stack_slots *slots);

#endif
