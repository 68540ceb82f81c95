/*
 * Adds up a run. The forest has the shape (forest.h); here its numbers are read, in this order:
 *
 *   1. read     what each node of each thread says
 *   2. open     open zones are added to their records
 *   3. settle   times are scaled up where not all calls were timed
 *
 * A record remembers what it has added to the sums of its site, its tree node, its session and its thread. When it
 * is read again, only the difference is added, and for most records there is none. So the sums as read are kept
 * besides the settled ones. The three steps share these records, so they are one file.
 * SPDX-License-Identifier: MIT
 */
#include "profile.h"

#include <string.h>

#include "arena.h"
#include "arith.h"
#include "floors.h"
#include "site_sums.h"
#include "sort.h"
#include "units.h"

/* -------------------------------------------------------------------------------------------------- open allocs */

/*
 * What open zones have allocated so far.
 */

static int64_t minus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }

static int64_t higher(int64_t a, int64_t b) { return a > b ? a : b; }

/* The height of the thread's peak above the live bytes at the zone's beginning. */
static uint64_t height(int64_t peak, int64_t at_begin)
{
    const int64_t height = minus(peak, at_begin);
    return height > 0 ? (uint64_t)height : 0;
}

/*
 * For the open zones of a stack: sets what each has allocated, by the counters of its thread; NULL: it has none.
 * From the innermost zone outwards: each includes the totals and the peak of the one inside it.
 */
static void open_allocs_settle(const struct hp_snapshot *session, const struct hp_thread *thread,
                               const struct hp_alloc_thread *counters, struct hp_open_link *innermost)
{
    struct hp_alloc_thread alloc = {0};
    struct hp_alloc_frame begun;
    const bool has_any = counters != NULL;
    if (has_any)
        alloc = *counters;
    uint64_t inside_bytes = 0, inside_count = 0;
    for (struct hp_open_link *link = innermost; link != NULL; link = link->around) {
        link->has_allocs =
            link->has_allocs && has_any && hp_snapshot_alloc_frame(session, thread, &alloc, link->index, &begun);
        if (!link->has_allocs)
            continue;
        const uint64_t all_bytes = hp_less(alloc.bytes, begun.bytes), all_count = hp_less(alloc.count, begun.count);
        link->allocs = (struct hp_open_allocs){
            .measures = {[HP_ALLOC_OWN_BYTES] = hp_less(hp_less(all_bytes, begun.inner_bytes), inside_bytes),
                         [HP_ALLOC_OWN_COUNT] = hp_less(hp_less(all_count, begun.inner_count), inside_count),
                         [HP_ALLOC_ALL_BYTES] = all_bytes,
                         [HP_ALLOC_ALL_COUNT] = all_count,
                         [HP_ALLOC_PEAK_BYTES] = height(alloc.peak_live, begun.live),
                         [HP_ALLOC_PEAK_BLOCKS] = height(alloc.peak_blocks, begun.blocks)},
            .net_bytes = minus(hp_alloc_live(&alloc), begun.live),
            .net_blocks = minus(hp_alloc_live_blocks(&alloc), begun.blocks),
        };
        inside_bytes = all_bytes;
        inside_count = all_count;
        alloc.peak_live = higher(alloc.peak_live, begun.peak_live);
        alloc.peak_blocks = higher(alloc.peak_blocks, begun.peak_blocks);
    }
}

/* ---------------------------------------------------------------------------------------------- read */

/* Assumes that untimed calls took as long as timed ones, unless more is known. */
static uint64_t scale_up(uint64_t ticks, const struct hp_node *node)
{
    if (node->untimed == 0 || node->untimed >= node->calls)
        return ticks;
    const double more = (double)node->untimed * node->typical / 256, timed = (double)(node->calls - node->untimed);
    const double scaled =
        node->typical != 0 ? (double)(int64_t)ticks + more : (double)(int64_t)ticks * ((double)node->calls / timed);
    return scaled >= 0x1p63 || scaled <= -0x1p63 ? ticks : (uint64_t)(int64_t)scaled;
}

static void add_difference(struct hp_sums *to, const struct hp_sums *now, const struct hp_sums *before)
{
    to->calls += now->calls - before->calls;
    to->open += now->open - before->open;
    to->untimed += now->untimed - before->untimed;
    to->total += now->total - before->total;
    to->nested += now->nested - before->nested;
    to->self += now->self - before->self;
}

/* The cost of the others is negligible. */
static uint64_t timed_calls(const struct hp_sums *sums) { return sums->calls - sums->untimed; }

