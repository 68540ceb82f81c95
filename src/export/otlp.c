/*
 * Profiles of OpenTelemetry: the body of a request to a collector, as ExportProfilesServiceRequest of
 * opentelemetry-proto, v1development. That format changes from version to version: all that is known of it is here.
 *
 * There is a profile per value type: what is one of pprof's samples is one in each of them. They share a
 * dictionary of stacks, locations, functions, mappings, attributes and texts; the first entry of each table is
 * empty and stands for "none". SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "frame_table.h"
#include "function_profile.h"
#include "gzip.h"
#include "hotpath.h"
#include "protobuf.h"
#include "utf8.h"

/* Fields, as numbered in profiles_service.proto, profiles.proto, resource.proto and common.proto. */
enum { REQUEST_RESOURCE = 1, REQUEST_DICTIONARY };
enum { RESOURCE_RESOURCE = 1, RESOURCE_SCOPE };
enum { RESOURCE_ATTRIBUTE = 1 };
enum { PAIR_KEY = 1, PAIR_VALUE };
enum { VALUE_TEXT = 1, VALUE_NUMBER = 3 };
enum { SCOPE_SCOPE = 1, SCOPE_PROFILE };
enum { SCOPE_NAME = 1, SCOPE_VERSION };
enum { PROFILE_TYPE = 1, PROFILE_SAMPLE, PROFILE_TIME, PROFILE_DURATION, PROFILE_PERIOD_TYPE, PROFILE_PERIOD };
enum { TYPE_NAME = 1, TYPE_UNIT };
enum { SAMPLE_STACK = 1, SAMPLE_VALUES = 4 };
enum {
    DICTIONARY_MAPPING = 1,
    DICTIONARY_LOCATION,
    DICTIONARY_FUNCTION,
    DICTIONARY_LINK,
    DICTIONARY_TEXT,
    DICTIONARY_ATTRIBUTE,
    DICTIONARY_STACK
};
enum { MAPPING_FILE = 4, MAPPING_ATTRIBUTES };
enum { LOCATION_MAPPING = 1, LOCATION_LINE = 3, LOCATION_ATTRIBUTES };
enum { LINE_FUNCTION = 1, LINE_NUMBER };
enum { FUNCTION_NAME = 1, FUNCTION_FILE = 3 };
enum { ATTRIBUTE_KEY = 1, ATTRIBUTE_VALUE };
enum { STACK_LOCATIONS = 1 };

/* Attributes: the empty one, the types of frames, and the build ids of mappings. */
enum { NO_ATTRIBUTE, IS_NATIVE, IS_KERNEL, FIRST_BUILD_ID };

#define OTHER "[other]" /* stacks beyond the limit */

/* Things that are used, numbered from 1 in the order of their first use. */
struct numbering {
    uint32_t *numbers; /* by thing; 0: not used */
    uint32_t *things;  /* by number - 1 */
    uint32_t count;
};

struct writer {
    const struct hp_export *export;
    struct hp_proto proto;
    struct hp_text_table texts;
    struct hp_frame_table frames;
    struct numbering stacks; /* of nodes */
    struct numbering locations, functions, mappings;
    bool has_other;
};

static uint32_t number_of(struct numbering *numbering, uint32_t thing)
{
    if (numbering->numbers[thing] == 0) {
        numbering->things[numbering->count] = thing;
        numbering->numbers[thing] = ++numbering->count;
    }
    return numbering->numbers[thing];
}

static bool begin_numbering(struct numbering *numbering, size_t things)
{
    numbering->numbers = calloc(things + 1, sizeof *numbering->numbers);
    numbering->things = calloc(things + 1, sizeof *numbering->things);
    return numbering->numbers != NULL && numbering->things != NULL;
}

static void end_numbering(struct numbering *numbering)
{
    free(numbering->numbers);
    free(numbering->things);
}

static void put_text(struct writer *writer, uint32_t field, const char *text)
{
    hp_proto_u64(&writer->proto, field, hp_text_table_put(&writer->texts, text));
}

