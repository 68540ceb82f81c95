/* Names the bottleneck of a run in a sentence. SPDX-License-Identifier: MIT */
#include "bottleneck.h"

#include <string.h>

#include "arith.h"
#include "channel_profile.h"
#include "function_profile.h"
#include "hot_function.h"
#include "io_sentence.h"
#include "name_marks.h"
#include "path_sentence.h"
#include "proc_sampler.h"
#include "program_sentence.h"
#include "task_profile.h"
#include "trust_line.h"
#include "units.h"
#include "utf8.h"

/* "lock held in update" */
static void put_cause_words(struct hp_text *line, const struct hp_bottleneck *entry)
{
    const char *function = entry->cause_function;
    const bool has_function = function != NULL && hp_text_has_suffix(entry->cause, function);
    hp_text_mark_begin(line);
    hp_text_bytes(line, entry->cause, strlen(entry->cause) - (has_function ? strlen(function) : 0));
    if (has_function)
        hp_name_put_marked(line, function);
    hp_name_mark_end(line);
}

/* " (lock held in update)" */
static void put_cause(struct hp_text *line, const struct hp_bottleneck *entry)
{
    if (entry->is_named) {
        hp_text_string(line, " (");
        put_cause_words(line, entry);
        hp_text_char(line, ')');
    } else if (!entry->evidence.has_waits) {
        hp_text_string(line, entry->evidence.has_queue ? " (cause unknown: set HOTPATH_WAITS=1)"
                                                       : " (cause unknown, maybe for a CPU: set HOTPATH_WAITS=1)");
    }
}

/* "waiting (lock held in update)" */
static void put_verdict(struct hp_text *line, const struct hp_bottleneck *entry)
{
    const enum hp_verdict verdict = entry->judgement.verdict;
    hp_text_string(line, verdict == HP_VERDICT_MIXED     ? "busy and waiting"
                         : verdict == HP_VERDICT_STARVED ? "starved for CPU time"
                                                         : hp_verdict_name(verdict));
    if (verdict == HP_VERDICT_WAITING || verdict == HP_VERDICT_MIXED || verdict == HP_VERDICT_IDLE)
        put_cause(line, entry);
}

/* The site with the most CPU time, which may be low in the table. NULL: too few samples. */
static const struct hp_bottleneck *busiest(const struct hp_bottlenecks *view)
{
    const struct hp_bottleneck *busiest = NULL;
    for (size_t at = 0; at < view->count; at++)
        if (busiest == NULL || view->entries[at]->evidence.cpu_ns > busiest->evidence.cpu_ns)
            busiest = view->entries[at];
    return busiest != NULL && view->cpu != NULL && (double)busiest->cpu->samples >= HP_VERDICT_LEAST_SAMPLES
               ? busiest
               : NULL;
}

/* Names the function with the most CPU time, if it is another one: "; of the CPU time, 94 % is in sync_work" */
static void put_busiest(const struct hp_bottlenecks *view, struct hp_text *line, const struct hp_bottleneck *first)
{
    const struct hp_bottleneck *other = busiest(view);
    if (view->cpu == NULL || other == NULL || other == first)
        return;
    hp_text_string(line, "; of the CPU time, ");
    hp_bottleneck_put_share(line, hp_part_of(other->evidence.cpu_ns, (double)hp_cpu_ns(&view->cpu->total)));
    hp_text_string(line, " is in ");
    hp_name_put_marked(line, other->site->name);
}

/* --- the first line */

/* What is outside all measured functions, as far as it was seen. */
struct outside {
    double cpu_ns;
    double waiting_ns;
    double idle_ns;
};

static struct outside outside_of(const struct hp_bottlenecks *view)
{
    struct outside outside = {0};
    struct hp_site_waits waits;
    if (view->cpu != NULL)
        outside.cpu_ns = (double)hp_cpu_ns(&view->cpu->outside);
    if (view->waits == NULL)
        return outside;
    hp_waits_of_site(view->waits, NULL, &waits);
    outside.waiting_ns = (double)(waits.ns - waits.idle_ns);
    outside.idle_ns = (double)waits.idle_ns - view->outside_for_tasks_ns;
    return outside;
}

/* Whether there are enough samples to name functions. */
bool hp_bottlenecks_has_stacks(const struct hp_bottlenecks *view)
{
    const struct hp_function_profile *functions = view->results->model->functions;
    return functions != NULL && (double)functions->counts.samples >= HP_VERDICT_LEAST_SAMPLES;
}

