/*
 * Which thread allocated a block, so that it is known when another one frees it. SPDX-License-Identifier: MIT
 */
#ifndef HP_RECORD_OWNERS_H
#define HP_RECORD_OWNERS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime.h"

/* A number for a thread that begins to record: 0 for the first of the process. Under the lock. */
uint32_t hp_owner_new(void);

/* Whether there is more than one. Relaxed: who frees a block has it from who allocated it. */
static inline bool hp_owners_are_many(void) { return __atomic_load_n(&hp_page()->owners, __ATOMIC_RELAXED) > 1; }

/* Blocks that nobody wrote about are the first thread's. */
void hp_owner_write(const void *block, uint32_t owner);
uint32_t hp_owner_of(const void *block);

#endif
