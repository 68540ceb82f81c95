/* The threads of a session. SPDX-License-Identifier: MIT */
#include "thread_list.h"

#include "arena.h"
#include "sort.h"

static int compare_threads(const void *a, const void *b)
{
    const struct hp_listed_thread *x = a, *y = b;
    if (x->record.tid != y->record.tid)
        return x->record.tid < y->record.tid ? -1 : 1;
    return x->offset == y->offset ? 0 : x->offset < y->offset ? -1 : 1;
}

bool hp_thread_list_read(struct hp_thread_list *list, struct hp_arena *arena, const struct hp_snapshot *session)
{
    struct hp_listed_thread *first = NULL;
    struct hp_thread record;
    struct hp_walk walk = {0};
    *list = (struct hp_thread_list){.arena = arena, .session = session};
    for (; hp_snapshot_next_thread(session, &walk, &record); list->count++) {
        struct hp_listed_thread *thread = hp_arena_take(arena, sizeof *thread);
        if (thread == NULL)
            return false;
        *thread = (struct hp_listed_thread){first, record, walk.offset};
        first = thread;
    }
    list->all = hp_arena_take_array(arena, list->count + 1, sizeof(void *));
    if (list->all == NULL)
        return false;
    for (size_t at = 0; first != NULL; first = first->next)
        list->all[at++] = first;
    hp_sort(list->all, list->count, compare_threads);
    return true;
}

size_t hp_thread_list_end(const struct hp_thread_list *list, size_t from)
{
    size_t to = from + 1;
    while (to < list->count && list->all[from]->record.tid == list->all[to]->record.tid)
        to++;
    return to;
}

/* Records of signal handlers have no name, and are not reused by other threads. */
const struct hp_thread_label *hp_thread_list_label(const struct hp_thread_list *list, size_t from, size_t to,
                                                   uint32_t number)
{
    struct hp_thread_label *label = hp_arena_take(list->arena, sizeof *label);
    if (label == NULL)
        return NULL;
    *label = (struct hp_thread_label){
        .name = "", .pid = list->session->header.pid, .tid = list->all[from]->record.tid, .number = number};
    for (size_t at = from; at < to; at++) {
        const struct hp_thread *record = &list->all[at]->record;
        label->name = label->name[0] != '\0' ? label->name : record->name;
        label->threads = label->threads > record->generation ? label->threads : record->generation;
    }
    return label;
}
