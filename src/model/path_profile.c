/* The critical path of a run. SPDX-License-Identifier: MIT */
#include "path_profile.h"

#include <string.h>

#include "arena.h"
#include "arith.h"
#include "lock_profile.h"
#include "sort.h"
#include "wait_profile.h"

/* A session's path while it is added up. */
struct reading {
    struct hp_arena *arena;
    const struct hp_path_sources *from;
    const struct hp_snapshot *session;
    const struct hp_lock_process *locks; /* of the session's process; NULL: unknown */
    struct hp_path_counts counts;
    struct hp_path_key *keys;
    struct hp_path_thread *path;
    struct hp_run_path *to;
};

bool hp_run_has_path(const struct hp_run *run)
{
    for (size_t at = 0; at < run->count; at++)
        if (run->sessions[at]->header.paths != 0)
            return true;
    return false;
}

const char *hp_path_kind_name(uint32_t kind)
{
    static const char *const names[] = {
        [HP_PATH_FOR_THREAD] = "thread",       [HP_PATH_FOR_LOCK] = "lock",
        [HP_PATH_FOR_CONDITION] = "condition", [HP_PATH_FOR_SEMAPHORE] = "semaphore",
        [HP_PATH_FOR_BARRIER] = "barrier",     [HP_PATH_FOR_CHANNEL] = "channel"};
    return kind < sizeof names / sizeof names[0] ? names[kind] : "channel";
}

double hp_path_known_part(const struct hp_run_path *path)
{
    const double known = (double)(path->known > path->end_waited ? path->known : path->end_waited);
    const double all = known + (double)path->unknown;
    return all > 0 ? known / all : 1;
}

/* ---------------------------------------------------------------------------------------- the thread's own tree */

static void add_own(const struct reading *reading, uint32_t site, uint64_t ticks)
{
    uint32_t key = HP_PATH_OTHER;
    for (uint32_t number = 0; number < reading->counts.keys && site != HP_SITE_OTHER; number++)
        if (reading->keys[number].kind == HP_PATH_KEY_SITE && reading->keys[number].site == site)
            key = number;
    reading->path->sums[key].ticks += ticks;
}

/* As hp_path_count_own of the recorder, up to `now`: see there. */
static void add_tree(const struct reading *reading, const struct hp_thread *thread, uint64_t now)
{
    const uint32_t last = reading->path->last_node != 0 ? reading->path->last_node : UINT32_MAX;
    struct hp_walk nodes = {0}, opens = {0};
    struct hp_node node;
    struct hotpath_frame_ frame, inner = {0};
    uint32_t inner_site = HP_SITE_ROOT;
    uint64_t sum = 0;
    while (hp_snapshot_next_node(reading->session, thread, &nodes, &node)) {
        if (node.self == 0 || nodes.offset > last || node.site == HP_SITE_ROOT)
            continue;
        add_own(reading, node.site, node.self);
        sum += node.self;
    }
    bool has_inner = false;
    while (hp_snapshot_next_open(reading->session, thread, &opens, &frame)) {
        if (frame.stat & (HOTPATH_UNTIMED_ | HOTPATH_COUNTED_) ||
            !hp_snapshot_node(reading->session, frame.node, &node))
            continue;
        if (has_inner && inner.node <= last) {
            add_own(reading, inner_site, frame.start - inner.start - inner.child);
            sum += frame.start - inner.start - inner.child;
        }
        inner = frame;
        inner_site = node.site;
        has_inner = true;
    }
    if (has_inner && inner.node <= last) {
        add_own(reading, inner_site, now - inner.start - inner.child);
        sum += now - inner.start - inner.child;
    }
    add_own(reading, reading->path->last_node != 0 ? HP_SITE_OTHER : HP_SITE_ROOT, now - sum);
}

/* ------------------------------------------------------------------------------------------------------- rows */

/* Whether such a wait ends because another thread or process does something. */
static bool is_for_waker(uint32_t cause)
{
    switch (cause) {
    case HP_WAIT_LOCK:
    case HP_WAIT_CONDITION:
    case HP_WAIT_SEMAPHORE:
    case HP_WAIT_BARRIER:
    case HP_WAIT_THREAD:
    case HP_WAIT_FUTEX:
    case HP_WAIT_PIPE:
    case HP_WAIT_SOCKET:
    case HP_WAIT_POLL:
    case HP_WAIT_CHILD:
        return true;
    default:
        return false;
    }
}

/* What probes found of a function, without the waits that the path has left. */
struct seen {
    double own_ns, unknown_ns, waiting_ns;
    uint32_t cause; /* the longest of the latter */
};

