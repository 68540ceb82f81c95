/*
 * When the stacks of a run had their weights: what each slot of its time adds to the nodes of the tree. A slot
 * stands for `slot_ns`. When all slots are used, pairs of them are merged, as on the time axis of a session
 * (axis.h).
 *
 *     struct hp_stack_slots slots;
 *     hp_stack_slots_begin(&slots, now, seed);
 *     hp_stack_slots_add(&slots, HP_SLOT_CPU, &(struct hp_slot_weight){node, ns, wall_ns}, at_ns);
 *     hp_stack_slots_spread(&slots, HP_SLOT_WAITING, &(struct hp_slot_weight){...}, from_ns, to_ns);
 *     hp_stack_slots_settle(&slots, UINT64_MAX);      before they are read
 *     hp_stack_slots_free(&slots);
 *
 * Merged slots do not have fewer stacks, since most stacks of a large program are rare. So a slot keeps a choice of
 * at most HP_SLOT_ENTRIES per kind, made at random and in proportion to their weights: heavy stacks stay exact,
 * a light one stands for others like it, and sums stay exact. SPDX-License-Identifier: MIT
 */
#ifndef HP_COLLECT_STACK_SLOTS_H
#define HP_COLLECT_STACK_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hash_index.h"

#define HP_STACK_SLOTS 512u
#define HP_STACK_FIRST_SLOT_NS UINT64_C(250000000)
#define HP_SLOT_ENTRIES 1800u /* of a kind, in a slot */
#define HP_SLOT_PARTS 255u    /* all of an amount */
#define HP_SLOT_MOST_SHIFT 20u

/* What weighs; each has a part that is known of it, too. */
enum hp_slot_kind {
    HP_SLOT_CPU,     /* CPU time; its part is time on the clock (HP_STACK_WALL_NS) */
    HP_SLOT_WAITING, /* time neither running nor runnable; its part is idle */
    HP_SLOT_HEAP,    /* allocated bytes; without a part */
    HP_SLOT_KINDS
};

/* The weight of a node, in units of the slot. */
struct hp_slot_entry {
    uint32_t node, amount;
};

/* One kind of weights in one slot. */
struct hp_stack_slot {
    struct hp_slot_entry *entries; /* sorted by node */
    uint8_t *parts;                /* of each, in 1/HP_SLOT_PARTS; in the same block */
    uint32_t count;
    uint32_t shift;        /* a unit is 1 << shift */
    uint32_t changes;      /* how often it was added to */
    uint64_t amount, part; /* sums, exact */
};

struct hp_open_slots;

struct hp_stack_slots {
    uint64_t start_ns; /* of the first slot, by CLOCK_MONOTONIC */
    uint64_t slot_ns;
    uint64_t latest_ns; /* until when weights are known */
    struct hp_stack_slot all[HP_SLOT_KINDS][HP_STACK_SLOTS];
    /* Private from here on. */
    uint64_t random;
    struct hp_open_slots *open;
};

/* What is added to a node. */
struct hp_slot_weight {
    uint32_t node;
    int64_t amount, part; /* negative: what was too much before */
};

/* False: no memory. The same seed makes the same choices. */
bool hp_stack_slots_begin(struct hp_stack_slots *slots, uint64_t start_ns, uint64_t seed);

/* Adds a weight to a moment. Without memory it is lost. */
void hp_stack_slots_add(struct hp_stack_slots *slots, enum hp_slot_kind kind, const struct hp_slot_weight *weight,
                        uint64_t at_ns);

/*
 * Adds a weight to all of the time between two moments, evenly. What is taken back is taken from the end of it and
 * then from the time before, as far as it is known.
 */
void hp_stack_slots_spread(struct hp_stack_slots *slots, enum hp_slot_kind kind,
                           const struct hp_slot_weight *weight, uint64_t from_ns, uint64_t to_ns);

/* Slots that ended before that time are made compact. More can be added to any slot all the same. */
void hp_stack_slots_settle(struct hp_stack_slots *slots, uint64_t before_ns);

/* The weights of a slot; together they are its sums. */
typedef void hp_slot_take(void *context, uint32_t node, uint64_t amount, uint64_t part);
void hp_stack_slot_each(const struct hp_stack_slot *slot, hp_slot_take *take, void *context);

/* The slot of a moment, at most the last one. */
static inline uint32_t hp_stack_slot_at(const struct hp_stack_slots *slots, uint64_t at_ns)
{
    const uint64_t since = at_ns > slots->start_ns ? at_ns - slots->start_ns : 0;
    return since / slots->slot_ns < HP_STACK_SLOTS ? (uint32_t)(since / slots->slot_ns) : HP_STACK_SLOTS - 1;
}

/* Memory that it takes for a kind. */
size_t hp_stack_slots_bytes(const struct hp_stack_slots *slots, enum hp_slot_kind kind);
void hp_stack_slots_free(struct hp_stack_slots *slots);

#endif
