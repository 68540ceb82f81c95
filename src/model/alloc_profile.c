/*
 * Adds up what a run allocated.
 *
 * Sums are added as unsigned numbers, so that a corrupt file cannot overflow them. Differences of counters that a
 * thread changes meanwhile are clamped at zero. SPDX-License-Identifier: MIT
 */
#include "alloc_profile.h"

#include <string.h>

#include "arena.h"
#include "arith.h"
#include "floors.h"
#include "thread_list.h"

static int64_t plus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }

static int64_t minus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }

static int64_t higher(int64_t a, int64_t b) { return a > b ? a : b; }

bool hp_run_has_allocs(const struct hp_run *run) { return hp_run_has_feature(run, HP_FEATURE_ALLOC); }

bool hp_allocs_are_unknown(const struct hp_snapshot *session)
{
    return !(session->header.features & (HP_FEATURE_ALLOC | HP_FEATURE_COUNTED)) && session->header.outside == 0;
}

bool hp_allocs_of_site_are_unknown(const struct hp_run *run, const struct hp_site_sums *site)
{
    if (site->stats == NULL)
        return site->session < run->count && hp_allocs_are_unknown(run->sessions[site->session]);
    for (const struct hp_stat_link *link = site->stats; link != NULL; link = link->next)
        if (!hp_allocs_are_unknown(link->session))
            return false;
    return true;
}

size_t hp_allocs_unknown(const struct hp_run *run)
{
    return hp_run_has_allocs(run) ? hp_run_count_processes(run, hp_allocs_are_unknown) : 0;
}

/* ----------------------------------------------------------------------------------------------- sites */

static void raise_to(uint64_t *most, uint64_t value)
{
    if (value > *most)
        *most = value;
}

static void add_stat(struct hp_site_allocs *allocs, const struct hp_alloc_stat *stat)
{
    allocs->calls += stat->calls;
    allocs->own_bytes += stat->own_bytes;
    allocs->own_count += stat->own_count;
    allocs->all_bytes += stat->all_bytes;
    allocs->all_count += stat->all_count;
    allocs->net_bytes = plus(allocs->net_bytes, stat->net_bytes);
    allocs->net_blocks = plus(allocs->net_blocks, stat->net_blocks);
    for (size_t measure = 0; measure < HP_ALLOC_MEASURES; measure++)
        raise_to(&allocs->max[measure], stat->max[measure]);
}

static void add_open(struct hp_site_allocs *allocs, const struct hp_open_link *link)
{
    const struct hp_open_allocs *open = &link->allocs;
    allocs->calls++;
    allocs->own_bytes += open->measures[HP_ALLOC_OWN_BYTES];
    allocs->own_count += open->measures[HP_ALLOC_OWN_COUNT];
    for (size_t measure = 0; measure < HP_ALLOC_MEASURES; measure++)
        raise_to(&allocs->max[measure], open->measures[measure]);
    if (link->is_inner)
        return;
    allocs->all_bytes += open->measures[HP_ALLOC_ALL_BYTES];
    allocs->all_count += open->measures[HP_ALLOC_ALL_COUNT];
    allocs->net_bytes = plus(allocs->net_bytes, open->net_bytes);
    allocs->net_blocks = plus(allocs->net_blocks, open->net_blocks);
}

static void keep_site(struct hp_site_allocs *now, struct hp_site_said *before)
{
    hp_floor(&now->calls, &before->alloc_calls);
    hp_floor(&now->own_bytes, &before->alloc_own[0]);
    hp_floor(&now->own_count, &before->alloc_own[1]);
    hp_floor(&now->all_bytes, &before->alloc_all[0]);
    hp_floor(&now->all_count, &before->alloc_all[1]);
    for (size_t measure = 0; measure < HP_ALLOC_MEASURES; measure++)
        hp_floor(&now->max[measure], &before->alloc_max[measure]);
}

void hp_allocs_of_site(const struct hp_site_sums *site, struct hp_site_allocs *ret_allocs)
{
    struct hp_alloc_stat stat;
    *ret_allocs = (struct hp_site_allocs){0};
    for (const struct hp_stat_link *link = site->stats; link != NULL; link = link->next)
        if (hp_snapshot_alloc_stat_of(link->session, link->offset, &stat))
            add_stat(ret_allocs, &stat);
    for (const struct hp_open_link *link = site->opens; link != NULL; link = link->next)
        if (link->has_allocs)
            add_open(ret_allocs, link);
    if (site->said != NULL)
        keep_site(ret_allocs, site->said);
}

