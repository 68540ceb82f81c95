/*
 * A run added up, in five steps:
 *
 *   1. gather   every node of every thread becomes a record; every stat is hung onto its site
 *   2. unify    sites that sessions have in common become one, with the stats of all
 *   3. link     records are sorted by session, thread and offset, so that a parent is found by bisection
 *   4. open     the zones that are open now are added to their records
 *   5. merge    level by level, records of one site below one merged parent become one node of the tree
 *
 * Everything is sorting and bisection, never hashing or walking lists of siblings: the offsets may have been chosen
 * by an enemy, and n log n is the worst they can get. SPDX-License-Identifier: MIT
 */
#include "profile.h"

#include <string.h>

#include "arena.h"
#include "open_allocs.h"
#include "site_table.h"
#include "sort.h"
#include "thread_list.h"

/* Where a node is. Threads are known by the offset of their record, which stays when other threads appear. */
struct place {
    uint32_t session; /* its index */
    uint32_t thread;
    uint32_t offset;
};

/* One node of one thread's tree. */
struct record {
    struct hp_sums sums;
    struct hp_site_sums *site; /* NULL: the thread's root */
    struct record *parent;
    struct record *next; /* in order of arrival */
    struct hp_tree_node *merged;
    struct place place;
    uint32_t parent_offset;
    uint32_t depth;   /* 0: not known yet; 1: below the root */
    uint32_t visited; /* the last search that came by */
};

struct builder {
    struct hp_arena *arena;
    const struct hp_run *run;
    struct hp_profile *profile;
    bool is_by_thread;
    uint32_t label_count;
    struct hp_site_table sites;
    struct record *first;
    struct record **records;
    size_t record_count;
    uint32_t thread_number; /* of the thread whose open zones are added, from 1 */
};

/* -------------------------------------------------------------------------------------------- gather */

/* As if the calls that were not timed had been like those that were, unless more is known of them. */
static uint64_t scale_up(uint64_t ticks, const struct hp_node *node)
{
    if (node->untimed == 0 || node->untimed >= node->calls)
        return ticks;
    const double more = (double)node->untimed * node->typical / 256, timed = (double)(node->calls - node->untimed);
    const double scaled =
        node->typical != 0 ? (double)(int64_t)ticks + more : (double)(int64_t)ticks * ((double)node->calls / timed);
    return scaled >= 0x1p63 || scaled <= -0x1p63 ? ticks : (uint64_t)(int64_t)scaled;
}

static bool add_record(struct builder *builder, const struct place *place, const struct hp_node *node)
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
        /* Nobody asked for sampling: they were too short once, be they long by now. */
        record->site->is_limited |=
            node->untimed > 0 && builder->run->sessions[place->session]->header.time_period <= 1;
    }
    record->place = *place;
    record->parent_offset = node->parent;
    record->sums = (struct hp_sums){
        .calls = node->calls,
        .untimed = node->untimed < node->calls ? node->untimed : node->calls,
        .total = node->is_recursive ? node->outermost : scale_up(node->outermost, node),
        .nested = node->is_recursive || node->typical == 0 ? scale_up(node->nested, node) : node->nested,
        .self = scale_up(node->self, node),
    };
    record->next = builder->first;
    builder->first = record;
    builder->record_count++;
    return true;
}

static void add_extremes(struct hp_site_sums *site, uint64_t least, uint64_t most)
{
    site->min = least < site->min ? least : site->min;
    site->max = most > site->max ? most : site->max;
}

static bool add_stat(struct builder *builder, const struct hp_snapshot *session, uint32_t offset,
                     const struct hotpath_stat_ *stat)
{
    if (!hp_site_table_has_room_for(stat->site))
        return true;
    struct hp_site_sums *site = hp_site_table_find(&builder->sites, stat->site);
    struct hp_stat_link *link = hp_arena_take(builder->arena, sizeof *link);
    if (site == NULL || link == NULL)
        return false;
    *link = (struct hp_stat_link){.next = site->stats, .session = session, .offset = offset};
    site->stats = link;
    site->threads += stat->threads;
    site->is_limited |= stat->typical != 0;
    if (stat->min <= stat->max)
        add_extremes(site, stat->min, stat->max);
    return true;
}

