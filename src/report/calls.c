/*
 * The section `calls`: one row per logged call, functions sorted by total time, the newest call of each first.
 *
 * Every thread logs its own latest calls; here those of all threads and processes become one list, cut to the
 * length of one thread's log. SPDX-License-Identifier: MIT
 */
#include "section.h"

#include <string.h>

#include "alloc_profile.h"
#include "arena.h"
#include "arith.h"
#include "identity.h"
#include "sort.h"
#include "stat_iter.h"

struct call {
    struct call *next; /* in order of arrival */
    const struct hp_site_sums *site;
    const struct hp_snapshot *session;
    const char *thread; /* NULL: unknown */
    const char *note;   /* NULL: none */
    uint64_t ticks;
    uint64_t end;
    uint64_t alloc_bytes;
    uint64_t alloc_count;
    uint32_t tid;
};

struct columns {
    size_t name, what, ago, duration, note, thread, tid, pid, alloc_bytes, alloc_count;
};

#define AT(column) .index = offsetof(struct columns, column)

/* Facts of this section. */
enum { HAS_THREADS = HP_FACT_OWN, HAS_NOTES = HP_FACT_OWN << 1, HAS_POLLS = HP_FACT_OWN << 2 };

static const struct hp_column_spec column_table[] = {
    {"name", "Function", HOTPATH_UNIT_TEXT, HP_COLUMN_NAME | HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(name),
     "The function; as in timing."},
    {"what", "What", HOTPATH_UNIT_TEXT, HP_COLUMN_SHOWN, AT(what), "A call of a function, or a poll of a task.",
     .words = "call|poll", .shown_by = HAS_POLLS},
    {"ago_ns", "Ago", HOTPATH_UNIT_NS, HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(ago),
     "Time from the end of the call to now, or to the end of the run."},
    {"duration_ns", "Time", HOTPATH_UNIT_NS, HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(duration)},
    {"alloc_bytes", "Allocated", HOTPATH_UNIT_BYTES, HP_COLUMN_SHOWN, AT(alloc_bytes),
     "Bytes requested by this call and its callees; absent if no allocations were recorded.",
     .needs = HP_FACT_ALLOCS},
    {"alloc_count", "Allocs", HOTPATH_UNIT_COUNT, HP_COLUMN_SHOWN, AT(alloc_count), .needs = HP_FACT_ALLOCS},
    {"note", "Note", HOTPATH_UNIT_TEXT, HP_COLUMN_LATE | HP_COLUMN_ELASTIC | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
     AT(note), "The text that the program attached with HOTPATH_NOTE; null: none.", .shown_by = HAS_NOTES},
    {"thread", "Thread", HOTPATH_UNIT_TEXT, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(thread),
     "The name of the thread; null: no longer known.", .shown_by = HAS_THREADS},
    {"tid", "TID", HOTPATH_UNIT_COUNT, HP_COLUMN_SHOWN, AT(tid), "The thread that made the call.",
     .shown_by = HAS_THREADS},
    {"pid", "PID", HOTPATH_UNIT_COUNT, HP_COLUMN_SHOWN, AT(pid), .shown_by = HP_FACT_PROCESSES},
};

struct view {
    struct hotpath_results *results;
    struct columns columns;
    struct call *first;
    struct call **order;
    size_t count;
    uint64_t now; /* the end of the session that ended last */
};

/* -------------------------------------------------------------------------------------------- gather */

/* An empty text becomes NULL. False: no memory. */
static bool copy_text(struct hp_arena *arena, const char *text, size_t length, const char **ret_copy)
{
    *ret_copy = text != NULL && length > 0 ? hp_arena_copy(arena, text, length) : NULL;
    return *ret_copy != NULL || text == NULL || length == 0;
}

static bool add_call(struct view *view, const struct hp_stat_iter *walk, const struct hp_logged_call *kept)
{
    struct hp_arena *arena = view->results->model->arena;
    struct call *call = hp_arena_take(arena, sizeof *call);
    const char *thread = hp_stat_iter_thread_name(walk, kept->tid);
    if (call == NULL || !copy_text(arena, kept->note, kept->note_length, &call->note) ||
        !copy_text(arena, thread, thread != NULL ? strlen(thread) : 0, &call->thread))
        return false;
    call->site = walk->site;
    call->session = walk->snapshot;
    call->ticks = kept->ticks;
    call->end = hp_logged_call_end(kept);
    call->tid = kept->tid;
    call->alloc_bytes = kept->alloc_bytes;
    call->alloc_count = kept->alloc_count;
    call->next = view->first;
    view->first = call;
    view->count++;
    return true;
}

static bool gather(struct view *view)
{
    struct hp_stat_iter walk = {0};
    struct hp_logged_call kept;
    while (hp_stat_iter_next(&walk, view->results->model->profile)) {
        if (walk.site == NULL || !hp_results_show(view->results, walk.site))
            continue;
        while (hp_snapshot_next_call(walk.snapshot, &walk.stat, &walk.calls, &kept))
            if (!add_call(view, &walk, &kept))
                return false;
    }
    return true;
}

/* ---------------------------------------------------------------------------------------------- rank */

/* Sorts functions by total time; calls of different functions are not mixed. */
static int by_site(const struct hp_site_sums *x, const struct hp_site_sums *y)
{
    int order = hp_by_number(y->sums.total, x->sums.total);
    if (order == 0)
        order = strcmp(x->name, y->name);
    return order != 0 ? order : hp_by_number(hp_site_number(x), hp_site_number(y));
}

