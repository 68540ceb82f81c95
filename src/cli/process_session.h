/*
 * Finds the session of a process in its mappings: also for a process in a container, whose folders are elsewhere.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_PROCESS_SESSION_H
#define HP_CLI_PROCESS_SESSION_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Its path as it can be opened from here. False: the process has no session, is gone, or belongs to another user.
 */
bool hp_process_session(const char *pid, char *path, size_t size);

#endif
