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

#include "thread_space.h"

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
