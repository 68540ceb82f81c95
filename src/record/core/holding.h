/*
 * Holding a context: the protocol by which a thread works on a session that another thread may end at any time.
 *
 *   mark     set the mark; a compiler barrier keeps everything that follows behind it
 *   check    the gate: if it is closed, the session may be gone, and nothing of it is touched
 *   use      from here on the session stays mapped, even if it ends meanwhile
 *   release  all stores come before the mark is cleared
 *
 * To end a session, a thread closes the gate, makes all threads pass a barrier, and waits until no mark is left
 * (holding.c). So marking needs no locked instruction.
 *
 * A context has two marks, because two users can be active on one thread, one having interrupted the other:
 *
 *   `id_limit` 0         zones, allocations, objects: hp_context_hold. A signal handler that sees it uses another.
 *   `sampler.is_at_work` the sampling handler, and what starts and stops it: hp_sampler_hold. It reads what zones
 *                        write, and writes only the sampler's data. Entering a sandbox waits for this mark, too.
 *
 * A session used without a context is held by a count (hp_session_hold). A lane is passed between
 * threads by `busy` of its slot (lanes.c). SPDX-License-Identifier: MIT
 */
#ifndef HP_CORE_HOLDING_H
#define HP_CORE_HOLDING_H

#include <stdbool.h>
#include <stdint.h>

#include "options.h"
#include "runtime.h"
#include "store.h"

/* ---------------------------------------------------------------------------------------------------- the gate */

/* Whether the context's session is still running, paused or not: open zones may end. Needs a mark. */
static inline bool hp_context_has_session(const struct hotpath_context_ *hot)
{
    return (HOTPATH_GATE_OF_(hot) & ~(HP_GATE_OUT_OF_LINE | HP_GATE_PAUSED)) == hot->epoch;
}
/* The same, and not paused: new zones are recorded. */
static inline bool hp_context_is_recording(const struct hotpath_context_ *hot)
{
    return (HOTPATH_GATE_OF_(hot) & ~HP_GATE_OUT_OF_LINE) == hot->epoch;
}
static inline bool hp_context_is_paused(const struct hotpath_context_ *hot)
{
    return HOTPATH_GATE_OF_(hot) & HP_GATE_PAUSED;
}

/* ----------------------------------------------------------------------------------------- by the thread itself */

static inline bool hp_context_is_held(const struct hotpath_context_ *hot) { return HOTPATH_IS_BUSY_(hot); }

/* The context is not held, or its holder was left by a jump. */
static inline void hp_context_hold(struct hotpath_context_ *hot) { hotpath_set_busy_(hot); }

static inline void hp_context_let_go(struct hotpath_context_ *hot) { hotpath_set_idle_(hot); }

/*
 * Also works if the context is held: then we have interrupted the holder, and the session stays at least as long.
 * Pass the result to hp_context_put_back.
 */
static inline uint32_t hp_context_hold_too(struct hotpath_context_ *hot)
{
    const uint32_t before = HOTPATH_GET_(hot->id_limit);
    hp_context_hold(hot);
    return before;
}

static inline void hp_context_put_back(struct hotpath_context_ *hot, uint32_t before)
{
    HOTPATH_ORDER_();
    HOTPATH_PUT_(hot->id_limit, before);
}

/* The calling thread's context, held, with its session. NULL: it has none, it is busy, or its session is over. */
struct hp_thread_context *hp_thread_hold(void);

/* --------------------------------------------------------------------------------------------- by its sampler */

/* False: the process is sandboxed, and system calls may be fatal. Must be released in any case. */
static inline bool hp_sampler_hold(struct hp_thread_context *context)
{
    HOTPATH_PUT_(context->sampler.is_at_work, 1);
    HOTPATH_ORDER_();
    return !hp_context_is_sandboxed(&context->hot);
}

static inline void hp_sampler_let_go(struct hp_thread_context *context)
{
    HOTPATH_ORDER_();
    HOTPATH_PUT_(context->sampler.is_at_work, 0);
}

/* ------------------------------------------------------------------------------------- for threads that wait */

/* Whether a thread works on it. */
static inline bool hp_context_is_at_work(const struct hp_thread_context *context)
{
    return (context->record != NULL && hp_context_is_held(&context->hot)) ||
           HOTPATH_GET_(context->sampler.is_at_work) != 0;
}

/* -------------------------------------------------------------------------------------------- holding a session */

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
 * empty, until no context refers to it.
 */

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