/* 0: unknown. */
static double used_by_program(const struct hp_bottlenecks *view)
{
    if (view->used != NULL && hp_cpu_ns(&view->used->total) > 0)
        return (double)hp_cpu_ns(&view->used->total);
    return hp_bottlenecks_has_stacks(view) ? (double)view->results->model->functions->cpu_ns : 0;
}

/*
 * CPU time outside of measured functions. If no samples say where it was used, it is what measured functions cannot
 * have used. Without clocks, threads ran while they were observed and did not wait.
 */
static double cpu_outside(const struct hp_bottlenecks *view, const struct outside *outside)
{
    if (view->cpu != NULL)
        return outside->cpu_ns;
    const double ran = (double)hp_less(view->waits->watched_ns, view->waits->waited_ns);
    const double used = used_by_program(view) > ran ? used_by_program(view) : ran;
    return used > view->inside_ns ? used - view->inside_ns : 0;
}

/* The part of the run in which there was less work than for one thread; 0: there was enough. */
static double idle_part_of_run(const struct hp_bottlenecks *view, const struct outside *outside)
{
    const double elapsed = (double)hp_run_elapsed_ns(&view->results->model->run);
    if (view->waits == NULL || view->idle_ns + outside->idle_ns < HP_VERDICT_IDLE_RUN * elapsed)
        return 0;
    const double work = view->inside_ns + cpu_outside(view, outside) + outside->waiting_ns;
    return work < HP_VERDICT_IDLE_RUN * elapsed ? 1 - hp_part_of(work, elapsed) : 0;
}

/*
 * A wait for a thread leads to what that thread waits for: the end of such a chain is an event from outside the
 * program.
 */
static unsigned depth_of(uint32_t cause)
{
    switch (cause) {
    case HP_WAIT_THREAD:
    case HP_WAIT_BARRIER:
        return 1;
    case HP_WAIT_CONDITION:
    case HP_WAIT_SEMAPHORE:
    case HP_WAIT_FUTEX:
        return 2;
    default:
        return 3;
    }
}

/* What an idle program waits for. */
struct idling {
    const struct hp_site_sums *site; /* NULL: outside */
    uint32_t cause;
    uint64_t ns; /* 0: none yet */
};

/* Short waits are no reason, however deep. */
static void find_deeper(const struct hp_bottlenecks *view, const struct hp_site_sums *site, struct idling *deepest)
{
    const uint64_t least = hp_run_elapsed_ns(&view->results->model->run) / 4;
    struct hp_site_waits waits;
    hp_waits_of_site(view->waits, site, &waits);
    for (uint32_t cause = 0; cause < HP_WAIT_CAUSES; cause++) {
        const uint64_t idle_ns = waits.idle_by_cause[cause];
        /* Time in the run queue after a wait is no reason to idle, however long it is on a busy machine. */
        const uint64_t ns = cause == HP_WAIT_RUN_QUEUE && idle_ns > 0 ? 1 : idle_ns;
        const bool is_long = ns >= least, was_long = deepest->ns >= least;
        const unsigned depth = depth_of(cause), before = depth_of(deepest->cause);
        if (ns == 0 || is_long < was_long)
            continue;
        if (deepest->ns == 0 || is_long > was_long || (is_long && depth > before) ||
            ((!is_long || depth == before) && ns > deepest->ns))
            *deepest = (struct idling){site, cause, ns};
    }
}

/* "poll: epoll_wait", by the longest wait. NULL: no memory. */
static const char *name_idling(const struct hp_bottlenecks *view, const struct idling *idling)
{
    for (size_t at = 0; view->waits != NULL && at < view->waits->count; at++) {
        const struct hp_wait_sums *wait = view->waits->all[at];
        if (wait->site == idling->site && wait->cause == idling->cause)
            return hp_bottleneck_name_cause(view, wait);
    }
    return hp_wait_cause_name(idling->cause);
}