static void add_to_thread(struct hp_thread_calls *calls, bool is_function, const struct hp_sums *now,
                          const struct hp_sums *before)
{
    *(is_function ? &calls->functions_timed : &calls->timed) += timed_calls(now) - timed_calls(before);
    *(is_function ? &calls->functions_counted : &calls->counted) += now->untimed - before->untimed;
}

static void add_to_session(struct hp_session_sums *session, const struct hp_tree_node *node,
                           const struct hp_sums *now, const struct hp_sums *before)
{
    session->read.calls += now->calls - before->calls;
    if (node != NULL && hp_site_is_task(node->site))
        session->read.polls += now->calls - before->calls;
    session->read.open += now->open - before->open;
    if (node != NULL && node->parent == NULL) {
        session->read.total += now->total - before->total;
        session->read.scaled += (uint64_t)(now->untimed > 0) - (uint64_t)(before->untimed > 0);
    }
    if (node != NULL && node->site->is_main)
        session->read.in_main += now->self - before->self;
}

/* Replaces what the record has added by the new numbers. */
static void change(const struct hp_profile *profile, struct hp_thread_tree *tree, struct hp_record *record,
                   const struct hp_sums *now)
{
    const struct hp_sums *before = &record->sums;
    struct hp_tree_node *node = record->merged;
    add_to_session(&profile->sessions[tree->calls.session], node, now, before);
    add_to_thread(&tree->calls, node != NULL && node->site->is_by_compiler, now, before);
    if (node != NULL) {
        add_difference(&node->read, now, before);
        add_difference(&node->site->read, now, before);
    }
    record->sums = *now;
}

static bool is_same(const struct hp_sums *x, const struct hp_sums *y)
{
    return x->calls == y->calls && x->total == y->total && x->self == y->self && x->nested == y->nested &&
           x->untimed == y->untimed && x->open == y->open;
}

static void read_record(const struct hp_profile *profile, const struct hp_snapshot *session,
                        struct hp_thread_tree *tree, struct hp_record *record)
{
    struct hp_node node;
    hp_snapshot_node_numbers(session, record->offset, &node);
    const struct hp_sums sums = {
        .calls = node.calls,
        .untimed = node.untimed < node.calls ? node.untimed : node.calls,
        .total = node.is_recursive ? node.outermost : scale_up(node.outermost, &node),
        .nested = node.is_recursive || node.typical == 0 ? scale_up(node.nested, &node) : node.nested,
        .self = scale_up(node.self, &node),
    };
    /* If sampling was not requested, the calls were too short at some time, even if they are long now. */
    if (node.untimed > 0 && record->merged != NULL)
        record->merged->site->is_limited |= node.typical != 0 || session->header.time_period <= 1;
    if (!is_same(&sums, &record->sums))
        change(profile, tree, record, &sums);
}

static void read_records(const struct hp_profile *profile)
{
    for (size_t at = 0; at < profile->forest.tree_count; at++) {
        struct hp_thread_tree *tree = profile->forest.trees[at];
        const struct hp_snapshot *session = profile->run->sessions[tree->calls.session];
        for (size_t record = 0; record < tree->count; record++)
            read_record(profile, session, tree, &tree->records[record]);
    }
}

bool hp_record_self(const struct hp_record *record, uint64_t *ret_ticks)
{
    if (record->merged == NULL || record->sums.untimed > 0 || (int64_t)record->sums.self < 0)
        return false;
    *ret_ticks = record->sums.self;
    return true;
}

/* ---------------------------------------------------------------------------------------------- open */

/* A stack of open zones: a thread's current one, or that of a lane that is not running. */
struct stack {
    struct hp_thread_tree *tree; /* of the thread that has its nodes */
    struct hp_thread thread;     /* the record of that thread; its frames are those of the stack */
    bool has_allocs;
    struct hp_alloc_thread allocs;
    uint64_t away; /* ticks since the thread left it for another one */
};

static bool is_timed(const struct hotpath_frame_ *frame)
{
    return !(frame->stat & (HOTPATH_UNTIMED_ | HOTPATH_COUNTED_));
}

