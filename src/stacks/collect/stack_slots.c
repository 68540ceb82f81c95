/*
 * The stacks of a run by time.
 *
 * Weights are added to open slots, in which a hash index finds the node. A slot that is not added to any more is
 * made compact: 9 bytes for each of its stacks. It is opened again when something comes late.
 *
 * The choice among n stacks for m places: a stack with at least 1/m of all keeps its place and its weight, as long
 * as there is one. The others share the places that are left, by their weights: m points at equal distances, from a
 * random one on, are laid over them in the order of their nodes, and what a point falls on gets the weight between
 * two points. So each stack is expected to get what it had, and sums are what they were. Stacks beside each other
 * in the tree were found one after the other, and are often alike: this makes the error smaller than that of a
 * choice without order. SPDX-License-Identifier: MIT
 */
#include "stack_slots.h"

#include <stdlib.h>
#include <string.h>

#include "arith.h"
#include "growing_array.h"
#include "sort.h"

#define MOST_OPEN 16u                      /* slots of a kind */
#define FULL ((size_t)2 * HP_SLOT_ENTRIES) /* then an open slot makes its choice */
#define MOST_TAKEN_BACK 16u                /* slots from which too much is taken back, or to which it is moved */

struct weight {
    uint32_t node;
    uint64_t amount, part;
};

struct open_slot {
    bool is_open;
    uint32_t slot;
    struct weight *all;
    size_t count, room;
    struct hp_hash_index index; /* by node */
};

struct hp_open_slots {
    struct open_slot all[HP_SLOT_KINDS][MOST_OPEN];
    struct weight merged[FULL];
    struct hp_keyed amounts[FULL + 1], room[FULL + 1];
};

/* ------------------------------------------------------------------------------------------------- the choice */

/* splitmix64; from 0 to 1. */
static double random_part(uint64_t *random)
{
    *random += UINT64_C(0x9e3779b97f4a7c15);
    return (double)(hp_mixed(*random) >> 11) * 0x1p-53;
}

/* As `part` is to `whole`. */
static uint64_t same_part(uint64_t number, uint64_t part, uint64_t whole)
{
    return whole > 0 ? hp_reduced(number, (double)part / (double)whole) : 0;
}

static size_t leave_empty_out(struct weight *all, size_t count)
{
    size_t kept = 0;
    for (size_t at = 0; at < count; at++)
        if (all[at].amount > 0)
            all[kept++] = all[at];
    return kept;
}

static int by_node(const void *a, const void *b)
{
    return hp_by_number(((const struct weight *)a)->node, ((const struct weight *)b)->node);
}

/* How the light ones share the places that heavy ones leave. */
struct sharing {
    uint64_t heavy;  /* the weight from which one is heavy */
    uint64_t rest;   /* the sum of the light ones */
    uint64_t places; /* for them */
};

static struct sharing share_places(struct hp_open_slots *open, const struct weight *all, size_t count)
{
    struct sharing sharing = {.heavy = UINT64_MAX, .places = HP_SLOT_ENTRIES};
    for (size_t at = 0; at < count; at++) {
        open->amounts[at] = (struct hp_keyed){all[at].amount, 0};
        sharing.rest += all[at].amount;
    }
    hp_keyed_sort(open->amounts, open->room, count);
    for (size_t at = count; at-- > 0 && sharing.places > 1;) {
        const uint64_t amount = open->amounts[at].key;
        if (amount < sharing.rest / sharing.places + (sharing.rest % sharing.places != 0))
            break;
        sharing.heavy = amount;
        sharing.rest -= amount;
        sharing.places--;
    }
    return sharing;
}

/* Where the points are. */
struct points {
    double step, next;
    uint64_t passed;   /* weights so far */
    uint64_t taken;    /* points so far */
    uint64_t assigned; /* the weights of these */
};

/* The weight that one gets from the points that fall on it. */
static uint64_t take_points(struct points *points, const struct sharing *sharing, uint64_t amount)
{
    uint64_t got = 0;
    points->passed += amount;
    for (; points->taken < sharing->places && points->next < (double)points->passed; points->next += points->step)
        got += sharing->rest / sharing->places + (points->taken++ < sharing->rest % sharing->places);
    points->assigned += got;
    return got;
}

static uint64_t sum_of_parts(const struct weight *all, size_t count)
{
    uint64_t sum = 0;
    for (size_t at = 0; at < count; at++)
        sum += all[at].part;
    return sum;
}

