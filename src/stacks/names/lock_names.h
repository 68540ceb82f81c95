/*
 * The locks of a run, from the files that its processes left (lock_layout.h), with names: of functions past
 * wrappers, and of global locks. SPDX-License-Identifier: MIT
 */
#ifndef HP_NAMES_LOCK_NAMES_H
#define HP_NAMES_LOCK_NAMES_H

#include "lock_profile.h"

struct hp_lock_names; /* private */

struct hp_named_locks {
    struct hp_lock_profile profile;
    struct hp_lock_names *names;
};

/*
 * Reads all of them in the folder of a run; of these processes only, if there are any. Trusts nothing in the files.
 * False: there are none, or no memory. Free it in either case.
 */
bool hp_locks_read(const char *folder, const uint32_t *pids, size_t pid_count, struct hp_named_locks *ret_locks);
void hp_named_locks_free(struct hp_named_locks *locks);

/*
 * The locks of a run that may still go on, for those who look again and again. Naming takes time, so they are read
 * once a second, or more rarely if that would take more than a fiftieth of the time.
 */
struct hp_lock_watch {
    struct hp_named_locks locks;
    bool is_known;
    uint64_t due_ns;
};

/* `pid`: only this process of the run; 0: all. NULL: nothing is known. What was returned before may be gone. */
const struct hp_lock_profile *hp_lock_watch_look(struct hp_lock_watch *watch, const char *folder, uint32_t pid);
/* The same for the folder of a run, or a session in one, whose process this is. */
const struct hp_lock_profile *hp_lock_watch_look_at(struct hp_lock_watch *watch, const char *path, uint32_t pid);
void hp_lock_watch_free(struct hp_lock_watch *watch);

#endif
