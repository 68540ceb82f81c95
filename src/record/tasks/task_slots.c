/*
 * Ids and slots of tasks.
 *
 * An id is the place of a slot in the session, plus a generation that tells whether the slot belongs to another
 * task by now. Each thread has a list of free slots. A thread with many, because tasks created elsewhere end there,
 * gives a batch back; a thread without any takes one. If there are too many slots already, tasks do without: their
 * id is their class and creation time.
 *
 * SPDX-License-Identifier: MIT
 */
#include "task_slots.h"

#include <errno.h>
#include <stdbool.h>

#include "arith.h"
#include "holding.h"
#include "instances.h"
#include "runtime.h"
#include "thread_context.h"

#define MOST_SLOTS 65536u

/* --------------------------------------------------------------------------------------------------------- ids */

/*
 * With a slot: its offset in units of 64 bytes, its generation, the session. Without: creation time, as far as bits
 * allow, class, session. 0 is none.
 */
#define SLOT_BITS HP_SLOT_BITS
#define GENERATION_BITS 26u
#define EPOCH_BITS 11u
#define SLOTLESS (UINT64_C(1) << 63)
#define BORN_BITS 42u
#define BORN_UNIT 12u /* low bits of ticks that are dropped */
#define CLASS_BITS 13u
#define SHORT_EPOCH_BITS 8u

static uint64_t low_bits(uint64_t value, unsigned bits) { return value & ((UINT64_C(1) << bits) - 1); }

static uint64_t id_of(const struct hp_task_slot *slot)
{
    return slot->self / 64 | low_bits(slot->generation, GENERATION_BITS) << SLOT_BITS |
           low_bits(hp_epoch(), EPOCH_BITS) << (SLOT_BITS + GENERATION_BITS);
}

static struct hp_header *header_of(const struct hp_thread_context *context)
{
    return (struct hp_header *)(void *)context->hot.base;
}

static struct hp_task_slot *slot_at(const struct hp_thread_context *context, uint32_t offset)
{
    return (struct hp_task_slot *)(void *)(context->hot.base + offset);
}

/* Whether there may be a slot at this offset. */
static bool is_within(const struct hp_thread_context *context, uint64_t offset)
{
    return offset >= HP_HEADER_BYTES &&
           offset + sizeof(struct hp_task_slot) <= __atomic_load_n(&header_of(context)->used, __ATOMIC_RELAXED);
}

/* Only classes of tasks have such a site. */
static bool is_class(uint32_t number)
{
    return number != 0 && number <= __atomic_load_n(&hp_runtime->object_count, __ATOMIC_ACQUIRE) &&
           __atomic_load_n(&hp_object_known(number)->poll_site, __ATOMIC_ACQUIRE) != NULL;
}

static uint64_t born_of(const struct hp_thread_context *context, uint64_t id)
{
    return header_of(context)->clock_start.ticks + (low_bits(id, BORN_BITS) << BORN_UNIT);
}

uint64_t hp_task_slotless(const struct hp_object_use *use, uint32_t class_, uint64_t *ret_born)
{
    if (class_ >> CLASS_BITS != 0)
        return 0;
    const uint64_t start = header_of(use->context)->clock_start.ticks,
                   age = use->now > start ? use->now - start : 0;
    const uint64_t id = SLOTLESS | low_bits(use->context->hot.epoch, SHORT_EPOCH_BITS) << (BORN_BITS + CLASS_BITS) |
                        (uint64_t)class_ << BORN_BITS | low_bits(age >> BORN_UNIT, BORN_BITS);
    *ret_born = born_of(use->context, id);
    return id;
}

bool hp_task_is_slotless(const struct hp_thread_context *context, uint64_t id, uint32_t *ret_class,
                         uint64_t *ret_born)
{
    *ret_class = (uint32_t)low_bits(id >> BORN_BITS, CLASS_BITS);
    *ret_born = born_of(context, id);
    return id & SLOTLESS &&
           low_bits(id >> (BORN_BITS + CLASS_BITS), SHORT_EPOCH_BITS) ==
               low_bits(context->hot.epoch, SHORT_EPOCH_BITS) &&
           is_class(*ret_class);
}

