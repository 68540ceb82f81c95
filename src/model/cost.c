/* Estimates what measuring cost a run. SPDX-License-Identifier: MIT */
#include "cost.h"

#include <string.h>

#include "arena.h"
#include "arith.h"
#include "function_profile.h"
#include "object_layout.h"
#include "object_snapshot.h"
#include "sort.h"
#include "task_layout.h"
#include "verdict.h"

/*
 * Most of a sample's cost is in the kernel, and depends on the caches: at ten samples per millisecond the kernel's
 * data are still cached, at one they are only as far as the program left them there. The same holds for the
 * handler, which is timed. The kernel's cost was measured as a part of an interrupt, timed over closely spaced
 * ones, plus this many times the handler (docs/overhead.md).
 */
#define INTERRUPTS_OF_SAMPLE 0.8
#define HANDLERS_OF_SAMPLE 15.0
/*
 * If it was not measured, because the process was short or had timers only. Timer samples come with timer ticks
 * that occur anyway.
 */
#define NS_OF_INTERRUPT 4000.0
#define NS_OF_TIMER_SAMPLE 3000.0
/* The same for a context switch: perf stops and restarts the thread's clock. */
#define NS_OF_SWITCH 3200.0

/* A switch where `hotpath run` samples stacks from outside: 0.4 us if the CPU stays busy, 3 us if it goes idle. */
#define NS_OF_SAMPLED_SWITCH 1000.0
/* Blocks of a program are less often in the caches than the one that was measured. */
#define COLD_ALLOCS 1.2

/*
 * Starting in a process of a run. `hotpath run` measures how long loading the library takes if many processes were
 * too short for a session; else it is about this. A forked child has the library; a few pages are copied for it.
 */
#define NS_OF_LOADING 150000.0
#define NS_OF_FORK 40000.0

static double largest(double a, double b) { return a > b ? a : b; }
static double smallest(double a, double b) { return a < b ? a : b; }

/* More preemptions than one in so much CPU time: others want the CPUs, too. */
#define NS_BETWEEN_PREEMPTIONS 20e6

/* ----------------------------------------------------------------------------------------------------- zones */

/* A program hides a little more than was measured, in a short loop. */
#define HIDDEN_MORE 1.06

static double typical(const struct hp_run *run, double alone_ns)
{
    return hp_root(alone_ns * largest(alone_ns - HIDDEN_MORE * run->hidden_cost_ns, 0));
}

double hp_cost_of_zone(const struct hp_run *run) { return typical(run, run->zone_cost_ns); }
double hp_cost_of_function(const struct hp_run *run) { return typical(run, run->function_cost_ns); }

/* Where calls alone would take nearly all of the time, there is no work of the program to hide them behind. */
#define MUCH_OF_BUSY 0.85

static double timed_ns(const struct hp_run *run, const struct hp_thread_calls *calls, double busy_ns)
{
    const double usual =
        (double)calls->timed * hp_cost_of_zone(run) + (double)calls->functions_timed * hp_cost_of_function(run);
    const double alone =
        (double)calls->timed * run->zone_cost_ns + (double)calls->functions_timed * run->function_cost_ns;
    const double above = largest(alone - MUCH_OF_BUSY * busy_ns, 0), most = (1 - MUCH_OF_BUSY) * busy_ns;
    return busy_ns > 0 ? usual + (alone - usual) * smallest(above / most, 1) : usual;
}

static double counted_ns(const struct hp_run *run, const struct hp_thread_calls *calls)
{
    return (double)calls->counted * run->counted_cost_ns +
           (double)calls->functions_counted * run->function_counted_ns;
}

static double allocs_ns(const struct hp_run *run, const struct hp_snapshot *session, const struct hp_thread *thread)
{
    struct hp_alloc_thread alloc;
    if (!hp_snapshot_alloc_thread(session, thread, &alloc))
        return 0;
    return ((double)alloc.count + (double)alloc.freed_count) / 2 * run->alloc_cost_ns * COLD_ALLOCS;
}

