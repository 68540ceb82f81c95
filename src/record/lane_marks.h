/* What zones of lanes allocate: see lane_marks.c. With the head held, which has counters. SPDX-License-Identifier: MIT */
#ifndef HP_RECORD_LANE_MARKS_H
#define HP_RECORD_LANE_MARKS_H

struct hp_head;
struct hp_lane;

/* The first switch: the highest that lived on the thread so far is told to all. */
void hp_lane_marks_publish(const struct hp_head *head);
/* The lane that runs stops, its frames being those of the head still; and one goes on whose frames are those of the head already. */
void hp_lane_marks_stop(struct hp_head *head, struct hp_lane *lane);
void hp_lane_marks_go_on(struct hp_head *head, struct hp_lane *lane);

#endif
