/* The watched program. SPDX-License-Identifier: MIT */
#include "watched.h"

#include <stdio.h>
#include <string.h>

#include "alloc_profile.h"
#include "arena.h"
#include "arith.h"
#include "cpu_profile.h"
#include "demangle.h"
#include "identity.h"
#include "profile.h"
#include "task_layout.h"
#include "task_profile.h"
#include "text.h"
#include "thread_usage_profile.h"
#include "time_range.h"
#include "trust.h"
#include "wait_cause.h"

#define SECOND 1e9

/* -------------------------------------------------------------------------------------------- sessions */

void hp_watched_init(struct hp_watched *watched, const struct hp_settings *settings, const char *path)
{
    memset(watched, 0, sizeof *watched);
    hp_found_open(&watched->found, path);
    hp_settings_copy(&watched->whole_settings, settings);
    hp_settings_copy(&watched->range_settings, settings);
    hp_reader_open(&watched->reader, hp_demangle);
}

bool hp_watched_has(const struct hp_watched *watched, const char *path)
{
    for (size_t at = 0; at < watched->reader.count; at++)
        if (strcmp(watched->reader.sessions[at]->path, path) == 0)
            return true;
    return false;
}

bool hp_watched_add(struct hp_watched *watched, const char *path)
{
    if (!hp_reader_add(&watched->reader, path)) {
        snprintf(watched->problem, sizeof watched->problem, "%s", watched->reader.problem);
        return false;
    }
    watched->is_open = true;
    return true;
}

void hp_watched_close(struct hp_watched *watched)
{
    hp_reader_close(&watched->reader);
    hp_found_close(&watched->found);
    hp_side_watch_free(&watched->side_watch);
    watched->locks = NULL;
    watched->is_open = watched->has_data = false;
}

/* --------------------------------------------------------------------------------------------- sections */

const struct hotpath_section *hp_watched_section(const hotpath_results *results, const char *name)
{
    for (size_t at = 0; results != NULL && at < results->section_count; at++)
        if (strcmp(results->sections[at]->name, name) == 0)
            return results->sections[at];
    return NULL;
}

static void set_text(char *to, size_t size, const char *from)
{
    const size_t length = strlen(from) < size ? strlen(from) : size - 1;
    memcpy(to, from, length);
    to[length] = '\0';
}

/* All rows, in their default order: views decide which are shown, and how. */
static void settle(struct hp_settings *settings, const char *sections, const struct hp_request *request)
{
    struct hp_show_settings *show = &settings->show;
    set_text(show->report, sizeof show->report, sections);
    set_text(show->slowest, sizeof show->slowest, request->slowest);
    show->functions_limit = show->calltree_limit = HOTPATH_NO_LIMIT;
    show->functions_limit_is_given = true;
    show->columns[0] = show->sort[0] = '\0';
    show->percentiles[0] = 50;
    show->percentiles[1] = 95;
    show->percentiles[2] = 99;
    show->percentile_count = 3;
    show->by = HP_BY_FUNCTION;
    show->min_percent = 0;
    show->time_exclusive = false;
}

static const hotpath_results *make(struct hp_watched *watched, struct hp_settings *settings, const char *first,
                                   const char *others, const struct hp_request *request)
{
    char names[sizeof settings->show.report];
    snprintf(names, sizeof names, "%s%s%s", first, first[0] != '\0' && others[0] != '\0' ? "," : "", others);
    settle(settings, names, request);
    return hp_results_of_model(hp_reader_model(&watched->reader), settings);
}

/* ----------------------------------------------------------------------------------------------- parts */

/* The idle part of a node's waiting, by the model's rules for a time range. */
static double idle_of(uint32_t cause, bool is_other_in_run, double ns, double beside_ns)
{
    static const struct hp_wait_end other = {.is_own = false};
    const struct hp_wait_sums wait = {.cause = cause,
                                      .end = is_other_in_run ? &other : NULL,
                                      .ns = (uint64_t)ns,
                                      .beside_ns = (uint64_t)(beside_ns < ns ? beside_ns : ns)};
    return (double)hp_wait_idle_ns(&wait);
}