static bool is_of_session(const struct hp_thread_context *context, uint64_t id)
{
    return low_bits(id >> (SLOT_BITS + GENERATION_BITS), EPOCH_BITS) == low_bits(context->hot.epoch, EPOCH_BITS);
}

/* The class is still stored when the slot has another task. */
uint32_t hp_task_former_class(const struct hp_thread_context *context, uint64_t id)
{
    const uint64_t offset = low_bits(id, SLOT_BITS) * 64;
    if (hp_task_has_no_slot(id) || !is_of_session(context, id) || !is_within(context, offset))
        return 0;
    const struct hp_task_slot *slot = slot_at(context, (uint32_t)offset);
    return HOTPATH_GET_(slot->self) == offset ? HOTPATH_GET_(slot->number) : 0;
}

/* -------------------------------------------------------------------------------------------------------- slots */

/* `task_batches` of the header: the first slot of the first batch, in units of 64 bytes, and a version number. */
static uint64_t with_first(uint64_t list, uint32_t offset) { return ((list >> 32) + 1) << 32 | offset / 64; }

static uint32_t take_batch(const struct hp_thread_context *context)
{
    uint64_t *list = &header_of(context)->task_batches;
    uint64_t before = __atomic_load_n(list, __ATOMIC_ACQUIRE), after;
    do {
        if ((uint32_t)before == 0)
            return 0;
        after = with_first(before, HOTPATH_GET_(slot_at(context, (uint32_t)before * 64)->next_batch));
    } while (!__atomic_compare_exchange_n(list, &before, after, true, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE));
    return (uint32_t)before * 64;
}

