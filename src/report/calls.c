/*
 * The section `calls`: one row per logged call, functions sorted by total time, the newest call of each first.
 *
 * Every thread logs its own latest calls; here those of all threads and processes become one list, cut to the
 * length of one thread's log. SPDX-License-Identifier: MIT
 */
#include "profile.h"
#include "section.h"

#include <string.h>

#include "arena.h"
#include "arith.h"
#include "identity.h"
#include "sort.h"

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

/* Facts of this section. */
enum { HAS_THREADS = HP_FACT_OWN, HAS_NOTES = HP_FACT_OWN << 1, HAS_POLLS = HP_FACT_OWN << 2 };

struct view {
    struct hotpath_results *results;
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
    return hp_section_describe(view->results, section, view, facts);
}

static uint64_t identity_of(const struct call *call)
{
    const uint64_t id = hp_identity_with_number(hp_identity_of_site(call->site), call->end);
    return hp_identity_with_number(id, (uint64_t)call->session->header.pid << 32 | call->tid);
}

static void fields(struct hp_fields *to, void *of, const void *entry)
{
    const struct view *view = of;
    const struct call *call = entry;
    if (to->row != NULL)
        to->row->id = identity_of(call);
    HP_FIELD(to, call->site->name, "name", "Function", TEXT, HP_COLUMN_FIRST, "The function; as in timing.");
    HP_FIELD(to, hp_site_is_task(call->site) ? "poll" : "call", "what", "What", TEXT, HP_COLUMN_SHOWN,
             "A call of a function, or a poll of a task.", .words = "call|poll", .shown_by = HAS_POLLS);
    HP_FIELD(to, hp_fields_ns(to, view->now > call->end ? view->now - call->end : 0), "ago_ns", "Ago", NS,
             HP_COLUMN_KEEP | HP_COLUMN_SHOWN, "Time from the end of the call to now, or to the end of the run.");
    HP_FIELD(to, hp_fields_ns(to, call->ticks), "duration_ns", "Time", NS, HP_COLUMN_KEEP | HP_COLUMN_SHOWN);
    HP_FIELD(to, call->alloc_bytes, "alloc_bytes", "Allocated", BYTES, HP_COLUMN_SHOWN,
             "Bytes requested by this call and its callees; absent if no allocations were recorded.",
             .needs = HP_FACT_ALLOCS);
    HP_FIELD(to, call->alloc_count, "alloc_count", "Allocs", COUNT, HP_COLUMN_SHOWN, .needs = HP_FACT_ALLOCS);
    HP_FIELD(to, call->note, "note", "Note", TEXT,
             HP_COLUMN_LATE | HP_COLUMN_ELASTIC | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
             "The text that the program attached with HOTPATH_NOTE; null: none.", .shown_by = HAS_NOTES);
    HP_FIELD(to, call->thread, "thread", "Thread", TEXT, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
             "The name of the thread; null: no longer known.", .shown_by = HAS_THREADS);
    HP_FIELD(to, call->tid, "tid", "TID", COUNT, HP_COLUMN_SHOWN, "The thread that made the call.",
             .shown_by = HAS_THREADS);
    HP_FIELD(to, call->session->header.pid, "pid", "PID", COUNT, HP_COLUMN_SHOWN, .shown_by = HP_FACT_PROCESSES);
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
        if (!hp_section_fill_row(results, section, &section->rows[at], &view, view.order[at]))
            return false;
    if (count > 0 && hp_run_state(&results->model->run) != HP_SNAPSHOT_RUNNING)
        hp_section_note(section, "Ago: time from the end of a call to the end of the run");
    return true;
}

const struct hp_section_type hp_section_calls = {
    .name = "calls",
    .is_of_ticks = true,
    .has_data = has_data,
    .fill = fill,
    .fields = fields,
    .about = "The latest calls of logged functions: by function, then newest first."};