/* The sum of the parts is to be what it was, as far as each is no more than its amount. */
static void scale_parts(struct weight *all, size_t count, uint64_t sum)
{
    const uint64_t now = sum_of_parts(all, count);
    for (size_t at = 0; now > 0 && at < count; at++) {
        const double part = (double)all[at].part * ((double)sum / (double)now);
        all[at].part = part < (double)all[at].amount ? (uint64_t)part : all[at].amount;
    }
}

/* Sorts them by node; returns how many are left. */
static size_t choose(struct hp_stack_slots *slots, struct weight *all, size_t count)
{
    size_t kept = 0, last_light = SIZE_MAX;
    count = leave_empty_out(all, count);
    if (count > 1)
        qsort(all, count, sizeof *all, by_node);
    if (count <= HP_SLOT_ENTRIES)
        return count;
    const uint64_t parts = sum_of_parts(all, count);
    const struct sharing sharing = share_places(slots->open, all, count);
    struct points points = {.step = (double)sharing.rest / (double)sharing.places};
    points.next = points.step * random_part(&slots->random);
    for (size_t at = 0; at < count; at++) {
        struct weight one = all[at];
        if (one.amount < sharing.heavy) {
            one.amount = take_points(&points, &sharing, all[at].amount);
            one.part = same_part(one.amount, all[at].part, all[at].amount);
            last_light = one.amount > 0 ? kept : last_light;
        }
        if (one.amount > 0)
            all[kept++] = one;
    }
    if (last_light < kept) /* a point may fall beyond the last one by rounding */
        all[last_light].amount += sharing.rest - points.assigned;
    scale_parts(all, kept, parts);
    return kept;
}

/* ---------------------------------------------------------------------------------------------- compact slots */

static void free_entries(struct hp_stack_slot *slot)
{
    free(slot->entries);
    slot->entries = NULL;
    slot->parts = NULL;
    slot->count = slot->shift = 0;
}

static uint32_t shift_for(const struct weight *all, size_t count)
{
    uint32_t shift = 0;
    for (size_t at = 0; at < count; at++)
        while (shift < HP_SLOT_MOST_SHIFT &&
               all[at].amount >> shift >= UINT32_MAX) /* what is carried may add one */
            shift++;
    return shift;
}

/* Of an amount, in the steps that an entry has; what rounding leaves is carried over to the next one. */
static uint8_t coarse_part(uint64_t part, uint64_t amount, double *carried)
{
    const double all = (double)part + *carried, steps = all / (double)amount * HP_SLOT_PARTS + 0.5;
    const uint8_t coarse = (uint8_t)(steps < 0 ? 0 : steps < HP_SLOT_PARTS ? steps : HP_SLOT_PARTS);
    *carried = all - coarse * (double)amount / HP_SLOT_PARTS;
    return coarse;
}

/* Without memory the entries are lost, but their sums are not. */
static void make_compact(struct hp_stack_slot *slot, const struct weight *all, size_t count)
{
    uint64_t amount_carried = 0;
    double part_carried = 0;
    free_entries(slot);
    slot->entries = count > 0 ? malloc(count * (sizeof *slot->entries + sizeof *slot->parts)) : NULL;
    if (slot->entries == NULL)
        return;
    slot->parts = (uint8_t *)(slot->entries + count);
    slot->shift = shift_for(all, count);
    for (size_t at = 0; at < count; at++) {
        const uint64_t amount = all[at].amount + amount_carried, units = amount >> slot->shift;
        const uint32_t kept = units < UINT32_MAX ? (uint32_t)units : UINT32_MAX;
        amount_carried = amount - ((uint64_t)kept << slot->shift);
        if (kept == 0)
            continue;
        slot->parts[slot->count] = coarse_part(all[at].part, amount, &part_carried);
        slot->entries[slot->count++] = (struct hp_slot_entry){all[at].node, kept};
    }
}

static uint64_t amount_at(const struct hp_stack_slot *slot, uint32_t at)
{
    return (uint64_t)slot->entries[at].amount << slot->shift;
}

static uint64_t part_at(const struct hp_stack_slot *slot, uint32_t at)
{
    const uint64_t amount = amount_at(slot, at);
    return amount / HP_SLOT_PARTS * slot->parts[at] + amount % HP_SLOT_PARTS * slot->parts[at] / HP_SLOT_PARTS;
}

/* What is taken of `*left`. */
static uint64_t take_of(uint64_t *left, uint64_t most)
{
    const uint64_t taken = *left < most ? *left : most;
    *left -= taken;
    return taken;
}

