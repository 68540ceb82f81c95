/*
 * The section `bottlenecks`: the functions that take the most time by themselves, what they do with it, and a word for that.
 *
 * One row per site, over all threads: what is known of waiting is known of sites alone. The first line names the first of
 * them. The rules are in verdict.c. SPDX-License-Identifier: MIT
 */
#include "section.h"

#include <string.h>

#include "alloc_profile.h"
#include "arena.h"
#include "cpu_profile.h"
#include "function_profile.h"
#include "identity.h"
#include "order.h"
#include "shares.h"
#include "sort.h"
#include "system_calls.h"
#include "text.h"
#include "units.h"
#include "utf8.h"
#include "verdict.h"
#include "wait_profile.h"
#include "watch.h"

#define LINE_BYTES 512u
#define SECOND 1e9

/* Rows, unless HOTPATH_FUNCTIONS_LIMIT asks for another number than its usual one. */
#define ROWS 5u
/* Timers of processor time go off with the kernel's tick, whatever they are asked for; most kernels have one in 4 ms. */
#define TIMER_RATE 250.0
/* Looks and samples below this are told, so that nobody takes their shares for more than they are. */
#define FEW 100u

struct columns {
    size_t name, verdict, wall_percent, cpu_percent, waiting_percent, waits_for, alloc_percent, why;
    size_t self, work, idle, cpu, user, kernel, samples, waiting, queue, waits_for_ns, looks, bytes, count,
        location, open, scaled;
};

#define AT(column) .index = offsetof(struct columns, column)

/* What this section knows beside. */
enum {
    HAS_CPU = HP_FACT_OWN,
    HAS_WAITS = HP_FACT_OWN << 1,
    KNOWS_WAITING = HP_FACT_OWN << 2,
};

static const struct hp_column_spec column_table[] = {
    {"name", "Function", HOTPATH_UNIT_TEXT, HP_COLUMN_NAME | HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(name)},
    {"verdict", "Verdict", HOTPATH_UNIT_TEXT, HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(verdict),
     .about = "too-short: too few samples to tell; unknown: neither processor time nor waiting was measured.",
     .words = "cpu-bound|waiting|allocation-heavy|starved|idle|mixed|too-short|unknown"},
    {"percent_wall", "Wall %", HOTPATH_UNIT_PERCENT,
     HP_COLUMN_KEEP | HP_COLUMN_SAMPLED_SELF | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(wall_percent),
     "work_ns, of what percent_of of the section says; idle time is no part of that."},
    {"percent_cpu", "CPU %", HOTPATH_UNIT_PERCENT,
     HP_COLUMN_LATE | HP_COLUMN_SAMPLED_SELF | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE | HP_COLUMN_PART, AT(cpu_percent),
     "cpu_ns, of self_ns; null also where that is too short.", .shown_by = HAS_CPU},
    {"percent_waiting", "Wait %", HOTPATH_UNIT_PERCENT,
     HP_COLUMN_LATE | HP_COLUMN_SAMPLED_SELF | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE | HP_COLUMN_PART,
     AT(waiting_percent), "waiting_ns, of self_ns; null also where that is too short.", .shown_by = KNOWS_WAITING},
    {"waits_for", "For", HOTPATH_UNIT_TEXT, HP_COLUMN_LATE | HP_COLUMN_ELASTIC | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
     AT(waits_for),
     "The cause of most of its waiting, and the longest wait of that kind: \"lock: futex\", \"disk: /data/x.db\"; "
     "null: it was not found waiting.",
     .shown_by = HAS_WAITS},
    {"percent_alloc", "Alloc %", HOTPATH_UNIT_PERCENT, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE | HP_COLUMN_PART,
     AT(alloc_percent), "own_bytes, of all bytes that the run asked for.", .shown_by = HP_FACT_ALLOCS},
    {"why", "Why", HOTPATH_UNIT_TEXT, HP_COLUMN_BELOW | HP_COLUMN_SHOWN, AT(why),
     "A sentence with the numbers that led to the verdict."},
    {"self_ns", "Self", HOTPATH_UNIT_NS, HP_COLUMN_SAMPLED_SELF, AT(self)},
    {"work_ns", "Work", HOTPATH_UNIT_NS, HP_COLUMN_SAMPLED_SELF, AT(work), "self_ns without idle_ns."},
    {"idle_ns", "Idle", HOTPATH_UNIT_NS, HP_COLUMN_MAYBE, AT(idle),
     "Of waiting_ns, what is nobody's work; null: nobody watched."},
    {"cpu_ns", "CPU Time", HOTPATH_UNIT_NS, HP_COLUMN_MAYBE, AT(cpu), "Its own processor time."},
    {"user_ns", "User", HOTPATH_UNIT_NS, HP_COLUMN_MAYBE, AT(user)},
    {"kernel_ns", "Kernel", HOTPATH_UNIT_NS, HP_COLUMN_MAYBE, AT(kernel)},
    {"samples", "Samples", HOTPATH_UNIT_COUNT, HP_COLUMN_MAYBE, AT(samples)},
    {"waiting_ns", "Waiting", HOTPATH_UNIT_NS, HP_COLUMN_MAYBE, AT(waiting),
     "self_ns without cpu_ns; where that was not sampled, as it was watched."},
    {"run_queue_ns", "Run Queue", HOTPATH_UNIT_NS, HP_COLUMN_MAYBE, AT(queue),
     "Of that, ready to run without a processor."},
    {"waits_for_ns", "For Time", HOTPATH_UNIT_NS, HP_COLUMN_MAYBE, AT(waits_for_ns),
     "Of that, for the cause in waits_for."},
    {"looks", "Looks", HOTPATH_UNIT_COUNT, HP_COLUMN_MAYBE, AT(looks), "How often it was found so."},
    {"own_bytes", "Own Bytes", HOTPATH_UNIT_BYTES, HP_COLUMN_MAYBE, AT(bytes)},
    {"own_count", "Own Allocs", HOTPATH_UNIT_COUNT, HP_COLUMN_MAYBE, AT(count)},
    {"location", "Location", HOTPATH_UNIT_TEXT, HP_COLUMN_LOCATION | HP_COLUMN_MAYBE, AT(location)},
    {"open", "Open", HOTPATH_UNIT_COUNT, 0, AT(open)},
    {"scaled", "Scaled", HOTPATH_UNIT_TEXT, 0, AT(scaled), HP_ABOUT_SCALED, .words = HP_SCALED_WORDS},
};

