/*
 * What the stacks of a session have in all, from one reading to the next: the difference is what is new. Between
 * readings only sums are kept, and stacks are known by a hash.
 *
 *     struct hp_push_reading reading = {0};
 *     hp_push_reading_add(&reading, node, hash, values) for each stack
 *     if (hp_push_sums_take(&sums, &reading))
 *         ... reading.all[at] has what is new in reading.nodes[at] ...
 *     hp_push_reading_free(&reading);
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_PUSH_SUMS_H
#define HP_PUSH_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HP_PUSH_CPU_NS, HP_PUSH_CPU_COUNT, HP_PUSH_WAITING_NS, HP_PUSH_WAITING_COUNT, HP_PUSH_VALUES };

struct hp_push_sum {
    uint64_t hash, values[HP_PUSH_VALUES];
};

/* Zeroed at first. */
struct hp_push_sums {
    struct hp_push_sum *all; /* sorted by hash */
    size_t count;
    uint64_t totals[HP_PUSH_VALUES]; /* what was new in all readings */
};

void hp_push_sums_free(struct hp_push_sums *sums);

/* Stacks, in any order. */
struct hp_push_reading {
    struct hp_push_sum *all;
    uint32_t *nodes;
    size_t count, room, node_room;
    bool lacks_memory;
};

/* One without values is left out. */
void hp_push_reading_add(struct hp_push_reading *reading, uint32_t node, uint64_t hash,
                         const uint64_t values[HP_PUSH_VALUES]);
void hp_push_reading_free(struct hp_push_reading *reading);

/*
 * The reading becomes what is new in it. All that was ever new adds up to the latest reading, unless that has less
 * than one before. False: no memory, and the sums are as they were.
 */
bool hp_push_sums_take(struct hp_push_sums *sums, struct hp_push_reading *reading);

#endif
