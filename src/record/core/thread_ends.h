/* How threads end: see thread_ends.c. SPDX-License-Identifier: MIT */
#ifndef HP_CORE_THREAD_ENDS_H
#define HP_CORE_THREAD_ENDS_H

#include <stdbool.h>

struct hp_thread_context;

/* Makes this copy of the library notice exits of threads. */
bool hp_thread_exit_hook(void);
/* Makes this copy notice the exit of the calling thread, which owns the context. Needs the hook and the lock. */
void hp_thread_await_end(struct hp_thread_context *context);
/* The context's thread has exited: closes its zones and frees the context. Under the lock. */
void hp_thread_release(struct hp_thread_context *context);
/* The thread must not read the time stamp counter from now on: it is no longer measured. Under the lock. */
void hp_thread_blind(struct hp_thread_context *context);

#endif
