/*
 * The life of a session, for the code that starts and ends it. When and why: lifecycle.c.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_CORE_LIFECYCLE_H
#define HP_CORE_LIFECYCLE_H

#include <stdbool.h>
#include <stdint.h>

#include "holding.h"
#include "options.h"
#include "runtime.h"

struct hotpath_options;

/* Additional settings of HOTPATH_MAIN. */
struct hp_manners {
    bool leaves_signals;
    uint32_t shutdown_ms;
};

/* As hotpath_start. Fills in `*ret_manners` if it returns HOTPATH_OK. */
int hp_lifecycle_start(const struct hotpath_options *options, struct hp_manners *ret_manners);
/* The process exits: writes the report and leaves everything mapped, since other threads may still run. */
void hp_lifecycle_finish(bool is_in_handler);

/* --------------------------------------------------------------- opening.c: the changes to the recorder's state */

/* Whether a session runs; and whether it is that of this process, not of its parent. */
static inline bool hp_is_active(void) { return __atomic_load_n(&hp_runtime->gate, __ATOMIC_RELAXED) != 0; }

bool hp_is_active_here(void);

/* A session that does not run yet, with the process's data in its header. NULL: no space. Not under the lock. */
struct hp_session *hp_session_prepare(const struct hp_settings *settings);
/* Applies settings to the session that is opened next, or continues. Under the lock. */
void hp_session_use_settings(const struct hp_settings *settings);
/* Makes a prepared session the running one. Under the lock. */
void hp_session_open(struct hp_session *session);
/* Stops the running session: its file is complete, and recording is off. Under the lock. */
void hp_session_close(void);

/*
 * The cost of a zone is measured once for all sessions of the process and its children: they run on the same
 * machine. Most processes of a run have no zones; for these the measurement is quick, and repeated if the program
 * turns out to use macros. Not under the lock.
 */
void hp_zone_cost_measure(bool is_quick);

/* In a forked child, which has its parent's state. Both under the lock. */
/* Starts the child's session if its parent was recording. */
bool hp_session_begin_child(void);
/* The child has no session until it starts one. */
void hp_session_leave_parents(void);

/*
 * Whether the settings belong to a `hotpath run` that has ended. Such settings, left in the environment or in a
 * process that outlives the run, are ignored.
 */
bool hp_is_of_past_run(const struct hp_record_settings *settings);

/* ------------------------------------------------------------------------- wait_thread.c: what threads wait for */

/* Makes the space, if it is to be sampled. Under the lock, before the session is visible. */
void hp_wait_thread_begin(void);

/* Starts the sampling thread, if the settings ask for one. After the session has started, not under the lock. */
void hp_wait_thread_start(const struct hp_record_settings *settings);

/* ------------------------------------------------- exit_report.c: the report that a process writes about itself */

/*
 * Writes the report of a session, held by the caller, to where its settings say; in a handler never to the host's
 * reporter.
 */
int hp_exit_report(struct hp_session *session, bool is_in_handler);

#endif
