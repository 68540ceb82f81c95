/* Calls of which more than numbers is kept: see kept.c. The caller holds the head. SPDX-License-Identifier: MIT */
#ifndef HP_RECORD_KEPT_H
#define HP_RECORD_KEPT_H

#include <stdbool.h>
#include <stdint.h>

struct hotpath_frame_;
struct hp_head;

/* A record begins: nothing is known about its calls. */
void hp_kept_begin(struct hp_head *head);
/* Stops following the calls of an open call's site. */
void hp_kept_disregard(struct hp_head *head, const struct hotpath_frame_ *frame);
/*
 * A call took longer than those before it: perhaps its site is worth following again. Not inside another call of
 * its site.
 */
void hp_kept_reconsider(struct hp_head *head, const struct hotpath_frame_ *frame, uint64_t ticks);
/*
 * For sites whose long calls matter, however short others are, and that are not followed. Keeps a long call that
 * was just counted, if hardly anything else happened at its node since the last look. A look that keeps nothing
 * only makes sure that there was a recent one.
 */
void hp_kept_look_at_long(struct hp_head *head, const struct hotpath_frame_ *frame, uint64_t ticks);
void hp_kept_look(struct hp_head *head, uint32_t node);
/* Keeps what is wanted of an ending call; it is counted already and still on top of the stack. */
void hp_kept_call(struct hp_head *head, const struct hotpath_frame_ *frame, uint64_t ticks, bool is_nested);

#endif
