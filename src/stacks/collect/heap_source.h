/*
 * Sampled allocations of the processes of a run, from the rings in its folder (stack_ring.h,
 * record/alloc/heap_samples.h). Each becomes an event, in a queue of its own. For one thread of ours only.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_COLLECT_HEAP_SOURCE_H
#define HP_COLLECT_HEAP_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

/* Starts reading the rings of that folder. */
void hp_heap_source_begin(const char *folder);

/* Tells it that no other source reports mappings. */
void hp_heap_source_need_maps(void);

/*
 * Reads what is there. `is_last`: everything, and stops; processes that go on are told so. Returns how many were
 * lost since the last call.
 */
uint64_t hp_heap_source_read(bool is_last);

#endif
