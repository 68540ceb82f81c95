/*
 * Values of earlier readings of a run. A reader that polls a live run may take differences, so counters must not
 * decrease from one reading to the next. Without floors they could: a call that ends during a read can be missed
 * once or counted twice; CPU shares are estimates, and so are times where not all calls were timed; and the rate of
 * the clock is known better with time.
 *
 *     struct hp_floors floors = {0};      owned by the reader as long as it polls; NULL for a run that is read once
 *     struct row *before = hp_floors_find(&floors, hp_floors_key(kind, number), sizeof *before);
 *     if (before != NULL)
 *         hp_floor(&now->calls, &before->calls);
 *
 * The last reading, when the run is over, ignores floors and shows the true numbers. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_FLOORS_H
#define HP_MODEL_FLOORS_H

#include <stddef.h>
#include <stdint.h>

#include "arena.h"

struct hp_floor_entry;

struct hp_floors {
    struct hp_arena arena;
    double ns_per_tick; /* fixed once it was known well; 0: not yet */
    /* Private from here on. */
    struct hp_floor_entry **places;
    size_t mask, count;
};

/* What an entry is about; different kinds have different keys. */
enum hp_floor_kind {
    HP_FLOOR_SITE = 1,
    HP_FLOOR_PATH,
    HP_FLOOR_SESSION,
    HP_FLOOR_CPU,
    HP_FLOOR_CPU_OUTSIDE,
    HP_FLOOR_WAIT,
    HP_FLOOR_THREAD,
    HP_FLOOR_ALLOCS,
    HP_FLOOR_CPU_PATH,
    HP_FLOOR_WAIT_PATH,
};

/*
 * Mixes numbers one after the other: hp_floors_mix(hp_floors_mix(kind, first), second). Order matters: 1 and 4 are
 * not 4 and 1.
 */
static inline uint64_t hp_floors_mix(uint64_t key, uint64_t number)
{
    const uint64_t mixed = (key ^ key >> 32) * UINT64_C(0x9e3779b97f4a7c15) + number;
    return (mixed ^ mixed >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
}

/* Persistent bytes, all zero the first time. NULL: no memory, or no floors. */
void *hp_floors_find(struct hp_floors *floors, uint64_t key, size_t size);

/* The same; also NULL if there is no entry yet. */
void *hp_floors_known(const struct hp_floors *floors, uint64_t key);

/* Sets both to the higher of the two. */
static inline void hp_floor(uint64_t *now, uint64_t *before)
{
    if (*now < *before)
        *now = *before;
    *before = *now;
}

void hp_floors_release(struct hp_floors *floors);

#endif
