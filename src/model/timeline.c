/* The numbers of a run over time. SPDX-License-Identifier: MIT */
#include "timeline.h"

#include <string.h>

#include "arena.h"
#include "arith.h"
#include "time_range.h"
#include "wait_profile.h"

#define SECOND 1e9

struct reading {
    struct hp_arena *arena;
    const struct hp_profile *profile;
    struct hp_timeline *timeline;
};

bool hp_line_is_share(const struct hp_line *line)
{
    return line->kind == HP_AXIS_CPU || line->kind == HP_AXIS_KERNEL || line->kind == HP_AXIS_THREAD ||
           line->kind == HP_AXIS_WAIT || line->kind == HP_AXIS_SITE_TICKS;
}

const char *hp_line_what(const struct hp_line *line)
{
    static const char *const words[HP_AXIS_KINDS] = {
        [HP_AXIS_CPU] = "cpu",      [HP_AXIS_KERNEL] = "kernel",       [HP_AXIS_RESIDENT] = "memory",
        [HP_AXIS_LIVE] = "threads", [HP_AXIS_ALLOCATED] = "allocated", [HP_AXIS_THREAD] = "cpu",
        [HP_AXIS_WAIT] = "waiting", [HP_AXIS_SITE_CALLS] = "calls",    [HP_AXIS_SITE_TICKS] = "time",
    };
    return line->kind == HP_AXIS_SITE_CALLS && hp_site_is_task(line->site) ? "polls" : words[line->kind];
}

const char *hp_line_unit(const struct hp_line *line)
{
    if (hp_line_is_share(line))
        return "%";
    if (line->kind == HP_AXIS_LIVE)
        return "threads";
    return line->kind == HP_AXIS_SITE_CALLS ? "per second" : "bytes";
}

const char *hp_line_name(const struct hp_line *line)
{
    if (line->site != NULL)
        return line->site->name;
    if (line->kind == HP_AXIS_WAIT)
        return hp_wait_cause_name(line->id);
    return line->kind == HP_AXIS_THREAD && line->name[0] != '\0' ? line->name : "<process>";
}

static bool is_of_site(uint32_t kind) { return kind == HP_AXIS_SITE_CALLS || kind == HP_AXIS_SITE_TICKS; }

/* The others are for time ranges (time_range.h). */
static bool is_line(uint32_t kind) { return kind <= HP_AXIS_SITE_TICKS; }

/* The increase of a counter in a slot of the axis. */
static uint64_t gain_of(const struct hp_timeline *timeline, uint32_t place, uint32_t slot)
{
    const struct hp_axis *axis = &timeline->axis.axis;
    return hp_less(hp_axis_value(axis, place, slot), slot > 0 ? hp_axis_value(axis, place, slot - 1) : 0);
}

/*
 * Time between the last two samples, if the last slot has more than its own sample: what came until the end
 * (hp_axis_amend).
 */
static uint64_t since_last(const struct hp_timeline *timeline, uint32_t kind, uint32_t slot)
{
    const bool is_amended = slot > 0 && slot + 1 == timeline->axis.axis.header.used &&
                            (is_of_site(kind) || kind == HP_AXIS_WAIT || kind == HP_AXIS_THREAD);
    return is_amended ? gain_of(timeline, timeline->axis.moments, slot) : 0;
}

/* The increase of a counter in a slot, per time covered: the latest slot may have begun with its only sample. */
static double speed(const struct reading *reading, const struct hp_line *line, uint32_t slot)
{
    const uint64_t gained = gain_of(reading->timeline, line->place, slot);
    const struct hp_axis_header *header = &reading->timeline->axis.axis.header;
    const uint64_t begin = header->start_ns + slot * header->slot_ns;
    const uint64_t in_it = slot + 1 == header->used ? hp_less(header->latest_ns, begin) : header->slot_ns;
    const uint64_t at_least = in_it > HP_AXIS_FIRST_SLOT_NS ? in_it : HP_AXIS_FIRST_SLOT_NS;
    const uint64_t sampled = since_last(reading->timeline, line->kind, slot);
    const double ns = (double)(sampled > at_least           ? sampled
                               : at_least < header->slot_ns ? at_least
                                                            : header->slot_ns);
    if (!hp_line_is_share(line))
        return (double)gained * SECOND / ns;
    const double part =
        line->kind == HP_AXIS_SITE_TICKS ? hp_run_ns(reading->profile->run, gained) : (double)gained;
    return 100 * part / ns;
}

