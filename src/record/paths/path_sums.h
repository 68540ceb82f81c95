/*
 * The critical path, online. Each thread has the sums of the path that leads to it: how long that was in which
 * function, whichever threads it went through. A waker leaves a copy of its sums, a trace, at the object that
 * others wait for. A woken thread replaces its own sums by the newest trace left there since it began to wait:
 * what it did before does not matter any more. So each thread knows its critical path at any time, in bounded
 * memory.
 *
 * A thread's sums here are what it has beyond its own call tree (format/path_layout.h), which the caller has
 * counted into `own` as of now: path_threads.h. Nothing here reads a clock. SPDX-License-Identifier: MIT
 */
#ifndef HP_PATHS_PATH_SUMS_H
#define HP_PATHS_PATH_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "layout.h"

/* ----------------------------------------------------------------------------------------------------- its keys */

/* The key of a site, made if missing; HP_PATH_OTHER: there is no more room. */
uint32_t hp_path_site_key(struct hp_paths *paths, uint32_t site);
/*
 * The same of segments of a thread that end there: with something of that kind (enum hp_path_kind), at that caller.
 * Threads do different things before they call the same function of a queue; if there are many, they are alike.
 */
struct hp_path_ending {
    uint32_t kind, caller, tid;
};
uint32_t hp_path_segment_key(struct hp_paths *paths, const struct hp_path_ending *ending);

/* What was waited for, and where its waker was. */
struct hp_path_waited {
    uint32_t kind; /* enum hp_path_kind */
    uint32_t site;
    uint32_t place, caller; /* in the file of locks; 0: unknown */
    const char *name;       /* "": unknown */
};
/* `base` is that of the session. 0: there is none yet. */
uint32_t hp_path_find_wait(const struct hp_paths *paths, const char *base, const struct hp_path_waited *waited);
/* The same, made with a name that is in the session, at that offset (0: none). 0: there is no more room. */
uint32_t hp_path_make_wait(struct hp_paths *paths, const char *base, const struct hp_path_waited *waited,
                           uint32_t name);

/* --------------------------------------------------------------------------------------------------- its traces */

/* What traces are found by: the address of something, of one of up to seven kinds. Never 0. */
static inline uint64_t hp_path_object(const void *address, uint32_t kind)
{
    return (uint64_t)(uintptr_t)address << 3 | (kind + 1);
}

/*
 * The trace of an object, with its set locked until hp_path_give_trace. NULL: there is none, or the set is in use
 * for too long, which is counted. The second function makes one if needed: in the new memory at offset `spare`,
 * or, if that is 0, instead of another one of the set.
 */
struct hp_path_trace *hp_path_take_trace(struct hp_paths *paths, char *base, uint64_t object);
struct hp_path_trace *hp_path_make_trace(struct hp_paths *paths, char *base, uint64_t object, uint32_t spare);
void hp_path_give_trace(struct hp_paths *paths, uint64_t object);
/* What a trace says, without the lock. False: there is none. */
struct hp_path_peek {
    uint64_t left;
    uint32_t site, tid, caller;
};
bool hp_path_peek(const struct hp_paths *paths, const char *base, uint64_t object, struct hp_path_peek *ret_peek);
/* Whether anyone waits for it: hp_path_await. Likewise. */
bool hp_path_is_awaited(const struct hp_paths *paths, const char *base, uint64_t object);
/* Whether a new trace can be added to the object's set, so that no other has to give way. Without the lock. */
bool hp_path_has_room(const struct hp_paths *paths, uint64_t object);

/* ---------------------------------------------------------------------------------------------------- the steps */

/* The thread's segment ends, with this key: its time outside of all zones since the last one ended. */
void hp_path_end_segment(struct hp_paths *paths, struct hp_path_thread *thread, uint32_t tid, uint32_t key,
                         uint64_t now);

/* Who left it. */
struct hp_path_waker {
    uint32_t site, tid, caller;
    uint64_t period;  /* as in struct hp_path_trace */
    const char *name; /* 16 bytes */
};

/* The thread leaves its path; the trace is taken. */
void hp_path_leave(const struct hp_paths *paths, const struct hp_path_thread *thread, struct hp_path_trace *trace,
                   const struct hp_path_waker *waker, uint64_t now);

/* A wait that ends now, at `site`. */
struct hp_path_wait {
    uint64_t since, now;
    uint32_t site_key; /* of the site; if that is outside of all zones, of the segment that ended with the wait */
    uint32_t key;      /* of what was waited for; 0: none */
    uint32_t kind;     /* enum hp_path_kind */
};

/* Whether the thread came to know a path during the wait that is at least as new as one left then. */
bool hp_path_is_known(const struct hp_path_thread *thread, const struct hp_path_wait *wait, uint64_t left);
/* The thread takes the path of the trace, which is taken. */
void hp_path_adopt(struct hp_paths *paths, struct hp_path_thread *thread, const struct hp_path_trace *trace,
                   const struct hp_path_wait *wait);
/*
 * Whether the trace is of a thread that slept all the time, and ended because it was asked to: it ended soon, for
 * one that looks around that often. Its path was not what the waiting thread waited for.
 */
bool hp_path_was_asked(const struct hp_path_trace *trace, const struct hp_path_wait *wait);
/* The waker is known, but the thread stays on its own path. */
void hp_path_stay(struct hp_paths *paths, struct hp_path_thread *thread, const struct hp_path_wait *wait);
/* Nothing was left for it. */
void hp_path_adopt_none(struct hp_paths *paths, struct hp_path_thread *thread, const struct hp_path_wait *wait);

#endif
