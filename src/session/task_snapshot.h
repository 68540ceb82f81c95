/* Reading the tasks of a session that are open: see snapshot.h, whose walks these are. SPDX-License-Identifier: MIT */
#ifndef HP_SESSION_TASK_SNAPSHOT_H
#define HP_SESSION_TASK_SNAPSHOT_H

#include "snapshot.h"

/* The slots of tasks that are open, in no order. */
bool hp_snapshot_next_task(const struct hp_snapshot *snapshot, struct hp_walk *walk, struct hp_task_slot *ret_slot);

#endif
