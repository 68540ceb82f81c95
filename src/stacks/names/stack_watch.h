/*
 * The stacks of a run while it goes on, and when it is over. While somebody asks for them, `hotpath run` and
 * `hotpath record` name what was found so far, once a second, and replace their file (stack_file.h). The program
 * itself has nothing to do with it.
 *
 *     struct hp_stack_watch watch = {0};
 *     if (hp_stack_watch_look(&watch, folder, &stacks))     each time that something is shown
 *         they are new: forget the others
 *
 *     hp_stack_watch_now(folder, &stacks);                  once, as of now
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_NAMES_STACK_WATCH_H
#define HP_NAMES_STACK_WATCH_H

#include <time.h>

#include "named_stacks.h"

/*
 * Who wants to see stacks touches this file. It is there while the run can show them; its time is when they were
 * last asked for, and expires.
 */
#define HP_STACKS_WANTED_NAME "stacks.wanted"
#define HP_STACKS_WANTED_NS UINT64_C(5000000000)

/* The file that was read last. Zeroed at first. */
struct hp_stack_watch {
    uint64_t inode;
    struct timespec changed;
    bool is_final; /* there will be no other */
};

/* Asks for the stacks of the run with that folder. True: there are others than those that were read last. */
bool hp_stack_watch_look(struct hp_stack_watch *watch, const char *folder, struct hp_named_stacks *ret_stacks);

/* From now on, while the run goes on, others are only those that it writes later. */
void hp_stack_watch_renew(struct hp_stack_watch *watch, const char *folder);

/*
 * Reads the stacks of a run once. If it goes on, waits until they are up to date, which takes at most a few
 * seconds. False: as hp_stack_file_read.
 */
bool hp_stack_watch_now(const char *folder, struct hp_named_stacks *ret_stacks);

/* ---------------------------------------------------------------------------------------------- the other side */

/* Says that stacks can be asked for, or not any more. */
void hp_stacks_offer(const char *folder);
void hp_stacks_withdraw(const char *folder);

/* Whether somebody has asked for them, not long ago. */
bool hp_stacks_are_wanted(const char *folder);

/* From when they were named to when they are named again, if that took so much CPU time. */
uint64_t hp_stacks_pause_ns(uint64_t cost_ns);

#endif
