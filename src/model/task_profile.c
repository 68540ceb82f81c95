/* The tasks of a run. SPDX-License-Identifier: MIT */
#include "task_profile.h"

#include <string.h>

#include "arena.h"
#include "object_snapshot.h"
#include "profile.h"
#include "sort.h"

/* --------------------------------------------------------------------------------------------------- slow polls */

/*
 * The slowest polls of tasks.
 */

/* Where the slowest call of a class is recorded. */
struct place {
    const struct hp_snapshot *session; /* NULL: nowhere */
    uint32_t session_index;
    struct hotpath_stat_ stat;
    uint64_t ticks;
};

static void find_places(const struct hp_profile *profile, const struct hp_tasks *tasks, struct place *places)
{
    struct hp_stat_iter walk = {0};
    while (hp_stat_iter_next(&walk, profile)) {
        uint64_t ticks;
        if (walk.site == NULL || walk.site->task == NULL ||
            !hp_snapshot_slowest_ticks(walk.snapshot, &walk.stat, &ticks))
            continue;
        struct place *place = &places[walk.site->task - tasks->all];
        if (place->session == NULL || ticks > place->ticks)
            *place = (struct place){walk.snapshot, walk.session, walk.stat, ticks};
    }
}

static const char *name_at(const struct hp_profile *profile, const struct place *place, uint32_t site)
{
    const struct hp_site_sums *known = hp_profile_site(profile, place->session_index, site);
    return known != NULL ? known->name : "<unknown>";
}

/* Inserts a part sorted by time; the shortest is dropped if there is no room. */
static void add_part(struct hp_slow_poll *poll, const struct hp_slow_poll_part *part)
{
    uint32_t at = poll->part_count;
    while (at > 0 && poll->parts[at - 1].ticks < part->ticks)
        at--;
    if (poll->part_count == HP_SLOW_POLL_PARTS)
        poll->left_out++;
    else
        poll->part_count++;
    if (at == HP_SLOW_POLL_PARTS)
        return;
    memmove(&poll->parts[at + 1], &poll->parts[at], (poll->part_count - 1 - at) * sizeof poll->parts[0]);
    poll->parts[at] = *part;
}

/* The poll's direct callees are the children of its node; they include their own callees. */
static void fill(const struct hp_profile *profile, const struct place *place, const struct hp_slow_copy *copy,
                 struct hp_slow_poll *poll)
{
    poll->ticks = copy->call.ticks;
    poll->self = copy->self;
    for (uint32_t at = 0; at < copy->row_count; at++) {
        struct hp_node node;
        if (!hp_snapshot_node(place->session, copy->rows[at].node, &node) || node.parent != copy->call.node)
            continue;
        add_part(poll, &(struct hp_slow_poll_part){name_at(profile, place, node.site), copy->rows[at].calls,
                                                   copy->rows[at].total});
    }
}

/* Copies no more than the sessions have in all, even if many entries claim the same record. */
static bool fill_all(struct hp_arena *arena, const struct hp_run *run, const struct hp_profile *profile,
                     const struct place *places, struct hp_slow_poll *polls, size_t count)
{
    uint64_t bytes_left = 0;
    for (size_t at = 0; at < run->count; at++)
        bytes_left += run->sessions[at]->size;
    for (size_t at = 0; at < count; at++) {
        const struct place *place = &places[at];
        const size_t bytes = place->session != NULL ? hp_snapshot_slowest_bytes(place->session, &place->stat) : 0;
        struct hp_slow_copy copy;
        if (bytes == 0 || bytes > bytes_left)
            continue;
        void *memory = hp_arena_take(arena, bytes + 8);
        if (memory == NULL)
            return false;
        bytes_left -= bytes;
        if (hp_snapshot_copy_slowest(place->session, &place->stat, memory, bytes, &copy))
            fill(profile, place, &copy, &polls[at]);
    }
    return true;
}

const struct hp_slow_poll *hp_slow_polls_of(struct hp_arena *arena, const struct hp_run *run,
                                            const struct hp_profile *profile, const struct hp_tasks *tasks)
{
    struct place *places = hp_arena_take_array(arena, tasks->count + 1, sizeof *places);
    struct hp_slow_poll *polls = hp_arena_take_array(arena, tasks->count + 1, sizeof *polls);
    if (places == NULL || polls == NULL)
        return NULL;
    memset(places, 0, tasks->count * sizeof *places);
    memset(polls, 0, tasks->count * sizeof *polls);
    find_places(profile, tasks, places);
    return fill_all(arena, run, profile, places, polls, tasks->count) ? polls : NULL;
}

/* ------------------------------------------------------------------------------------------------- task profile */

/* A kind of that name with another layout is another kind. */
bool hp_is_task_kind(const char *name, const struct hp_kind *kind)
{
    return strcmp(name, "task") == 0 && kind->counter_count > HP_TASK_MOST_OPEN &&
           kind->histogram_count > HP_TASK_WALLS;
}

static bool is_task(const struct hp_object_record *record)
{
    return record->object.class_ == 0 && hp_is_task_kind(record->kind_name, &record->kind);
}

