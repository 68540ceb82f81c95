/*
 * The page of `hotpath flame`: one self-contained file, with the stacks as JSON in the middle. The page (flame.js)
 * decides what is shown, and how. SPDX-License-Identifier: MIT
 */
#include "export.h"
#include "flame_page.h"
#include "frame_table.h"
#include "json.h"
#include "page.h"

struct writer {
    const struct hp_export *export;
    const struct hp_weighted *weighted;
    struct hp_json *json;
    struct hp_text_table files;
};

static void begin_array(struct writer *writer, const char *key)
{
    hp_json_key(writer->json, key);
    hp_json_begin_array(writer->json);
}

static int64_t library_of(const struct hp_weighted *weighted, size_t function)
{
    const uint32_t library = weighted->functions[function].library;
    return library < weighted->library_count ? (int64_t)library : -1;
}

static void put_functions(struct writer *writer)
{
    const struct hp_weighted *weighted = writer->weighted;
    struct hp_json *json = writer->json;
    hp_json_key(json, "functions");
    hp_json_begin_object(json);
    begin_array(writer, "name");
    for (size_t at = 0; at < weighted->function_count; at++)
        hp_json_string(json, weighted->functions[at].name);
    hp_json_end_array(json);
    begin_array(writer, "library");
    for (size_t at = 0; at < weighted->function_count; at++)
        hp_json_i64(json, library_of(weighted, at));
    hp_json_end_array(json);
    begin_array(writer, "file");
    for (size_t at = 0; at < weighted->function_count; at++) {
        const char *file = weighted->functions[at].file;
        hp_json_i64(json, file[0] != '\0' ? (int64_t)hp_text_table_put(&writer->files, file) : -1);
    }
    hp_json_end_array(json);
    hp_json_end_object(json);
    begin_array(writer, "files");
    for (size_t at = 0; at < writer->files.count; at++)
        hp_json_string(json, writer->files.texts[at]);
    hp_json_end_array(json);
}

static void put_libraries(struct writer *writer)
{
    begin_array(writer, "libraries");
    for (size_t at = 0; at < writer->weighted->library_count; at++)
        hp_json_string(writer->json, hp_weighted_short_path(writer->weighted->libraries[at].path));
    hp_json_end_array(writer->json);
}

static void put_nodes(struct writer *writer)
{
    begin_array(writer, "parents");
    for (size_t at = 0; at < writer->weighted->node_count; at++)
        hp_json_u64(writer->json, writer->weighted->nodes[at].parent);
    hp_json_end_array(writer->json);
    begin_array(writer, "nodes");
    for (size_t at = 0; at < writer->weighted->node_count; at++)
        hp_json_u64(writer->json, writer->weighted->nodes[at].function);
    hp_json_end_array(writer->json);
}

/* Only nodes with a value, in this run or the other. */
static void put_numbers(struct writer *writer, const struct hp_weights *weights, const char *key,
                        const uint64_t *numbers)
{
    begin_array(writer, key);
    for (size_t at = 1; at < weights->room; at++)
        if (weights->own[at] > 0 || weights->before[at] > 0)
            hp_json_u64(writer->json, numbers != NULL ? numbers[at] : at);
    hp_json_end_array(writer->json);
}

static void put_dimension(struct writer *writer, size_t at)
{
    const struct hp_dimension_type *type = hp_export_type(writer->export, at);
    const struct hp_weights *weights = hp_export_weights(writer->export, at);
    struct hp_json *json = writer->json;
    hp_json_begin_object(json);
    hp_json_put_string(json, "key", type->key);
    hp_json_put_string(json, "title", type->title);
    hp_json_put_string(json, "unit", type->unit == HP_WEIGHT_BYTES ? "bytes" : "ns");
    hp_json_key(json, "counted");
    if (type->counted != NULL)
        hp_json_string(json, type->counted);
    else
        hp_json_null(json);
    hp_json_put_u64(json, "counted_total", weights->counted);
    put_numbers(writer, weights, "at", NULL);
    put_numbers(writer, weights, "own", weights->own);
    if (writer->export->compared_with != NULL)
        put_numbers(writer, weights, "earlier", weights->before);
    hp_json_end_object(json);
}

static void put_data(struct writer *writer)
{
    const struct hp_export *export = writer->export;
    struct hp_json *json = writer->json;
    hp_json_begin_object(json);
    hp_json_put_string(json, "command", export->command);
    hp_json_key(json, "compared");
    if (export->compared_with != NULL)
        hp_json_string(json, export->compared_with);
    else
        hp_json_null(json);
    hp_json_put_u64(json, "pid", export->pid);
    hp_json_put_u64(json, "began_ms", export->began_ns / 1000000);
    hp_json_put_u64(json, "elapsed_ns", export->elapsed_ns);
    put_libraries(writer);
    put_functions(writer);
    put_nodes(writer);
    begin_array(writer, "dimensions");
    for (size_t at = 0; at < export->dimension_count; at++)
        put_dimension(writer, at);
    hp_json_end_array(json);
    hp_json_end_object(json);
}

bool hp_flame_write(const struct hp_export *export, struct hp_text *text)
{
    char buffer[4096];
    struct hp_text escaped;
    struct hp_json json;
    struct writer writer = {.export = export, .weighted = export->weighted, .json = &json};
    hp_text_bytes(text, (const char *)hp_flame_page_head, hp_flame_page_head_size);
    hp_text_init_stream(&escaped, buffer, sizeof buffer, hp_page_put_data, text);
    hp_json_init(&json, &escaped, false);
    put_data(&writer);
    hp_text_finish(&escaped);
    hp_text_bytes(text, (const char *)hp_flame_page_tail, hp_flame_page_tail_size);
    const bool has_memory = !writer.files.lacks_memory;
    hp_text_table_free(&writer.files);
    return has_memory;
}