static double samples_ns(const struct hp_snapshot *session, const struct hp_thread *thread)
{
    struct hp_cpu_thread cpu;
    if (!hp_snapshot_cpu_thread(session, thread, &cpu))
        return 0;
    const double interrupt = hp_snapshot_ns(session, session->header.interrupt_ticks);
    const double pause = hp_snapshot_ns(session, session->header.pause_ticks);
    const double by_perf = (double)cpu.perf_samples, all = (double)cpu.samples;
    return hp_snapshot_ns(session, cpu.spent_ticks) +
           by_perf * INTERRUPTS_OF_SAMPLE * (interrupt > 0 ? interrupt : NS_OF_INTERRUPT) +
           HANDLERS_OF_SAMPLE * hp_snapshot_ns(session, cpu.perf_ticks) +
           largest(all - by_perf, 0) * NS_OF_TIMER_SAMPLE +
           (double)cpu.perf_switches * (pause > 0 ? pause : NS_OF_SWITCH);
}

/* --------------------------------------------------------------------------------------------------- objects */

/* The number of events of a part, from its counters. */
typedef double events_of(const uint64_t *count);

static double updates(const uint64_t *count) { return (double)count[HP_VALUE_UPDATES]; }

static double tasks(const uint64_t *count)
{
    return (double)count[HP_TASK_CREATED] + (double)count[HP_TASK_READY] + (double)count[HP_TASK_CANCELLED];
}

/* If each moved one item. */
static double channel_changes(const uint64_t *count)
{
    return (double)count[HP_CHANNEL_SENT] + (double)count[HP_CHANNEL_RECEIVED] + (double)count[HP_CHANNEL_REFUSED] +
           (double)count[HP_CHANNEL_DROPPED] +
           2 * ((double)count[HP_CHANNEL_FULL_WAITS] + (double)count[HP_CHANNEL_EMPTY_WAITS]);
}

static double transfer_changes(const uint64_t *count)
{
    return 2 * ((double)count[HP_CHANNEL_SENT] + (double)count[HP_CHANNEL_RECEIVED]);
}

static double stream_changes(const uint64_t *count) { return 2 * (double)count[HP_STREAM_GAPS]; }

static double loop_changes(const uint64_t *count)
{
    return (double)count[HP_LOOP_TURNS] + (double)count[HP_LOOP_WAITS];
}

/*
 * What one event costs, in zones: docs/overhead.md. Polls of tasks are zones, and awaits are part of what tasks
 * cost. An event of channels, streams and loops is a change of the part, which counts them in `sequence`, twice.
 */
static const struct object_price {
    const char *kind;
    bool is_by_changes;
    events_of *events; /* by changes: about how many there are */
    double zones;
} prices[] = {
    {"value", false, updates, 1.0},           {"count", false, updates, 1.0},
    {"gauge", false, updates, 1.3},           {"task", false, tasks, 1.2},
    {"channel", true, channel_changes, 0.65}, {"stream", true, stream_changes, 0.8},
    {"loop", true, loop_changes, 0.85},       {"pipe", true, transfer_changes, 1.3},
    {"queue", true, transfer_changes, 1.3},   {"messages", true, transfer_changes, 1.3},
};

static const struct object_price *price_of(const struct hp_snapshot *session, uint32_t offset)
{
    struct hp_kind kind;
    if (!hp_snapshot_kind(session, offset, &kind))
        return NULL;
    const char *name = hp_snapshot_text(session, kind.name);
    for (size_t at = 0; name != NULL && at < sizeof prices / sizeof prices[0]; at++)
        if (strcmp(name, prices[at].kind) == 0)
            return &prices[at];
    return NULL;
}

/*
 * `sequence` begins again after 2^31 changes; counters tell how often it did. A channel that moves several items at
 * once has counters that do not, unless by chance.
 */
static double changes_of(const struct hp_part *part, double about)
{
    const uint32_t count = part->sequence / 2;
    const double counted = (double)count, turn = (double)(UINT32_C(1) << 31);
    const double turns = about > counted ? (double)(uint64_t)((about - counted) / turn + 0.5) : 0;
    const double all = counted + turns * turn;
    return largest(all - about, about - all) < about / 16 ? all : counted;
}

/* What objects cost a thread. */
struct object_cost {
    uint32_t thread; /* offset of its record */
    double ns;
};

struct object_costs {
    struct object_cost **parts; /* sorted by thread */
    size_t count, room;
};

/* False: no memory. */
static bool has_room(struct hp_arena *arena, struct object_costs *costs)
{
    if (costs->count < costs->room)
        return true;
    const size_t room = costs->room > 0 ? 2 * costs->room : 64;
    struct object_cost **parts = hp_arena_take_array(arena, room, sizeof(void *));
    if (parts == NULL)
        return false;
    if (costs->count > 0)
        memcpy(parts, costs->parts, costs->count * sizeof(void *));
    costs->parts = parts;
    costs->room = room;
    return true;
}

