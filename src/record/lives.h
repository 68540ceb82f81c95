/* What a thread used from start to exit, written into its record. SPDX-License-Identifier: MIT */
#ifndef HP_RECORD_LIVES_H
#define HP_RECORD_LIVES_H

struct hp_cpu_time;
struct hp_head;

/* A thread takes over a record: allocations of earlier threads are not its own. Under the lock. */
void hp_life_begin(struct hp_head *head);

/* The calling thread, owner of the head, used this much in total and is about to exit. Under the lock. */
void hp_life_end(struct hp_head *head, const struct hp_cpu_time *used);

/* The same for the calling thread, if it has a head, when the session ends. Under the lock. */
void hp_life_end_present(void);

#endif
