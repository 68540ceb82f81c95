/*
 * Tasks of objects that cannot hold one themselves.
 *
 * A table of slots, each with the address of its object. A slot is free for another object when its task is over,
 * which the id tells; a slot that was requested and whose task has not begun has CLAIMED there, which is no task's
 * id. If all slots near an object's hash are taken, the caller gets a dummy slot of its thread, in which nothing is
 * kept: the task counts as if it never ended.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdbool.h>

#include "runtime.h"

#define PLACES 8192u
#define NEAR 16u
#define CLAIMED 1u

struct place {
    uintptr_t object; /* atomic */
    hotpath_task task;
};

static struct place *table(bool is_made)
{
    struct place *places = __atomic_load_n((struct place **)&hp_runtime->task_places, __ATOMIC_ACQUIRE);
    struct hp_signals held;
    if (places != NULL || !is_made || !hp_lock(&held))
        return places;
    if (hp_runtime->task_places == NULL)
        __atomic_store_n(&hp_runtime->task_places, hp_more_memory(PLACES * sizeof *places), __ATOMIC_RELEASE);
    hp_unlock(&held);
    return hp_runtime->task_places;
}

static struct place *place_near(struct place *places, const void *object, uint32_t step)
{
    const uint64_t hash = (uint64_t)(uintptr_t)object * UINT64_C(0x9e3779b97f4a7c15);
    return &places[((hash >> 40) + step) & (PLACES - 1)];
}

hotpath_task *hotpath_task_at(const void *object)
{
    struct place *places = object != NULL ? table(false) : NULL;
    for (uint32_t step = 0; places != NULL && step < NEAR; step++) {
        struct place *place = place_near(places, object, step);
        if (__atomic_load_n(&place->object, __ATOMIC_ACQUIRE) == (uintptr_t)object &&
            HOTPATH_GET_(place->task.id_) != 0)
            return &place->task;
    }
    return NULL;
}

static bool claim(struct place *place, const void *object)
{
    uint64_t none = 0;
    if (!__atomic_compare_exchange_n(&place->task.id_, &none, CLAIMED, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return false;
    __atomic_store_n(&place->object, (uintptr_t)object, __ATOMIC_RELEASE);
    return true;
}

hotpath_task *hotpath_task_of(const void *object)
{
    static __thread hotpath_task nowhere;
    const int saved = errno;
    hotpath_task *found = hotpath_task_at(object);
    struct place *places = found == NULL && object != NULL ? table(true) : NULL;
    errno = saved;
    for (uint32_t step = 0; places != NULL && step < NEAR; step++)
        if (claim(place_near(places, object, step), object))
            return &place_near(places, object, step)->task;
    return found != NULL ? found : &nowhere;
}