bool hp_is_await_kind(const char *name, const struct hp_kind *kind)
{
    return strcmp(name, "await") == 0 && kind->counter_count > HP_AWAIT_TICKS;
}

/* ------------------------------------------------------------------------------------------------------ classes */

/*
 * The sum of all end times less that of all start times is the time of all tasks together, regardless of which
 * thread started and ended them; an open task counts as if it ended now. Each session has its own now.
 */
static void add_record(struct hp_task_sums *task, const struct hp_object_record *record, uint64_t *first,
                       uint64_t *last)
{
    struct hp_object_sums sums = {0};
    for (const struct hp_object_part *at = record->parts; at != NULL; at = at->next) {
        for (uint32_t counter = 0; counter <= HP_TASK_ENDED_TICKS; counter++)
            sums.count[counter] += at->part.count[counter];
        if (at->part.first_tick != 0 && at->part.first_tick < *first)
            *first = at->part.first_tick;
        if (at->part.last_tick > *last)
            *last = at->part.last_tick;
    }
    const uint64_t left = sums.count[HP_TASK_CREATED] - sums.count[HP_TASK_READY] - sums.count[HP_TASK_CANCELLED];
    const uint64_t open = (int64_t)left > 0 ? left : 0;
    const uint64_t wall =
        sums.count[HP_TASK_ENDED_TICKS] - sums.count[HP_TASK_BORN_TICKS] + left * record->session->now_ticks;
    task->open += open;
    task->wall += (int64_t)wall > 0 ? wall : 0;
    if (open > 0 && record->session->now_ticks > *last)
        *last = record->session->now_ticks;
}

/* A site without zones, for tasks that reported no polls. NULL: no memory. */
static struct hp_site_sums *make_site(struct hp_arena *arena, const struct hp_object_record *row)
{
    struct hp_site_sums *site = hp_arena_take(arena, sizeof *site);
    if (site != NULL)
        *site = (struct hp_site_sums){.name = row->name,
                                      .plain_name = row->name,
                                      .recorded_name = row->name,
                                      .location = row->location,
                                      .session = row->session_index,
                                      .id = row->object.site,
                                      .kind = HOTPATH_KIND_TASK_};
    return site;
}

static bool add_polls(struct hp_arena *arena, struct hp_task_sums *task, const struct hp_object_record *row,
                      struct hp_profile *profile)
{
    for (const struct hp_object_record *at = row; at != NULL && task->site == NULL; at = at->next)
        task->site = hp_profile_find(profile, at->session_index, at->object.site);
    if (task->site == NULL)
        task->site = make_site(arena, row);
    if (task->site == NULL)
        return false;
    task->site->task = task;
    task->polls = task->site->sums.calls;
    task->busy = task->site->sums.total + task->site->sums.nested;
    task->waiting = task->wall > task->busy ? task->wall - task->busy : 0;
    return true;
}

static bool add_task(struct hp_arena *arena, struct hp_task_sums *task, const struct hp_object_record *row,
                     struct hp_profile *profile)
{
    uint64_t first = UINT64_MAX, last = 0;
    *task = (struct hp_task_sums){.row = row};
    hp_object_sums_of(row, &task->sums);
    for (const struct hp_object_record *record = row; record != NULL; record = record->next)
        add_record(task, record, &first, &last);
    task->in_flight = last > first ? (double)task->wall / (double)(last - first) : 0;
    return add_polls(arena, task, row, profile);
}

bool hp_task_calls(const struct hp_site_sums *site, uint64_t *ret_calls)
{
    *ret_calls = site->task != NULL ? site->task->sums.count[HP_TASK_CREATED] : site->sums.calls;
    return site->task != NULL || !hp_site_is_task(site);
}

/* ---------------------------------------------------------------------------------------------------- awaits */

/* The waiting task is found by its site; NULL: not one of the tasks. */
static struct hp_task_sums *waiter_of(const struct hp_tasks *tasks, const struct hp_object_record *await)
{
    for (size_t at = 0; at < tasks->count; at++)
        for (const struct hp_object_record *one = tasks->all[at].row; one != NULL; one = one->next)
            if (one->session_index == await->session_index && (uint64_t)one->object.site + 1 == await->object.key)
                return &tasks->all[at];
    return NULL;
}

/* Equal awaits of several processes are one. NULL: no memory. */
static struct hp_task_await *await_of(struct hp_arena *arena, struct hp_task_sums *task, const char *name)
{
    struct hp_task_await **link = &task->awaits;
    while (*link != NULL && strcmp((*link)->name, name) != 0)
        link = &(*link)->next;
    if (*link == NULL && (*link = hp_arena_take(arena, sizeof **link)) != NULL) {
        **link = (struct hp_task_await){.name = name};
        task->await_count++;
    }
    return *link;
}

static int compare_awaits(const void *a, const void *b)
{
    const struct hp_task_await *x = a, *y = b;
    if (x->ticks != y->ticks)
        return x->ticks > y->ticks ? -1 : 1;
    return strcmp(x->name, y->name);
}

