/*
 * A session added up, in four steps:
 *
 *   1. gather   every node of every thread becomes a record; every stat is hung onto its site
 *   2. link     records are sorted by thread and offset, so that a parent is found by bisection
 *   3. open     the zones that are open now are added to their records
 *   4. merge    level by level, records of one site below one merged parent become one node of the tree
 *
 * Everything is sorting and bisection, never hashing or walking lists of siblings: the offsets may have been chosen
 * by an enemy, and n log n is the worst they can get. SPDX-License-Identifier: MIT
 */
#include "profile.h"

#include <string.h>

#include "arena.h"
#include "site_table.h"
#include "sort.h"

/* One node of one thread's tree. */
struct record {
    struct hp_sums sums;
    struct hp_site_sums *site; /* NULL: the thread's root */
    struct record *parent;
    struct record *next; /* in order of arrival */
    struct hp_tree_node *merged;
    uint32_t thread; /* offset of its record: threads that appear meanwhile change nobody's */
    uint32_t offset;
    uint32_t parent_offset;
    uint32_t depth;   /* 0: not known yet; 1: below the root */
    uint32_t visited; /* the last search that came by */
};

struct hp_stat_link {
    struct hp_stat_link *next;
    uint32_t offset;
};

struct hp_open_link {
    struct hp_open_link *next;
    uint64_t ticks;
};

struct builder {
    struct hp_arena *arena;
    const struct hp_snapshot *snapshot;
    struct hp_profile *profile;
    struct hp_site_table sites;
    struct record *first;
    struct record **records;
    size_t record_count;
};

uint64_t hp_sums_self(const struct hp_sums *sums) { return (int64_t)sums->self < 0 ? 0 : sums->self; }

/* -------------------------------------------------------------------------------------------- gather */

static bool add_record(struct builder *builder, uint32_t thread, uint32_t offset, const struct hp_node *node)
{
    if (node->site != HP_SITE_ROOT && !hp_site_table_has_room_for(node->site))
        return true;
    struct record *record = hp_arena_take(builder->arena, sizeof *record);
    if (record == NULL)
        return false;
    if (node->site != HP_SITE_ROOT) {
        record->site = hp_site_table_find(&builder->sites, node->site);
        if (record->site == NULL)
            return false;
    }
    record->thread = thread;
    record->offset = offset;
    record->parent_offset = node->parent;
    record->sums = (struct hp_sums){
        .calls = node->calls,
        .total = node->outermost,
        .nested = node->nested,
        .self = node->self,
    };
    record->next = builder->first;
    builder->first = record;
    builder->record_count++;
    return true;
}

static bool add_stat(struct builder *builder, uint32_t offset, const struct hotpath_stat_ *stat)
{
    if (!hp_site_table_has_room_for(stat->site))
        return true;
    struct hp_site_sums *site = hp_site_table_find(&builder->sites, stat->site);
    struct hp_stat_link *link = hp_arena_take(builder->arena, sizeof *link);
    if (site == NULL || link == NULL)
        return false;
    *link = (struct hp_stat_link){.next = site->stats, .offset = offset};
    site->stats = link;
    site->threads += stat->threads;
    if (stat->min <= stat->max) {
        site->min = stat->min < site->min ? stat->min : site->min;
        site->max = stat->max > site->max ? stat->max : site->max;
    }
    return true;
}

static bool gather(struct builder *builder)
{
    struct hp_walk threads = {0}, nodes = {0}, stats = {0};
    struct hp_thread thread;
    struct hp_node node;
    struct hotpath_stat_ stat;
    while (hp_snapshot_next_thread(builder->snapshot, &threads, &thread)) {
        hp_walk_rewind(&nodes);
        while (hp_snapshot_next_node(builder->snapshot, &thread, &nodes, &node))
            if (!add_record(builder, threads.offset, nodes.offset, &node))
                return false;
        hp_walk_rewind(&stats);
        while (hp_snapshot_next_stat(builder->snapshot, &thread, &stats, &stat))
            if (!add_stat(builder, stats.offset, &stat))
                return false;
    }
    return true;
}