static void add_place(const struct hp_watched *watched, const struct hp_run_axis *axis, uint32_t number,
                      uint32_t cause, bool is_other_in_run, double (*values)[HP_HISTORY_COLUMNS])
{
    const struct hp_history *history = &watched->history;
    double ns[HP_HISTORY_COLUMNS] = {0}, beside[HP_HISTORY_COLUMNS] = {0};
    if (!hp_history_add(history, HP_AXIS_PLACE, axis->session, number, 1, ns))
        return;
    hp_history_add(history, HP_AXIS_BESIDE, axis->session, number, 1, beside);
    for (unsigned column = 0; column < history->columns; column++) {
        const double idle = idle_of(cause, is_other_in_run, ns[column], beside[column]);
        values[hp_part_of_cause(cause)][column] += (ns[column] - idle) / SECOND;
        values[HP_PARTS][column] += idle / SECOND;
    }
}

void hp_watched_parts_history(const struct hp_watched *watched, double (*values)[HP_HISTORY_COLUMNS])
{
    const struct hp_history *history = &watched->history;
    double kernel[HP_HISTORY_COLUMNS] = {0};
    hp_history_add(history, HP_AXIS_CPU, HP_HISTORY_ALL, 0, 1 / SECOND, values[HP_PART_USER]);
    hp_history_add(history, HP_AXIS_KERNEL, HP_HISTORY_ALL, 0, 1 / SECOND, kernel);
    for (unsigned column = 0; column < history->columns; column++) {
        values[HP_PART_USER][column] -= kernel[column];
        values[HP_PART_KERNEL][column] += kernel[column];
    }
    for (size_t at = 0; at < history->count; at++) {
        const struct hp_snapshot *session = history->run->sessions[history->axes[at].session];
        struct hp_walk walk = {0};
        struct hp_wait wait;
        while (hp_snapshot_next_wait(session, &walk, &wait) && walk.index < HP_AXIS_WAITS)
            add_place(watched, &history->axes[at], walk.index,
                      wait.cause < HP_WAIT_CAUSES ? wait.cause : (uint32_t)HP_WAIT_OTHER,
                      wait.peer != 0 && wait.peer != session->header.pid, values);
    }
}

/* What all threads together did in the window. */
static void add_up_parts(struct hp_watched *watched, double window_ns)
{
    for (size_t at = 0; watched->waits != NULL && at < watched->waits->count; at++) {
        const struct hp_wait_sums *wait = watched->waits->all[at];
        const double idle = (double)hp_wait_idle_ns(wait);
        watched->parts[hp_part_of_cause(wait->cause)] += ((double)wait->ns - idle) / window_ns;
        watched->idle += idle / window_ns;
    }
    if (watched->waits != NULL)
        watched->parts[HP_PART_SLEEP] += (double)watched->waits->left_out_ns / window_ns;
}

static void add_up_cpu(struct hp_watched *watched, double window_ns)
{
    const struct hp_history *history = &watched->history;
    struct hp_model *model = hp_reader_model(&watched->reader);
    double cpu = 0, kernel = 0;
    if (!watched->is_whole) {
        cpu = hp_history_gain(history, HP_AXIS_CPU, 0, watched->from_ns, watched->to_ns);
        kernel = hp_history_gain(history, HP_AXIS_KERNEL, 0, watched->from_ns, watched->to_ns);
    } else if (hp_run_has_cpu(&model->run) && hp_model_cpu(model) != NULL) {
        cpu = (double)hp_cpu_ns(&hp_model_cpu(model)->total);
        kernel = (double)hp_model_cpu(model)->total.kernel_ns;
    } else {
        return;
    }
    watched->has_cpus = true;
    watched->cpus = cpu / window_ns;
    watched->parts[HP_PART_USER] = (cpu - kernel) / window_ns;
    watched->parts[HP_PART_KERNEL] = kernel / window_ns;
}

/* ------------------------------------------------------------------------------------------- functions */

