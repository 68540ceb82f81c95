/*
 * The threads of a session, each with all its records: a thread with measured signal handlers has several.
 *
 *     struct hp_thread_list list;
 *     hp_thread_list_read(&list, arena, session);
 *     for (size_t from = 0, to; from < list.count; from = to) {
 *         to = hp_thread_list_end(&list, from);
 *         label = hp_thread_list_label(&list, from, to, ++number); ... list.all[from] to list.all[to - 1]
 *     }
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_THREAD_LIST_H
#define HP_MODEL_THREAD_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "labels.h"
#include "snapshot.h"

struct hp_arena;

/* A record of a thread. */
struct hp_listed_thread {
    struct hp_listed_thread *next; /* private */
    struct hp_thread record;
    uint32_t offset;
};

struct hp_thread_list {
    struct hp_arena *arena;
    const struct hp_snapshot *session;
    struct hp_listed_thread **all; /* sorted by thread id */
    size_t count;
};

/* False: no memory. */
bool hp_thread_list_read(struct hp_thread_list *list, struct hp_arena *arena, const struct hp_snapshot *session);

/* The index after the last record of the thread that owns the one at `from`. */
size_t hp_thread_list_end(const struct hp_thread_list *list, size_t from);

/* The label of the thread with these records. NULL: no memory. */
const struct hp_thread_label *hp_thread_list_label(const struct hp_thread_list *list, size_t from, size_t to,
                                                   uint32_t number);

#endif
