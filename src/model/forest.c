/*
 * The shape of a run, in four steps:
 *
 *   1. gather   every node of every thread becomes a record, in the order of their places; stats are hung onto their sites
 *   2. unify    sites that sessions have in common become one
 *   3. link     parents are found, and depths
 *   4. merge    level by level, records of one site below one merged parent become one node of the tree
 *
 * SPDX-License-Identifier: MIT
 */
#include "forest.h"

#include <string.h>

#include "arena.h"
#include "arith.h"
#include "sort.h"
#include "thread_list.h"

/* -------------------------------------------------------------------------------------------- gather */

/* What a session has of nodes. */
static struct hp_shape shape_of(const struct hp_snapshot *session)
{
    struct hp_shape shape = {.threads = 0};
    struct hp_walk threads = {0}, runs = {0};
    struct hp_thread thread;
    struct hp_node_run run;
    while (hp_snapshot_next_thread(session, &threads, &thread)) {
        if (shape.thread_count++ == 0)
            shape.threads = threads.offset;
        hp_walk_rewind(&runs);
        while (hp_snapshot_next_node_run(session, &thread, &runs, &run))
            shape.node_count += run.count;
    }
    return shape;
}

/* Several nodes of a site share the stat that the thread has for it, and come one after the other here, thread by thread. */
static bool add_stat(const struct hp_forest *forest, struct hp_site_sums *site, const struct hp_place *place,
                     uint32_t stat)
{
    const struct hp_snapshot *session = forest->run->sessions[place->session];
    if (stat == 0 || (site->stats != NULL && site->stats->session == session &&
                      site->stats->thread == place->thread && site->stats->offset == stat))
        return true;
    struct hp_stat_link *link = hp_arena_take(forest->arena, sizeof *link);
    if (link == NULL)
        return false;
    *link = (struct hp_stat_link){.next = site->stats, .session = session, .thread = place->thread, .offset = stat};
    site->stats = link;
    return true;
}

static bool add_record(struct hp_forest *forest, struct hp_record *record, const struct hp_place *place,
                       const struct hp_node_links *node)
{
    record->place = *place;
    record->parent_offset = node->parent;
    if (node->site == HP_SITE_ROOT)
        return true;
    record->site = hp_site_table_find(&forest->sites, node->site);
    return record->site != NULL && add_stat(forest, record->site, place, node->stat);
}

/* The runs of nodes of a thread. In the order of their offsets, so that records need not be sorted. */
struct runs {
    struct hp_node_run *all;
    struct hp_node_run **order;
    size_t count, capacity;
};

static int compare_runs(const void *a, const void *b)
{
    return hp_by_number(((const struct hp_node_run *)a)->first, ((const struct hp_node_run *)b)->first);
}

/* A thread has few: each is twice as large as the one before. */
static bool read_runs(const struct hp_forest *forest, struct runs *runs, const struct hp_snapshot *session,
                      const struct hp_thread *thread, struct hp_walk *walk)
{
    runs->count = 0;
    hp_walk_rewind(walk);
    for (struct hp_node_run run; hp_snapshot_next_node_run(session, thread, walk, &run); runs->count++) {
        if (runs->count == runs->capacity) {
            const size_t capacity = 2 * runs->capacity + 32;
            struct hp_node_run *more = hp_arena_take_array(forest->arena, capacity, sizeof *more);
            struct hp_node_run **order = hp_arena_take_array(forest->arena, capacity, sizeof(void *));
            if (more == NULL || order == NULL)
                return false;
            if (runs->count > 0)
                memcpy(more, runs->all, runs->count * sizeof *more);
            runs->all = more;
            runs->order = order;
            runs->capacity = capacity;
        }
        runs->all[runs->count] = run;
    }
    for (size_t at = 0; at < runs->count; at++)
        runs->order[at] = &runs->all[at];
    hp_sort(runs->order, runs->count, compare_runs);
    return true;
}

/* What all threads of a session have in common while they are gathered. */
struct gathering {
    struct hp_record *free; /* places for records, of which there are enough */
    size_t left;
    struct runs runs;
    struct hp_walk walk;
};

