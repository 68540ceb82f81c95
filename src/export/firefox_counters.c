/*
 * Counters of the Firefox Profiler. It draws two kinds: values added up from sample to sample, and the increase
 * since the previous sample divided by the time since then. It sets the first sample of each to zero, so the first
 * one here is an empty sample. SPDX-License-Identifier: MIT
 */
#include "firefox.h"

/* A row of the tooltip. */
struct row {
    const char *source, *unit, *label;
};

struct look {
    const char *graph, *color, *category;
    struct row rows[2];
};

/* Both kinds of sums count milliseconds or calls; `rate` is then the amount per millisecond. */
static const struct look looks[] = {
    [HP_COUNTER_SHARE] = {"line-rate",
                          "blue",
                          "Time",
                          {{"rate", "percent", "at this time"},
                           {"committed-range-total", "number", "milliseconds in the visible range"}}},
    [HP_COUNTER_RATE] = {"line-rate",
                         "green",
                         "Calls",
                         {{"count", "number", "at this time"},
                          {"committed-range-total", "number", "in the visible range"}}},
    [HP_COUNTER_LEVEL] = {"line-accumulated",
                          "orange",
                          "Level",
                          {{"accumulated", "number", "at most at this time"},
                           {"count-range", "number", "at most in the visible range"}}},
};

static bool is_bytes(const struct hp_export_counter *counter) { return counter->unit[0] == 'b'; }

/* A sample of a counter: its time, and the increase since the previous one. */
struct sample {
    uint64_t ns;
    double count;
};

/* A level is valid from the start of its slot. */
static struct sample level_at(const struct hp_export_counter *counter, size_t at, uint64_t slot_ns)
{
    return (struct sample){counter->first_ns + at * slot_ns,
                           counter->values[at] - (at > 0 ? counter->values[at - 1] : 0)};
}

static struct sample gain_at(const struct hp_export_counter *counter, size_t at)
{
    const double unit = counter->kind == HP_COUNTER_SHARE ? HP_FIREFOX_NS_IN_MS : 1;
    return (struct sample){counter->moments_ns[at + 1], counter->gained[at] / unit};
}

static struct sample sample_at(const struct hp_export_counter *counter, size_t at, uint64_t slot_ns)
{
    return counter->kind == HP_COUNTER_LEVEL ? level_at(counter, at, slot_ns) : gain_at(counter, at);
}

/* A slot without a measurement has no sample. */
static bool has_sample(const struct hp_export_counter *counter, size_t at)
{
    return counter->kind == HP_COUNTER_LEVEL || counter->moments_ns[at + 1] > counter->moments_ns[at];
}

static size_t count_samples(const struct hp_export_counter *counter)
{
    size_t count = 0;
    for (size_t at = 0; at < counter->count; at++)
        count += has_sample(counter, at);
    return count;
}

static void put_counts(struct hp_json *json, const struct hp_export_counter *counter, uint64_t slot_ns)
{
    hp_json_key(json, "count");
    hp_json_begin_array(json);
    hp_json_u64(json, 0);
    for (size_t at = 0; at < counter->count; at++)
        if (has_sample(counter, at))
            hp_json_number(json, sample_at(counter, at, slot_ns).count, HP_FIREFOX_DIGITS);
    hp_json_end_array(json);
}

static void put_times(struct hp_json *json, const struct hp_export_counter *counter, uint64_t slot_ns)
{
    const uint64_t first_ns = counter->kind == HP_COUNTER_LEVEL ? counter->first_ns : counter->moments_ns[0];
    hp_json_key(json, "time");
    hp_json_begin_array(json);
    hp_json_number(json, (double)first_ns / HP_FIREFOX_NS_IN_MS, HP_FIREFOX_DIGITS);
    for (size_t at = 0; at < counter->count; at++)
        if (has_sample(counter, at))
            hp_json_number(json, (double)sample_at(counter, at, slot_ns).ns / HP_FIREFOX_NS_IN_MS,
                           HP_FIREFOX_DIGITS);
    hp_json_end_array(json);
}

static void put_samples(struct hp_json *json, const struct hp_export_counter *counter, uint64_t slot_ns)
{
    hp_json_key(json, "samples");
    hp_json_begin_object(json);
    hp_json_put_u64(json, "length", count_samples(counter) + 1);
    put_times(json, counter, slot_ns);
    put_counts(json, counter, slot_ns);
    hp_json_end_object(json);
}

static void put_row(struct hp_json *json, const struct row *row, bool of_bytes)
{
    hp_json_begin_object(json);
    hp_json_put_string(json, "type", "value");
    hp_json_put_string(json, "source", row->source);
    hp_json_key(json, "format");
    hp_json_begin_object(json);
    hp_json_put_string(json, "unit", of_bytes ? "bytes" : row->unit);
    hp_json_end_object(json);
    hp_json_put_string(json, "label", row->label);
    hp_json_end_object(json);
}

static void put_look(struct hp_json *json, const struct hp_export_counter *counter, size_t rank)
{
    const struct look *look = &looks[counter->kind];
    hp_json_key(json, "display");
    hp_json_begin_object(json);
    hp_json_put_string(json, "graphType", look->graph);
    hp_json_put_string(json, "unit", counter->unit);
    hp_json_put_string(json, "color", look->color);
    hp_json_key(json, "markerSchemaLocation");
    hp_json_null(json);
    hp_json_put_u64(json, "sortWeight", rank);
    hp_json_put_string(json, "label", counter->name);
    hp_json_key(json, "tooltipRows");
    hp_json_begin_array(json);
    for (size_t at = 0; at < sizeof look->rows / sizeof look->rows[0]; at++)
        put_row(json, &look->rows[at], is_bytes(counter));
    hp_json_end_array(json);
    hp_json_end_object(json);
}

void hp_firefox_put_counter(struct hp_json *json, const struct hp_export_counter *counter, uint64_t slot_ns,
                            size_t rank)
{
    hp_json_put_string(json, "name", counter->name);
    hp_json_put_string(json, "category", looks[counter->kind].category);
    hp_json_put_string(json, "description", counter->what);
    put_samples(json, counter, slot_ns);
    put_look(json, counter, rank);
}
