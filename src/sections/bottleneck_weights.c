/* Collects what is known of each function, and sorts them by time. SPDX-License-Identifier: MIT */
#include "bottleneck.h"

#include <string.h>

#include "arena.h"
#include "shares.h"
#include "sort.h"
#include "system_calls.h"
#include "utf8.h"

#define SECOND 1e9

/* CPU timers fire with the kernel's tick, whatever their period; most kernels have one per 4 ms. */
#define TIMER_RATE 250.0

/* Clocks give the total CPU time, samples divide it: without samples nothing is known of a function. */
static bool has_samples(const struct hp_cpu *cpu)
{
    const double due = (double)cpu->sampled_ns / SECOND * cpu->rate;
    return (double)cpu->total.samples >= HP_VERDICT_LEAST_SAMPLES || due < 2 * HP_VERDICT_LEAST_SAMPLES;
}

/* NULL: no memory. */
const char *hp_bottlenecks_keep(const struct hp_bottlenecks *view, const struct hp_text *line)
{
    return hp_arena_copy(view->results->model->arena, line->bytes, line->length);
}

/* ------------------------------------------------------------------------------------------- waiting */

/* Causes that need no further detail: the system call would add nothing. */
static bool is_plain(uint32_t cause)
{
    switch (cause) {
    case HP_WAIT_SLEEP:
    case HP_WAIT_RUN_QUEUE:
    case HP_WAIT_CONDITION:
    case HP_WAIT_SEMAPHORE:
    case HP_WAIT_BARRIER:
    case HP_WAIT_THREAD:
    case HP_WAIT_FUTEX:
        return true;
    default:
        return false;
    }
}

/*
 * "sleep", "lock held in update", "lock: futex", "disk: /data/x.db". The numbers of unnamed pipes and sockets are
 * left out, since they tell users nothing.
 */
const char *hp_bottleneck_name_cause(const struct hp_bottlenecks *view, const struct hp_wait_sums *wait)
{
    char bytes[HP_BOTTLENECK_LINE_BYTES];
    struct hp_text line;
    const bool has_name = wait->what[0] != '\0' && strstr(wait->what, ":[") == NULL;
    const char *detail = has_name ? wait->what : hp_system_call_name(wait->call);
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_string(&line, hp_wait_cause_name(wait->cause));
    if (wait->other != NULL) {
        hp_text_string(&line, wait->cause == HP_WAIT_LOCK ? " held in " : " in ");
        hp_bottleneck_put_name(&line, wait->other);
    } else if (!is_plain(wait->cause) && detail != NULL) {
        hp_text_string(&line, ": ");
        hp_utf8_put_safe(&line, detail, strlen(detail));
    }
    return hp_bottlenecks_keep(view, &line);
}

/* The sum per cause counts, not one long wait. */
static uint32_t largest_of(const uint64_t by_cause[HP_WAIT_CAUSES], bool has_queue)
{
    uint32_t largest = 0;
    for (uint32_t cause = 1; cause < HP_WAIT_CAUSES; cause++)
        if (by_cause[cause] > by_cause[largest] && (has_queue || cause != HP_WAIT_RUN_QUEUE))
            largest = cause;
    return largest;
}

/* For an idle function, among idle waits; for others, idle waits do not count. */
uint32_t hp_bottleneck_largest_cause(const struct hp_site_waits *waits, bool has_queue, bool is_idle)
{
    uint64_t by_cause[HP_WAIT_CAUSES];
    for (uint32_t cause = 0; cause < HP_WAIT_CAUSES; cause++)
        by_cause[cause] =
            is_idle ? waits->idle_by_cause[cause] : waits->by_cause[cause] - waits->idle_by_cause[cause];
    const uint32_t largest = largest_of(by_cause, has_queue);
    return by_cause[largest] > 0 ? largest : largest_of(waits->by_cause, has_queue);
}

/* The longest wait of that cause gives its name, and the sum of all of them its time. False: no memory. */
static bool find_cause(const struct hp_bottlenecks *view, struct hp_bottleneck *entry,
                       const struct hp_site_waits *waits)
{
    /* A function that waits for something is not starved: its run queue time comes on top. */
    const enum hp_verdict verdict = entry->judgement.verdict;
    const bool has_queue = verdict != HP_VERDICT_WAITING && verdict != HP_VERDICT_IDLE;
    const uint32_t cause = hp_bottleneck_largest_cause(waits, has_queue, verdict == HP_VERDICT_IDLE);
    if (view->waits == NULL || waits->by_cause[cause] == 0)
        return true;
    for (size_t at = 0; at < view->waits->count; at++) {
        const struct hp_wait_sums *wait = view->waits->all[at];
        if (wait->site != entry->site || wait->cause != cause)
            continue;
        entry->probes += wait->probes;
        if (entry->cause == NULL && (entry->cause = hp_bottleneck_name_cause(view, wait)) == NULL)
            return false;
    }
    entry->cause_ns = (double)waits->by_cause[cause];
    return true;
}

