/* The critical path of a run. SPDX-License-Identifier: MIT */
#include "path_profile.h"

#include <string.h>

#include "arena.h"
#include "arith.h"
#include "cpu_profile.h"
#include "function_profile.h"
#include "labels.h"
#include "lock_profile.h"
#include "path_idle.h"
#include "sort.h"
#include "wait_profile.h"

/* A session's path while it is added up. */
struct reading {
    struct hp_arena *arena;
    const struct hp_path_sources *from;
    const struct hp_snapshot *session;
    const struct hp_lock_process *locks; /* of the session's process; NULL: unknown */
    bool has_children;                   /* the session's process, in the run */
    double queued_for_cpu;               /* time in the run queue for each nanosecond of CPU time */
    struct hp_path_counts counts;
    struct hp_path_key *keys;
    struct hp_path_idle *idle; /* by key */
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

const char *hp_path_function_name(const struct hp_path_function *function)
{
    if (function->time == HP_PATH_WAKING)
        return "<wake-up>";
    if (function->time == HP_PATH_QUEUED)
        return "<run queue>";
    if (function->time == HP_PATH_IDLE)
        return "<idle>";
    if (function->time == HP_PATH_REST)
        return "<other>";
    return function->site != NULL    ? function->site->name
           : function->found != NULL ? function->found->shown
                                     : HP_OUTSIDE;
}

double hp_path_known_part(const struct hp_run_path *path)
{
    const double known = (double)(path->known > path->end_waited ? path->known : path->end_waited);
    const double all = known + (double)path->unknown;
    return all > 0 ? known / all : 1;
}

uint64_t hp_path_ticks_for_lock(const struct hp_run_path *path, const struct hp_lock_row *lock)
{
    uint64_t ticks = 0;
    for (size_t at = 0; at < path->wait_count; at++)
        ticks += path->waits[at]->lock == lock ? path->waits[at]->ticks : 0;
    return ticks;
}

/* ---------------------------------------------------------------------------------------- the thread's own tree */

/* The recorder makes a key when it first meets a site: what was called since then has none yet. */
static uint32_t key_of_site(struct reading *reading, uint32_t site)
{
    uint32_t sites = 0;
    for (uint32_t number = 0; number < reading->counts.keys && site != HP_SITE_OTHER; number++) {
        sites +=
            reading->keys[number].kind == HP_PATH_KEY_SITE || reading->keys[number].kind == HP_PATH_KEY_SEGMENT;
        if (reading->keys[number].kind == HP_PATH_KEY_SITE && reading->keys[number].site == site)
            return number;
    }
    if (site == HP_SITE_OTHER || sites >= HP_PATH_SITES || reading->counts.keys >= HP_PATH_KEYS)
        return HP_PATH_OTHER;
    reading->keys[reading->counts.keys] = (struct hp_path_key){.kind = HP_PATH_KEY_SITE, .site = site};
    return reading->counts.keys++;
}

static void add_own(struct reading *reading, uint32_t site, uint64_t ticks)
{
    reading->path->sums[key_of_site(reading, site)].ticks += ticks;
}

/* As hp_path_count_own of the recorder, up to `now`: see there. */
static void add_tree(struct reading *reading, const struct hp_thread *thread, uint64_t now)
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

bool hp_path_is_for_waker(uint32_t cause)
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

bool hp_path_is_message(uint32_t cause) { return cause == HP_WAIT_PIPE || cause == HP_WAIT_SOCKET; }

/* NULL: outside of all functions. */
static const struct hp_site_sums *site_of(const struct reading *reading, const struct hp_path_key *key)
{
    return key->site != HP_SITE_ROOT
               ? hp_profile_site(reading->from->profile, (uint32_t)reading->to->session, key->site)
               : NULL;
}

/* CPU time of the function itself, by samples. */
static double cpu_ns_of(const struct reading *reading, const struct hp_site_sums *site)
{
    const struct hp_profile *profile = reading->from->profile;
    for (size_t at = 0; reading->from->cpu != NULL && site != NULL && at < profile->site_count; at++)
        if (profile->sites[at] == site)
            return (double)hp_cpu_ns(&reading->from->cpu->sites[at].own);
    return 0;
}

/* What probes found of a function, without the waits that the path has left. */
struct seen {
    double own_ns, unknown_ns, waiting_ns;
    uint32_t cause;                   /* the longest of the latter */
    double queued_ns, wake_queued_ns; /* in the run queue; after the release of what it waited for */
    double child_ns, message_ns;      /* waits for children; for other processes of the run at pipes and sockets */
};

static struct seen see(const struct reading *reading, const struct hp_site_sums *site,
                       const struct hp_path_key *key)
{
    struct hp_site_waits waits = {0};
    struct seen seen = {0};
    double longest = 0;
    if (reading->from->waits == NULL)
        return seen;
    hp_waits_of_site(reading->from->waits, site, &waits);
    const struct hp_path_idle *idle = &reading->idle[key - reading->keys];
    if (reading->has_children) {
        waits.by_cause[HP_WAIT_CHILD] += waits.by_cause[HP_WAIT_SIGNAL];
        waits.by_cause[HP_WAIT_SIGNAL] = 0;
    }
    for (uint32_t cause = 0; cause < HP_WAIT_CAUSES; cause++) {
        const double ns =
            cause == HP_WAIT_RUN_QUEUE ? 0 : (double)hp_less(waits.by_cause[cause], idle->by_cause[cause]);
        if (hp_path_is_for_waker(cause)) {
            seen.unknown_ns += ns;
            continue;
        }
        seen.waiting_ns += ns;
        if (ns > longest) {
            longest = ns;
            seen.cause = cause;
        }
    }
    seen.child_ns = (double)waits.by_cause[HP_WAIT_CHILD];
    const double queued_ns = (double)waits.by_cause[HP_WAIT_RUN_QUEUE];
    const double latency_ns = hp_run_ns(reading->from->profile->run, key->latency);
    seen.wake_queued_ns = queued_ns < latency_ns ? queued_ns : latency_ns;
    seen.queued_ns = queued_ns - seen.wake_queued_ns;
    const double known_ns = hp_run_ns(reading->from->profile->run, key->known);
    const double whole_ns = site != NULL ? hp_run_ns(reading->from->profile->run, hp_sums_self(&site->sums))
                                         : (double)waits.ns + reading->from->outside_cpu_ns;
    seen.own_ns = whole_ns - known_ns - (double)idle->ns;
    seen.unknown_ns = seen.unknown_ns > known_ns ? seen.unknown_ns - known_ns : 0;
    /* Probes find a thread more often where it lost its CPU than where it has one. */
    const double room_ns = seen.own_ns - cpu_ns_of(reading, site);
    if (site != NULL && seen.queued_ns > room_ns)
        seen.queued_ns = room_ns > 0 ? room_ns : 0;
    return seen;
}

/* A part of what is on the path; probes see all of a function, and are taken to see the same part on the path. */
static double part_of(double ns, const struct seen *seen)
{
    return seen->own_ns <= 0 || ns <= 0 ? 0 : ns >= seen->own_ns ? 1 : ns / seen->own_ns;
}

#define MOST_SEEN 1.3       /* times as much time on the path as stacks have seen, since they are samples */
#define LEAST_SHARED_NS 2e6 /* that stacks know of segments: two samples; less names no function */
#define LEAST_UNKNOWN 0.1   /* of a function's time, found by probes: less is the error of probing */

/*
 * The part of a function's time on the path that it was in the run queue: as of all of its time. Outside of all
 * functions, where they are measured, it is not known; where nothing is, it is what stacks do not explain.
 */
static uint64_t take_queued(const struct reading *reading, const struct seen *seen, uint64_t ticks)
{
    const bool is_rest = reading->to->node_ns != NULL;
    const double part = part_of(seen->queued_ns, seen),
                 most = (double)hp_less((uint64_t)(seen->queued_ns / reading->from->profile->run->ns_per_tick),
                                        reading->to->queued);
    const uint64_t queued = is_rest                 ? (uint64_t)(most < (double)ticks ? most : (double)ticks)
                            : part >= LEAST_UNKNOWN ? (uint64_t)(part * (double)ticks)
                                                    : 0;
    reading->to->queued += queued;
    return queued;
}

static uint64_t limited(double ticks, uint64_t most) { return ticks < (double)most ? (uint64_t)ticks : most; }

/* Waits of a site at pipes and sockets whose other end is in another process of the run. */
static double message_ns(const struct reading *reading, const struct hp_site_sums *site)
{
    const struct hp_run_waits *waits = reading->from->waits;
    uint64_t ns = 0, longest = 0;
    for (size_t at = 0; waits != NULL && at < waits->count; at++) {
        const struct hp_wait_sums *wait = waits->all[at];
        if (wait->site != site || !hp_path_is_message(wait->cause) || wait->end == NULL || wait->end->is_own ||
            wait->end->pid == reading->session->header.pid)
            continue;
        ns += wait->ns;
        if (wait->ns > longest) {
            longest = wait->ns;
            reading->to->peer = wait->end->pid;
        }
    }
    return (double)ns;
}

/* Takes out what the first thread waited for work from outside in the function. */
static uint64_t without_idle(const struct reading *reading, const struct hp_path_key *key, uint64_t ticks)
{
    struct hp_path_idle *idle = &reading->idle[key - reading->keys];
    const uint64_t out = limited((double)idle->ns / reading->from->profile->run->ns_per_tick, ticks);
    reading->to->idle += out;
    return ticks - out;
}

static struct hp_path_function judge(const struct reading *reading, const struct hp_path_key *key,
                                     const struct hp_path_sum *sum)
{
    const struct hp_site_sums *site = site_of(reading, key);
    const uint64_t ticks = without_idle(reading, key, hp_not_negative(sum->ticks));
    const struct seen seen = see(reading, site, key);
    /* Outside of all functions, threads that wait for different things are one row: most are not on the path. */
    const double part = site != NULL ? part_of(seen.unknown_ns, &seen) : 0;
    const uint64_t probed = part >= LEAST_UNKNOWN ? (uint64_t)(part * (double)ticks) : 0;
    const uint64_t more = sum->more < ticks ? sum->more : ticks;
    const uint64_t queued = take_queued(reading, &seen, ticks);
    const uint64_t awaited = more > probed ? more : probed, rest = ticks - queued;
    struct hp_path_function function = {.site = site, .ticks = rest, .unknown = awaited < rest ? awaited : rest};
    if (seen.unknown_ns > 0) {
        const double unknown = (double)function.unknown / seen.unknown_ns;
        function.by_child = limited(unknown * seen.child_ns, function.unknown);
        function.by_message = limited(unknown * message_ns(reading, site), function.unknown - function.by_child);
    }
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
    to->ticks += function->time != HP_PATH_IDLE ? function->ticks : 0;
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
        .lock = lock,
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

/* ------------------------------------------------------------------------------------------------- segments */

/*
 * Without measured functions, samples and probed waits say what threads did in the segments that end in the same
 * way, on the path or beside it: the path's are taken to be like all of them.
 */

static uint32_t outside_key(const struct reading *reading)
{
    for (uint32_t number = 0; number < reading->counts.keys; number++)
        if (reading->keys[number].kind == HP_PATH_KEY_SITE && reading->keys[number].site == HP_SITE_ROOT)
            return number;
    return HP_PATH_OTHER;
}

/* Nothing is measured, but there are stacks. */
static bool is_unmeasured(const struct reading *reading)
{
    const struct hp_function_profile *functions = reading->from->functions;
    for (uint32_t number = 0; number < reading->counts.keys; number++)
        if (reading->keys[number].kind == HP_PATH_KEY_SITE && reading->keys[number].site != HP_SITE_ROOT)
            return false;
    return functions != NULL && functions->path_count > 0;
}

/* What is known of segments with one key, in nanoseconds. */
struct segments {
    const struct hp_function_profile *functions;
    uint32_t pid, key;
    bool has_children;
    double worked_ns, awaited_ns; /* all but waits for wakers; these */
    double queued_ns;             /* in the run queue, by CPU time */
    double unknown_part;          /* of the latter: nobody was recorded who ended them */
    double worked, unknown;       /* time on the path for each nanosecond of these two, in ticks */
    double idle_part;             /* of waits that can be for outside */
    double most;                  /* of either: more than stacks have seen is time in the run queue, say */
};

/* The first of them; they are in order of process and key. */
static size_t first_of(const struct segments *segments)
{
    size_t low = 0, high = segments->functions->path_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct hp_found_path *path = &segments->functions->paths[middle];
        const bool is_before = path->pid != segments->pid ? path->pid < segments->pid : path->key < segments->key;
        *(is_before ? &low : &high) = is_before ? middle + 1 : middle;
    }
    return low;
}

static bool is_in(const struct segments *segments, size_t at)
{
    return at < segments->functions->path_count && segments->functions->paths[at].pid == segments->pid &&
           segments->functions->paths[at].key == segments->key;
}

static uint32_t cause_of(const struct segments *segments, const struct hp_found_path *path)
{
    return hp_path_cause(segments->functions->nodes[path->node].cause, segments->has_children);
}

static bool is_awaited(const struct segments *segments, const struct hp_found_path *path)
{
    return path->waited_ns > 0 && hp_path_is_for_waker(cause_of(segments, path));
}

/* The part of all waits that can be for work from outside that was idle, of the first thread. */
static double idle_part(const struct reading *reading)
{
    struct hp_site_waits waits = {0};
    const uint32_t outside = outside_key(reading);
    uint64_t ns = 0;
    if (reading->from->waits == NULL || outside == HP_PATH_OTHER)
        return 0;
    hp_waits_of_site(reading->from->waits, NULL, &waits);
    for (uint32_t cause = 0; cause < HP_WAIT_CAUSES; cause++)
        ns += hp_path_is_for_outside(hp_path_cause(cause, reading->has_children)) ? waits.by_cause[cause] : 0;
    return ns > 0 && reading->idle[outside].ns < ns ? (double)reading->idle[outside].ns / (double)ns : ns > 0;
}

/* Outside of all functions, without the time in which threads woke up. */
static double queued_for_cpu(const struct reading *reading)
{
    struct hp_site_waits waits = {0};
    double latency_ns = 0;
    if (reading->from->waits == NULL || reading->from->outside_cpu_ns <= 0)
        return 0;
    hp_waits_of_site(reading->from->waits, NULL, &waits);
    for (uint32_t number = 0; number < reading->counts.keys; number++)
        latency_ns += hp_run_ns(reading->from->profile->run, reading->keys[number].latency);
    const double queued_ns = (double)waits.by_cause[HP_WAIT_RUN_QUEUE] - latency_ns;
    return queued_ns > 0 ? queued_ns / reading->from->outside_cpu_ns : 0;
}

static void sum_segments(const struct reading *reading, uint32_t number, struct segments *ret_segments)
{
    const struct hp_function_profile *functions = reading->from->functions;
    const uint32_t pid = reading->session->header.pid;
    const bool is_open = reading->keys[number].kind == HP_PATH_KEY_SITE;
    *ret_segments = (struct segments){.functions = functions,
                                      .pid = pid,
                                      .key = is_open ? HP_PATH_OPEN_KEY : number,
                                      .most = MOST_SEEN / reading->from->profile->run->ns_per_tick,
                                      .has_children = reading->has_children,
                                      .idle_part = idle_part(reading)};
    for (size_t at = first_of(ret_segments); is_in(ret_segments, at); at++) {
        const struct hp_found_path *path = &functions->paths[at];
        ret_segments->worked_ns += (double)path->cpu_ns;
        ret_segments->queued_ns += (double)path->cpu_ns * reading->queued_for_cpu;
        *(is_awaited(ret_segments, path) ? &ret_segments->awaited_ns : &ret_segments->worked_ns) +=
            (double)path->waited_ns;
    }
    const double known_ns = hp_run_ns(reading->from->profile->run, reading->keys[number].known);
    const double unknown_ns = ret_segments->awaited_ns - known_ns;
    const double all_ns = ret_segments->worked_ns + (unknown_ns > 0 ? unknown_ns : 0);
    if (unknown_ns > LEAST_UNKNOWN * all_ns)
        ret_segments->unknown_part = unknown_ns / ret_segments->awaited_ns;
}

/* A function on the path, while it is added up; by its index in the profile, the last one being unknown code. */
struct found_sum {
    double ticks, idle, unknown, waited, by_child, by_message;
    double longest; /* of waits for one cause */
    uint32_t cause;
};

static void add_share(const struct reading *reading, const struct segments *segments,
                      const struct hp_found_path *path, struct found_sum *sums)
{
    const struct hp_function_profile *functions = segments->functions;
    struct found_sum *sum = &sums[path->function < functions->count ? path->function : functions->count];
    const bool awaits = is_awaited(segments, path);
    const uint32_t cause = cause_of(segments, path);
    const double all = (double)path->waited_ns * (awaits ? segments->unknown : segments->worked),
                 idle = hp_path_is_for_outside(cause) ? segments->idle_part * all : 0, waited = all - idle;
    const double ticks = (double)path->cpu_ns * segments->worked + waited;
    sum->ticks += ticks;
    sum->idle += idle;
    sum->unknown += awaits ? waited : 0;
    sum->by_child += awaits && cause == HP_WAIT_CHILD ? waited : 0;
    sum->by_message += awaits && hp_path_is_message(cause) ? waited : 0;
    sum->waited += awaits ? 0 : waited;
    if (!awaits && waited > sum->longest) {
        sum->longest = waited;
        sum->cause = cause;
    }
    reading->to->node_ns[path->node] += (uint64_t)(ticks * reading->from->profile->run->ns_per_tick);
}

static double rate(double ticks, double ns, double most)
{
    return ns <= 0 ? 0 : ticks / ns < most ? ticks / ns : most;
}

/*
 * Waits for unknown wakers are those that were recorded, or what probes saw and nobody recorded. Returns the time
 * that functions get; of the rest no stack is known.
 */
static struct hp_path_sum divide(const struct hp_path_sum *sum, struct segments *segments)
{
    const double ticks = (double)hp_not_negative(sum->ticks), recorded = (double)hp_not_negative(sum->more);
    const double all_ns = segments->worked_ns + segments->queued_ns + segments->awaited_ns * segments->unknown_part;
    double unknown = all_ns > 0 ? segments->awaited_ns * segments->unknown_part / all_ns * ticks : 0;
    if (segments->worked_ns + segments->awaited_ns < LEAST_SHARED_NS)
        return (struct hp_path_sum){0};
    if (unknown < recorded)
        unknown = recorded < ticks ? recorded : ticks;
    segments->worked = rate(ticks - unknown, segments->worked_ns + segments->queued_ns, segments->most);
    segments->unknown = rate(unknown, segments->awaited_ns, segments->most);
    return (struct hp_path_sum){(uint64_t)(segments->worked * (segments->worked_ns + segments->queued_ns)) +
                                    (uint64_t)(segments->unknown * segments->awaited_ns),
                                segments->awaited_ns > 0 ? hp_not_negative(sum->more) : 0};
}

static void share_out(const struct reading *reading, uint32_t number, struct found_sum *sums)
{
    struct hp_path_sum *sum = &reading->path->sums[number];
    struct segments segments;
    sum_segments(reading, number, &segments);
    const struct hp_path_sum shared = divide(sum, &segments);
    for (size_t at = first_of(&segments); shared.ticks > 0 && is_in(&segments, at); at++)
        add_share(reading, &segments, &segments.functions->paths[at], sums);
    reading->to->queued += shared.ticks > 0 ? (uint64_t)(segments.worked * segments.queued_ns) : 0;
    sum->ticks -= shared.ticks;
    sum->more -= shared.more;
}

/* `has_messages`: other processes of the run are at the other ends of its pipes and sockets. */
static bool add_found(const struct reading *reading, const struct found_sum *sum,
                      const struct hp_found_function *found, bool has_messages)
{
    struct hp_path_function function = {.found = found,
                                        .ticks = (uint64_t)sum->ticks,
                                        .unknown = (uint64_t)sum->unknown,
                                        .by_child = (uint64_t)sum->by_child,
                                        .by_message = has_messages ? (uint64_t)sum->by_message : 0};
    if (2 * sum->unknown > sum->ticks)
        function.time = HP_PATH_UNKNOWN;
    else if (2 * sum->waited > sum->ticks) {
        function.time = HP_PATH_WAITING;
        function.cause = hp_wait_cause_name(sum->cause);
    }
    return add_function(reading, &function);
}

/* What no stack is known of stays outside of all functions. */
static bool add_segments(const struct reading *reading)
{
    const struct hp_function_profile *functions = reading->from->functions;
    struct hp_run_path *to = reading->to;
    struct found_sum *sums = hp_arena_take_array(reading->arena, functions->count + 1, sizeof *sums);
    to->node_ns = hp_arena_take_array(reading->arena, functions->node_count + 1, sizeof *to->node_ns);
    if (sums == NULL || to->node_ns == NULL)
        return false;
    for (uint32_t number = 0; number < reading->counts.keys; number++) {
        const struct hp_path_key *key = &reading->keys[number];
        if (key->kind == HP_PATH_KEY_SEGMENT || (key->kind == HP_PATH_KEY_SITE && key->site == HP_SITE_ROOT))
            share_out(reading, number, sums);
    }
    const bool has_messages = message_ns(reading, NULL) > 0;
    bool is_added = true;
    for (size_t at = 0; at <= functions->count; at++)
        to->idle += (uint64_t)sums[at].idle;
    struct hp_path_idle *left = &reading->idle[outside_key(reading)];
    if (to->idle > 0) /* stacks say where it was */
        left->ns = 0;
    for (size_t at = 0; is_added && at <= functions->count; at++)
        is_added = add_found(reading, &sums[at], at < functions->count ? &functions->all[at] : NULL, has_messages);
    return is_added;
}

/* Segments are parts of the time outside of all functions. */
static void join_segments(const struct reading *reading)
{
    const uint32_t outside = outside_key(reading);
    for (uint32_t number = 0; number < reading->counts.keys; number++) {
        if (reading->keys[number].kind != HP_PATH_KEY_SEGMENT)
            continue;
        reading->path->sums[outside].ticks += reading->path->sums[number].ticks;
        reading->path->sums[outside].more += reading->path->sums[number].more;
        reading->keys[outside].known += reading->keys[number].known;
        reading->keys[outside].latency += reading->keys[number].latency;
        reading->path->sums[number] = (struct hp_path_sum){0};
    }
}

static bool add_row(const struct reading *reading, const struct hp_path_key *key, const struct hp_path_sum *sum)
{
    if (key->kind == HP_PATH_KEY_WAIT)
        return add_wait(reading, key, sum);
    if (key->kind != HP_PATH_KEY_SITE)
        return true;
    const struct hp_path_function function = judge(reading, key, sum);
    return add_function(reading, &function);
}

/* The part of the time between releases and running that woken threads were in the run queue. */
static double queued_part_of_waking(const struct reading *reading)
{
    double latency_ns = 0, queued_ns = 0;
    for (uint32_t number = 0; number < reading->counts.keys; number++) {
        const struct hp_path_key *key = &reading->keys[number];
        if (key->kind != HP_PATH_KEY_SITE || key->latency == 0)
            continue;
        latency_ns += hp_run_ns(reading->from->profile->run, key->latency);
        queued_ns += see(reading, site_of(reading, key), key).wake_queued_ns;
    }
    return latency_ns > 0 ? queued_ns / latency_ns : 0;
}

static bool add_fixed(const struct reading *reading)
{
    struct hp_run_path *to = reading->to;
    const uint64_t latency = hp_not_negative(reading->path->sums[HP_PATH_WAKE_UP].ticks);
    const uint64_t queued = (uint64_t)(queued_part_of_waking(reading) * (double)latency);
    to->queued += queued;
    to->waking = latency - queued;
    to->latency = latency;
    const struct hp_path_function rows[] = {
        {.time = HP_PATH_WAKING, .ticks = to->waking},
        {.time = HP_PATH_QUEUED, .ticks = to->queued},
        {.time = HP_PATH_REST, .ticks = hp_not_negative(reading->path->sums[HP_PATH_OTHER].ticks)},
        {.time = HP_PATH_IDLE, .ticks = to->idle}};
    bool is_added = true;
    for (size_t at = 0; is_added && at < sizeof rows / sizeof rows[0]; at++)
        is_added = add_function(reading, &rows[at]);
    return is_added;
}

static bool add_rows(const struct reading *reading)
{
    bool is_added = !is_unmeasured(reading) || add_segments(reading);
    join_segments(reading);
    for (uint32_t number = 0; is_added && number < reading->counts.keys; number++)
        is_added = add_row(reading, &reading->keys[number], &reading->path->sums[number]);
    return is_added && add_fixed(reading);
}

static bool read_keys(struct reading *reading)
{
    reading->keys = hp_arena_take_array(reading->arena, HP_PATH_KEYS, sizeof *reading->keys);
    reading->path = hp_arena_take(reading->arena, sizeof *reading->path);
    reading->idle = hp_arena_take_array(reading->arena, HP_PATH_KEYS, sizeof *reading->idle);
    const size_t found = reading->from->functions != NULL ? reading->from->functions->count + 1 : 0;
    reading->to->functions =
        hp_arena_take_array(reading->arena, HP_PATH_KEYS + found, sizeof *reading->to->functions);
    reading->to->waits = hp_arena_take_array(reading->arena, HP_PATH_KEYS, sizeof *reading->to->waits);
    if (reading->keys == NULL || reading->path == NULL || reading->idle == NULL || reading->to->functions == NULL ||
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

/* The part of waits for work from outside, beside work of other threads, that probes did not find too much. */
static double beside_part(const struct reading *reading, const struct hp_path_waiter *waiter)
{
    const struct hp_run *run = reading->from->profile->run;
    const struct hp_snapshot *session = waiter->session;
    struct hp_walk walk = {0};
    struct hp_path_idle_wait wait;
    double all_ns = hp_run_ns(run, session->now_ticks - session->header.clock_start.ticks), beside_ns = 0;
    while (hp_path_next_idle(waiter, &walk, &wait)) {
        all_ns -= (double)wait.ns;
        beside_ns += (double)wait.beside_ns;
    }
    const double most_ns = beside_ns > 0 ? hp_path_most_beside_ns(run, all_ns) : 0;
    return beside_ns > most_ns ? most_ns / beside_ns : 1;
}

/* Where the functions of the thread have their keys by then. */
static void find_idle(const struct reading *reading, const struct hp_thread *thread)
{
    const struct hp_path_waiter waiter = {reading->session, thread, reading->has_children};
    const double beside = beside_part(reading, &waiter);
    struct hp_walk walk = {0};
    struct hp_path_idle_wait wait;
    while (reading->from->waits != NULL && hp_path_next_idle(&waiter, &walk, &wait))
        for (uint32_t number = 0; number < reading->counts.keys; number++) {
            const uint64_t ns = wait.ns - (uint64_t)(beside * (double)wait.beside_ns);
            if (reading->keys[number].kind != HP_PATH_KEY_SITE || reading->keys[number].site != wait.site)
                continue;
            reading->idle[number].ns += ns;
            reading->idle[number].by_cause[wait.cause] += ns;
        }
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
    find_idle(reading, &thread);
    reading->queued_for_cpu = queued_for_cpu(reading);
    if (!add_rows(reading))
        return false;
    note_end(reading);
    struct hp_run_path *to = reading->to;
    to->is_followed = true;
    hp_path_sort(to);
    return to->end_waker != NULL;
}

void hp_path_sort(struct hp_run_path *path)
{
    hp_sort(path->functions, path->function_count, compare_functions);
    hp_sort(path->waits, path->wait_count, compare_waits);
}

bool hp_path_of_session(struct hp_arena *arena, const struct hp_path_sources *sources, size_t session,
                        struct hp_run_path *ret_path)
{
    const struct hp_snapshot *snapshot = sources->profile->run->sessions[session];
    struct reading reading = {.arena = arena,
                              .from = sources,
                              .session = snapshot,
                              .locks = hp_lock_process_of(sources->locks, snapshot->header.pid),
                              .has_children = hp_path_has_children(sources->profile->run, snapshot),
                              .to = ret_path};
    *ret_path = (struct hp_run_path){.session = session};
    return read_session(&reading);
}
