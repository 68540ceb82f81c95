/* What exports show besides stacks, and the table of formats. SPDX-License-Identifier: MIT */
#include "export.h"

#include <stdlib.h>
#include <string.h>

#include "alloc_profile.h"
#include "arena.h"
#include "growing_array.h"
#include "model.h"
#include "profile.h"
#include "text.h"
#include "timeline.h"
#include "utf8.h"

/* ---------------------------------------------------------------------------------------------- single calls */

/* The array of calls grows outside the arena, which would keep every old copy. */
struct gathering {
    struct hp_model *model;
    struct hp_export_call *calls;
    size_t count, room;
};

#define SAFE_BYTES 4096u /* of a name; longer ones are cut */

/* A copy without terminal control characters. NULL: no memory. */
static const char *safe_copy(struct hp_arena *arena, const char *bytes, size_t length)
{
    char safe[SAFE_BYTES];
    struct hp_text text;
    hp_text_init(&text, safe, sizeof safe);
    hp_utf8_put_safe(&text, bytes, length);
    return hp_arena_copy(arena, text.bytes, text.length);
}

/* "worker 4243" */
static const char *name_thread(struct hp_arena *arena, const struct hp_stat_iter *walk, uint32_t tid)
{
    char bytes[80];
    struct hp_text text;
    const char *name = hp_stat_iter_thread_name(walk, tid);
    hp_text_init(&text, bytes, sizeof bytes);
    if (name != NULL) {
        hp_text_format(&text, "%s ", name);
    }
    hp_text_u64(&text, tid);
    return safe_copy(arena, text.bytes, text.length);
}

static double start_of(const struct hp_run *run, const struct hp_snapshot *session,
                       const struct hp_logged_call *kept)
{
    const uint64_t began = session->header.clock_start.ticks;
    return (double)hp_run_started_ns(run, session) + hp_run_ns(run, kept->start > began ? kept->start - began : 0);
}

static bool add_call(struct gathering *gathering, const struct hp_stat_iter *walk,
                     const struct hp_logged_call *kept, bool is_slowest)
{
    struct hp_model *model = gathering->model;
    if (!HP_MAKE_ROOM(gathering->calls, gathering->count + 1, gathering->room))
        return false;
    struct hp_export_call *call = &gathering->calls[gathering->count++];
    *call = (struct hp_export_call){.name = safe_copy(model->arena, walk->site->name, strlen(walk->site->name)),
                                    .thread = name_thread(model->arena, walk, kept->tid),
                                    .start_ns = start_of(&model->run, walk->snapshot, kept),
                                    .ns = hp_run_ns(&model->run, kept->ticks),
                                    .alloc_bytes = kept->alloc_bytes,
                                    .alloc_count = kept->alloc_count,
                                    .is_slowest = is_slowest};
    if (kept->note_length > 0)
        call->note = safe_copy(model->arena, kept->note, kept->note_length);
    return call->name != NULL && call->thread != NULL && (kept->note_length == 0 || call->note != NULL);
}

/* Adds the slowest call, unless it is among the latest ones. False: no memory. */
static bool add_slowest(struct gathering *gathering, struct hp_stat_iter *walk)
{
    struct hp_slow_copy slow;
    struct hp_logged_call kept;
    const size_t size = hp_snapshot_slowest_bytes(walk->snapshot, &walk->stat);
    void *memory = size > 0 ? malloc(size) : NULL;
    if (memory == NULL)
        return size == 0;
    bool is_new = hp_snapshot_copy_slowest(walk->snapshot, &walk->stat, memory, size, &slow);
    hp_walk_rewind(&walk->calls);
    while (is_new && hp_snapshot_next_call(walk->snapshot, &walk->stat, &walk->calls, &kept))
        is_new = kept.start != slow.call.start || kept.ticks != slow.call.ticks;
    free(memory);
    return !is_new || add_call(gathering, walk, &slow.call, true);
}

static bool gather(struct gathering *gathering)
{
    struct hp_stat_iter walk = {0};
    struct hp_logged_call kept;
    while (hp_stat_iter_next(&walk, gathering->model->profile)) {
        if (walk.site == NULL)
            continue;
        while (hp_snapshot_next_call(walk.snapshot, &walk.stat, &walk.calls, &kept))
            if (!add_call(gathering, &walk, &kept, false))
                return false;
        if (!add_slowest(gathering, &walk))
            return false;
    }
    return true;
}

/* Of calls that begin together, the longer one encloses the other. */
static int by_start(const void *a, const void *b)
{
    const struct hp_export_call *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return (x->ns < y->ns) - (x->ns > y->ns);
}

