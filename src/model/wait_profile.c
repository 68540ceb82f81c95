/* What a run waited for. SPDX-License-Identifier: MIT */
#include "wait_profile.h"

#include <string.h>

#include "arena.h"
#include "arith.h"
#include "floors.h"
#include "sort.h"
#include "system_calls.h"
#include "text.h"
#include "time_range.h"
#include "wait_cause.h"

const char *hp_wait_cause_name(uint32_t cause)
{
    static const char *const names[HP_WAIT_CAUSES] = {
        [HP_WAIT_OTHER] = "other",     [HP_WAIT_RUN_QUEUE] = "run queue", [HP_WAIT_LOCK] = "lock",
        [HP_WAIT_SLEEP] = "sleep",     [HP_WAIT_POLL] = "poll",           [HP_WAIT_DISK] = "disk",
        [HP_WAIT_SOCKET] = "socket",   [HP_WAIT_PIPE] = "pipe",           [HP_WAIT_TERMINAL] = "terminal",
        [HP_WAIT_CHILD] = "child",     [HP_WAIT_SIGNAL] = "signal",       [HP_WAIT_FAULT] = "page fault",
        [HP_WAIT_STOPPED] = "stopped", [HP_WAIT_CONDITION] = "condition", [HP_WAIT_SEMAPHORE] = "semaphore",
        [HP_WAIT_BARRIER] = "barrier", [HP_WAIT_THREAD] = "thread",       [HP_WAIT_FUTEX] = "lock or condition",
        [HP_WAIT_CLIENT] = "client",
    };
    return cause < HP_WAIT_CAUSES ? names[cause] : "other";
}

uint32_t hp_wait_cause_named(const char *name, size_t length)
{
    for (uint32_t cause = 0; cause < HP_WAIT_CAUSES; cause++)
        if (strlen(hp_wait_cause_name(cause)) == length && memcmp(hp_wait_cause_name(cause), name, length) == 0)
            return cause;
    return HP_WAIT_OTHER;
}

bool hp_run_has_waits(const struct hp_run *run)
{
    struct hp_waits waits;
    for (size_t at = 0; at < run->count; at++)
        if (hp_snapshot_waits(run->sessions[at], &waits))
            return true;
    return false;
}

/* ---------------------------------------------------------------------------------------------- gather */

/*
 * Limit on the searches through the trees of all threads for the one with a node: a corrupt file may have many of
 * both.
 */
#define MOST_TREES UINT64_C(20000000)

/* A wait, and its place in the tree of the run. */
struct placed {
    const struct hp_site_sums *site;
    const struct hp_tree_node *node; /* NULL: unknown */
    uint32_t cause;
    uint64_t ns;
};

struct gathering {
    struct hp_arena *arena;
    const struct hp_profile *profile;
    struct hp_run_waits *waits;
    struct placed **placed; /* one per wait */
    uint64_t trees_left;
    size_t capacity;
};

const struct hp_site_sums *hp_wait_site(const struct hp_profile *profile, uint32_t session, uint32_t offset)
{
    struct hp_node node;
    if (offset == 0 || !hp_snapshot_node(profile->run->sessions[session], offset, &node) ||
        node.site == HP_SITE_ROOT)
        return NULL;
    return hp_profile_site(profile, session, node.site);
}

/* The last program of the process. */
static const char *program_of(const struct hp_run *run, uint32_t pid)
{
    const char *program = "";
    uint64_t latest = 0;
    for (size_t at = 0; at < run->count; at++) {
        const struct hp_snapshot *session = run->sessions[at];
        if (session->header.pid != pid || session->header.clock_start.ns < latest)
            continue;
        latest = session->header.clock_start.ns;
        program = hp_text_base_name(hp_snapshot_text(session, session->header.executable));
    }
    return program;
}

bool hp_wait_is_for_sender(int32_t call)
{
    const char *name = hp_system_call_name(call);
    return name == NULL || (strstr(name, "write") == NULL && !hp_text_begins(name, "send"));
}

/* False: no memory. */
static bool add_end(const struct gathering *gathering, uint32_t session, const struct hp_wait *wait,
                    struct hp_wait_sums *sums)
{
    const struct hp_run *run = gathering->profile->run;
    if (wait->peer == 0 || (wait->cause != HP_WAIT_PIPE && wait->cause != HP_WAIT_SOCKET))
        return true;
    struct hp_wait_end *end = hp_arena_take(gathering->arena, sizeof *end);
    if (end == NULL)
        return false;
    *end = (struct hp_wait_end){.pid = wait->peer,
                                .is_own = wait->peer == run->sessions[session]->header.pid,
                                .is_sender = hp_wait_is_for_sender(wait->call),
                                .program = program_of(run, wait->peer)};
    sums->end = end;
    return true;
}