/* Rows of bottlenecks, by their identities. */
struct row_table {
    const struct hp_row **places;
    size_t mask;
};

static bool index_rows(struct hp_arena *arena, const struct hotpath_section *section, struct row_table *ret_table)
{
    size_t size = 16;
    while (section != NULL && size < 2 * section->row_count)
        size *= 2;
    ret_table->places = hp_arena_take_array(arena, size, sizeof(void *));
    ret_table->mask = size - 1;
    for (size_t row = 0; ret_table->places != NULL && section != NULL && row < section->row_count; row++) {
        size_t at = (size_t)section->rows[row].id & ret_table->mask;
        while (ret_table->places[at] != NULL)
            at = (at + 1) & ret_table->mask;
        ret_table->places[at] = &section->rows[row];
    }
    return ret_table->places != NULL;
}

static const struct hp_row *find_row(const struct row_table *table, uint64_t id)
{
    size_t at = (size_t)id & table->mask;
    while (table->places[at] != NULL && table->places[at]->id != id)
        at = (at + 1) & table->mask;
    return table->places[at];
}

/* Columns of bottlenecks that are read. */
struct places {
    size_t percent, work, verdict, cause, why;
};

static size_t column_of(const struct hotpath_section *section, const char *key)
{
    return section != NULL ? hp_section_find_column(section, key, strlen(key)) : 0;
}

static const struct hp_cell *cell_of(const struct hotpath_section *section, const struct hp_row *row, size_t column)
{
    static const struct hp_cell none;
    return row != NULL && section != NULL && column < section->column_count ? &row->cells[column] : &none;
}

static void judge(struct hp_watched_function *function, const struct hotpath_section *section,
                  const struct hp_row *row, const struct places *places, double window_ns)
{
    const struct hp_cell *percent = cell_of(section, row, places->percent);
    const struct hp_cell *work = cell_of(section, row, places->work);
    function->has_share = percent->has_value;
    function->share = percent->number;
    function->work = work->has_value ? work->number / window_ns : function->own;
    if (function->site->task != NULL && function->work > function->own)
        function->own = function->work; /* a task is judged by its whole time, not only by its polls */
    function->verdict = cell_of(section, row, places->verdict)->text;
    function->cause = cell_of(section, row, places->cause)->text;
    function->why = cell_of(section, row, places->why)->text;
    function->is_idle = function->verdict != NULL && strcmp(function->verdict, "idle") == 0;
}

/* What it mostly does, in a word of the report. */
static void find_mostly(struct hp_watched_function *function, const struct hp_site_waits *waits, double scale,
                        double window_ns)
{
    double most = function->parts[HP_PART_USER] + function->parts[HP_PART_KERNEL];
    function->mostly = "cpu";
    for (uint32_t cause = 0; waits != NULL && cause < HP_WAIT_CAUSES; cause++) {
        const double threads = (double)waits->by_cause[cause] * scale / window_ns;
        if (threads > most) {
            most = threads;
            function->mostly = hp_wait_cause_name(cause);
        }
    }
    if (function->own <= 0 || most <= 0)
        function->mostly = NULL;
    else
        function->mostly_percent = 100 * most / function->own;
    if (function->mostly_percent > 100)
        function->mostly_percent = 100;
}

/*
 * The own time of a function off CPU is waiting, as for the verdict; without CPU samples, what is not waiting is
 * CPU time.
 */
