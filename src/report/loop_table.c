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

/* Facts of this section. */
enum { HAS_CALLBACKS = HP_FACT_OWN };

struct view {
    struct hotpath_results *results;
    struct hotpath_section *section;
    struct hp_magnitudes *turns;
    const struct hp_loop *slowest; /* the one with the longest turn; NULL: none */
};

static const struct hp_run *run_of(const struct view *view) { return &view->results->model->run; }

/* ------------------------------------------------------------------------------------------------- rows */

/* The place of the loop: "server.c:120", "libuv.so.1". */
static const char *place_of(struct hp_fields *to, const struct hp_location *location)
{
    char bytes[512];
    struct hp_text text;
    if (location->file[0] == '\0')
        return NULL;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_text_string(&text, location->file);
    if (location->line != 0)
        hp_text_format(&text, ":%u", location->line);
    return hp_fields_copy(to, bytes, text.length);
}

/* The callback of its longest turn; NULL: unknown. */
static const char *callback_of(const struct view *view, const struct hp_loop *loop)
{
    return loop->inside > 0 ? hp_object_name_of_node(view->results->model->profile, loop->record, loop->callback)
                            : NULL;
}

static uint64_t identity_of(const struct hp_loop *loop)
{
    const uint64_t identity = hp_identity_of_object(loop->record);
    return loop->thread != NULL ? hp_identity_with_thread(identity, loop->thread) : identity;
}

/* Found automatically, not declared. */
static bool is_found(const struct hp_loop *loop) { return loop->record->location.line == 0; }

static uint64_t start_of(const struct hp_loop *loop) { return loop->record->session->header.clock_start.ticks; }