static void give_batch(const struct hp_thread_context *context, uint32_t first)
{
    uint64_t *list = &header_of(context)->task_batches;
    uint64_t before = __atomic_load_n(list, __ATOMIC_RELAXED), after;
    do {
        HOTPATH_PUT_(slot_at(context, first)->next_batch, (uint32_t)before * 64);
        after = with_first(before, first);
    } while (!__atomic_compare_exchange_n(list, &before, after, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

/* The first of HP_TASK_SLOTS new slots, linked as a list. 0: no space, or too many slots. */
static uint32_t make_batch(struct hp_thread_context *context)
{
    struct hp_header *header = header_of(context);
    const int saved = errno;
    if (__atomic_fetch_add(&header->task_slots, HP_TASK_SLOTS, __ATOMIC_RELAXED) >= MOST_SLOTS) {
        __atomic_fetch_sub(&header->task_slots, HP_TASK_SLOTS, __ATOMIC_RELAXED);
        return 0;
    }
    const uint32_t offset = hp_thread_allocate(context, sizeof(struct hp_task_chunk), 64);
    errno = saved;
    if (offset == 0)
        return 0;
    struct hp_task_chunk *chunk = (struct hp_task_chunk *)(void *)(context->hot.base + offset);
    const uint32_t first = offset + (uint32_t)offsetof(struct hp_task_chunk, slots);
    for (uint32_t at = 0; at < HP_TASK_SLOTS; at++) {
        chunk->slots[at].self = first + at * (uint32_t)sizeof(struct hp_task_slot);
        chunk->slots[at].next =
            at + 1 < HP_TASK_SLOTS ? chunk->slots[at].self + (uint32_t)sizeof(struct hp_task_slot) : 0;
    }
    uint32_t older = __atomic_load_n(&header->tasks, __ATOMIC_RELAXED);
    do
        HOTPATH_PUT_(chunk->next, older);
    while (!__atomic_compare_exchange_n(&header->tasks, &older, offset, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
    return first;
}

static struct hp_task_slot *take_slot(struct hp_thread_context *context)
{
    struct hp_thread *record = context->record;
    if (record->free_tasks == 0) {
        uint32_t first = take_batch(context);
        if (first == 0)
            first = make_batch(context);
        if (first == 0)
            return NULL;
        HOTPATH_PUT_(record->free_tasks, first);
        HOTPATH_PUT_(record->free_task_count, HP_TASK_SLOTS);
    }
    struct hp_task_slot *slot = slot_at(context, record->free_tasks);
    HOTPATH_PUT_(record->free_tasks, slot->next);
    HOTPATH_PUT_(record->free_task_count, record->free_task_count - 1);
    return slot;
}

/* Gives back the newest HP_TASK_SLOTS of its list. */
static void give_back(const struct hp_thread_context *context)
{
    struct hp_thread *record = context->record;
    const uint32_t first = record->free_tasks;
    struct hp_task_slot *last = slot_at(context, first);
    for (uint32_t at = 1; at < HP_TASK_SLOTS; at++)
        last = slot_at(context, last->next);
    HOTPATH_PUT_(record->free_tasks, last->next);
    HOTPATH_PUT_(record->free_task_count, record->free_task_count - HP_TASK_SLOTS);
    HOTPATH_PUT_(last->next, 0);
    give_batch(context, first);
}

static void free_slot(const struct hp_thread_context *context, struct hp_task_slot *slot)
{
    struct hp_thread *record = context->record;
    HOTPATH_PUT_(slot->next, record->free_tasks);
    HOTPATH_PUT_(record->free_tasks, slot->self);
    HOTPATH_PUT_(record->free_task_count, record->free_task_count + 1);
    if (record->free_task_count > 3 * HP_TASK_SLOTS)
        give_back(context);
}

static void fill(const struct hp_object_use *use, struct hp_task_slot *slot, uint32_t class_)
{
    HOTPATH_PUT_(slot->object, use->part->object);
    HOTPATH_PUT_(slot->number, class_);
    HOTPATH_PUT_(slot->born, use->now);
    HOTPATH_PUT_(slot->busy, 0);
    HOTPATH_PUT_(slot->poll_start, 0);
    HOTPATH_PUT_(slot->polls, 0);
    HOTPATH_PUT_(slot->extras, 0);
    HOTPATH_PUT_(slot->inside_since, 0);
    HOTPATH_PUT_(slot->thread, use->context->record_offset);
    HOTPATH_PUT_(slot->next, hp_object_known(class_)->site);
    __atomic_store_n(&slot->generation, slot->generation + 1, __ATOMIC_RELEASE); /* odd: complete */
    __atomic_store_n(&slot->id, id_of(slot), __ATOMIC_RELEASE);                  /* pairs with hp_task_slot_find */
}

struct hp_task_slot *hp_task_slot_take(const struct hp_object_use *use, uint32_t class_, uint64_t *ret_id)
{
    struct hp_task_slot *slot = take_slot(use->context);
    if (slot == NULL)
        return NULL;
    fill(use, slot, class_);
    *ret_id = slot->id;
    return slot;
}

bool hp_task_slot_end(struct hp_thread_context *context, struct hp_task_slot *slot, uint64_t cut_at)
{
    uint32_t generation = HOTPATH_GET_(slot->generation);
    if (generation % 2 == 0 || !__atomic_compare_exchange_n(&slot->generation, &generation, generation + 1, false,
                                                            __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return false;
    if (__builtin_expect(cut_at != 0, 0)) {
        HOTPATH_PUT_(slot->cut_at, cut_at);
        HOTPATH_PUT_(slot->cut_id, HOTPATH_GET_(slot->id));
    }
    __atomic_store_n(&slot->id, 0, __ATOMIC_RELEASE); /* pairs with hp_task_slot_find, then hp_task_was_cut */
    HOTPATH_PUT_(slot->object, 0);
    free_slot(context, slot);
    return true;
}

bool hp_task_was_cut(const struct hp_thread_context *context, uint64_t id, uint64_t *ret_at)
{
    if (hp_task_former_class(context, id) == 0)
        return false;
    const struct hp_task_slot *slot = slot_at(context, (uint32_t)(low_bits(id, SLOT_BITS) * 64));
    *ret_at = HOTPATH_GET_(slot->cut_at);
    return __atomic_load_n(&slot->cut_id, __ATOMIC_ACQUIRE) == id;
}

/* ------------------------------------------------------------------------------------------ what tasks wait for */

/*
 * A request that an adapter makes for a task is a task, too. While it is open and the other
 * one does not run, the other one waits for it. The running time of a task can be read from its slot at any time,
 * so two readings are enough, when the request is made and when it has ended, on any threads. Requests that are
 * open at the same time count each.
 *
 * The sums are objects: a class for what was waited for, with an instance per waiting class, identified by its
 * site.
 *
 */

static const struct hp_kind_type await_kind = {
    .name = "await",
    .title = "Awaited",
    .flags = HP_KIND_BY_NAME | HP_KIND_OWN_TABLE,
    .goes_on = true,
    .counters = {[HP_AWAIT_COUNT] = {"awaited", "Awaited", HOTPATH_UNIT_COUNT, HP_MERGE_SUM},
                 [HP_AWAIT_TICKS] = {"awaited_ns", "Waiting", HOTPATH_UNIT_NS, HP_MERGE_SUM}},
};

/*
 * Its running time. The thread that runs it may be just ending the poll: the poll counts once, or is seen as ended.
 */
static uint64_t busy_until(const struct hp_task_slot *slot, uint64_t now)
{
    const uint64_t start = __atomic_load_n(&slot->poll_start, __ATOMIC_ACQUIRE); /* pairs with end_poll */
    const uint64_t busy = HOTPATH_GET_(slot->busy);
    return busy + (start != 0 ? hp_less(now, start) : 0);
}

void hp_task_wait_begin(const struct hp_thread_context *context, struct hp_task_slot *slot, uint64_t waiting,
                        uint64_t now)
{
    struct hp_task_slot *waiter;
    if (!hp_task_slot_find(context, waiting, &waiter))
        return;
    HOTPATH_PUT_(slot->waiting, waiting);
    HOTPATH_PUT_(slot->waiting_busy, busy_until(waiter, now));
    HOTPATH_PUT_(slot->extras, slot->extras | HP_TASK_IS_AWAITED);
}

struct hp_task_wait hp_task_wait_end(const struct hp_thread_context *context, const struct hp_task_slot *slot,
                                     uint64_t now)
{
    struct hp_task_slot *waiter;
    if (!hp_task_slot_find(context, HOTPATH_GET_(slot->waiting), &waiter))
        return (struct hp_task_wait){0};
    const uint64_t wall = hp_less(now, HOTPATH_GET_(slot->born));
    const uint64_t busy = hp_less(busy_until(waiter, now), HOTPATH_GET_(slot->waiting_busy));
    return (struct hp_task_wait){
        .site = __atomic_load_n(&hp_object_known(HOTPATH_GET_(slot->number))->await_site, __ATOMIC_ACQUIRE),
        .waiter = hp_object_known(HOTPATH_GET_(waiter->number))->site,
        .ticks = hp_less(wall, busy),
    };
}

void hp_task_wait_count(const struct hp_task_wait *wait)
{
    struct hp_instance_use use;
    /* Site ids begin with 0, and address 0 means none. */
    const void *key = (const void *)((uintptr_t)wait->waiter + 1);
    if (wait->site == NULL || !hp_instance_begin(wait->site, &await_kind, key, &use))
        return;
    const uint32_t sequence = hp_part_change(use.part);
    hp_part_meet(use.part, use.class_.now);
    HOTPATH_ADD_(use.part->count[HP_AWAIT_COUNT], 1);
    HOTPATH_ADD_(use.part->count[HP_AWAIT_TICKS], wait->ticks);
    hp_part_changed(use.part, sequence);
    hp_object_end(&use.class_);
}

/* ------------------------------------------------------------------------ tasks of objects that cannot hold one */

/*
 * Tables of slots, each with the address of its object. A slot is free for another object when its task is over,
 * which the id tells; a slot that was requested and whose task has not begun has CLAIMED there, which is no task's
 * id. Slots do not move, since the program has their addresses: if all slots near an object's hash are taken, the
 * search continues in a table of twice the size.
 *
 */

#define LEAST_PLACES 8192u
#define MOST_PLACES (LEAST_PLACES << 7) /* of one table; all together are twice as many */
#define NEAR 16u
#define CLAIMED 1u

struct place {
    uintptr_t object; /* atomic */
    hotpath_task task;
};

struct table {
    struct table *larger; /* atomic: for objects that found no place here; NULL: none */
    uint64_t count;
    struct place places[];
};

static struct table *first_table(void)
{
    return __atomic_load_n((struct table **)&hp_runtime->task_places, __ATOMIC_ACQUIRE);
}

static struct table *larger_table(struct table *table) { return __atomic_load_n(&table->larger, __ATOMIC_ACQUIRE); }

/* Under the lock. NULL: no memory. */
static struct table *make_table(uint64_t count)
{
    struct table *table =
        count <= MOST_PLACES ? hp_more_memory(sizeof *table + (size_t)count * sizeof(struct place)) : NULL;
    if (table != NULL)
        table->count = count;
    return table;
}

/* The table behind `smaller`, or the first one; made if missing. NULL: no memory. */
static struct table *need_table(struct table *smaller)
{
    struct table *table = smaller != NULL ? larger_table(smaller) : first_table();
    struct hp_signals held;
    if (table != NULL || !hp_lock(&held))
        return table;
    void **const link = smaller != NULL ? (void **)&smaller->larger : &hp_runtime->task_places;
    if (*link == NULL)
        __atomic_store_n(link, make_table(smaller != NULL ? 2 * smaller->count : LEAST_PLACES), __ATOMIC_RELEASE);
    table = *link;
    hp_unlock(&held);
    return table;
}

static struct place *place_near(struct table *table, const void *object, uint32_t step)
{
    const uint64_t hash = (uint64_t)(uintptr_t)object * UINT64_C(0x9e3779b97f4a7c15);
    return &table->places[((hash >> 40) + step) & (table->count - 1)];
}

hotpath_task *hotpath_task_at(const void *object)
{
    struct table *table = object != NULL ? first_table() : NULL;
    for (; table != NULL; table = larger_table(table))
        for (uint32_t step = 0; step < NEAR; step++) {
            struct place *place = place_near(table, object, step);
            if (__atomic_load_n(&place->object, __ATOMIC_ACQUIRE) == (uintptr_t)object &&
                HOTPATH_GET_(place->task.id_) != 0)
                return &place->task;
        }
    return NULL;
}

bool hp_task_is_placed(const hotpath_task *task)
{
    const uintptr_t address = (uintptr_t)task;
    for (struct table *table = first_table(); table != NULL; table = larger_table(table))
        if (address - (uintptr_t)table->places < (uintptr_t)table->count * sizeof(struct place))
            return true;
    return false;
}

static bool claim(struct place *place, const void *object)
{
    uint64_t none = 0;
    if (!__atomic_compare_exchange_n(&place->task.id_, &none, CLAIMED, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return false;
    __atomic_store_n(&place->object, (uintptr_t)object, __ATOMIC_RELEASE);
    return true;
}

static hotpath_task *claim_any(const void *object)
{
    for (struct table *table = need_table(NULL); table != NULL; table = need_table(table))
        for (uint32_t step = 0; step < NEAR; step++)
            if (claim(place_near(table, object, step), object))
                return &place_near(table, object, step)->task;
    return NULL;
}

void hotpath_v1_task_lost(void)
{
    const int saved = errno;
    hp_session_lose(HP_LOSS_VALUES);
    errno = saved;
}

hotpath_task *hotpath_task_of(const void *object)
{
    const int saved = errno;
    hotpath_task *found = hotpath_task_at(object);
    if (found == NULL && object != NULL && (found = claim_any(object)) == NULL)
        hotpath_v1_task_lost();
    errno = saved;
    return found;
}