/* False: no memory. */
static bool add_holder(const struct gathering *gathering, const struct hp_wait *wait, struct hp_wait_sums *sums)
{
    if (wait->cause != HP_WAIT_LOCK || wait->held_working + wait->held_waiting == 0)
        return true;
    struct hp_wait_holder *holder = hp_arena_take(gathering->arena, sizeof *holder);
    if (holder == NULL)
        return false;
    *holder = (struct hp_wait_holder){
        .tid = wait->peer,
        .name = hp_arena_copy(gathering->arena, wait->holder, strnlen(wait->holder, sizeof wait->holder)),
        .working = wait->held_working,
        .waiting = wait->held_waiting,
        .cause = wait->held_cause < HP_WAIT_CAUSES ? wait->held_cause : (uint32_t)HP_WAIT_OTHER};
    sums->holder = holder;
    return holder->name != NULL;
}

static bool add_wait(struct gathering *gathering, uint32_t session, const struct hp_wait *wait)
{
    struct hp_run_waits *waits = gathering->waits;
    struct hp_wait_sums *sums = hp_arena_take(gathering->arena, sizeof *sums);
    struct placed *placed = hp_arena_take(gathering->arena, sizeof *placed);
    if (sums == NULL || placed == NULL || waits->count == gathering->capacity)
        return sums != NULL && placed != NULL;
    *sums = (struct hp_wait_sums){
        .site = hp_wait_site(gathering->profile, session, wait->node),
        .cause = wait->cause < HP_WAIT_CAUSES ? wait->cause : (uint32_t)HP_WAIT_OTHER,
        .call = wait->call,
        .other = hp_wait_site(gathering->profile, session, wait->other),
        .what = wait->what[0] != '\0' ? hp_arena_copy(gathering->arena, wait->what, strlen(wait->what)) : "",
        .ns = wait->ns,
        .longest_ns = wait->ns,
        .beside_ns = wait->beside_ns < wait->ns ? wait->beside_ns : wait->ns,
        .probes = wait->probes,
    };
    if (!add_end(gathering, session, wait, sums) || !add_holder(gathering, wait, sums))
        return false;
    *placed = (struct placed){sums->site, NULL, sums->cause, sums->ns};
    if (sums->site != NULL)
        placed->node = hp_forest_find(&gathering->profile->forest, session, wait->node, &gathering->trees_left);
    gathering->placed[waits->count] = placed;
    waits->all[waits->count++] = sums;
    waits->waited_ns += wait->ns;
    waits->is_blind |= wait->cause == HP_WAIT_OTHER && wait->call < 0 && wait->ns > 0;
    return sums->what != NULL;
}

/* Reduces an entry of a session to the time range that the report is about. */
static void cut_wait(const struct hp_time_range_waits *range, uint32_t number, struct hp_wait *wait)
{
    const uint64_t whole = wait->ns;
    wait->ns = number < HP_AXIS_WAITS ? range->ns[number] : 0;
    wait->beside_ns = number < HP_AXIS_WAITS ? range->beside_ns[number] : 0;
    wait->probes = whole > 0 ? (uint32_t)((double)wait->probes * ((double)wait->ns / (double)whole)) : 0;
}

static void cut_sums(const struct hp_time_range_waits *range, struct hp_waits *sums)
{
    const double part = sums->watched_ns > 0 ? (double)range->watched_ns / (double)sums->watched_ns : 0;
    sums->probes = hp_reduced(sums->probes, part);
    sums->watcher_ns = hp_reduced(sums->watcher_ns, part);
    sums->watched_ns = range->watched_ns;
    sums->left_out_ns = range->left_out_ns;
}

