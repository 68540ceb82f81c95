/*
 * The critical path of a run of several processes: that of its first one, in which waits for other processes are
 * replaced by what these did meanwhile. For the end of children, that is their own paths. For messages at pipes and
 * sockets it is what the process at the other end did while it did not wait for messages itself: it is taken to
 * have worked on what is waited for. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_PATH_PROCESSES_H
#define HP_MODEL_PATH_PROCESSES_H

#include "path_profile.h"

/* NULL: no memory. */
const struct hp_run_path *hp_path_of_run(struct hp_arena *arena, const struct hp_path_sources *sources);

#endif
