/*
 * Ownership of sessions. The process has at most one running session, and may have others that have ended but are
 * still in use: a report reads one, a thread has not noticed the end. A session has holders; the last one releases
 * its memory:
 *
 *   the recorder    from hp_session_link until the stopping thread has seen that no thread works on it
 *   a report        by hp_session_hold, or handed over by hp_session_unlink
 *   a counter       that has no context (allocations on a thread that has exited, losses)
 *
 * Two users are not holders, because the recorder lets go only after them: threads that work on their contexts (the
 * recorder waits until they are idle), and a thread that has the recorder's lock while the session runs.
 *
 * An idle thread still reads the gate of the last session it worked for. So one page of each session stays mapped,
 * empty, until no context refers to it. SPDX-License-Identifier: MIT
 */
#ifndef HP_CORE_HOLDERS_H
#define HP_CORE_HOLDERS_H

#include <stdbool.h>
#include <stdint.h>

#include "options.h"
#include "store.h"

struct hp_session {
    struct hp_store store; /* first: contexts point to it */
    struct hp_settings settings;
    struct hp_session *next; /* list of all; reused, never freed */
    uint32_t holders;
    uint32_t phase; /* enum hp_phase */
    uint32_t place; /* its index among all */
};

/* Life cycle; `holders` counts in the first three. */
enum hp_phase {
    HP_PHASE_FREE,
    HP_PHASE_IN_USE,
    HP_PHASE_UNSETTLED, /* ended, but a thread may still work on it: checked again now and then */
    HP_PHASE_EMPTY      /* only the page of the gate is left */
};

/* A session that does not run yet, with one holder. NULL: no memory or space. Without the lock, or in a child. */
struct hp_session *hp_session_make(const struct hp_settings *settings);
/* Drops a new session that is not needed: another one was first. */
void hp_session_discard(struct hp_session *session);

/* Makes it the running session. Under the lock. */
void hp_session_link(struct hp_session *session);
/* The running session stops running; the caller must end it. Under the lock. */
struct hp_session *hp_session_unlink(void);

/* The running session, held; NULL: none. Any thread, any time, signal handlers included. */
struct hp_session *hp_session_hold(void);
/* Adds a holder; the caller is a holder already. */
void hp_session_hold_too(struct hp_session *session);
void hp_session_let_go(struct hp_session *session);

/* Waits briefly until no thread works on it. The session is unlinked. */
bool hp_session_settle(struct hp_session *session);
/* Releases the session once no thread works on it, perhaps later. The session is unlinked. */
void hp_session_end(struct hp_session *session);
/* Releases what was left over by earlier ends. */
void hp_sessions_tidy(void);

/* In a forked child: all sessions are the parent's, except one that the child has made (or NULL). */
void hp_sessions_forget(const struct hp_session *own);

/* Counts a loss in the running session. */
void hp_session_lose(enum hp_loss loss);

#endif