void hp_stack_slot_each(const struct hp_stack_slot *slot, hp_slot_take *take, void *context)
{
    uint64_t amounts = 0, parts = 0;
    for (uint32_t at = 0; at < slot->count; at++) {
        amounts += amount_at(slot, at);
        parts += part_at(slot, at);
    }
    uint64_t left = hp_less(slot->amount, amounts), missing = hp_less(slot->part, parts);
    uint64_t excess = hp_less(parts, slot->part);
    for (uint32_t at = 0; at < slot->count; at++) {
        const uint64_t amount = amount_at(slot, at) + take_of(&left, UINT64_MAX), part = part_at(slot, at);
        const uint64_t more = take_of(&missing, amount - part), less = take_of(&excess, part);
        take(context, slot->entries[at].node, amount, part + more - less);
    }
}

/* ------------------------------------------------------------------------------------------------- open slots */

static void forget(struct open_slot *open)
{
    free(open->all);
    hp_hash_free(&open->index);
    *open = (struct open_slot){.is_open = false};
}

static void close_slot(struct hp_stack_slots *slots, enum hp_slot_kind kind, struct open_slot *open)
{
    const size_t count = choose(slots, open->all, open->count);
    make_compact(&slots->all[kind][open->slot], open->all, count);
    forget(open);
}

/* The weight of a node, a new one if there is none. NULL: no memory. */
static struct weight *weight_of(struct open_slot *open, uint32_t node)
{
    if (!HP_MAKE_ROOM(open->all, open->count + 1, open->room) || !hp_hash_make_room(&open->index))
        return NULL;
    const uint32_t hash = hp_hash_with(&open->index, 0, node);
    size_t place = HP_HASH_BEGIN;
    for (uint32_t number; (number = hp_hash_next(&open->index, hash, &place)) != 0;)
        if (open->all[number - 1].node == node)
            return &open->all[number - 1];
    open->all[open->count] = (struct weight){.node = node};
    hp_hash_put(&open->index, place, hash, (uint32_t)open->count + 1);
    return &open->all[open->count++];
}

static void take_to_open(void *context, uint32_t node, uint64_t amount, uint64_t part)
{
    struct weight *weight = weight_of(context, node);
    if (weight == NULL)
        return;
    weight->amount += amount;
    weight->part += part;
}

/* A place that is free; the earliest slot is made compact if there is none. */
static struct open_slot *free_place(struct hp_stack_slots *slots, enum hp_slot_kind kind)
{
    struct open_slot *all = slots->open->all[kind], *earliest = &all[0];
    for (size_t at = 0; at < MOST_OPEN; at++) {
        if (!all[at].is_open)
            return &all[at];
        earliest = all[at].slot < earliest->slot ? &all[at] : earliest;
    }
    close_slot(slots, kind, earliest);
    return earliest;
}

static struct open_slot *open_slot(struct hp_stack_slots *slots, enum hp_slot_kind kind, uint32_t slot)
{
    struct open_slot *all = slots->open->all[kind];
    for (size_t at = 0; at < MOST_OPEN; at++)
        if (all[at].is_open && all[at].slot == slot)
            return &all[at];
    struct open_slot *open = free_place(slots, kind);
    *open = (struct open_slot){.is_open = true, .slot = slot};
    hp_stack_slot_each(&slots->all[kind][slot], take_to_open, open);
    free_entries(&slots->all[kind][slot]);
    return open;
}

/* Puts the weights into the index again. */
static void make_choice(struct hp_stack_slots *slots, struct open_slot *open)
{
    const size_t count = choose(slots, open->all, open->count);
    hp_hash_free(&open->index);
    for (open->count = 0; open->count < count;) {
        const struct weight one = open->all[open->count];
        struct weight *weight = weight_of(open, one.node);
        if (weight == NULL)
            return;
        *weight = one;
    }
}

/* ------------------------------------------------------------------------------------------------------ merging */

struct merging {
    struct weight *all;
    size_t count;
};

static void take_to_merge(void *context, uint32_t node, uint64_t amount, uint64_t part)
{
    struct merging *merging = context;
    merging->all[merging->count++] = (struct weight){node, amount, part};
}

/* Of weights that are sorted by node, those of the same one. */
static size_t add_up(struct weight *all, size_t count)
{
    size_t kept = 0;
    for (size_t at = 0; at < count; at++)
        if (kept > 0 && all[kept - 1].node == all[at].node) {
            all[kept - 1].amount += all[at].amount;
            all[kept - 1].part += all[at].part;
        } else {
            all[kept++] = all[at];
        }
    return kept;
}

