/*
 * Calls of which more than numbers is kept: see call_log.c. The caller holds the context.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_ZONES_CALL_LOG_H
#define HP_ZONES_CALL_LOG_H

#include <stdbool.h>
#include <stdint.h>

struct hotpath_frame_;
struct hp_thread_context;

/* A record begins: nothing is known about its calls. */
void hp_call_log_begin(struct hp_thread_context *context);
/* Stops following the calls of an open call's site. */
void hp_call_log_disregard(struct hp_thread_context *context, const struct hotpath_frame_ *frame);
/*
 * A call took longer than those before it: perhaps its site is worth following again. Not inside another call of
 * its site.
 */
void hp_call_log_reconsider(struct hp_thread_context *context, const struct hotpath_frame_ *frame, uint64_t ticks);
/*
 * For sites whose long calls matter, however short others are, and that are not followed. Keeps a long call that
 * was just counted, if hardly anything else happened at its node since the last look. A look that keeps nothing
 * only makes sure that there was a recent one.
 */
void hp_call_log_look_at_long(struct hp_thread_context *context, const struct hotpath_frame_ *frame,
                              uint64_t ticks);
/*
 * Returns what a look costs, in ticks: the least of this one, which began at `began`, and the last one, since
 * either may have lost its CPU meanwhile.
 */
uint64_t hp_call_log_look(struct hp_thread_context *context, uint32_t node, uint64_t began);
/* Keeps what is wanted of an ending call; it is counted already and still on top of the stack. */
void hp_logged_call(struct hp_thread_context *context, const struct hotpath_frame_ *frame, uint64_t ticks,
                    bool is_nested);

#endif