static void share_out(struct hp_watched *watched, struct hp_watched_function *function,
                      const struct hp_cpu_sums *cpu, double window_ns)
{
    struct hp_site_waits waits = {0};
    const double own_ns = function->own * window_ns;
    if (watched->waits != NULL)
        hp_waits_of_site(watched->waits, function->site, &waits);
    double user = cpu != NULL ? (double)cpu->user_ns : 0, kernel = cpu != NULL ? (double)cpu->kernel_ns : 0;
    double waited = (double)waits.ns;
    if (cpu == NULL && watched->waits == NULL)
        return;
    function->knows_parts = true;
    if (user + kernel > own_ns) {
        const double part = own_ns / (user + kernel);
        user *= part;
        kernel *= part;
    }
    if (cpu == NULL)
        user = waited < own_ns ? own_ns - waited : 0;
    const double rest = own_ns - user - kernel;
    const double scale = waited > 0 ? rest / waited : 0;
    function->parts[HP_PART_USER] = user / window_ns;
    function->parts[HP_PART_KERNEL] = kernel / window_ns;
    for (uint32_t cause = 0; cause < HP_WAIT_CAUSES; cause++)
        function->parts[hp_part_of_cause(cause)] += (double)waits.by_cause[cause] * scale / window_ns;
    if (waited <= 0)
        function->parts[HP_PART_SLEEP] += rest / window_ns;
    find_mostly(function, &waits, scale, window_ns);
    /* Waiting of unknown cause. */
    if (waited <= 0 && rest > user + kernel && own_ns > 0) {
        function->mostly = "waiting";
        function->mostly_percent = 100 * rest / own_ns;
    }
}

/* In a window, only its polls are known. */
static void fill_task(const struct hp_watched *watched, struct hp_watched_function *function, double window_ns)
{
    const struct hp_task_sums *task = watched->is_whole ? function->site->task : NULL;
    function->polls_per_second = (double)function->site->sums.calls * SECOND / window_ns;
    if (task == NULL)
        return;
    const double created = (double)task->sums.count[HP_TASK_CREATED];
    function->has_calls = true;
    function->calls = created;
    function->calls_per_second = created * SECOND / window_ns;
    function->has_average = created > 0;
    if (function->has_average)
        function->average_ns = hp_run_ns(&watched->reader.model.run, task->wall) / created;
}

static void fill_numbers(const struct hp_watched *watched, struct hp_watched_function *function, double window_ns)
{
    const struct hp_run *run = &watched->reader.model.run;
    const struct hp_sums *sums = &function->site->sums;
    function->own = hp_run_ns(run, hp_sums_self(sums)) / window_ns;
    function->total = hp_run_ns(run, sums->total) / window_ns;
    function->is_task = hp_site_is_task(function->site);
    if (function->is_task) {
        fill_task(watched, function, window_ns);
        return;
    }
    function->has_calls = true;
    function->calls = (double)sums->calls;
    function->calls_per_second = (double)sums->calls * SECOND / window_ns;
    function->has_average = sums->calls > 0;
    if (function->has_average)
        function->average_ns = hp_run_ns(run, sums->total + sums->nested) / (double)sums->calls;
}

static void fill_bytes(const struct hp_watched *watched, struct hp_watched_function *function, double window_ns)
{
    struct hp_site_allocs allocs;
    if (!hp_run_has_allocs(&watched->reader.model.run))
        return;
    if (watched->is_whole)
        hp_allocs_of_site(function->site, &allocs);
    const double bytes = (double)(watched->is_whole ? allocs.own_bytes : function->site->range_bytes);
    function->has_bytes = true;
    function->bytes_per_second = bytes * SECOND / window_ns;
}

/* Own time in the window before, as far as the history has it. */
static void fill_before(const struct hp_watched *watched, struct hp_watched_function *function)
{
    const struct hp_history *history = &watched->history;
    const uint64_t from_ns = watched->before_ns, to_ns = watched->from_ns;
    if (watched->is_whole || from_ns >= to_ns || function->is_task)
        return;
    const double ticks =
        hp_history_gain_of(history, HP_AXIS_SITE_SELF, function->site->session, function->site->id, from_ns, to_ns);
    function->has_before = true;
    function->before = ticks * watched->reader.model.run.ns_per_tick / (double)(to_ns - from_ns);
}