/* The function that stacks found waiting for it longest, if nothing is measured; NULL: none. */
static const struct hp_found_function *idlest_function(const struct hp_bottlenecks *view,
                                                       const struct idling *idling)
{
    const struct hp_function_profile *functions = view->results->model->functions;
    const char *cause = hp_wait_cause_name(idling->cause);
    const struct hp_found_function *idlest = NULL;
    for (size_t at = 0; idling->site == NULL && functions != NULL && at < functions->count; at++) {
        const struct hp_found_function *function = &functions->all[at];
        const struct hp_found_cause its = function->waits_for;
        const size_t length = strlen(cause);
        const bool is_so = its.text != NULL && its.length >= length && memcmp(its.text, cause, length) == 0 &&
                           (its.length == length || its.text[length] == ':');
        if (is_so && (idlest == NULL || function->idle_ns > idlest->idle_ns))
            idlest = function;
    }
    return idlest;
}

/*
 * The task class that waited for most of the idle time, if one did. Of nested tasks the outer one has waited
 * longer.
 */
static const struct hp_task_sums *longest_waiting_task(const struct hp_bottlenecks *view, double idle_ns)
{
    const struct hp_tasks *tasks = hp_model_tasks(view->results->model);
    const struct hp_task_sums *longest = NULL;
    double longest_ns = HP_VERDICT_IDLE_RUN * idle_ns;
    for (size_t at = 0; tasks != NULL && at < tasks->count; at++) {
        const struct hp_task_sums *task = &tasks->all[at];
        const double ns = hp_run_ns(&view->results->model->run, task->polls > 0 ? task->waiting : task->wall);
        if (ns > longest_ns) {
            longest = task;
            longest_ns = ns;
        }
    }
    return longest;
}

/* "The program is idle for 93 % of the time: serve waits (poll: epoll_wait) for load_page" */
static bool put_idle(struct hp_text *line, const struct hp_bottlenecks *view, double part)
{
    struct idling idling = {0};
    find_deeper(view, NULL, &idling);
    for (size_t at = 0; at < view->results->model->profile->site_count; at++)
        find_deeper(view, view->results->model->profile->sites[at], &idling);
    const char *cause = name_idling(view, &idling);
    hp_text_string(line, idling.cause == HP_WAIT_CHILD ? "The program waits for a child for "
                                                       : "The program is idle for ");
    hp_bottleneck_put_share(line, part);
    hp_text_string(line, " of the time: ");
    const struct hp_found_function *function = idlest_function(view, &idling);
    if (idling.site != NULL)
        hp_name_put_marked(line, idling.site->name);
    else if (function != NULL)
        hp_name_put_marked(line, function->shown);
    else
        hp_text_string(line, "it");
    hp_text_string(line, " waits (");
    hp_text_put_marked(line, cause != NULL ? cause : "", cause != NULL ? strlen(cause) : 0);
    hp_text_char(line, ')');
    const struct hp_task_sums *task =
        longest_waiting_task(view, part * (double)hp_run_elapsed_ns(&view->results->model->run));
    if (task != NULL) {
        hp_text_string(line, " for ");
        hp_name_put_marked(line, task->site->name);
    }
    return cause != NULL;
}

static bool is_told(const struct hp_bottleneck *entry)
{
    const enum hp_verdict verdict = entry->judgement.verdict;
    return verdict != HP_VERDICT_TOO_SHORT && verdict != HP_VERDICT_UNKNOWN;
}

static const char *program_of(const struct hp_run *run, size_t session)
{
    const struct hp_snapshot *its = run->sessions[session];
    return hp_text_base_name(hp_snapshot_text(its, its->header.executable));
}

static bool is_same_program(const struct hp_run *run, size_t one, size_t other)
{
    return strcmp(program_of(run, one), program_of(run, other)) == 0;
}

/* If it is not the first program: " in the process sort", " in the processes of cc1", " in a child process". */
static void put_process(struct hp_text *line, const struct hp_bottlenecks *view, size_t session,
                        bool is_one_of_many)
{
    const struct hp_run *run = &view->results->model->run;
    if (session == 0 || session >= run->count)
        return;
    const char *name = program_of(run, session);
    const bool is_first_process = hp_run_is_one_process(run, session, 0);
    if (name[0] == '\0' || is_same_program(run, session, 0)) {
        if (is_first_process)
            return;
        hp_text_string(line, is_one_of_many ? " in child processes" : " in a child process");
        return;
    }
    hp_text_string(line, is_one_of_many     ? " in the processes of "
                         : is_first_process ? " in the program "
                                            : " in the process ");
    hp_text_put_marked(line, name, strlen(name));
}

