/*
 * profile.proto of pprof: a sample per stack, the innermost location first, with one or two values per dimension.
 * Inlined functions are lines of the location that they are inlined into. All names are in the file, and it says
 * so: readers need no symbols. SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "arith.h"
#include "export.h"
#include "frame_table.h"
#include "gzip.h"
#include "protobuf.h"

/* Fields, as numbered in proto/profile.proto. */
enum { PROFILE_TYPE = 1, PROFILE_SAMPLE, PROFILE_MAPPING, PROFILE_LOCATION, PROFILE_FUNCTION, PROFILE_STRING };
enum { PROFILE_TIME = 9, PROFILE_DURATION, PROFILE_PERIOD_TYPE, PROFILE_PERIOD, PROFILE_COMMENT, PROFILE_DEFAULT };
enum { TYPE_NAME = 1, TYPE_UNIT };
enum { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES, SAMPLE_LABELS };
enum { LABEL_KEY = 1, LABEL_TEXT };
enum { MAPPING_ID = 1, MAPPING_FILE = 5, MAPPING_BUILD_ID, MAPPING_HAS_FUNCTIONS, MAPPING_HAS_INLINED = 10 };
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1, LINE_NUMBER };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_FILE = 4 };

struct writer {
    const struct hp_export *export;
    struct hp_text *text;
    struct hp_text_table texts;
    struct hp_frame_table frames;
    struct hp_proto proto;
    struct hp_weighted_share *shares; /* sorted by node */
    size_t share;                     /* the next of them */
};

static void flush(struct writer *writer) { hp_proto_flush(&writer->proto, writer->text); }

static void put_type(struct writer *writer, uint32_t field, const char *name, const char *unit)
{
    const size_t type = hp_proto_begin(&writer->proto, field);
    hp_proto_u64(&writer->proto, TYPE_NAME, hp_text_table_put(&writer->texts, name));
    hp_proto_u64(&writer->proto, TYPE_UNIT, hp_text_table_put(&writer->texts, unit));
    hp_proto_end(&writer->proto, type);
}

static void put_types(struct writer *writer)
{
    for (size_t at = 0; at < writer->export->dimension_count; at++) {
        const struct hp_dimension_type *type = hp_export_type(writer->export, at);
        if (type->counted != NULL)
            put_type(writer, PROFILE_TYPE, type->counted, "count");
        put_type(writer, PROFILE_TYPE, type->key, hp_dimension_unit(type));
    }
    hp_proto_u64(&writer->proto, PROFILE_DEFAULT,
                 hp_text_table_put(&writer->texts, hp_export_type(writer->export, 0)->key));
    flush(writer);
}

static void put_header(struct writer *writer)
{
    const struct hp_export *export = writer->export;
    hp_proto_u64(&writer->proto, PROFILE_TIME, export->began_ns);
    hp_proto_u64(&writer->proto, PROFILE_DURATION, export->elapsed_ns);
    hp_proto_u64(&writer->proto, PROFILE_COMMENT, hp_text_table_put(&writer->texts, export->command));
    if (export->remark != NULL)
        hp_proto_u64(&writer->proto, PROFILE_COMMENT, hp_text_table_put(&writer->texts, export->remark));
    if (export->period_ns > 0) {
        put_type(writer, PROFILE_PERIOD_TYPE, "cpu", "nanoseconds");
        hp_proto_u64(&writer->proto, PROFILE_PERIOD, export->period_ns);
    }
    flush(writer);
}

/* -------------------------------------------------------------------------------------------------- samples */

static int by_node(const void *a, const void *b)
{
    const struct hp_weighted_share *x = a, *y = b;
    return x->node < y->node ? -1 : x->node > y->node;
}

static bool sort_shares(struct writer *writer)
{
    const struct hp_weighted *weighted = writer->export->weighted;
    writer->shares = calloc(weighted->share_count + 1, sizeof *writer->shares);
    if (writer->shares == NULL)
        return false;
    if (weighted->share_count > 0) {
        memcpy(writer->shares, weighted->shares, weighted->share_count * sizeof *writer->shares);
        qsort(writer->shares, weighted->share_count, sizeof *writer->shares, by_node);
    }
    return true;
}