static void add_part(struct hp_arena *arena, struct object_costs *costs, uint32_t thread, double ns)
{
    struct object_cost *cost = ns > 0 && has_room(arena, costs) ? hp_arena_take(arena, sizeof *cost) : NULL;
    if (cost == NULL)
        return;
    *cost = (struct object_cost){thread, ns};
    costs->parts[costs->count++] = cost;
}

static int by_thread(const void *a, const void *b)
{
    return hp_by_number(((const struct object_cost *)a)->thread, ((const struct object_cost *)b)->thread);
}

/* Parts of earlier instances count, too: what they cost is spent. */
static struct object_costs object_costs_of(struct hp_arena *arena, const struct hp_run *run, uint32_t index)
{
    const struct hp_snapshot *session = run->sessions[index];
    struct object_costs costs = {0};
    struct hp_walk objects = {0};
    struct hp_object object;
    const double zone_ns = hp_cost_of_zone(run);
    while (hp_snapshot_next_object(session, &objects, &object)) {
        struct hp_walk parts = {0};
        struct hp_instance_part part;
        const struct object_price *price = price_of(session, object.kind);
        while (price != NULL && hp_snapshot_next_part(session, &object, &parts, &part)) {
            const double about = price->events(part.part.count);
            const double events = price->is_by_changes ? changes_of(&part.part, about) : about;
            add_part(arena, &costs, part.part.thread, events * price->zones * zone_ns);
        }
    }
    hp_sort(costs.parts, costs.count, by_thread);
    return costs;
}

static double objects_ns(const struct object_costs *costs, uint32_t thread)
{
    size_t low = 0, high = costs->count;
    double ns = 0;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (costs->parts[middle]->thread < thread)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < costs->count && costs->parts[low]->thread == thread; low++)
        ns += costs->parts[low]->ns;
    return ns;
}

/* --------------------------------------------------------------------------------------------------- threads */

/* Upper bound of the time that a thread was on a CPU. */
static double busy_ns(const struct hp_snapshot *session, const struct hp_thread *thread)
{
    struct hp_cpu_thread cpu;
    const double elapsed = hp_snapshot_ns(session, hp_snapshot_elapsed(session));
    const double used = session->header.used_ns > 0 ? (double)session->header.used_ns : elapsed;
    if (!hp_snapshot_cpu_thread(session, thread, &cpu))
        return smallest(elapsed, used);
    return smallest(elapsed, (double)cpu.user_ns + (double)cpu.kernel_ns);
}

/*
 * Counting a call depends on nothing: while the program waits for memory or for a long computation, the CPU counts
 * in parallel at no cost. It can hide at most as much as the program itself takes.
 */
static double thread_ns(const struct hp_profile *profile, uint32_t index, const struct object_costs *objects,
                        uint32_t offset, const struct hp_thread *thread, bool is_least)
{
    const struct hp_snapshot *session = profile->run->sessions[index];
    const struct hp_thread_tree *tree = hp_forest_tree(&profile->forest, index, offset);
    const struct hp_thread_calls *calls = tree != NULL ? &tree->calls : NULL;
    const double counted = calls != NULL ? counted_ns(profile->run, calls) : 0;
    const double others = (calls != NULL ? timed_ns(profile->run, calls, busy_ns(session, thread)) : 0) +
                          objects_ns(objects, offset) + allocs_ns(profile->run, session, thread) +
                          samples_ns(session, thread) +
                          hp_snapshot_ns(session, thread->slow_ticks) * HP_SLOW_PERIOD;
    const double own = largest(busy_ns(session, thread) - others - counted, 0);
    return others + (is_least ? largest(counted - own, 0) : counted);
}

/* Cost outside any thread record: for threads without a record, and of the observer. */
static double others_ns(const struct hp_run *run, const struct hp_snapshot *session)
{
    struct hp_waits waits;
    const double late = (double)session->header.late_count + (double)session->header.late_frees;
    const double watching = hp_snapshot_waits(session, &waits) ? (double)waits.watcher_ns : 0;
    return late / 2 * run->alloc_cost_ns * COLD_ALLOCS + watching;
}

static double loading_ns(const struct hp_run *run)
{
    double measured = 0;
    for (size_t at = 0; at < run->count; at++)
        measured = largest(measured, (double)run->sessions[at]->header.loading_ns);
    return measured > 0 ? measured : NS_OF_LOADING;
}

