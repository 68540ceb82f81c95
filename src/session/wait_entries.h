/*
 * The sampler's table of waits: one entry per place, cause, system call and what it was for. Threads share entries.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_SESSION_WAIT_ENTRIES_H
#define HP_SESSION_WAIT_ENTRIES_H

#include "wait_place.h"

#define HP_NO_ENTRY (-1)
#define HP_NO_ROOM (-2)

/* The entry for this wait at the thread's place, made if missing. HP_NO_ROOM: all are taken. */
int32_t hp_wait_entry_for(struct hp_proc_sampler *sampler, const struct hp_watched *thread,
                          const struct hp_wait_found *finding, struct hp_wait_place other);

/* Adds to a sum, which never becomes negative. */
void hp_wait_add(uint64_t *sum, int64_t ns);

/* Adds to an entry and to the waits of its thread; negative: takes back. */
void hp_wait_credit(struct hp_proc_sampler *sampler, struct hp_watched *thread, int32_t at, int64_t ns,
                    uint32_t probes);

#endif