static bool sort_awaits(struct hp_arena *arena, struct hp_task_sums *task)
{
    struct hp_task_await **sorted = hp_arena_take_array(arena, task->await_count + 1, sizeof(void *));
    size_t count = 0;
    if (sorted == NULL)
        return false;
    for (struct hp_task_await *at = task->awaits; at != NULL; at = at->next)
        sorted[count++] = at;
    hp_sort(sorted, count, compare_awaits);
    for (size_t at = 0; at < count; at++)
        sorted[at]->next = at + 1 < count ? sorted[at + 1] : NULL;
    task->awaits = count > 0 ? sorted[0] : NULL;
    return true;
}

static bool add_awaits(struct hp_arena *arena, const struct hp_objects *objects, struct hp_tasks *tasks)
{
    for (size_t at = 0; at < objects->count; at++) {
        const struct hp_object_record *row = objects->rows[at];
        struct hp_object_sums sums;
        if (row->object.class_ == 0 || !hp_is_await_kind(row->kind_name, &row->kind))
            continue;
        struct hp_task_sums *task = waiter_of(tasks, row);
        struct hp_task_await *await = task != NULL ? await_of(arena, task, row->name) : NULL;
        if (task == NULL)
            continue;
        if (await == NULL)
            return false;
        hp_object_sums_of(row, &sums);
        await->count += sums.count[HP_AWAIT_COUNT];
        await->ticks += sums.count[HP_AWAIT_TICKS];
        task->awaited += sums.count[HP_AWAIT_TICKS];
    }
    for (size_t at = 0; at < tasks->count; at++)
        if (tasks->all[at].await_count > 1 && !sort_awaits(arena, &tasks->all[at]))
            return false;
    return true;
}

const struct hp_tasks *hp_tasks_of_run(struct hp_arena *arena, const struct hp_objects *objects,
                                       struct hp_profile *profile)
{
    struct hp_tasks *tasks = hp_arena_take(arena, sizeof *tasks);
    struct hp_task_sums *all = hp_arena_take_array(arena, objects->count + 1, sizeof *all);
    if (tasks == NULL || all == NULL)
        return NULL;
    *tasks = (struct hp_tasks){.all = all};
    for (size_t at = 0; at < objects->count; at++)
        if (is_task(objects->rows[at]) && !add_task(arena, &all[tasks->count++], objects->rows[at], profile))
            return NULL;
    return add_awaits(arena, objects, tasks) ? tasks : NULL;
}

/* ---------------------------------------------------------------------------------------------------- open ones */

struct link {
    struct hp_open_task task;
    struct link *next;
};

static const struct hp_object_record *row_of(const struct hp_objects *objects, uint32_t session, uint32_t object)
{
    for (size_t at = 0; at < objects->count; at++)
        for (const struct hp_object_record *one = objects->rows[at]; one != NULL; one = one->next)
            if (one->session_index == session && one->offset == object && is_task(one))
                return objects->rows[at];
    return NULL;
}

static uint64_t ticks_since(const struct hp_snapshot *session, uint64_t then)
{
    return session->now_ticks > then ? session->now_ticks - then : 0;
}

static bool add_open(struct hp_arena *arena, const struct hp_objects *objects, const struct hp_snapshot *session,
                     uint32_t index, struct link **first, size_t *count)
{
    struct hp_walk walk = {0};
    struct hp_task_slot slot;
    while (hp_snapshot_next_task(session, &walk, &slot)) {
        const struct hp_object_record *row = row_of(objects, index, slot.object);
        struct link *link = row != NULL ? hp_arena_take(arena, sizeof *link) : NULL;
        if (row == NULL)
            continue;
        if (link == NULL)
            return false;
        *link = (struct link){{.row = row,
                               .session = session,
                               .age = ticks_since(session, slot.born),
                               .busy = slot.busy,
                               .polls = slot.polls,
                               .is_running = slot.poll_start != 0,
                               .thread = slot.thread},
                              *first};
        if (slot.poll_start != 0)
            link->task.busy += ticks_since(session, slot.poll_start);
        *first = link;
        ++*count;
    }
    return true;
}

static int compare_ages(const void *a, const void *b)
{
    const struct hp_open_task *x = a, *y = b;
    if (x->age != y->age)
        return x->age > y->age ? -1 : 1;
    return x->session == y->session ? 0 : x->session < y->session ? -1 : 1;
}

const struct hp_open_tasks *hp_open_tasks_of_run(struct hp_arena *arena, const struct hp_objects *objects,
                                                 const struct hp_run *run)
{
    struct hp_open_tasks *open = hp_arena_take(arena, sizeof *open);
    struct link *first = NULL;
    size_t count = 0;
    for (size_t at = 0; at < run->count; at++)
        if (open == NULL || !add_open(arena, objects, run->sessions[at], (uint32_t)at, &first, &count))
            return NULL;
    open->count = 0;
    open->all = hp_arena_take_array(arena, count + 1, sizeof(void *));
    if (open->all == NULL)
        return NULL;
    for (struct link *link = first; link != NULL; link = link->next)
        open->all[open->count++] = &link->task;
    hp_sort(open->all, open->count, compare_ages);
    return open;
}