/* What its share refers to. */
static const char *measure_of(const struct hp_bottlenecks *view)
{
    return view->idle_ns > HP_VERDICT_IDLE_SAID * (view->whole_ns + view->idle_ns) ? " of the time that is not idle"
                                                                                   : " of the time";
}

/* "async_sleep: 75 % of the time, waiting (sleep)" */
static void put_entry(struct hp_text *line, const struct hp_bottlenecks *view, const struct hp_bottleneck *entry)
{
    hp_name_put_marked(line, entry->site->name);
    put_process(line, view, entry->site->session, false);
    hp_text_string(line, ": ");
    hp_bottleneck_put_share(line, hp_part_of(entry->work_ns, view->whole_ns));
    hp_text_string(line, measure_of(view));
    if (is_told(entry)) {
        hp_text_string(line, ", ");
        put_verdict(line, entry);
    } else
        hp_text_string(line, entry->judgement.verdict == HP_VERDICT_TOO_SHORT ? ", too short for a verdict"
                             : hp_bottleneck_is_guessed(entry)
                                 ? ", extrapolated from few timed calls, and not confirmed by samples"
                                 : "; CPU time and waiting were not measured");
}

/* Waiting of the main function itself is outside of what the program measures: naming it would tell nothing. */
static bool waits_in_main(const struct hp_bottlenecks *view, const struct hp_bottleneck *first)
{
    return first->site->is_main && first->judgement.verdict == HP_VERDICT_WAITING &&
           2 * first->work_ns > view->whole_ns;
}

/* "95 % of the time is spent waiting outside of all measured functions, in main itself (sleep)" */
static void put_waiting_main(struct hp_text *line, const struct hp_bottlenecks *view,
                             const struct hp_bottleneck *first)
{
    hp_bottleneck_put_share(line, hp_part_of(first->work_ns, view->whole_ns));
    hp_text_format(line, "%s is spent waiting outside of all measured functions, in ", measure_of(view));
    hp_name_put_marked(line, first->site->name);
    hp_text_string(line, " itself");
    put_cause(line, first);
}

static bool counts_instructions(const struct hp_bottlenecks *view)
{
    return hp_run_counts_instructions(&view->results->model->run);
}

/* "Most instructions are executed in encode: 72 %" */
static void put_most_instructions(struct hp_text *line, const char *name, double part)
{
    hp_text_string(line, part > 0.5 ? "Most instructions are executed in "
                                    : "The function that executes the most instructions is ");
    hp_name_put_marked(line, name);
    hp_text_string(line, ": ");
    hp_bottleneck_put_share(line, part);
}

/* The same of a program without measured functions. */
static bool put_counted(const struct hp_bottlenecks *view, struct hp_text *line)
{
    const struct hp_function_profile *functions = view->results->model->functions;
    const struct hp_found_function *most = NULL;
    for (size_t at = 0; functions != NULL && at < functions->count; at++)
        if (most == NULL || functions->all[at].user_ns > most->user_ns)
            most = &functions->all[at];
    if (most != NULL && functions->cpu_ns > 0)
        put_most_instructions(line, most->shown, (double)most->user_ns / (double)functions->cpu_ns);
    return true;
}

/* "The bottleneck is async_sleep: 75 % of the time, waiting (sleep)" */
static void put_first(struct hp_text *line, const struct hp_bottlenecks *view, const struct hp_bottleneck *first,
                      bool is_second)
{
    if (counts_instructions(view)) {
        put_most_instructions(line, first->site->name, hp_part_of(first->work_ns, view->whole_ns));
        return;
    }
    hp_text_string(line, is_second        ? "Among measured functions it is "
                         : is_told(first) ? "The bottleneck is "
                         : hp_part_of(first->work_ns, view->whole_ns) > 0.5
                             ? "Most of the time is spent in "
                             : "The function with the most time is ");
    put_entry(line, view, first);
}

/* CPU time of a process without measured functions; 0: it has some. */
static double unmeasured_ns(const struct hp_bottlenecks *view, size_t session)
{
    const struct hp_header *header = &view->results->model->run.sessions[session]->header;
    const bool has_calls = view->results->model->profile->sessions[session].calls != 0;
    return has_calls ? 0 : (double)(header->cpu_latest_ns - header->cpu_start_ns);
}

/*
 * A session of the program without measured functions that used more than half of `ns`, in one process or many; 0:
 * the first session, or none. Found by majority vote: each program cancels its CPU time against the current
 * candidate's.
 */
