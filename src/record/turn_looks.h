/* Which callback a turn of an event loop was spent in: see turn_looks.c. With the head held. SPDX-License-Identifier: MIT */
#ifndef HP_RECORD_TURN_LOOKS_H
#define HP_RECORD_TURN_LOOKS_H

#include "runtime.h"

/* The zone that took most of a turn. */
struct hp_turn_callback {
    uint32_t node; /* 0: none is known */
    uint64_t ticks;
};

/* Whether the last look is so long ago that what has come since would not tell of one turn. */
static inline bool hp_turn_look_is_due(const struct hp_head *head, uint64_t now) { return now > head->turn_look; }

/* At the end of a turn that took so long and began at that node, 0 for none: what it was, and what the next one begins with. */
struct hp_turn_callback hp_turn_look(struct hp_head *head, uint32_t began_at, uint64_t turn, uint64_t now);

#endif