static void put_label(struct writer *writer, const char *key, const char *text)
{
    const size_t label = hp_proto_begin(&writer->proto, SAMPLE_LABELS);
    hp_proto_u64(&writer->proto, LABEL_KEY, hp_text_table_put(&writer->texts, key));
    hp_proto_u64(&writer->proto, LABEL_TEXT, hp_text_table_put(&writer->texts, text));
    hp_proto_end(&writer->proto, label);
}

/* The parts of one stack that were in zones, by dimension. */
struct in_zones {
    uint64_t weight[HP_DIMENSIONS], count[HP_DIMENSIONS];
};

static uint64_t weight_left(const struct hp_export *export, size_t at, size_t node, const struct in_zones *less)
{
    return hp_less(hp_weight_own(hp_export_weights(export, at), node), less->weight[export->dimensions[at]]);
}

static uint64_t count_left(const struct hp_export *export, size_t at, size_t node, const struct in_zones *less)
{
    return hp_less(hp_weight_count(hp_export_weights(export, at), node), less->count[export->dimensions[at]]);
}

/* A part in a zone has one dimension; the part in no zone has the rest of all dimensions. */
static void put_values(struct writer *writer, size_t node, const struct hp_weighted_share *in,
                       const struct in_zones *less)
{
    const struct hp_export *export = writer->export;
    struct hp_proto *proto = &writer->proto;
    for (size_t at = 0; at < export->dimension_count; at++) {
        const bool is_it = in != NULL && in->dimension == export->dimensions[at];
        if (hp_export_type(export, at)->counted != NULL)
            hp_proto_packed(proto, in == NULL ? count_left(export, at, node, less) : is_it ? in->count : 0);
        hp_proto_packed(proto, in == NULL ? weight_left(export, at, node, less) : is_it ? in->weight : 0);
    }
}

/* `in`: its part in a zone, or NULL: all but the parts in zones. */
static void put_sample(struct writer *writer, size_t node, const struct hp_weighted_share *in,
                       const struct in_zones *less)
{
    const struct hp_export *export = writer->export;
    struct hp_proto *proto = &writer->proto;
    const size_t sample = hp_proto_begin(proto, PROFILE_SAMPLE);
    const size_t locations = hp_proto_begin(proto, SAMPLE_LOCATIONS);
    for (uint32_t at = (uint32_t)node; at != HP_WEIGHTED_ROOT; at = hp_weighted_caller(export->weighted, at))
        hp_proto_packed(proto, writer->frames.of_node[at]);
    hp_proto_end(proto, locations);
    const size_t values = hp_proto_begin(proto, SAMPLE_VALUES);
    put_values(writer, node, in, less);
    hp_proto_end(proto, values);
    if (in != NULL)
        put_label(writer, "zone", in->zone);
    hp_proto_end(proto, sample);
    flush(writer);
}

static bool is_exported(const struct hp_export *export, enum hp_dimension dimension)
{
    for (size_t at = 0; at < export->dimension_count; at++)
        if (export->dimensions[at] == dimension)
            return true;
    return false;
}

static bool has_left(const struct hp_export *export, size_t node, const struct in_zones *less)
{
    for (size_t at = 0; at < export->dimension_count; at++)
        if (weight_left(export, at, node, less) > 0 || count_left(export, at, node, less) > 0)
            return true;
    return false;
}

/* One sample per zone, and one for the rest: together they are the stack's weight. */
static void put_samples(struct writer *writer, size_t node)
{
    const struct hp_export *export = writer->export;
    struct in_zones in_zones = {0};
    for (; writer->share < export->weighted->share_count && writer->shares[writer->share].node <= node;
         writer->share++) {
        const struct hp_weighted_share *share = &writer->shares[writer->share];
        if (share->node != node || !is_exported(export, share->dimension))
            continue;
        put_sample(writer, node, share, &in_zones);
        in_zones.weight[share->dimension] += share->weight;
        in_zones.count[share->dimension] += share->count;
    }
    if (has_left(export, node, &in_zones))
        put_sample(writer, node, NULL, &in_zones);
}

/* --------------------------------------------------------------------------------------------------- tables */