/* What becomes a row. */
struct entry {
    const struct hp_site_sums *site;
    double wall_ns;
    double work_ns;                /* the same without what is idle */
    const struct hp_cpu_sums *cpu; /* NULL: not sampled */
    const char *cause;             /* what it was seen to wait for most, or NULL */
    bool is_named;                 /* and that is most of why it waits */
    double cause_ns;
    uint64_t looks; /* that found it so */
    struct hp_site_allocs allocs;
    struct hp_evidence evidence;
    struct hp_judgement judgement;
};

struct view {
    struct hotpath_results *results;
    struct hotpath_section *section;
    const struct hp_cpu *cpu;         /* NULL: not sampled */
    const struct hp_cpu *used;        /* the same, or what was seen from outside; NULL: not known */
    bool is_unsampled;                /* it was to be, but hardly a sample came */
    const struct hp_run_waits *waits; /* NULL: nobody watched */
    const struct hp_allocs *allocs;   /* NULL: not counted */
    double whole_ns;                  /* what 100 % is: idle time is no part of it */
    double inside_ns;                 /* of that, in measured functions */
    double idle_ns;                   /* beside that */
    double observations;              /* samples or looks for a second */
    struct columns columns;
    struct entry **entries;
    size_t count;
};

/* Clocks say how much processor time was used, samples by whom: without them nothing is known of a function. */
static bool has_samples(const struct hp_cpu *cpu)
{
    const double due = (double)cpu->sampled_ns / SECOND * cpu->rate;
    return (double)cpu->total.samples >= HP_VERDICT_LEAST_SAMPLES || due < 2 * HP_VERDICT_LEAST_SAMPLES;
}

/* What has been measured beside time. */
static bool has_data(const struct hotpath_results *results)
{
    const struct hp_run *run = &results->model->run;
    return hp_run_has_cpu(run) || hp_run_has_allocs(run) || hp_run_has_waits(run);
}

static bool describe(struct view *view)
{
    const uint32_t facts = (view->cpu != NULL ? HAS_CPU : 0u) | (view->waits != NULL ? HAS_WAITS : 0u) |
                           (view->cpu != NULL || view->waits != NULL ? KNOWS_WAITING : 0u);
    return hp_section_describe(view->results, view->section, facts, &view->columns);
}

/* ---------------------------------------------------------------------------------------------- lines */

/* NULL: no memory. */
static const char *keep_line(const struct view *view, const struct hp_text *line)
{
    return hp_arena_copy(view->results->model->arena, line->bytes, line->length);
}

static void put_name(struct hp_text *line, const struct hp_site_sums *site)
{
    hp_utf8_put_safe(line, site->name, strlen(site->name));
}

/* "97 %" */
static void put_share(struct hp_text *line, double part)
{
    hp_text_fixed(line, 100 * part, 0);
    hp_text_string(line, " %");
}

static double part_of(double part, double whole) { return whole > 0 ? part / whole : 0; }

/* ------------------------------------------------------------------------------------------- waiting */

/* What says all of it alone: the system call would only say how. */
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
 * "sleep", "lock held in update", "lock: futex", "disk: /data/x.db". Numbers of pipes and sockets that have no better name tell nobody
 * anything.
 */
static const char *name_cause(const struct view *view, const struct hp_wait_sums *wait)
{
    char bytes[LINE_BYTES];
    struct hp_text line;
    const bool has_name = wait->what[0] != '\0' && strstr(wait->what, ":[") == NULL;
    const char *detail = has_name ? wait->what : hp_system_call_name(wait->call);
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_string(&line, hp_wait_cause_name(wait->cause));
    if (wait->other != NULL) {
        hp_text_string(&line, wait->cause == HP_WAIT_LOCK ? " held in " : " in ");
        put_name(&line, wait->other);
    } else if (!is_plain(wait->cause) && detail != NULL) {
        hp_text_string(&line, ": ");
        hp_utf8_put_safe(&line, detail, strlen(detail));
    }
    return keep_line(view, &line);
}

/* The sum of all that have a cause in common counts, not one long wait. */
static uint32_t largest_of(const uint64_t by_cause[HP_WAIT_CAUSES], bool has_queue)
{
    uint32_t largest = 0;
    for (uint32_t cause = 1; cause < HP_WAIT_CAUSES; cause++)
        if (by_cause[cause] > by_cause[largest] && (has_queue || cause != HP_WAIT_RUN_QUEUE))
            largest = cause;
    return largest;
}

/* Who idles does that for something; who does not may idle, too, and is not asked about that. */
static uint32_t largest_cause(const struct hp_site_waits *waits, bool has_queue, bool is_idle)
{
    uint64_t by_cause[HP_WAIT_CAUSES];
    for (uint32_t cause = 0; cause < HP_WAIT_CAUSES; cause++)
        by_cause[cause] =
            is_idle ? waits->idle_by_cause[cause] : waits->by_cause[cause] - waits->idle_by_cause[cause];
    const uint32_t largest = largest_of(by_cause, has_queue);
    return by_cause[largest] > 0 ? largest : largest_of(waits->by_cause, has_queue);
}

