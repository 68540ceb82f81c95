/* The slowest polls of tasks. SPDX-License-Identifier: MIT */
#include "slow_polls.h"

#include <string.h>

#include "arena.h"
#include "stat_iter.h"

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
