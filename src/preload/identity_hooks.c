/*
 * Interposed functions by which a process changes who and where it is: its user, its root, its namespaces. A
 * session that has not begun (src/record/core/no_session.h) could not begin afterwards: its folder would be out of
 * reach. So it begins now. Programs that are executed afterwards may not be able to read this library (preload.h).
 * These functions are called rarely, and forwarded unchanged. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <grp.h>
#include <sched.h>
#include <stddef.h>
#include <unistd.h>

#include "hook_entries.h"
#include "preload.h"
#include "real_functions.h"

static struct {
    HP_BEHIND_US(setuid);
    HP_BEHIND_US(setgid);
    HP_BEHIND_US(seteuid);
    HP_BEHIND_US(setegid);
    HP_BEHIND_US(setreuid);
    HP_BEHIND_US(setregid);
    HP_BEHIND_US(setresuid);
    HP_BEHIND_US(setresgid);
    HP_BEHIND_US(setgroups);
    HP_BEHIND_US(initgroups);
    HP_BEHIND_US(chroot);
    HP_BEHIND_US(unshare);
    HP_BEHIND_US(setns);
} next;

static void find_each(void)
{
    HP_FIND(setuid);
    HP_FIND(setgid);
    HP_FIND(seteuid);
    HP_FIND(setegid);
    HP_FIND(setreuid);
    HP_FIND(setregid);
    HP_FIND(setresuid);
    HP_FIND(setresgid);
    HP_FIND(setgroups);
    HP_FIND(initgroups);
    HP_FIND(chroot);
    HP_FIND(unshare);
    HP_FIND(setns);
}

/* Early: the dynamic linker may hold a lock that a forked child would wait for forever. */
__attribute__((constructor)) static void find_next(void) { hp_resolve_all(find_each); }

#define CHANGE(name, ...)                                                                                          \
    if (__builtin_expect(!HP_IS_THERE(name), 0))                                                                   \
        find_next();                                                                                               \
    hotpath_v1_begin();                                                                                            \
    const int result_ = HP_IS_THERE(name) ? next.name(__VA_ARGS__) : hp_no_such_function();                        \
    if (result_ == 0)                                                                                              \
        hp_preload_note_move();                                                                                    \
    return result_

HP_PUBLIC int setuid(uid_t user) { CHANGE(setuid, user); }
HP_PUBLIC int setgid(gid_t group) { CHANGE(setgid, group); }
HP_PUBLIC int seteuid(uid_t user) { CHANGE(seteuid, user); }
HP_PUBLIC int setegid(gid_t group) { CHANGE(setegid, group); }
HP_PUBLIC int setreuid(uid_t real, uid_t effective) { CHANGE(setreuid, real, effective); }
HP_PUBLIC int setregid(gid_t real, gid_t effective) { CHANGE(setregid, real, effective); }
HP_PUBLIC int setresuid(uid_t real, uid_t effective, uid_t saved) { CHANGE(setresuid, real, effective, saved); }
HP_PUBLIC int setresgid(gid_t real, gid_t effective, gid_t saved) { CHANGE(setresgid, real, effective, saved); }
HP_PUBLIC int setgroups(size_t count, const gid_t *groups) { CHANGE(setgroups, count, groups); }
HP_PUBLIC int initgroups(const char *user, gid_t group) { CHANGE(initgroups, user, group); }
HP_PUBLIC int chroot(const char *path) { CHANGE(chroot, path); }
HP_PUBLIC int unshare(int what) { CHANGE(unshare, what); }
HP_PUBLIC int setns(int space, int kind) { CHANGE(setns, space, kind); }