static struct seen see(const struct reading *reading, const struct hp_site_sums *site, uint64_t known)
{
    struct hp_site_waits waits = {0};
    struct seen seen = {0};
    double longest = 0;
    if (reading->from->waits == NULL)
        return seen;
    hp_waits_of_site(reading->from->waits, site, &waits);
    for (uint32_t cause = 0; cause < HP_WAIT_CAUSES; cause++) {
        const double ns = cause == HP_WAIT_RUN_QUEUE ? 0 : (double)waits.by_cause[cause];
        if (is_for_waker(cause)) {
            seen.unknown_ns += ns;
            continue;
        }
        seen.waiting_ns += ns;
        if (ns > longest) {
            longest = ns;
            seen.cause = cause;
        }
    }
    const double known_ns = hp_run_ns(reading->from->profile->run, known);
    const double whole_ns = site != NULL ? hp_run_ns(reading->from->profile->run, hp_sums_self(&site->sums))
                                         : (double)waits.ns + reading->from->outside_cpu_ns;
    seen.own_ns = whole_ns - known_ns;
    seen.unknown_ns = seen.unknown_ns > known_ns ? seen.unknown_ns - known_ns : 0;
    return seen;
}

/* A part of what is on the path; probes see all of a function, and are taken to see the same part on the path. */
static double part_of(double ns, const struct seen *seen)
{
    return seen->own_ns <= 0 || ns <= 0 ? 0 : ns >= seen->own_ns ? 1 : ns / seen->own_ns;
}

#define LEAST_UNKNOWN 0.1 /* of a function's time, found by probes: less is the error of probing */

static struct hp_path_function judge(const struct reading *reading, const struct hp_path_key *key,
                                     const struct hp_path_sum *sum)
{
    const struct hp_site_sums *site =
        key->site != HP_SITE_ROOT
            ? hp_profile_site(reading->from->profile, (uint32_t)reading->to->session, key->site)
            : NULL;
    const uint64_t ticks = hp_not_negative(sum->ticks);
    const struct seen seen = see(reading, site, key->known);
    /* Outside of all functions, threads that wait for different things are one row: most are not on the path. */
    const double part = site != NULL ? part_of(seen.unknown_ns, &seen) : 0;
    const uint64_t probed = part >= LEAST_UNKNOWN ? (uint64_t)(part * (double)ticks) : 0;
    const uint64_t more = sum->more < ticks ? sum->more : ticks;
    struct hp_path_function function = {.site = site, .ticks = ticks, .unknown = more > probed ? more : probed};
    if (2 * function.unknown > ticks)
        function.time = HP_PATH_UNKNOWN;
    else if (seen.waiting_ns > 0 && part_of(seen.waiting_ns + (site == NULL ? seen.unknown_ns : 0), &seen) > 0.5) {
        function.time = HP_PATH_WAITING;
        function.cause = hp_wait_cause_name(seen.cause);
    }
    return function;
}

/* False: no memory. */
static bool add_function(const struct reading *reading, const struct hp_path_function *function)
{
    struct hp_run_path *to = reading->to;
    struct hp_path_function *kept = function->ticks != 0 ? hp_arena_take(reading->arena, sizeof *kept) : NULL;
    if (kept == NULL)
        return function->ticks == 0;
    *kept = *function;
    to->ticks += function->ticks;
    to->unknown += function->unknown;
    to->functions[to->function_count++] = kept;
    return true;
}

static bool add_wait(const struct reading *reading, const struct hp_path_key *key, const struct hp_path_sum *sum)
{
    struct hp_run_path *to = reading->to;
    const bool is_outside = key->site == HP_SITE_ROOT;
    struct hp_path_for *kept = sum->more != 0 ? hp_arena_take(reading->arena, sizeof *kept) : NULL;
    if (kept == NULL)
        return sum->more == 0;
    const struct hp_lock_row *lock = hp_lock_of_place(reading->locks, key->place);
    *kept = (struct hp_path_for){
        .kind = key->wait,
        .name = lock != NULL ? lock->name : hp_snapshot_text(reading->session, key->name),
        .caller = hp_lock_function_of(reading->locks, key->caller),
        .holder = is_outside ? NULL : hp_profile_site(reading->from->profile, (uint32_t)to->session, key->site),
        .ticks = hp_not_negative(sum->ticks),
        .count = sum->more};
    to->known += kept->ticks;
    to->waits[to->wait_count++] = kept;
    return true;
}

static int compare_functions(const void *a, const void *b)
{
    const struct hp_path_function *x = a, *y = b;
    return x->ticks < y->ticks ? 1 : x->ticks > y->ticks ? -1 : 0;
}

static int compare_waits(const void *a, const void *b)
{
    const struct hp_path_for *x = a, *y = b;
    return x->ticks < y->ticks ? 1 : x->ticks > y->ticks ? -1 : 0;
}

/* ---------------------------------------------------------------------------------------------------- the path */

