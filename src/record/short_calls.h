/* Calls that are too short to be timed each time: see short_calls.c. With the head held. SPDX-License-Identifier: MIT */
#ifndef HP_RECORD_SHORT_CALLS_H
#define HP_RECORD_SHORT_CALLS_H

#include <stdint.h>

struct hp_head;

/* Has calls of a node only counted, now and then timed, if measuring is more than the bound of what they take. */
void hp_tree_limit(struct hp_head *head, uint32_t parent, uint32_t node);
/* Looks at one of the calls of such a node that were timed all the same: if they have become long, all are again. */
void hp_tree_review(struct hp_head *head, uint32_t node, uint64_t ticks);

#endif