static void put_empty(struct writer *writer, uint32_t field)
{
    hp_proto_end(&writer->proto, hp_proto_begin(&writer->proto, field));
}

/* ------------------------------------------------------------------------------------------------------- stacks */

/* How much a stack is: its largest share of the sum of a dimension. */
struct ranked {
    double share;
    uint32_t node;
};

static double share_of(const struct hp_export *export, uint32_t node)
{
    double most = 0;
    for (size_t at = 0; at < export->dimension_count; at++) {
        const struct hp_weights *weights = hp_export_weights(export, at);
        const double share = weights->total > 0 ? (double)hp_weight_own(weights, node) / (double)weights->total : 0;
        most = share > most ? share : most;
    }
    return most;
}

static int heaviest_first(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->share != y->share)
        return x->share > y->share ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

static int by_node(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return x->node < y->node ? -1 : x->node > y->node;
}

/* The heaviest ones up to the limit; in the order of nodes, in which stacks with common callers are neighbours. */
static bool choose_stacks(struct writer *writer)
{
    const struct hp_export *export = writer->export;
    const size_t node_count = export->weighted->node_count;
    struct ranked *all = calloc(node_count + 1, sizeof *all);
    size_t count = 0;
    if (all == NULL)
        return false;
    for (uint32_t node = 1; node < node_count; node++)
        if (hp_export_has(export, node))
            all[count++] = (struct ranked){share_of(export, node), node};
    if (export->stacks_limit > 0 && count > export->stacks_limit) {
        qsort(all, count, sizeof *all, heaviest_first);
        count = export->stacks_limit;
        qsort(all, count, sizeof *all, by_node);
        writer->has_other = true;
    }
    for (size_t at = 0; at < count; at++)
        number_of(&writer->stacks, all[at].node);
    free(all);
    return true;
}

/* Their locations, the innermost one first. */
static void put_stacks(struct writer *writer)
{
    struct hp_proto *proto = &writer->proto;
    put_empty(writer, DICTIONARY_STACK);
    for (size_t at = 0; at < writer->stacks.count + writer->has_other; at++) {
        const size_t stack = hp_proto_begin(proto, DICTIONARY_STACK);
        const size_t locations = hp_proto_begin(proto, STACK_LOCATIONS);
        if (at == writer->stacks.count) /* the last location is that of OTHER */
            hp_proto_packed(proto, writer->locations.count + UINT64_C(1));
        for (uint32_t node = at < writer->stacks.count ? writer->stacks.things[at] : HP_WEIGHTED_ROOT;
             node != HP_WEIGHTED_ROOT; node = hp_weighted_caller(writer->export->weighted, node))
            hp_proto_packed(proto, number_of(&writer->locations, writer->frames.of_node[node]));
        hp_proto_end(proto, locations);
        hp_proto_end(proto, stack);
    }
}

/* ----------------------------------------------------------------------------------------------------- profiles */

/* Of a dimension: its weights, or what it counts. */
static uint64_t value_of(const struct hp_weights *weights, bool is_count, size_t node)
{
    return is_count ? hp_weight_count(weights, node) : hp_weight_own(weights, node);
}

static void put_sample(struct writer *writer, uint32_t stack, uint64_t value)
{
    if (value == 0)
        return;
    const size_t sample = hp_proto_begin(&writer->proto, PROFILE_SAMPLE);
    hp_proto_u64(&writer->proto, SAMPLE_STACK, stack);
    const size_t values = hp_proto_begin(&writer->proto, SAMPLE_VALUES);
    hp_proto_packed(&writer->proto, value);
    hp_proto_end(&writer->proto, values);
    hp_proto_end(&writer->proto, sample);
}

/* All that no chosen stack has is in the last one, so that sums are right. */
static void put_samples(struct writer *writer, const struct hp_weights *weights, bool is_count)
{
    uint64_t left = is_count ? weights->counted : weights->total;
    for (uint32_t at = 0; at < writer->stacks.count; at++) {
        const uint64_t value = value_of(weights, is_count, writer->stacks.things[at]);
        put_sample(writer, at + 1, value);
        left -= value;
    }
    if (writer->has_other)
        put_sample(writer, writer->stacks.count + 1, left);
}

