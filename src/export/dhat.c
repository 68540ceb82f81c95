/*
 * JSON of DHAT, valgrind's heap profiler: allocations by stack. Its viewer (dh_view.html) and the Firefox Profiler
 * read it. Lifetimes of blocks, and what was live at the end, are not known by stack, and the file says so.
 * SPDX-License-Identifier: MIT
 */
#include "export.h"

#include "frame_table.h"
#include "json.h"

struct writer {
    const struct hp_export *export;
    const struct hp_weighted *weighted;
    struct hp_json *json;
    struct hp_frame_table frames;
};

/* Stacks have the innermost function first; entry 0 of the table of frames is the common root. */
static void put_point(struct writer *writer, size_t node)
{
    struct hp_json *json = writer->json;
    const struct hp_weights *weights = hp_export_weights(writer->export, 0);
    hp_json_begin_object(json);
    hp_json_put_u64(json, "tb", hp_weight_own(weights, node));
    hp_json_put_u64(json, "tbk", hp_weight_count(weights, node));
    hp_json_key(json, "fs");
    hp_json_begin_array(json);
    for (uint32_t at = (uint32_t)node; at != HP_WEIGHTED_ROOT; at = writer->weighted->nodes[at].parent)
        hp_json_u64(json, writer->frames.of_node[at]);
    hp_json_end_array(json);
    hp_json_end_object(json);
}

/* "0x0: work (work.c:12)", as valgrind writes them; the reader expects an address there. */
static void put_frame(struct writer *writer, const struct hp_frame *frame)
{
    char bytes[2048];
    struct hp_text text;
    const struct hp_weighted_function *function = &writer->weighted->functions[frame->function];
    const char *library = hp_weighted_library_name(writer->weighted, frame->function);
    hp_text_init(&text, bytes, sizeof bytes);
    hp_text_format(&text, "0x0: %s", function->name);
    if (function->file[0] != '\0') {
        hp_text_format(&text, " (%s:%u)", function->file, frame->line);
    } else if (library[0] != '\0') {
        hp_text_format(&text, " (in %s)", library);
    }
    hp_json_string(writer->json, hp_text_end(&text));
}

static void put_head(struct writer *writer)
{
    struct hp_json *json = writer->json;
    hp_json_put_u64(json, "dhatFileVersion", 2);
    hp_json_put_string(json, "mode", "hotpath");
    hp_json_put_string(json, "verb", "Allocated");
    hp_json_key(json, "bklt");
    hp_json_bool(json, false);
    hp_json_key(json, "bkacc");
    hp_json_bool(json, false);
    hp_json_put_string(json, "tu", "ns");
    hp_json_put_string(json, "Mtu", "ms");
    hp_json_put_u64(json, "tuth", 1);
    hp_json_put_string(json, "cmd", writer->export->command);
    hp_json_put_u64(json, "pid", writer->export->pid);
    hp_json_put_u64(json, "te", writer->export->elapsed_ns);
}

static void put_all(struct writer *writer)
{
    struct hp_json *json = writer->json;
    const struct hp_weights *weights = hp_export_weights(writer->export, 0);
    hp_json_begin_object(json);
    put_head(writer);
    hp_json_key(json, "pps");
    hp_json_begin_array(json);
    for (size_t node = 1; node < writer->weighted->node_count; node++)
        if (hp_weight_own(weights, node) > 0 || hp_weight_count(weights, node) > 0)
            put_point(writer, node);
    hp_json_end_array(json);
    hp_json_key(json, "ftbl");
    hp_json_begin_array(json);
    hp_json_string(json, "[root]");
    for (size_t at = 1; at < writer->frames.count; at++)
        put_frame(writer, &writer->frames.frames[at]);
    hp_json_end_array(json);
    hp_json_end_object(json);
}

static bool write(const struct hp_export *export, struct hp_text *text)
{
    struct hp_json json;
    struct writer writer = {.export = export, .weighted = export->weighted, .json = &json};
    hp_json_init(&json, text, false);
    const bool has_memory = hp_frame_table_make(&writer.frames, export->weighted);
    if (has_memory)
        put_all(&writer);
    hp_text_char(text, '\n');
    hp_frame_table_free(&writer.frames);
    return has_memory;
}

const struct hp_export_format hp_format_dhat = {
    .name = "dhat",
    .is_of_one = true,
    .is_of_bytes = true,
    .has_lines = true,
    .write = write,
};
