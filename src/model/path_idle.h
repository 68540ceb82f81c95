/*
 * When a program had no work: its first thread waited for something from outside of the run (a request, a client,
 * a signal, a user who types), and no other thread of the run was at work meanwhile. Such time is part of no path:
 * what is between it are the busy stretches of a server. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_PATH_IDLE_H
#define HP_MODEL_PATH_IDLE_H

#include "profile.h"

/* In one function, in nanoseconds. */
struct hp_path_idle {
    uint64_t ns; /* in all */
    uint64_t by_cause[HP_WAIT_CAUSES];
};

/* Whether such a wait (enum hp_wait_cause) ends because something comes from outside. */
bool hp_path_is_for_outside(uint32_t cause);
/* What a wait of a process is for: if it has children in the run, a signal is that of their end, as in shells. */
uint32_t hp_path_cause(uint32_t cause, bool has_children);
bool hp_path_has_children(const struct hp_run *run, const struct hp_snapshot *session);

/* The next wait of the thread for work from outside, beginning with a walk of 0. False: there are no more. */
struct hp_path_idle_wait {
    uint32_t site, cause;
    uint64_t ns;
    uint64_t beside_ns; /* of that, beside work of other threads, as probes found it: at most */
};
struct hp_path_waiter {
    const struct hp_snapshot *session;
    const struct hp_thread *thread;
    bool has_children;
};
bool hp_path_next_idle(const struct hp_path_waiter *waiter, struct hp_walk *walk,
                       struct hp_path_idle_wait *ret_wait);

/*
 * Threads work in bursts shorter than the time between two probes, so these find more work beside waiting than
 * there was. The most there can be is all work of the run, without what was on the path while the thread did not
 * wait: `busy_ns`. 1e300: not known.
 */
double hp_path_most_beside_ns(const struct hp_run *run, double busy_ns);

#endif