/* ------------------------------------------------------------------------------------------- entries */

/* Observations per second of a function that is always running. CPU samples are more frequent than wait samples. */
static double hp_bottlenecks_observations(const struct hp_bottlenecks *view)
{
    if (view->cpu != NULL) {
        const double rate = view->cpu->rate > 0 ? (double)view->cpu->rate : hp_cpu_achieved_rate(view->cpu);
        return view->cpu->has_timers && rate > TIMER_RATE ? TIMER_RATE : rate;
    }
    return view->waits != NULL && view->waits->watched_ns > 0
               ? (double)view->waits->probes * SECOND / (double)view->waits->watched_ns
               : 0;
}

/* Whether a share of its time is meaningful. */
bool hp_bottleneck_is_long_enough(const struct hp_bottleneck *entry)
{
    return entry->wall_ns > 0 && entry->evidence.samples_due >= HP_VERDICT_LEAST_SAMPLES;
}

/* Its self time is extrapolated from timed calls. */
bool hp_bottleneck_is_scaled(const struct hp_site_sums *site)
{
    return site->sums.untimed > 0 || site->is_self_scaled;
}

static bool weigh(const struct hp_bottlenecks *view, struct hp_bottleneck *entry, size_t site)
{
    struct hp_evidence *evidence = &entry->evidence;
    struct hp_site_waits waits = {0};
    entry->site = view->results->model->profile->sites[site];
    entry->wall_ns = hp_run_ns(&view->results->model->run, hp_sums_self(&entry->site->sums));
    entry->cpu = view->cpu != NULL ? &view->cpu->sites[site].own : NULL;
    if (view->allocs != NULL)
        hp_allocs_of_site(entry->site, &entry->allocs);
    if (view->waits != NULL)
        hp_waits_of_site(view->waits, entry->site, &waits);
    *evidence = (struct hp_evidence){
        .wall_ns = entry->wall_ns,
        .is_wall_scaled = hp_bottleneck_is_scaled(entry->site),
        .samples_due = entry->wall_ns / SECOND * view->observations,
        .has_cpu = view->cpu != NULL,
        .cpu_ns = entry->cpu != NULL ? (double)hp_cpu_ns(entry->cpu) : 0,
        .has_waits = view->waits != NULL,
        .waited_ns = (double)waits.ns,
        .queue_ns = (double)waits.by_cause[HP_WAIT_RUN_QUEUE],
        .idle_ns = (double)waits.idle_ns,
        .has_allocs = view->allocs != NULL,
        .alloc_count = (double)entry->allocs.own_count,
    };
    hp_judge(evidence, &entry->judgement);
    entry->work_ns = entry->wall_ns - entry->judgement.idle_ns;
    if (!find_cause(view, entry, &waits))
        return false;
    entry->cause_ns *= entry->judgement.waited_scale;
    entry->is_named = entry->cause != NULL && hp_bottleneck_is_long_enough(entry) &&
                      entry->judgement.knows_waiting && entry->cause_ns > HP_VERDICT_NAMED_PART * entry->wall_ns &&
                      entry->cause_ns > HP_VERDICT_CAUSE_PART * entry->judgement.waiting_ns;
    return true;
}

static int compare_entries(const void *a, const void *b)
{
    const struct hp_bottleneck *x = a, *y = b;
    if (x->work_ns != y->work_ns)
        return x->work_ns > y->work_ns ? -1 : 1;
    if (x->wall_ns != y->wall_ns)
        return x->wall_ns > y->wall_ns ? -1 : 1;
    const int order = strcmp(x->site->name, y->site->name);
    if (order != 0)
        return order;
    return hp_site_number(x->site) < hp_site_number(y->site) ? -1 : 1;
}

/* Suspended coroutines are no bottleneck: what runs meanwhile may be. */
static bool is_left_out(const struct hp_bottlenecks *view, const struct hp_site_sums *site)
{
    return site->kind == HOTPATH_KIND_SUSPENDED_ ||
           (view->results->settings->show.exclude_wrapper && site->is_main);
}

