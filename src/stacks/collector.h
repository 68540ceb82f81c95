/*
 * The stacks of a run, unwound while it goes on: a thread takes what the kernel told (perf_source.h), keeps account of which
 * process has what mapped, and puts each stack into one tree. SPDX-License-Identifier: MIT
 */
#ifndef HP_STACKS_COLLECTOR_H
#define HP_STACKS_COLLECTOR_H

#include "image_set.h"
#include "stack_tree.h"

struct hp_stacks {
    struct hp_stack_tree tree;
    struct hp_image_set images;
    uint64_t period_ns;
    bool has_kernel; /* samples come from the kernel, too */
    uint64_t samples, lost;
    uint64_t whole; /* samples whose stack was followed to the start of its thread */
};

/* Begins with a process that has not begun to run yet. False: the kernel does not let us. */
bool hp_collector_begin(uint32_t pid, uint64_t period_ns);

/* Ends it. What was collected, or NULL: it was not begun. It stays until hp_collector_free. */
const struct hp_stacks *hp_collector_end(void);
void hp_collector_free(void);

#endif
