/* How a run went over its time. SPDX-License-Identifier: MIT */
#include "counters.h"

#include "arena.h"
#include "model.h"
#include "text.h"
#include "timeline.h"

static const char *name_line(struct hp_arena *arena, const struct hp_line *line)
{
    char bytes[400];
    struct hp_text text;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_text_string(&text, hp_line_what(line));
    hp_text_string(&text, " of ");
    hp_text_string(&text, hp_line_name(line));
    return hp_arena_copy(arena, text.bytes, text.length);
}

static bool add_line(struct hp_model *model, const struct hp_timeline *timeline, const struct hp_line *line,
                     struct hp_export_counter *ret_counter)
{
    const uint64_t start = hp_run_started_ns(&model->run, timeline->session);
    *ret_counter =
        (struct hp_export_counter){.name = name_line(model->arena, line),
                                   .unit = hp_line_unit(line),
                                   .first_ns = start + (timeline->from + line->first) * timeline->slot_ns,
                                   .values = line->values,
                                   .count = line->count};
    return ret_counter->name != NULL;
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
