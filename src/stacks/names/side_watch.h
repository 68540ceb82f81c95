/*
 * The locks and the I/O of a run that may still go on, for those who look again and again. Naming takes time, so
 * they are read once a second, or more rarely if that would take more than a fiftieth of the time.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_NAMES_SIDE_WATCH_H
#define HP_NAMES_SIDE_WATCH_H

#include "io_names.h"
#include "lock_names.h"

struct hp_side_watch {
    struct hp_named_locks named_locks;
    struct hp_named_io named_io;
    uint64_t due_ns;
    /* What is known now; NULL: nothing. Gone when it is read again. */
    const struct hp_lock_profile *locks;
    const struct hp_io_profile *io;
};

/* `folder`: of a run, or the path of a session of none. `pid`: only this process of the run; 0: all. */
void hp_side_watch_look(struct hp_side_watch *watch, const char *folder, uint32_t pid);
/* The same for the folder of a run, or a session, whose process this is. */
void hp_side_watch_look_at(struct hp_side_watch *watch, const char *path, uint32_t pid);
void hp_side_watch_free(struct hp_side_watch *watch);

#endif
