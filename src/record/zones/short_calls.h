/*
 * Calls too short to be timed each time: see short_calls.c. The caller holds the context.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_ZONES_SHORT_CALLS_H
#define HP_ZONES_SHORT_CALLS_H

#include <stdint.h>

struct hp_thread_context;

/* If measuring takes more than the bound's share, calls of this node are only counted, and timed now and then. */
void hp_tree_limit(struct hp_thread_context *context, uint32_t parent, uint32_t node);
/* Checks a timed call of such a node: if its calls have become long, all are timed again. */
void hp_tree_review(struct hp_thread_context *context, uint32_t node, uint64_t ticks);

#endif
