/*
 * What a run waited for: by site, cause, system call and file, as far as it was watched. The reports about waiting
 * are views of this.
 *
 * All of it is exclusive: the waits of a site itself, without inner zones. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_WAIT_PROFILE_H
#define HP_MODEL_WAIT_PROFILE_H

#include "profile.h"

struct hp_text;

/* The process with the other end of a pipe or socket, at the latest probe. */
struct hp_wait_end {
    uint32_t pid;
    bool is_own;         /* the waiting process itself: both ends are in it */
    bool is_sender;      /* the wait was for it to send: else to receive; sockets: not known before data moves */
    const char *program; /* "": unknown */
};

/* The thread that held a lock, at the latest probe that read it from the lock, and what such threads did. */
struct hp_wait_holder {
    uint32_t tid;
    const char *name;
    uint64_t working, waiting; /* probes that found the holder at work (running or ready to run), or waiting */
    uint32_t cause;            /* what it waited for, at the latest of these: enum hp_wait_cause */
};

/* Waits at one place. */
struct hp_wait_sums {
    const struct hp_site_sums *site;  /* NULL: outside all zones */
    uint32_t cause;                   /* enum hp_wait_cause */
    int32_t call;                     /* number of the system call; -1: none, or unknown */
    const char *what;                 /* the file, socket, pipe or child; "": none, or unknown */
    const struct hp_site_sums *other; /* site of the thread that is waited for, or holds the lock; NULL: unknown */
    const struct hp_wait_end *end;    /* pipe, socket: the other end; NULL: unknown */
    struct hp_wait_holder *holder;    /* lock: who held it; NULL: no probe could read it from the lock */
    uint64_t ns;
    uint64_t longest_ns; /* of that, in one entry of a session: `end` and `holder` are of that one */
    uint64_t beside_ns;  /* of that, while another thread of the run was on CPU; see struct hp_wait */
    uint64_t probes;
};

/* The same at one place of the call tree. */
struct hp_node_waits {
    uint64_t ns;
    uint64_t by_cause[HP_WAIT_CAUSES];
};

struct hp_run_waits {
    struct hp_wait_sums **all; /* the longest first */
    size_t count;
    struct hp_node_waits **nodes; /* one per node of the profile's tree, in the same order; NULL: no waits */
    size_t sessions;              /* watched sessions; 0: none */
    uint64_t probes;              /* samples of threads */
    uint64_t watched_ns;          /* of all threads together: running, runnable or waiting */
    uint64_t waited_ns;           /* of that, waits, all that follows */
    uint64_t left_out_ns;         /* waits without a row, for lack of space */
    uint64_t misplaced_ns;        /* waits without a row: in functions, beyond the functions' time ... */
    uint64_t misplaced_queue_ns;  /* ... and of that, run queue */
    uint64_t watcher_ns;          /* CPU time of the observer */
    uint64_t unwatched;           /* threads that could not be watched, at least */
    uint32_t period_us; /* mean time between two samples of a process; of the process sampled least often */
    bool is_blind;      /* some system calls could not be identified */
};

/* NULL: no memory. */
const struct hp_run_waits *hp_waits_of_run(struct hp_arena *arena, const struct hp_profile *profile);

/* Whether a session of the run was watched. */
bool hp_run_has_waits(const struct hp_run *run);

/*
 * Why the waits of a process are not known: its session's, or that of the program it executed then; NULL: they are,
 * or none were to be watched, or it may still be looked at.
 */
const char *hp_wait_unwatched_reason(const struct hp_snapshot *session);

/* The site of the node in a wait of a session; NULL for roots, and for threads without a node. */
const struct hp_site_sums *hp_wait_site(const struct hp_profile *profile, uint32_t session, uint32_t node);

/* Whether a wait in that system call is for the other end to send: else for it to receive. */
bool hp_wait_is_for_sender(int32_t call);

/* "from xz", "to md5sum", "with redis-server", "within the process": the other end, if it is known. */
void hp_wait_put_end(struct hp_text *text, const struct hp_wait_sums *wait);

/* The idle part of it, by hp_wait_idleness_with. */
uint64_t hp_wait_idle_ns(const struct hp_wait_sums *wait);

/* The waits of one site. */
struct hp_site_waits {
    uint64_t ns; /* total, including the run queue */
    uint64_t idle_ns;
    uint64_t by_cause[HP_WAIT_CAUSES];
    uint64_t idle_by_cause[HP_WAIT_CAUSES]; /* of that, idle */
    const struct hp_wait_sums *longest;     /* single cause, call and file; NULL: it never waited */
};

/* For a site of the profile; NULL: outside all zones. */
void hp_waits_of_site(const struct hp_run_waits *waits, const struct hp_site_sums *site,
                      struct hp_site_waits *ret_waits);

/* All texts that the following can return. */
#define HP_WAIT_CAUSE_WORDS                                                                                        \
    "other|run queue|lock|sleep|poll|disk|socket|pipe|terminal|child|signal|page "                                 \
    "fault|stopped|condition|semaphore|"                                                                           \
    "barrier|thread|lock or condition|client"
/* "lock", "run queue" */
const char *hp_wait_cause_name(uint32_t cause);
/* The cause with this name, without details; HP_WAIT_OTHER: none has. */
uint32_t hp_wait_cause_named(const char *name, size_t length);

#endif
