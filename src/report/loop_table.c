/*
 * The section `loops`: one row per event loop and thread, the busiest first. SPDX-License-Identifier: MIT
 */
#include "loop_profile.h"

#include <string.h>

#include "arena.h"
#include "identity.h"
#include "object_profile.h"
#include "order.h"
#include "section.h"
#include "sort.h"
#include "text.h"
#include "units.h"
#include "utf8.h"

struct columns {
    size_t name, thread, turns, events, per_turn, busy, busy_share, waited, longest, longest_at, mean, delay,
        blocked, callback, inside, place, waits;
    size_t percentiles[HP_MAX_PERCENTILES];
};

#define AT(column) .index = offsetof(struct columns, column)

/* Facts of this section. */
enum { HAS_CALLBACKS = HP_FACT_OWN };

static const struct hp_column_spec column_table[] = {
    {"name", "Loop", HOTPATH_UNIT_TEXT, HP_COLUMN_NAME | HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(name),
     "The label; for a loop that was detected, the library and function that runs it, or the waiting call and its "
     "function."},
    {"thread", "Thread", HOTPATH_UNIT_TEXT, HP_COLUMN_SHOWN | HP_COLUMN_THREAD | HP_COLUMN_MAYBE, AT(thread)},
    {"turns", "Turns", HOTPATH_UNIT_COUNT, HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(turns),
     "Number of turns: work between two waits, before the first, or after the last."},
    {"events", "Events", HOTPATH_UNIT_COUNT, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(events),
     "Events that its waits returned; null if the program reports its waits itself."},
    {"events_per_turn", "Per Turn", HOTPATH_UNIT_NUMBER, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(per_turn)},
    {"percent_busy", "Busy", HOTPATH_UNIT_PERCENT, HP_COLUMN_SHOWN | HP_COLUMN_PART | HP_COLUMN_MAYBE,
     AT(busy_share), "Time in turns as a share of the loop's run time; the rest is waiting."},
    {"mean_turn_ns", "Mean Turn", HOTPATH_UNIT_NS, HP_COLUMN_SHOWN, AT(mean)},
    {"longest_turn_ns", "Longest", HOTPATH_UNIT_NS, HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(longest),
     "The longest turn."},
    {"mean_delay_ns", "Delay", HOTPATH_UNIT_NS, HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(delay),
     "Average delay of an event that arrives at a random time, until the current turn ends."},
    {"_delay_ns", " Delay", HOTPATH_UNIT_NS, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE | HP_COLUMN_FAMILY, AT(percentiles),
     "A percentile of that delay."},
    {"blocked_turns", "Blocked", HOTPATH_UNIT_COUNT, HP_COLUMN_SHOWN, AT(blocked), "Turns longer than 10 ms."},
    {"callback", "Callback", HOTPATH_UNIT_TEXT, HP_COLUMN_ELASTIC | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(callback),
     "The measured function that took most of the longest turn; null: none was seen.", .shown_by = HAS_CALLBACKS},
    {"callback_ns", "In Callback", HOTPATH_UNIT_NS, HP_COLUMN_MAYBE, AT(inside), "Its part of the longest turn."},
    {"place", "Place", HOTPATH_UNIT_TEXT, HP_COLUMN_MAYBE, AT(place),
     "The program or library that waits; for a label its source location."},
    {"busy_ns", "Busy Time", HOTPATH_UNIT_NS, 0, AT(busy)},
    {"waited_ns", "Waited", HOTPATH_UNIT_NS, 0, AT(waited)},
    {"longest_at_ns", "Longest At", HOTPATH_UNIT_NS, HP_COLUMN_MAYBE, AT(longest_at),
     "When the longest turn began, since the start of its process."},
    {"waits", "Waits", HOTPATH_UNIT_COUNT, 0, AT(waits)},
};

struct view {
    struct hotpath_results *results;
    struct hotpath_section *section;
    struct columns columns;
    struct hp_magnitudes *turns;
    const struct hp_loop *slowest; /* the one with the longest turn; NULL: none */
};

static const struct hp_run *run_of(const struct view *view) { return &view->results->model->run; }

/* ------------------------------------------------------------------------------------------------- rows */