/* Whether every call had the maximum: then the value is known exactly. */
static bool are_alike(const struct hp_site_sums *site, const struct hp_site_allocs *allocs,
                      enum hp_alloc_measure measure)
{
    uint64_t product;
    if (site->sums.calls == 1)
        return true;
    const uint64_t sum = measure == HP_ALLOC_OWN_BYTES   ? allocs->own_bytes
                         : measure == HP_ALLOC_OWN_COUNT ? allocs->own_count
                         : measure == HP_ALLOC_ALL_BYTES ? allocs->all_bytes
                                                         : allocs->all_count;
    return measure <= HP_ALLOC_ALL_COUNT &&
           !__builtin_mul_overflow(site->sums.calls, allocs->max[measure], &product) && product == sum;
}

void hp_allocs_distribution(const struct hp_site_sums *site, const struct hp_site_allocs *allocs,
                            enum hp_alloc_measure measure, struct hp_durations *ret_values)
{
    struct hp_alloc_stat stat;
    memset(ret_values, 0, sizeof *ret_values);
    ret_values->max = allocs->max[measure];
    ret_values->timed = site->sums.calls;
    for (const struct hp_stat_link *link = site->stats; link != NULL; link = link->next)
        if (hp_snapshot_alloc_stat_of(link->session, link->offset, &stat))
            hp_snapshot_add_measures(link->session, &stat, measure, ret_values->lines);
    for (const struct hp_open_link *link = site->opens; link != NULL; link = link->next)
        if (link->has_allocs)
            hp_durations_add(ret_values, link->allocs.measures[measure]);
    ret_values->lines[0][0] += hp_less(site->sums.calls, allocs->calls);
    ret_values->counted = 0;
    for (size_t line = 0; line < HP_DURATION_LINES; line++)
        for (size_t step = 0; step < 64; step++)
            ret_values->counted += ret_values->lines[line][step];
    hp_durations_find_min(ret_values);
    if (are_alike(site, allocs, measure))
        ret_values->min = ret_values->max;
}

/* --------------------------------------------------------------------------------------------- threads */

static void add_totals(struct hp_alloc_totals *to, const struct hp_alloc_totals *from)
{
    to->count += from->count;
    to->bytes += from->bytes;
    to->freed_count += from->freed_count;
    to->freed_bytes += from->freed_bytes;
    to->foreign_count += from->foreign_count;
    to->foreign_bytes += from->foreign_bytes;
    to->live_bytes = plus(to->live_bytes, from->live_bytes);
    to->live_blocks = plus(to->live_blocks, from->live_blocks);
    to->peak_bytes = higher(to->peak_bytes, from->peak_bytes);
    to->peak_blocks = higher(to->peak_blocks, from->peak_blocks);
}

/* Raises the peaks to those that open zones have saved, and returns what the outermost of them allocated. */
static void look_into_open(const struct hp_snapshot *session, const struct hp_thread *thread, struct hp_walk *walk,
                           struct hp_alloc_thread *alloc, uint64_t *ret_bytes, uint64_t *ret_count)
{
    struct hotpath_frame_ frame;
    struct hp_alloc_frame begun;
    *ret_bytes = *ret_count = 0;
    hp_walk_rewind(walk);
    while (hp_snapshot_next_open(session, thread, walk, &frame) && (frame.stat & HOTPATH_ALLOCATES_) &&
           hp_snapshot_alloc_frame(session, thread, alloc, walk->index, &begun)) {
        if (walk->index == 1) {
            *ret_bytes = hp_less(alloc->bytes, begun.bytes);
            *ret_count = hp_less(alloc->count, begun.count);
        }
        alloc->peak_live = higher(alloc->peak_live, begun.peak_live);
        alloc->peak_blocks = higher(alloc->peak_blocks, begun.peak_blocks);
    }
}

static bool find_running(const struct hp_snapshot *session, const struct hp_thread *thread,
                         struct hp_lane *ret_lane)
{
    struct hp_walk lanes = {0};
    while (hp_snapshot_next_lane(session, &lanes, ret_lane))
        if (ret_lane->frames == thread->frames)
            return true;
    return false;
}

/*
 * While another lane runs on the thread, the thread's own lane has what its zones allocated before, and the other
 * lane what its zones did since: in zones that have ended, and in open ones, less what they had when they came
 * here.
 */
