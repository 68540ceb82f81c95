/*
 * Watches what the processes of a run wait for, from a thread of its own, as long as the run lasts (watch.h).
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_WATCHER_H
#define HP_CLI_WATCHER_H

#include <stdbool.h>
#include <stdint.h>

struct hp_watcher_wishes {
    bool has_waits;    /* what processes wait for is watched */
    bool has_stacks;   /* and the stacks of threads that wait are read, for the collector */
    uint32_t attached; /* a process whose session is not its own, but of somebody who looks at it; 0: none */
};

/*
 * Begins to take the census of the run, and to watch what every process waits for that has, or will have, a session in the folder,
 * if that is wanted. Says nothing if that is not possible.
 */
void hp_watcher_start(const char *folder, const struct hp_watcher_wishes *wishes);

/* Has it look once more, at once, and waits for that, but not for long: we are about to be stopped. */
void hp_watcher_look_now(void);

/* Ends it; all that was seen is in the sessions then. */
void hp_watcher_end(void);

#endif