/* The first thread of the process, whose path ends when the process does. */
static bool find_first_thread(const struct reading *reading, struct hp_thread *ret_thread)
{
    struct hp_walk threads = {0};
    while (hp_snapshot_next_thread(reading->session, &threads, ret_thread))
        if (ret_thread->tid == reading->session->header.pid && ret_thread->path != 0)
            return true;
    return false;
}

/* Segments are parts of the time outside of all functions. */
static void join_segments(const struct reading *reading)
{
    uint32_t outside = HP_PATH_OTHER;
    for (uint32_t number = 0; number < reading->counts.keys; number++)
        if (reading->keys[number].kind == HP_PATH_KEY_SITE && reading->keys[number].site == HP_SITE_ROOT)
            outside = number;
    for (uint32_t number = 0; number < reading->counts.keys; number++) {
        if (reading->keys[number].kind != HP_PATH_KEY_SEGMENT)
            continue;
        reading->path->sums[outside].ticks += reading->path->sums[number].ticks;
        reading->path->sums[outside].more += reading->path->sums[number].more;
        reading->keys[outside].known += reading->keys[number].known;
    }
}

static bool add_rows(const struct reading *reading)
{
    const struct hp_path_function waking = {.time = HP_PATH_WAKING,
                                            .ticks = hp_not_negative(reading->path->sums[HP_PATH_WAKE_UP].ticks)};
    const struct hp_path_function rest = {.time = HP_PATH_REST,
                                          .ticks = hp_not_negative(reading->path->sums[HP_PATH_OTHER].ticks)};
    bool is_added = add_function(reading, &waking) && add_function(reading, &rest);
    for (uint32_t number = 0; is_added && number < reading->counts.keys; number++) {
        const struct hp_path_key *key = &reading->keys[number];
        const struct hp_path_sum *sum = &reading->path->sums[number];
        if (key->kind == HP_PATH_KEY_SITE) {
            const struct hp_path_function function = judge(reading, key, sum);
            is_added = add_function(reading, &function);
        } else if (key->kind == HP_PATH_KEY_WAIT)
            is_added = add_wait(reading, key, sum);
    }
    reading->to->waking = waking.ticks;
    return is_added;
}

static bool read_keys(struct reading *reading)
{
    reading->keys = hp_arena_take_array(reading->arena, HP_PATH_KEYS, sizeof *reading->keys);
    reading->path = hp_arena_take(reading->arena, sizeof *reading->path);
    reading->to->functions = hp_arena_take_array(reading->arena, HP_PATH_KEYS, sizeof *reading->to->functions);
    reading->to->waits = hp_arena_take_array(reading->arena, HP_PATH_KEYS, sizeof *reading->to->waits);
    if (reading->keys == NULL || reading->path == NULL || reading->to->functions == NULL ||
        reading->to->waits == NULL)
        return false;
    for (uint32_t number = 0; number < reading->counts.keys; number++)
        if (!hp_snapshot_path_key(reading->session, number, &reading->keys[number]))
            reading->keys[number] = (struct hp_path_key){0};
    return true;
}

static void note_end(const struct reading *reading)
{
    struct hp_run_path *to = reading->to;
    const struct hp_path_thread *path = reading->path;
    to->end_waited = path->known;
    to->end_kind = path->waker_kind;
    to->end_waker = hp_arena_copy(reading->arena, path->waker_name, strlen(path->waker_name));
    to->end_waker_tid = path->waker_tid;
    to->lost = reading->counts.lost;
}

/* False: no memory. */
static bool read_session(struct reading *reading)
{
    struct hp_thread thread;
    if (!hp_snapshot_paths(reading->session, &reading->counts) || !find_first_thread(reading, &thread))
        return true;
    if (!read_keys(reading))
        return false;
    if (!hp_snapshot_path(reading->session, &thread, reading->path))
        return true;
    add_tree(reading, &thread, reading->session->now_ticks);
    join_segments(reading);
    if (!add_rows(reading))
        return false;
    note_end(reading);
    struct hp_run_path *to = reading->to;
    to->is_followed = true;
    hp_sort(to->functions, to->function_count, compare_functions);
    hp_sort(to->waits, to->wait_count, compare_waits);
    return to->end_waker != NULL;
}

const struct hp_run_path *hp_path_of_run(struct hp_arena *arena, const struct hp_path_sources *sources)
{
    const struct hp_run *run = sources->profile->run;
    struct hp_run_path *path = hp_arena_take(arena, sizeof *path);
    if (path == NULL)
        return NULL;
    *path = (struct hp_run_path){0};
    for (size_t at = 0; at < run->count && !path->is_followed; at++) {
        struct reading reading = {.arena = arena,
                                  .from = sources,
                                  .session = run->sessions[at],
                                  .locks = hp_lock_process_of(sources->locks, run->sessions[at]->header.pid),
                                  .to = path};
        path->session = at;
        if (!read_session(&reading))
            return NULL;
    }
    return path;
}
