/*
 * What samples cost the thread that they interrupt: the time between these two. With the sampler held. SPDX-License-Identifier: MIT
 */
#ifndef HP_RECORD_SAMPLE_SPENT_H
#define HP_RECORD_SAMPLE_SPENT_H

#include <stdbool.h>
#include <stdint.h>

struct hp_head;

/* As long as so many zones: after that the thread has lost its processor, on the tick that the signal came with, say. */
#define HP_MOST_OF_SAMPLE 1024u
#define HP_MOST_OF_BEGINNING 262144u

/* Whether the session that the thread works for is still there; time counts from now on, if it is. */
bool hp_spent_begin(struct hp_head *head);
void hp_spent_end(struct hp_head *head, uint64_t most_zones, bool is_by_perf);

#endif