static void look_below(const struct hp_snapshot *session, const struct hp_thread *thread, struct hp_walk *opens,
                       struct hp_alloc_thread *alloc, struct hp_alloc_frame *outside)
{
    struct hp_alloc_frame below = {0};
    struct hp_alloc_thread own;
    struct hp_thread stack;
    struct hp_lane lane, running;
    uint64_t bytes = 0, count = 0;
    if (!hp_snapshot_lane(session, thread->own_lane, &lane) || lane.state != HP_LANE_BELOW ||
        !find_running(session, thread, &running) || !hp_snapshot_lane_allocs(&lane, &own))
        return;
    stack = *thread;
    stack.frames = lane.frames;
    stack.frame_capacity = lane.frame_capacity;
    hp_snapshot_alloc_frame(session, &stack, &own, 0, &below);
    look_into_open(session, &stack, opens, &own, &bytes, &count);
    outside->inner_bytes += below.inner_bytes + bytes - running.held_bytes;
    outside->inner_count += below.inner_count + count - running.held_count;
    alloc->peak_live = higher(alloc->peak_live, own.peak_live);
    alloc->peak_blocks = higher(alloc->peak_blocks, own.peak_blocks);
}

/* Adds a record to its thread. False: the record has no allocations and no frees. */
static bool add_record(struct hp_thread_allocs *to, const struct hp_snapshot *session,
                       const struct hp_thread *thread, struct hp_walk *opens)
{
    struct hp_alloc_thread alloc;
    struct hp_alloc_frame outside = {0};
    uint64_t open_bytes, open_count;
    if (!hp_snapshot_alloc_thread(session, thread, &alloc))
        return false;
    hp_snapshot_alloc_frame(session, thread, &alloc, 0, &outside);
    look_into_open(session, thread, opens, &alloc, &open_bytes, &open_count);
    look_below(session, thread, opens, &alloc, &outside);
    to->outside_bytes += hp_less(hp_less(alloc.bytes, outside.inner_bytes), open_bytes);
    to->outside_count += hp_less(hp_less(alloc.count, outside.inner_count), open_count);
    const struct hp_alloc_totals totals = {
        .count = alloc.count,
        .bytes = alloc.bytes,
        .freed_count = alloc.freed_count,
        .freed_bytes = alloc.freed,
        .foreign_count = alloc.foreign_count,
        .foreign_bytes = alloc.foreign_bytes,
        .live_bytes = hp_alloc_live(&alloc),
        .live_blocks = hp_alloc_live_blocks(&alloc),
        .peak_bytes = alloc.peak_live,
        .peak_blocks = alloc.peak_blocks,
    };
    add_totals(&to->totals, &totals);
    if (alloc.published == HP_ALLOC_NEVER_TOLD && alloc.peak_live > to->untold_peak)
        to->untold_peak = alloc.peak_live;
    return true;
}

/* Allocations without a thread; their peak is unknown. */
static struct hp_thread_allocs late_of(const struct hp_header *header)
{
    return (struct hp_thread_allocs){
        .pid = header->pid,
        .totals = {.count = header->late_count,
                   .bytes = header->late_bytes,
                   .freed_count = header->late_frees,
                   .freed_bytes = header->late_freed,
                   .live_bytes = (int64_t)(header->late_usable - header->late_freed),
                   .live_blocks = (int64_t)(header->late_count - header->late_frees)},
        .outside_bytes = header->late_bytes,
        .outside_count = header->late_count,
    };
}

/* ----------------------------------------------------------------------------------------------- floors */

struct totals_said {
    struct hp_alloc_totals totals;
    uint64_t outside_bytes, outside_count;
};

static void keep_peak(int64_t *now, int64_t *before) { *now = *before = higher(*now, *before); }

static void keep_totals(struct hp_alloc_totals *now, struct hp_alloc_totals *before)
{
    hp_floor(&now->count, &before->count);
    hp_floor(&now->bytes, &before->bytes);
    hp_floor(&now->freed_count, &before->freed_count);
    hp_floor(&now->freed_bytes, &before->freed_bytes);
    hp_floor(&now->foreign_count, &before->foreign_count);
    hp_floor(&now->foreign_bytes, &before->foreign_bytes);
    keep_peak(&now->peak_bytes, &before->peak_bytes);
    keep_peak(&now->peak_blocks, &before->peak_blocks);
}

static void keep_threads(struct hp_allocs *allocs, struct hp_floors *floors)
{
    for (size_t at = 0; at < allocs->thread_count; at++) {
        struct hp_thread_allocs *thread = &allocs->threads[at];
        const uint64_t tid = thread->label != NULL ? (uint64_t)thread->label->tid + 1 : 0;
        const uint64_t key = hp_floors_mix(hp_floors_mix(HP_FLOOR_THREAD, thread->pid), tid);
        struct totals_said *before = hp_floors_find(floors, key, sizeof *before);
        if (before == NULL)
            continue;
        keep_totals(&thread->totals, &before->totals);
        hp_floor(&thread->outside_bytes, &before->outside_bytes);
        hp_floor(&thread->outside_count, &before->outside_count);
    }
    struct hp_alloc_totals *before = hp_floors_find(floors, hp_floors_mix(HP_FLOOR_ALLOCS, 0), sizeof *before);
    if (before != NULL)
        keep_totals(&allocs->totals, before);
}

