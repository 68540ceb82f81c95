/* What a thread used from start to exit, written into its record. SPDX-License-Identifier: MIT */
#ifndef HP_CORE_THREAD_LIFETIME_H
#define HP_CORE_THREAD_LIFETIME_H

struct hp_cpu_time;
struct hp_thread_context;

/* A thread takes over a record: allocations of earlier threads are not its own. Under the lock. */
void hp_life_begin(struct hp_thread_context *context);

/* The calling thread, owner of the context, used this much in total and is about to exit. Under the lock. */
void hp_life_end(struct hp_thread_context *context, const struct hp_cpu_time *used);

/* The same for the calling thread, if it has a context, when the session ends. Under the lock. */
void hp_life_end_present(void);

#endif