static bool add_session(struct gathering *gathering, uint32_t session)
{
    const struct hp_snapshot *snapshot = gathering->profile->run->sessions[session];
    struct hp_run_waits *waits = gathering->waits;
    struct hp_waits sums = {0};
    struct hp_wait wait;
    struct hp_walk walk = {0};
    const struct hp_time_range *range = gathering->profile->run->range;
    const bool is_watched = hp_snapshot_waits(snapshot, &sums);
    if (is_watched && range != NULL)
        cut_sums(&range->waits[session], &sums);
    waits->unwatched += sums.unwatched;
    if (!is_watched)
        return true;
    const uint64_t before = waits->waited_ns;
    waits->sessions++;
    waits->probes += sums.probes;
    waits->watched_ns += sums.watched_ns;
    waits->left_out_ns += sums.left_out_ns;
    waits->waited_ns += sums.left_out_ns;
    waits->watcher_ns += sums.watcher_ns;
    if (sums.period_us > waits->period_us)
        waits->period_us = sums.period_us;
    while (hp_snapshot_next_wait(snapshot, &walk, &wait)) {
        if (range != NULL)
            cut_wait(&range->waits[session], walk.index, &wait);
        if (!add_wait(gathering, session, &wait))
            return false;
    }
    /* Threads that end between two samples are seen to have waited, but not for how long they were there. */
    if (waits->waited_ns - before > sums.watched_ns)
        waits->watched_ns += waits->waited_ns - before - sums.watched_ns;
    return true;
}

/* How many entries there can be, by what the sessions hold. */
static size_t count_waits(const struct hp_run *run)
{
    struct hp_wait wait;
    size_t count = 0;
    for (size_t at = 0; at < run->count; at++) {
        struct hp_walk walk = {0};
        while (hp_snapshot_next_wait(run->sessions[at], &walk, &wait))
            count++;
    }
    return count;
}

/* ----------------------------------------------------------------------------------------------- merge */

static uint64_t number_of(const struct hp_site_sums *site) { return site != NULL ? hp_site_number(site) + 1 : 0; }

/* Equal for entries of one row. */
static int compare_places(const void *a, const void *b)
{
    const struct hp_wait_sums *x = a, *y = b;
    int order = hp_by_number(number_of(x->site), number_of(y->site));
    if (order == 0)
        order = hp_by_number(x->cause, y->cause);
    if (order == 0)
        order = hp_by_number((uint64_t)(int64_t)x->call, (uint64_t)(int64_t)y->call);
    if (order == 0)
        order = hp_by_number(number_of(x->other), number_of(y->other));
    return order != 0 ? order : strcmp(x->what, y->what);
}

static int compare_times(const void *a, const void *b)
{
    const struct hp_wait_sums *x = a, *y = b;
    const int order = hp_by_number(y->ns, x->ns);
    return order != 0 ? order : compare_places(a, b);
}

/* Of several, that of the longest wait is named; the entries of one row come in no particular order. */
static void join(struct hp_wait_sums *sum, const struct hp_wait_sums *wait)
{
    const bool is_longer = wait->ns > sum->longest_ns;
    if (wait->end != NULL && (sum->end == NULL || is_longer))
        sum->end = wait->end;
    if (wait->holder != NULL && sum->holder != NULL) {
        const uint64_t working = sum->holder->working + wait->holder->working;
        const uint64_t waiting = sum->holder->waiting + wait->holder->waiting;
        if (is_longer)
            *sum->holder = *wait->holder;
        sum->holder->working = working;
        sum->holder->waiting = waiting;
    } else if (wait->holder != NULL) {
        sum->holder = wait->holder;
    }
    sum->longest_ns = is_longer ? wait->ns : sum->longest_ns;
}

static void merge(struct hp_run_waits *waits)
{
    size_t kept = 0;
    hp_sort(waits->all, waits->count, compare_places);
    for (size_t at = 0; at < waits->count; at++) {
        struct hp_wait_sums *wait = waits->all[at];
        if (kept > 0 && compare_places(waits->all[kept - 1], wait) == 0) {
            waits->all[kept - 1]->ns += wait->ns;
            waits->all[kept - 1]->beside_ns += wait->beside_ns;
            waits->all[kept - 1]->probes += wait->probes;
            join(waits->all[kept - 1], wait);
        } else {
            waits->all[kept++] = wait;
        }
    }
    waits->count = kept;
}

/* Entries of one site are adjacent: the index after the last of them. */
static size_t end_of_site(const struct hp_run_waits *waits, size_t at)
{
    const struct hp_site_sums *site = waits->all[at]->site;
    while (at < waits->count && waits->all[at]->site == site)
        at++;
    return at;
}

/* The parts of its waits that a function can have had. */
struct fitting {
    double queue, others;
};

/*
 * Each sample credits all waiting since the last one to the function that it finds. In a short run that can exceed
 * the function's time: the excess was elsewhere, but it is unknown where. Time in the run queue is taken first: a
 * thread is found where it waits, and was preempted where it computed.
 */
