/*
 * A session for a running process that hotpath is not loaded into: we create it, and it holds what can be seen from
 * outside. SPDX-License-Identifier: MIT
 */
#ifndef HP_OBSERVE_ATTACHED_H
#define HP_OBSERVE_ATTACHED_H

#include <stdbool.h>
#include <stdint.h>

/* Creates it in the folder, with room for the process's waits and its threads' CPU time. False: see errno. */
bool hp_attached_begin(const char *folder, uint32_t pid);

/* Called periodically: records the CPU time of the process. False: it has ended or executed another program. */
bool hp_attached_look(void);

/* Marks the session as finished. */
void hp_attached_end(void);

#endif