static int compare_calls(const void *a, const void *b)
{
    const struct call *x = a, *y = b;
    int order = by_site(x->site, y->site);
    if (order == 0)
        order = hp_by_number(y->end, x->end);
    if (order == 0)
        order = hp_by_number(x->session->header.pid, y->session->header.pid);
    if (order == 0)
        order = hp_by_number(x->tid, y->tid);
    return order != 0 ? order : hp_by_number(x->ticks, y->ticks);
}

static bool is_within(size_t count, uint32_t limit)
{
    return limit == 0 || limit == HOTPATH_NO_LIMIT || count < limit;
}

/* Keeps the allowed number of functions, and of calls of each, at the beginning; returns the number of calls. */
static size_t cut(struct view *view)
{
    const struct hp_settings *settings = view->results->settings;
    size_t kept = 0, functions = 0, calls = 0;
    for (size_t at = 0; at < view->count; at++) {
        const bool is_next = at > 0 && view->order[at]->site != view->order[at - 1]->site;
        functions += is_next;
        calls = is_next ? 0 : calls;
        if (is_within(functions, settings->show.functions_limit) && is_within(calls++, settings->record.logs_limit))
            view->order[kept++] = view->order[at];
    }
    return kept;
}

static bool rank(struct view *view)
{
    size_t at = 0;
    view->order = hp_arena_take_array(view->results->model->arena, view->count + 1, sizeof(void *));
    if (view->order == NULL)
        return false;
    for (struct call *call = view->first; call != NULL; call = call->next)
        view->order[at++] = call;
    hp_sort(view->order, view->count, compare_calls);
    return true;
}

/* ---------------------------------------------------------------------------------------------- rows */

static bool is_other_thread(const struct call *x, const struct call *y)
{
    return x->tid != y->tid || x->session != y->session;
}

/* A value that is the same in all rows needs no column. */
static bool describe(struct view *view, struct hotpath_section *section, size_t count)
{
    uint32_t facts = 0;
    for (size_t at = 0; at < count; at++) {
        facts |= is_other_thread(view->order[at], view->order[0]) ? HAS_THREADS : 0u;
        facts |= view->order[at]->note != NULL ? HAS_NOTES : 0u;
        facts |= hp_site_is_task(view->order[at]->site) ? HAS_POLLS : 0u;
    }
    return hp_section_describe(view->results, section, facts, &view->columns);
}

static void fill_row(const struct view *view, struct hp_row *row, const struct call *call)
{
    const struct columns *columns = &view->columns;
    const struct hp_run *run = &view->results->model->run;
    hp_section_set_text(row, columns->name, call->site->name);
    hp_section_set_text(row, columns->what, hp_site_is_task(call->site) ? "poll" : "call");
    row->id = hp_identity_with_number(hp_identity_of_site(call->site), call->end);
    row->id = hp_identity_with_number(row->id, (uint64_t)call->session->header.pid << 32 | call->tid);
    hp_section_set_number(row, columns->ago, hp_run_ns(run, view->now > call->end ? view->now - call->end : 0));
    hp_section_set_number(row, columns->duration, hp_run_ns(run, call->ticks));
    if (hp_run_has_allocs(run)) {
        hp_section_set_count(row, columns->alloc_bytes, call->alloc_bytes);
        hp_section_set_count(row, columns->alloc_count, call->alloc_count);
    }
    if (call->note != NULL)
        hp_section_set_text(row, columns->note, call->note);
    if (call->thread != NULL)
        hp_section_set_text(row, columns->thread, call->thread);
    hp_section_set_count(row, columns->tid, call->tid);
    hp_section_set_count(row, columns->pid, call->session->header.pid);
}

static bool has_data(const struct hotpath_results *results)
{
    struct hp_stat_iter walk = {0};
    struct hp_logged_call kept;
    if (!hp_run_has_feature(&results->model->run, HP_FEATURE_CALLS))
        return false;
    while (hp_stat_iter_next(&walk, results->model->profile))
        if (walk.site != NULL && hp_snapshot_next_call(walk.snapshot, &walk.stat, &walk.calls, &kept))
            return true;
    return false;
}

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    struct view view = {.results = results};
    section->description = "Latest calls, newest first.";
    for (size_t at = 0; at < results->model->run.count; at++)
        view.now = results->model->run.sessions[at]->now_ticks > view.now
                       ? results->model->run.sessions[at]->now_ticks
                       : view.now;
    if (!gather(&view) || !rank(&view))
        return false;
    section->total_rows = view.count;
    section->if_empty = has_data(results) ? "no logged function matches the focus"
                                          : "no calls were logged: write HOTPATH_MEASURE(.log = 1), or set "
                                            "HOTPATH_LOG to the functions whose latest calls should be kept";
    const size_t count = cut(&view);
    if (!describe(&view, section, count) || !hp_section_make_rows(results, section, count))
        return false;
    for (size_t at = 0; at < count; at++)
        fill_row(&view, &section->rows[at], view.order[at]);
    if (count > 0 && hp_run_state(&results->model->run) != HP_SNAPSHOT_RUNNING)
        hp_section_note(section, "Ago: time from the end of a call to the end of the run");
    return true;
}

const struct hp_section_type hp_section_calls = {
    .name = "calls",
    .has_data = has_data,
    .fill = fill,
    HP_COLUMNS(column_table),
    .about = "The latest calls of logged functions: by function, then newest first."};