/* The first value of a counter is a level, not a rate, unless it counts from the start. */
static void fill_values(const struct reading *reading, struct hp_line *line)
{
    const struct hp_timeline *timeline = reading->timeline;
    const bool is_level = hp_axis_is_level(line->kind);
    double sum = 0;
    for (uint32_t slot = timeline->from + line->first; slot < timeline->from + timeline->slots; slot++) {
        const double shown =
            is_level ? (double)hp_axis_value(&timeline->axis.axis, line->place, slot) : speed(reading, line, slot);
        line->values[line->count++] = shown;
        line->highest = shown > line->highest ? shown : line->highest;
        line->last = shown;
        sum += shown;
    }
    line->average = line->count > 0 ? sum / (double)line->count : 0;
}

double hp_timeline_gain(const struct hp_timeline *timeline, const struct hp_run *run, const struct hp_line *line,
                        uint32_t slot)
{
    const uint64_t gained = gain_of(timeline, line->place, timeline->from + slot);
    return line->kind == HP_AXIS_SITE_TICKS ? hp_run_ns(run, gained) : (double)gained;
}

uint64_t hp_timeline_timestamp(const struct hp_timeline *timeline, uint32_t slot)
{
    return hp_axis_value(&timeline->axis.axis, timeline->axis.moments, timeline->from + slot);
}

static bool add_line(struct reading *reading, uint32_t place, const struct hp_axis_series *series)
{
    struct hp_line *line = &reading->timeline->lines[reading->timeline->count];
    const uint32_t from = reading->timeline->from;
    const uint32_t known = series->first + (series->first > 0 && !hp_axis_is_level(series->kind));
    const uint32_t first = known > from ? known - from : 0;
    const struct hp_site_sums *site =
        is_of_site(series->kind) ? hp_profile_site(reading->profile, 0, series->id) : NULL;
    if (first >= reading->timeline->slots || (is_of_site(series->kind) && site == NULL))
        return true;
    *line = (struct hp_line){.kind = series->kind, .id = series->id, .place = place, .site = site, .first = first};
    line->name = hp_arena_copy(reading->arena, series->name, strlen(series->name));
    line->values = hp_arena_take_array(reading->arena, reading->timeline->slots - first, sizeof line->values[0]);
    if (line->name == NULL || line->values == NULL)
        return false;
    fill_values(reading, line);
    reading->timeline->count++;
    return true;
}

/* In a range, the slots that overlap it. */
static void choose_slots(const struct reading *reading)
{
    struct hp_timeline *timeline = reading->timeline;
    const struct hp_time_range *range = reading->profile->run->range;
    const uint32_t used = timeline->axis.axis.header.used;
    timeline->slots = used;
    if (range == NULL)
        return;
    const uint64_t from = hp_run_axis_slot_at(&timeline->axis, range->from_ns);
    const uint64_t end = hp_run_axis_slot_at(&timeline->axis, range->to_ns + timeline->slot_ns - 1);
    const uint32_t last = end < used ? (uint32_t)end : used;
    timeline->from = from < last ? (uint32_t)from : last;
    timeline->slots = last - timeline->from;
}

static bool read_lines(struct reading *reading)
{
    struct hp_axis_series series;
    struct hp_timeline *timeline = reading->timeline;
    timeline->session = reading->profile->run->sessions[0];
    timeline->slot_ns = timeline->axis.axis.header.slot_ns;
    choose_slots(reading);
    timeline->lines = hp_arena_take_array(reading->arena, HP_AXIS_SERIES, sizeof timeline->lines[0]);
    for (uint32_t kind = 1; timeline->lines != NULL && kind < HP_AXIS_KINDS; kind++)
        for (uint32_t place = 0; place < HP_AXIS_SERIES; place++)
            if (hp_axis_series(&timeline->axis.axis, place, &series) && series.kind == kind && is_line(kind) &&
                !add_line(reading, place, &series))
                return false;
    return timeline->lines != NULL;
}

const struct hp_timeline *hp_timeline_of_run(struct hp_arena *arena, const struct hp_profile *profile)
{
    struct hp_timeline *timeline = hp_arena_take(arena, sizeof *timeline);
    if (timeline == NULL)
        return NULL;
    struct reading reading = {.arena = arena, .profile = profile, .timeline = timeline};
    void *bytes = hp_arena_take(arena, HP_AXIS_BYTES);
    if (bytes == NULL)
        return NULL;
    if (!hp_run_axis_read(&timeline->axis, profile->run, 0, bytes))
        return timeline;
    return read_lines(&reading) ? timeline : NULL;
}
