/*
 * JSON of the Firefox Profiler, in its "processed" form: tables stored by column, shared by all threads. Each
 * dimension is a thread of its own, since a thread has one kind of weight. Stacks have no times: samples follow one
 * another, spaced by their weights. Data with known times (counters, single calls) are a separate process. The
 * tables refer to one another by index, so one file writes them all. SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "firefox.h"
#include "frame_table.h"
#include "json.h"
#include "text_table.h"
#include "walk.h"

#define FORMAT_VERSION 66u /* newer readers upgrade it themselves */

static const struct {
    const char *name, *color;
} categories[HP_FIREFOX_CATEGORIES] = {
    [HP_FIREFOX_OTHER] = {"Other", "grey"},
    [HP_FIREFOX_USER] = {"User", "yellow"},
    [HP_FIREFOX_KERNEL] = {"Kernel", "orange"},
    [HP_FIREFOX_MEASURED] = {"Measured", "green"},
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
        return HP_FIREFOX_USER;
    if (strncmp(function->name, "[kernel", 7) == 0)
        return HP_FIREFOX_KERNEL;
    return function->name[0] == '[' || function->name[0] == '<' ? HP_FIREFOX_OTHER : HP_FIREFOX_MEASURED;
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
    for (size_t at = 0; at < HP_FIREFOX_CATEGORIES; at++) {
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
    hp_json_number(json, period_ns > 0 ? (double)period_ns / HP_FIREFOX_NS_IN_MS : 1, HP_FIREFOX_DIGITS);
    hp_json_key(json, "startTime");
    hp_json_number(json, (double)writer->export->began_ns / HP_FIREFOX_NS_IN_MS, HP_FIREFOX_DIGITS);
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
    hp_firefox_put_schema(json);
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
    struct hp_walk walk;
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
    return writer->unit == HP_WEIGHT_NS ? (double)own / HP_FIREFOX_NS_IN_MS : (double)own;
}

static void put_weights(struct writer *writer, const char *name)
{
    hp_json_key(writer->json, name);
    hp_json_begin_array(writer->json);
    for (size_t row = 0; row < writer->order_count; row++)
        hp_json_number(writer->json, weight_at(writer, row), HP_FIREFOX_DIGITS);
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
                       HP_FIREFOX_DIGITS);
    hp_json_end_array(writer->json);
}

static void put_samples(struct writer *writer)
{
    begin_table(writer, "samples", writer->order_count);
    put_column(writer, "stack", writer->order_count, sample_stack);
    put_times(writer);
    put_weights(writer, "weight");
    hp_json_put_string(writer->json, "weightType", writer->unit == HP_WEIGHT_NS ? "tracing-ms" : "bytes");
    hp_json_end_object(writer->json);
}

/* "4242", or "4242 over time": identifies the process. */
static void put_process(struct writer *writer, bool is_over_time)
{
    char bytes[40];
    struct hp_text text;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_text_u64(&text, writer->export->pid);
    hp_text_string(&text, is_over_time ? " over time" : "");
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
    hp_firefox_put_markers(json, NULL, &writer->texts);
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
    hp_firefox_put_markers(writer->json, writer->export->calls, &writer->texts);
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
        hp_firefox_put_counter(writer->json, &counters->all[at], counters->slot_ns, at);
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
    .about = "JSON for profiler.firefox.com",
    .has_lines = true,
    .write = write,
};
