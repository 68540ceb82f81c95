/*
 * Stacks as the program would have them without hotpath. Hooks are between a program and the C library: their
 * frames are left out, so the function that they pass a call on to is called by the program. What hotpath did
 * itself, with what it called for that, is in one node below the root, HP_STACK_OWN. SPDX-License-Identifier: MIT
 */
#ifndef HP_NAMES_PROGRAM_STACKS_H
#define HP_NAMES_PROGRAM_STACKS_H

#include "collector.h"

/* Shares everything with `stacks` except the tree and the zones' shares of it. False: no memory. */
bool hp_program_stacks_make(const struct hp_stacks *stacks, struct hp_stacks *ret_program);
void hp_program_stacks_free(struct hp_stacks *program);

#endif
