/*
 * A session of a process that knows nothing of it: made by us while it runs, for what can be seen from outside.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_ATTACHED_H
#define HP_CLI_ATTACHED_H

#include <stdbool.h>
#include <stdint.h>

/* Makes it in the folder, with a place for what the process waits for and what its threads use. False: see errno. */
bool hp_attached_begin(const char *folder, uint32_t pid);

/* From time to time: what the process has used. False: it has ended, or has become another program. */
bool hp_attached_look(void);

/* It is over. */
void hp_attached_end(void);

#endif
