/*
 * The shape of a run, in four steps:
 *
 *   1. gather   every node of every thread becomes a record, sorted by place; stats are linked to sites
 *   2. unify    sites that sessions have in common become one
 *   3. merge    thread by thread, records of one site below one merged parent become one node of the tree
 *   4. hang     these nodes are put in order, level by level
 *
 * Parents are created before their children, so they have lower offsets; a parent that does not is ignored.
 * SPDX-License-Identifier: MIT
 */
#include "forest.h"

#include <string.h>

#include "arena.h"
#include "arith.h"
#include "sort.h"
#include "thread_list.h"

/* -------------------------------------------------------------------------------------------- gather */

/* What the shape of a session depends on. */
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

/* The runs of nodes of a thread, sorted by offset, so that records need not be sorted. */
struct runs {
    struct hp_node_run *all;
    struct hp_node_run **order;
    size_t count, capacity;
};

/*
 * Arrays for what is gathered, sized in advance. Nodes that appear meanwhile are skipped and come with the next
 * reading.
 */
struct gathering {
    struct hp_arena *passing;
    struct hp_record *records;
    size_t records_left;
    struct hp_stat_link *links;
    struct hp_thread_tree *trees;
    size_t trees_left;
    struct runs runs;
    struct hp_walk walk;
};

/* Several nodes of a site share the thread's stat for it; they come in succession here, thread by thread. */
static void add_stat(struct gathering *gathering, struct hp_site_sums *site, const struct hp_snapshot *session,
                     uint32_t thread, uint32_t stat)
{
    if (stat == 0 || (site->stats != NULL && site->stats->session == session && site->stats->thread == thread &&
                      site->stats->offset == stat))
        return;
    struct hp_stat_link *link = gathering->links++;
    *link = (struct hp_stat_link){.next = site->stats, .session = session, .thread = thread, .offset = stat};
    site->stats = link;
}

/* False: no memory. A node that two chunks claim is one node. */
static bool add_record(struct hp_forest *forest, struct gathering *gathering, struct hp_thread_tree *tree,
                       uint32_t offset)
{
    const struct hp_snapshot *session = forest->run->sessions[tree->calls.session];
    struct hp_node_links node;
    if (gathering->records_left == 0 || (tree->count > 0 && offset <= tree->records[tree->count - 1].offset))
        return true;
    hp_snapshot_node_links(session, offset, &node);
    const bool is_root = node.site == HP_SITE_ROOT;
    if (!is_root && !hp_site_table_has_room_for(node.site))
        return true;
    struct hp_record *record = gathering->records++;
    gathering->records_left--;
    tree->count++;
    record->offset = offset;
    record->made_of.parent = node.parent;
    record->made_of.site = is_root ? NULL : hp_site_table_find(&forest->sites, node.site);
    if (record->made_of.site != NULL)
        add_stat(gathering, record->made_of.site, session, tree->calls.thread, node.stat);
    return is_root || record->made_of.site != NULL;
}

static int compare_runs(const void *a, const void *b)
{
    return hp_by_number(((const struct hp_node_run *)a)->first, ((const struct hp_node_run *)b)->first);
}