/* Processes into which nothing was loaded cost nothing to start. */
static double start_ns(const struct hp_run *run, const struct hp_header *header)
{
    if (hp_run_counts_instructions(run)) /* of zones alone */
        return 0;
    if (header->brief > 0)
        return header->brief * (header->exec_count > 0 ? loading_ns(run) : NS_OF_FORK);
    if (header->outside != 0 || !(header->features & HP_FEATURE_RUN))
        return 0;
    return loading_ns(run) + (double)header->session_ns;
}

/* `hotpath run` samples stacks by an event of perf that all threads have: it makes their switches slower. */
static double switches_ns(const struct hp_run *run, const struct hp_function_profile *functions)
{
    double switches = 0;
    for (size_t at = 0; at < run->count; at++)
        switches += (double)run->sessions[at]->header.switches;
    return functions != NULL && functions->counts.source == HP_STACKS_BY_PERF ? switches * NS_OF_SAMPLED_SWITCH : 0;
}

/*
 * CPU time that stacks found, and what is not on stacks: loading and switching are the work of the kernel and of
 * the dynamic linker. A few samples would say too little.
 */
static double found_ns(const struct hp_run *run, const struct hp_function_profile *functions)
{
    double own = 0;
    if (functions == NULL || hp_run_counts_instructions(run) ||
        (double)functions->counts.samples < HP_VERDICT_LEAST_SAMPLES)
        return 0;
    for (size_t at = 0; at < run->count; at++)
        own += start_ns(run, &run->sessions[at]->header) - (double)run->sessions[at]->header.session_ns;
    return (double)functions->own_ns + own + switches_ns(run, functions);
}

/* ------------------------------------------------------------------------------------------------------ the run */

/* The CPU time of a process in its session; 0: unknown. */
static double used_in(const struct hp_header *header)
{
    const bool is_with_startup = header->features & HP_FEATURE_RUN && header->exec_count == 0;
    const double before = is_with_startup ? (double)header->cpu_start_ns : 0;
    if (header->used_ns > 0)
        return (double)header->used_ns + before;
    return header->features & HP_FEATURE_CPU ? (double)hp_less(header->cpu_latest_ns, header->cpu_start_ns) + before
                                             : 0;
}

/* What threads noticed counts for sessions that have not ended. */
static double preempted_in(const struct hp_snapshot *session)
{
    struct hp_walk threads = {0};
    struct hp_thread thread;
    struct hp_cpu_thread cpu;
    double preempted = 0;
    while (session->header.preempted == 0 && hp_snapshot_next_thread(session, &threads, &thread))
        if (hp_snapshot_cpu_thread(session, &thread, &cpu))
            preempted += (double)cpu.preempted;
    return session->header.preempted > 0 ? (double)session->header.preempted : preempted;
}

struct use {
    double cpu_ns;       /* of all processes; 0: unknown */
    bool are_cpus_taken; /* threads often had to give up their CPUs */
};

static struct use use_of(const struct hp_run *run)
{
    double used = 0, preempted = 0;
    if (hp_run_counts_instructions(run))
        return (struct use){.cpu_ns = 0};
    for (size_t at = 0; at < run->count; at++) {
        const double ns = used_in(&run->sessions[at]->header);
        if (ns == 0 && run->sessions[at]->header.outside == 0)
            return (struct use){.cpu_ns = 0};
        used += ns;
        preempted += preempted_in(run->sessions[at]);
    }
    return (struct use){used, preempted * NS_BETWEEN_PREEMPTIONS > used};
}

/* What measuring cost the threads. */
struct taken {
    double all, busiest;
    double others; /* in addition to the threads */
};

static struct taken taken_in(const struct hp_profile *profile, uint32_t index, const struct object_costs *objects,
                             bool is_least)
{
    const struct hp_snapshot *session = profile->run->sessions[index];
    struct taken taken = {.others = others_ns(profile->run, session)};
    struct hp_walk threads = {0};
    struct hp_thread thread;
    while (hp_snapshot_next_thread(session, &threads, &thread)) {
        const double ns = thread_ns(profile, index, objects, threads.offset, &thread, is_least);
        taken.all += ns;
        taken.busiest = largest(taken.busiest, ns);
    }
    taken.all += start_ns(profile->run, &session->header);
    taken.busiest += start_ns(profile->run, &session->header);
    return taken;
}

/* All sessions. */
struct taken_in_run {
    double all, others, busiest, sum_of_busiest;
    double elapsed; /* ticks of all sessions */
};