static void put_type(struct writer *writer, uint32_t field, const char *name, const char *unit)
{
    const size_t type = hp_proto_begin(&writer->proto, field);
    put_text(writer, TYPE_NAME, name);
    put_text(writer, TYPE_UNIT, unit);
    hp_proto_end(&writer->proto, type);
}

static void put_profile(struct writer *writer, size_t at, bool is_count)
{
    const struct hp_export *export = writer->export;
    const struct hp_dimension_type *type = hp_export_type(export, at);
    const size_t profile = hp_proto_begin(&writer->proto, SCOPE_PROFILE);
    put_type(writer, PROFILE_TYPE, is_count ? type->counted : type->key,
             is_count ? "count" : hp_dimension_unit(type));
    put_samples(writer, hp_export_weights(export, at), is_count);
    hp_proto_fixed64(&writer->proto, PROFILE_TIME, export->began_ns);
    hp_proto_u64(&writer->proto, PROFILE_DURATION, export->elapsed_ns);
    if (export->period_ns > 0 && export->dimensions[at] == HP_OF_CPU) {
        put_type(writer, PROFILE_PERIOD_TYPE, "cpu", "nanoseconds");
        hp_proto_u64(&writer->proto, PROFILE_PERIOD, export->period_ns);
    }
    hp_proto_end(&writer->proto, profile);
}

/* ----------------------------------------------------------------------------------------------------- resource */

static size_t begin_attribute(struct writer *writer, const char *key, size_t *ret_value)
{
    const size_t pair = hp_proto_begin(&writer->proto, RESOURCE_ATTRIBUTE);
    hp_proto_string(&writer->proto, PAIR_KEY, key);
    *ret_value = hp_proto_begin(&writer->proto, PAIR_VALUE);
    return pair;
}

static void put_number(struct writer *writer, const char *key, uint64_t number)
{
    size_t value;
    const size_t pair = begin_attribute(writer, key, &value);
    hp_proto_u64(&writer->proto, VALUE_NUMBER, number);
    hp_proto_end(&writer->proto, value);
    hp_proto_end(&writer->proto, pair);
}

/* A request with bytes that are no text would be refused. */
static void put_name(struct writer *writer, const char *key, const char *text, size_t length)
{
    char bytes[512];
    struct hp_text safe;
    size_t value;
    const size_t pair = begin_attribute(writer, key, &value);
    hp_text_init(&safe, bytes, sizeof bytes);
    hp_utf8_put_safe(&safe, text, length);
    hp_proto_string(&writer->proto, VALUE_TEXT, hp_text_end(&safe));
    hp_proto_end(&writer->proto, value);
    hp_proto_end(&writer->proto, pair);
}

/* Without a service, its name is that of the program. */
static void put_resource(struct writer *writer)
{
    const struct hp_export *export = writer->export;
    const char *program;
    const size_t length = hp_text_program(export->command, &program);
    const size_t resource = hp_proto_begin(&writer->proto, RESOURCE_RESOURCE);
    if (export->service != NULL)
        put_name(writer, "service.name", export->service, strlen(export->service));
    else
        put_name(writer, "service.name", program, length);
    if (export->host != NULL)
        put_name(writer, "host.name", export->host, strlen(export->host));
    put_number(writer, "process.pid", export->pid);
    put_name(writer, "process.executable.name", program, length);
    hp_proto_end(&writer->proto, resource);
}

