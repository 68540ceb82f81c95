/* Threads come and go: see threads.c. SPDX-License-Identifier: MIT */
#ifndef HP_CORE_THREADS_H
#define HP_CORE_THREADS_H

#include <stdbool.h>
#include <stdint.h>

struct hotpath_zone;
struct hp_session;
struct hp_thread_context;

/* Makes this copy of the library notice exits of threads. */
bool hp_thread_exit_hook(void);
/* The thread must not read the time stamp counter from now on: it is no longer measured. Under the lock. */
void hp_thread_blind(struct hp_thread_context *context);
/* The session ends: what the calling thread has used goes into its record, if it has a context. Under the lock. */
void hp_life_end_present(void);

/* The calling thread's context for the running session, or NULL. Starts a child's session after fork. */
struct hp_thread_context *hp_thread_context_of(void);
/*
 * The same for callers that may hold any lock of the host or the C library, so must not wait long for ours. Also
 * NULL if the lock is not free soon; no loss is counted.
 */
struct hp_thread_context *hp_thread_context_of_if_free(void);
/* The same for events of pools, which count their own losses. */
struct hp_thread_context *hp_thread_context_of_for_pools(void);
/*
 * The calling thread's context for the running session, whichever copy of the library registered it; or NULL. Under
 * the lock.
 */
struct hp_thread_context *hp_thread_of_any_copy(void);
/*
 * Call before registering a site if no zone has registered the thread: a forked child starts its session first,
 * otherwise the site would be written into its parent's. False: no session.
 */
bool hp_thread_is_ours(void);
/* Registers the calling thread. Under the lock. */
void hp_thread_begin(void);
/* Registers the calling thread, and its signal handlers, before everything is sealed. Under the lock. */
void hp_thread_reserve(void);
/*
 * For a context that is held when we come to use it: whether the holder is another thread of execution. A process
 * made by clone(CLONE_VM) without CLONE_SETTLS has its parent's memory and thread-local storage, and so its
 * context. Usually we are in a handler that interrupted the holder, which then holds it until we return. A mark
 * that vanishes is another's, and from then on neither of the two is recorded. If it does not vanish, the kernel
 * knows who we are. Each zone that is not recorded counts as lost.
 */
bool hp_thread_is_shared(const struct hp_thread_context *context);
/* A context for a signal handler that interrupted `context`. */
struct hp_thread_context *hp_thread_handler_context(struct hp_thread_context *context);
/* Whether `state` of a guard refers to another thread, which has that zone open. */
bool hp_thread_is_open_elsewhere(uintptr_t state, const struct hotpath_zone *zone);

/*
 * The one call upward: a thread that registers in a forked child first starts the child's session; how sessions
 * start is decided in a higher layer. Called under the lock; false: the child has none. Set when this copy of the
 * library is loaded; before that no child has one.
 */
typedef bool hp_child_session(void);
void hp_threads_set_child_session(hp_child_session *begin);

/* Removes sessions of earlier processes beside this one, which the caller holds. Not under the lock: it is slow. */
void hp_prune(struct hp_session *session);

#endif
