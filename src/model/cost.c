/* Estimates what measuring cost a run. SPDX-License-Identifier: MIT */
#include "cost.h"

#include "function_profile.h"
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

/*
 * Starting in a process of a run. `hotpath run` measures how long loading the library takes if many processes were
 * too short for a session; else it is about this. A forked child has the library; a few pages are copied for it.
 */
#define NS_OF_LOADING 150000.0
#define NS_OF_FORK 40000.0

static double largest(double a, double b) { return a > b ? a : b; }
static double smallest(double a, double b) { return a < b ? a : b; }

static double timed_ns(const struct hp_run *run, const struct hp_thread_calls *calls)
{
    return (double)calls->timed * run->zone_cost_ns + (double)calls->functions_timed * run->function_cost_ns;
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
    return ((double)alloc.count + (double)alloc.freed_count) / 2 * run->alloc_cost_ns;
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

/* Upper bound of the time that a thread was on a CPU. */
static double busy_ns(const struct hp_snapshot *session, const struct hp_thread *thread)
{
    struct hp_cpu_thread cpu;
    const double elapsed = hp_snapshot_ns(session, hp_snapshot_elapsed(session));
    if (!hp_snapshot_cpu_thread(session, thread, &cpu))
        return elapsed;
    return smallest(elapsed, (double)cpu.user_ns + (double)cpu.kernel_ns);
}

/*
 * Counting a call depends on nothing: while the program waits for memory or for a long computation, the CPU counts
 * in parallel at no cost. It can hide at most as much as the program itself takes.
 */
static double thread_ns(const struct hp_profile *profile, uint32_t index, uint32_t offset,
                        const struct hp_thread *thread, bool is_least)
{
    const struct hp_snapshot *session = profile->run->sessions[index];
    const struct hp_thread_tree *tree = hp_forest_tree(&profile->forest, index, offset);
    const struct hp_thread_calls *calls = tree != NULL ? &tree->calls : NULL;
    const double counted = calls != NULL ? counted_ns(profile->run, calls) : 0;
    const double others = (calls != NULL ? timed_ns(profile->run, calls) : 0) +
                          allocs_ns(profile->run, session, thread) + samples_ns(session, thread) +
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
    return late / 2 * run->alloc_cost_ns + watching;
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
    if (header->brief > 0)
        return header->brief * (header->exec_count > 0 ? loading_ns(run) : NS_OF_FORK);
    if (header->outside != 0 || !(header->features & HP_FEATURE_RUN))
        return 0;
    return loading_ns(run) + (double)header->session_ns;
}

/*
 * What stacks found, and what is not on stacks: loading is the work of the kernel and of the dynamic linker. A few
 * samples would say too little.
 */
static double found_ns(const struct hp_run *run, const struct hp_function_profile *functions)
{
    const double elapsed = (double)hp_run_elapsed_ns(run);
    double own = 0;
    if (functions == NULL || (double)functions->samples < HP_VERDICT_LEAST_SAMPLES || elapsed <= 0)
        return 0;
    for (size_t at = 0; at < run->count; at++)
        own += start_ns(run, &run->sessions[at]->header) - (double)run->sessions[at]->header.session_ns;
    return ((double)functions->own_ns + own) / largest((double)functions->cpu_ns / elapsed, 1);
}

/* How many CPUs the run used at a time, on average; 0: unknown. */
static double used_at_once(const struct hp_run *run)
{
    double used = 0;
    for (size_t at = 0; at < run->count; at++) {
        const struct hp_header *header = &run->sessions[at]->header;
        if (!(header->features & HP_FEATURE_CPU) || header->cpu_latest_ns < header->cpu_start_ns)
            return 0;
        used += (double)(header->cpu_latest_ns - header->cpu_start_ns);
    }
    const double elapsed = hp_run_ns(run, run->elapsed_ticks);
    return elapsed > 0 ? largest(used / elapsed, 1) : 0;
}

/* What measuring cost the threads. */
struct taken {
    double all, busiest;
    double others; /* in addition to the threads */
};

static struct taken taken_in(const struct hp_profile *profile, uint32_t index, bool is_least)
{
    const struct hp_snapshot *session = profile->run->sessions[index];
    struct taken taken = {.others = others_ns(profile->run, session)};
    struct hp_walk threads = {0};
    struct hp_thread thread;
    while (hp_snapshot_next_thread(session, &threads, &thread)) {
        const double ns = thread_ns(profile, index, threads.offset, &thread, is_least);
        taken.all += ns;
        taken.busiest = largest(taken.busiest, ns);
    }
    taken.all += start_ns(profile->run, &session->header);
    taken.busiest += start_ns(profile->run, &session->header);
    return taken;
}

/*
 * Threads measure in parallel, so the run is delayed by the busiest thread, or by the sum divided over the cores,
 * whichever is larger. But threads may also wait for each other, and then delays add up: how many ran at once,
 * where that is known, tells. For processes it is not known: there delays add up as the times do, and the run loses
 * the share that its processes lose on average.
 */
static double delay_ns(const struct hp_profile *profile, bool is_least)
{
    const struct hp_run *run = profile->run;
    const double cores = run->sessions[0]->header.cores > 0 ? run->sessions[0]->header.cores : 1;
    const double at_once = used_at_once(run);
    double all = 0, others = 0, busiest = 0, sum_of_busiest = 0, elapsed = 0;
    for (uint32_t at = 0; at < run->count; at++) {
        const struct taken taken = taken_in(profile, at, is_least);
        all += taken.all;
        others += taken.others;
        busiest = largest(busiest, taken.busiest);
        sum_of_busiest += taken.busiest;
        elapsed += (double)hp_snapshot_elapsed(run->sessions[at]);
    }
    const double in_turn = elapsed > 0 ? sum_of_busiest * ((double)run->elapsed_ticks / elapsed) : 0;
    const double waiting = at_once > 0 ? all / at_once : 0;
    return largest(largest((all + others) / cores, busiest), largest(in_turn, waiting));
}

struct hp_cost hp_cost_of(const struct hp_profile *profile, const struct hp_function_profile *functions)
{
    const double found = found_ns(profile->run, functions);
    return (struct hp_cost){.most_ns = largest(delay_ns(profile, false), found),
                            .least_ns = largest(delay_ns(profile, true), found)};
}
