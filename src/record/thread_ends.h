/* How threads end: see thread_ends.c. SPDX-License-Identifier: MIT */
#ifndef HP_RECORD_THREAD_ENDS_H
#define HP_RECORD_THREAD_ENDS_H

#include <stdbool.h>

struct hp_head;

/* Makes this copy of the library notice threads that end. */
bool hp_thread_exit_hook(void);
/* Has this copy notice the end of the calling thread, whose head it is. There is a hook; under the lock. */
void hp_thread_await_end(struct hp_head *head);
/* The thread of a head has ended: its zones are closed, and the head is free. Under the lock. */
void hp_thread_release(struct hp_head *head);
/* The thread may not read the counter from now on: it is measured no more. Under the lock. */
void hp_thread_blind(struct hp_head *head);

#endif
