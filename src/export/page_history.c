/*
 * The page: the numbers of the run over time. Each counter is written as its increase between successive moments,
 * so that the value of a time range is a sum. The rules are those of time ranges of a run (time_range.c), so the
 * page has the numbers of `hotpath report --from --to`.
 *
 * With one session that has a history, the moments are those of its samples; with several, they are equally spaced.
 * SPDX-License-Identifier: MIT
 */
#include "page.h"

#include <string.h>

#include "arena.h"
#include "arith.h"
#include "profile.h"
#include "run.h"
#include "system_calls.h"
#include "thread_activity.h"
#include "units.h"
#include "wait_cause.h"
#include "wait_profile.h"

#define MOST_STEPS 512u
#define MOST_LANES 200u /* of threads, in all processes */

/* One line of the history. */
struct line {
    struct line *next;
    uint32_t kind; /* enum hp_axis_kind */
    uint32_t id;   /* for a thread: its number; for waits: the cause */
    const struct hp_site_sums *site;
    const char *name;    /* of a thread */
    uint32_t session;    /* of a thread: threads of two processes are never the same */
    struct hp_wait wait; /* of HP_AXIS_PLACE */
    bool is_in_run;      /* another process of the run has the other end */
    const struct hp_site_sums *other;
    double *values; /* one per step */
    double *beside; /* of HP_AXIS_PLACE */
};

struct history {
    struct hp_arena *arena;
    struct hp_model *model;
    uint64_t *moments;
    struct hp_run_steps steps;
    struct line *first, **last;
    bool has_memory;
};

/* --------------------------------------------------------------------------------------------- moments */

static void set_moments_of(struct history *history, const struct hp_run_axis *axis)
{
    const uint64_t shift = hp_less(axis->axis.header.start_ns, history->model->run.start_ns);
    history->steps = (struct hp_run_steps){
        .moments = history->moments,
        .count = axis->axis.header.used < MOST_STEPS ? axis->axis.header.used : MOST_STEPS,
        .are_slots = true,
    };
    history->moments[0] = shift;
    for (uint32_t slot = 0; slot < history->steps.count; slot++)
        history->moments[slot + 1] = shift + hp_axis_value(&axis->axis, axis->moments, slot);
}

static void set_equal_moments(struct history *history)
{
    const uint64_t whole = hp_run_elapsed_ns(&history->model->run);
    const uint64_t steps = whole / HP_AXIS_FIRST_SLOT_NS;
    const size_t count = steps < 1 ? 1 : steps < MOST_STEPS ? (size_t)steps : MOST_STEPS;
    history->steps = (struct hp_run_steps){.moments = history->moments, .count = count};
    for (size_t at = 0; at <= count; at++)
        history->moments[at] = (uint64_t)((double)whole * (double)at / (double)count);
}

/* ------------------------------------------------------------------------------------------------ lines */

static bool is_of_site(uint32_t kind)
{
    return kind == HP_AXIS_SITE_CALLS || kind == HP_AXIS_SITE_TICKS || kind == HP_AXIS_SITE_SELF ||
           kind == HP_AXIS_SITE_CPU || kind == HP_AXIS_SITE_BYTES;
}

static bool is_told(uint32_t kind)
{
    return kind == HP_AXIS_CPU || kind == HP_AXIS_KERNEL || kind == HP_AXIS_RESIDENT || kind == HP_AXIS_LIVE ||
           kind == HP_AXIS_ALLOCATED || kind == HP_AXIS_THREAD || kind == HP_AXIS_WAIT || kind == HP_AXIS_WATCHED ||
           is_of_site(kind);
}

static struct line *add_line(struct history *history, const struct line *about)
{
    struct line *line = hp_arena_take(history->arena, sizeof *line);
    if (line != NULL) {
        *line = *about;
        line->values = hp_arena_take_array(history->arena, history->steps.count, sizeof line->values[0]);
        line->beside = hp_arena_take_array(history->arena, history->steps.count, sizeof line->beside[0]);
    }
    if (line == NULL || line->values == NULL || line->beside == NULL) {
        history->has_memory = false;
        return NULL;
    }
    *history->last = line;
    history->last = &line->next;
    return line;
}

