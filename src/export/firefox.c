/*
 * JSON of the Firefox Profiler, in its "processed" form: tables stored by column, shared by all threads. Each
 * dimension is a thread of its own, since a thread has one kind of weight. Stacks have no times: samples follow one
 * another, spaced by their weights. Data with known times (counters, single calls) are a separate process. The
 * tables refer to one another by index, so one file writes them all. SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "frame_table.h"
#include "function_profile.h"
#include "json.h"
#include "weighted.h"

#define DIGITS 15u /* nanoseconds of a million seconds, in milliseconds */
#define NS_IN_MS 1e6

enum category { OTHER, USER, KERNEL, MEASURED, CATEGORIES };

/* --------------------------------------------------------------------------------------------- firefox counters */

/*
 * Counters of the Firefox Profiler. It draws two kinds: values added up from sample to sample, and the increase
 * since the previous sample divided by the time since then. It sets the first sample of each to zero, so the first
 * one here is an empty sample.
 */

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
    const double unit = counter->kind == HP_COUNTER_SHARE ? NS_IN_MS : 1;
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
            hp_json_number(json, sample_at(counter, at, slot_ns).count, DIGITS);
    hp_json_end_array(json);
}

static void put_counter_times(struct hp_json *json, const struct hp_export_counter *counter, uint64_t slot_ns)
{
    const uint64_t first_ns = counter->kind == HP_COUNTER_LEVEL ? counter->first_ns : counter->moments_ns[0];
    hp_json_key(json, "time");
    hp_json_begin_array(json);
    hp_json_number(json, (double)first_ns / NS_IN_MS, DIGITS);
    for (size_t at = 0; at < counter->count; at++)
        if (has_sample(counter, at))
            hp_json_number(json, (double)sample_at(counter, at, slot_ns).ns / NS_IN_MS, DIGITS);
    hp_json_end_array(json);
}

