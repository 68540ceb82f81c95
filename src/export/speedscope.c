/*
 * JSON of speedscope: each function once, and for each dimension a profile in which functions open and close. Its
 * reader needs matching pairs of opens and closes, and parents before their children. SPDX-License-Identifier: MIT
 */
#include "export.h"
#include "json.h"
#include "weighted.h"

#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

struct writer {
    const struct hp_weighted *weighted;
    struct hp_json *json;
};

static void put_functions(const struct writer *writer)
{
    struct hp_json *json = writer->json;
    hp_json_key(json, "shared");
    hp_json_begin_object(json);
    hp_json_key(json, "frames");
    hp_json_begin_array(json);
    for (size_t at = 0; at < writer->weighted->function_count; at++) {
        const struct hp_weighted_function *function = &writer->weighted->functions[at];
        const char *library = hp_weighted_library_name(writer->weighted, (uint32_t)at);
        hp_json_begin_object(json);
        hp_json_put_string(json, "name", function->name);
        if (function->file[0] != '\0' || library[0] != '\0')
            hp_json_put_string(json, "file", function->file[0] != '\0' ? function->file : library);
        hp_json_end_object(json);
    }
    hp_json_end_array(json);
    hp_json_end_object(json);
}

static void put_event(const struct writer *writer, const char *type, uint32_t node, uint64_t where)
{
    hp_json_begin_object(writer->json);
    hp_json_put_string(writer->json, "type", type);
    hp_json_put_u64(writer->json, "frame", writer->weighted->nodes[node].function);
    hp_json_put_u64(writer->json, "at", where);
    hp_json_end_object(writer->json);
}

static void enter(void *writer, uint32_t node, uint64_t where, size_t depth)
{
    (void)depth;
    put_event(writer, "O", node, where);
}

static void leave(void *writer, uint32_t node, uint64_t where, size_t depth)
{
    (void)depth;
    put_event(writer, "C", node, where);
}

static const char *unit_of(const struct hp_dimension_type *type)
{
    return type->unit == HP_WEIGHT_BYTES ? "bytes" : type->unit == HP_WEIGHT_NS ? "nanoseconds" : "none";
}

static bool put_profile(struct writer *writer, const struct hp_dimension_type *type,
                        const struct hp_weights *weights)
{
    struct hp_json *json = writer->json;
    struct hp_weight_walk walk;
    const bool has_memory = hp_walk_begin(&walk, writer->weighted, weights);
    hp_json_begin_object(json);
    hp_json_put_string(json, "type", "evented");
    hp_json_put_string(json, "name", type->title);
    hp_json_put_string(json, "unit", unit_of(type));
    hp_json_put_u64(json, "startValue", 0);
    hp_json_put_u64(json, "endValue", weights->total);
    hp_json_key(json, "events");
    hp_json_begin_array(json);
    if (has_memory)
        hp_walk_through(&walk, enter, leave, writer);
    hp_json_end_array(json);
    hp_json_end_object(json);
    hp_walk_end(&walk);
    return has_memory;
}

static bool write(const struct hp_export *export, struct hp_text *text)
{
    struct hp_json json;
    struct writer writer = {export->weighted, &json};
    bool has_memory = true;
    hp_json_init(&json, text, false);
    hp_json_begin_object(&json);
    hp_json_put_string(&json, "$schema", SCHEMA);
    hp_json_put_string(&json, "exporter", "hotpath");
    hp_json_put_string(&json, "name", export->command);
    hp_json_put_u64(&json, "activeProfileIndex", 0);
    put_functions(&writer);
    hp_json_key(&json, "profiles");
    hp_json_begin_array(&json);
    for (size_t at = 0; at < export->dimension_count; at++)
        has_memory &= put_profile(&writer, hp_export_type(export, at), hp_export_weights(export, at));
    hp_json_end_array(&json);
    hp_json_end_object(&json);
    hp_text_char(text, '\n');
    return has_memory;
}

const struct hp_export_format hp_format_speedscope = {
    .name = "speedscope",
    .write = write,
};
