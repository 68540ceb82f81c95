/*
 * Who owns a session. The process has one that runs, and may have others that have ended and are still in somebody's hands: a
 * report reads one, a thread has not noticed its end. A session has holders, and the last of them gives its memory back:
 *
 *   the recorder    from hp_session_link until whoever stops it has seen that no thread is at work on it
 *   a report        hp_session_hold, or what hp_session_unlink has handed to it
 *   whoever counts  something without a thread's head (allocations on a thread that is over, what was lost)
 *
 * Two are no holders, because the recorder lets go only after them: threads that work on their heads (the recorder
 * waits until they are at rest), and whoever has the recorder's lock while the session runs.
 *
 * A thread that is at rest still looks at the gate of the session that it worked for last. So one page of each stays, empty, until
 * no head is left that leads there. SPDX-License-Identifier: MIT
 */
#ifndef HP_RECORD_HOLDERS_H
#define HP_RECORD_HOLDERS_H

#include <stdbool.h>
#include <stdint.h>

#include "options.h"
#include "store.h"

struct hp_session {
    struct hp_store store; /* first: heads point to it */
    struct hp_settings settings;
    struct hp_session *next; /* of all; they are used again and never given back */
    uint32_t holders;
    uint32_t phase; /* enum hp_phase */
    uint32_t place; /* its number among all */
};

/* What becomes of it; `holders` count in the first three. */
enum hp_phase {
    HP_PHASE_FREE,
    HP_PHASE_IN_USE,
    HP_PHASE_UNSETTLED, /* it has ended, and a thread may be at work on it still: asked again now and then */
    HP_PHASE_EMPTY      /* only the page of the gate is left */
};

/* A session that does not run yet, with one holder. NULL: no memory, or no space for it. Without the lock, or in a child. */
struct hp_session *hp_session_make(const struct hp_settings *settings);
/* What was made is not needed: another one was first. */
void hp_session_discard(struct hp_session *session);

/* It runs from now on; nothing else does. Under the lock. */
void hp_session_link(struct hp_session *session);
/* The one that runs does not from now on. It is the caller's to end. Under the lock. */
struct hp_session *hp_session_unlink(void);

/* The session that runs, held; NULL: none does. Any thread, any time, handlers included. */
struct hp_session *hp_session_hold(void);
/* One more holder, by somebody who has it in his hands. */
void hp_session_hold_too(struct hp_session *session);
void hp_session_let_go(struct hp_session *session);

/* Waits, for a moment at most, until no thread is at work on it. It is unlinked. */
bool hp_session_settle(struct hp_session *session);
/* The end: lets go of it once no thread is at work on it, perhaps later. It is unlinked. */
void hp_session_end(struct hp_session *session);
/* Gives back what has been left over meanwhile. */
void hp_sessions_tidy(void);

/* In a forked child: all are the parent's, but for one that the child has made (or NULL). */
void hp_sessions_forget(const struct hp_session *own);

/* Counts what the running session loses. */
void hp_session_lose(enum hp_loss loss);

#endif