static void put_resource_profiles(struct writer *writer)
{
    const size_t profiles = hp_proto_begin(&writer->proto, REQUEST_RESOURCE);
    put_resource(writer);
    const size_t scope = hp_proto_begin(&writer->proto, RESOURCE_SCOPE);
    const size_t its_name = hp_proto_begin(&writer->proto, SCOPE_SCOPE);
    hp_proto_string(&writer->proto, SCOPE_NAME, "hotpath");
    hp_proto_string(&writer->proto, SCOPE_VERSION, HOTPATH_VERSION);
    hp_proto_end(&writer->proto, its_name);
    for (size_t at = 0; at < writer->export->dimension_count; at++) {
        if (hp_export_type(writer->export, at)->counted != NULL)
            put_profile(writer, at, true);
        put_profile(writer, at, false);
    }
    hp_proto_end(&writer->proto, scope);
    hp_proto_end(&writer->proto, profiles);
}

/* --------------------------------------------------------------------------------------------------- dictionary */

/* What is no function, such as a cause of waiting, has no type. */
static uint32_t frame_type(const struct hp_weighted *weighted, uint32_t number)
{
    const char *name = weighted->functions[number].name;
    if (strcmp(hp_weighted_library_name(weighted, number), HP_KERNEL_LIBRARY) == 0 ||
        hp_text_begins(name, "[kernel"))
        return IS_KERNEL;
    return name[0] == '[' || name[0] == '<' ? NO_ATTRIBUTE : IS_NATIVE;
}

static void put_line(struct writer *writer, uint32_t function, uint32_t number)
{
    const size_t line = hp_proto_begin(&writer->proto, LOCATION_LINE);
    hp_proto_u64(&writer->proto, LINE_FUNCTION, function);
    hp_proto_u64(&writer->proto, LINE_NUMBER, number);
    hp_proto_end(&writer->proto, line);
}

static void put_attribute_of(struct writer *writer, uint32_t field, uint32_t attribute)
{
    if (attribute == NO_ATTRIBUTE)
        return;
    const size_t attributes = hp_proto_begin(&writer->proto, field);
    hp_proto_packed(&writer->proto, attribute);
    hp_proto_end(&writer->proto, attributes);
}

static void put_location(struct writer *writer, const struct hp_frame *frame)
{
    const struct hp_weighted *weighted = writer->export->weighted;
    const uint32_t library = weighted->functions[frame->function].library;
    const size_t location = hp_proto_begin(&writer->proto, DICTIONARY_LOCATION);
    if (library < weighted->library_count)
        hp_proto_u64(&writer->proto, LOCATION_MAPPING, number_of(&writer->mappings, library));
    put_attribute_of(writer, LOCATION_ATTRIBUTES, frame_type(weighted, frame->function));
    for (; frame != writer->frames.frames; frame = &writer->frames.frames[frame->outer])
        put_line(writer, number_of(&writer->functions, frame->function), frame->line);
    hp_proto_end(&writer->proto, location);
}

static void put_locations(struct writer *writer)
{
    put_empty(writer, DICTIONARY_LOCATION);
    for (size_t at = 0; at < writer->locations.count; at++)
        put_location(writer, &writer->frames.frames[writer->locations.things[at]]);
    if (!writer->has_other)
        return;
    const size_t location = hp_proto_begin(&writer->proto, DICTIONARY_LOCATION);
    put_line(writer, writer->functions.count + 1, 0);
    hp_proto_end(&writer->proto, location);
}

static void put_function(struct writer *writer, const char *name, const char *file)
{
    const size_t function = hp_proto_begin(&writer->proto, DICTIONARY_FUNCTION);
    put_text(writer, FUNCTION_NAME, name);
    put_text(writer, FUNCTION_FILE, file);
    hp_proto_end(&writer->proto, function);
}

static void put_functions(struct writer *writer)
{
    put_empty(writer, DICTIONARY_FUNCTION);
    for (size_t at = 0; at < writer->functions.count; at++) {
        const struct hp_weighted_function *function =
            &writer->export->weighted->functions[writer->functions.things[at]];
        put_function(writer, function->name, function->file);
    }
    if (writer->has_other)
        put_function(writer, OTHER, "");
}

static const struct hp_weighted_library *library_at(const struct writer *writer, size_t mapping)
{
    return &writer->export->weighted->libraries[writer->mappings.things[mapping]];
}