static size_t busiest_program(const struct hp_bottlenecks *view, double ns, bool *ret_is_one_of_many)
{
    const struct hp_run *run = &view->results->model->run;
    size_t front = 0, processes = 0;
    double lead = 0, sum = 0;
    for (size_t at = 1; at < run->count; at++) {
        const double its = unmeasured_ns(view, at);
        lead += front != 0 && is_same_program(run, at, front) ? its : -its;
        if (lead < 0) {
            front = at;
            lead = -lead;
        }
    }
    for (size_t at = 1; at < run->count && front != 0; at++) {
        const double its = is_same_program(run, at, front) ? unmeasured_ns(view, at) : 0;
        sum += its;
        processes += its > 0 && (at == front || !hp_run_is_one_process(run, at, front));
    }
    *ret_is_one_of_many = processes > 1;
    return 2 * sum > ns ? front : 0;
}

static void put_main_cause(struct hp_text *line, const struct hp_site_waits *waits)
{
    const uint32_t cause = hp_bottleneck_largest_cause(waits, true, false);
    hp_text_format(line, ", mainly for %s",
                   cause == HP_WAIT_RUN_QUEUE ? "a free CPU (run queue)" : hp_wait_cause_name(cause));
}

/* "The bottleneck is outside of all measured functions: threads waited there 9.00 s, mainly for disk. " */
static bool put_waiting_outside(struct hp_text *line, const struct hp_bottlenecks *view,
                                const struct outside *outside, const struct hp_bottleneck *first)
{
    const double all = view->inside_ns + outside->cpu_ns + outside->waiting_ns;
    if (outside->waiting_ns <= first->work_ns || 2 * outside->waiting_ns <= all)
        return false;
    struct hp_site_waits waits;
    hp_waits_of_site(view->waits, NULL, &waits);
    hp_text_format(line, "The bottleneck is outside of all measured functions: threads waited there %s",
                   hp_ns_text(outside->waiting_ns).bytes);
    put_main_cause(line, &waits);
    hp_text_string(line, ". ");
    return true;
}

/* ": deflate in libz takes 77 % of that, called by save", if samples know their zones. */
static void put_function_outside(struct hp_text *line, const struct hp_bottlenecks *view)
{
    const struct hp_function_profile *functions = view->results->model->functions;
    struct hp_hot_function hot;
    struct hp_hot_stacks stacks;
    if (functions == NULL || functions->zones[HP_ZONES_OF_CPU].count == 0 || !hp_bottlenecks_has_stacks(view) ||
        !hp_hot_stacks_make_outside(&stacks, view->results->model->arena, functions) || stacks.count == 0)
        return;
    hp_text_string(line, ": ");
    hp_hot_function_put(line, &stacks, " of that", &hot);
}

/*
 * If more happens outside measured functions than in any of them. True: CPU time is used there, or most waiting is
 * there, so the bottleneck is there.
 */
static bool put_outside(struct hp_text *line, const struct hp_bottlenecks *view, const struct outside *outside,
                        const struct hp_bottleneck *first)
{
    const double total_cpu_ns = view->cpu != NULL ? (double)hp_cpu_ns(&view->cpu->total) : 0;
    const double outside_ns = view->whole_ns - view->inside_ns - outside->idle_ns;
    if (outside->cpu_ns + outside->waiting_ns > first->work_ns && 2 * outside->cpu_ns > total_cpu_ns) {
        bool is_one_of_many;
        const size_t busiest = busiest_program(view, outside->cpu_ns, &is_one_of_many);
        hp_text_string(line, "The bottleneck is outside of all measured functions,");
        put_process(line, view, busiest, is_one_of_many);
        hp_text_string(line, line->bytes[line->length - 1] == ',' ? " with " : ", with ");
        hp_bottleneck_put_share(line, hp_part_of(outside->cpu_ns, total_cpu_ns));
        hp_text_string(line, " of the CPU time");
        put_function_outside(line, view);
        hp_text_string(line, ". ");
        return true;
    }
    if (put_waiting_outside(line, view, outside, first))
        return true;
    if (outside_ns > first->work_ns && !counts_instructions(view)) {
        hp_bottleneck_put_share(line, hp_part_of(outside_ns, view->whole_ns));
        hp_text_string(line, " of the time is outside of all measured functions. ");
    }
    return false;
}

