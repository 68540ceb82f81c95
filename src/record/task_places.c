/*
 * Tasks of objects that have no room for one.
 *
 * A table of places, each of the object whose address it has. A place is free for another one when its task is over, which its id says;
 * one that was asked for and has not begun yet has CLAIMED there, which is no task's. Who finds all places near an object taken gets one
 * of the thread's own, in which nothing is kept: the task counts as if it never ended.
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
