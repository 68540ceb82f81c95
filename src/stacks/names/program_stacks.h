/*
 * Stacks as the program would have them without hotpath. Hooks are between a program and the C library: their
 * frames are left out, so the function that they pass a call on to is called by the program. What hotpath did
 * itself, with what it called for that, is in one node below the root, HP_STACK_OWN.
 *
 *     struct hp_program_stacks program = {0};
 *     hp_program_stacks_make(&program, found);     again when there is more: nodes keep their numbers
 *     hp_program_stacks_free(&program);
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_NAMES_PROGRAM_STACKS_H
#define HP_NAMES_PROGRAM_STACKS_H

#include "collector.h"

struct hp_our_images;

struct hp_program_stacks {
    struct hp_stacks stacks; /* shares everything with those found except the tree, and what refers to its nodes */
    /* Private from here on. */
    struct hp_our_images *images; /* what was read of the files */
};

/*
 * Makes them from what was found so far: the same stacks as at the last time, and maybe more. False: no memory;
 * they can be freed.
 */
bool hp_program_stacks_make(struct hp_program_stacks *program, const struct hp_stacks *found);
void hp_program_stacks_free(struct hp_program_stacks *program);

#endif