static struct taken_in_run take_all(struct hp_arena *arena, const struct hp_profile *profile,
                                    const struct hp_function_profile *functions, bool is_least)
{
    const struct hp_run *run = profile->run;
    struct taken_in_run sums = {.all = switches_ns(run, functions)};
    for (uint32_t at = 0; at < run->count; at++) {
        const struct object_costs objects = object_costs_of(arena, run, at);
        const struct taken taken = taken_in(profile, at, &objects, is_least);
        sums.all += taken.all;
        sums.others += taken.others;
        sums.busiest = largest(sums.busiest, taken.busiest);
        sums.sum_of_busiest += taken.busiest;
        sums.elapsed += (double)hp_snapshot_elapsed(run->sessions[at]);
    }
    return sums;
}

/*
 * Threads measure in parallel, so the run is delayed by the busiest thread, or by the sum divided over the cores,
 * whichever is larger. But threads may also wait for each other, and then delays add up: how many ran at once,
 * where that is known, tells. For processes it is not known: there delays add up as the times do, and the run loses
 * the share that its processes lose on average.
 */
static double delay_ns(const struct hp_run *run, const struct taken_in_run *taken, const struct use *use)
{
    const double cores = run->sessions[0]->header.cores > 0 ? run->sessions[0]->header.cores : 1;
    const double elapsed = (double)hp_run_elapsed_ns(run);
    const double in_turn =
        taken->elapsed > 0 ? taken->sum_of_busiest * ((double)run->elapsed_ticks / taken->elapsed) : 0;
    const double at_once = use->cpu_ns > 0 && elapsed > 0 ? largest(use->cpu_ns / elapsed, 1) : 0;
    const double waiting = at_once > 0 ? taken->all / at_once : 0;
    return largest(largest((taken->all + taken->others) / cores, taken->busiest), largest(in_turn, waiting));
}

static double part_of(double part, double whole) { return whole > 0 ? smallest(part / whole, 1) : 0; }

/* The share for the CPU time, or for the elapsed time. */
static double share(const struct hp_run *run, const struct taken_in_run *taken, const struct use *use,
                    const struct hp_function_profile *functions)
{
    const double elapsed = (double)hp_run_elapsed_ns(run), found = found_ns(run, functions);
    if (use->are_cpus_taken)
        return part_of(largest(taken->all, found), use->cpu_ns);
    const double at_once = found > 0 && elapsed > 0 ? largest((double)functions->cpu_ns / elapsed, 1) : 1;
    return part_of(largest(delay_ns(run, taken, use), found / at_once), elapsed);
}

struct hp_cost hp_cost_of(struct hp_arena *arena, const struct hp_profile *profile,
                          const struct hp_function_profile *functions)
{
    const struct hp_run *run = profile->run;
    if (hp_run_counts_instructions(run) && !hp_run_is_counted_by_cpu(run)) /* ours are left out */
        return (struct hp_cost){.most = 0};
    const struct use use = use_of(run);
    const struct taken_in_run most = take_all(arena, profile, functions, false),
                              least = take_all(arena, profile, functions, true);
    return (struct hp_cost){.most = share(run, &most, &use, functions),
                            .least = share(run, &least, &use, functions),
                            .cpu_ns = largest(most.all, found_ns(run, functions)),
                            .is_of_cpu = use.are_cpus_taken};
}

/* ------------------------------------------------------------------------------------------------- one function */

static double timed_calls(const struct hp_tree_node *node)
{
    return (double)hp_less(node->sums.calls, node->sums.untimed);
}

static double cost_of_call(const struct hp_run *run, const struct hp_tree_node *node)
{
    return node->site->is_by_compiler ? hp_cost_of_function(run) : hp_cost_of_zone(run);
}

double hp_cost_in_own_time(const struct hp_profile *profile, const struct hp_site_sums *site)
{
    const struct hp_run *run = profile->run;
    const double inner = part_of(run->zone_inner_ns, run->zone_cost_ns);
    double ns = 0;
    for (size_t at = 0; at < profile->forest.node_count; at++) {
        const struct hp_tree_node *node = profile->forest.nodes[at];
        if (node->site == site)
            ns += timed_calls(node) * cost_of_call(run, node) * inner;
        if (node->parent != NULL && node->parent->site == site)
            ns += timed_calls(node) * cost_of_call(run, node) * (1 - inner);
    }
    return ns;
}