static struct fitting fit(struct hp_run_waits *waits, const struct hp_run *run, size_t from, size_t to)
{
    const struct hp_site_sums *site = waits->all[from]->site;
    double seen = 0, queued = 0;
    for (size_t at = from; at < to; at++) {
        seen += (double)waits->all[at]->ns;
        queued += waits->all[at]->cause == HP_WAIT_RUN_QUEUE ? (double)waits->all[at]->ns : 0;
    }
    const double most = site != NULL ? hp_run_ns(run, hp_sums_self(&site->sums)) : seen;
    if (seen <= most)
        return (struct fitting){1, 1};
    const double others = seen - queued < most ? seen - queued : most;
    const struct fitting fitting = {queued > 0 ? (most - others) / queued : 1,
                                    seen > queued ? others / (seen - queued) : 1};
    for (size_t at = from; at < to; at++) {
        struct hp_wait_sums *wait = waits->all[at];
        const uint64_t ns = wait->ns;
        const bool is_queue = wait->cause == HP_WAIT_RUN_QUEUE;
        wait->ns = hp_reduced(ns, is_queue ? fitting.queue : fitting.others);
        wait->beside_ns = hp_reduced(wait->beside_ns, is_queue ? fitting.queue : fitting.others);
        waits->misplaced_ns += ns - wait->ns;
        waits->misplaced_queue_ns += is_queue ? ns - wait->ns : 0;
    }
    return fitting;
}

static int compare_sites(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    return hp_by_number(number_of(x->site), number_of(y->site));
}

/* False: no memory. */
static bool add_to_node(const struct gathering *gathering, const struct placed *placed, struct fitting fitting)
{
    struct hp_node_waits **waits = placed->node != NULL ? &gathering->waits->nodes[placed->node->index] : NULL;
    const uint64_t ns = hp_reduced(placed->ns, placed->cause == HP_WAIT_RUN_QUEUE ? fitting.queue : fitting.others);
    if (waits == NULL)
        return true;
    if (*waits == NULL && (*waits = hp_arena_take(gathering->arena, sizeof **waits)) == NULL)
        return false;
    (*waits)->ns += ns;
    (*waits)->by_cause[placed->cause] += ns;
    return true;
}

/* Both `placed` and the merged entries are sorted by site. False: no memory. */
static bool fit_all(const struct gathering *gathering, size_t placed_count)
{
    struct hp_run_waits *waits = gathering->waits;
    size_t placed = 0;
    hp_sort(gathering->placed, placed_count, compare_sites);
    for (size_t at = 0, end; at < waits->count; at = end) {
        const struct hp_site_sums *site = waits->all[at]->site;
        end = end_of_site(waits, at);
        const struct fitting fitting = fit(waits, gathering->profile->run, at, end);
        for (; placed < placed_count && gathering->placed[placed]->site == site; placed++)
            if (!add_to_node(gathering, gathering->placed[placed], fitting))
                return false;
    }
    return true;
}

static uint64_t key_of(const struct hp_wait_sums *wait)
{
    uint64_t key = hp_floors_mix(HP_FLOOR_WAIT, number_of(wait->site));
    key = hp_floors_mix(hp_floors_mix(key, wait->cause), (uint64_t)(int64_t)wait->call);
    key = hp_floors_mix(key, number_of(wait->other));
    for (const char *at = wait->what; *at != '\0'; at++)
        key = hp_floors_mix(key, (unsigned char)*at);
    return key;
}

/* For paths, by cause. A wait that was once reported is in every later reading. */
static void keep_nodes(const struct gathering *gathering, struct hp_floors *floors)
{
    const struct hp_profile *profile = gathering->profile;
    for (size_t at = 0; at < profile->node_count; at++) {
        struct hp_node_waits *now = gathering->waits->nodes[at];
        const uint64_t key = hp_floors_mix(HP_FLOOR_WAIT_PATH, profile->nodes[at]->key);
        struct hp_node_waits *before =
            now != NULL ? hp_floors_find(floors, key, sizeof *before) : hp_floors_known(floors, key);
        if (before == NULL)
            continue;
        if (now == NULL) {
            gathering->waits->nodes[at] = before; /* it was seen at a place whose time is less than that now */
            continue;
        }
        now->ns = before->ns = 0;
        for (size_t cause = 0; cause < HP_WAIT_CAUSES; cause++) {
            hp_floor(&now->by_cause[cause], &before->by_cause[cause]);
            now->ns += now->by_cause[cause];
        }
        before->ns = now->ns;
    }
}