/* Of all that have that cause the longest gives it its name, and all its time counts. False: no memory. */
static bool find_cause(const struct view *view, struct entry *entry, const struct hp_site_waits *waits)
{
    /* Who waits for something has not been starved: there the run queue is what came on top. */
    const enum hp_verdict verdict = entry->judgement.verdict;
    const bool has_queue = verdict != HP_VERDICT_WAITING && verdict != HP_VERDICT_IDLE;
    const uint32_t cause = largest_cause(waits, has_queue, verdict == HP_VERDICT_IDLE);
    if (view->waits == NULL || waits->by_cause[cause] == 0)
        return true;
    for (size_t at = 0; at < view->waits->count; at++) {
        const struct hp_wait_sums *wait = view->waits->all[at];
        if (wait->site != entry->site || wait->cause != cause)
            continue;
        entry->looks += wait->looks;
        if (entry->cause == NULL && (entry->cause = name_cause(view, wait)) == NULL)
            return false;
    }
    entry->cause_ns = (double)waits->by_cause[cause];
    return true;
}

/* ------------------------------------------------------------------------------------------- entries */

/* How often somebody looked at a function that was there all the time. Samples of processor time are finer than looks. */
static double observations_of(const struct view *view)
{
    if (view->cpu != NULL) {
        const double rate = view->cpu->rate > 0 ? (double)view->cpu->rate : hp_cpu_achieved_rate(view->cpu);
        return view->cpu->has_timers && rate > TIMER_RATE ? TIMER_RATE : rate;
    }
    return view->waits != NULL && view->waits->watched_ns > 0
               ? (double)view->waits->looks * SECOND / (double)view->waits->watched_ns
               : 0;
}

/* Whether a share of its time means anything. */
static bool is_long_enough(const struct entry *entry)
{
    return entry->wall_ns > 0 && entry->evidence.samples_due >= HP_VERDICT_LEAST_SAMPLES;
}

/* Its own time is what the calls that were timed lead to. */
static bool is_scaled(const struct hp_site_sums *site) { return site->sums.untimed > 0 || site->is_self_scaled; }

static bool weigh(const struct view *view, struct entry *entry, size_t site)
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
        .is_wall_scaled = is_scaled(entry->site),
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
    entry->is_named = entry->cause != NULL && is_long_enough(entry) && entry->judgement.knows_waiting &&
                      entry->cause_ns > HP_VERDICT_NAMED_PART * entry->wall_ns &&
                      entry->cause_ns > HP_VERDICT_CAUSE_PART * entry->judgement.waiting_ns;
    return true;
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->work_ns != y->work_ns)
        return x->work_ns > y->work_ns ? -1 : 1;
    if (x->wall_ns != y->wall_ns)
        return x->wall_ns > y->wall_ns ? -1 : 1;
    const int order = strcmp(x->site->name, y->site->name);
    if (order != 0)
        return order;
    return hp_site_number(x->site) < hp_site_number(y->site) ? -1 : 1;
}

/* Coroutines that do not run are nobody's bottleneck: what others do meanwhile may be. */
static bool is_left_out(const struct view *view, const struct hp_site_sums *site)
{
    return site->kind == HOTPATH_KIND_SUSPENDED_ ||
           (view->results->settings->show.exclude_wrapper && site->is_main);
}

/*
 * The main function's time, or that of the run; where threads ran side by side, and so took more together, all that they took:
 * shares of one another's time then, which is what can be compared.
 */
static void set_whole(struct view *view)
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
static void leave_out_idle(struct view *view)
{
    view->inside_ns -= view->idle_ns;
    view->whole_ns -= view->idle_ns;
    if (view->whole_ns < view->inside_ns && view->idle_ns > 0)
        view->whole_ns = view->inside_ns;
}

