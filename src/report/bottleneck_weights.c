/* Collects what is known of each function, and sorts them by time. SPDX-License-Identifier: MIT */
#include "bottleneck.h"

#include <string.h>

#include "arena.h"
#include "lock_causes.h"
#include "shares.h"
#include "sort.h"
#include "system_calls.h"
#include "task_profile.h"
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

void hp_bottleneck_put_name(struct hp_text *line, const struct hp_site_sums *site)
{
    hp_utf8_put_safe(line, site->name, strlen(site->name));
}

/* "97 %" */
void hp_bottleneck_put_share(struct hp_text *line, double part) { hp_text_format(line, "%.0f %%", 100 * part); }

/* Both were sampled, and little of either was found: the time itself is in doubt. */
bool hp_bottleneck_is_guessed(const struct hp_bottleneck *entry)
{
    return entry->judgement.verdict == HP_VERDICT_UNKNOWN && entry->evidence.is_wall_scaled &&
           entry->evidence.has_cpu;
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

static bool has_name(const struct hp_wait_sums *wait)
{
    return wait->what[0] != '\0' && strstr(wait->what, ":[") == NULL;
}

/* What hooks of locks know of it. NULL: nothing. */
static const struct hp_lock_block *block_of(const struct hp_bottlenecks *view, const struct hp_wait_sums *wait)
{
    return has_name(wait)
               ? NULL
               : hp_lock_awaited(view->results->model->locks, wait->site != NULL ? wait->site->name : NULL,
                                 wait->cause, (double)wait->ns);
}

/*
 * "sleep", "lock cache held in rebuild", "lock held in update", "lock: holder not recorded", "disk: /data/x.db".
 * The numbers of unnamed pipes and sockets are left out, since they tell users nothing.
 */
const char *hp_bottleneck_name_cause(const struct hp_bottlenecks *view, const struct hp_wait_sums *wait)
{
    char bytes[HP_BOTTLENECK_LINE_BYTES];
    struct hp_text line;
    const struct hp_lock_block *block = block_of(view, wait);
    const char *call = hp_system_call_name(wait->call);
    const bool is_held = wait->cause == HP_WAIT_LOCK && call != NULL && strncmp(call, "futex", 5) == 0;
    const char *detail = has_name(wait) ? wait->what : is_held ? "holder not recorded" : call;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_string(&line, hp_wait_cause_name(wait->cause));
    if (block != NULL) {
        hp_text_char(&line, ' ');
        hp_lock_put_block(&line, block, " ");
    } else if (wait->other != NULL) {
        hp_text_string(&line, wait->cause == HP_WAIT_LOCK ? " held in " : " in ");
        hp_bottleneck_put_name(&line, wait->other);
    } else if (!is_plain(wait->cause) && detail != NULL) {
        hp_text_string(&line, ": ");
        hp_utf8_put_safe(&line, detail, strlen(detail));
    }
    return hp_results_keep(view->results, &line);
}

/* The function with whose name that ends. NULL: none. */
static const char *other_of(const struct hp_bottlenecks *view, const struct hp_wait_sums *wait)
{
    const struct hp_lock_block *block = block_of(view, wait);
    return block != NULL ? block->holder : wait->other != NULL ? wait->other->name : NULL;
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
    if (waits->by_cause[cause] == 0)
        return true;
    for (size_t at = 0; view->waits != NULL && at < view->waits->count; at++) {
        const struct hp_wait_sums *wait = view->waits->all[at];
        if (wait->site != entry->site || wait->cause != cause)
            continue;
        entry->probes += wait->probes;
        if (entry->cause != NULL)
            continue;
        entry->cause_function = other_of(view, wait);
        if ((entry->cause = hp_bottleneck_name_cause(view, wait)) == NULL)
            return false;
    }
    if (entry->cause == NULL)
        entry->cause = hp_wait_cause_name(cause); /* the run queue, which no sample found it in */
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

/* Waiting of an event loop, which may be for tasks. Without waits, that may be all waiting. */
static double loop_wait_of(const struct hp_bottlenecks *view, const struct hp_judgement *judgement,
                           const struct hp_site_waits *waits)
{
    if (view->waits == NULL)
        return judgement->knows_waiting ? judgement->waiting_ns - judgement->queue_ns : 0;
    /* Time in the run queue after a wait belongs to it. */
    const uint64_t queued = waits->idle_by_cause[HP_WAIT_RUN_QUEUE];
    return judgement->idle_ns *
           hp_part_of((double)waits->idle_by_cause[HP_WAIT_POLL], (double)(waits->idle_ns - queued));
}

static void name_if_large(struct hp_bottleneck *entry)
{
    entry->is_named = entry->cause != NULL && hp_bottleneck_is_long_enough(entry) &&
                      entry->judgement.knows_waiting && entry->cause_ns > HP_VERDICT_NAMED_PART * entry->wall_ns &&
                      entry->cause_ns > HP_VERDICT_CAUSE_PART * entry->judgement.waiting_ns;
}

static void collect(const struct hp_bottlenecks *view, struct hp_bottleneck *entry, const struct hp_site_sums *site,
                    const struct hp_cpu_sums *cpu)
{
    struct hp_evidence *evidence = &entry->evidence;
    struct hp_site_waits waits = {0};
    entry->site = site;
    entry->wall_ns = hp_run_ns(&view->results->model->run, hp_sums_self(&entry->site->sums));
    entry->cpu = cpu;
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
        .has_queue = view->waits != NULL || (view->cpu != NULL && view->cpu->ready_ns > 0),
        .waited_ns = (double)waits.ns,
        .queue_ns = (double)waits.by_cause[HP_WAIT_RUN_QUEUE],
        .idle_ns = (double)waits.idle_ns,
        .has_allocs = view->allocs != NULL,
        .alloc_count = (double)entry->allocs.own_count,
    };
}

/* False: no memory. */
static bool conclude(const struct hp_bottlenecks *view, struct hp_bottleneck *entry)
{
    struct hp_site_waits waits = {0};
    if (view->waits != NULL)
        hp_waits_of_site(view->waits, entry->site, &waits);
    waits.by_cause[HP_WAIT_RUN_QUEUE] = (uint64_t)entry->evidence.queue_ns;
    hp_judge(&entry->evidence, &entry->judgement);
    entry->work_ns = entry->wall_ns - entry->judgement.idle_ns;
    entry->loop_ns = loop_wait_of(view, &entry->judgement, &waits);
    if (!find_cause(view, entry, &waits))
        return false;
    entry->cause_ns *= entry->judgement.waited_scale;
    name_if_large(entry);
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
    uint64_t whole = hp_share_whole(profile, NULL, &results->settings->show, &view->section->percent_of);
    if (results->settings->show.exclude_wrapper) {
        whole = inside;
    } else if (inside > whole + whole / 1000) {
        whole = inside;
        view->section->percent_of = "threads";
    }
    view->inside_ns = hp_run_ns(&results->model->run, inside);
    view->whole_ns = hp_run_ns(&results->model->run, whole);
}

/* ----------------------------------------------------------------------------------------- run queue */

#define MOST_ROUNDS 16

/* How much of its time, neither on a CPU nor seen waiting, may be time in the run queue. */
static double room_for_queue(const struct hp_bottleneck *entry)
{
    const struct hp_evidence *evidence = &entry->evidence;
    if (!evidence->has_cpu || evidence->is_wall_scaled)
        return 0;
    const double room = evidence->wall_ns - evidence->cpu_ns - evidence->waited_ns;
    return room > 0 ? room : 0;
}

/*
 * Threads lose their CPU where they use it. So time in the run queue of which no sample says where it was belongs
 * to functions in proportion to their CPU time, as far as they have time that nothing else explains.
 */
static void spread_queue(const struct hp_bottlenecks *view, struct hp_bottleneck *entries, size_t count)
{
    double left = view->waits != NULL ? (double)view->waits->misplaced_queue_ns
                  : view->cpu != NULL ? view->cpu->ready_ns
                                      : 0;
    for (int round = 0; round < MOST_ROUNDS && left > 0 && view->cpu != NULL; round++) {
        const double whole = left;
        double users = (double)hp_cpu_ns(&view->cpu->outside);
        for (size_t at = 0; at < count; at++)
            users += room_for_queue(&entries[at]) > 0 ? entries[at].evidence.cpu_ns : 0;
        for (size_t at = 0; at < count; at++) {
            struct hp_evidence *evidence = &entries[at].evidence;
            const double room = room_for_queue(&entries[at]), due = whole * hp_part_of(evidence->cpu_ns, users);
            const double ns = room < due ? room : due;
            evidence->queue_ns += ns;
            evidence->waited_ns += ns;
            left -= ns;
        }
        left -= whole * hp_part_of((double)hp_cpu_ns(&view->cpu->outside), users);
        if (whole - left < 1e-3 * whole)
            break;
    }
}

/* --------------------------------------------------------------------------------------------- tasks */

/*
 * While a loop waits and tasks of the program are open, it waits for them: that time goes from the loop to the row
 * of the task. Of nested tasks the outer one has waited longest, and takes it first.
 */
struct task_wait {
    const struct hp_task_sums *task;
    struct hp_bottleneck *entry;
    double ns; /* in which some were open and none ran */
};

/* Of tasks side by side, at most the time from the first to the last, without that in which they ran. */
static double pending_ns(const struct hp_run *run, const struct hp_task_sums *task)
{
    const double span = task->in_flight > 0 ? hp_run_ns(run, task->wall) / task->in_flight : 0;
    const double busy = task->polls > 0 ? hp_run_ns(run, task->busy) : 0;
    const double waiting = hp_run_ns(run, task->polls > 0 ? task->waiting : task->wall);
    return span <= busy ? 0 : waiting < span - busy ? waiting : span - busy;
}

static int compare_task_waits(const void *a, const void *b)
{
    const struct task_wait *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns > y->ns ? -1 : 1;
    return strcmp(x->task->site->name, y->task->site->name);
}

/* Requests that adapters follow are part of the program's tasks, or wait for clients. */
static bool is_of_program(const struct hp_task_sums *task)
{
    static const char *const calls[] = {"uv_", "event_", "bufferevent_", "g_"};
    const char *comma = strrchr(task->row->name, ',');
    for (size_t at = 0; at < sizeof calls / sizeof calls[0]; at++)
        if (strncmp(task->row->name, calls[at], strlen(calls[at])) == 0)
            return false;
    return comma == NULL || strcmp(comma, ", queued") != 0;
}

/* Tasks that never ran have no site in the profile: their entries are at its end. */
static struct hp_bottleneck *entry_of(struct hp_bottleneck *entries, size_t count, const struct hp_site_sums *site)
{
    for (size_t at = 0; at < count; at++)
        if (entries[at].site == site)
            return &entries[at];
    return NULL;
}

/* The program's tasks that waited, the longest first. False: no memory. */
static bool find_task_waits(struct hp_bottlenecks *view, struct hp_bottleneck *entries, size_t *entry_count,
                            struct task_wait ***ret_waits, size_t *ret_count)
{
    static const struct hp_cpu_sums none;
    const struct hp_tasks *tasks = hp_model_tasks(view->results->model);
    struct hp_arena *arena = view->results->model->arena;
    const size_t sites = *entry_count;
    *ret_waits = tasks != NULL ? hp_arena_take_array(arena, tasks->count + 1, sizeof(void *)) : NULL;
    *ret_count = 0;
    for (size_t at = 0; *ret_waits != NULL && at < tasks->count; at++) {
        const struct hp_task_sums *task = &tasks->all[at];
        const double ns = pending_ns(&view->results->model->run, task);
        if (ns <= 0 || !is_of_program(task))
            continue;
        struct task_wait *wait = hp_arena_take(arena, sizeof *wait);
        struct hp_bottleneck *entry = entry_of(entries, sites, task->site);
        if (entry == NULL) {
            entry = &entries[(*entry_count)++];
            collect(view, entry, task->site, view->cpu != NULL ? &none : NULL);
            if (!conclude(view, entry))
                return false;
        }
        if (wait == NULL)
            return false;
        *wait = (struct task_wait){task, entry, ns};
        (*ret_waits)[(*ret_count)++] = wait;
    }
    if (*ret_waits != NULL)
        hp_sort(*ret_waits, *ret_count, compare_task_waits);
    return *ret_waits != NULL;
}

/* What an adapter saw the task wait for, or what the loop waits for. NULL: unknown, or no memory. */
static const char *cause_of_task(const struct hp_bottlenecks *view, const struct task_wait *wait)
{
    const struct hp_task_await *first = wait->task->awaits;
    if (first != NULL && (double)first->ticks > HP_VERDICT_CAUSE_PART * (double)wait->task->waiting)
        return first->name;
    for (size_t at = 0; view->waits != NULL && at < view->waits->count; at++) {
        const struct hp_wait_sums *loop = view->waits->all[at];
        if (loop->cause == HP_WAIT_POLL)
            return has_name(loop) ? loop->what : hp_bottleneck_name_cause(view, loop);
    }
    return NULL;
}

/* A task is judged by its wall time. */
static void give_to_task(const struct hp_bottlenecks *view, const struct task_wait *wait, double ns)
{
    struct hp_bottleneck *entry = wait->entry;
    struct hp_evidence *evidence = &entry->evidence;
    entry->wall_ns += ns;
    evidence->wall_ns = entry->wall_ns;
    evidence->has_waits = true;
    evidence->waited_ns += ns;
    evidence->samples_due = entry->wall_ns / SECOND * view->observations;
    hp_judge(evidence, &entry->judgement);
    entry->work_ns = entry->wall_ns - entry->judgement.idle_ns;
    if (ns <= entry->cause_ns)
        return;
    entry->cause = cause_of_task(view, wait);
    entry->cause_ns = ns * entry->judgement.waited_scale;
    entry->probes = 0;
    name_if_large(entry);
}

static void take_from_loop(const struct hp_bottlenecks *view, struct hp_bottleneck *entry, double ns,
                           const char *task)
{
    struct hp_judgement *judgement = &entry->judgement;
    judgement->idle_ns -= view->waits == NULL ? 0 : ns;
    entry->work_ns = entry->wall_ns - judgement->idle_ns - ns;
    if (ns < HP_VERDICT_CAUSE_PART * judgement->waiting_ns || judgement->verdict == HP_VERDICT_STARVED)
        return;
    if (judgement->verdict == HP_VERDICT_IDLE && judgement->idle_ns < HP_VERDICT_IDLE_PART * entry->wall_ns)
        judgement->verdict = HP_VERDICT_WAITING;
    entry->evidence.has_waits = true;
    entry->cause = task;
    entry->cause_ns = ns;
    name_if_large(entry);
}

/* Whether what an entry waited for may be tasks. */
static bool is_loop(const struct hp_bottleneck *entry) { return entry->loop_ns > 0 && entry->site->task == NULL; }

static bool credit_tasks(struct hp_bottlenecks *view, struct hp_bottleneck *entries, size_t *count)
{
    struct task_wait **waits;
    struct hp_site_waits outside = {0};
    size_t wait_count;
    double all = 0, given = 0;
    if (view->results->model->run.range != NULL) /* tasks have no history */
        return true;
    if (!find_task_waits(view, entries, count, &waits, &wait_count))
        return false;
    if (view->waits != NULL)
        hp_waits_of_site(view->waits, NULL, &outside);
    all = (double)outside.idle_by_cause[HP_WAIT_POLL];
    for (size_t at = 0; at < *count; at++)
        all += is_loop(&entries[at]) ? entries[at].loop_ns : 0;
    for (size_t at = 0; at < wait_count && given < all; at++) {
        const double ns = waits[at]->ns < all - given ? waits[at]->ns : all - given;
        give_to_task(view, waits[at], ns);
        given += ns;
    }
    for (size_t at = 0; at < *count && given > 0; at++)
        if (is_loop(&entries[at]))
            take_from_loop(view, &entries[at], entries[at].loop_ns * given / all, waits[0]->task->site->name);
    view->outside_for_tasks_ns = given > 0 ? (double)outside.idle_by_cause[HP_WAIT_POLL] * given / all : 0;
    return true;
}

/* Idle time is in no share. */
static void leave_out_idle(struct hp_bottlenecks *view)
{
    view->inside_ns += view->outside_for_tasks_ns - view->idle_ns;
    view->whole_ns -= view->idle_ns;
    if (view->whole_ns < view->inside_ns && (view->idle_ns > 0 || view->outside_for_tasks_ns > 0))
        view->whole_ns = view->inside_ns;
}

/* Collects what is known of each site, shown or not, and of tasks without one. NULL: no memory. */
static struct hp_bottleneck *weigh_all(struct hp_bottlenecks *view, size_t *ret_count)
{
    const struct hp_profile *profile = view->results->model->profile;
    const struct hp_tasks *tasks = hp_model_tasks(view->results->model);
    const size_t most = profile->site_count + (tasks != NULL ? tasks->count : 0) + 1;
    struct hp_bottleneck *entries = hp_arena_take_array(view->results->model->arena, most, sizeof *entries);
    *ret_count = profile->site_count;
    if (entries == NULL || tasks == NULL)
        return NULL;
    for (size_t at = 0; at < profile->site_count; at++)
        collect(view, &entries[at], profile->sites[at], view->cpu != NULL ? &view->cpu->sites[at].own : NULL);
    spread_queue(view, entries, profile->site_count);
    for (size_t at = 0; at < profile->site_count; at++)
        if (!conclude(view, &entries[at]))
            return NULL;
    if (!credit_tasks(view, entries, ret_count))
        return NULL;
    for (size_t at = 0; at < *ret_count; at++)
        if (!is_left_out(view, entries[at].site))
            view->idle_ns += entries[at].judgement.idle_ns;
    leave_out_idle(view);
    return entries;
}

/* Reduces the entries to those to be shown, sorted. False: no memory. */
bool hp_bottlenecks_gather(struct hp_bottlenecks *view)
{
    size_t count;
    struct hp_bottleneck *entries = weigh_all(view, &count);
    view->entries =
        entries != NULL ? hp_arena_take_array(view->results->model->arena, count + 1, sizeof(void *)) : NULL;
    if (view->entries == NULL)
        return false;
    for (size_t at = 0; at < count; at++) {
        if (is_left_out(view, entries[at].site) || !hp_results_show(view->results, entries[at].site))
            continue;
        view->section->total_rows++;
        if (100 * hp_part_of(entries[at].work_ns, view->whole_ns) >= view->results->settings->show.min_percent)
            view->entries[view->count++] = &entries[at];
    }
    hp_sort(view->entries, view->count, compare_entries);
    return true;
}

/* Sampling stops in a sandbox. One small process among others does not matter. */
static bool is_mostly_sandboxed(const struct hp_run *run)
{
    double sandboxed = 0, all = 0;
    for (size_t at = 0; at < run->count; at++) {
        const double ticks = (double)hp_snapshot_elapsed(run->sessions[at]);
        all += ticks;
        sandboxed += run->sessions[at]->header.features & HP_FEATURE_SANDBOXED ? ticks : 0;
    }
    return sandboxed > all / 10;
}

/* False: no memory. */
bool hp_bottlenecks_measure(struct hp_bottlenecks *view)
{
    struct hotpath_results *results = view->results;
    const struct hp_run *run = &results->model->run;
    const bool is_whole = run->range == NULL; /* the others have no history */
    const bool has_cpu = is_whole && hp_run_has_cpu(run), has_allocs = is_whole && hp_run_has_allocs(run);
    const struct hp_cpu *cpu = has_cpu ? hp_model_cpu(results->model) : NULL;
    const bool is_sandboxed = is_mostly_sandboxed(run);
    view->is_unsampled = cpu != NULL && (!has_samples(cpu) || is_sandboxed);
    view->used = is_sandboxed ? NULL : cpu; /* clocks need no samples */
    view->cpu = !view->is_unsampled && cpu != NULL && hp_cpu_is_sampled(cpu) ? cpu : NULL;
    view->waits = hp_run_has_waits(run) ? hp_model_waits(results->model) : NULL;
    view->allocs = has_allocs ? hp_model_allocs(results->model) : NULL;
    view->observations = hp_bottlenecks_observations(view);
    return (cpu != NULL || !has_cpu) && (view->waits != NULL || !hp_run_has_waits(run)) &&
           (view->allocs != NULL || !has_allocs);
}
