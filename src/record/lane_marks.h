/*
 * Allocations of zones in lanes: see lane_marks.c. The caller holds the head, which has counters.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_RECORD_LANE_MARKS_H
#define HP_RECORD_LANE_MARKS_H

struct hp_head;
struct hp_lane;

/* At the first switch: publishes the thread's peak so far. */
void hp_lane_marks_publish(const struct hp_head *head);
/*
 * The running lane stops; the head still has its frames. For going on, the head already has the frames of the lane
 * that resumes.
 */
void hp_lane_marks_stop(struct hp_head *head, struct hp_lane *lane);
void hp_lane_marks_go_on(struct hp_head *head, struct hp_lane *lane);

#endif
