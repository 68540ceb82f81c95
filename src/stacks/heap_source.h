/*
 * Sampled allocations of the processes of a run, as they come from the rings that these have in its folder (stack_ring.h,
 * record/heap_samples.h). Each becomes something seen, on a line of its own. For one thread of ours alone.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_STACKS_HEAP_SOURCE_H
#define HP_STACKS_HEAP_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

/* From now on, the rings of that folder. */
void hp_heap_source_begin(const char *folder);

/* Nobody else tells what its processes have mapped. */
void hp_heap_source_need_maps(void);

/* Takes what is there. `is_last`: all of it, and ends it; processes that go on are told so. Returns how many were lost since it was last asked. */
uint64_t hp_heap_source_read(bool is_last);

#endif