static void put_mappings(struct writer *writer)
{
    const struct hp_weighted *weighted = writer->export->weighted;
    struct hp_proto *proto = &writer->proto;
    for (size_t at = 0; at < weighted->library_count; at++) {
        const size_t mapping = hp_proto_begin(proto, PROFILE_MAPPING);
        hp_proto_u64(proto, MAPPING_ID, at + 1);
        hp_proto_u64(proto, MAPPING_FILE, hp_text_table_put(&writer->texts, weighted->libraries[at].path));
        hp_proto_u64(proto, MAPPING_BUILD_ID, hp_text_table_put(&writer->texts, weighted->libraries[at].build_id));
        for (uint32_t has = MAPPING_HAS_FUNCTIONS; has <= MAPPING_HAS_INLINED; has++)
            hp_proto_u64(proto, has, 1);
        hp_proto_end(proto, mapping);
        flush(writer);
    }
}

static void put_location(struct writer *writer, size_t number)
{
    const struct hp_weighted *weighted = writer->export->weighted;
    struct hp_proto *proto = &writer->proto;
    const struct hp_frame *frame = &writer->frames.frames[number];
    const uint32_t library = weighted->functions[frame->function].library;
    const size_t location = hp_proto_begin(proto, PROFILE_LOCATION);
    hp_proto_u64(proto, LOCATION_ID, number);
    if (library < weighted->library_count)
        hp_proto_u64(proto, LOCATION_MAPPING, library + UINT64_C(1));
    for (; frame != writer->frames.frames; frame = &writer->frames.frames[frame->outer]) {
        const size_t line = hp_proto_begin(proto, LOCATION_LINE);
        hp_proto_u64(proto, LINE_FUNCTION, frame->function + UINT64_C(1));
        hp_proto_u64(proto, LINE_NUMBER, frame->line);
        hp_proto_end(proto, line);
    }
    hp_proto_end(proto, location);
    flush(writer);
}

/* Without the linker's name: if both are equal, readers shorten it, and nothing is left of <outside>. */
static void put_function(struct writer *writer, size_t number)
{
    const struct hp_weighted_function *function = &writer->export->weighted->functions[number];
    struct hp_proto *proto = &writer->proto;
    const size_t begun = hp_proto_begin(proto, PROFILE_FUNCTION);
    hp_proto_u64(proto, FUNCTION_ID, number + 1);
    hp_proto_u64(proto, FUNCTION_NAME, hp_text_table_put(&writer->texts, function->name));
    hp_proto_u64(proto, FUNCTION_FILE, hp_text_table_put(&writer->texts, function->file));
    hp_proto_end(proto, begun);
    flush(writer);
}

static void put_texts(struct writer *writer)
{
    for (size_t at = 0; at < writer->texts.count; at++) {
        hp_proto_string(&writer->proto, PROFILE_STRING, writer->texts.texts[at]);
        flush(writer);
    }
}

static void put_all(struct writer *writer)
{
    const struct hp_weighted *weighted = writer->export->weighted;
    hp_text_table_put(&writer->texts, ""); /* must be the first */
    put_types(writer);
    put_header(writer);
    for (size_t node = 1; node < weighted->node_count && !writer->text->is_cut; node++)
        if (hp_export_has(writer->export, node))
            put_samples(writer, node);
    put_mappings(writer);
    for (size_t at = 1; at < writer->frames.count; at++)
        put_location(writer, at);
    for (size_t at = 0; at < weighted->function_count; at++)
        put_function(writer, at);
    put_texts(writer);
}

static bool write(const struct hp_export *export, struct hp_text *text)
{
    static struct hp_gzip gzip;
    struct writer writer = {.export = export, .text = &gzip.in};
    bool has_memory = hp_frame_table_make(&writer.frames, export->weighted) && sort_shares(&writer);
    hp_gzip_begin(&gzip, HP_GZIP_FAST, text);
    if (has_memory)
        put_all(&writer);
    hp_gzip_end(&gzip);
    has_memory &= !writer.texts.lacks_memory && !writer.proto.lacks_memory;
    hp_proto_free(&writer.proto);
    hp_text_table_free(&writer.texts);
    hp_frame_table_free(&writer.frames);
    free(writer.shares);
    return has_memory;
}

const struct hp_export_format hp_format_pprof = {
    .name = "pprof",
    .is_binary = true,
    .has_lines = true,
    .write = write,
};
