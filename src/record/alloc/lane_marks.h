/*
 * Allocations of zones in lanes: see lane_marks.c. The caller holds the context, which has counters.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_ALLOC_LANE_MARKS_H
#define HP_ALLOC_LANE_MARKS_H

struct hp_thread_context;
struct hp_lane;

/* At the first switch: publishes the thread's peak so far. */
void hp_lane_marks_publish(const struct hp_thread_context *context);
/*
 * The running lane stops; the context still has its frames. For going on, the context already has the frames of the
 * lane that resumes.
 */
void hp_lane_marks_stop(struct hp_thread_context *context, struct hp_lane *lane);
void hp_lane_marks_go_on(struct hp_thread_context *context, struct hp_lane *lane);

#endif