/* ----------------------------------------------------------------------------------------------- a run */

/*
 * A process that frees more than it has allocated frees blocks from before its session: then zero bytes live, not
 * fewer.
 */
static uint64_t take_below_zero(int64_t *live)
{
    const int64_t below = *live < 0 ? minus(0, *live) : 0;
    *live = higher(*live, 0);
    return (uint64_t)below;
}

/*
 * The peak of a process with one thread is the thread's. With several threads, and with lanes, the peak of the sum
 * was recorded, as far as they reported.
 */
static void add_session(struct hp_allocs *allocs, const struct hp_thread_allocs *threads, size_t count,
                        size_t records, const struct hp_header *header)
{
    struct hp_alloc_totals totals = {0};
    int64_t untold = 0;
    for (size_t at = 0; at < count; at++) {
        add_totals(&totals, &threads[at].totals);
        untold = higher(untold, threads[at].untold_peak);
    }
    allocs->processes += count > 0;
    allocs->earlier_bytes += take_below_zero(&totals.live_bytes);
    allocs->earlier_blocks += take_below_zero(&totals.live_blocks);
    const bool is_exact = records <= 1 && header->late_count == 0 && header->late_frees == 0 && header->lanes == 0;
    allocs->has_peak_blocks &= is_exact;
    if (!is_exact)
        totals.peak_bytes = higher(higher(header->alloc_peak, untold), totals.live_bytes);
    if (totals.peak_bytes >= allocs->totals.peak_bytes)
        allocs->peak_error = is_exact ? 0 : HP_ALLOC_UNPUBLISHED * (uint64_t)(records > 0 ? records : 1);
    allocs->failed += header->alloc_failed;
    add_totals(&allocs->totals, &totals);
}

/* Appends the threads of a session; there is room for them. False: no memory. */
static bool add_threads(struct hp_allocs *allocs, const struct hp_thread_list *list, uint32_t *number)
{
    const struct hp_header *header = &list->session->header;
    struct hp_thread_allocs *threads = allocs->threads + allocs->thread_count;
    struct hp_walk opens = {0};
    size_t records = 0, count = 0;
    for (size_t from = 0, to; from < list->count; from = to) {
        bool has_any = false;
        to = hp_thread_list_end(list, from);
        threads[count] =
            (struct hp_thread_allocs){.label = hp_thread_list_label(list, from, to, ++*number), .pid = header->pid};
        if (threads[count].label == NULL)
            return false;
        for (size_t at = from; at < to; at++)
            if (add_record(&threads[count], list->session, &list->all[at]->record, &opens)) {
                has_any = true;
                records++;
            }
        count += has_any;
    }
    if (header->late_count > 0 || header->late_frees > 0)
        threads[count++] = late_of(header);
    add_session(allocs, threads, count, records, header);
    allocs->thread_count += count;
    return true;
}

/* Lists the threads first: a live session may have more of them at the next read. */
const struct hp_allocs *hp_allocs_of_run(struct hp_arena *arena, const struct hp_run *run)
{
    struct hp_allocs *allocs = hp_arena_take(arena, sizeof *allocs);
    struct hp_thread_list *lists = hp_arena_take_array(arena, run->count, sizeof *lists);
    size_t most = run->count; /* one per session for allocations without a thread */
    uint32_t number = 0;
    if (allocs == NULL || lists == NULL)
        return NULL;
    for (size_t at = 0; at < run->count; at++) {
        if (!hp_thread_list_read(&lists[at], arena, run->sessions[at]))
            return NULL;
        most += lists[at].count;
    }
    allocs->threads = hp_arena_take_array(arena, most, sizeof *allocs->threads);
    if (allocs->threads == NULL)
        return NULL;
    allocs->has_peak_blocks = true;
    for (size_t at = 0; at < run->count; at++)
        if (!add_threads(allocs, &lists[at], &number))
            return NULL;
    if (allocs->processes > run->process_count) /* one that executed another program has two sessions */
        allocs->processes = run->process_count;
    if (run->floors != NULL)
        keep_threads(allocs, run->floors);
    return allocs;
}