/* Threads of two processes are never the same. NULL: no memory. */
static struct line *line_of(struct history *history, const struct line *about)
{
    for (struct line *line = history->first; line != NULL; line = line->next)
        if (line->kind == about->kind && line->id == about->id && line->site == about->site &&
            about->kind != HP_AXIS_THREAD && about->kind != HP_AXIS_PLACE)
            return line;
    return add_line(history, about);
}

static void add_series(struct history *history, const struct hp_run_axis *axis, uint32_t place,
                       const struct hp_axis_series *series)
{
    const struct hp_profile *profile = history->model->profile;
    struct line about = {.kind = series->kind};
    if (!is_told(series->kind))
        return;
    if (is_of_site(series->kind) && (about.site = hp_profile_site(profile, axis->session, series->id)) == NULL)
        return;
    if (series->kind == HP_AXIS_THREAD || series->kind == HP_AXIS_WAIT)
        about.id = series->id;
    if (series->kind == HP_AXIS_THREAD)
        about.name = hp_arena_copy(history->arena, series->name, strlen(series->name));
    about.session = series->kind == HP_AXIS_THREAD ? axis->session : 0;
    struct line *line = line_of(history, &about);
    if (line == NULL)
        return;
    const bool is_in_ticks = series->kind == HP_AXIS_SITE_TICKS || series->kind == HP_AXIS_SITE_SELF;
    hp_run_axis_add(axis, place, &history->steps, is_in_ticks ? history->model->run.ns_per_tick : 1, line->values);
}

/* Adds the waits at each place of the session. */
static void add_waits(struct history *history, const struct hp_run_axis *axis)
{
    const struct hp_profile *profile = history->model->profile;
    struct hp_walk walk = {0};
    struct line about = {.kind = HP_AXIS_PLACE};
    while (hp_snapshot_next_wait(history->model->run.sessions[axis->session], &walk, &about.wait)) {
        const uint32_t place = hp_axis_find(&axis->axis, HP_AXIS_PLACE, walk.index);
        const uint32_t beside = hp_axis_find(&axis->axis, HP_AXIS_BESIDE, walk.index);
        if (walk.index >= HP_AXIS_WAITS || place == HP_AXIS_SERIES)
            continue;
        const struct hp_snapshot *session = history->model->run.sessions[axis->session];
        about.is_in_run =
            about.wait.cause == HP_WAIT_SOCKET && about.wait.peer != 0 && about.wait.peer != session->header.pid;
        about.site = hp_wait_site(profile, axis->session, about.wait.node);
        about.other = hp_wait_site(profile, axis->session, about.wait.other);
        struct line *line = add_line(history, &about);
        if (line == NULL)
            return;
        hp_run_axis_add(axis, place, &history->steps, 1, line->values);
        hp_run_axis_add(axis, beside, &history->steps, 1, line->beside);
    }
}

static void add_session(struct history *history, const struct hp_run_axis *axis)
{
    struct hp_axis_series series;
    for (uint32_t place = 0; place < HP_AXIS_SERIES && history->has_memory; place++)
        if (hp_axis_series(&axis->axis, place, &series))
            add_series(history, axis, place, &series);
    add_waits(history, axis);
}

/* ------------------------------------------------------------------------------------------------ JSON */

static const char *kind_name(uint32_t kind)
{
    static const char *const names[HP_AXIS_KINDS] = {
        [HP_AXIS_CPU] = "cpu",           [HP_AXIS_KERNEL] = "kernel",        [HP_AXIS_RESIDENT] = "resident",
        [HP_AXIS_LIVE] = "threads",      [HP_AXIS_ALLOCATED] = "live_bytes", [HP_AXIS_THREAD] = "thread",
        [HP_AXIS_WAIT] = "waiting",      [HP_AXIS_SITE_CALLS] = "calls",     [HP_AXIS_SITE_TICKS] = "total_ns",
        [HP_AXIS_SITE_SELF] = "self_ns", [HP_AXIS_PLACE] = "wait",           [HP_AXIS_WATCHED] = "watched",
        [HP_AXIS_SITE_CPU] = "cpu_ns",   [HP_AXIS_SITE_BYTES] = "bytes",
    };
    return names[kind];
}