/* "waited 3.74 s", or for more than one thread at a time "2.3 of its threads waited at any time" */
static void put_waited(struct hp_text *line, const struct hp_bottlenecks *view, double waited_ns)
{
    const double elapsed = (double)hp_run_elapsed_ns(&view->results->model->run);
    if (waited_ns <= elapsed || elapsed <= 0) {
        hp_text_format(line, "waited %s", hp_ns_text(waited_ns).bytes);
        return;
    }
    hp_text_format(line, "had %.1f threads waiting on average", waited_ns / elapsed);
}

static double waiting_work(const struct hp_found_function *function)
{
    return (double)(function->waiting_ns - function->idle_ns);
}

/* Whether a wait is long enough for as many wait samples. */
static bool is_long_wait(double ns) { return ns >= HP_VERDICT_LEAST_SAMPLES * 1e3 * (double)HP_WATCH_PERIOD_US; }

static bool is_waiter(const struct hp_found_function *function)
{
    return waiting_work(function) > (double)(function->user_ns + function->kernel_ns);
}

/* The function that stacks found running or waiting longest, own time only; NULL: too few samples, or none. */
const struct hp_found_function *hp_bottlenecks_first_function(const struct hp_bottlenecks *view)
{
    const struct hp_function_profile *functions = view->results->model->functions;
    for (size_t at = 0; functions != NULL && at < functions->count; at++) {
        const struct hp_found_function *function = &functions->all[at];
        if (is_waiter(function) ? is_long_wait(waiting_work(function))
                                : hp_bottlenecks_has_stacks(view) && function->name[0] != '<')
            return function;
    }
    return NULL;
}

/* "The program used 1.32 s of CPU time and waited 3.74 s, mainly for disk" */
static void put_program(struct hp_text *line, const struct hp_bottlenecks *view)
{
    struct hp_site_waits waits = {0};
    const double used_ns = used_by_program(view);
    const bool has_used = used_ns > 0;
    if (view->waits != NULL)
        hp_waits_of_site(view->waits, NULL, &waits);
    const uint64_t waited_ns = waits.ns - waits.idle_ns;
    if (!has_used && waited_ns == 0)
        return;
    hp_text_string(line, "The program ");
    if (has_used) {
        hp_text_format(line, "used %s of CPU time", hp_ns_text(used_ns).bytes);
    }
    if (waited_ns == 0)
        return;
    hp_text_string(line, has_used ? " and " : "");
    put_waited(line, view, (double)waited_ns);
    put_main_cause(line, &waits);
}

/* An idle function is no bottleneck, whatever else it does, if there is another row. */
static const struct hp_bottleneck *first_at_work(const struct hp_bottlenecks *view)
{
    for (size_t at = 0; at < view->count; at++)
        if (view->entries[at]->judgement.verdict != HP_VERDICT_IDLE)
            return view->entries[at];
    return view->entries[0];
}

static void put_work(struct hp_text *line, const struct hp_bottlenecks *view, const struct outside *outside)
{
    if (view->results->model->profile->site_count == 0) {
        put_program(line, view);
        return;
    }
    const struct hp_bottleneck *first = first_at_work(view);
    const bool is_second = put_outside(line, view, outside, first);
    if (!is_second && waits_in_main(view, first))
        put_waiting_main(line, view, first);
    else
        put_first(line, view, first, is_second);
    if (!is_second)
        put_busiest(view, line, first);
}

/* After what it idles for: ". Of the rest, ..." */
static void put_rest(struct hp_text *line, const struct hp_bottlenecks *view)
{
    if (view->count == 0) {
        const size_t before = line->length;
        hp_text_string(line, ". ");
        put_program(line, view);
        line->length = line->length == before + 2 ? before : line->length;
        return;
    }
    const struct hp_bottleneck *first = first_at_work(view);
    if (!is_told(first) || first->judgement.verdict == HP_VERDICT_IDLE)
        return;
    hp_text_string(line, ". Otherwise, the bottleneck is ");
    put_entry(line, view, first);
}