/* Frames come outermost first: a site that is already open in this thread is recursive. NULL: no memory. */
static struct hp_open_link *add_open(struct hp_profile *profile, struct hp_thread_tree *tree,
                                     struct hp_record *record, const struct hotpath_frame_ *frame, uint64_t ticks)
{
    struct hp_site_sums *site = record->merged->site;
    struct hp_sums sums = record->sums;
    struct hp_open_link *link = hp_arena_take(profile->arena, sizeof *link);
    if (link == NULL)
        return NULL;
    *link = (struct hp_open_link){
        .next = site->opens,
        .ticks = ticks,
        .is_timed = is_timed(frame),
        .is_inner = site->open_in == profile->thread_number,
        .has_allocs = frame->stat & HOTPATH_ALLOCATES_,
    };
    site->opens = link;
    site->open_in = profile->thread_number;
    sums.calls++;
    sums.open++;
    if (link->is_timed) {
        sums.self += ticks - frame->child;
        *(link->is_inner ? &sums.nested : &sums.total) += ticks;
    } else {
        sums.untimed++;
    }
    change(profile, tree, record, &sums);
    return link;
}

static void take_from_self(struct hp_profile *profile, struct hp_thread_tree *tree, struct hp_record *record,
                           uint64_t ticks)
{
    struct hp_sums sums = record->sums;
    sums.self -= ticks;
    change(profile, tree, record, &sums);
}

/*
 * Two things can go wrong in a live session. A frame whose node is not the thread's is invalid: the stack was just
 * being moved to a larger one. And a frame may become visible before its fields, with the start of an earlier zone.
 * A zone begins no earlier than the enclosing one, and cannot take time that its earlier siblings have taken.
 */
static bool add_open_zones(struct hp_profile *profile, const struct stack *stack, struct hp_walk *walk)
{
    struct hp_thread_tree *tree = stack->tree;
    const struct hp_snapshot *session = profile->run->sessions[tree->calls.session];
    const struct hp_thread *thread = &stack->thread;
    struct hotpath_frame_ frame;
    struct hp_open_link *innermost = NULL;
    struct hp_record *around = NULL;
    uint64_t around_start = 0, left = UINT64_MAX;
    while (hp_snapshot_next_open(session, thread, walk, &frame)) {
        struct hp_record *record = hp_thread_tree_find(tree, frame.node);
        if (record == NULL || record->merged == NULL)
            break;
        const uint64_t start = frame.start > around_start ? frame.start : around_start;
        const uint64_t since = hp_less(session->now_ticks, start), ticks = since < left ? since : left;
        struct hp_open_link *link = add_open(profile, tree, record, &frame, ticks);
        if (link == NULL)
            return false;
        link->around = innermost;
        link->index = walk->index;
        innermost = link;
        if (!link->is_timed)
            continue;
        if (around != NULL)
            take_from_self(profile, tree, around, ticks);
        around = record;
        around_start = start;
        left = hp_less(ticks, frame.child);
    }
    if (around != NULL && innermost->is_timed)
        take_from_self(profile, tree, around, stack->away);
    open_allocs_settle(session, thread, stack->has_allocs ? &stack->allocs : NULL, innermost);
    return true;
}

static bool add_open_threads(struct hp_profile *profile, uint32_t index)
{
    const struct hp_snapshot *session = profile->run->sessions[index];
    struct hp_walk threads = {0}, opens = {0};
    for (struct stack stack = {.away = 0}; hp_snapshot_next_thread(session, &threads, &stack.thread);) {
        hp_walk_rewind(&opens);
        profile->thread_number++;
        stack.tree = hp_forest_tree(&profile->forest, index, threads.offset);
        stack.has_allocs = hp_snapshot_alloc_thread(session, &stack.thread, &stack.allocs);
        if (stack.tree != NULL && !add_open_zones(profile, &stack, &opens))
            return false;
    }
    return true;
}

/* While another lane is on a thread, the thread's own zones stay open and are its callers. */
static bool add_open_lanes(struct hp_profile *profile, uint32_t index)
{
    const struct hp_snapshot *session = profile->run->sessions[index];
    struct hp_walk lanes = {0}, opens = {0};
    for (struct hp_lane lane; hp_snapshot_next_lane(session, &lanes, &lane);) {
        struct stack stack = {.tree = hp_forest_tree(&profile->forest, index, lane.thread)};
        if (stack.tree == NULL || !hp_snapshot_lane_thread(session, &lane, &stack.thread))
            continue;
        hp_walk_rewind(&opens);
        profile->thread_number++;
        stack.has_allocs = hp_snapshot_lane_allocs(&lane, &stack.allocs);
        if (lane.state == HP_LANE_BELOW)
            stack.away = hp_less(session->now_ticks, lane.stopped);
        if (!add_open_zones(profile, &stack, &opens))
            return false;
    }
    return true;
}

