/* Calls of which more is kept than numbers: see kept.c. With the head held. SPDX-License-Identifier: MIT */
#ifndef HP_RECORD_KEPT_H
#define HP_RECORD_KEPT_H

#include <stdbool.h>
#include <stdint.h>

struct hotpath_frame_;
struct hp_head;

/* A record begins: nothing is known of its calls. */
void hp_kept_begin(struct hp_head *head);
/* Calls of the site of an open call are not looked into any more. */
void hp_kept_disregard(struct hp_head *head, const struct hotpath_frame_ *frame);
/* A call was longer than those before it: perhaps its site is worth following again. Not inside another of its site. */
void hp_kept_reconsider(struct hp_head *head, const struct hotpath_frame_ *frame, uint64_t ticks);
/*
 * For sites whose long calls matter, however short others are, and that are not followed. A call that is counted was long: keeps it, if
 * hardly anything else went on at its node since the last look. And a look that keeps nothing, so that there was one lately.
 */
void hp_kept_look_at_long(struct hp_head *head, const struct hotpath_frame_ *frame, uint64_t ticks);
void hp_kept_look(struct hp_head *head, uint32_t node);
/* Keeps what is wanted of a call that ends; it is counted already, and on top of the stack still. */
void hp_kept_call(struct hp_head *head, const struct hotpath_frame_ *frame, uint64_t ticks, bool is_nested);

#endif
