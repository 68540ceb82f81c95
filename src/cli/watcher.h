/*
 * Watches what the processes of a run wait for, from a thread of its own, as long as the run lasts (watch.h).
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_WATCHER_H
#define HP_CLI_WATCHER_H

#include <stdbool.h>

/*
 * Begins to take the census of the run, and to watch what every process waits for that has, or will have, a session in the folder,
 * unless that is not wanted. Says nothing if that is not possible.
 */
void hp_watcher_start(const char *folder, bool with_waits);

/* Has it look once more, at once, and waits for that, but not for long: we are about to be stopped. */
void hp_watcher_look_now(void);

/* Ends it; all that was seen is in the sessions then. */
void hp_watcher_end(void);

#endif