static bool add_all_open(struct hp_profile *profile)
{
    for (uint32_t index = 0; index < profile->run->count; index++)
        if (!add_open_threads(profile, index) || !add_open_lanes(profile, index))
            return false;
    return true;
}

/* -------------------------------------------------------------------------------------------- settle */

static void begin_session(struct hp_session_sums *session)
{
    session->calls = session->read.calls;
    session->polls = session->read.polls;
    session->open = session->read.open;
    session->total = session->read.total;
    session->in_main = session->read.in_main;
    session->is_scaled = session->read.scaled > 0;
}

/* Resets the sums to what was read. */
static void begin_settling(const struct hp_profile *profile)
{
    for (size_t at = 0; at < profile->run->count; at++)
        begin_session(&profile->sessions[at]);
    for (size_t at = 0; at < profile->node_count; at++) {
        struct hp_tree_node *node = profile->forest.nodes[at];
        node->sums = node->read;
        node->calls_inside = 0;
        node->is_self_scaled = false;
    }
    for (struct hp_site_sums *site = profile->forest.sites.all; site != NULL; site = site->next) {
        site->sums = site->read;
        site->calls_inside = 0;
        site->is_self_scaled = false;
    }
}

/*
 * Calls that were folded onto a node further up may have been made inside this one, with everything inside them.
 * Their number is unknown, so all of them count: this is an upper bound.
 */
static uint64_t calls_perhaps_inside(const struct hp_tree_node *node)
{
    return node->folded != NULL ? node->folded->calls_inside + timed_calls(&node->folded->sums)
                                : node->calls_inside;
}

