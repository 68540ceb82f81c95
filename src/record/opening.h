/*
 * How a session begins to run, and ceases to: what is done to the recorder's state then. Who wants it, and why: lifecycle.h.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_RECORD_OPENING_H
#define HP_RECORD_OPENING_H

#include <stdbool.h>

#include "holders.h"
#include "options.h"
#include "runtime.h"

static inline bool hp_is_active(void) { return __atomic_load_n(&hp_runtime->gate, __ATOMIC_RELAXED) != 0; }

/* A session that does not run yet, with all that is known of the process in its header; NULL without space. Not under the lock. */
struct hp_session *hp_session_prepare(const struct hp_settings *settings);
/* These hold for the session that is opened next, or goes on. Under the lock. */
void hp_session_use_settings(const struct hp_settings *settings);
/* A session that was prepared runs from now on. Under the lock. */
void hp_session_open(struct hp_session *session);
/* The one that runs does so no more: its file is whole, and recording is off. Under the lock. */
void hp_session_close(void);

/*
 * What a zone costs is measured once for all sessions of the process and for its children: they are on the same machine. Most processes
 * of a run have no zones; there it is done quickly, and again when the program turns out to use macros. Not under the lock.
 */
void hp_zone_cost_measure(bool is_quick);

/* In a forked child, whose state is its parent's. Both under the lock. */
/* Begins its session, if its parent was recording. */
bool hp_session_begin_child(void);
/* It has none, until somebody begins one. */
void hp_session_leave_parents(void);

/* What is left of a run in the environment, and in the settings of a process that outlives it, means nothing then. */
bool hp_is_of_past_run(const struct hp_record_settings *settings);

#endif