static bool add_measured(struct hp_watched *watched, double window_ns)
{
    struct hp_watched_functions *measured = &watched->measured;
    struct hp_model *model = hp_reader_model(&watched->reader);
    const struct hp_profile *profile = model->profile;
    const struct hotpath_section *section = hp_watched_section(watched->range, "bottlenecks");
    const bool has_cpu = hp_run_has_cpu(&model->run);
    const struct hp_cpu *cpu = has_cpu && watched->is_whole ? hp_model_cpu(model) : NULL;
    const struct places places = {column_of(section, "percent_own"), column_of(section, "work_ns"),
                                  column_of(section, "verdict"), column_of(section, "waits_for"),
                                  column_of(section, "why")};
    struct row_table rows;
    if (cpu != NULL && !hp_cpu_is_sampled(cpu))
        cpu = NULL;
    measured->all = hp_arena_take_array(model->arena, profile->site_count + 1, sizeof *measured->all);
    if (measured->all == NULL || !index_rows(model->arena, section, &rows))
        return false;
    for (size_t at = 0; at < profile->site_count; at++) {
        struct hp_watched_function *function = &measured->all[measured->count];
        const struct hp_site_sums *site = profile->sites[at];
        if (site->kind == HOTPATH_KIND_SUSPENDED_)
            continue;
        const struct hp_cpu_sums in_range = {.user_ns = site->range_cpu_ns - site->range_kernel_ns,
                                             .kernel_ns = site->range_kernel_ns};
        *function = (struct hp_watched_function){.id = hp_identity_of_site(site),
                                                 .site = site,
                                                 .name = site->name,
                                                 .file = "",
                                                 .line = site->location.line};
        if (site->location.file != NULL)
            function->file = site->location.file;
        fill_numbers(watched, function, window_ns);
        fill_bytes(watched, function, window_ns);
        judge(function, section, find_row(&rows, function->id), &places, window_ns);
        share_out(watched, function,
                  cpu != NULL                     ? &cpu->sites[at].own
                  : has_cpu && !watched->is_whole ? &in_range
                                                  : NULL,
                  window_ns);
        fill_before(watched, function);
        measured->work += function->work;
        measured->count++;
    }
    /* If only time was measured, shares are of the time of all functions. */
    hp_watched_find_changes(measured);
    for (size_t at = 0; at < measured->count; at++)
        if (!measured->all[at].has_share && measured->work > 0) {
            measured->all[at].has_share = true;
            measured->all[at].share = 100 * measured->all[at].work / measured->work;
        }
    return true;
}

const struct hp_watched_function *hp_watched_function(const struct hp_watched_functions *functions, uint64_t id)
{
    for (size_t at = 0; at < functions->count; at++)
        if (functions->all[at].id == id)
            return &functions->all[at];
    return NULL;
}

/* --------------------------------------------------------------------------------------------- refresh */

static bool fail(struct hp_watched *watched, const char *problem)
{
    snprintf(watched->problem, sizeof watched->problem, "%s", problem);
    return false;
}

/* The program of a session as it was started. NULL: no memory. */
static const char *program_of(struct hp_watched *watched, const struct hp_snapshot *session)
{
    const char *begin;
    const size_t length = hp_text_program(hp_snapshot_text(session, session->header.command), &begin);
    return hp_arena_copy(watched->reader.model.arena, begin, length);
}

#define MOST_PROGRAMS 64u /* later ones are not added up */

struct program {
    const char *file;
    const struct hp_snapshot *largest; /* session */
    uint64_t cpu_ns, largest_ns;
};

/* The CPU time of programs; processes of one file are one program. */
static void find_busiest(struct hp_watched *watched)
{
    const struct hp_run *run = &watched->reader.model.run;
    struct program programs[MOST_PROGRAMS] = {{0}}, *busiest = &programs[0];
    size_t count = 0;
    uint64_t all_ns = 0;
    for (size_t at = 0; at < run->count; at++) {
        const struct hp_snapshot *session = run->sessions[at];
        const char *file = hp_snapshot_text(session, session->header.executable);
        const uint64_t cpu_ns = hp_snapshot_cpu_ns(session); /* as the first sentence has it */
        size_t place = 0;
        while (place < count && strcmp(programs[place].file, file) != 0)
            place++;
        all_ns += cpu_ns;
        if (place == MOST_PROGRAMS)
            continue;
        struct program *program = &programs[place];
        count += place == count;
        program->file = file;
        program->cpu_ns += cpu_ns;
        if (program->largest == NULL || cpu_ns > program->largest_ns) {
            program->largest = session;
            program->largest_ns = cpu_ns;
        }
        busiest = program->cpu_ns > busiest->cpu_ns ? program : busiest;
    }
    watched->busiest = count > 1 && all_ns > 0 ? program_of(watched, busiest->largest) : NULL;
    watched->busiest_percent = all_ns > 0 ? 100 * (double)busiest->cpu_ns / (double)all_ns : 0;
}

