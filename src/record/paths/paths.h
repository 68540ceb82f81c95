/*
 * The critical path, for other recorders: waits that they see themselves. Fast if paths are not followed: one load.
 * The caller holds the context. SPDX-License-Identifier: MIT
 */
#ifndef HP_PATHS_PATHS_H
#define HP_PATHS_PATHS_H

#include "path_threads.h"

/* Others that come to an object shall leave their paths there: a thread begins to wait for it, or has waited. */
void hp_path_await(struct hp_thread_context *context, uint64_t object);
void hp_path_awaited(struct hp_thread_context *context, uint64_t object);
/* Leaves the thread's path at the object, if anyone waits for it. To leave it takes some 500 bytes of stack. */
bool hp_path_is_awaited_by_others(const struct hp_thread_context *context, uint64_t object);
void hp_path_leave_if_awaited(struct hp_thread_context *context, uint64_t object, uint64_t now);
/* The thread has waited for an object; its name may be "". `second`: another one, or 0. */
struct hp_path_end {
    uint64_t object, second, since, now;
    uint32_t kind;          /* enum hp_path_kind */
    uint32_t place, caller; /* of the lock, and of this wait, in the file of locks; 0: unknown */
    const char *name;
};
void hp_path_take(struct hp_thread_context *context, const struct hp_path_end *end);

#endif
