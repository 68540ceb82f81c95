/*
 * What a run waited for: by site, cause, system call and file, as far as somebody watched. What is shown of waiting is a view
 * of this.
 *
 * All of it is exclusive: a site waits itself, not for the zones inside. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_WAIT_PROFILE_H
#define HP_MODEL_WAIT_PROFILE_H

#include "profile.h"

/* What was waited for at one place. */
struct hp_wait_sums {
    const struct hp_site_sums *site;  /* NULL: outside of all zones */
    uint32_t cause;                   /* enum hp_wait_cause */
    int32_t call;                     /* number of the system call; -1: none, or not known */
    const char *what;                 /* the file, socket, pipe or child; "": none, or not known */
    const struct hp_site_sums *other; /* where the thread is that is waited for, or has the lock; NULL: not known */
    uint64_t ns;
    uint64_t beside_ns; /* of that, while another thread of the run was at work; see struct hp_wait */
    uint64_t looks;
};

/* The same at one place of the call tree. */
struct hp_node_waits {
    uint64_t ns;
    uint64_t by_cause[HP_WAIT_CAUSES];
};

struct hp_run_waits {
    struct hp_wait_sums **all; /* the longest first */
    size_t count;
    struct hp_node_waits *
        *nodes;            /* as many as the profile's tree has, in the same order; NULL: nothing was waited for */
    size_t sessions;       /* that were watched; 0: none */
    uint64_t looks;        /* at threads */
    uint64_t watched_ns;   /* of all threads together: running, ready to run or waiting */
    uint64_t waited_ns;    /* of that, all that follows */
    uint64_t left_out_ns;  /* which is in no row: there was no space for it */
    uint64_t misplaced_ns; /* nor is this: seen in functions beyond the time that these took */
    uint64_t watcher_ns;   /* processor time that watching took */
    uint64_t unwatched;    /* threads for which there was no place, at least */
    uint32_t period_us;    /* mean time between two looks at a process; of that which was looked at least often */
    bool is_blind;         /* which system call it was could not always be seen */
};

/* NULL: no memory. */
const struct hp_run_waits *hp_waits_of_run(struct hp_arena *arena, const struct hp_profile *profile);

/* Whether somebody watched a session of the run. */
bool hp_run_has_waits(const struct hp_run *run);

/* The site of a node that a wait of a session names; NULL for roots, and for threads that have none. */
const struct hp_site_sums *hp_wait_site(const struct hp_profile *profile, uint32_t session, uint32_t node);

/* What of it is idle, by hp_wait_idleness. */
uint64_t hp_wait_idle_ns(const struct hp_wait_sums *wait);

/* A site alone. */
struct hp_site_waits {
    uint64_t ns; /* all of it, the run queue included */
    uint64_t idle_ns;
    uint64_t by_cause[HP_WAIT_CAUSES];
    uint64_t idle_by_cause[HP_WAIT_CAUSES]; /* of that, idle */
    const struct hp_wait_sums *longest;     /* single cause, call and file; NULL: it never waited */
};

/* Of a site of the profile; NULL: of what is outside of all zones. */
void hp_waits_of_site(const struct hp_run_waits *waits, const struct hp_site_sums *site,
                      struct hp_site_waits *ret_waits);

/* All that the following can say. */
#define HP_WAIT_CAUSE_WORDS                                                                                        \
    "other|run queue|lock|sleep|poll|disk|socket|pipe|terminal|child|signal|page "                                 \
    "fault|stopped|condition|semaphore|"                                                                           \
    "barrier|thread|lock or condition|client"
/* "lock", "run queue" */
const char *hp_wait_cause_name(uint32_t cause);

#endif