/* The place of the loop: "server.c:120", "libuv.so.1". */
static bool set_place(const struct view *view, struct hp_row *row, const struct hp_location *location)
{
    char bytes[512];
    struct hp_text text;
    if (location->file[0] == '\0')
        return true;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_text_string(&text, location->file);
    if (location->line != 0) {
        hp_text_format(&text, ":%u", location->line);
    }
    const char *copy = hp_arena_copy(view->results->model->arena, bytes, text.length);
    if (copy != NULL)
        hp_section_set_text(row, view->columns.place, copy);
    return copy != NULL;
}

static void set_delays(const struct view *view, struct hp_row *row, const struct hp_loop *loop)
{
    const struct hp_show_settings *show = &view->results->settings->show;
    const struct hp_run *run = run_of(view);
    if (hp_loop_elapsed(loop) == 0)
        return;
    hp_section_set_number(row, view->columns.delay, hp_loop_mean_delay(loop) * run->ns_per_tick);
    for (uint32_t at = 0; at < show->percentile_count && at < HP_MAX_PERCENTILES; at++)
        hp_section_set_number(row, view->columns.percentiles[at],
                              hp_loop_delay(loop, view->turns, show->percentiles[at]) * run->ns_per_tick);
}

static void set_times(const struct view *view, struct hp_row *row, const struct hp_loop *loop)
{
    const struct hp_run *run = run_of(view);
    const struct columns *columns = &view->columns;
    const uint64_t start = loop->record->session->header.clock_start.ticks, elapsed = hp_loop_elapsed(loop);
    if (elapsed > 0)
        hp_section_set_number(row, columns->busy_share, 100 * (double)loop->busy / (double)elapsed);
    hp_section_set_number(row, columns->busy, hp_run_ns(run, loop->busy));
    hp_section_set_number(row, columns->waited, hp_run_ns(run, loop->waited));
    hp_section_set_number(row, columns->longest, hp_run_ns(run, loop->longest));
    hp_section_set_number(row, columns->mean, hp_run_ns(run, loop->busy) / (double)loop->turns);
    if (loop->longest_since >= start)
        hp_section_set_number(row, columns->longest_at, hp_run_ns(run, loop->longest_since - start));
}

/* The callback of its longest turn; NULL: unknown. */
static const char *callback_of(const struct view *view, const struct hp_loop *loop)
{
    return loop->inside > 0 ? hp_object_name_of_node(view->results->model->profile, loop->record, loop->callback)
                            : NULL;
}

static void set_callback(const struct view *view, struct hp_row *row, const struct hp_loop *loop)
{
    const char *callback = callback_of(view, loop);
    if (callback == NULL)
        return;
    hp_section_set_text(row, view->columns.callback, callback);
    hp_section_set_number(row, view->columns.inside, hp_run_ns(run_of(view), loop->inside));
}

static uint64_t identity_of(const struct hp_loop *loop)
{
    const uint64_t identity = hp_identity_of_object(loop->record);
    return loop->thread != NULL ? hp_identity_with_thread(identity, loop->thread) : identity;
}

static bool fill_row(void *of, struct hp_row *row, const void *what)
{
    struct view *view = of;
    const struct hp_loop *loop = what;
    const struct columns *columns = &view->columns;
    hp_loop_turns(loop, view->turns);
    row->id = identity_of(loop);
    hp_section_set_text(row, columns->name, loop->record->name);
    hp_section_set_count(row, columns->turns, loop->turns);
    hp_section_set_count(row, columns->waits, loop->waits);
    if (loop->record->location.line == 0) { /* found automatically, not declared */
        hp_section_set_count(row, columns->events, loop->events);
        hp_section_set_number(row, columns->per_turn, (double)loop->events / (double)loop->turns);
    }
    hp_section_set_count(row, columns->blocked,
                         hp_loop_turns_above(view->turns, HP_LOOP_BLOCKED_NS / run_of(view)->ns_per_tick));
    set_times(view, row, loop);
    set_delays(view, row, loop);
    set_callback(view, row, loop);
    if (loop->thread != NULL && !hp_section_set_thread(view->results, row, columns->thread, loop->thread))
        return false;
    return set_place(view, row, &loop->record->location);
}