/* Trailing zeros are left out. */
static void put_steps(struct hp_json *json, const char *key, const double *values, size_t count)
{
    while (count > 0 && values[count - 1] >= -0.5 && values[count - 1] < 0.5)
        count--;
    hp_json_key(json, key);
    hp_json_begin_array(json);
    for (size_t at = 0; at < count; at++)
        hp_json_i64(json,
                    values[at] < 0 ? -(int64_t)hp_units_round(-values[at]) : (int64_t)hp_units_round(values[at]));
    hp_json_end_array(json);
}

static void put_name(struct hp_json *json, const char *key, const struct hp_site_sums *site)
{
    hp_json_key(json, key);
    if (site != NULL)
        hp_json_string(json, site->name);
    else
        hp_json_null(json);
}

static void put_wait(struct hp_json *json, const struct line *line)
{
    char what[sizeof line->wait.what + 1] = {0};
    const char *call = hp_system_call_name(line->wait.call);
    memcpy(what, line->wait.what, sizeof line->wait.what);
    put_name(json, "name", line->site);
    hp_json_put_string(json, "cause", hp_wait_cause_name(line->wait.cause));
    hp_json_put_string(json, "call", call != NULL ? call : "");
    hp_json_put_string(json, "what", what);
    put_name(json, "other", line->other);
    if (line->is_in_run)
        hp_json_put_u64(json, "in_run", 1);
}

static void put_line(struct hp_json *json, const struct history *history, const struct line *line)
{
    hp_json_begin_object(json);
    hp_json_put_string(json, "kind", kind_name(line->kind));
    if (line->kind == HP_AXIS_PLACE)
        put_wait(json, line);
    else if (is_of_site(line->kind))
        put_name(json, "name", line->site);
    else if (line->kind == HP_AXIS_WAIT)
        hp_json_put_string(json, "name", hp_wait_cause_name(line->id));
    else if (line->kind == HP_AXIS_THREAD) {
        hp_json_put_string(json, "name", line->name != NULL ? line->name : "");
        hp_json_put_u64(json, "tid", line->id);
        hp_json_put_u64(json, "session", line->session);
    }
    put_steps(json, "steps", line->values, history->steps.count);
    if (line->kind == HP_AXIS_PLACE)
        put_steps(json, "beside", line->beside, history->steps.count);
    hp_json_end_object(json);
}

/* ------------------------------------------------------------------------------------------------ threads */

#define US 1000.0

/* The microseconds of an activity in each step. False: no memory. */
static bool put_activity(struct hp_json *json, const double *values, size_t count, const char *key,
                         struct hp_page_column *column)
{
    for (size_t at = 0; at < count; at++)
        hp_page_column_add(column, values[at] > 0 ? hp_units_round(values[at] / US) : 0);
    return hp_page_column_put(column, json, key);
}

/* By the roles of the page. */
static bool put_thread(struct hp_json *json, const struct history *history, const struct hp_run_axis *axis,
                       const struct hp_thread_activity *thread, struct hp_page_column *column)
{
    static const char *const roles[HP_ALL_PARTS] = {
        [HP_PART_USER] = "user", [HP_PART_KERNEL] = "kernel", [HP_PART_QUEUE] = "queue", [HP_PART_DISK] = "disk",
        [HP_PART_LOCK] = "lock", [HP_PART_NETWORK] = "net",   [HP_PART_SLEEP] = "sleep", [HP_PART_IDLE] = "idle"};
    double values[MOST_STEPS];
    bool has_memory = true;
    hp_json_begin_object(json);
    hp_json_put_u64(json, "session", axis->session);
    hp_json_put_u64(json, "tid", thread->tid);
    hp_json_put_string(json, "name", thread->name);
    for (unsigned part = 0; part < HP_ALL_PARTS && has_memory; part++) {
        memset(values, 0, sizeof values);
        if (hp_thread_activity_add(axis, thread, (enum hp_activity)part, &history->steps, 1, values))
            has_memory = put_activity(json, values, history->steps.count, roles[part], column);
    }
    hp_json_end_object(json);
    return has_memory;
}