static void describe(struct hp_watched *watched)
{
    const struct hp_run *run = &watched->reader.model.run;
    const struct hp_snapshot *first = run->sessions[0];
    const char *command = hp_snapshot_text(first, first->header.command);
    watched->command = command;
    watched->pid = first->header.pid;
    watched->processes = run->process_count;
    watched->elapsed_ns = hp_run_elapsed_ns(run);
    watched->state = hp_run_state(run);
    watched->is_live = watched->state == HP_SNAPSHOT_RUNNING;
    watched->has_measured = false;
    for (size_t at = 0; at < watched->reader.model.profile->site_count; at++)
        watched->has_measured |= watched->reader.model.profile->sites[at]->kind != HOTPATH_KIND_SUSPENDED_;
    watched->is_recorded = (first->header.features & HP_FEATURE_RECORDED) != 0;
    const char *name = program_of(watched, first);
    watched->program = name != NULL ? name : command;
    find_busiest(watched);
}

static void count_up(struct hp_watched *watched)
{
    struct hp_model *model = hp_reader_model(&watched->reader);
    const struct hp_trust *trust = hp_model_trust(model);
    const struct hp_run_thread_usage *usage =
        hp_run_has_thread_usage(&model->run) ? hp_model_thread_usage(model) : NULL;
    watched->lost = 0;
    for (size_t at = 0; trust != NULL && at < HP_LOSSES; at++)
        watched->lost += trust->lost[at];
    watched->threads = usage != NULL ? usage->threads : model->profile->forest.tree_count;
    watched->rss_bytes = usage != NULL ? usage->rss_bytes : 0;
}

/* A live program is known up to the latest sample: after it, its counters would seem to stop. */
static uint64_t latest_of(const struct hp_watched *watched)
{
    const struct hp_history *history = &watched->history;
    uint64_t latest = 0;
    for (size_t at = 0; at < history->count; at++) {
        const uint64_t ns = hp_less(history->axes[at].axis.header.latest_ns, history->run->start_ns);
        latest = ns > latest ? ns : latest;
    }
    return watched->is_live && latest > 0 && latest < watched->elapsed_ns ? latest : watched->elapsed_ns;
}

/* Selects the range; the whole run if there is no history. */
static void choose_range(struct hp_watched *watched, const struct hp_window *window)
{
    const uint64_t elapsed = window->kind == HP_WINDOW_TOTALS ? watched->elapsed_ns : latest_of(watched);
    uint64_t from = 0, to = elapsed;
    if (window->kind == HP_WINDOW_LAST)
        from = elapsed > window->length_ns ? elapsed - window->length_ns : 0;
    else if (window->kind != HP_WINDOW_TOTALS)
        from = window->from_ns;
    /* Counts from now on are known with the next sample. */
    if (window->kind == HP_WINDOW_SINCE && from + HP_AXIS_FIRST_SLOT_NS > to)
        from = to > HP_AXIS_FIRST_SLOT_NS ? to - HP_AXIS_FIRST_SLOT_NS : 0;
    if (window->kind == HP_WINDOW_PAST && window->to_ns < to)
        to = window->to_ns;
    watched->has_history = watched->history.count > 0;
    /* For a whole run that has ended more is known than for a range, such as percentiles. */
    const bool is_all = !watched->is_live && from == 0 && to >= watched->elapsed_ns;
    watched->is_whole = window->kind == HP_WINDOW_TOTALS || !watched->has_history || from >= to || is_all;
    watched->from_ns = watched->is_whole ? 0 : from;
    watched->to_ns = watched->is_whole ? watched->elapsed_ns : to;
    /* At the beginning of a run the window before is shorter; half as long, it still says something. */
    const uint64_t length = watched->to_ns - watched->from_ns, begin = hp_less(watched->from_ns, length);
    watched->before_ns = !watched->is_whole && 2 * (watched->from_ns - begin) >= length ? begin : watched->from_ns;
}