/* A thread has few runs: each is twice as large as the one before. */
static bool read_runs(struct hp_arena *arena, struct runs *runs, const struct hp_snapshot *session,
                      const struct hp_thread *thread, struct hp_walk *walk)
{
    runs->count = 0;
    hp_walk_rewind(walk);
    for (struct hp_node_run run; hp_snapshot_next_node_run(session, thread, walk, &run); runs->count++) {
        if (runs->count == runs->capacity) {
            const size_t capacity = 2 * runs->capacity + 32;
            struct hp_node_run *more = hp_arena_take_array(arena, capacity, sizeof *more);
            struct hp_node_run **order = hp_arena_take_array(arena, capacity, sizeof(void *));
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

static bool gather_thread(struct hp_forest *forest, struct gathering *gathering, uint32_t index,
                          const struct hp_listed_thread *thread)
{
    if (gathering->trees_left == 0)
        return true;
    if (!read_runs(gathering->passing, &gathering->runs, forest->run->sessions[index], &thread->record,
                   &gathering->walk))
        return false;
    struct hp_thread_tree *tree = gathering->trees++;
    gathering->trees_left--;
    forest->trees[forest->tree_count++] = tree;
    *tree = (struct hp_thread_tree){.records = gathering->records,
                                    .calls = {.session = index, .thread = thread->offset}};
    for (size_t run = 0; run < gathering->runs.count; run++)
        for (uint32_t at = 0; at < gathering->runs.order[run]->count; at++)
            if (!add_record(forest, gathering, tree, hp_node_run_offset(gathering->runs.order[run], at)))
                return false;
    return true;
}

/* Part of the threads of a session. In a corrupt one the list may have a cycle. */
static bool gather_threads(struct hp_forest *forest, struct gathering *gathering, uint32_t index,
                           struct hp_listed_thread *const *threads, size_t count)
{
    for (size_t at = 0; at < count; at++)
        if ((at == 0 || threads[at]->offset != threads[at - 1]->offset) &&
            !gather_thread(forest, gathering, index, threads[at]))
            return false;
    return true;
}

static int compare_offsets(const void *a, const void *b)
{
    return hp_by_number(((const struct hp_listed_thread *)a)->offset, ((const struct hp_listed_thread *)b)->offset);
}

static bool gather_session(struct hp_forest *forest, struct gathering *gathering, uint32_t index,
                           const struct hp_thread_list *threads)
{
    hp_sort(threads->all, threads->count, compare_offsets);
    return gather_threads(forest, gathering, index, threads->all, threads->count);
}

static bool gather_by_thread(struct hp_forest *forest, struct gathering *gathering, uint32_t index,
                             const struct hp_thread_list *threads)
{
    for (size_t from = 0, to; from < threads->count; from = to) {
        to = hp_thread_list_end(threads, from);
        forest->sites.thread = hp_thread_list_label(threads, from, to, ++forest->label_count);
        if (forest->sites.thread == NULL ||
            !gather_threads(forest, gathering, index, threads->all + from, to - from))
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

static bool take_places(struct hp_forest *forest, struct gathering *gathering)
{
    const size_t records = gathering->records_left + 1, trees = gathering->trees_left + 1;
    gathering->records = hp_arena_take_array(forest->arena, records, sizeof *gathering->records);
    gathering->links = hp_arena_take_array(forest->arena, records, sizeof *gathering->links);
    gathering->trees = hp_arena_take_array(forest->arena, trees, sizeof *gathering->trees);
    forest->trees = hp_arena_take_array(forest->arena, trees, sizeof(void *));
    return gathering->records != NULL && gathering->links != NULL && gathering->trees != NULL &&
           forest->trees != NULL;
}

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
        gathering->records_left += (size_t)forest->shapes[index].node_count;
        gathering->trees_left += forest->shapes[index].thread_count;
    }
    return take_places(forest, gathering);
}

static int compare_trees(const void *a, const void *b)
{
    const struct hp_thread_calls *x = &((const struct hp_thread_tree *)a)->calls,
                                 *y = &((const struct hp_thread_tree *)b)->calls;
    const int order = hp_by_number(x->session, y->session);
    return order != 0 ? order : hp_by_number(x->thread, y->thread);
}

static bool gather(struct hp_forest *forest, struct hp_arena *passing)
{
    struct gathering gathering = {.passing = passing};
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
    hp_sort(forest->trees, forest->tree_count, compare_trees);
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

/* Per thread, equal sites share a name but keep separate sums. */
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
    return true;
}

/* --------------------------------------------------------------------------------------------- finding */

/* Among the first `count` records of a tree. */
static struct hp_record *find_among(const struct hp_thread_tree *tree, size_t count, uint32_t offset)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (tree->records[middle].offset == offset)
            return &tree->records[middle];
        if (tree->records[middle].offset > offset)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

struct hp_record *hp_thread_tree_find(const struct hp_thread_tree *tree, uint32_t offset)
{
    return find_among(tree, tree->count, offset);
}

const struct hp_tree_node *hp_forest_find(const struct hp_forest *forest, uint32_t session, uint32_t offset,
                                          uint64_t *trees_left)
{
    for (size_t at = 0; at<forest->tree_count && * trees_left> 0; at++, --*trees_left) {
        if (forest->trees[at]->calls.session != session)
            continue;
        const struct hp_record *record = hp_thread_tree_find(forest->trees[at], offset);
        if (record != NULL)
            return record->merged;
    }
    return NULL;
}

struct hp_thread_tree *hp_forest_tree(const struct hp_forest *forest, uint32_t session, uint32_t thread)
{
    const struct hp_thread_tree wanted = {.calls = {.session = session, .thread = thread}};
    size_t low = 0, high = forest->tree_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = compare_trees(&wanted, forest->trees[middle]);
        if (order == 0)
            return forest->trees[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* --------------------------------------------------------------------------------------------- merge */

/* Tree nodes by parent and site: open addressing. */
struct index {
    struct hp_tree_node **places;
    size_t mask;
    uint64_t secret;
};

struct merging {
    struct hp_forest *forest;
    struct hp_arena *passing;
    struct index index;
    struct hp_tree_node *made; /* all, linked by `next_sibling` */
    uint32_t deepest;
};

static size_t hash(const struct index *index, const struct hp_tree_node *parent, const struct hp_site_sums *site)
{
    uint64_t mixed = ((uint64_t)(uintptr_t)parent ^ index->secret) * UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 29 ^ (uint64_t)(uintptr_t)site ^ index->secret >> 7) * UINT64_C(0xbf58476d1ce4e5b9);
    return (size_t)(mixed ^ mixed >> 32) & index->mask;
}

/* The slot of this site's node below that parent; empty if there is none yet. */
static struct hp_tree_node **look_up(const struct index *index, const struct hp_tree_node *parent,
                                     const struct hp_site_sums *site)
{
    size_t at = hash(index, parent, site);
    while (index->places[at] != NULL && (index->places[at]->parent != parent || index->places[at]->site != site))
        at = (at + 1) & index->mask;
    return &index->places[at];
}

/* Creates the table or doubles it; half of it stays empty. */
static bool make_index(struct merging *merging, size_t capacity)
{
    struct index *index = &merging->index;
    index->places = hp_arena_take_array(merging->passing, capacity, sizeof(void *));
    index->mask = capacity - 1;
    if (index->places == NULL)
        return false;
    for (struct hp_tree_node *node = merging->made; node != NULL; node = node->next_sibling)
        *look_up(index, node->parent, node->site) = node;
    return true;
}

#define FIRST_INDEX 1024u

/* The hash seed: the author of a forged file cannot know addresses or the time of the read. */
static bool begin_merging(struct merging *merging)
{
    const struct hp_run *run = merging->forest->run;
    if (!make_index(merging, FIRST_INDEX))
        return false;
    merging->index.secret = (uint64_t)(uintptr_t)merging->index.places * UINT64_C(0x9e3779b97f4a7c15);
    for (size_t at = 0; at < run->count; at++)
        merging->index.secret ^= run->sessions[at]->now_ticks * UINT64_C(0xbf58476d1ce4e5b9);
    return true;
}

/* The node of a site below a parent, created on first use. NULL: no memory. */
static struct hp_tree_node *node_of(struct merging *merging, struct hp_tree_node *parent, struct hp_site_sums *site)
{
    struct hp_forest *forest = merging->forest;
    struct hp_tree_node **place = look_up(&merging->index, parent, site);
    if (*place != NULL)
        return *place;
    struct hp_tree_node *node = *place = hp_arena_take(forest->arena, sizeof *node);
    if (node == NULL)
        return NULL;
    *node = (struct hp_tree_node){.site = site, .parent = parent, .next_sibling = merging->made};
    node->depth = parent != NULL ? parent->depth + 1 : 0;
    merging->deepest = node->depth > merging->deepest ? node->depth : merging->deepest;
    merging->made = node;
    forest->node_count++;
    if (2 * forest->node_count > merging->index.mask && !make_index(merging, 2 * (merging->index.mask + 1)))
        return NULL;
    return node;
}

/* A parent that is the root, or missing, counts as none: such a node is at the top. */
static bool merge_tree(struct merging *merging, const struct hp_thread_tree *tree)
{
    uint32_t parent_offset = 0; /* of the previous record, which often has the same parent */
    struct hp_tree_node *parent = NULL;
    for (size_t at = 0; at < tree->count; at++) {
        struct hp_record *record = &tree->records[at];
        struct hp_site_sums *site = record->made_of.site;
        if (record->made_of.parent != parent_offset) {
            const struct hp_record *above = find_among(tree, at, record->made_of.parent);
            /* In a corrupt file, it may come after this one. */
            parent_offset = above != NULL ? record->made_of.parent : 0;
            parent = above != NULL ? above->merged : NULL;
        }
        record->sums = (struct hp_sums){0};
        if (site == NULL)
            continue; /* a root */
        record->merged = node_of(merging, parent, merging->forest->is_by_thread ? site : site->same);
        if (record->merged == NULL)
            return false;
    }
    return true;
}

/* ---------------------------------------------------------------------------------------------- hang */

static uint32_t index_of(const struct hp_tree_node *node) { return node != NULL ? node->index + 1 : 0; }

/* Ordered by site, regardless of which thread came first. */
static int compare_paths(const void *a, const void *b)
{
    const struct hp_tree_node *x = a, *y = b;
    int order = hp_by_number(index_of(x->parent), index_of(y->parent));
    if (order == 0)
        order = hp_by_number(hp_site_number(x->site), hp_site_number(y->site));
    return order != 0 ? order : hp_by_number(hp_thread_number(x->site), hp_thread_number(y->site));
}

/* Sorts the nodes of one level; the levels above are in place. */
static void hang_level(struct hp_forest *forest, size_t from, size_t to)
{
    hp_sort(forest->nodes + from, to - from, compare_paths);
    for (size_t at = from; at < to; at++) {
        struct hp_tree_node *node = forest->nodes[at];
        struct hp_tree_node **list = node->parent != NULL ? &node->parent->first_child : &forest->first_root;
        node->index = (uint32_t)at;
        node->next_sibling = *list;
        *list = node;
    }
}

static bool hang_up(struct merging *merging)
{
    struct hp_forest *forest = merging->forest;
    size_t *ends = hp_arena_take_array(merging->passing, (size_t)merging->deepest + 2, sizeof *ends);
    forest->nodes = hp_arena_take_array(forest->arena, forest->node_count + 1, sizeof(void *));
    if (ends == NULL || forest->nodes == NULL)
        return false;
    for (const struct hp_tree_node *node = merging->made; node != NULL; node = node->next_sibling)
        ends[node->depth + 1]++;
    for (uint32_t depth = 1; depth <= merging->deepest; depth++)
        ends[depth + 1] += ends[depth];
    for (struct hp_tree_node *node = merging->made; node != NULL; node = node->next_sibling)
        forest->nodes[ends[node->depth]++] = node;
    for (uint32_t depth = 0; depth <= merging->deepest; depth++)
        hang_level(forest, depth > 0 ? ends[depth - 1] : 0, ends[depth]);
    return true;
}

static bool merge(struct hp_forest *forest, struct hp_arena *passing)
{
    struct merging merging = {.forest = forest, .passing = passing};
    if (!begin_merging(&merging))
        return false;
    for (size_t at = 0; at < forest->tree_count; at++)
        if (!merge_tree(&merging, forest->trees[at]))
            return false;
    return hang_up(&merging);
}

/* --------------------------------------------------------------------------------------------------- the whole */

bool hp_forest_build(struct hp_forest *forest, struct hp_arena *arena, struct hp_arena *passing,
                     const struct hp_run *run, bool is_by_thread)
{
    memset(forest, 0, sizeof *forest);
    forest->arena = forest->sites.arena = arena;
    forest->sites.read_name = run->read_name;
    forest->run = run;
    forest->is_by_thread = is_by_thread;
    return gather(forest, passing) && unify(forest) && merge(forest, passing);
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
