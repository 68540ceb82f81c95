/*
 * What functions waited for at locks, as hooks counted it (lock_profile.h). Where it is known, it stands in place
 * of what samples found: that threads waited for some lock, and where its holder seemed to be.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_LOCK_CAUSES_H
#define HP_MODEL_LOCK_CAUSES_H

#include <stdbool.h>
#include <stdint.h>

#include "lock_profile.h"

struct hp_run_waits;
struct hp_text;

/*
 * Whether a function has these two names: without arguments and what compilers append, since names of locks and of
 * stacks are from different sources.
 */
bool hp_lock_is_function(const char *a, const char *b);

/* Whether waiting of this cause (enum hp_wait_cause) is for things of this kind (enum hp_lock_kind). */
bool hp_lock_is_for(uint32_t kind, uint32_t cause);

/*
 * What a function waited for most, of `ns` that samples found it waiting for that cause: NULL if locks were not
 * counted, or if those that were explain less than half of it. A function that calls another one to lock is not
 * known as one that waits: then it is the lock that nearly all waiting was for, if there is one.
 */
const struct hp_lock_block *hp_lock_awaited(const struct hp_lock_profile *profile, const char *function,
                                            uint32_t cause, double ns);

/* The lock with the longest waiting of that cause, and all such waiting. NULL: none. */
const struct hp_lock_row *hp_lock_longest(const struct hp_lock_profile *profile, uint32_t cause,
                                          double *ret_all_ns);

/* How long this function let others wait for a lock, in whatever function these waited. */
double hp_lock_held_ns(const struct hp_lock_profile *profile, const struct hp_lock_row *lock, const char *holder);

/*
 * Of what samples found waiting for locks and other futexes, the time that was not counted, if that is most of it:
 * for locks that the program made of futexes, and those inside of the C library. 0: what was counted explains it.
 */
uint64_t hp_lock_unseen_ns(const struct hp_lock_profile *profile, const struct hp_run_waits *waits);

/* "held in ", or what else is said of those who let others wait for a lock of that kind (enum hp_lock_kind). */
const char *hp_lock_held_words(uint32_t kind);
/* "cache held in rebuild", "more signaled in main"; `between`: after the name of the lock. */
void hp_lock_put_block(struct hp_text *text, const struct hp_lock_block *block, const char *between);

#endif