/* The excess of a function changes with the function's time. */
static void keep(const struct hp_run_waits *waits, struct hp_floors *floors)
{
    for (size_t at = 0; at < waits->count; at++) {
        struct hp_wait_sums *wait = waits->all[at];
        struct hp_wait_sums *before = hp_floors_find(floors, key_of(wait), sizeof *before);
        if (before == NULL)
            continue;
        hp_floor(&wait->ns, &before->ns);
        hp_floor(&wait->beside_ns, &before->beside_ns);
        hp_floor(&wait->probes, &before->probes);
    }
}

const struct hp_run_waits *hp_waits_of_run(struct hp_arena *arena, const struct hp_profile *profile)
{
    struct gathering gathering = {
        .arena = arena, .profile = profile, .capacity = count_waits(profile->run), .trees_left = MOST_TREES};
    gathering.waits = hp_arena_take(arena, sizeof *gathering.waits);
    if (gathering.waits == NULL)
        return NULL;
    gathering.waits->all = hp_arena_take_array(arena, gathering.capacity + 1, sizeof(void *));
    gathering.waits->nodes = hp_arena_take_array(arena, profile->node_count + 1, sizeof(void *));
    gathering.placed = hp_arena_take_array(arena, gathering.capacity + 1, sizeof(void *));
    if (gathering.waits->all == NULL || gathering.waits->nodes == NULL || gathering.placed == NULL)
        return NULL;
    for (uint32_t session = 0; session < profile->run->count; session++)
        if (!add_session(&gathering, session))
            return NULL;
    const size_t placed_count = gathering.waits->count;
    merge(gathering.waits);
    if (!fit_all(&gathering, placed_count))
        return NULL;
    if (profile->run->floors != NULL) {
        keep(gathering.waits, profile->run->floors);
        keep_nodes(&gathering, profile->run->floors);
    }
    hp_sort(gathering.waits->all, gathering.waits->count, compare_times);
    return gathering.waits;
}

void hp_wait_put_end(struct hp_text *text, const struct hp_wait_sums *wait)
{
    const struct hp_wait_end *end = wait->end;
    if (end == NULL)
        return;
    if (end->is_own) {
        hp_text_string(text, "within the process");
        return;
    }
    hp_text_string(text, wait->cause == HP_WAIT_SOCKET ? "with " : end->is_sender ? "from " : "to ");
    hp_text_string(text, end->program[0] != '\0' ? end->program : "another process");
}

const char *hp_wait_unwatched_reason(const struct hp_snapshot *session)
{
    static const char *const reasons[] = {
        [HP_UNWATCHED_BRIEF] = "it ended, or executed another program, before it was looked at",
        [HP_UNWATCHED_MANY] = "too many processes ran at the same time",
        [HP_UNWATCHED_ANOTHER] = "something else observes it, or it is in another pid namespace",
    };
    struct hp_waits waits = {0};
    const bool has_observer = hp_snapshot_waits(session, &waits);
    if (session->header.brief > 0)
        return reasons[HP_UNWATCHED_BRIEF];
    if (session->header.outside != 0)
        return "it has no session of its own";
    if ((has_observer && waits.probes > 0) || waits.why >= sizeof reasons / sizeof reasons[0])
        return NULL;
    return reasons[waits.why];
}

uint64_t hp_wait_idle_ns(const struct hp_wait_sums *wait)
{
    switch (hp_wait_idleness_with(wait->cause, wait->end != NULL && !wait->end->is_own)) {
    case HP_IDLE_ALWAYS:
        return wait->ns;
    case HP_IDLE_BESIDE_WORK:
        return wait->beside_ns;
    case HP_IDLE_NEVER:
        break;
    }
    /* Of the run queue, the time after an idle wait. */
    return wait->cause == HP_WAIT_RUN_QUEUE ? wait->beside_ns : 0;
}

void hp_waits_of_site(const struct hp_run_waits *waits, const struct hp_site_sums *site,
                      struct hp_site_waits *ret_waits)
{
    *ret_waits = (struct hp_site_waits){0};
    for (size_t at = 0; at < waits->count; at++) {
        const struct hp_wait_sums *wait = waits->all[at];
        if (wait->site != site || wait->ns == 0)
            continue;
        if (ret_waits->longest == NULL)
            ret_waits->longest = wait;
        ret_waits->ns += wait->ns;
        ret_waits->by_cause[wait->cause] += wait->ns;
        ret_waits->idle_ns += hp_wait_idle_ns(wait);
        ret_waits->idle_by_cause[wait->cause] += hp_wait_idle_ns(wait);
    }
}