static bool gather_thread(struct hp_forest *forest, struct gathering *gathering, uint32_t index,
                          const struct hp_thread *thread, uint32_t offset)
{
    const struct hp_snapshot *session = forest->run->sessions[index];
    struct hp_node_links node;
    if (!read_runs(forest, &gathering->runs, session, thread, &gathering->walk))
        return false;
    for (size_t run = 0; run < gathering->runs.count; run++)
        for (uint32_t at = 0; at < gathering->runs.order[run]->count && gathering->left > 0; at++) {
            const struct hp_place place = {index, offset, hp_node_run_offset(gathering->runs.order[run], at)};
            hp_snapshot_node_links(session, place.offset, &node);
            if (node.site != HP_SITE_ROOT && !hp_site_table_has_room_for(node.site))
                continue;
            struct hp_record *record = gathering->free++;
            gathering->left--;
            if (!add_record(forest, record, &place, &node))
                return false;
            forest->records[forest->record_count++] = record;
        }
    return true;
}

static int compare_offsets(const void *a, const void *b)
{
    return hp_by_number(((const struct hp_listed_thread *)a)->offset, ((const struct hp_listed_thread *)b)->offset);
}

static bool gather_session(struct hp_forest *forest, struct gathering *gathering, uint32_t index,
                           struct hp_thread_list *threads)
{
    hp_sort(threads->all, threads->count, compare_offsets);
    for (size_t at = 0; at < threads->count; at++)
        if (!gather_thread(forest, gathering, index, &threads->all[at]->record, threads->all[at]->offset))
            return false;
    return true;
}

static bool gather_by_thread(struct hp_forest *forest, struct gathering *gathering, uint32_t index,
                             const struct hp_thread_list *threads)
{
    for (size_t from = 0, to; from < threads->count; from = to) {
        to = hp_thread_list_end(threads, from);
        forest->sites.thread = hp_thread_list_label(threads, from, to, ++forest->label_count);
        if (forest->sites.thread == NULL)
            return false;
        for (size_t at = from; at < to; at++)
            if (!gather_thread(forest, gathering, index, &threads->all[at]->record, threads->all[at]->offset))
                return false;
    }
    forest->sites.thread = NULL;
    return true;
}

static bool find_main(struct hp_forest *forest, uint32_t index)
{
    const uint32_t id = forest->run->sessions[index]->header.main_site;
    if (!hp_site_table_has_room_for(id))
        return true;
    forest->mains[index] = hp_site_table_find(&forest->sites, id);
    return forest->mains[index] != NULL;
}

/* A node that appears meanwhile finds no place, and comes with the next reading. */
static bool make_places(struct hp_forest *forest, struct gathering *gathering)
{
    const size_t sessions = forest->run->count;
    forest->shapes = hp_arena_take_array(forest->arena, sessions + 1, sizeof *forest->shapes);
    forest->mains = hp_arena_take_array(forest->arena, sessions + 1, sizeof(void *));
    forest->sessions = hp_arena_take_array(forest->arena, sessions + 1, sizeof(void *));
    if (forest->shapes == NULL || forest->mains == NULL || forest->sessions == NULL)
        return false;
    forest->session_count = sessions;
    for (size_t index = 0; index < sessions; index++) {
        forest->sessions[index] = forest->run->sessions[index];
        forest->shapes[index] = shape_of(forest->run->sessions[index]);
        gathering->left += forest->shapes[index].node_count;
    }
    gathering->free = hp_arena_take_array(forest->arena, gathering->left + 1, sizeof *gathering->free);
    forest->records = hp_arena_take_array(forest->arena, gathering->left + 1, sizeof(void *));
    return gathering->free != NULL && forest->records != NULL;
}