static bool keep(struct gathering *gathering, struct hp_export_calls *calls)
{
    calls->all = hp_arena_take_array(gathering->model->arena, gathering->count + 1, sizeof *calls->all);
    if (calls->all == NULL)
        return false;
    for (; calls->count < gathering->count; calls->count++)
        calls->all[calls->count] = gathering->calls[calls->count];
    qsort(calls->all, calls->count, sizeof *calls->all, by_start);
    return true;
}

const struct hp_export_calls *hp_export_calls_make(struct hp_model *model)
{
    struct gathering gathering = {.model = model};
    struct hp_export_calls *calls = hp_arena_take(model->arena, sizeof *calls);
    bool has_memory = calls != NULL && gather(&gathering) && keep(&gathering, calls);
    if (has_memory)
        calls->has_allocs = hp_run_has_allocs(&model->run);
    free(gathering.calls);
    return has_memory ? calls : NULL;
}

/* -------------------------------------------------------------------------------------------------- counters */

static const char *name_line(struct hp_arena *arena, const struct hp_line *line)
{
    char bytes[400];
    struct hp_text text;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_text_format(&text, "%s of ", hp_line_what(line));
    hp_utf8_put_safe(&text, hp_line_name(line), strlen(hp_line_name(line)));
    return hp_arena_copy(arena, text.bytes, text.length);
}

static enum hp_counter_kind kind_of(const struct hp_line *line)
{
    if (hp_line_is_share(line))
        return HP_COUNTER_SHARE;
    return hp_axis_is_level(line->kind) ? HP_COUNTER_LEVEL : HP_COUNTER_RATE;
}

/* Adds the increases between the times of the samples, which do not coincide with slots. False: no memory. */
static bool add_gains(struct hp_model *model, const struct hp_timeline *timeline, const struct hp_line *line,
                      struct hp_export_counter *counter)
{
    const uint64_t start = hp_run_started_ns(&model->run, timeline->session);
    double *gained = hp_arena_take_array(model->arena, line->count + 1, sizeof *gained);
    uint64_t *moments = hp_arena_take_array(model->arena, line->count + 1, sizeof *moments);
    if (gained == NULL || moments == NULL)
        return false;
    moments[0] = counter->first_ns;
    if (timeline->from + line->first > 0 && line->first > 0)
        moments[0] = start + hp_timeline_timestamp(timeline, line->first - 1);
    for (uint32_t at = 0; at < line->count; at++) {
        const uint64_t moment = start + hp_timeline_timestamp(timeline, line->first + at);
        gained[at] = hp_timeline_gain(timeline, &model->run, line, line->first + at);
        moments[at + 1] = moment > moments[at] ? moment : moments[at];
    }
    counter->gained = gained;
    counter->moments_ns = moments;
    return true;
}

static bool add_line(struct hp_model *model, const struct hp_timeline *timeline, const struct hp_line *line,
                     struct hp_export_counter *ret_counter)
{
    const uint64_t start = hp_run_started_ns(&model->run, timeline->session);
    *ret_counter =
        (struct hp_export_counter){.name = name_line(model->arena, line),
                                   .what = hp_line_what(line),
                                   .unit = hp_line_unit(line),
                                   .kind = kind_of(line),
                                   .first_ns = start + (timeline->from + line->first) * timeline->slot_ns,
                                   .values = line->values,
                                   .count = line->count};
    if (ret_counter->name == NULL)
        return false;
    return ret_counter->kind == HP_COUNTER_LEVEL || add_gains(model, timeline, line, ret_counter);
}

const struct hp_export_counters *hp_export_counters_make(struct hp_model *model)
{
    const struct hp_timeline *timeline = hp_model_timeline(model);
    struct hp_export_counters *counters = hp_arena_take(model->arena, sizeof *counters);
    if (timeline == NULL || counters == NULL || timeline->session == NULL)
        return timeline != NULL ? counters : NULL;
    counters->slot_ns = timeline->slot_ns;
    counters->all = hp_arena_take_array(model->arena, timeline->count + 1, sizeof *counters->all);
    if (counters->all == NULL)
        return NULL;
    for (; counters->count < timeline->count; counters->count++)
        if (!add_line(model, timeline, &timeline->lines[counters->count], &counters->all[counters->count]))
            return NULL;
    return counters;
}

/* --------------------------------------------------------------------------------------------------- formats */

#define ENTRY(name, about) &hp_format_##name,
const struct hp_export_format *const hp_export_formats[] = {HP_EXPORT_FORMATS(ENTRY)};

const size_t hp_export_format_count = sizeof hp_export_formats / sizeof hp_export_formats[0];

const struct hp_export_format *hp_export_format_find(const char *name)
{
    for (size_t at = 0; at < hp_export_format_count; at++)
        if (strcmp(hp_export_formats[at]->name, name) == 0)
            return hp_export_formats[at];
    return NULL;
}
