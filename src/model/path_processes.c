/*
 * The critical path of a run of several processes. Children are found by their sessions: of those that lived at the
 * same time, the one that ended last was waited for longest. SPDX-License-Identifier: MIT
 */
#include "path_processes.h"

#include <string.h>

#include "arena.h"
#include "function_profile.h"
#include "layout.h"
#include "path_idle.h"
#include "text.h"

#define MOST_DEPTH 4u     /* of children of children */
#define MOST_CHILDREN 64u /* that one process waits for, one after the other */

struct following {
    struct hp_arena *arena;
    const struct hp_path_sources *sources;
    const struct hp_run *run;
};

static bool follow(const struct following *following, size_t session, unsigned depth, struct hp_run_path *path);

/* ------------------------------------------------------------------------------------------------------ merging */

static bool is_same_function(const struct hp_path_function *a, const struct hp_path_function *b)
{
    return a->time == b->time && a->site == b->site && a->found == b->found;
}

static uint64_t scaled(uint64_t ticks, double by) { return (uint64_t)((double)ticks * by); }

/* Adds a part of each row of another path. `known_only`: without its waits for unknown wakers. */
static bool add_functions(const struct following *following, struct hp_run_path *path,
                          const struct hp_run_path *other, double by, bool known_only)
{
    struct hp_path_function **all =
        hp_arena_take_array(following->arena, path->function_count + other->function_count + 1, sizeof *all);
    if (all == NULL)
        return false;
    memcpy(all, path->functions, path->function_count * sizeof *all);
    path->functions = all;
    for (size_t at = 0; at < other->function_count; at++) {
        struct hp_path_function row = *other->functions[at];
        size_t same = 0;
        row.ticks = scaled(known_only ? row.ticks - row.unknown : row.ticks, by);
        row.unknown = known_only ? 0 : scaled(row.unknown, by);
        row.by_child = row.by_message = 0;
        if (known_only && row.time == HP_PATH_IDLE)
            continue;
        if (known_only && row.time == HP_PATH_UNKNOWN)
            row.time = HP_PATH_RUNNING;
        if (row.ticks == 0)
            continue;
        while (same < path->function_count && !is_same_function(all[same], &row))
            same++;
        if (same == path->function_count) {
            all[path->function_count] = hp_arena_take(following->arena, sizeof row);
            if (all[path->function_count] == NULL)
                return false;
            *all[path->function_count++] = row;
        } else {
            all[same]->ticks += row.ticks;
            all[same]->unknown += row.unknown;
        }
        *(row.time == HP_PATH_IDLE ? &path->idle : &path->ticks) += row.ticks;
        path->unknown += row.unknown;
        path->queued += row.time == HP_PATH_QUEUED ? row.ticks : 0;
        path->waking += row.time == HP_PATH_WAKING ? row.ticks : 0;
    }
    return true;
}

static void add_nodes(const struct following *following, struct hp_run_path *path, const struct hp_run_path *other,
                      double by, bool known_only)
{
    const struct hp_function_profile *functions = following->sources->functions;
    for (size_t at = 0; path->node_ns != NULL && other->node_ns != NULL && at < functions->node_count; at++)
        if (!known_only || !hp_path_is_for_waker(functions->nodes[at].cause) || functions->nodes[at].waited_ns == 0)
            path->node_ns[at] += scaled(other->node_ns[at], by);
}

/* ------------------------------------------------------------------------------------------------- substituting */

/* What of a path is to be replaced. */
struct replaced {
    bool is_message; /* else for children */
    uint64_t ticks;  /* waited for that */
};

static uint64_t *part_of(struct hp_path_function *function, bool is_of_message)
{
    return is_of_message ? &function->by_message : &function->by_child;
}

/* Takes this part of such waits out of the path. */
static void take_out(const struct following *following, struct hp_run_path *path, const struct replaced *replaced,
                     double part)
{
    const struct hp_function_profile *functions = following->sources->functions;
    const bool has_children = hp_path_has_children(following->run, following->run->sessions[path->session]);
    for (size_t at = 0; at < path->function_count; at++) {
        struct hp_path_function *function = path->functions[at];
        const uint64_t out = scaled(*part_of(function, replaced->is_message), part);
        function->ticks -= out;
        function->unknown -= out;
        *part_of(function, replaced->is_message) -= out;
        path->ticks -= out;
        path->unknown -= out;
        path->known += out;
        if (function->time == HP_PATH_UNKNOWN && 2 * function->unknown <= function->ticks)
            function->time = HP_PATH_RUNNING;
    }
    for (size_t at = 0; path->node_ns != NULL && at < functions->node_count; at++) {
        const uint32_t cause = hp_path_cause(functions->nodes[at].cause, has_children);
        if (functions->nodes[at].waited_ns > 0 &&
            (replaced->is_message ? hp_path_is_message(cause) : cause == HP_WAIT_CHILD))
            path->node_ns[at] -= scaled(path->node_ns[at], part);
    }
}

static void note_program(const struct following *following, struct hp_run_path *path, size_t session,
                         uint64_t ticks)
{
    const struct hp_snapshot *snapshot = following->run->sessions[session];
    if (2 * ticks > path->ticks && path->end_waker_tid == 0)
        path->end_program = hp_text_base_name(hp_snapshot_text(snapshot, snapshot->header.executable));
}

static uint64_t sum_of(const struct hp_run_path *path, bool is_of_message)
{
    uint64_t sum = 0;
    for (size_t at = 0; at < path->function_count; at++)
        sum += *part_of(path->functions[at], is_of_message);
    return sum;
}

/* ----------------------------------------------------------------------------------------------------- children */

