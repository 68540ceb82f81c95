/*
 * While there is no session: one that begins late, and zones of a program that never starts one.
 *
 * Under `hotpath run`, most processes besides the program itself are children that
 * execute something else at once, or programs that end within a millisecond; a session would cost them more than
 * all they do. So theirs begins with the first of these:
 *
 *   - a zone, or anything else that the program reports; a transfer, or the wait of an event loop
 *   - an allocation after the first millisecond
 *   - a millisecond of CPU time, told by a timer, for those that call nothing of ours
 *   - a new thread, or a child by fork
 *   - what would forbid it later: another user or root, other namespaces, a sandbox
 *
 * A process that ends before has no session, and is known from outside (src/run/backfill.c). What a process
 * allocated before its session is in its totals, but in no row.
 *
 * The program itself begins at once. So do all where nothing else would tell of a short process
 * (HP_RUN_PROGRAM in options.h). SPDX-License-Identifier: MIT
 */
#ifndef HP_CORE_NO_SESSION_H
#define HP_CORE_NO_SESSION_H

#include <stdbool.h>

#include "runtime.h"

static inline bool hp_is_deferred(void)
{
    return __builtin_expect(__atomic_load_n(&hp_runtime->deferral, __ATOMIC_RELAXED) == HP_DEFERRED, 0);
}

/* How a session is begun, with system calls only. lifecycle.c has it, which is above those who need it. */
typedef void hp_begin_session(void);

/* In a process that has just been loaded or forked, and has a page. */
void hp_deferral_set(hp_begin_session *begin, bool is_forked);
/* There is a session, or will never be one. */
void hp_deferral_end(void);
/* Begins the session now, if it is deferred. In any hook, and in handlers; takes little of the caller's stack. */
void hp_deferral_begin(void);
/* The same if the process is old enough. */
void hp_deferral_look(void);

/* Gives a session that begins late the times at which it was deferred. */
void hp_deferral_backdate(struct hp_header *header);
/* Whether there is a session, after it has begun if it was deferred. */
static inline bool hp_has_session(void)
{
    if (hp_is_deferred())
        hp_deferral_begin();
    return HOTPATH_GET_(hp_runtime->gate) != 0;
}

/* -------------------------------------------------------------------------------------- zones without a session */

/* A program with macros that never starts a session says so in one line at its end: see no_session.c. */

/*
 * When this copy is loaded and no session has started: makes the program's first zone noted, unless silence is
 * requested.
 */
void hp_unrecorded_listen(void);
/* A zone found no session. `site`: its site, or NULL for a compiler-instrumented function. */
void hp_unrecorded_meet(const void *site);
/* A session was requested; its caller learns if there is none. */
void hp_unrecorded_forget(void);
/* The process ends: prints one line if there were zones and no session was ever requested. */
void hp_unrecorded_explain(void);

#endif
