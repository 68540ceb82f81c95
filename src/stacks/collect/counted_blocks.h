/*
 * Exact counts of instructions by address, as stacks: what the plugin of QEMU left in the folder of a run
 * (instruction_blocks.h). Where callers are not known, stacks are of one function. A nanosecond of them is an
 * instruction, a sample an execution.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_COLLECT_COUNTED_BLOCKS_H
#define HP_COLLECT_COUNTED_BLOCKS_H

#include "collector.h"

/*
 * Reads those of all processes, and removes their files. False: there are none, or no memory. Free them anyway.
 * `ret_refused`: requests of libraries that the plugin could not answer; what they measured is time.
 */
bool hp_counted_blocks_read(const char *folder, struct hp_stacks *ret_stacks, uint64_t *ret_refused);
void hp_counted_blocks_free(struct hp_stacks *stacks);

#endif