static void fields(struct hp_fields *to, void *of, const void *entry)
{
    const struct view *view = of;
    const struct hp_loop *loop = entry;
    if (to->row != NULL) {
        to->row->id = identity_of(loop);
        hp_loop_turns(loop, view->turns);
    }
    HP_FIELD(to, loop->record->name, "name", "Loop", TEXT, HP_COLUMN_FIRST,
             "The label; for a loop that was detected, the library and function that runs it, or the waiting call "
             "and its function.");
    HP_FIELD(to, loop->thread, "thread", "Thread", TEXT, HP_COLUMN_SHOWN | HP_COLUMN_THREAD | HP_COLUMN_MAYBE);
    HP_FIELD(to, loop->turns, "turns", "Turns", COUNT, HP_COLUMN_KEEP | HP_COLUMN_SHOWN,
             "Number of turns: work between two waits, before the first, or after the last.");
    HP_FIELD_IF(to, is_found(loop), loop->events, "events", "Events", COUNT, HP_COLUMN_SHOWN,
                "Events that its waits returned; null if the program reports its waits itself.");
    HP_FIELD_IF(to, is_found(loop), (double)loop->events / (double)loop->turns, "events_per_turn", "Per Turn",
                NUMBER, HP_COLUMN_SHOWN);
    HP_FIELD(to, hp_percent_of(loop->busy, hp_loop_elapsed(loop)), "percent_busy", "Busy", PERCENT,
             HP_COLUMN_SHOWN | HP_COLUMN_PART | HP_COLUMN_MAYBE,
             "Time in turns as a share of the loop's run time; the rest is waiting.");
    HP_FIELD(to, hp_fields_ns(to, loop->busy) / (double)loop->turns, "mean_turn_ns", "Mean Turn", NS,
             HP_COLUMN_SHOWN);
    HP_FIELD(to, hp_histogram_of_magnitudes(to->results, view->turns), "turn_histogram_ns", "Turn Times", HISTOGRAM,
             0, "Distribution of the durations of turns: [from, below, turns].");
    HP_FIELD(to, hp_fields_ns(to, loop->longest), "longest_turn_ns", "Longest", NS,
             HP_COLUMN_KEEP | HP_COLUMN_SHOWN, "The longest turn.");
    HP_FIELD_IF(to, hp_loop_elapsed(loop) > 0, hp_loop_mean_delay(loop) * run_of(view)->ns_per_tick,
                "mean_delay_ns", "Delay", NS, HP_COLUMN_LATE | HP_COLUMN_SHOWN,
                "Average delay of an event that arrives at a random time, until the current turn ends.");
    HP_FIELD_FAMILY(to, percentile, hp_loop_elapsed(loop) > 0,
                    hp_loop_delay(loop, view->turns, percentile) * run_of(view)->ns_per_tick, "_delay_ns", " Delay",
                    NS, HP_COLUMN_SHOWN, "A percentile of that delay.");
    HP_FIELD_IF(to, !hp_run_counts_instructions(run_of(view)),
                hp_loop_turns_above(view->turns, HP_LOOP_BLOCKED_NS / run_of(view)->ns_per_tick), "blocked_turns",
                "Blocked", COUNT, HP_COLUMN_SHOWN, "Turns longer than 10 ms; null if instructions are counted.");
    HP_FIELD(to, callback_of(view, loop), "callback", "Callback", TEXT,
             HP_COLUMN_ELASTIC | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
             "The measured function that took most of the longest turn; null: none was seen.",
             .shown_by = HAS_CALLBACKS);
    HP_FIELD_IF(to, callback_of(view, loop) != NULL, hp_fields_ns(to, loop->inside), "callback_ns", "In Callback",
                NS, 0, "Its part of the longest turn.");
    HP_FIELD(to, place_of(to, &loop->record->location), "place", "Place", TEXT, HP_COLUMN_MAYBE,
             "The program or library that waits; for a label its source location.");
    HP_FIELD(to, hp_fields_ns(to, loop->busy), "busy_ns", "Busy Time", NS, 0);
    HP_FIELD(to, hp_fields_ns(to, loop->waited), "waited_ns", "Waited", NS, 0);
    HP_FIELD_IF(to, loop->longest_since >= start_of(loop), hp_fields_ns(to, loop->longest_since - start_of(loop)),
                "longest_at_ns", "Longest At", NS, 0,
                "When the longest turn began, since the start of its process.");
    HP_FIELD(to, loop->waits, "waits", "Waits", COUNT, 0);
}

/* ------------------------------------------------------------------------------------------------- notes */

static bool add_note(struct view *view)
{
    char bytes[512];
    struct hp_text text;
    const struct hp_loop *loop = view->slowest;
    if (loop == NULL || hp_run_counts_instructions(run_of(view)) || /* no time is too long */
        hp_run_ns(run_of(view), loop->longest) <= HP_LOOP_BLOCKED_NS)
        return true;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_text_format(&text, "%s was blocked for %s", loop->record->name,
                   hp_ns_text(hp_run_ns(run_of(view), loop->longest)).bytes);
    if (callback_of(view, loop) != NULL) {
        hp_text_format(&text, ", %s of it in ", hp_ns_text(hp_run_ns(run_of(view), loop->inside)).bytes);
        hp_utf8_put_safe(&text, callback_of(view, loop), strlen(callback_of(view, loop)));
    }
    hp_text_string(&text, ": events that arrived in that time had to wait");
    return hp_section_note(view->section, hp_results_keep(view->results, &text));
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
    return hp_section_fill_rows(view->results, view->section, (const void *const *)order, count, view);
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
    return view->turns != NULL &&
           hp_section_begin(results, section, view, facts_of(view, loops), "busy_ns", NULL) &&
           fill_rows(view, loops) && add_note(view);
}

const struct hp_section_type hp_section_loops = {.name = "loops",
                                                 .is_of_ticks = true,
                                                 .is_left_out_empty = true,
                                                 .has_data = has_data,
                                                 .fill = fill,
                                                 .fields = fields,
                                                 .about_row = "An event loop on one thread.",
                                                 .always = "order"};