static void merge_pair(struct hp_stack_slots *slots, struct hp_stack_slot *all, uint32_t first)
{
    struct hp_stack_slot *one = &all[first], *other = &all[first + 1], *to = &all[first / 2];
    struct merging merging = {.all = slots->open->merged};
    hp_stack_slot_each(one, take_to_merge, &merging);
    hp_stack_slot_each(other, take_to_merge, &merging);
    const struct hp_stack_slot sums = {.changes = one->changes + other->changes,
                                       .amount = one->amount + other->amount,
                                       .part = one->part + other->part};
    free_entries(one);
    free_entries(other);
    *one = *other = (struct hp_stack_slot){0};
    *to = sums;
    if (merging.count > 1)
        qsort(merging.all, merging.count, sizeof *merging.all, by_node);
    const size_t count = add_up(merging.all, merging.count);
    make_compact(to, merging.all, choose(slots, merging.all, count));
}

static void merge_slots(struct hp_stack_slots *slots)
{
    hp_stack_slots_settle(slots, UINT64_MAX);
    for (size_t kind = 0; kind < HP_SLOT_KINDS; kind++)
        for (uint32_t at = 0; at < HP_STACK_SLOTS; at += 2)
            merge_pair(slots, slots->all[kind], at);
    slots->slot_ns *= 2;
}

/* ------------------------------------------------------------------------------------------------------- adding */

bool hp_stack_slots_begin(struct hp_stack_slots *slots, uint64_t start_ns, uint64_t seed)
{
    memset(slots, 0, sizeof *slots);
    slots->start_ns = slots->latest_ns = start_ns;
    slots->slot_ns = HP_STACK_FIRST_SLOT_NS;
    slots->random = seed;
    slots->open = calloc(1, sizeof *slots->open);
    return slots->open != NULL;
}

/* Makes slots longer until there is one for that moment. */
static uint32_t slot_for(struct hp_stack_slots *slots, uint64_t at_ns)
{
    while (hp_less(at_ns, slots->start_ns) / slots->slot_ns >= HP_STACK_SLOTS)
        merge_slots(slots);
    slots->latest_ns = at_ns > slots->latest_ns ? at_ns : slots->latest_ns;
    return hp_stack_slot_at(slots, at_ns);
}

static void move_part(struct hp_stack_slot *slot, struct weight *weight, uint64_t *excess)
{
    const uint64_t more = hp_less(weight->part, weight->amount);
    weight->part -= more;
    slot->part -= more;
    *excess += more;
    const uint64_t moved = take_of(excess, weight->amount - weight->part);
    weight->part += moved;
    slot->part += moved;
    slot->changes += more + moved > 0;
}

/*
 * No part is more than its amount, but they are not always told of the same slot: of a thread that waited, idle,
 * it may be known only later that it had a CPU or was ready to run in the last of that time. What is too much in a
 * slot is moved to those before, as far as they have room for it.
 */
static void move_excess(struct hp_stack_slots *slots, enum hp_slot_kind kind, uint32_t node, uint32_t last)
{
    uint64_t excess = 0;
    for (uint32_t before = 0; before < MOST_TAKEN_BACK && before <= last && (before == 0 || excess > 0); before++) {
        struct weight *weight = weight_of(open_slot(slots, kind, last - before), node);
        if (weight == NULL)
            return;
        move_part(&slots->all[kind][last - before], weight, &excess);
    }
}

static void add_to_slot(struct hp_stack_slots *slots, enum hp_slot_kind kind, uint32_t slot,
                        const struct weight *weight)
{
    struct open_slot *open = open_slot(slots, kind, slot);
    struct weight *to = weight_of(open, weight->node);
    if (to == NULL)
        return;
    to->amount += weight->amount;
    to->part += weight->part;
    slots->all[kind][slot].amount += weight->amount;
    slots->all[kind][slot].part += weight->part;
    slots->all[kind][slot].changes++;
    if (to->part > to->amount) {
        move_excess(slots, kind, weight->node, slot);
        return;
    }
    if (open->count >= FULL)
        make_choice(slots, open);
}

void hp_stack_slots_add(struct hp_stack_slots *slots, enum hp_slot_kind kind, const struct hp_slot_weight *weight,
                        uint64_t at_ns)
{
    hp_stack_slots_spread(slots, kind, weight, at_ns, at_ns);
}

/* What of an amount lies before the end of a slot, if it begins and ends at these times. */
static uint64_t before_end(const struct hp_stack_slots *slots, uint32_t slot, uint64_t amount, uint64_t from_ns,
                           uint64_t to_ns)
{
    const uint64_t ends_ns = slots->start_ns + (slot + UINT64_C(1)) * slots->slot_ns;
    return ends_ns < to_ns ? same_part(amount, hp_less(ends_ns, from_ns), to_ns - from_ns) : amount;
}