/* The walks of one session. */
struct walks {
    struct hp_walk threads, nodes, stats;
};

static bool gather_thread(struct builder *builder, uint32_t index, const struct hp_thread *thread, uint32_t offset,
                          struct walks *walks)
{
    const struct hp_snapshot *session = builder->run->sessions[index];
    struct hp_node node;
    struct hotpath_stat_ stat;
    hp_walk_rewind(&walks->nodes);
    while (hp_snapshot_next_node(session, thread, &walks->nodes, &node)) {
        const struct place place = {index, offset, walks->nodes.offset};
        if (!add_record(builder, &place, &node))
            return false;
    }
    hp_walk_rewind(&walks->stats);
    while (hp_snapshot_next_stat(session, thread, &walks->stats, &stat))
        if (!add_stat(builder, session, walks->stats.offset, &stat))
            return false;
    return true;
}

static bool gather_session(struct builder *builder, uint32_t index)
{
    struct walks walks = {0};
    struct hp_thread thread;
    while (hp_snapshot_next_thread(builder->run->sessions[index], &walks.threads, &thread))
        if (!gather_thread(builder, index, &thread, walks.threads.offset, &walks))
            return false;
    return true;
}

static bool gather_by_thread(struct builder *builder, uint32_t index)
{
    struct walks walks = {0};
    struct hp_thread_list threads;
    if (!hp_thread_list_read(&threads, builder->arena, builder->run->sessions[index]))
        return false;
    for (size_t from = 0, to; from < threads.count; from = to) {
        to = hp_thread_list_end(&threads, from);
        builder->sites.thread = hp_thread_list_label(&threads, from, to, ++builder->label_count);
        if (builder->sites.thread == NULL)
            return false;
        for (size_t at = from; at < to; at++)
            if (!gather_thread(builder, index, &threads.all[at]->record, threads.all[at]->offset, &walks))
                return false;
    }
    builder->sites.thread = NULL;
    return true;
}

static bool find_main(struct builder *builder, struct hp_session_sums *session)
{
    const uint32_t id = session->snapshot->header.main_site;
    if (!hp_site_table_has_room_for(id))
        return true;
    session->main = hp_site_table_find(&builder->sites, id);
    return session->main != NULL;
}