static bool gather(struct hp_forest *forest)
{
    struct gathering gathering = {.left = 0};
    if (!make_places(forest, &gathering))
        return false;
    for (uint32_t index = 0; index < forest->run->count; index++) {
        struct hp_thread_list threads;
        gathering.walk = (struct hp_walk){0};
        hp_site_table_read(&forest->sites, forest->run->sessions[index], index);
        if (!hp_thread_list_read(&threads, forest->arena, forest->run->sessions[index]) ||
            !find_main(forest, index) ||
            !(forest->is_by_thread ? gather_by_thread(forest, &gathering, index, &threads)
                                   : gather_session(forest, &gathering, index, &threads)))
            return false;
    }
    return true;
}

/* --------------------------------------------------------------------------------------------- unify */

static void move_stats(struct hp_site_sums *to, struct hp_site_sums *from)
{
    while (from->stats != NULL) {
        struct hp_stat_link *link = from->stats;
        from->stats = link->next;
        link->next = to->stats;
        to->stats = link;
    }
}

static void mark_mains(const struct hp_forest *forest)
{
    for (size_t at = 0; at < forest->run->count; at++)
        if (forest->mains[at] != NULL) {
            forest->mains[at] = forest->mains[at]->same;
            forest->mains[at]->is_main = true;
        }
}

/* By thread, what is the same has the same name, and numbers of its own. */
static bool unify(struct hp_forest *forest)
{
    if ((forest->run->count > 1 || forest->is_by_thread) && !hp_site_table_unify(&forest->sites))
        return false;
    mark_mains(forest);
    if (forest->is_by_thread)
        return true;
    for (struct hp_site_sums *site = forest->sites.all; site != NULL; site = site->next)
        if (site->same != site)
            move_stats(site->same, site);
    for (size_t at = 0; at < forest->record_count; at++)
        if (forest->records[at]->site != NULL)
            forest->records[at]->site = forest->records[at]->site->same;
    return true;
}

/* ---------------------------------------------------------------------------------------------- link */

static int by_place(const struct hp_place *x, const struct hp_place *y)
{
    if (x->session != y->session)
        return x->session < y->session ? -1 : 1;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return x->offset == y->offset ? 0 : x->offset < y->offset ? -1 : 1;
}

static int compare_places(const void *a, const void *b)
{
    return by_place(&((const struct hp_record *)a)->place, &((const struct hp_record *)b)->place);
}

static struct hp_record *find_among(struct hp_record *const *records, size_t count, const struct hp_place *place)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = by_place(place, &records[middle]->place);
        if (order == 0)
            return records[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

struct hp_record *hp_forest_find(const struct hp_forest *forest, const struct hp_place *place)
{
    return find_among(forest->records, forest->record_count, place);
}

/* They are mostly gathered in order. */
static void sort_by_place(struct hp_forest *forest)
{
    for (size_t at = 1; at < forest->record_count; at++)
        if (compare_places(forest->records[at - 1], forest->records[at]) > 0) {
            hp_sort(forest->records, forest->record_count, compare_places);
            return;
        }
}

/* A node that two chunks claim is one node. */
static void drop_duplicates(struct hp_forest *forest)
{
    size_t kept = 0;
    for (size_t at = 0; at < forest->record_count; at++)
        if (kept == 0 || compare_places(forest->records[kept - 1], forest->records[at]) != 0)
            forest->records[kept++] = forest->records[at];
    forest->record_count = kept;
}

static bool is_same_thread(const struct hp_record *record, const struct hp_record *other)
{
    return record->place.session == other->place.session && record->place.thread == other->place.thread;
}

/* A parent that is the root, or not there, counts as none: such a node stands at the top. */
static void link_parents_of(struct hp_record *const *records, size_t count)
{
    struct hp_record *parent = NULL; /* that of the one before, which often has the same */
    for (size_t at = 0; at < count; at++) {
        struct hp_record *record = records[at];
        const struct hp_place above = {record->place.session, record->place.thread, record->parent_offset};
        if (parent == NULL || parent->place.offset != above.offset)
            parent = above.offset == 0 ? NULL : find_among(records, count, &above);
        if (parent != NULL && parent->site != NULL)
            record->parent = parent;
    }
}

/*
 * Depths, each record looked at twice at most: up to the first ancestor whose depth is known, then up again to
 * write them down. An ancestor met for the second time in one search closes a circle, which is cut there.
 */
static void set_depth(struct hp_record *record, uint32_t search)
{
    uint32_t steps = 1;
    struct hp_record *top = record;
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
    for (struct hp_record *at = record; steps > 0; steps--, at = at->parent)
        at->depth = depth--;
}

static void link_records(struct hp_forest *forest)
{
    sort_by_place(forest);
    drop_duplicates(forest);
    for (size_t from = 0, to; from < forest->record_count; from = to) {
        to = from + 1;
        while (to < forest->record_count && is_same_thread(forest->records[from], forest->records[to]))
            to++;
        link_parents_of(forest->records + from, to - from);
    }
    for (size_t at = 0; at < forest->record_count; at++)
        if (forest->records[at]->depth == 0)
            set_depth(forest->records[at], (uint32_t)at + 1);
}

/* --------------------------------------------------------------------------------------------- merge */

/* Tree nodes by parent and site: open addressing. */
struct index {
    struct hp_tree_node **places;
    size_t mask;
    uint64_t secret;
};

static size_t hash(const struct index *index, const struct hp_tree_node *parent, const struct hp_site_sums *site)
{
    uint64_t mixed = ((uint64_t)(uintptr_t)parent ^ index->secret) * UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 29 ^ (uint64_t)(uintptr_t)site ^ index->secret >> 7) * UINT64_C(0xbf58476d1ce4e5b9);
    return (size_t)(mixed ^ mixed >> 32) & index->mask;
}

