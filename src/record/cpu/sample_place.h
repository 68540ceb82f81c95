/*
 * The zone in which a sample has found a thread: the innermost one, and those folded away by recursion. Called in
 * the sampling signal handler. SPDX-License-Identifier: MIT
 */
#ifndef HP_CPU_SAMPLE_PLACE_H
#define HP_CPU_SAMPLE_PLACE_H

#include <stdint.h>

struct hotpath_frame_;
struct hp_thread_context;

/* The innermost zone around the stack address. Zones below it were left by longjmp, or wait on another stack. */
const struct hotpath_frame_ *hp_sample_frame(const struct hp_thread_context *context, uintptr_t stack);

#define HP_SAMPLE_FOLDED 32u /* different nodes to look for */
/*
 * In a recursion a site may be on the stack but not above the innermost node, which was folded onto an outer one.
 * Its calls are in progress, too, so it is credited beside the tree. Returns the number of such nodes.
 */
uint32_t hp_sample_find_folded(const struct hp_thread_context *context, const struct hotpath_frame_ *innermost,
                               uint32_t nodes[HP_SAMPLE_FOLDED]);

#endif