/*
 * The main function's time, or that of the run. If threads ran in parallel and took more together, the sum of all
 * threads: then shares are comparable with each other.
 */
void hp_bottlenecks_set_whole(struct hp_bottlenecks *view)
{
    struct hotpath_results *results = view->results;
    const struct hp_profile *profile = results->model->profile;
    uint64_t inside = 0;
    for (size_t at = 0; at < profile->site_count; at++)
        if (!is_left_out(view, profile->sites[at]))
            inside += hp_sums_self(&profile->sites[at]->sums);
    uint64_t whole = hp_share_whole(profile, &results->settings->show, &view->section->percent_of);
    if (results->settings->show.exclude_wrapper) {
        whole = inside;
    } else if (inside > whole + whole / 1000) {
        whole = inside;
        view->section->percent_of = "threads";
    }
    view->inside_ns = hp_run_ns(&results->model->run, inside);
    view->whole_ns = hp_run_ns(&results->model->run, whole);
}

/* Idle time is in no share. */
static void leave_out_idle(struct hp_bottlenecks *view)
{
    view->inside_ns -= view->idle_ns;
    view->whole_ns -= view->idle_ns;
    if (view->whole_ns < view->inside_ns && view->idle_ns > 0)
        view->whole_ns = view->inside_ns;
}

/* Collects what is known of each site, shown or not. NULL: no memory. */
static struct hp_bottleneck *weigh_all(struct hp_bottlenecks *view)
{
    const struct hp_profile *profile = view->results->model->profile;
    struct hp_bottleneck *entries =
        hp_arena_take_array(view->results->model->arena, profile->site_count + 1, sizeof *entries);
    for (size_t at = 0; entries != NULL && at < profile->site_count; at++) {
        if (!weigh(view, &entries[at], at))
            return NULL;
        if (!is_left_out(view, profile->sites[at]))
            view->idle_ns += entries[at].judgement.idle_ns;
    }
    leave_out_idle(view);
    return entries;
}

/* Reduces the entries to those to be shown, sorted. False: no memory. */
bool hp_bottlenecks_gather(struct hp_bottlenecks *view)
{
    const struct hp_profile *profile = view->results->model->profile;
    struct hp_bottleneck *entries = weigh_all(view);
    view->entries = hp_arena_take_array(view->results->model->arena, profile->site_count + 1, sizeof(void *));
    if (entries == NULL || view->entries == NULL)
        return false;
    for (size_t at = 0; at < profile->site_count; at++) {
        if (is_left_out(view, profile->sites[at]) || !hp_results_show(view->results, profile->sites[at]))
            continue;
        view->section->total_rows++;
        if (100 * hp_part_of(entries[at].work_ns, view->whole_ns) >= view->results->settings->show.min_percent)
            view->entries[view->count++] = &entries[at];
    }
    hp_sort(view->entries, view->count, compare_entries);
    return true;
}

/* Sampling stops in a sandbox. One small process among others does not matter. */
static bool is_mostly_shut_in(const struct hp_run *run)
{
    double shut_in = 0, all = 0;
    for (size_t at = 0; at < run->count; at++) {
        const double ticks = (double)hp_snapshot_elapsed(run->sessions[at]);
        all += ticks;
        shut_in += run->sessions[at]->header.features & HP_FEATURE_SANDBOXED ? ticks : 0;
    }
    return shut_in > all / 10;
}

/* False: no memory. */
bool hp_bottlenecks_measure(struct hp_bottlenecks *view)
{
    struct hotpath_results *results = view->results;
    const struct hp_run *run = &results->model->run;
    const bool is_whole = run->stretch == NULL; /* the others have no history */
    const bool has_cpu = is_whole && hp_run_has_cpu(run), has_allocs = is_whole && hp_run_has_allocs(run);
    const struct hp_cpu *cpu = has_cpu ? hp_model_cpu(results->model) : NULL;
    view->is_unsampled = cpu != NULL && (!has_samples(cpu) || is_mostly_shut_in(run));
    view->used = view->is_unsampled ? NULL : cpu;
    view->cpu = view->used != NULL && hp_cpu_is_sampled(cpu) ? cpu : NULL;
    view->waits = hp_run_has_waits(run) ? hp_model_waits(results->model) : NULL;
    view->allocs = has_allocs ? hp_model_allocs(results->model) : NULL;
    view->observations = hp_bottlenecks_observations(view);
    return (cpu != NULL || !has_cpu) && (view->waits != NULL || !hp_run_has_waits(run)) &&
           (view->allocs != NULL || !has_allocs);
}