/* ---------------------------------------------------------------------------------------------- link */

static int by_place(uint32_t thread, uint32_t offset, const struct record *record)
{
    if (thread != record->thread)
        return thread < record->thread ? -1 : 1;
    return offset == record->offset ? 0 : offset < record->offset ? -1 : 1;
}

static int compare_places(const void *a, const void *b)
{
    const struct record *record = a;
    return by_place(record->thread, record->offset, b);
}

static struct record *find_record(const struct builder *builder, uint32_t thread, uint32_t offset)
{
    size_t low = 0, high = builder->record_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = by_place(thread, offset, builder->records[middle]);
        if (order == 0)
            return builder->records[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* A node that two chunks claim is one node. */
static void drop_duplicates(struct builder *builder)
{
    size_t kept = 0;
    for (size_t at = 0; at < builder->record_count; at++)
        if (kept == 0 || compare_places(builder->records[kept - 1], builder->records[at]) != 0)
            builder->records[kept++] = builder->records[at];
    builder->record_count = kept;
}

/* A parent that is the root, or not there, counts as none: such a node stands at the top. */
static void link_parents(struct builder *builder)
{
    for (size_t at = 0; at < builder->record_count; at++) {
        struct record *record = builder->records[at];
        struct record *parent =
            record->parent_offset == 0 ? NULL : find_record(builder, record->thread, record->parent_offset);
        if (parent != NULL && parent->site != NULL)
            record->parent = parent;
    }
}

/*
 * Depths, each record looked at twice at most: up to the first ancestor whose depth is known, then up again to
 * write them down. An ancestor met for the second time in one search closes a circle, which is cut there.
 */
static void set_depth(struct record *record, uint32_t search)
{
    uint32_t steps = 1;
    struct record *top = record;
    top->visited = search;
    while (top->parent != NULL && top->parent->depth == 0) {
        if (top->parent->visited == search) {
            top->parent = NULL;
            break;
        }
        top = top->parent;
        top->visited = search;
        steps++;
    }
    uint32_t depth = steps + (top->parent != NULL ? top->parent->depth : 0);
    for (struct record *at = record; steps > 0; steps--, at = at->parent)
        at->depth = depth--;
}

static bool link_records(struct builder *builder)
{
    builder->records = hp_arena_take_array(builder->arena, builder->record_count + 1, sizeof(void *));
    if (builder->records == NULL)
        return false;
    size_t at = 0;
    for (struct record *record = builder->first; record != NULL; record = record->next)
        builder->records[at++] = record;
    hp_sort(builder->records, builder->record_count, compare_places);
    drop_duplicates(builder);
    link_parents(builder);
    for (at = 0; at < builder->record_count; at++)
        if (builder->records[at]->depth == 0)
            set_depth(builder->records[at], (uint32_t)at + 1);
    return true;
}

/* ---------------------------------------------------------------------------------------------- open */

/* Frames come outermost first: a node that is open already is inside itself. */
static bool add_open(struct builder *builder, struct record *record, const struct hotpath_frame_ *frame,
                     uint64_t ticks)
{
    struct hp_site_sums *site = record->site;
    struct hp_open_link *link = hp_arena_take(builder->arena, sizeof *link);
    if (link == NULL)
        return false;
    *link = (struct hp_open_link){.next = site->opens, .ticks = ticks};
    site->opens = link;
    site->min = ticks < site->min ? ticks : site->min;
    site->max = ticks > site->max ? ticks : site->max;
    record->sums.self += ticks - frame->child;
    if (record->sums.open == 0) /* frames come outermost first */
        record->sums.total += ticks;
    else
        record->sums.nested += ticks;
    record->sums.calls++;
    record->sums.open++;
    return true;
}

/*
 * Two things can go wrong in a live session. A frame whose node is not the thread's is no frame: the stack was just
 * being moved to a larger one. And a frame may show up a moment before its fields do, with the start of an earlier
 * zone; no zone begins before the one around it.
 */
static bool add_open_zones(struct builder *builder, uint32_t offset, const struct hp_thread *thread,
                           struct hp_walk *walk)
{
    const uint64_t now = builder->snapshot->now_ticks;
    struct hotpath_frame_ frame;
    struct record *around = NULL;
    uint64_t around_start = 0;
    while (hp_snapshot_next_open(builder->snapshot, thread, walk, &frame)) {
        struct record *record = find_record(builder, offset, frame.node);
        if (record == NULL || record->site == NULL)
            break;
        const uint64_t start = frame.start > around_start ? frame.start : around_start;
        const uint64_t ticks = start < now ? now - start : 0;
        if (!add_open(builder, record, &frame, ticks))
            return false;
        if (around != NULL)
            around->sums.self -= ticks;
        around = record;
        around_start = start;
    }
    return true;
}

static bool add_all_open(struct builder *builder)
{
    struct hp_walk threads = {0}, opens = {0};
    struct hp_thread thread;
    while (hp_snapshot_next_thread(builder->snapshot, &threads, &thread)) {
        hp_walk_rewind(&opens);
        if (!add_open_zones(builder, threads.offset, &thread, &opens))
            return false;
    }
    return true;
}

/* --------------------------------------------------------------------------------------------- merge */

static void add_sums(struct hp_sums *to, const struct hp_sums *from)
{
    to->calls += from->calls;
    to->open += from->open;
    to->total += from->total;
    to->nested += from->nested;
    to->self += from->self;
}

static uint32_t parent_index(const struct record *record)
{
    return record->parent != NULL && record->parent->merged != NULL ? record->parent->merged->index + 1 : 0;
}

static int compare_depths(const void *a, const void *b)
{
    const uint32_t x = ((const struct record *)a)->depth, y = ((const struct record *)b)->depth;
    return x == y ? 0 : x < y ? -1 : 1;
}

static int compare_paths(const void *a, const void *b)
{
    const struct record *x = a, *y = b;
    const uint32_t xp = parent_index(x), yp = parent_index(y);
    if (xp != yp)
        return xp < yp ? -1 : 1;
    const uint32_t xs = x->site ? x->site->id : HP_SITE_ROOT, ys = y->site ? y->site->id : HP_SITE_ROOT;
    return xs == ys ? 0 : xs < ys ? -1 : 1;
}

static struct hp_tree_node *new_tree_node(struct builder *builder, const struct record *record)
{
    struct hp_profile *profile = builder->profile;
    struct hp_tree_node *node = hp_arena_take(builder->arena, sizeof *node);
    if (node == NULL)
        return NULL;
    node->site = record->site;
    node->parent = record->parent ? record->parent->merged : NULL;
    node->depth = record->depth - 1;
    node->index = (uint32_t)profile->node_count;
    profile->nodes[profile->node_count++] = node;
    struct hp_tree_node **list = node->parent ? &node->parent->first_child : &profile->first_root;
    node->next_sibling = *list;
    *list = node;
    return node;
}

static bool merge_level(struct builder *builder, struct record **records, size_t count)
{
    hp_sort(records, count, compare_paths);
    for (size_t at = 0; at < count; at++) {
        struct record *record = records[at];
        if (record->site == NULL)
            continue; /* a root; the roots of all threads come last */
        const bool is_same = at > 0 && compare_paths(records[at - 1], record) == 0;
        record->merged = is_same ? records[at - 1]->merged : new_tree_node(builder, record);
        if (record->merged == NULL)
            return false;
        add_sums(&record->merged->sums, &record->sums);
        add_sums(&record->site->sums, &record->sums);
    }
    return true;
}

static bool merge(struct builder *builder)
{
    builder->profile->nodes = hp_arena_take_array(builder->arena, builder->record_count + 1, sizeof(void *));
    if (builder->profile->nodes == NULL)
        return false;
    hp_sort(builder->records, builder->record_count, compare_depths);
    for (size_t from = 0, to; from < builder->record_count; from = to) {
        to = from + 1;
        while (to < builder->record_count && compare_depths(builder->records[from], builder->records[to]) == 0)
            to++;
        if (!merge_level(builder, builder->records + from, to - from))
            return false;
    }
    return true;
}

/*
 * Calls that were folded onto a node further up may have been made inside this one, with all that was inside them.
 * Nobody knows how many, so all of them count: this is an upper bound.
 */
static uint64_t calls_perhaps_inside(const struct hp_tree_node *node)
{
    return node->folded != NULL ? node->folded->calls_inside + node->folded->sums.calls : node->calls_inside;
}

/* Up from the children first, then down from the parents: each node is looked at twice, however deep the tree is. */
static void count_calls_inside(struct hp_profile *profile)
{
    for (size_t at = profile->node_count; at-- > 0;) {
        const struct hp_tree_node *node = profile->nodes[at];
        if (node->parent != NULL)
            node->parent->calls_inside += node->calls_inside + node->sums.calls;
    }
    for (size_t at = 0; at < profile->node_count; at++) {
        struct hp_tree_node *node = profile->nodes[at];
        node->folded = node->parent != NULL ? node->parent->folded : NULL;
        if (node->folded == NULL && node->sums.nested > 0)
            node->folded = node;
        node->site->calls_inside += calls_perhaps_inside(node);
    }
}

static void count_calls_by_thread(struct builder *builder)
{
    struct hp_profile *profile = builder->profile;
    uint64_t calls = 0;
    for (size_t at = 0; at < builder->record_count; at++) {
        if (at > 0 && builder->records[at]->thread != builder->records[at - 1]->thread)
            calls = 0;
        calls += builder->records[at]->sums.calls;
        profile->calls += builder->records[at]->sums.calls;
        if (calls > profile->calls_of_busiest_thread)
            profile->calls_of_busiest_thread = calls;
    }
}

/* ------------------------------------------------------------------------------------------- results */

static bool list_sites(struct builder *builder)
{
    struct hp_profile *profile = builder->profile;
    profile->sites = hp_arena_take_array(builder->arena, builder->sites.count + 1, sizeof(void *));
    if (profile->sites == NULL)
        return false;
    for (struct hp_site_sums *site = builder->sites.all; site != NULL; site = site->next) {
        if (site->sums.calls == 0)
            continue;
        profile->sites[profile->site_count++] = site;
        if (site->id == profile->snapshot->header.main_site)
            profile->main = site;
    }
    return hp_site_table_name(&builder->sites, profile->sites, profile->site_count);
}

struct hp_profile *hp_profile_build(struct hp_arena *arena, const struct hp_snapshot *snapshot)
{
    struct builder *builder = hp_arena_take(arena, sizeof *builder);
    struct hp_profile *profile = hp_arena_take(arena, sizeof *profile);
    if (builder == NULL || profile == NULL)
        return NULL;
    profile->snapshot = snapshot;
    builder->arena = arena;
    builder->snapshot = snapshot;
    builder->profile = profile;
    builder->sites.arena = arena;
    builder->sites.snapshot = snapshot;
    if (!gather(builder) || !link_records(builder) || !add_all_open(builder))
        return NULL;
    count_calls_by_thread(builder);
    if (!merge(builder))
        return NULL;
    count_calls_inside(profile);
    return list_sites(builder) ? profile : NULL;
}

const char *hp_profile_open_note(const struct hp_profile *profile)
{
    const struct hp_snapshot *snapshot = profile->snapshot;
    return snapshot->is_live || snapshot->is_finished
               ? "* still running when the report was made: counted up to then"
               : "* still running when the process was killed: counted up to its last sign";
}

static uint64_t sum_of_rows(const struct hp_profile *profile, bool is_exclusive)
{
    uint64_t ticks = 0;
    for (size_t at = 0; at < profile->site_count; at++) {
        const struct hp_site_sums *site = profile->sites[at];
        if (site != profile->main)
            ticks += is_exclusive ? hp_sums_self(&site->sums) : site->sums.total;
    }
    return ticks;
}

uint64_t hp_profile_whole(const struct hp_profile *profile, const struct hp_settings *settings,
                          const char **ret_percent_of)
{
    if (settings->exclude_wrapper) {
        *ret_percent_of = "rows";
        return sum_of_rows(profile, settings->time_exclusive);
    }
    if (profile->main != NULL && profile->main->sums.total > 0) {
        *ret_percent_of = "main";
        return profile->main->sums.total;
    }
    *ret_percent_of = "elapsed";
    return profile->snapshot->now_ticks - profile->snapshot->header.clock_start.ticks;
}

/* ----------------------------------------------------------------------------------------- durations */

static void add_duration(struct hp_durations *durations, uint64_t ticks)
{
    uint32_t line, step;
    hp_duration_place(ticks, &line, &step);
    durations->lines[line][step]++;
    durations->timed++;
    durations->counted++;
}

static void add_stat_durations(const struct hp_profile *profile, uint32_t offset, struct hp_durations *durations)
{
    struct hotpath_stat_ stat;
    if (!hp_snapshot_stat(profile->snapshot, offset, &stat))
        return;
    durations->timed += stat.missed;
    hp_snapshot_add_durations(profile->snapshot, &stat, durations->lines);
}

void hp_profile_durations(const struct hp_profile *profile, const struct hp_site_sums *site,
                          struct hp_durations *ret_durations)
{
    memset(ret_durations, 0, sizeof *ret_durations);
    ret_durations->min = site->min;
    ret_durations->max = site->max;
    for (const struct hp_stat_link *link = site->stats; link != NULL; link = link->next)
        add_stat_durations(profile, link->offset, ret_durations);
    for (size_t line = 0; line < HP_DURATION_LINES; line++)
        for (size_t step = 0; step < 64; step++)
            ret_durations->counted += ret_durations->lines[line][step];
    ret_durations->timed += ret_durations->counted;
    for (const struct hp_open_link *link = site->opens; link != NULL; link = link->next)
        add_duration(ret_durations, link->ticks);
}

/* The middle of what one counter counts. Those of the first two lines count one value each. */
static double middle_of(uint32_t line, uint32_t step)
{
    if (line == 0)
        return step;
    const uint64_t width = UINT64_C(1) << (line - 1);
    return (double)((64 + (uint64_t)step) * width) + (double)(width - 1) / 2;
}

/* 99.9 % of 1000 is the 999th, though 99.9 / 100 * 1000 is a little more than 999 in binary. */
static uint64_t rank_of(double percentile, uint64_t count)
{
    const double exact = percentile / 100 * (double)count;
    uint64_t rank = exact >= 0x1p63 ? count : exact > 0 ? (uint64_t)exact : 0;
    if (exact - (double)rank > 1e-9 * exact)
        rank++;
    return rank < 1 ? 1 : rank > count ? count : rank;
}

bool hp_durations_percentile(const struct hp_durations *durations, double percentile, double *ret_ticks)
{
    if (durations->timed == 0 || durations->min > durations->max)
        return false;
    const double least = (double)durations->min, most = (double)durations->max;
    if (percentile <= 0 || percentile >= 100) {
        *ret_ticks = percentile <= 0 ? least : most;
        return true;
    }
    if (durations->counted == 0)
        return false;
    uint64_t left = rank_of(percentile, durations->counted);
    uint32_t line = 0, step = 0;
    while (line < HP_DURATION_LINES && left > durations->lines[line][step]) {
        left -= durations->lines[line][step];
        step = (step + 1) % 64;
        line += step == 0;
    }
    const double middle = line < HP_DURATION_LINES ? middle_of(line, step) : most;
    *ret_ticks = middle < least ? least : middle > most ? most : middle;
    return true;
}

/*
 * Of each own call the inner part of a zone's cost falls into its duration; of each call inside, all of it. Inner
 * calls of a recursion lie inside, too.
 */
double hp_profile_overhead_ns(const struct hp_profile *profile, const struct hp_site_sums *site)
{
    const struct hp_header *header = &profile->snapshot->header;
    const double inner = (double)(site->sums.nested > 0 ? header->zone_cost_ps : header->zone_inner_ps) / 1000;
    const double whole = (double)header->zone_cost_ps / 1000;
    const double ns = (double)site->sums.calls * inner + (double)site->calls_inside * whole;
    const double most = hp_snapshot_ns(profile->snapshot, site->sums.total);
    return ns < most ? ns : most;
}