/* The place of the node of this site below that parent; one that is empty where there is none yet. */
static struct hp_tree_node **look_up(const struct index *index, const struct hp_tree_node *parent,
                                     const struct hp_site_sums *site)
{
    size_t at = hash(index, parent, site);
    while (index->places[at] != NULL && (index->places[at]->parent != parent || index->places[at]->site != site))
        at = (at + 1) & index->mask;
    return &index->places[at];
}

/* Addresses and the time a session was read are nothing that somebody who makes up a file can know. */
static bool make_index(const struct hp_forest *forest, struct index *index)
{
    size_t capacity = 64;
    while (capacity < 2 * forest->record_count)
        capacity *= 2;
    index->places = hp_arena_take_array(forest->arena, capacity, sizeof(void *));
    index->mask = capacity - 1;
    index->secret = (uint64_t)(uintptr_t)index->places * UINT64_C(0x9e3779b97f4a7c15);
    for (size_t at = 0; at < forest->run->count; at++)
        index->secret ^= forest->run->sessions[at]->now_ticks * UINT64_C(0xbf58476d1ce4e5b9);
    return index->places != NULL;
}

static uint32_t index_of(const struct hp_tree_node *node) { return node != NULL ? node->index + 1 : 0; }

/* The order is that of the sites, whatever thread was first to come by. */
static int compare_paths(const void *a, const void *b)
{
    const struct hp_tree_node *x = a, *y = b;
    int order = hp_by_number(index_of(x->parent), index_of(y->parent));
    if (order == 0)
        order = hp_by_number(hp_site_number(x->site), hp_site_number(y->site));
    return order != 0 ? order : hp_by_number(hp_thread_number(x->site), hp_thread_number(y->site));
}

static void hang_up(struct hp_forest *forest, size_t from)
{
    for (size_t at = from; at < forest->node_count; at++) {
        struct hp_tree_node *node = forest->nodes[at];
        struct hp_tree_node **list = node->parent != NULL ? &node->parent->first_child : &forest->first_root;
        node->index = (uint32_t)at;
        node->next_sibling = *list;
        *list = node;
    }
}

void hp_forest_forget(struct hp_forest *forest)
{
    for (size_t at = 0; at < forest->node_count; at++) {
        struct hp_tree_node *node = forest->nodes[at];
        *node = (struct hp_tree_node){.site = node->site, .parent = node->parent, .depth = node->depth};
    }
    forest->first_root = NULL;
    hang_up(forest, 0);
    for (struct hp_site_sums *site = forest->sites.all; site != NULL; site = site->next) {
        memset(&site->sums, 0, sizeof site->sums);
        site->is_limited = site->is_self_scaled = false;
        site->calls_inside = 0;
        site->opens = NULL;
    }
}

