/*
 * Sessions for running processes that hotpath is not loaded into: we create them, and they hold what can be seen
 * from outside. A process has one for each program that it executes.
 *
 *     hp_attached_begin(folder, pid);
 *     hp_attached_meet(other) for each other process, when it is found
 *     hp_attached_look() now and then; from the thread that meets processes
 *     hp_attached_end();
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_OBSERVE_ATTACHED_H
#define HP_OBSERVE_ATTACHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Creates the session of the first process in the folder, with room for its waits and the CPU time of its threads.
 * False: see errno.
 */
bool hp_attached_begin(const char *folder, uint32_t pid);

/* Creates that of another process, unless it has one. False: we may not observe it, or there are too many. */
bool hp_attached_meet(uint32_t pid);

/* Records the CPU time of all processes, and which of them have ended or execute another program. */
void hp_attached_look(void);

/* Whether the first process still lives. From any thread. */
bool hp_attached_goes_on(void);

/* Marks all sessions as finished. */
void hp_attached_end(void);

/* Processes of other users, which cannot be observed. Until the next begin. */
struct hp_attached_refused {
    uint32_t pid;
    char name[16];
};
const struct hp_attached_refused *hp_attached_refused(size_t *ret_count);

/* How many processes have no session because there were too many. */
size_t hp_attached_left_out(void);

#endif