/* Sampled functions are those of the window, if that is known; the first sentence is about no other ones. */
static void choose_found(struct hp_watched *watched)
{
    hp_found_read(&watched->found, watched->pid, hp_reader_model(&watched->reader)->run.start_ns);
    hp_found_choose(&watched->found, watched->before_ns, watched->from_ns, watched->is_whole ? 0 : watched->to_ns);
}

static const struct hp_function_profile *functions_of(const struct hp_found_part *part)
{
    return part != NULL ? &part->functions : NULL;
}

static void empty(struct hp_watched *watched)
{
    watched->has_data = watched->has_cpus = watched->knows_waits = false;
    watched->measured = watched->sampled = (struct hp_watched_functions){0};
    watched->unknown = 0;
    watched->idle = watched->cpus = 0;
    memset(watched->parts, 0, sizeof watched->parts);
    watched->whole = watched->range = NULL;
    watched->waits = NULL;
    watched->headline = "";
    watched->problem[0] = '\0';
}

void hp_watched_find_changes(struct hp_watched_functions *functions)
{
    double before = 0;
    for (size_t at = 0; at < functions->count; at++)
        before += functions->all[at].is_idle ? 0 : functions->all[at].before;
    const double whole = before > functions->work ? before : functions->work;
    for (size_t at = 0; at < functions->count; at++) {
        struct hp_watched_function *function = &functions->all[at];
        function->has_change = function->has_before && !function->is_idle && whole > 0;
        if (function->has_change)
            function->change = 100 * (function->own - function->before) / whole;
    }
}

bool hp_watched_refresh(struct hp_watched *watched, const struct hp_request *request)
{
    struct hp_model *model = hp_reader_model(&watched->reader);
    empty(watched);
    if (!hp_reader_refresh(&watched->reader))
        return fail(watched, watched->reader.problem);
    describe(watched);
    count_up(watched);
    if (!hp_history_read(&watched->history, model->arena, &model->run))
        return fail(watched, "not enough memory to show it");
    choose_range(watched, &request->window);
    choose_found(watched);
    const char *session = watched->reader.sessions[0]->path;
    hp_side_watch_look_at(&watched->side_watch, watched->found.is_of_run ? watched->found.folder : session,
                          watched->pid);
    model->locks = watched->locks = watched->side_watch.locks;
    model->io = watched->side_watch.io;
    model->functions = functions_of(hp_found_shown(&watched->found));
    if (request->whole[0] != '\0')
        watched->whole = make(watched, &watched->whole_settings, "", request->whole, request);
    const char *problem = watched->is_whole ? NULL : hp_model_cut(model, watched->from_ns, watched->to_ns);
    if (problem != NULL)
        return fail(watched, problem);
    model->functions = hp_found_is_wider(&watched->found) ? NULL : functions_of(hp_found_shown(&watched->found));
    watched->range =
        make(watched, &watched->range_settings, "bottlenecks", request->range, &(struct hp_request){.slowest = ""});
    if (watched->range == NULL)
        return fail(watched, "not enough memory to show it");
    watched->unknown = model->run.range != NULL ? model->run.range->unknown : 0;
    watched->headline = hotpath_results_headline(watched->range);
    watched->waits = hp_run_has_waits(&model->run) ? hp_model_waits(model) : NULL;
    watched->knows_waits = watched->waits != NULL && watched->waits->sessions > 0;
    const double window_ns = watched->to_ns > watched->from_ns ? (double)(watched->to_ns - watched->from_ns) : 1;
    add_up_cpu(watched, window_ns);
    add_up_parts(watched, window_ns);
    watched->has_data = add_measured(watched, window_ns) && hp_watched_add_sampled(watched);
    return watched->has_data || fail(watched, "not enough memory to show it");
}
