/* Rings that could not be made. SPDX-License-Identifier: MIT */
#include "failed_rings.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "growing_array.h"
#include "stack_ring.h"

static struct list {
    uint32_t *pids;
    size_t count, room;
    int error; /* of the first */
} lists[HP_RING_KINDS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_known(const struct list *list, uint32_t pid)
{
    for (size_t at = 0; at < list->count; at++)
        if (list->pids[at] == pid)
            return true;
    return false;
}

static void add(struct list *list, uint32_t pid, int error)
{
    if (is_known(list, pid) || !HP_MAKE_ROOM(list->pids, list->count + 1, list->room))
        return;
    list->pids[list->count++] = pid;
    if (list->error == 0)
        list->error = error;
}

void hp_failed_ring_count(enum hp_ring_kind kind, uint32_t pid, int error)
{
    pthread_mutex_lock(&lock);
    add(&lists[kind], pid, error);
    pthread_mutex_unlock(&lock);
}

bool hp_failed_ring_take(enum hp_ring_kind kind, const char *path)
{
    char text[64];
    unsigned pid;
    int error;
    const ssize_t length = readlink(path, text, sizeof text - 1);
    if (length <= 0)
        return false;
    text[length] = '\0';
    if (sscanf(text, HP_RING_FAILED "%u-%d", &pid, &error) != 2)
        return false;
    hp_failed_ring_count(kind, pid, error);
    unlink(path);
    return true;
}

struct hp_failed hp_failed_rings(void)
{
    const struct list *samples = &lists[HP_RING_OF_SAMPLES], *heap = &lists[HP_RING_OF_HEAP];
    return (struct hp_failed){.samples = (uint32_t)samples->count,
                              .heaps = (uint32_t)heap->count,
                              .error = samples->error != 0 ? samples->error : heap->error};
}

void hp_failed_rings_free(void)
{
    for (size_t kind = 0; kind < HP_RING_KINDS; kind++)
        free(lists[kind].pids);
    memset(lists, 0, sizeof lists);
}
