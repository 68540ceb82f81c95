/*
 * Where a sample has found a thread: the innermost zone that is there, and those that recursion has folded away. Called in the handler
 * of samples. SPDX-License-Identifier: MIT
 */
#ifndef HP_RECORD_SAMPLE_PLACE_H
#define HP_RECORD_SAMPLE_PLACE_H

#include <stdint.h>

struct hotpath_frame_;
struct hp_head;

/* The innermost zone around the place on the stack. Zones below it are of calls that longjmp left, or that wait on another stack. */
const struct hotpath_frame_ *hp_sample_frame(const struct hp_head *head, uintptr_t stack);

#define HP_SAMPLE_FOLDED 32u /* different nodes that are looked for */
/*
 * Of calls inside one another a site may be on the stack and yet not above the innermost node, which was folded onto one
 * further out. These have their calls in progress, too: they are credited beside the tree. Returns how many there are.
 */
uint32_t hp_sample_find_folded(const struct hp_head *head, const struct hotpath_frame_ *innermost,
                               uint32_t nodes[HP_SAMPLE_FOLDED]);

#endif
