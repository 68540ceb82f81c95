/* Markers of the Firefox Profiler: single calls with known times. SPDX-License-Identifier: MIT */
#include "firefox.h"

#define SCHEMA "Call"

enum { PHASE_INTERVAL = 1 };

static const struct {
    const char *key, *label, *format;
} fields[] = {
    {"kept", "Kept as", "string"},        {"thread", "Thread", "string"},           {"note", "Note", "string"},
    {"allocBytes", "Allocated", "bytes"}, {"allocCount", "Allocations", "integer"},
};

static void put_ms(struct hp_json *json, double ns)
{
    hp_json_number(json, ns / HP_FIREFOX_NS_IN_MS, HP_FIREFOX_DIGITS);
}

static void put_name(struct hp_json *json, const struct hp_export_call *call, struct hp_text_table *texts)
{
    hp_json_u64(json, hp_text_table_put(texts, call->name));
}

static void put_start(struct hp_json *json, const struct hp_export_call *call, struct hp_text_table *texts)
{
    (void)texts;
    put_ms(json, call->start_ns);
}

static void put_end(struct hp_json *json, const struct hp_export_call *call, struct hp_text_table *texts)
{
    (void)texts;
    put_ms(json, call->start_ns + call->ns);
}

static void put_phase(struct hp_json *json, const struct hp_export_call *call, struct hp_text_table *texts)
{
    (void)call;
    (void)texts;
    hp_json_u64(json, PHASE_INTERVAL);
}

static void put_category(struct hp_json *json, const struct hp_export_call *call, struct hp_text_table *texts)
{
    (void)call;
    (void)texts;
    hp_json_u64(json, HP_FIREFOX_MEASURED);
}

static const struct {
    const char *key;
    void (*put)(struct hp_json *json, const struct hp_export_call *call, struct hp_text_table *texts);
} columns[] = {
    {"name", put_name},   {"startTime", put_start},   {"endTime", put_end},
    {"phase", put_phase}, {"category", put_category},
};

static void put_data(struct hp_json *json, const struct hp_export_call *call, bool has_allocs)
{
    hp_json_begin_object(json);
    hp_json_put_string(json, "type", SCHEMA);
    hp_json_put_string(json, "kept", call->is_slowest ? "slowest call" : "recent call");
    hp_json_put_string(json, "thread", call->thread);
    if (call->note != NULL)
        hp_json_put_string(json, "note", call->note);
    if (has_allocs) {
        hp_json_put_u64(json, "allocBytes", call->alloc_bytes);
        hp_json_put_u64(json, "allocCount", call->alloc_count);
    }
    hp_json_end_object(json);
}

void hp_firefox_put_markers(struct hp_json *json, const struct hp_export_calls *calls, struct hp_text_table *texts)
{
    const size_t count = calls != NULL ? calls->count : 0;
    hp_json_key(json, "markers");
    hp_json_begin_object(json);
    hp_json_put_u64(json, "length", count);
    for (size_t column = 0; column < sizeof columns / sizeof columns[0]; column++) {
        hp_json_key(json, columns[column].key);
        hp_json_begin_array(json);
        for (size_t at = 0; at < count; at++)
            columns[column].put(json, &calls->all[at], texts);
        hp_json_end_array(json);
    }
    hp_json_key(json, "data");
    hp_json_begin_array(json);
    for (size_t at = 0; at < count; at++)
        put_data(json, &calls->all[at], calls->has_allocs);
    hp_json_end_array(json);
    hp_json_end_object(json);
}

static void put_fields(struct hp_json *json)
{
    hp_json_key(json, "fields");
    hp_json_begin_array(json);
    for (size_t at = 0; at < sizeof fields / sizeof fields[0]; at++) {
        hp_json_begin_object(json);
        hp_json_put_string(json, "key", fields[at].key);
        hp_json_put_string(json, "label", fields[at].label);
        hp_json_put_string(json, "format", fields[at].format);
        hp_json_end_object(json);
    }
    hp_json_end_array(json);
}

void hp_firefox_put_schema(struct hp_json *json)
{
    static const char *const places[] = {"marker-chart", "marker-table", "timeline-overview"};
    hp_json_begin_array(json);
    hp_json_begin_object(json);
    hp_json_put_string(json, "name", SCHEMA);
    hp_json_put_string(json, "tooltipLabel", "{marker.name}");
    hp_json_put_string(json, "tableLabel", "{marker.data.thread} {marker.data.note}");
    hp_json_put_string(json, "chartLabel", "{marker.name}");
    hp_json_put_string(json, "description", "A call of a measured function that was recorded with its time.");
    hp_json_key(json, "display");
    hp_json_begin_array(json);
    for (size_t at = 0; at < sizeof places / sizeof places[0]; at++)
        hp_json_string(json, places[at]);
    hp_json_end_array(json);
    put_fields(json);
    hp_json_end_object(json);
    hp_json_end_array(json);
}