static void add_between(struct hp_stack_slots *slots, enum hp_slot_kind kind, const struct weight *weight,
                        uint64_t from_ns, uint64_t to_ns)
{
    uint64_t amount = 0, part = 0;
    const uint32_t last = slot_for(slots, to_ns);
    for (uint32_t slot = hp_stack_slot_at(slots, from_ns); slot <= last; slot++) {
        const uint64_t amount_now = before_end(slots, slot, weight->amount, from_ns, to_ns);
        const uint64_t part_now = before_end(slots, slot, weight->part, from_ns, to_ns);
        const struct weight its = {weight->node, amount_now - amount, part_now - part};
        if (its.amount > 0 || its.part > 0)
            add_to_slot(slots, kind, slot, &its);
        amount = amount_now;
        part = part_now;
    }
}

static void take_from_slot(struct hp_stack_slots *slots, enum hp_slot_kind kind, uint32_t slot,
                           struct weight *weight)
{
    struct weight *from = weight_of(open_slot(slots, kind, slot), weight->node);
    if (from == NULL)
        return;
    const uint64_t amount = take_of(&weight->amount, from->amount), part = take_of(&weight->part, from->part);
    from->amount -= amount;
    from->part -= part;
    slots->all[kind][slot].amount -= amount;
    slots->all[kind][slot].part -= part;
    slots->all[kind][slot].changes++;
    if (from->part > from->amount)
        move_excess(slots, kind, weight->node, slot);
}

static void take_back(struct hp_stack_slots *slots, enum hp_slot_kind kind, struct weight weight, uint64_t to_ns)
{
    const uint32_t last = slot_for(slots, to_ns);
    for (uint32_t before = 0; before < MOST_TAKEN_BACK && before <= last && weight.amount + weight.part > 0;
         before++)
        take_from_slot(slots, kind, last - before, &weight);
}

static uint64_t size_of(int64_t number) { return number > 0 ? (uint64_t)number : 0; }

void hp_stack_slots_spread(struct hp_stack_slots *slots, enum hp_slot_kind kind,
                           const struct hp_slot_weight *weight, uint64_t from_ns, uint64_t to_ns)
{
    const struct weight more = {weight->node, size_of(weight->amount), size_of(weight->part)};
    const struct weight less = {weight->node, size_of(-weight->amount), size_of(-weight->part)};
    if (slots->open == NULL)
        return;
    if (more.amount > 0 || more.part > 0)
        add_between(slots, kind, &more, from_ns, to_ns);
    if (less.amount > 0 || less.part > 0)
        take_back(slots, kind, less, to_ns);
}

void hp_stack_slots_settle(struct hp_stack_slots *slots, uint64_t before_ns)
{
    for (size_t kind = 0; slots->open != NULL && kind < HP_SLOT_KINDS; kind++)
        for (size_t at = 0; at < MOST_OPEN; at++) {
            struct open_slot *open = &slots->open->all[kind][at];
            const uint64_t ended_ns = slots->start_ns + (open->slot + UINT64_C(1)) * slots->slot_ns;
            if (open->is_open && ended_ns <= before_ns)
                close_slot(slots, (enum hp_slot_kind)kind, open);
        }
}

size_t hp_stack_slots_bytes(const struct hp_stack_slots *slots, enum hp_slot_kind kind)
{
    size_t bytes = 0;
    for (size_t at = 0; at < HP_STACK_SLOTS; at++)
        bytes += slots->all[kind][at].count * (sizeof(struct hp_slot_entry) + sizeof(uint8_t));
    for (size_t at = 0; slots->open != NULL && at < MOST_OPEN; at++) {
        const struct open_slot *open = &slots->open->all[kind][at];
        bytes += open->room * sizeof *open->all + open->index.size * sizeof *open->index.slots;
    }
    return bytes;
}

void hp_stack_slots_free(struct hp_stack_slots *slots)
{
    for (size_t kind = 0; kind < HP_SLOT_KINDS; kind++) {
        for (size_t at = 0; slots->open != NULL && at < MOST_OPEN; at++)
            forget(&slots->open->all[kind][at]);
        for (size_t at = 0; at < HP_STACK_SLOTS; at++)
            free_entries(&slots->all[kind][at]);
    }
    free(slots->open);
    memset(slots, 0, sizeof *slots);
}
