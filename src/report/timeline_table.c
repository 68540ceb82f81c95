/*
 * The section `timeline`: the numbers of a run over time, one row each, drawn as a line of small bars.
 * SPDX-License-Identifier: MIT
 */
#include "section.h"

#include "arena.h"
#include "order.h"
#include "text.h"
#include "timeline.h"
#include "units.h"

#define LINE_COLUMNS 40u

struct view {
    struct hotpath_results *results;
    const struct hp_timeline *timeline;
    const struct hp_line **shown;
    size_t count;
};

/* ------------------------------------------------------------------------------------------------ cells */

/* The highest value of the slots that column `at` of the drawing stands for; negative: none. */
static double value_at(const struct view *view, const struct hp_line *line, uint32_t at, uint32_t columns)
{
    const uint32_t from = at * view->timeline->slots / columns, to = (at + 1) * view->timeline->slots / columns;
    double highest = -1;
    for (uint32_t slot = from; slot < to; slot++)
        if (slot >= line->first && line->values[slot - line->first] > highest)
            highest = line->values[slot - line->first];
    return highest;
}

/* "▁▁▃█▂": eighths of the highest value; a dot is zero, a blank is unknown. */
static const char *picture(const struct view *view, const struct hp_line *line)
{
    static const char *const eighths[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    char bytes[LINE_COLUMNS * 3 + 1];
    struct hp_text text;
    const uint32_t slots = view->timeline->slots, columns = slots < LINE_COLUMNS ? slots : LINE_COLUMNS;
    hp_text_init(&text, bytes, sizeof bytes);
    for (uint32_t at = 0; at < columns; at++) {
        const double value = value_at(view, line, at, columns);
        const double share = line->highest > 0 ? value / line->highest : 0;
        const size_t step = share >= 1 ? 7 : (size_t)(share * 8 > 0 ? share * 8 : 0);
        hp_text_string(&text, value < 0 ? " " : value > 0 ? eighths[step] : "·");
    }
    return hp_arena_copy(view->results->model->arena, text.bytes, text.length);
}

/* NULL: no memory. */
static const struct hotpath_series *series_of(const struct view *view, const struct hp_line *line)
{
    struct hp_arena *arena = view->results->model->arena;
    const struct hp_timeline *timeline = view->timeline;
    const uint64_t start = hp_run_started_ns(&view->results->model->run, timeline->session);
    struct hotpath_series *series = hp_arena_take(arena, sizeof *series);
    uint64_t *times = hp_arena_take_array(arena, line->count + 1, sizeof *times);
    if (series == NULL || times == NULL)
        return NULL;
    for (size_t at = 0; at < line->count; at++)
        times[at] = start + (timeline->from + line->first + at) * timeline->slot_ns;
    *series = (struct hotpath_series){.size = sizeof *series,
                                      .points = line->count,
                                      .unit = HOTPATH_UNIT_NUMBER,
                                      .times_ns = times,
                                      .values = line->values};
    return series;
}

static void fields(struct hp_fields *to, void *of, const void *entry)
{
    const struct view *view = of;
    const struct hp_line *line = entry;
    HP_FIELD(to, hp_line_name(line), "name", "Name", TEXT, HP_COLUMN_FIRST,
             "The process, a thread, a cause of waiting, or a function.");
    HP_FIELD(to, hp_line_what(line), "what", "What", TEXT, HP_COLUMN_KEEP | HP_COLUMN_SHOWN,
             .words = "cpu|kernel|memory|threads|allocated|waiting|calls|polls|time");
    HP_FIELD(to, picture(view, line), "line", "Over Time", TEXT, HP_COLUMN_LATE | HP_COLUMN_SHOWN,
             "A chart of the whole run, from its start to its end or now.");
    HP_FIELD(to, line->last, "last", "Last", NUMBER, HP_COLUMN_SHOWN);
    HP_FIELD(to, line->highest, "max", "Max", NUMBER, HP_COLUMN_SHOWN);
    HP_FIELD(to, line->average, "average", "Avg", NUMBER, HP_COLUMN_SHOWN);
    HP_FIELD(to, hp_line_unit(line), "unit", "Unit", TEXT, HP_COLUMN_SHOWN,
             "The unit of the row: percent of one CPU, or of the time of one thread.",
             .words = "%|bytes|threads|per second");
    HP_FIELD(to, ((double)line->first + view->timeline->from) * (double)view->timeline->slot_ns, "from_ns", "From",
             NS, 0, "Start of its history, since the start of the run.");
    HP_FIELD_IF(to, line->kind == HP_AXIS_THREAD, line->id, "tid", "TID", COUNT, 0);
    HP_FIELD(to, series_of(view, line), "series", "Series", SERIES, 0,
             "The value of each time slot: its start since the start of the run, and the value in `unit`.");
}

static void totals(struct hp_fields *to, void *view, const void *about)
{
    const struct hp_timeline *timeline = about;
    (void)view;
    HP_FIELD(to, timeline->slots, "slots", NULL, COUNT, 0, "Number of time slots.");
    HP_FIELD(to, timeline->slot_ns, "slot_ns", NULL, COUNT, 0, "Length of a time slot.");
}

/* ------------------------------------------------------------------------------------------------- rows */

static bool is_shown(const struct view *view, const struct hp_line *line)
{
    return line->site != NULL ? hp_results_show(view->results, line->site) : view->results->focus == NULL;
}

static bool choose(struct view *view)
{
    view->shown = hp_arena_take_array(view->results->model->arena, view->timeline->count + 1, sizeof(void *));
    for (size_t at = 0; view->shown != NULL && at < view->timeline->count; at++)
        if (is_shown(view, &view->timeline->lines[at]))
            view->shown[view->count++] = &view->timeline->lines[at];
    return view->shown != NULL;
}

static bool set_summary(const struct view *view, struct hotpath_section *section)
{
    char bytes[160];
    struct hp_text line;
    if (view->timeline->session == NULL)
        return true;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_format(&line, "%u%s%s%s", view->timeline->slots,
                   view->timeline->slots == 1 ? " time slot of " : " time slots of ",
                   hp_ns_text((double)view->timeline->slot_ns).bytes,
                   view->results->model->run.count > 1 ? ", for the first process" : "");
    section->summary = hp_results_keep(view->results, &line);
    return section->summary != NULL;
}

static bool has_data(const struct hotpath_results *results)
{
    const struct hp_timeline *timeline = hp_model_timeline(results->model);
    return timeline != NULL && timeline->session != NULL;
}

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    struct view view = {.results = results, .timeline = hp_model_timeline(results->model)};
    section->description = "The run over time.";
    if (view.timeline == NULL || !hp_section_describe(results, section, &view, 0) || !choose(&view))
        return false;
    section->if_empty = view.timeline->session == NULL ? "no history: 'hotpath run' keeps a history of runs "
                                                         "longer than a quarter of a second"
                                                       : "no history for that";
    hp_section_add_totals(results, section, view.timeline);
    if (!hp_order_choose(results, section, "max", NULL))
        return false;
    section->order.is_set = !section->order.is_usual; /* similar lines stay together, in order of arrival */
    return hp_section_fill_rows(results, section, (const void *const *)view.shown, view.count, &view) &&
           set_summary(&view, section);
}

const struct hp_section_type hp_section_timeline = {.name = "timeline",
                                                    .is_on_request = true,
                                                    .is_left_out_empty = true,
                                                    .has_data = has_data,
                                                    .has_history = true,
                                                    .fill = fill,
                                                    .fields = fields,
                                                    .totals = totals};