static void put_counter_samples(struct hp_json *json, const struct hp_export_counter *counter, uint64_t slot_ns)
{
    hp_json_key(json, "samples");
    hp_json_begin_object(json);
    hp_json_put_u64(json, "length", count_samples(counter) + 1);
    put_counter_times(json, counter, slot_ns);
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

/* The members of a counter except its process; `rank`: its position among the others. */
static void put_counter(struct hp_json *json, const struct hp_export_counter *counter, uint64_t slot_ns,
                        size_t rank)
{
    hp_json_put_string(json, "name", counter->name);
    hp_json_put_string(json, "category", looks[counter->kind].category);
    hp_json_put_string(json, "description", counter->what);
    put_counter_samples(json, counter, slot_ns);
    put_look(json, counter, rank);
}

/* ---------------------------------------------------------------------------------------------- firefox markers */

/*
 * Markers of the Firefox Profiler: single calls with known times.
 */

#define SCHEMA "Call"

enum { PHASE_INTERVAL = 1 };

static const struct {
    const char *key, *label, *format;
} fields[] = {
    {"kept", "Kept as", "string"},        {"thread", "Thread", "string"},           {"note", "Note", "string"},
    {"allocBytes", "Allocated", "bytes"}, {"allocCount", "Allocations", "integer"},
};

static void put_ms(struct hp_json *json, double ns) { hp_json_number(json, ns / NS_IN_MS, DIGITS); }

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
    hp_json_u64(json, MEASURED);
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

/*
 * The table of markers of a thread; NULL: it has none. Names are added to the texts, which must be written
 * afterwards.
 */
static void put_markers(struct hp_json *json, const struct hp_export_calls *calls, struct hp_text_table *texts)
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

/* The array that describes how to show them. */
static void put_schema(struct hp_json *json)
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

/* ------------------------------------------------------------------------------------------------------ firefox */

#define FORMAT_VERSION 66u /* newer readers upgrade it themselves */

static const struct {
    const char *name, *color;
} categories[CATEGORIES] = {
    [OTHER] = {"Other", "grey"},
    [USER] = {"User", "yellow"},
    [KERNEL] = {"Kernel", "orange"},
    [MEASURED] = {"Measured", "green"},
};

struct writer {
    const struct hp_export *export;
    const struct hp_weighted *weighted;
    struct hp_json *json;
    struct hp_text_table texts, sources;
    struct hp_frame_table frames;
    uint32_t *order; /* nodes of a thread's samples */
    size_t order_count;
    const struct hp_weights *weights;
    enum hp_weight_unit unit;
};

static bool has_moments(const struct hp_export *export)
{
    return (export->counters != NULL && export->counters->count > 0) ||
           (export->calls != NULL && export->calls->count > 0);
}

/* -------------------------------------------------------------------------------------------------- columns */

/* A number of a row. */
typedef int64_t number_at(struct writer *writer, size_t row);

static void put_column(struct writer *writer, const char *name, size_t rows, number_at *number)
{
    hp_json_key(writer->json, name);
    hp_json_begin_array(writer->json);
    for (size_t row = 0; row < rows; row++)
        hp_json_i64(writer->json, number(writer, row));
    hp_json_end_array(writer->json);
}

/* -1 means unknown, and is written as null. */
static void put_nullable(struct writer *writer, const char *name, size_t rows, number_at *number)
{
    hp_json_key(writer->json, name);
    hp_json_begin_array(writer->json);
    for (size_t row = 0; row < rows; row++) {
        const int64_t value = number(writer, row);
        if (value < 0)
            hp_json_null(writer->json);
        else
            hp_json_i64(writer->json, value);
    }
    hp_json_end_array(writer->json);
}

static void begin_table(struct writer *writer, const char *name, size_t rows)
{
    hp_json_key(writer->json, name);
    hp_json_begin_object(writer->json);
    hp_json_put_u64(writer->json, "length", rows);
}

static int64_t zero(struct writer *writer, size_t row)
{
    (void)writer;
    (void)row;
    return 0;
}

static int64_t one(struct writer *writer, size_t row)
{
    (void)writer;
    (void)row;
    return 1;
}

static int64_t none(struct writer *writer, size_t row)
{
    (void)writer;
    (void)row;
    return -1;
}

/* --------------------------------------------------------------------------------------------------- tables */

/* Stacks are nodes without the root, frames those of the table without entry 0. */
static int64_t frame_of_stack(struct writer *writer, size_t row)
{
    return writer->frames.of_node[row + 1] - INT64_C(1);
}

static int64_t way_to_parent(struct writer *writer, size_t row)
{
    const uint32_t parent = writer->weighted->nodes[row + 1].parent;
    return parent != HP_WEIGHTED_ROOT ? (int64_t)(row + 1 - parent) : 0;
}

static void put_stacks(struct writer *writer)
{
    const size_t rows = writer->weighted->node_count > 0 ? writer->weighted->node_count - 1 : 0;
    begin_table(writer, "stackTable", rows);
    put_column(writer, "frame", rows, frame_of_stack);
    put_column(writer, "prefixOffset", rows, way_to_parent);
    hp_json_end_object(writer->json);
}

static const struct hp_frame *frame_at(const struct writer *writer, size_t row)
{
    return &writer->frames.frames[row + 1];
}

static int64_t frame_depth(struct writer *writer, size_t row) { return frame_at(writer, row)->depth; }

static int64_t frame_function(struct writer *writer, size_t row) { return frame_at(writer, row)->function; }

static int64_t frame_line(struct writer *writer, size_t row)
{
    return frame_at(writer, row)->line > 0 ? (int64_t)frame_at(writer, row)->line : -1;
}

static int64_t frame_category(struct writer *writer, size_t row)
{
    const struct hp_weighted_function *function = &writer->weighted->functions[frame_at(writer, row)->function];
    if (function->library != HP_NO_LIBRARY)
        return strcmp(writer->weighted->libraries[function->library].path, HP_KERNEL_LIBRARY) == 0 ? KERNEL : USER;
    if (strncmp(function->name, "[kernel", 7) == 0)
        return KERNEL;
    return function->name[0] == '[' || function->name[0] == '<' ? OTHER : MEASURED;
}

static void put_frames(struct writer *writer)
{
    const size_t rows = writer->frames.count - 1;
    begin_table(writer, "frameTable", rows);
    put_column(writer, "address", rows, none);
    put_column(writer, "inlineDepth", rows, frame_depth);
    put_column(writer, "category", rows, frame_category);
    put_column(writer, "subcategory", rows, zero);
    put_column(writer, "func", rows, frame_function);
    put_nullable(writer, "nativeSymbol", rows, none);
    put_column(writer, "innerWindowID", rows, zero);
    put_nullable(writer, "line", rows, frame_line);
    put_nullable(writer, "column", rows, none);
    put_nullable(writer, "originalLocation", rows, none);
    hp_json_end_object(writer->json);
}

static int64_t function_name(struct writer *writer, size_t row)
{
    return hp_text_table_put(&writer->texts, writer->weighted->functions[row].name);
}

static int64_t function_library(struct writer *writer, size_t row)
{
    const uint32_t library = writer->weighted->functions[row].library;
    return library < writer->weighted->library_count ? (int64_t)library : -1;
}

static int64_t function_source(struct writer *writer, size_t row)
{
    const char *file = writer->weighted->functions[row].file;
    return file[0] != '\0' ? (int64_t)hp_text_table_put(&writer->sources, file) : -1;
}

static void put_falses(struct writer *writer, const char *name, size_t rows)
{
    hp_json_key(writer->json, name);
    hp_json_begin_array(writer->json);
    for (size_t row = 0; row < rows; row++)
        hp_json_bool(writer->json, false);
    hp_json_end_array(writer->json);
}

static void put_functions(struct writer *writer)
{
    const size_t rows = writer->weighted->function_count;
    begin_table(writer, "funcTable", rows);
    put_column(writer, "name", rows, function_name);
    put_falses(writer, "isJS", rows);
    put_falses(writer, "relevantForJS", rows);
    put_column(writer, "resource", rows, function_library);
    put_nullable(writer, "source", rows, function_source);
    put_nullable(writer, "lineNumber", rows, none);
    put_nullable(writer, "columnNumber", rows, none);
    put_nullable(writer, "originalLocation", rows, none);
    hp_json_end_object(writer->json);
}

static const char *library_name(const struct writer *writer, size_t row)
{
    return hp_weighted_short_path(writer->weighted->libraries[row].path);
}

static int64_t resource_name(struct writer *writer, size_t row)
{
    return hp_text_table_put(&writer->texts, library_name(writer, row));
}

static int64_t itself(struct writer *writer, size_t row)
{
    (void)writer;
    return (int64_t)row;
}

static void put_resources(struct writer *writer)
{
    const size_t rows = writer->weighted->library_count;
    begin_table(writer, "resourceTable", rows);
    put_column(writer, "lib", rows, itself);
    put_column(writer, "name", rows, resource_name);
    put_nullable(writer, "host", rows, none);
    put_column(writer, "type", rows, one); /* a library */
    hp_json_end_object(writer->json);
}

static int64_t source_name(struct writer *writer, size_t row)
{
    return hp_text_table_put(&writer->texts, writer->sources.texts[row]);
}

static void put_sources(struct writer *writer)
{
    const size_t rows = writer->sources.count;
    begin_table(writer, "sources", rows);
    put_nullable(writer, "id", rows, none);
    put_column(writer, "filename", rows, source_name);
    put_column(writer, "startLine", rows, one);
    put_column(writer, "startColumn", rows, one);
    put_nullable(writer, "sourceMapURL", rows, none);
    put_nullable(writer, "content", rows, none);
    hp_json_end_object(writer->json);
}

/* Tells the reader not to look for symbols. */
static void put_no_symbols(struct writer *writer)
{
    begin_table(writer, "nativeSymbols", 0);
    put_column(writer, "libIndex", 0, none);
    put_column(writer, "address", 0, none);
    put_column(writer, "name", 0, none);
    put_column(writer, "functionSize", 0, none);
    hp_json_end_object(writer->json);
    begin_table(writer, "sourceLocationTable", 0);
    put_column(writer, "source", 0, none);
    put_column(writer, "line", 0, none);
    put_column(writer, "column", 0, none);
    hp_json_end_object(writer->json);
}

/* Texts come last, when all are known. */
static void put_shared(struct writer *writer)
{
    hp_json_key(writer->json, "shared");
    hp_json_begin_object(writer->json);
    put_stacks(writer);
    put_frames(writer);
    put_functions(writer);
    put_resources(writer);
    put_sources(writer);
    put_no_symbols(writer);
    hp_json_key(writer->json, "stringArray");
    hp_json_begin_array(writer->json);
    for (size_t at = 0; at < writer->texts.count; at++)
        hp_json_string(writer->json, writer->texts.texts[at]);
    hp_json_end_array(writer->json);
    hp_json_end_object(writer->json);
}

static void put_libraries(struct writer *writer)
{
    struct hp_json *json = writer->json;
    hp_json_key(json, "libs");
    hp_json_begin_array(json);
    for (size_t at = 0; at < writer->weighted->library_count; at++) {
        const struct hp_weighted_library *library = &writer->weighted->libraries[at];
        hp_json_begin_object(json);
        hp_json_put_string(json, "name", library_name(writer, at));
        hp_json_put_string(json, "path", library->path);
        hp_json_put_string(json, "debugName", library_name(writer, at));
        hp_json_put_string(json, "debugPath", library->path);
        hp_json_put_string(json, "breakpadId", "");
        hp_json_key(json, "codeId");
        if (library->build_id[0] != '\0')
            hp_json_string(json, library->build_id);
        else
            hp_json_null(json);
        hp_json_put_string(json, "arch", "");
        hp_json_end_object(json);
    }
    hp_json_end_array(json);
}

/* ----------------------------------------------------------------------------------------------------- meta */

static void put_categories(struct hp_json *json)
{
    hp_json_key(json, "categories");
    hp_json_begin_array(json);
    for (size_t at = 0; at < CATEGORIES; at++) {
        hp_json_begin_object(json);
        hp_json_put_string(json, "name", categories[at].name);
        hp_json_put_string(json, "color", categories[at].color);
        hp_json_key(json, "subcategories");
        hp_json_begin_array(json);
        hp_json_string(json, "Other");
        hp_json_end_array(json);
        hp_json_end_object(json);
    }
    hp_json_end_array(json);
}

static void put_empty_array(struct hp_json *json, const char *key)
{
    hp_json_key(json, key);
    hp_json_begin_array(json);
    hp_json_end_array(json);
}

static void put_bool(struct hp_json *json, const char *key, bool value)
{
    hp_json_key(json, key);
    hp_json_bool(json, value);
}

static void put_extensions(struct hp_json *json)
{
    hp_json_key(json, "extensions");
    hp_json_begin_object(json);
    hp_json_put_u64(json, "length", 0);
    put_empty_array(json, "baseURL");
    put_empty_array(json, "id");
    put_empty_array(json, "name");
    hp_json_end_object(json);
}

static void put_units(struct hp_json *json)
{
    hp_json_key(json, "sampleUnits");
    hp_json_begin_object(json);
    hp_json_put_string(json, "time", "ms");
    hp_json_put_string(json, "eventDelay", "ms");
    hp_json_put_string(json, "threadCPUDelta", "ns");
    hp_json_end_object(json);
}

/* The reader would hide a thread without samples, and what is below it. */
static void put_visible(struct writer *writer)
{
    const size_t threads = writer->export->dimension_count + has_moments(writer->export);
    hp_json_key(writer->json, "initialVisibleThreads");
    hp_json_begin_array(writer->json);
    for (size_t at = 0; at < threads; at++)
        hp_json_u64(writer->json, at);
    hp_json_end_array(writer->json);
    hp_json_key(writer->json, "initialSelectedThreads");
    hp_json_begin_array(writer->json);
    hp_json_u64(writer->json, 0);
    hp_json_end_array(writer->json);
}

static void put_meta(struct writer *writer)
{
    struct hp_json *json = writer->json;
    const uint64_t period_ns = writer->export->period_ns;
    hp_json_key(json, "meta");
    hp_json_begin_object(json);
    hp_json_key(json, "interval");
    hp_json_number(json, period_ns > 0 ? (double)period_ns / NS_IN_MS : 1, DIGITS);
    hp_json_key(json, "startTime");
    hp_json_number(json, (double)writer->export->began_ns / NS_IN_MS, DIGITS);
    hp_json_put_u64(json, "processType", 0);
    hp_json_put_u64(json, "version", 24);
    hp_json_put_u64(json, "preprocessedProfileVersion", FORMAT_VERSION);
    hp_json_put_string(json, "product", writer->export->command);
    hp_json_put_string(json, "importedFrom", "hotpath");
    hp_json_put_string(json, "oscpu", "Linux");
    hp_json_put_u64(json, "stackwalk", 1);
    put_bool(json, "debug", false);
    put_bool(json, "symbolicated", true);
    put_bool(json, "usesOnlyOneStackType", true);
    put_bool(json, "sourceCodeIsNotOnSearchfox", true);
    put_categories(json);
    put_visible(writer);
    hp_json_key(json, "markerSchema");
    put_schema(json);
    put_empty_array(json, "pausedRanges");
    put_extensions(json);
    put_units(json);
    hp_json_end_object(json);
}

/* -------------------------------------------------------------------------------------------------- threads */

static void skip(void *writer, uint32_t node, uint64_t where, size_t depth)
{
    (void)writer;
    (void)node;
    (void)where;
    (void)depth;
}

static void take_node(void *context, uint32_t node, uint64_t where, size_t depth)
{
    struct writer *writer = context;
    (void)where;
    (void)depth;
    if (hp_weight_own(writer->weights, node) > 0)
        writer->order[writer->order_count++] = node;
}

/* In the order of a flame graph: nodes below one another are adjacent. */
static bool find_order(struct writer *writer)
{
    struct hp_weight_walk walk;
    const bool has_memory = hp_walk_begin(&walk, writer->weighted, writer->weights);
    writer->order_count = 0;
    if (has_memory)
        hp_walk_through(&walk, skip, take_node, writer);
    hp_walk_end(&walk);
    return has_memory;
}

static int64_t sample_stack(struct writer *writer, size_t row) { return writer->order[row] - INT64_C(1); }

static double weight_at(const struct writer *writer, size_t row)
{
    const uint64_t own = hp_weight_own(writer->weights, writer->order[row]);
    return writer->unit == HP_WEIGHT_NS ? (double)own / NS_IN_MS : (double)own;
}

static void put_weights(struct writer *writer, const char *name)
{
    hp_json_key(writer->json, name);
    hp_json_begin_array(writer->json);
    for (size_t row = 0; row < writer->order_count; row++)
        hp_json_number(writer->json, weight_at(writer, row), DIGITS);
    hp_json_end_array(writer->json);
}

/* Each begins where the one before it ends; bytes have no duration. */
static void put_times(struct writer *writer)
{
    hp_json_key(writer->json, "timeDeltas");
    hp_json_begin_array(writer->json);
    for (size_t row = 0; row < writer->order_count; row++)
        hp_json_number(writer->json,
                       row == 0                       ? 0
                       : writer->unit == HP_WEIGHT_NS ? weight_at(writer, row - 1)
                                                      : 1,
                       DIGITS);
    hp_json_end_array(writer->json);
}

static void put_samples(struct writer *writer)
{
    begin_table(writer, "samples", writer->order_count);
    put_column(writer, "stack", writer->order_count, sample_stack);
    put_times(writer);
    put_weights(writer, "weight");
    hp_json_put_string(writer->json, "weightType",
                       writer->unit == HP_WEIGHT_NS      ? "tracing-ms"
                       : writer->unit == HP_WEIGHT_BYTES ? "bytes"
                                                         : "samples");
    hp_json_end_object(writer->json);
}

/* "4242", or "4242 over time": identifies the process. */
static void put_process(struct writer *writer, bool is_over_time)
{
    char bytes[40];
    struct hp_text text;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_text_format(&text, "%u%s", writer->export->pid, is_over_time ? " over time" : "");
    hp_json_put_string(writer->json, "pid", hp_text_end(&text));
}

struct thread {
    const char *process, *name;
    size_t number;
    bool is_main, is_over_time;
};

static void put_about_thread(struct writer *writer, const struct thread *thread)
{
    struct hp_json *json = writer->json;
    hp_json_put_string(json, "processType", "default");
    hp_json_put_string(json, "processName", thread->process);
    hp_json_put_u64(json, "processStartupTime", 0);
    hp_json_key(json, "processShutdownTime");
    hp_json_null(json);
    hp_json_put_u64(json, "registerTime", 0);
    hp_json_key(json, "unregisterTime");
    hp_json_null(json);
    put_empty_array(json, "pausedRanges");
    hp_json_put_string(json, "name", thread->name);
    put_bool(json, "isMainThread", thread->is_main);
    put_bool(json, "showMarkersInTimeline", thread->is_over_time);
    put_process(writer, thread->is_over_time);
    hp_json_put_u64(json, "tid", writer->export->pid + thread->number);
}

static bool put_thread(struct writer *writer, size_t dimension)
{
    struct hp_json *json = writer->json;
    writer->weights = hp_export_weights(writer->export, dimension);
    writer->unit = hp_export_type(writer->export, dimension)->unit;
    const bool has_memory = find_order(writer);
    hp_json_begin_object(json);
    put_about_thread(writer, &(struct thread){.process = writer->export->command,
                                              .name = hp_export_type(writer->export, dimension)->title,
                                              .number = dimension,
                                              .is_main = dimension == 0});
    put_samples(writer);
    put_markers(json, NULL, &writer->texts);
    hp_json_end_object(json);
    return has_memory;
}

static void put_over_time(struct writer *writer)
{
    hp_json_begin_object(writer->json);
    put_about_thread(writer, &(struct thread){.process = "Over time",
                                              .name = "Over time",
                                              .number = writer->export->dimension_count,
                                              .is_main = true,
                                              .is_over_time = true});
    writer->order_count = 0;
    writer->unit = HP_WEIGHT_NS;
    put_samples(writer);
    put_markers(writer->json, writer->export->calls, &writer->texts);
    hp_json_end_object(writer->json);
}

static bool put_threads(struct writer *writer)
{
    bool has_memory = true;
    hp_json_key(writer->json, "threads");
    hp_json_begin_array(writer->json);
    for (size_t at = 0; at < writer->export->dimension_count; at++)
        has_memory &= put_thread(writer, at);
    if (has_moments(writer->export))
        put_over_time(writer);
    hp_json_end_array(writer->json);
    return has_memory;
}

static void put_counters(struct writer *writer)
{
    const struct hp_export_counters *counters = writer->export->counters;
    hp_json_key(writer->json, "counters");
    hp_json_begin_array(writer->json);
    for (size_t at = 0; counters != NULL && at < counters->count; at++) {
        hp_json_begin_object(writer->json);
        put_process(writer, true);
        hp_json_put_u64(writer->json, "mainThreadIndex", writer->export->dimension_count);
        put_counter(writer->json, &counters->all[at], counters->slot_ns, at);
        hp_json_end_object(writer->json);
    }
    hp_json_end_array(writer->json);
}

static bool put_all(struct writer *writer)
{
    hp_json_begin_object(writer->json);
    put_meta(writer);
    put_libraries(writer);
    put_empty_array(writer->json, "pages");
    put_empty_array(writer->json, "profilerOverhead");
    put_counters(writer);
    const bool has_memory = put_threads(writer);
    put_shared(writer); /* its texts include those of markers */
    hp_json_end_object(writer->json);
    return has_memory && !writer->texts.lacks_memory && !writer->sources.lacks_memory;
}

static bool write(const struct hp_export *export, struct hp_text *text)
{
    struct hp_json json;
    struct writer writer = {.export = export, .weighted = export->weighted, .json = &json};
    hp_json_init(&json, text, false);
    writer.order = calloc(export->weighted->node_count + 1, sizeof *writer.order);
    const bool has_memory =
        writer.order != NULL && hp_frame_table_make(&writer.frames, export->weighted) && put_all(&writer);
    hp_text_char(text, '\n');
    free(writer.order);
    hp_frame_table_free(&writer.frames);
    hp_text_table_free(&writer.texts);
    hp_text_table_free(&writer.sources);
    return has_memory;
}

const struct hp_export_format hp_format_firefox = {
    .name = "firefox",
    .has_lines = true,
    .write = write,
};