static bool merge_level(struct hp_forest *forest, const struct index *index, struct hp_record *const *records,
                        size_t count)
{
    const size_t from = forest->node_count;
    for (size_t at = 0; at < count; at++) {
        struct hp_record *record = records[at];
        if (record->site == NULL)
            continue; /* a root */
        struct hp_tree_node *parent = record->parent != NULL ? record->parent->merged : NULL;
        struct hp_tree_node **place = look_up(index, parent, record->site);
        if (*place == NULL) {
            *place = hp_arena_take(forest->arena, sizeof **place);
            if (*place == NULL)
                return false;
            **place = (struct hp_tree_node){.site = record->site, .parent = parent, .depth = record->depth - 1};
            forest->nodes[forest->node_count++] = *place;
        }
        record->merged = *place;
    }
    hp_sort(forest->nodes + from, forest->node_count - from, compare_paths);
    hang_up(forest, from);
    return true;
}

/* Records by depth: `ret_ends` has, for each depth, where those of it end. NULL: no memory. */
static struct hp_record **sort_by_depth(const struct hp_forest *forest, size_t **ret_ends, uint32_t *ret_deepest)
{
    uint32_t deepest = 0;
    for (size_t at = 0; at < forest->record_count; at++)
        deepest = forest->records[at]->depth > deepest ? forest->records[at]->depth : deepest;
    struct hp_record **order = hp_arena_take_array(forest->arena, forest->record_count + 1, sizeof(void *));
    size_t *ends = hp_arena_take_array(forest->arena, (size_t)deepest + 2, sizeof *ends);
    if (order == NULL || ends == NULL)
        return NULL;
    for (size_t at = 0; at < forest->record_count; at++)
        ends[forest->records[at]->depth + 1]++;
    for (uint32_t depth = 1; depth <= deepest; depth++)
        ends[depth + 1] += ends[depth];
    for (size_t at = 0; at < forest->record_count; at++)
        order[ends[forest->records[at]->depth]++] = forest->records[at];
    *ret_ends = ends;
    *ret_deepest = deepest;
    return order;
}

static bool merge(struct hp_forest *forest)
{
    struct index index;
    size_t *ends;
    uint32_t deepest;
    struct hp_record **order = sort_by_depth(forest, &ends, &deepest);
    forest->nodes = hp_arena_take_array(forest->arena, forest->record_count + 1, sizeof(void *));
    if (order == NULL || forest->nodes == NULL || !make_index(forest, &index))
        return false;
    for (uint32_t depth = 0; depth <= deepest; depth++) {
        const size_t from = depth > 0 ? ends[depth - 1] : 0;
        if (!merge_level(forest, &index, order + from, ends[depth] - from))
            return false;
    }
    return true;
}

/* --------------------------------------------------------------------------------------------------- the whole */

bool hp_forest_build(struct hp_forest *forest, struct hp_arena *arena, const struct hp_run *run, bool is_by_thread)
{
    memset(forest, 0, sizeof *forest);
    forest->arena = forest->sites.arena = arena;
    forest->sites.read_name = run->read_name;
    forest->run = run;
    forest->is_by_thread = is_by_thread;
    if (!gather(forest) || !unify(forest))
        return false;
    link_records(forest);
    return merge(forest);
}

bool hp_forest_is_of(const struct hp_forest *forest, const struct hp_run *run)
{
    if (run->count != forest->session_count)
        return false;
    for (size_t at = 0; at < run->count; at++) {
        const struct hp_shape shape = shape_of(run->sessions[at]), *known = &forest->shapes[at];
        if (run->sessions[at] != forest->sessions[at] || shape.node_count != known->node_count ||
            shape.threads != known->threads || shape.thread_count != known->thread_count)
            return false;
    }
    return true;
}