/* What each thread did, for as many sessions as there are lanes. False: no memory. */
static bool put_threads(struct hp_json *json, const struct history *history, void *bytes)
{
    struct hp_run_axis axis;
    struct hp_page_column column;
    struct hp_thread_activity threads[HP_AXIS_THREADS];
    size_t put = 0;
    bool has_memory = hp_page_column_begin(&column, history->steps.count);
    hp_json_key(json, "activities");
    hp_json_begin_array(json);
    for (uint32_t at = 0; at < history->model->run.count && has_memory && put < MOST_LANES; at++) {
        if (!hp_run_axis_read(&axis, &history->model->run, at, bytes))
            continue;
        const size_t count = hp_thread_activities(&axis, threads);
        for (size_t thread = 0; thread < count && has_memory && put < MOST_LANES; thread++, put++)
            has_memory = put_thread(json, history, &axis, &threads[thread], &column);
    }
    hp_json_end_array(json);
    hp_page_column_free(&column);
    return has_memory;
}

/* The rules for idle waits (wait_cause.h), by the names of causes. */
static void put_idleness(struct hp_json *json)
{
    static const char *const words[] = {
        [HP_IDLE_NEVER] = "never", [HP_IDLE_BESIDE_WORK] = "beside", [HP_IDLE_ALWAYS] = "always"};
    hp_json_key(json, "idle");
    hp_json_begin_object(json);
    for (uint32_t cause = 0; cause < HP_WAIT_CAUSES; cause++)
        hp_json_put_string(json, hp_wait_cause_name(cause),
                           cause == HP_WAIT_RUN_QUEUE ? "beside" : words[hp_wait_idleness(cause)]);
    hp_json_end_object(json);
}

/* False: no memory. */
static bool put_history(struct hp_json *json, const struct history *history, void *bytes)
{
    struct hp_waits sums;
    uint64_t probes = 0, watched_ns = 0;
    const struct hp_run *run = &history->model->run;
    for (size_t at = 0; at < run->count; at++)
        if (hp_snapshot_waits(run->sessions[at], &sums)) {
            probes += sums.probes;
            watched_ns += sums.watched_ns;
        }
    hp_json_begin_object(json);
    hp_json_put_u64(json, "looks", probes);
    hp_json_put_u64(json, "watched_ns", watched_ns);
    put_idleness(json);
    hp_json_key(json, "moments_ns");
    hp_json_begin_array(json);
    for (size_t at = 0; at <= history->steps.count; at++)
        hp_json_u64(json, history->moments[at]);
    hp_json_end_array(json);
    hp_json_key(json, "lines");
    hp_json_begin_array(json);
    for (const struct line *line = history->first; line != NULL; line = line->next)
        put_line(json, history, line);
    hp_json_end_array(json);
    const bool has_memory = put_threads(json, history, bytes);
    hp_json_end_object(json);
    return has_memory;
}

bool hp_page_put_history(struct hp_json *json, struct hp_model *model)
{
    struct history history = {.arena = model->arena, .model = model, .has_memory = true};
    struct hp_run_axis axis;
    size_t sessions = 0;
    history.last = &history.first;
    history.moments = hp_arena_take_array(model->arena, MOST_STEPS + 1, sizeof history.moments[0]);
    void *bytes = hp_arena_take(model->arena, HP_AXIS_BYTES);
    history.has_memory = history.moments != NULL && bytes != NULL;
    for (uint32_t at = 0; history.has_memory && at < model->run.count; at++)
        if (hp_run_axis_read(&axis, &model->run, at, bytes) && ++sessions == 1)
            set_moments_of(&history, &axis);
    if (sessions > 1)
        set_equal_moments(&history);
    for (uint32_t at = 0; sessions > 0 && history.has_memory && at < model->run.count; at++)
        if (hp_run_axis_read(&axis, &model->run, at, bytes))
            add_session(&history, &axis);
    if (sessions > 0 && history.has_memory)
        history.has_memory = put_history(json, &history, bytes);
    else
        hp_json_null(json);
    return history.has_memory;
}
