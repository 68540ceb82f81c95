/*
 * Watches what the processes of a run wait for, in its own thread, as long as the run lasts (proc_sampler.h).
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_RUN_RUN_OBSERVER_H
#define HP_RUN_RUN_OBSERVER_H

#include <stdbool.h>
#include <stdint.h>

struct hp_run_observer_settings {
    bool has_waits;     /* sample what processes wait for */
    bool has_stacks;    /* also read the stacks of waiting threads, for the collector */
    bool has_locks;     /* tell those that count locks when CPUs are free */
    bool follows_paths; /* critical paths: segments that end go to the collector */
    bool is_attached;   /* the sessions are made from outside (attached.h), for all processes of the table */
};

/*
 * Starts the table of the run and, if wanted, sampling of the waits of every process that has, or will have, a
 * session in the folder. Prints nothing if that is not possible.
 */
void hp_run_observer_start(const char *folder, const struct hp_run_observer_settings *settings);

/* Requests one more round at once and waits for it, but not for long: we are about to be stopped. */
void hp_run_observer_sample_now(void);

/* Stops it; all results are in the sessions then. */
void hp_run_observer_end(void);

#endif
