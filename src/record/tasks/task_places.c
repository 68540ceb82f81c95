/*
 * Tasks of objects that cannot hold one themselves.
 *
 * Tables of slots, each with the address of its object. A slot is free for another object when its task is over,
 * which the id tells; a slot that was requested and whose task has not begun has CLAIMED there, which is no task's
 * id. Slots do not move, since the program has their addresses: if all slots near an object's hash are taken, the
 * search continues in a table of twice the size.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdbool.h>

#include "holders.h"
#include "runtime.h"
#include "task_slots.h"

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
