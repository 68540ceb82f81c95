/*
 * The section `timeline`: the numbers of a run over time, one row each, drawn as a line of small bars.
 * SPDX-License-Identifier: MIT
 */
#include "section.h"

#include <string.h>

#include "arena.h"
#include "order.h"
#include "text.h"
#include "timeline.h"
#include "units.h"

#define LINE_COLUMNS 40u

struct columns {
    size_t name, what, unit, line, last, highest, average, from, tid, series;
};

#define AT(column) .index = offsetof(struct columns, column)

static const struct hp_column_spec column_table[] = {
    {"name", "Name", HOTPATH_UNIT_TEXT, HP_COLUMN_NAME | HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(name),
     "The process, a thread, a cause of waiting, or a function."},
    {"what", "What", HOTPATH_UNIT_TEXT, HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(what),
     .words = "cpu|kernel|memory|threads|allocated|waiting|calls|polls|time"},
    {"line", "Over Time", HOTPATH_UNIT_TEXT, HP_COLUMN_LATE | HP_COLUMN_SHOWN, AT(line),
     "A chart of the whole run, from its start to its end or now."},
    {"last", "Last", HOTPATH_UNIT_NUMBER, HP_COLUMN_SHOWN, AT(last)},
    {"max", "Max", HOTPATH_UNIT_NUMBER, HP_COLUMN_SHOWN, AT(highest)},
    {"average", "Avg", HOTPATH_UNIT_NUMBER, HP_COLUMN_SHOWN, AT(average)},
    {"unit", "Unit", HOTPATH_UNIT_TEXT, HP_COLUMN_SHOWN, AT(unit),
     "The unit of the row: percent of one CPU, or of the time of one thread.",
     .words = "%|bytes|threads|per second"},
    {"from_ns", "From", HOTPATH_UNIT_NS, 0, AT(from), "Start of its history, since the start of the run."},
    {"tid", "TID", HOTPATH_UNIT_COUNT, HP_COLUMN_MAYBE, AT(tid)},
    {"series", "Series", HOTPATH_UNIT_SERIES, 0, AT(series),
     "The value of each time slot: its start since the start of the run, and the value in `unit`."},
};

static const struct hp_column_spec total_table[] = {
    {.key = "slots", .unit = HOTPATH_UNIT_COUNT, .about = "Number of time slots."},
    {.key = "slot_ns", .unit = HOTPATH_UNIT_COUNT, .about = "Length of a time slot."},
};

struct view {
    struct hotpath_results *results;
    const struct hp_timeline *timeline;
    struct columns columns;
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

static bool fill_row(void *context, struct hp_row *row, const void *about)
{
    const struct view *view = context;
    const struct hp_line *line = about;
    const struct columns *columns = &view->columns;
    const char *drawn = picture(view, line);
    const struct hotpath_series *series = series_of(view, line);
    if (drawn == NULL || series == NULL)
        return false;
    hp_section_set_series(row, columns->series, series);
    hp_section_set_text(row, columns->name, hp_line_name(line));
    hp_section_set_text(row, columns->what, hp_line_what(line));
    hp_section_set_text(row, columns->line, drawn);
    hp_section_set_number(row, columns->last, line->last);
    hp_section_set_number(row, columns->highest, line->highest);
    hp_section_set_number(row, columns->average, line->average);
    hp_section_set_text(row, columns->unit, hp_line_unit(line));
    hp_section_set_number(row, columns->from,
                          ((double)line->first + view->timeline->from) * (double)view->timeline->slot_ns);
    if (line->kind == HP_AXIS_THREAD)
        hp_section_set_count(row, columns->tid, line->id);
    return true;
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
    hp_text_format(&line, "%u%s", view->timeline->slots,
                   view->timeline->slots == 1 ? " time slot of " : " time slots of ");
    hp_units_ns(&line, (double)view->timeline->slot_ns);
    hp_text_string(&line, view->results->model->run.count > 1 ? ", for the first process" : "");
    section->summary = hp_arena_copy(view->results->model->arena, line.bytes, line.length);
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
    if (view.timeline == NULL || !hp_section_describe(results, section, 0, &view.columns) || !choose(&view))
        return false;
    section->if_empty = view.timeline->session == NULL ? "no history: 'hotpath run' keeps a history of runs "
                                                         "longer than a quarter of a second"
                                                       : "no history for that";
    section->total_rows = view.count;
    hp_section_add_total(section, "slots", view.timeline->slots);
    hp_section_add_total(section, "slot_ns", view.timeline->slot_ns);
    if (!hp_order_choose(results, section, view.columns.highest, HP_MAX_COLUMNS))
        return false;
    section->order.is_set = !section->order.is_usual; /* similar lines stay together, in order of arrival */
    return hp_order_fill(results, section, results->settings->show.functions_limit, (const void *const *)view.shown,
                         view.count, fill_row, &view) &&
           set_summary(&view, section);
}

const struct hp_section_type hp_section_timeline = {.name = "timeline",
                                                    .is_on_request = true,
                                                    .is_left_out_empty = true,
                                                    .has_data = has_data,
                                                    .has_history = true,
                                                    .fill = fill,
                                                    HP_COLUMNS(column_table),
                                                    HP_TOTALS(total_table)};
