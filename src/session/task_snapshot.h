/* Reading the open tasks of a session, by walks as in snapshot.h. SPDX-License-Identifier: MIT */
#ifndef HP_SESSION_TASK_SNAPSHOT_H
#define HP_SESSION_TASK_SNAPSHOT_H

#include "snapshot.h"

/* The slots of open tasks, in no order. */
bool hp_snapshot_next_task(const struct hp_snapshot *snapshot, struct hp_walk *walk, struct hp_task_slot *ret_slot);

#endif
