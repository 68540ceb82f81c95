/*
 * What was said of a run before. Who reads a run that goes on again and again may take differences, so counters do not fall from one
 * reading to the next: though a call that ends while it is read can be missed once, or be counted twice; though the shares of processor
 * time are estimates, and so are times where not all calls were timed; though the rate of the clock is known better and better.
 *
 *     struct hp_floors floors = {0};               of the reader, as long as it reads; NULL in a run that is read once
 *     struct row *before = hp_floors_find(&floors, hp_floors_key(kind, number), sizeof *before);
 *     if (before != NULL)
 *         hp_floor(&now->calls, &before->calls);
 *
 * In the last reading, when the run is over, nothing of this counts: then numbers are what they are. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_FLOORS_H
#define HP_MODEL_FLOORS_H

#include <stddef.h>
#include <stdint.h>

#include "arena.h"

struct hp_floor_entry;

struct hp_floors {
    struct hp_arena arena;
    double ns_per_tick; /* as it was once it was known well; 0: not yet */
    /* Private from here on. */
    struct hp_floor_entry **places;
    size_t mask, count;
};

/* What it is about: keys of different kinds are different. */
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
 * Numbers mixed, one after the other: hp_floors_mix(hp_floors_mix(kind, first), second). Small ones differ in the key as in the number: 1 and 4 are
 * not 4 and 1.
 */
static inline uint64_t hp_floors_mix(uint64_t key, uint64_t number)
{
    const uint64_t mixed = (key ^ key >> 32) * UINT64_C(0x9e3779b97f4a7c15) + number;
    return (mixed ^ mixed >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
}

/* Bytes that stay, all zero the first time. NULL: no memory, or no floors. */
void *hp_floors_find(struct hp_floors *floors, uint64_t key, size_t size);

/* The same; NULL also where nothing was said before. */
void *hp_floors_known(const struct hp_floors *floors, uint64_t key);

/* The higher of the two is what is said now. */
static inline void hp_floor(uint64_t *now, uint64_t *before)
{
    if (*now < *before)
        *now = *before;
    *before = *now;
}

void hp_floors_release(struct hp_floors *floors);

#endif
