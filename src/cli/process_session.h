/* The session of a process, by what it has mapped: also of one in a container, whose folders are elsewhere. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_PROCESS_SESSION_H
#define HP_CLI_PROCESS_SESSION_H

#include <stdbool.h>
#include <stddef.h>

/* Its path as it can be opened from here. False: the process has none, is gone, or is not ours to look at. */
bool hp_process_session(const char *pid, char *path, size_t size);

#endif
