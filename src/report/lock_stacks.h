/*
 * Stacks of functions that waited for locks, and of those that held them, from what samples found:
 * "main;worker;update_index".
 *
 *     struct hp_lock_stacks *stacks = hp_lock_stacks_make(arena, functions);
 *     text = hp_lock_waiter_stack(to, stacks, block);
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_REPORT_LOCK_STACKS_H
#define HP_REPORT_LOCK_STACKS_H

#include "columns.h"
#include "function_profile.h"
#include "lock_profile.h"

struct hp_arena;

/*
 * Where locks were held for longest that a function waited for, given by its index. With `holder`, in stacks that
 * this function is part of. NULL: no such stack was found.
 */
const char *hp_held_stack(struct hp_fields *to, const struct hp_function_profile *profile, uint32_t function,
                          const char *holder);

/* `profile` may be NULL: then there are no stacks. NULL: no memory. */
struct hp_lock_stacks; /* private */
struct hp_lock_stacks *hp_lock_stacks_make(struct hp_arena *arena, const struct hp_function_profile *profile);

/* In which the function was found waiting for longest, for things of that kind. NULL: it was not found. */
const char *hp_lock_waiter_stack(struct hp_fields *to, const struct hp_lock_stacks *stacks,
                                 const struct hp_lock_block *block);

/*
 * Where the holder was found for longest while locks were waited for, by the waiter if that is known. Where it is
 * not, as of all that signal, the way in which the function is called, by its time. NULL: it was not found.
 */
const char *hp_lock_holder_stack(struct hp_fields *to, const struct hp_lock_stacks *stacks,
                                 const struct hp_lock_block *block);

/*
 * "waits in serve > find; held in main > refresh > rebuild": the innermost functions of both that are the
 * program's. NULL: neither was found.
 */
const char *hp_lock_stacks_sentence(struct hp_fields *to, const struct hp_lock_stacks *stacks,
                                    const struct hp_lock_block *block);

#endif
