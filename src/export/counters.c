/* The numbers of a run over time. SPDX-License-Identifier: MIT */
#include "counters.h"

#include <string.h>

#include "arena.h"
#include "model.h"
#include "text.h"
#include "timeline.h"
#include "utf8.h"

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
