/* What a thread used from its beginning to its end, written into its record. SPDX-License-Identifier: MIT */
#ifndef HP_RECORD_LIVES_H
#define HP_RECORD_LIVES_H

struct hp_cpu_time;
struct hp_head;

/* A thread takes a record over: what those before it allocated is not its own. Under the lock. */
void hp_life_begin(struct hp_head *head);

/* The calling thread, whose head it is, has used that in all, and is about to end. Under the lock. */
void hp_life_end(struct hp_head *head, const struct hp_cpu_time *used);

/* The same of the calling thread, if it has a head: the session ends. Under the lock. */
void hp_life_end_present(void);

#endif
