/* Allocations: see allocations.c. SPDX-License-Identifier: MIT */
#ifndef HP_ALLOC_ALLOCATIONS_H
#define HP_ALLOC_ALLOCATIONS_H

#include <stdbool.h>

#include "runtime.h"

/* Whether there is a session that counts allocations. */
static inline bool hp_records_allocations(void)
{
    return hp_page() != NULL && __atomic_load_n(&hp_runtime->gate, __ATOMIC_RELAXED) != 0 &&
           (HOTPATH_GET_(hp_runtime->live_settings.record) & HP_RECORD_ALLOC);
}

/*
 * Until it is given back, allocations of the calling thread are the recorder's own. One thread at a time; holds its
 * context if that is free.
 */
struct hotpath_context_ *hp_allocations_take_over(void);
void hp_allocations_give_back(struct hotpath_context_ *held);
/* Tells the libraries that interpose malloc whether anyone counts. Call after a session has started or ended. */
void hp_allocations_switch(void);
/*
 * What was allocated while the session was deferred: in a forked child, that of its parent is forgotten; in the
 * session, it is part of the totals.
 */
void hp_allocations_forget_early(void);
void hp_allocations_keep_early(void);
/* Prints why allocations are not counted, if they are not although malloc is interposed. */
void hp_allocations_explain(void);

#endif