/* ------------------------------------------------------------------------------------------------- notes */

static bool add_note(struct view *view)
{
    char bytes[512];
    struct hp_text text;
    const struct hp_loop *loop = view->slowest;
    if (loop == NULL || hp_run_ns(run_of(view), loop->longest) <= HP_LOOP_BLOCKED_NS)
        return true;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_text_format(&text, "%s was blocked for ", loop->record->name);
    hp_units_ns(&text, hp_run_ns(run_of(view), loop->longest));
    if (callback_of(view, loop) != NULL) {
        hp_text_string(&text, ", ");
        hp_units_ns(&text, hp_run_ns(run_of(view), loop->inside));
        hp_text_string(&text, " of it in ");
        hp_utf8_put_safe(&text, callback_of(view, loop), strlen(callback_of(view, loop)));
    }
    hp_text_string(&text, ": events that arrived in that time had to wait");
    const char *copy = hp_arena_copy(view->results->model->arena, bytes, text.length);
    if (copy != NULL)
        hp_section_note(view->section, copy);
    return copy != NULL;
}

/* ------------------------------------------------------------------------------------------------- section */

static int compare_loops(const void *a, const void *b)
{
    const struct hp_loop *x = a, *y = b;
    if (x->busy != y->busy)
        return x->busy > y->busy ? -1 : 1;
    return x == y ? 0 : x < y ? -1 : 1;
}

static bool fill_rows(struct view *view, const struct hp_loops *loops)
{
    const struct hp_loop **order =
        hp_arena_take_array(view->results->model->arena, loops->count + 1, sizeof(void *));
    if (order == NULL)
        return false;
    size_t count = 0;
    for (size_t at = 0; at < loops->count; at++) {
        const struct hp_loop *loop = &loops->all[at];
        if (!hp_results_show_object(view->results, loop->record))
            continue;
        order[count++] = loop;
        if (view->slowest == NULL || loop->longest > view->slowest->longest)
            view->slowest = loop;
    }
    hp_sort(order, count, compare_loops);
    view->section->total_rows = count;
    return hp_order_fill(view->results, view->section, view->results->settings->show.functions_limit,
                         (const void *const *)order, count, fill_row, view);
}

static uint32_t facts_of(const struct view *view, const struct hp_loops *loops)
{
    uint32_t facts = 0;
    for (size_t at = 0; at < loops->count; at++)
        facts |= callback_of(view, &loops->all[at]) != NULL ? HAS_CALLBACKS : 0u;
    return facts;
}

/* Places with few waits are no loops, so all have to be checked. */
static bool has_data(const struct hotpath_results *results)
{
    if (!hp_run_has_objects(&results->model->run, hp_is_loop))
        return false;
    const struct hp_objects *objects = hp_model_objects(results->model);
    const struct hp_loops *loops =
        objects != NULL ? hp_loops_of_run(results->model->arena, &results->model->run, objects) : NULL;
    return loops != NULL && loops->count > 0;
}

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    struct hp_model *model = results->model;
    const struct hp_objects *objects = hp_model_objects(model);
    struct view *view = hp_arena_take(model->arena, sizeof *view);
    const struct hp_loops *loops = objects != NULL ? hp_loops_of_run(model->arena, &model->run, objects) : NULL;
    if (loops == NULL || view == NULL)
        return false;
    *view = (struct view){.results = results, .section = section};
    view->turns = hp_arena_take(model->arena, sizeof *view->turns);
    section->description = "Event loops, and how long their events are delayed.";
    section->if_empty = "no event loops were seen: 'hotpath run' detects those based on epoll, poll and select; "
                        "record others with HOTPATH_LOOP_WAIT";
    return view->turns != NULL && hp_section_describe(results, section, facts_of(view, loops), &view->columns) &&
           hp_order_choose(results, section, view->columns.busy, HP_MAX_COLUMNS) && fill_rows(view, loops) &&
           add_note(view);
}

const struct hp_section_type hp_section_loops = {.name = "loops",
                                                 .is_left_out_empty = true,
                                                 .has_data = has_data,
                                                 .fill = fill,
                                                 HP_COLUMNS(column_table),
                                                 .about_row = "An event loop on one thread.",
                                                 .always = "order"};