/* "Senders of jobs were blocked 93 % of their time: the consumer encode is the bottleneck" */
void hp_bottleneck_put_jam(struct hp_text *line, const struct hp_channel_jam *jam, bool is_of_senders)
{
    hp_text_string(line, is_of_senders ? "Senders of " : "Receivers of ");
    hp_text_put_marked(line, jam->channel, strlen(jam->channel));
    hp_text_string(line, " were blocked ");
    hp_bottleneck_put_share(line, jam->part);
    hp_text_string(line, is_of_senders ? " of their time: the consumer " : " of their time: the producer ");
    if (jam->slow != NULL) {
        hp_name_put_marked(line, jam->slow);
        hp_text_char(line, ' ');
    }
    hp_text_string(line, "is the bottleneck");
}

/* After a sentence that names a cause. */
static void put_most_time(struct hp_text *line, const struct hp_bottlenecks *view)
{
    if (view->count == 0 || !is_told(first_at_work(view)))
        return;
    hp_text_string(line, ". The function with the most time of its own is ");
    put_entry(line, view, first_at_work(view));
}

/*
 * A full channel takes precedence over times: the function with the most time may use it while others are blocked.
 */
static bool put_full_channel(struct hp_text *line, const struct hp_bottlenecks *view)
{
    struct hp_channel_jam jam;
    if (!hp_channel_jam_of(view->results->model, true, &jam))
        return false;
    hp_bottleneck_put_jam(line, &jam, true);
    put_most_time(line, view);
    return true;
}

/* An empty channel does not: receivers may have nothing to do. It is used only if nothing else is known. */
static bool put_empty_channel(struct hp_text *line, const struct hp_bottlenecks *view)
{
    struct hp_channel_jam jam;
    if ((view->count > 0 && is_told(first_at_work(view))) || !hp_channel_jam_of(view->results->model, false, &jam))
        return false;
    hp_bottleneck_put_jam(line, &jam, false);
    return true;
}

/*
 * Without measured functions, only programs are known at the ends of a channel. That it is full or empty does not
 * make them the bottleneck.
 */
static bool is_jammed(const struct hp_bottlenecks *view)
{
    struct hp_model *model = view->results->model;
    struct hp_channel_jam jam;
    const bool is_full = hp_channel_jam_of(model, true, &jam);
    return used_by_program(view) > 0 && (is_full || hp_channel_jam_of(model, false, &jam));
}

static bool keep_headline(struct hp_bottlenecks *view, struct hp_text *line)
{
    struct hotpath_results *results = view->results;
    results->headline_name_count = hp_name_marks_take(line, results->headline_names, HP_NAME_MARKS);
    if (line->length == 0)
        return true;
    view->section->summary = results->headline = hp_results_keep(results, line);
    return view->section->summary != NULL;
}

bool hp_bottlenecks_set_headline(struct hp_bottlenecks *view)
{
    char bytes[HP_BOTTLENECK_LINE_BYTES];
    struct hp_text line;
    const struct outside outside = outside_of(view);
    const double idle_part = idle_part_of_run(view, &outside);
    if (view->results->model->profile->site_count > 0 && view->count == 0)
        return true;
    hp_text_init(&line, bytes, sizeof bytes);
    const struct hp_bottleneck *first = view->count > 0 ? first_at_work(view) : NULL;
    if (first != NULL && first->judgement.verdict == HP_VERDICT_TOO_SHORT)
        first = NULL;
    hp_trust_put_distortion(view->results->trust, view->results->model->profile, first != NULL ? first->site : NULL,
                            first != NULL ? first->work_ns : 0, view->whole_ns, &line);
    if (hp_path_sentence_put(&line, view->results)) {
        put_most_time(&line, view);
        return keep_headline(view, &line);
    }
    if (hp_io_sentence_put(&line, view->results))
        return keep_headline(view, &line);
    if (view->results->model->profile->site_count == 0 &&
        (view->results->model->functions != NULL || is_jammed(view))) {
        const struct hp_found_function *function = NULL;
        const bool is_put = counts_instructions(view) ? put_counted(view, &line)
                                                      : hp_program_sentence_put(&line, view->results, &function);
        view->results->headline_function = function != NULL ? function->shown : NULL;
        return is_put && keep_headline(view, &line);
    }
    if (put_full_channel(&line, view) || (idle_part == 0 && put_empty_channel(&line, view)) ||
        (first == NULL && hp_program_starts_put(&line, view->results)))
        ; /* done */
    else if (idle_part == 0)
        put_work(&line, view, &outside);
    else if (!put_idle(&line, view, idle_part))
        return false;
    else
        put_rest(&line, view);
    return keep_headline(view, &line);
}