static uint64_t began_at(const struct following *following, size_t session)
{
    return hp_run_started_ns(following->run, following->run->sessions[session]);
}

static uint64_t ended_at(const struct following *following, size_t session)
{
    const struct hp_snapshot *snapshot = following->run->sessions[session];
    const double ns = hp_run_ns(following->run, snapshot->now_ticks - snapshot->header.clock_start.ticks);
    return began_at(following, session) + (uint64_t)(ns > 0 ? ns : 0);
}

/* The child that ended last before a time. SIZE_MAX: there is none. */
static size_t last_child(const struct following *following, uint32_t parent, uint64_t before_ns)
{
    size_t last = SIZE_MAX;
    uint64_t last_ns = 0;
    for (size_t at = 0; at < following->run->count; at++) {
        const uint64_t ended_ns = ended_at(following, at);
        if (following->run->sessions[at]->header.parent_pid != parent || ended_ns > before_ns ||
            ended_ns <= last_ns)
            continue;
        last = at;
        last_ns = ended_ns;
    }
    return last;
}

static bool follow_children(const struct following *following, size_t session, unsigned depth,
                            struct hp_run_path *path)
{
    const uint32_t pid = following->run->sessions[session]->header.pid;
    const struct replaced replaced = {false, sum_of(path, false)};
    struct hp_run_path *children =
        replaced.ticks > 0 ? hp_arena_take_array(following->arena, MOST_CHILDREN, sizeof *children) : NULL;
    uint64_t before_ns = UINT64_MAX, ticks = 0;
    size_t count = 0;
    if (children == NULL)
        return replaced.ticks == 0;
    while (count < MOST_CHILDREN) {
        const size_t child = last_child(following, pid, before_ns);
        if (child == SIZE_MAX)
            break;
        before_ns = began_at(following, child);
        if (!follow(following, child, depth + 1, &children[count]))
            return false;
        if (!children[count].is_followed)
            continue;
        ticks += children[count].ticks + children[count].idle;
        count++;
    }
    if (ticks == 0)
        return true;
    const double by = ticks > replaced.ticks ? (double)replaced.ticks / (double)ticks : 1;
    for (size_t at = 0; at < count; at++)
        note_program(following, path, children[at].session, scaled(children[at].ticks, by));
    take_out(following, path, &replaced, (double)ticks * by / (double)replaced.ticks);
    for (size_t at = 0; at < count; at++) {
        if (!add_functions(following, path, &children[at], by, false))
            return false;
        add_nodes(following, path, &children[at], by, false);
    }
    return true;
}

/* ----------------------------------------------------------------------------------------------------- messages */

/* The last session of a process. SIZE_MAX: it has none. */
static size_t session_of(const struct following *following, uint32_t pid)
{
    size_t found = SIZE_MAX;
    for (size_t at = 0; at < following->run->count; at++)
        if (following->run->sessions[at]->header.pid == pid)
            found = at;
    return found;
}

static bool follow_messages(const struct following *following, size_t session, struct hp_run_path *path)
{
    const struct replaced replaced = {true, sum_of(path, true)};
    const size_t peer = replaced.ticks > 0 && path->peer != 0 ? session_of(following, path->peer) : SIZE_MAX;
    struct hp_run_path other;
    if (peer == SIZE_MAX || peer == session)
        return true;
    if (!hp_path_of_session(following->arena, following->sources, peer, &other))
        return false;
    const uint64_t busy = other.is_followed ? other.ticks - other.unknown : 0;
    if (busy == 0)
        return true;
    const double by = busy > replaced.ticks ? (double)replaced.ticks / (double)busy : 1;
    note_program(following, path, peer, scaled(busy, by));
    take_out(following, path, &replaced, (double)busy * by / (double)replaced.ticks);
    if (!add_functions(following, path, &other, by, true))
        return false;
    add_nodes(following, path, &other, by, true);
    return true;
}

/* ----------------------------------------------------------------------------------------------------- together */

static bool follow(const struct following *following, size_t session, unsigned depth, struct hp_run_path *path)
{
    if (!hp_path_of_session(following->arena, following->sources, session, path))
        return false;
    return !path->is_followed || depth >= MOST_DEPTH ||
           (follow_children(following, session, depth, path) && follow_messages(following, session, path));
}

/* After exec the path of the process goes on in its next session. SIZE_MAX: there is none. */
static size_t next_program(const struct following *following, size_t session)
{
    for (size_t at = 0; following->run->before != NULL && at < following->run->count; at++)
        if (following->run->before[at] == session + 1)
            return at;
    return SIZE_MAX;
}

const struct hp_run_path *hp_path_of_run(struct hp_arena *arena, const struct hp_path_sources *sources)
{
    const struct following following = {arena, sources, sources->profile->run};
    struct hp_run_path *path = hp_arena_take(arena, sizeof *path);
    if (path == NULL)
        return NULL;
    *path = (struct hp_run_path){0};
    for (size_t at = 0; at < following.run->count && !path->is_followed; at++)
        if (!follow(&following, at, 0, path))
            return NULL;
    for (size_t at = next_program(&following, path->session); path->is_followed && at != SIZE_MAX;
         at = next_program(&following, at)) {
        struct hp_run_path *next = hp_arena_take(arena, sizeof *next);
        if (next == NULL || !follow(&following, at, 0, next))
            return NULL;
        if (!next->is_followed)
            continue;
        if (!add_functions(&following, next, path, 1, false))
            return NULL;
        add_nodes(&following, next, path, 1, false);
        path = next;
    }
    hp_path_sort(path);
    return path;
}
