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
 * Reads all of them in the folder of a run; of these processes only, if there are any. Or that beside a session
 * whose path this is. Trusts nothing in the files. False: there are none, or no memory. Free it in either case.
 */
bool hp_locks_read(const char *folder, const uint32_t *pids, size_t pid_count, struct hp_named_locks *ret_locks);
void hp_named_locks_free(struct hp_named_locks *locks);

#endif
