/* Allocations: see allocations.c. SPDX-License-Identifier: MIT */
#ifndef HP_RECORD_ALLOCATIONS_H
#define HP_RECORD_ALLOCATIONS_H

#include <stdbool.h>

#include "runtime.h"

/* Whether there is a session that counts allocations. */
static inline bool hp_records_allocations(void)
{
    return hp_page() != NULL && __atomic_load_n(&hp_runtime->gate, __ATOMIC_RELAXED) != 0 &&
           (HOTPATH_GET_(hp_runtime->wishes.record) & HP_RECORD_ALLOC);
}

/* What the calling thread allocates is the recorder's, until it is given back. One thread at a time; its head, if free, is held. */
struct hotpath_head_ *hp_allocations_take_over(void);
void hp_allocations_give_back(struct hotpath_head_ *held);
/* Tells those who watch malloc whether anybody counts. A session has begun or ended. */
void hp_allocations_switch(void);
/* Says why allocations are not counted, if they are not although functions are there to count them. */
void hp_allocations_explain(void);

#endif