/* From the children up, then from the parents down: each node is visited twice, however deep the tree is. */
static void count_calls_inside(struct hp_profile *profile)
{
    for (size_t at = profile->node_count; at-- > 0;) {
        const struct hp_tree_node *node = profile->forest.nodes[at];
        if (node->parent != NULL)
            node->parent->calls_inside += node->calls_inside + timed_calls(&node->sums);
    }
    for (size_t at = 0; at < profile->node_count; at++) {
        struct hp_tree_node *node = profile->forest.nodes[at];
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
 * For a recursion and all below it: a call's self time depends on which inner calls were timed, and since calls
 * were folded, not all children are below it. But together they have the time of the outermost calls, which are all
 * timed: it is divided in proportion to the estimates.
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
        set_self(node, hp_units_round((double)hp_sums_self(&node->sums) * part));
}

static bool is_estimate(const struct hp_tree_node *node) { return node->sums.untimed > 0 && node->folded == NULL; }

static void set_total(struct hp_tree_node *node, uint64_t total)
{
    node->site->sums.total += total - node->sums.total;
    node->sums.total = total;
}

/*
 * One timed call that was preempted stands for all untimed ones, and may make them longer than the enclosing call.
 * Inner calls cannot take longer than that: the estimates are scaled down to what the timed calls leave.
 */
static void bound_by_parents(struct hp_profile *profile)
{
    for (size_t at = 0; at < profile->node_count; at++) {
        const struct hp_tree_node *node = profile->forest.nodes[at];
        double known = 0, estimated = 0;
        for (const struct hp_tree_node *child = node->first_child; child != NULL; child = child->next_sibling)
            *(is_estimate(child) ? &estimated : &known) += (double)child->sums.total;
        const double left = (double)node->sums.total > known ? (double)node->sums.total - known : 0;
        if (node->folded != NULL || estimated <= left)
            continue;
        for (struct hp_tree_node *child = node->first_child; child != NULL; child = child->next_sibling)
            if (is_estimate(child))
                set_total(child, hp_reduced(child->sums.total, left / estimated));
    }
}

/*
 * If not all calls are timed, a call does not know the time of its inner calls, so self time is computed from the
 * sums: its own less those of its children. Of a recursion among them, only the outermost calls were made here.
 */
static void settle_selfs(struct hp_profile *profile)
{
    for (size_t at = 0; at < profile->node_count; at++) {
        struct hp_tree_node *node = profile->forest.nodes[at];
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

/* ---------------------------------------------------------------------------------------------- floors */

/* A hash of the path, which is stable when the shape changes. */
static uint64_t key_of(struct hp_tree_node *node)
{
    const uint64_t above = node->parent != NULL ? node->parent->key : HP_FLOOR_PATH;
    return hp_floors_mix(above, hp_site_key(HP_FLOOR_PATH, node->site));
}

static void keep_nodes(const struct hp_profile *profile, struct hp_floors *floors)
{
    for (size_t at = 0; at < profile->node_count; at++) {
        struct hp_tree_node *node = profile->forest.nodes[at];
        if (node->said == NULL) {
            node->key = key_of(node);
            node->said = hp_floors_find(floors, node->key, sizeof *node->said);
        }
        if (node->said != NULL)
            hp_sums_keep(&node->sums, node->said);
    }
}

/* By thread, a site that no thread has called belongs to none of them. */
static void keep_sites(const struct hp_profile *profile, struct hp_floors *floors)
{
    for (struct hp_site_sums *site = profile->forest.sites.all; site != NULL; site = site->next) {
        if (profile->forest.is_by_thread && site->thread == NULL)
            continue;
        if (site->said == NULL)
            site->said = hp_floors_find(floors, hp_site_key(HP_FLOOR_SITE, site), sizeof *site->said);
        if (site->said != NULL)
            hp_sums_keep(&site->sums, &site->said->sums);
    }
}

static void keep_sessions(const struct hp_profile *profile, struct hp_floors *floors)
{
    for (size_t at = 0; at < profile->run->count; at++) {
        struct hp_session_sums *session = &profile->sessions[at];
        struct hp_sums *before = hp_floors_find(floors, hp_floors_mix(HP_FLOOR_SESSION, at), sizeof *before);
        if (before == NULL)
            continue;
        hp_floor(&session->calls, &before->calls);
        hp_floor(&session->total, &before->total);
    }
}

static void forget_said(const struct hp_profile *profile)
{
    for (struct hp_site_sums *site = profile->forest.sites.all; site != NULL; site = site->next)
        site->said = NULL;
}

/* By thread there are no rows of paths, and the sessions belong to the other profile. */
static void keep(const struct hp_profile *profile)
{
    struct hp_floors *floors = profile->run->floors;
    if (floors == NULL) {
        forget_said(profile);
        return;
    }
    keep_sites(profile, floors);
    if (profile->forest.is_by_thread)
        return;
    keep_nodes(profile, floors);
    keep_sessions(profile, floors);
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

/* Names the sites that have calls, so that each name is unique: if one has no name yet, all are named again. */
static bool name_sites(struct hp_profile *profile)
{
    bool has_unnamed = false;
    for (size_t at = 0; at < profile->site_count; at++)
        has_unnamed |= !profile->sites[at]->same->is_named;
    if (!has_unnamed)
        return true;
    struct hp_site_sums **named = hp_arena_take_array(profile->arena, profile->site_count + 1, sizeof(void *));
    size_t count = 0;
    if (named == NULL)
        return false;
    for (size_t at = 0; at < profile->site_count; at++)
        profile->sites[at]->same->is_named = false;
    for (size_t at = 0; at < profile->site_count; at++) {
        struct hp_site_sums *site = profile->sites[at]->same;
        if (!site->is_named)
            named[count++] = site;
        site->is_named = true;
    }
    if (!hp_site_table_name(&profile->forest.sites, named, count))
        return false;
    for (size_t at = 0; at < profile->site_count; at++) {
        profile->sites[at]->name = profile->sites[at]->same->name;
        profile->sites[at]->is_main = profile->sites[at]->same->is_main;
    }
    return true;
}

static bool list_sites(struct hp_profile *profile)
{
    const struct hp_site_table *table = &profile->forest.sites;
    profile->sites = hp_arena_take_array(profile->arena, table->count + 1, sizeof(void *));
    profile->known = hp_arena_take_array(profile->arena, table->count + 1, sizeof(void *));
    if (profile->sites == NULL || profile->known == NULL)
        return false;
    for (struct hp_site_sums *site = table->all; site != NULL; site = site->next) {
        profile->known[profile->known_count++] = site;
        if (site->sums.calls == 0)
            continue;
        profile->sites[profile->site_count++] = site;
        profile->has_sampled |= site->sums.untimed > 0 && !site->is_limited;
        profile->has_limited |= site->sums.untimed > 0 && site->is_limited;
    }
    hp_sort(profile->known, profile->known_count, compare_numbers);
    return name_sites(profile);
}

static struct hp_site_sums *find_site(const struct hp_profile *profile, uint32_t session, uint32_t id)
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

struct hp_site_sums *hp_profile_find(struct hp_profile *profile, uint32_t session, uint32_t id)
{
    return find_site(profile, session, id);
}

const struct hp_site_sums *hp_profile_site(const struct hp_profile *profile, uint32_t session, uint32_t id)
{
    return find_site(profile, session, id);
}

static bool make_sessions(struct hp_profile *profile, struct hp_arena *kept)
{
    const struct hp_run *run = profile->forest.run;
    profile->sessions = hp_arena_take_array(kept, run->count, sizeof *profile->sessions);
    if (profile->sessions == NULL)
        return false;
    for (size_t at = 0; at < run->count; at++) {
        profile->sessions[at].snapshot = run->sessions[at];
        profile->sessions[at].main = profile->forest.mains[at];
    }
    return true;
}

/* Drops what belongs to one reading. */
static void forget(const struct hp_profile *profile)
{
    for (struct hp_site_sums *site = profile->forest.sites.all; site != NULL; site = site->next) {
        site->is_limited = false;
        site->opens = NULL;
    }
}

static bool read_all(struct hp_profile *profile, struct hp_arena *arena, const struct hp_run *run)
{
    profile->arena = arena;
    profile->run = run;
    profile->nodes = (const struct hp_tree_node *const *)profile->forest.nodes;
    profile->node_count = profile->forest.node_count;
    profile->first_root = profile->forest.first_root;
    forget(profile);
    read_records(profile);
    if (!add_all_open(profile))
        return false;
    begin_settling(profile);
    count_calls_inside(profile);
    bound_by_parents(profile);
    settle_selfs(profile);
    keep(profile);
    if (!profile->forest.is_by_thread)
        choose_main(profile);
    return list_sites(profile);
}

struct hp_profile *hp_profile_build(struct hp_arena *kept, struct hp_arena *arena, const struct hp_run *run,
                                    bool is_by_thread)
{
    struct hp_profile *profile = hp_arena_take(kept, sizeof *profile);
    return profile != NULL && hp_forest_build(&profile->forest, kept, arena, run, is_by_thread) &&
                   make_sessions(profile, kept) && read_all(profile, arena, run)
               ? profile
               : NULL;
}

bool hp_profile_refresh(struct hp_profile *profile, struct hp_arena *arena, const struct hp_run *run)
{
    if (!hp_forest_is_of(&profile->forest, run))
        return false;
    *profile = (struct hp_profile){
        .forest = profile->forest, .sessions = profile->sessions, .thread_number = profile->thread_number};
    profile->forest.run = run;
    return read_all(profile, arena, run);
}

bool hp_profile_spent(const struct hp_profile *profile, uint64_t *ret_ticks)
{
    *ret_ticks = 0;
    for (size_t at = 0; at < profile->node_count; at++)
        *ret_ticks += profile->nodes[at]->read.self;
    return !profile->has_sampled && !profile->has_limited;
}

/*
 * Of each own call the inner part of the zone's cost falls into its duration; of each inner call, the whole cost.
 * Recursive calls are inner calls, too.
 */
double hp_profile_overhead_ns(const struct hp_profile *profile, const struct hp_site_sums *site)
{
    const struct hp_run *run = profile->run;
    const double inner = site->sums.nested > 0 ? run->zone_cost_ns : run->zone_inner_ns;
    const double ns = (double)site->sums.calls * inner + (double)site->calls_inside * run->zone_cost_ns;
    const double most = hp_run_ns(run, site->sums.total);
    return ns < most ? ns : most;
}

/* ----------------------------------------------------------------------------------------------------- stats */

static bool next_thread(struct hp_stat_iter *walk, const struct hp_run *run)
{
    while (walk->session < run->count) {
        walk->snapshot = run->sessions[walk->session];
        if (hp_snapshot_next_thread(walk->snapshot, &walk->threads, &walk->thread)) {
            hp_walk_rewind(&walk->stats);
            return walk->is_in_thread = true;
        }
        *walk = (struct hp_stat_iter){.session = walk->session + 1};
    }
    return false;
}

bool hp_stat_iter_next(struct hp_stat_iter *walk, const struct hp_profile *profile)
{
    while (!walk->is_in_thread || !hp_snapshot_next_stat(walk->snapshot, &walk->thread, &walk->stats, &walk->stat))
        if (!next_thread(walk, profile->run))
            return false;
    hp_walk_rewind(&walk->calls);
    walk->site = hp_profile_site(profile, walk->session, walk->stat.site);
    return true;
}

const char *hp_stat_iter_thread_name(const struct hp_stat_iter *walk, uint32_t tid)
{
    return walk->thread.tid == tid && walk->thread.name[0] != '\0' ? walk->thread.name : NULL;
}