/* What is known of each site, shown or not. NULL: no memory. */
static struct entry *weigh_all(struct view *view)
{
    const struct hp_profile *profile = view->results->model->profile;
    struct entry *entries =
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

/* Leaves what is to be shown, in order. False: no memory. */
static bool gather(struct view *view)
{
    const struct hp_profile *profile = view->results->model->profile;
    struct entry *entries = weigh_all(view);
    view->entries = hp_arena_take_array(view->results->model->arena, profile->site_count + 1, sizeof(void *));
    if (entries == NULL || view->entries == NULL)
        return false;
    for (size_t at = 0; at < profile->site_count; at++) {
        if (is_left_out(view, profile->sites[at]) || !hp_results_show(view->results, profile->sites[at]))
            continue;
        view->section->total_rows++;
        if (100 * part_of(entries[at].work_ns, view->whole_ns) >= view->results->settings->show.min_percent)
            view->entries[view->count++] = &entries[at];
    }
    hp_sort(view->entries, view->count, compare_entries);
    return true;
}

/* --------------------------------------------------------------------------------------------- reasons */

/* "busy for 3.10 s of its 3.20 s" */
static void put_of_own(struct hp_text *line, const char *what, double ns, const struct entry *entry)
{
    hp_text_string(line, what);
    hp_units_ns(line, ns);
    hp_text_string(line, " of its ");
    hp_units_ns(line, entry->wall_ns);
}

/* ", 97 % of that in user mode": the mode that has more. */
static void put_mode(struct hp_text *line, const struct entry *entry)
{
    if (entry->cpu == NULL || hp_cpu_ns(entry->cpu) == 0)
        return;
    const double user = part_of((double)entry->cpu->user_ns, (double)hp_cpu_ns(entry->cpu));
    hp_text_string(line, ", ");
    put_share(line, user >= 0.5 ? user : 1 - user);
    hp_text_string(line, user >= 0.5 ? " of that in user mode" : " of that in kernel mode");
}

/* Where there are few, how many samples that is. */
static void put_few(struct hp_text *line, uint64_t count, const char *one, const char *more)
{
    if (count >= FEW)
        return;
    hp_text_string(line, " (");
    hp_text_u64(line, count);
    hp_text_string(line, count == 1 ? one : more);
    hp_text_char(line, ')');
}

/* ": 2.03 s for sleep" */
static void put_cause(struct hp_text *line, const struct entry *entry)
{
    if (!entry->evidence.has_waits) {
        hp_text_string(line, "; for what is not known, 'hotpath run' tells");
        return;
    }
    if (entry->cause == NULL) {
        hp_text_string(line, "; nobody saw what for");
        return;
    }
    hp_text_string(line, entry->is_named ? ", " : "; only ");
    hp_units_ns(line, entry->cause_ns);
    hp_text_string(line, entry->is_named ? " of that for " : " of that were seen, for ");
    hp_text_string(line, entry->cause);
    put_few(line, entry->looks, " look", " looks");
}

static void put_allocs(struct hp_text *line, const struct entry *entry)
{
    const struct hp_judgement *judgement = &entry->judgement;
    const bool is_of_busy = judgement->knows_waiting && is_long_enough(entry);
    hp_text_u64(line, entry->allocs.own_count);
    hp_text_string(line, " allocations, ");
    hp_units_bytes(line, entry->allocs.own_bytes);
    hp_text_string(line, ", which take ");
    if (judgement->alloc_part < 0.95)
        put_share(line, judgement->alloc_part);
    else
        hp_text_string(line, "nearly all");
    hp_text_string(line, is_of_busy ? " of the " : " of its ");
    hp_units_ns(line, is_of_busy ? judgement->busy_ns : entry->wall_ns);
    hp_text_string(line, is_of_busy ? " that it is busy" : "");
}

/* Where both were looked for, and little of either was found: the time itself is in doubt. */
static bool is_guessed(const struct entry *entry)
{
    return entry->judgement.verdict == HP_VERDICT_UNKNOWN && entry->evidence.is_wall_scaled &&
           entry->evidence.has_cpu;
}

static void put_found(struct hp_text *line, const struct hp_judgement *judgement)
{
    hp_text_string(line, " are scaled up from the calls that were timed; work was found for ");
    hp_units_ns(line, judgement->busy_ns);
    if (!judgement->knows_waiting)
        return;
    hp_text_string(line, ", waiting for ");
    hp_units_ns(line, judgement->waiting_ns);
}

static void put_reason(struct hp_text *line, const struct entry *entry)
{
    const struct hp_judgement *judgement = &entry->judgement;
    switch (judgement->verdict) {
    case HP_VERDICT_CPU_BOUND:
        put_of_own(line, entry->evidence.has_cpu ? "busy for " : "not found waiting for ", judgement->busy_ns,
                   entry);
        put_mode(line, entry);
        if (entry->cpu != NULL)
            put_few(line, entry->cpu->samples, " sample", " samples");
        break;
    case HP_VERDICT_WAITING:
        put_of_own(line, "waiting for ", judgement->waiting_ns, entry);
        put_cause(line, entry);
        break;
    case HP_VERDICT_IDLE:
        put_of_own(line, "idle for ", judgement->idle_ns, entry);
        put_cause(line, entry);
        break;
    case HP_VERDICT_ALLOCATION_HEAVY:
        put_allocs(line, entry);
        break;
    case HP_VERDICT_STARVED:
        put_of_own(line, "ready to run, without a processor, for ", judgement->queue_ns, entry);
        hp_text_string(line, "; busy for ");
        hp_units_ns(line, judgement->busy_ns);
        break;
    case HP_VERDICT_MIXED:
        put_of_own(line, "busy for ", judgement->busy_ns, entry);
        hp_text_string(line, ", waiting for ");
        hp_units_ns(line, judgement->waiting_ns);
        put_cause(line, entry);
        break;
    case HP_VERDICT_TOO_SHORT:
        hp_text_string(line, "its ");
        hp_units_ns(line, entry->wall_ns);
        hp_text_string(line, " are too short to tell, at ");
        hp_text_fixed(line, part_of(entry->evidence.samples_due, entry->wall_ns / SECOND), 0);
        hp_text_string(line, entry->evidence.has_cpu ? " samples a second" : " looks a second");
        break;
    case HP_VERDICT_UNKNOWN:
    case HP_VERDICTS:
        hp_text_string(line, "its ");
        hp_units_ns(line, entry->wall_ns);
        if (is_guessed(entry))
            put_found(line, judgement);
        else
            hp_text_string(line, " may be work or waiting: HOTPATH_CPU=1 tells, and so does 'hotpath run'");
        break;
    }
}

/* ------------------------------------------------------------------------------------------------ rows */

static void fill_times(const struct view *view, struct hp_row *row, const struct entry *entry)
{
    const struct columns *columns = &view->columns;
    const struct hp_judgement *judgement = &entry->judgement;
    hp_section_set_number(row, columns->self, entry->wall_ns);
    hp_section_set_number(row, columns->work, entry->work_ns);
    if (view->waits != NULL)
        hp_section_set_number(row, columns->idle, judgement->idle_ns);
    if (view->whole_ns > 0)
        hp_section_set_number(row, columns->wall_percent, 100 * entry->work_ns / view->whole_ns);
    if (entry->cpu != NULL) {
        hp_section_set_number(row, columns->cpu, (double)hp_cpu_ns(entry->cpu));
        hp_section_set_number(row, columns->user, (double)entry->cpu->user_ns);
        hp_section_set_number(row, columns->kernel, (double)entry->cpu->kernel_ns);
        hp_section_set_count(row, columns->samples, entry->cpu->samples);
        if (is_long_enough(entry))
            hp_section_set_number(row, columns->cpu_percent, 100 * judgement->busy_ns / entry->wall_ns);
    }
    if (!judgement->knows_waiting)
        return;
    hp_section_set_number(row, columns->waiting, judgement->waiting_ns);
    if (is_long_enough(entry))
        hp_section_set_number(row, columns->waiting_percent, 100 * judgement->waiting_ns / entry->wall_ns);
    if (view->waits != NULL)
        hp_section_set_number(row, columns->queue, judgement->queue_ns);
    if (entry->is_named) {
        hp_section_set_text(row, columns->waits_for, entry->cause);
        hp_section_set_number(row, columns->waits_for_ns, entry->cause_ns);
        hp_section_set_count(row, columns->looks, entry->looks);
    }
}

static void fill_allocs(const struct view *view, struct hp_row *row, const struct entry *entry)
{
    const struct columns *columns = &view->columns;
    if (view->allocs == NULL)
        return;
    hp_section_set_count(row, columns->bytes, entry->allocs.own_bytes);
    hp_section_set_count(row, columns->count, entry->allocs.own_count);
    hp_section_set_number(row, columns->alloc_percent,
                          100 * part_of((double)entry->allocs.own_bytes, (double)view->allocs->totals.bytes));
}

static bool fill_row(void *context, struct hp_row *row, const void *about)
{
    const struct view *view = context;
    const struct entry *entry = about;
    char bytes[LINE_BYTES];
    struct hp_text line;
    const struct columns *columns = &view->columns;
    hp_text_init(&line, bytes, sizeof bytes);
    put_reason(&line, entry);
    const char *why = keep_line(view, &line);
    if (why == NULL)
        return false;
    hp_section_set_text(row, columns->name, entry->site->name);
    row->id = hp_identity_of_site(entry->site);
    hp_section_set_text(row, columns->verdict, hp_verdict_name(entry->judgement.verdict));
    hp_section_set_text(row, columns->why, why);
    hp_section_set_count(row, columns->open, entry->site->sums.open);
    row->is_open = entry->site->sums.open > 0;
    row->is_self_sampled = is_scaled(entry->site);
    hp_section_set_text(row, columns->scaled, hp_share_scaled_name(row->is_self_sampled, false));
    fill_times(view, row, entry);
    fill_allocs(view, row, entry);
    return hp_section_set_location(view->results, row, columns->location, &entry->site->location);
}

static uint32_t limit_of(const struct hp_settings *settings)
{
    return settings->show.functions_limit_is_given ? settings->show.functions_limit : ROWS;
}

static bool fill_rows(struct view *view)
{
    return hp_order_fill(view->results, view->section, limit_of(view->results->settings),
                         (const void *const *)view->entries, view->count, fill_row, view);
}

/* ------------------------------------------------------------------------------------ above and below */

/* "waiting (lock: futex)" */
static void put_verdict(struct hp_text *line, const struct entry *entry)
{
    const enum hp_verdict verdict = entry->judgement.verdict;
    hp_text_string(line, verdict == HP_VERDICT_MIXED     ? "busy as well as waiting"
                         : verdict == HP_VERDICT_STARVED ? "starved of processors"
                                                         : hp_verdict_name(verdict));
    const bool has_cause =
        verdict == HP_VERDICT_WAITING || verdict == HP_VERDICT_MIXED || verdict == HP_VERDICT_IDLE;
    if (has_cause && entry->is_named) {
        hp_text_string(line, " (");
        hp_text_string(line, entry->cause);
        hp_text_char(line, ')');
    }
}

/* The site with the most processor time, which may have few of the rest. NULL: samples are too few. */
static const struct entry *busiest(const struct view *view)
{
    const struct entry *busiest = NULL;
    for (size_t at = 0; at < view->count; at++)
        if (busiest == NULL || view->entries[at]->evidence.cpu_ns > busiest->evidence.cpu_ns)
            busiest = view->entries[at];
    return busiest != NULL && view->cpu != NULL && (double)busiest->cpu->samples >= HP_VERDICT_LEAST_SAMPLES
               ? busiest
               : NULL;
}

/* Who asks what a processor is busy with has another answer: ". Of the processor time, 94 % is in sync_work" */
static void put_busiest(const struct view *view, struct hp_text *line, const struct entry *first)
{
    const struct entry *other = busiest(view);
    if (view->cpu == NULL || other == NULL || other == first)
        return;
    hp_text_string(line, ". Of the processor time, ");
    put_share(line, part_of(other->evidence.cpu_ns, (double)hp_cpu_ns(&view->cpu->total)));
    hp_text_string(line, " is in ");
    put_name(line, other->site);
}

/* --- the first line */

/* What is outside of all measured functions, as far as it was seen. */
struct outside {
    double cpu_ns;
    double waiting_ns;
    double idle_ns;
};

static struct outside outside_of(const struct view *view)
{
    struct outside outside = {0};
    struct hp_site_waits waits;
    if (view->cpu != NULL)
        outside.cpu_ns = (double)hp_cpu_ns(&view->cpu->outside);
    if (view->waits == NULL)
        return outside;
    hp_waits_of_site(view->waits, NULL, &waits);
    outside.waiting_ns = (double)(waits.ns - waits.idle_ns);
    outside.idle_ns = (double)waits.idle_ns;
    return outside;
}

/* The part of the run in which there was less work than one thread does; 0: there was enough of it. */
static double idle_part_of_run(const struct view *view, const struct outside *outside)
{
    const double elapsed = (double)hp_run_elapsed_ns(&view->results->model->run);
    const double work = view->inside_ns + outside->cpu_ns + outside->waiting_ns;
    const bool is_idle = view->waits != NULL && view->idle_ns + outside->idle_ns >= HP_VERDICT_IDLE_RUN * elapsed &&
                         work < HP_VERDICT_IDLE_RUN * elapsed;
    return is_idle ? 1 - part_of(work, elapsed) : 0;
}

/* Who waits for a thread waits for what that one waits for: the end of such a chain comes from outside of the program. */
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

/* What a program idles for. */
struct idling {
    const struct hp_site_sums *site; /* NULL: outside */
    uint32_t cause;
    uint64_t ns; /* 0: for nothing yet */
};

/* Short ones are nobody's reason, however deep. */
static void find_deeper(const struct view *view, const struct hp_site_sums *site, struct idling *deepest)
{
    const uint64_t least = hp_run_elapsed_ns(&view->results->model->run) / 4;
    struct hp_site_waits waits;
    hp_waits_of_site(view->waits, site, &waits);
    for (uint32_t cause = 0; cause < HP_WAIT_CAUSES; cause++) {
        const uint64_t idle_ns = waits.idle_by_cause[cause];
        /* To be without a processor when a wait is over is no reason to idle, however long on a busy machine. */
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

/* "poll: epoll_wait", by the longest of them. NULL: no memory. */
static const char *name_idling(const struct view *view, const struct idling *idling)
{
    for (size_t at = 0; view->waits != NULL && at < view->waits->count; at++) {
        const struct hp_wait_sums *wait = view->waits->all[at];
        if (wait->site == idling->site && wait->cause == idling->cause)
            return name_cause(view, wait);
    }
    return hp_wait_cause_name(idling->cause);
}

/* "The program is idle for 93 % of the time: serve waits (poll: epoll_wait)" */
static bool put_idle(struct hp_text *line, const struct view *view, double part)
{
    struct idling idling = {0};
    find_deeper(view, NULL, &idling);
    for (size_t at = 0; at < view->results->model->profile->site_count; at++)
        find_deeper(view, view->results->model->profile->sites[at], &idling);
    const char *cause = name_idling(view, &idling);
    hp_text_string(line, idling.cause == HP_WAIT_CHILD ? "The program waits for a child for "
                                                       : "The program is idle for ");
    put_share(line, part);
    hp_text_string(line, " of the time: ");
    if (idling.site != NULL)
        put_name(line, idling.site);
    else
        hp_text_string(line, "it");
    hp_text_string(line, " waits (");
    hp_text_string(line, cause != NULL ? cause : "");
    hp_text_char(line, ')');
    return cause != NULL;
}

static bool is_told(const struct entry *entry)
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

/* If it is not the first one: " in the process sort", " in the processes of cc1", " in a child process". */
static void put_process(struct hp_text *line, const struct view *view, size_t session, bool is_one_of_many)
{
    const struct hp_run *run = &view->results->model->run;
    if (session == 0 || session >= run->count)
        return;
    const char *name = program_of(run, session);
    if (name[0] == '\0' || is_same_program(run, session, 0)) {
        hp_text_string(line, is_one_of_many ? " in child processes" : " in a child process");
        return;
    }
    hp_text_string(line, is_one_of_many ? " in the processes of " : " in the process ");
    hp_utf8_put_safe(line, name, strlen(name));
}

/* What its share is of. */
static const char *measure_of(const struct view *view)
{
    return view->idle_ns > HP_VERDICT_IDLE_SAID * (view->whole_ns + view->idle_ns)
               ? " of the time that is not idle, "
               : " of the time, ";
}

/* "async_sleep: 75 % of the time, waiting (sleep)" */
static void put_entry(struct hp_text *line, const struct view *view, const struct entry *entry)
{
    put_name(line, entry->site);
    put_process(line, view, entry->site->session, false);
    hp_text_string(line, ": ");
    put_share(line, part_of(entry->work_ns, view->whole_ns));
    hp_text_string(line, measure_of(view));
    if (is_told(entry))
        put_verdict(line, entry);
    else
        hp_text_string(line, entry->judgement.verdict == HP_VERDICT_TOO_SHORT ? "too short to tell what it does"
                             : is_guessed(entry)
                                 ? "scaled up from few calls; neither work nor waiting was found in most of it"
                                 : "whether busy or waiting was not measured");
}

/* "The bottleneck is async_sleep: 75 % of the time, waiting (sleep)" */
static void put_first(struct hp_text *line, const struct view *view, const struct entry *first, bool is_second)
{
    hp_text_string(line, is_second                                       ? "Inside of them it is "
                         : is_told(first)                                ? "The bottleneck is "
                         : part_of(first->work_ns, view->whole_ns) > 0.5 ? "Most of the time is spent in "
                                                                         : "More time than elsewhere is spent in ");
    put_entry(line, view, first);
}

/* Processor time of a process without measured functions; 0: it has some. */
static double unmeasured_ns(const struct view *view, size_t session)
{
    const struct hp_header *header = &view->results->model->run.sessions[session]->header;
    const bool has_calls = view->results->model->profile->sessions[session].calls != 0;
    return has_calls ? 0 : (double)(header->cpu_latest_ns - header->cpu_start_ns);
}

/*
 * A session of the program without measured functions that used most of that much, in one process or many; 0: the first one, or none.
 * Who has more than all others together is found by letting each take from the one in front what it has.
 */
static size_t busiest_program(const struct view *view, double ns, bool *ret_is_one_of_many)
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
        processes += its > 0;
    }
    *ret_is_one_of_many = processes > 1;
    return 2 * sum > ns ? front : 0;
}

/*
 * Where more is going on outside of measured functions than in any of them. True: processor time is used there, so that the
 * bottleneck is there.
 */
static bool put_outside(struct hp_text *line, const struct view *view, const struct outside *outside,
                        const struct entry *first)
{
    const double total_cpu_ns = view->cpu != NULL ? (double)hp_cpu_ns(&view->cpu->total) : 0;
    const double outside_ns = view->whole_ns - view->inside_ns - outside->idle_ns;
    if (outside->cpu_ns + outside->waiting_ns > first->work_ns && 2 * outside->cpu_ns > total_cpu_ns) {
        bool is_one_of_many;
        const size_t busiest = busiest_program(view, outside->cpu_ns, &is_one_of_many);
        hp_text_string(line, "The bottleneck is outside of all measured functions,");
        put_process(line, view, busiest, is_one_of_many);
        hp_text_string(line, line->bytes[line->length - 1] == ',' ? " with " : ", with ");
        put_share(line, part_of(outside->cpu_ns, total_cpu_ns));
        hp_text_string(line, " of the processor time. ");
        return true;
    }
    if (outside_ns > first->work_ns) {
        put_share(line, part_of(outside_ns, view->whole_ns));
        hp_text_string(line, " of the time is outside of all measured functions. ");
    }
    return false;
}

/* "waited 3.74 s", or of more threads than one at a time "2.3 of its threads waited at any time" */
static void put_waited(struct hp_text *line, const struct view *view, double waited_ns)
{
    const double elapsed = (double)hp_run_elapsed_ns(&view->results->model->run);
    if (waited_ns <= elapsed || elapsed <= 0) {
        hp_text_string(line, "waited ");
        hp_units_ns(line, waited_ns);
        return;
    }
    hp_text_string(line, "had ");
    hp_text_fixed(line, waited_ns / elapsed, 1);
    hp_text_string(line, " threads waiting on average");
}

/* Whether samples are enough to tell whose the time is. */
static bool has_sampled_stacks(const struct view *view)
{
    const struct hp_function_profile *functions = view->results->model->functions;
    return functions != NULL && (double)functions->samples >= HP_VERDICT_LEAST_SAMPLES;
}

static double waiting_work(const struct hp_found_function *function)
{
    return (double)(function->waiting_ns - function->idle_ns);
}

/* The same of waiting: so often somebody has looked at it meanwhile. */
static bool is_long_wait(double ns) { return ns >= HP_VERDICT_LEAST_SAMPLES * 1e3 * (double)HP_WATCH_PERIOD_US; }

static bool is_waiter(const struct hp_found_function *function)
{
    return waiting_work(function) > (double)(function->user_ns + function->kernel_ns);
}

/* Whom stacks found running or waiting for longest by itself; NULL: they are too few to tell, or there are none. */
static const struct hp_found_function *first_function(const struct view *view)
{
    const struct hp_function_profile *functions = view->results->model->functions;
    for (size_t at = 0; functions != NULL && at < functions->count; at++) {
        const struct hp_found_function *function = &functions->all[at];
        if (is_waiter(function) ? is_long_wait(waiting_work(function))
                                : has_sampled_stacks(view) && function->name[0] != '<')
            return function;
    }
    return NULL;
}

/* 0: nobody knows. */
static double used_by_program(const struct view *view)
{
    if (view->used != NULL && hp_cpu_ns(&view->used->total) > 0)
        return (double)hp_cpu_ns(&view->used->total);
    return has_sampled_stacks(view) ? (double)view->results->model->functions->cpu_ns : 0;
}

/* "80 % of the time, waiting (pipe). " */
static void put_waiter(struct hp_text *line, const struct view *view, const struct hp_found_function *function)
{
    const struct hp_function_profile *functions = view->results->model->functions;
    const double work = used_by_program(view) + (double)(functions->waited_ns - functions->idle_ns);
    const bool has_idle = (double)functions->idle_ns > HP_VERDICT_IDLE_SAID * (work + (double)functions->idle_ns);
    put_share(line, part_of(waiting_work(function), work));
    hp_text_string(line, has_idle ? " of the time that is not idle, waiting" : " of the time, waiting");
    if (function->waits_for != NULL) {
        hp_text_string(line, " (");
        hp_utf8_put_safe(line, function->waits_for, function->waits_for_length);
        hp_text_char(line, ')');
    }
    hp_text_string(line, ". ");
}

/* "The bottleneck is parse in libxml2.so.2: 38 % of the processor time is its own. " */
static void put_function(struct hp_text *line, const struct view *view, const struct hp_found_function *function)
{
    hp_text_string(line, "The bottleneck is ");
    hp_utf8_put_safe(line, function->name, strlen(function->name));
    if (function->library[0] != '\0') {
        hp_text_string(line, " in ");
        hp_utf8_put_safe(line, function->library, strlen(function->library));
    }
    hp_text_string(line, ": ");
    if (is_waiter(function)) {
        put_waiter(line, view, function);
        return;
    }
    put_share(line, part_of((double)(function->user_ns + function->kernel_ns),
                            (double)view->results->model->functions->cpu_ns));
    hp_text_string(line, " of the processor time is its own. ");
}

/* "The program used 1.32 s of processor time and waited 3.74 s, longest for run queue" */
static void put_program(struct hp_text *line, const struct view *view)
{
    struct hp_site_waits waits = {0};
    const double used_ns = used_by_program(view);
    const bool has_used = used_ns > 0;
    if (view->waits != NULL)
        hp_waits_of_site(view->waits, NULL, &waits);
    const uint64_t waited_ns = waits.ns - waits.idle_ns;
    if (!has_used && waited_ns == 0)
        return;
    const struct hp_found_function *first = first_function(view);
    if (first != NULL && (is_waiter(first) || used_ns >= HP_VERDICT_BUSY_PART * (used_ns + (double)waited_ns)))
        put_function(line, view, first);
    hp_text_string(line, "The program ");
    if (has_used) {
        hp_text_string(line, "used ");
        hp_units_ns(line, used_ns);
        hp_text_string(line, " of processor time");
    }
    if (waited_ns == 0)
        return;
    hp_text_string(line, has_used ? " and " : "");
    put_waited(line, view, (double)waited_ns);
    hp_text_string(line, ", longest for ");
    hp_text_string(line, hp_wait_cause_name(largest_cause(&waits, true, false)));
}

/* What idles is no bottleneck, whatever else it does, while there is another row. */
static const struct entry *first_at_work(const struct view *view)
{
    for (size_t at = 0; at < view->count; at++)
        if (view->entries[at]->judgement.verdict != HP_VERDICT_IDLE)
            return view->entries[at];
    return view->entries[0];
}

static void put_work(struct hp_text *line, const struct view *view, const struct outside *outside)
{
    if (view->results->model->profile->site_count == 0) {
        put_program(line, view);
        return;
    }
    const struct entry *first = first_at_work(view);
    const bool is_second = put_outside(line, view, outside, first);
    put_first(line, view, first, is_second);
    if (!is_second)
        put_busiest(view, line, first);
}

/* Beside what it idles for: ". Of the rest, ..." */
static void put_rest(struct hp_text *line, const struct view *view)
{
    if (view->count == 0) {
        const size_t before = line->length;
        hp_text_string(line, ". ");
        put_program(line, view);
        line->length = line->length == before + 2 ? before : line->length;
        return;
    }
    const struct entry *first = first_at_work(view);
    if (!is_told(first) || first->judgement.verdict == HP_VERDICT_IDLE)
        return;
    hp_text_string(line, ". Otherwise, the bottleneck is ");
    put_entry(line, view, first);
}

static bool set_summary(struct view *view)
{
    char bytes[LINE_BYTES];
    struct hp_text line;
    const struct outside outside = outside_of(view);
    const double idle_part = idle_part_of_run(view, &outside);
    if (view->results->model->profile->site_count > 0 && view->count == 0)
        return true;
    hp_text_init(&line, bytes, sizeof bytes);
    if (idle_part == 0)
        put_work(&line, view, &outside);
    else if (!put_idle(&line, view, idle_part))
        return false;
    else
        put_rest(&line, view);
    if (line.length == 0)
        return true;
    view->section->summary = view->results->headline = keep_line(view, &line);
    return view->section->summary != NULL;
}

static void add_notes(struct view *view)
{
    struct hotpath_section *section = view->section;
    const bool knows_waiting = view->cpu != NULL || view->waits != NULL;
    bool has_open = false, has_scaled = false;
    for (size_t at = 0; at < section->row_count; at++) {
        has_open |= section->rows[at].is_open;
        has_scaled |= section->rows[at].is_self_sampled;
    }
    if (has_open)
        hp_section_note(section, hp_share_open_note(view->results->model->profile));
    if (has_scaled)
        hp_share_note_scaled(view->results->model->profile, section);
    if (section->row_count > 0)
        hp_section_note(section, !knows_waiting ? "Wall % is a function's own time, Alloc % its own bytes, of all"
                                 : view->allocs != NULL
                                     ? "Wall % is a function's own time, Alloc % its own bytes, of all; CPU % and "
                                       "Wait % are parts of its own time"
                                     : "Wall % is a function's own time, of all; CPU % and Wait % are parts of it");
    if (view->is_unsampled && !has_sampled_stacks(view))
        hp_section_note(section, "processor time is left out: there are too few samples of it to say whose it was");
    if (strcmp(section->percent_of, "threads") == 0)
        hp_section_note(section, "100 % is the time of all threads together");
}

/* ------------------------------------------------------------------------------------------- section */

/* In a sandbox samples end. One process among others does not matter much, if it is a small one. */
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
static bool take_measures(struct view *view)
{
    struct hotpath_results *results = view->results;
    const struct hp_run *run = &results->model->run;
    const bool is_whole = run->stretch == NULL; /* there is no history of the others */
    const bool has_cpu = is_whole && hp_run_has_cpu(run), has_allocs = is_whole && hp_run_has_allocs(run);
    const struct hp_cpu *cpu = has_cpu ? hp_model_cpu(results->model) : NULL;
    view->is_unsampled = cpu != NULL && (!has_samples(cpu) || is_mostly_shut_in(run));
    view->used = view->is_unsampled ? NULL : cpu;
    view->cpu = view->used != NULL && hp_cpu_is_sampled(cpu) ? cpu : NULL;
    view->waits = hp_run_has_waits(run) ? hp_model_waits(results->model) : NULL;
    view->allocs = has_allocs ? hp_model_allocs(results->model) : NULL;
    view->observations = observations_of(view);
    return (cpu != NULL || !has_cpu) && (view->waits != NULL || !hp_run_has_waits(run)) &&
           (view->allocs != NULL || !has_allocs);
}

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    struct view view = {.results = results, .section = section};
    section->description = "Where the time goes, and why.";
    if (!take_measures(&view))
        return false;
    if (!describe(&view) || !hp_order_choose(results, section, view.columns.work, view.columns.wall_percent))
        return false;
    set_whole(&view);
    if (!has_data(results)) {
        section->if_empty =
            "nothing but time was measured: HOTPATH_CPU=1 samples processor time, 'hotpath run' also "
            "what is waited for and allocated";
        return hp_section_make_rows(results, section, 0);
    }
    if (!gather(&view))
        return false;
    section->main = results->model->profile->main != NULL ? results->model->profile->main->name : NULL;
    section->if_empty = hp_section_why_empty(
        section, results->model->profile->site_count,
        first_function(&view) != NULL ? "no function was measured; the next table has those that stacks found. "
                                        "Was the program compiled with -DHOTPATH?"
                                      : "no function was measured, so nobody knows where in it");
    if (!set_summary(&view) || !fill_rows(&view))
        return false;
    add_notes(&view);
    return true;
}

const struct hp_section_type hp_section_bottlenecks = {
    .name = "bottlenecks",
    .has_history = true,
    .is_left_out_empty = true,
    .has_data = has_data,
    .fill = fill,
    HP_COLUMNS(column_table),
    .about = "The functions that take the most time by themselves, and what they do with it; there where more than "
             "time was measured. The rules are in docs/verdict.md.",
    .about_row = "A function without measured ones inside, over all threads. What was not measured is null.",
    .always = "percent_of|order"};