static bool gather(struct builder *builder)
{
    const struct hp_run *run = builder->run;
    struct hp_session_sums *sums = hp_arena_take_array(builder->arena, run->count, sizeof *sums);
    if (sums == NULL)
        return false;
    builder->profile->sessions = sums;
    for (uint32_t index = 0; index < run->count; index++) {
        sums[index].snapshot = run->sessions[index];
        hp_site_table_read(&builder->sites, run->sessions[index], index);
        if (!find_main(builder, &sums[index]) ||
            !(builder->is_by_thread ? gather_by_thread(builder, index) : gather_session(builder, index)))
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
    to->threads += from->threads;
    to->is_limited |= from->is_limited;
    add_extremes(to, from->min, from->max);
}

static void mark_mains(struct hp_profile *profile)
{
    for (size_t at = 0; at < profile->run->count; at++) {
        struct hp_session_sums *session = &profile->sessions[at];
        if (session->main == NULL)
            continue;
        session->main = session->main->same;
        session->main->is_main = true;
    }
}

/* By thread, what is the same has the same name, and numbers of its own. */
static bool unify(struct builder *builder)
{
    if ((builder->run->count > 1 || builder->is_by_thread) && !hp_site_table_unify(&builder->sites))
        return false;
    mark_mains(builder->profile);
    if (builder->is_by_thread)
        return true;
    for (struct hp_site_sums *site = builder->sites.all; site != NULL; site = site->next)
        if (site->same != site)
            move_stats(site->same, site);
    for (struct record *record = builder->first; record != NULL; record = record->next)
        if (record->site != NULL)
            record->site = record->site->same;
    return true;
}

/* ---------------------------------------------------------------------------------------------- link */

static int by_place(const struct place *x, const struct place *y)
{
    if (x->session != y->session)
        return x->session < y->session ? -1 : 1;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return x->offset == y->offset ? 0 : x->offset < y->offset ? -1 : 1;
}

static int compare_places(const void *a, const void *b)
{
    return by_place(&((const struct record *)a)->place, &((const struct record *)b)->place);
}

static struct record *find_among(struct record *const *records, size_t count, const struct place *place)
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

static struct record *find_record(const struct builder *builder, const struct place *place)
{
    return find_among(builder->records, builder->record_count, place);
}

bool hp_profile_node_self(const struct hp_profile *profile, uint32_t session, uint32_t thread, uint32_t node,
                          uint64_t *ret_ticks)
{
    const struct place place = {session, thread, node};
    const struct record *record =
        find_among((struct record *const *)profile->records, profile->record_count, &place);
    if (record == NULL || record->site == NULL || record->sums.untimed > 0 || (int64_t)record->sums.self < 0)
        return false;
    *ret_ticks = record->sums.self;
    return true;
}

/* Merging has another order. False: no memory. */
static bool keep_places(struct builder *builder)
{
    struct hp_profile *profile = builder->profile;
    profile->records = hp_arena_take_array(builder->arena, builder->record_count + 1, sizeof(void *));
    if (profile->records == NULL)
        return false;
    for (size_t at = 0; at < builder->record_count; at++)
        profile->records[at] = builder->records[at];
    profile->record_count = builder->record_count;
    return true;
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
        const struct place above = {record->place.session, record->place.thread, record->parent_offset};
        struct record *parent = above.offset == 0 ? NULL : find_record(builder, &above);
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

static bool is_timed(const struct hotpath_frame_ *frame)
{
    return !(frame->stat & (HOTPATH_UNTIMED_ | HOTPATH_COUNTED_));
}

/* Frames come outermost first: a site that is open already in this thread is inside itself. NULL: no memory. */
static struct hp_open_link *add_open(struct builder *builder, struct record *record,
                                     const struct hotpath_frame_ *frame, uint64_t ticks)
{
    struct hp_site_sums *site = record->site;
    struct hp_open_link *link = hp_arena_take(builder->arena, sizeof *link);
    if (link == NULL)
        return NULL;
    *link = (struct hp_open_link){
        .next = site->opens,
        .ticks = ticks,
        .is_timed = is_timed(frame),
        .is_inner = site->open_in == builder->thread_number,
        .has_allocs = frame->stat & HOTPATH_ALLOCATES_,
    };
    site->opens = link;
    site->open_in = builder->thread_number;
    record->sums.calls++;
    record->sums.open++;
    if (!link->is_timed) {
        record->sums.untimed++;
        return link;
    }
    add_extremes(site, ticks, ticks);
    record->sums.self += ticks - frame->child;
    if (link->is_inner)
        record->sums.nested += ticks;
    else
        record->sums.total += ticks;
    return link;
}

/*
 * Two things can go wrong in a live session. A frame whose node is not the thread's is no frame: the stack was just
 * being moved to a larger one. And a frame may show up a moment before its fields do, with the start of an earlier
 * zone; no zone begins before the one around it.
 */
static bool add_open_zones(struct builder *builder, uint32_t index, uint32_t offset, const struct hp_thread *thread,
                           struct hp_walk *walk)
{
    const struct hp_snapshot *session = builder->run->sessions[index];
    struct hotpath_frame_ frame;
    struct hp_open_link *innermost = NULL;
    struct record *around = NULL;
    uint64_t around_start = 0;
    while (hp_snapshot_next_open(session, thread, walk, &frame)) {
        const struct place place = {index, offset, frame.node};
        struct record *record = find_record(builder, &place);
        if (record == NULL || record->site == NULL)
            break;
        const uint64_t start = frame.start > around_start ? frame.start : around_start;
        const uint64_t ticks = start < session->now_ticks ? session->now_ticks - start : 0;
        struct hp_open_link *link = add_open(builder, record, &frame, ticks);
        if (link == NULL)
            return false;
        link->around = innermost;
        link->index = walk->index;
        innermost = link;
        if (!link->is_timed)
            continue;
        if (around != NULL)
            around->sums.self -= ticks;
        around = record;
        around_start = start;
    }
    hp_open_allocs_settle(session, thread, innermost);
    return true;
}

static bool add_all_open(struct builder *builder)
{
    struct hp_thread thread;
    for (uint32_t index = 0; index < builder->run->count; index++) {
        struct hp_walk threads = {0}, opens = {0};
        while (hp_snapshot_next_thread(builder->run->sessions[index], &threads, &thread)) {
            hp_walk_rewind(&opens);
            builder->thread_number++;
            if (!add_open_zones(builder, index, threads.offset, &thread, &opens))
                return false;
        }
    }
    return true;
}

/* --------------------------------------------------------------------------------------------- merge */

static void add_sums(struct hp_sums *to, const struct hp_sums *from)
{
    to->calls += from->calls;
    to->open += from->open;
    to->untimed += from->untimed;
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
    const uint64_t xs = x->site ? hp_site_number(x->site) : UINT64_MAX;
    const uint64_t ys = y->site ? hp_site_number(y->site) : UINT64_MAX;
    if (xs != ys || x->site == NULL || y->site == NULL)
        return xs == ys ? 0 : xs < ys ? -1 : 1;
    const uint32_t xt = hp_thread_number(x->site), yt = hp_thread_number(y->site);
    return xt == yt ? 0 : xt < yt ? -1 : 1;
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

/* What the others cost is next to nothing. */
static uint64_t timed_calls(const struct hp_sums *sums) { return sums->calls - sums->untimed; }

/*
 * Calls that were folded onto a node further up may have been made inside this one, with all that was inside them.
 * Nobody knows how many, so all of them count: this is an upper bound.
 */
static uint64_t calls_perhaps_inside(const struct hp_tree_node *node)
{
    return node->folded != NULL ? node->folded->calls_inside + timed_calls(&node->folded->sums)
                                : node->calls_inside;
}

/* Up from the children first, then down from the parents: each node is looked at twice, however deep the tree is. */
static void count_calls_inside(struct hp_profile *profile)
{
    for (size_t at = profile->node_count; at-- > 0;) {
        const struct hp_tree_node *node = profile->nodes[at];
        if (node->parent != NULL)
            node->parent->calls_inside += node->calls_inside + timed_calls(&node->sums);
    }
    for (size_t at = 0; at < profile->node_count; at++) {
        struct hp_tree_node *node = profile->nodes[at];
        node->folded = node->parent != NULL ? node->parent->folded : NULL;
        if (node->folded == NULL && node->sums.nested > 0)
            node->folded = node;
        node->site->calls_inside += calls_perhaps_inside(node);
    }
}

static void set_self(struct hp_tree_node *node, uint64_t self)
{
    node->site->is_self_scaled = node->is_self_scaled = true;
    node->site->sums.self += self - node->sums.self;
    node->sums.self = self;
}

/* The next node of the subtree of `top`, parents first; NULL at the end. */
static struct hp_tree_node *next_below(const struct hp_tree_node *top, struct hp_tree_node *at)
{
    if (at->first_child != NULL)
        return at->first_child;
    while (at != top && at->next_sibling == NULL)
        at = at->parent;
    return at == top ? NULL : at->next_sibling;
}

/*
 * Of a recursion and all below it: what is left to each call depends on which of those inside it were timed, and calls were
 * folded, so children are not all below. But all together have the time of the outermost calls, which are all timed: it is
 * shared out among them as the estimates have it.
 */
static void settle_recursion(struct hp_tree_node *top)
{
    double all = 0;
    uint64_t untimed = 0;
    for (struct hp_tree_node *node = top; node != NULL; node = next_below(top, node)) {
        all += (double)hp_sums_self(&node->sums);
        untimed += node->sums.untimed;
    }
    if (untimed == 0 || all <= 0)
        return;
    const double part = (double)top->sums.total / all;
    for (struct hp_tree_node *node = top; node != NULL; node = next_below(top, node))
        set_self(node, (uint64_t)((double)hp_sums_self(&node->sums) * part));
}

static bool is_estimate(const struct hp_tree_node *node) { return node->sums.untimed > 0 && node->folded == NULL; }

static void set_total(struct hp_tree_node *node, uint64_t total)
{
    node->site->sums.total += total - node->sums.total;
    node->sums.total = total;
}

/*
 * One timed call that lost its processor stands for all that were not timed, and may make them longer than the call they are in.
 * What is inside cannot take longer: the estimates have what the others leave them, each its part.
 */
static void bound_by_parents(struct hp_profile *profile)
{
    for (size_t at = 0; at < profile->node_count; at++) {
        const struct hp_tree_node *node = profile->nodes[at];
        double known = 0, estimated = 0;
        for (const struct hp_tree_node *child = node->first_child; child != NULL; child = child->next_sibling)
            *(is_estimate(child) ? &estimated : &known) += (double)child->sums.total;
        const double left = (double)node->sums.total > known ? (double)node->sums.total - known : 0;
        if (node->folded != NULL || estimated <= left)
            continue;
        for (struct hp_tree_node *child = node->first_child; child != NULL; child = child->next_sibling)
            if (is_estimate(child))
                set_total(child, (uint64_t)((double)child->sums.total * (left / estimated)));
    }
}

/*
 * Where calls are not all timed, a call is not told of the time of those inside it, so what is left to itself comes from
 * the sums: its own, less those of its children. Of a recursion among these it is the outermost calls that were made here.
 */
static void settle_selfs(struct hp_profile *profile)
{
    for (size_t at = 0; at < profile->node_count; at++) {
        struct hp_tree_node *node = profile->nodes[at];
        uint64_t inside = 0, untimed = node->sums.untimed;
        for (const struct hp_tree_node *child = node->first_child; child != NULL; child = child->next_sibling) {
            inside += child->sums.total;
            untimed += child->sums.untimed;
        }
        if (node->folded == node)
            settle_recursion(node);
        else if (untimed > 0 && node->folded == NULL)
            set_self(node, node->sums.total > inside ? node->sums.total - inside : 0);
    }
}

static void add_thread_calls(struct hp_thread_calls *calls, const struct record *record)
{
    const bool is_function = record->site != NULL && record->site->is_by_compiler;
    *(is_function ? &calls->functions_timed : &calls->timed) += timed_calls(&record->sums);
    *(is_function ? &calls->functions_counted : &calls->counted) += record->sums.untimed;
}

static bool is_same_thread(const struct record *record, const struct record *other)
{
    return record->place.session == other->place.session && record->place.thread == other->place.thread;
}

/* Records are in the order of their places here: session by session, thread by thread. */
static bool count_by_thread(struct builder *builder)
{
    struct hp_profile *profile = builder->profile;
    size_t count = 0;
    for (size_t at = 0; at < builder->record_count; at++)
        count += at == 0 || !is_same_thread(builder->records[at - 1], builder->records[at]);
    profile->thread_calls = hp_arena_take_array(builder->arena, count + 1, sizeof *profile->thread_calls);
    if (profile->thread_calls == NULL)
        return false;
    struct hp_thread_calls *calls = profile->thread_calls;
    for (size_t at = 0; at < builder->record_count; at++) {
        const struct record *record = builder->records[at];
        if (at == 0 || !is_same_thread(builder->records[at - 1], record)) {
            calls = &profile->thread_calls[profile->thread_calls_count++];
            calls->session = record->place.session;
            calls->thread = record->place.thread;
        }
        add_thread_calls(calls, record);
    }
    return true;
}

static void count_by_session(struct builder *builder)
{
    for (size_t at = 0; at < builder->record_count; at++) {
        const struct record *record = builder->records[at];
        struct hp_session_sums *session = &builder->profile->sessions[record->place.session];
        session->calls += record->sums.calls;
        session->open += record->sums.open;
        if (record->parent == NULL && record->site != NULL) {
            session->total += record->sums.total;
            session->is_scaled |= record->sums.untimed > 0;
        }
        if (record->site != NULL && record->site->is_main)
            session->in_main += record->sums.self;
    }
}

/* ------------------------------------------------------------------------------------------- results */

/* The main function that all processes have in common, as far as they have one. */
static void choose_main(struct hp_profile *profile)
{
    for (size_t at = 0; at < profile->run->count; at++) {
        const struct hp_site_sums *main = profile->sessions[at].main;
        if (main == NULL || main->sums.calls == 0)
            continue;
        if (profile->main != NULL && profile->main != main)
            profile->has_different_mains = true;
        profile->main = main;
    }
    if (profile->has_different_mains)
        profile->main = NULL;
}

static int compare_numbers(const void *a, const void *b)
{
    const uint64_t x = hp_site_number(a), y = hp_site_number(b);
    return x == y ? 0 : x < y ? -1 : 1;
}

static bool list_sites(struct builder *builder)
{
    struct hp_profile *profile = builder->profile;
    struct hp_site_sums **named = hp_arena_take_array(builder->arena, builder->sites.count + 1, sizeof(void *));
    size_t named_count = 0;
    profile->sites = hp_arena_take_array(builder->arena, builder->sites.count + 1, sizeof(void *));
    profile->known = hp_arena_take_array(builder->arena, builder->sites.count + 1, sizeof(void *));
    if (profile->sites == NULL || profile->known == NULL || named == NULL)
        return false;
    for (struct hp_site_sums *site = builder->sites.all; site != NULL; site = site->next) {
        profile->known[profile->known_count++] = site;
        if (site->sums.calls == 0)
            continue;
        profile->sites[profile->site_count++] = site;
        if (!site->same->is_named)
            named[named_count++] = site->same;
        site->same->is_named = true;
        profile->has_sampled |= site->sums.untimed > 0 && !site->is_limited;
        profile->has_limited |= site->sums.untimed > 0 && site->is_limited;
    }
    hp_sort(profile->known, profile->known_count, compare_numbers);
    if (!hp_site_table_name(&builder->sites, named, named_count))
        return false;
    for (size_t at = 0; at < profile->site_count; at++) {
        profile->sites[at]->name = profile->sites[at]->same->name;
        profile->sites[at]->is_main = profile->sites[at]->same->is_main;
    }
    return true;
}

const struct hp_site_sums *hp_profile_site(const struct hp_profile *profile, uint32_t session, uint32_t id)
{
    const struct hp_site_sums wanted = {.session = session, .id = id};
    size_t low = 0, high = profile->known_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = compare_numbers(&wanted, profile->known[middle]);
        if (order == 0)
            return profile->known[middle]->same;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

struct hp_profile *hp_profile_build(struct hp_arena *arena, const struct hp_run *run, bool is_by_thread)
{
    struct builder *builder = hp_arena_take(arena, sizeof *builder);
    struct hp_profile *profile = hp_arena_take(arena, sizeof *profile);
    if (builder == NULL || profile == NULL)
        return NULL;
    profile->run = run;
    builder->arena = builder->sites.arena = arena;
    builder->sites.read_name = run->read_name;
    builder->run = run;
    builder->is_by_thread = is_by_thread;
    builder->profile = profile;
    if (!gather(builder) || !unify(builder) || !link_records(builder) || !add_all_open(builder))
        return NULL;
    count_by_session(builder);
    if (!count_by_thread(builder) || !keep_places(builder) || !merge(builder))
        return NULL;
    count_calls_inside(profile);
    bound_by_parents(profile);
    settle_selfs(profile);
    if (!is_by_thread)
        choose_main(profile);
    return list_sites(builder) ? profile : NULL;
}

/*
 * Of each own call the inner part of a zone's cost falls into its duration; of each call inside, all of it. Inner
 * calls of a recursion lie inside, too.
 */
double hp_profile_overhead_ns(const struct hp_profile *profile, const struct hp_site_sums *site)
{
    const struct hp_run *run = profile->run;
    const double inner = site->sums.nested > 0 ? run->zone_cost_ns : run->zone_inner_ns;
    const double ns = (double)site->sums.calls * inner + (double)site->calls_inside * run->zone_cost_ns;
    const double most = hp_run_ns(run, site->sums.total);
    return ns < most ? ns : most;
}