static void put_mappings(struct writer *writer)
{
    uint32_t attribute = FIRST_BUILD_ID;
    put_empty(writer, DICTIONARY_MAPPING);
    for (size_t at = 0; at < writer->mappings.count; at++) {
        const struct hp_weighted_library *library = library_at(writer, at);
        const size_t mapping = hp_proto_begin(&writer->proto, DICTIONARY_MAPPING);
        put_text(writer, MAPPING_FILE, library->path);
        put_attribute_of(writer, MAPPING_ATTRIBUTES, library->build_id[0] != '\0' ? attribute++ : NO_ATTRIBUTE);
        hp_proto_end(&writer->proto, mapping);
    }
}

static void put_attribute(struct writer *writer, const char *key, const char *text)
{
    const size_t attribute = hp_proto_begin(&writer->proto, DICTIONARY_ATTRIBUTE);
    put_text(writer, ATTRIBUTE_KEY, key);
    const size_t value = hp_proto_begin(&writer->proto, ATTRIBUTE_VALUE);
    hp_proto_string(&writer->proto, VALUE_TEXT, text);
    hp_proto_end(&writer->proto, value);
    hp_proto_end(&writer->proto, attribute);
}

static void put_attributes(struct writer *writer)
{
    put_empty(writer, DICTIONARY_ATTRIBUTE);
    put_attribute(writer, "profile.frame.type", "native");
    put_attribute(writer, "profile.frame.type", "kernel");
    for (size_t at = 0; at < writer->mappings.count; at++)
        if (library_at(writer, at)->build_id[0] != '\0')
            put_attribute(writer, "process.executable.build_id.gnu", library_at(writer, at)->build_id);
}

/* Each table numbers what the next ones have; texts are the last. */
static void put_dictionary(struct writer *writer)
{
    const size_t dictionary = hp_proto_begin(&writer->proto, REQUEST_DICTIONARY);
    put_stacks(writer);
    put_locations(writer);
    put_functions(writer);
    put_mappings(writer);
    put_attributes(writer);
    put_empty(writer, DICTIONARY_LINK);
    for (size_t at = 0; at < writer->texts.count; at++)
        hp_proto_string(&writer->proto, DICTIONARY_TEXT, writer->texts.texts[at]);
    hp_proto_end(&writer->proto, dictionary);
}

/* ------------------------------------------------------------------------------------------------------ writing */

static bool begin(struct writer *writer)
{
    const struct hp_weighted *weighted = writer->export->weighted;
    hp_text_table_put(&writer->texts, ""); /* must be the first */
    return hp_frame_table_make(&writer->frames, weighted) &&
           begin_numbering(&writer->stacks, weighted->node_count) &&
           begin_numbering(&writer->locations, writer->frames.count) &&
           begin_numbering(&writer->functions, weighted->function_count) &&
           begin_numbering(&writer->mappings, weighted->library_count) && choose_stacks(writer);
}

static void end(struct writer *writer)
{
    hp_proto_free(&writer->proto);
    hp_text_table_free(&writer->texts);
    hp_frame_table_free(&writer->frames);
    end_numbering(&writer->stacks);
    end_numbering(&writer->locations);
    end_numbering(&writer->functions);
    end_numbering(&writer->mappings);
}

static bool write(const struct hp_export *export, struct hp_text *text)
{
    static struct hp_gzip gzip;
    struct writer writer = {.export = export};
    bool has_memory = begin(&writer);
    hp_gzip_begin(&gzip, HP_GZIP_FAST, text);
    if (has_memory) {
        put_resource_profiles(&writer);
        put_dictionary(&writer);
        has_memory = !writer.texts.lacks_memory && !writer.proto.lacks_memory;
        hp_proto_flush(&writer.proto, &gzip.in);
    }
    hp_gzip_end(&gzip);
    end(&writer);
    return has_memory;
}

const struct hp_export_format hp_format_otlp = {
    .name = "otlp",
    .is_binary = true,
    .has_lines = true,
    .write = write,
};
