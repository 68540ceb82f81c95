/*
 * A Perfetto trace: one track per dimension, on which functions are nested slices. They are placed by their sums,
 * the heaviest first, not by when they ran, which stacks do not tell. The numbers of the run over time are
 * counters, on a track of their own. SPDX-License-Identifier: MIT
 */
#include <stdio.h>

#include "export.h"
#include "protobuf.h"
#include "weighted.h"

/* Fields, as numbered in protos/perfetto/trace. */
enum { TRACE_PACKET = 1 };
enum { PACKET_TIMESTAMP = 8, PACKET_SEQUENCE = 10, PACKET_EVENT, PACKET_INTERNED, PACKET_FLAGS, PACKET_TRACK = 60 };
enum {
    TRACK_UUID = 1,
    TRACK_NAME,
    TRACK_PROCESS,
    TRACK_PARENT = 5,
    TRACK_COUNTER = 8,
    COUNTER_UNIT = 6,
    PROCESS_PID = 1,
    PROCESS_NAME = 6
};
enum { INTERNED_CATEGORIES = 1, INTERNED_NAMES, INTERNED_ID = 1, INTERNED_TEXT };
enum { EVENT_CATEGORY = 3, EVENT_TYPE = 9, EVENT_NAME, EVENT_TRACK, EVENT_VALUE = 44 };
enum { SLICE_BEGINS = 1, SLICE_ENDS, COUNTER = 4 };
enum { STATE_CLEARED = 1, NEEDS_STATE };
enum { OUR_SEQUENCE = 1, OUR_PROCESS = 1, OVER_TIME, FIRST_TRACK };

struct writer {
    const struct hp_export *export;
    struct hp_text *text;
    struct hp_proto proto;
    bool has_begun;
    uint64_t track;
};

static size_t begin_packet(struct writer *writer)
{
    const size_t packet = hp_proto_begin(&writer->proto, TRACE_PACKET);
    hp_proto_u64(&writer->proto, PACKET_SEQUENCE, OUR_SEQUENCE);
    hp_proto_u64(&writer->proto, PACKET_FLAGS, writer->has_begun ? NEEDS_STATE : STATE_CLEARED);
    writer->has_begun = true;
    return packet;
}

static void end_packet(struct writer *writer, size_t packet)
{
    hp_proto_end(&writer->proto, packet);
    hp_proto_flush(&writer->proto, writer->text);
}

static void put_process(struct writer *writer)
{
    struct hp_proto *proto = &writer->proto;
    const size_t packet = begin_packet(writer), track = hp_proto_begin(proto, PACKET_TRACK);
    hp_proto_u64(proto, TRACK_UUID, OUR_PROCESS);
    const size_t process = hp_proto_begin(proto, TRACK_PROCESS);
    hp_proto_u64(proto, PROCESS_PID, writer->export->pid);
    hp_proto_string(proto, PROCESS_NAME, writer->export->command);
    hp_proto_end(proto, process);
    hp_proto_end(proto, track);
    end_packet(writer, packet);
}

static void put_track(struct writer *writer, const char *name)
{
    struct hp_proto *proto = &writer->proto;
    const size_t packet = begin_packet(writer), track = hp_proto_begin(proto, PACKET_TRACK);
    hp_proto_u64(proto, TRACK_UUID, writer->track);
    hp_proto_string(proto, TRACK_NAME, name);
    hp_proto_u64(proto, TRACK_PARENT, OUR_PROCESS);
    hp_proto_end(proto, track);
    end_packet(writer, packet);
}

static void put_interned(struct writer *writer, uint32_t kind, uint64_t number, const char *text)
{
    struct hp_proto *proto = &writer->proto;
    const size_t packet = begin_packet(writer), interned = hp_proto_begin(proto, PACKET_INTERNED);
    const size_t entry = hp_proto_begin(proto, kind);
    hp_proto_u64(proto, INTERNED_ID, number);
    hp_proto_string(proto, INTERNED_TEXT, text);
    hp_proto_end(proto, entry);
    hp_proto_end(proto, interned);
    end_packet(writer, packet);
}

/* Numbers begin with 1. Code in no library has its own category. */
static void put_names(struct writer *writer)
{
    const struct hp_weighted *weighted = writer->export->weighted;
    for (size_t at = 0; at < weighted->library_count; at++)
        put_interned(writer, INTERNED_CATEGORIES, at + 1, weighted->libraries[at].path);
    put_interned(writer, INTERNED_CATEGORIES, weighted->library_count + 1, "hotpath");
    for (size_t at = 0; at < weighted->function_count; at++)
        put_interned(writer, INTERNED_NAMES, at + 1, weighted->functions[at].name);
}

static void enter(void *context, uint32_t node, uint64_t where, size_t depth)
{
    struct writer *writer = context;
    const struct hp_weighted *weighted = writer->export->weighted;
    const uint32_t function = weighted->nodes[node].function, library = weighted->functions[function].library;
    struct hp_proto *proto = &writer->proto;
    (void)depth;
    const size_t packet = begin_packet(writer);
    hp_proto_u64(proto, PACKET_TIMESTAMP, where);
    const size_t event = hp_proto_begin(proto, PACKET_EVENT);
    hp_proto_u64(proto, EVENT_CATEGORY,
                 (library < weighted->library_count ? library : weighted->library_count) + UINT64_C(1));
    hp_proto_u64(proto, EVENT_TYPE, SLICE_BEGINS);
    hp_proto_u64(proto, EVENT_NAME, function + UINT64_C(1));
    hp_proto_u64(proto, EVENT_TRACK, writer->track);
    hp_proto_end(proto, event);
    end_packet(writer, packet);
}

static void leave(void *context, uint32_t node, uint64_t where, size_t depth)
{
    struct writer *writer = context;
    struct hp_proto *proto = &writer->proto;
    (void)node;
    (void)depth;
    const size_t packet = begin_packet(writer);
    hp_proto_u64(proto, PACKET_TIMESTAMP, where);
    const size_t event = hp_proto_begin(proto, PACKET_EVENT);
    hp_proto_u64(proto, EVENT_TYPE, SLICE_ENDS);
    hp_proto_u64(proto, EVENT_TRACK, writer->track);
    hp_proto_end(proto, event);
    end_packet(writer, packet);
}

static bool put_dimension(struct writer *writer, size_t at)
{
    struct hp_weight_walk walk;
    char title[100];
    const struct hp_dimension_type *type = hp_export_type(writer->export, at);
    writer->track = FIRST_TRACK + at;
    snprintf(title, sizeof title, "%s%s", type->title,
             type->unit == HP_WEIGHT_INSTRUCTIONS ? " (1 ns stands for one instruction)" : "");
    put_track(writer, title);
    const bool has_memory = hp_walk_begin(&walk, writer->export->weighted, hp_export_weights(writer->export, at));
    if (has_memory)
        hp_walk_through(&walk, enter, leave, writer);
    hp_walk_end(&walk);
    return has_memory;
}

/* ------------------------------------------------------------------------------------------------- counters */

static void put_over_time(struct writer *writer)
{
    struct hp_proto *proto = &writer->proto;
    const size_t packet = begin_packet(writer), track = hp_proto_begin(proto, PACKET_TRACK);
    hp_proto_u64(proto, TRACK_UUID, OVER_TIME);
    hp_proto_string(proto, TRACK_NAME, "Over time");
    hp_proto_end(proto, track);
    end_packet(writer, packet);
}

static void put_counter(struct writer *writer, const struct hp_export_counter *counter)
{
    struct hp_proto *proto = &writer->proto;
    const size_t packet = begin_packet(writer), track = hp_proto_begin(proto, PACKET_TRACK);
    hp_proto_u64(proto, TRACK_UUID, writer->track);
    hp_proto_string(proto, TRACK_NAME, counter->name);
    hp_proto_u64(proto, TRACK_PARENT, OVER_TIME);
    const size_t about = hp_proto_begin(proto, TRACK_COUNTER);
    hp_proto_string(proto, COUNTER_UNIT, counter->unit);
    hp_proto_end(proto, about);
    hp_proto_end(proto, track);
    end_packet(writer, packet);
}

static void put_value(struct writer *writer, uint64_t when, double value)
{
    struct hp_proto *proto = &writer->proto;
    const size_t packet = begin_packet(writer);
    hp_proto_u64(proto, PACKET_TIMESTAMP, when);
    const size_t event = hp_proto_begin(proto, PACKET_EVENT);
    hp_proto_u64(proto, EVENT_TYPE, COUNTER);
    hp_proto_u64(proto, EVENT_TRACK, writer->track);
    hp_proto_double(proto, EVENT_VALUE, value);
    hp_proto_end(proto, event);
    end_packet(writer, packet);
}

/* A value stands for its slot. */
static void put_counters(struct writer *writer, const struct hp_export_counters *counters)
{
    put_over_time(writer);
    for (size_t at = 0; at < counters->count; at++) {
        const struct hp_export_counter *counter = &counters->all[at];
        writer->track++;
        put_counter(writer, counter);
        for (size_t slot = 0; slot < counter->count; slot++)
            put_value(writer, counter->first_ns + slot * counters->slot_ns, counter->values[slot]);
    }
}

static bool write(const struct hp_export *export, struct hp_text *text)
{
    struct writer writer = {.export = export, .text = text};
    bool has_memory = true;
    put_process(&writer);
    put_names(&writer);
    for (size_t at = 0; at < export->dimension_count; at++)
        has_memory &= put_dimension(&writer, at);
    if (export->counters != NULL && export->counters->count > 0)
        put_counters(&writer, export->counters);
    has_memory &= !writer.proto.lacks_memory;
    hp_proto_free(&writer.proto);
    return has_memory;
}

const struct hp_export_format hp_format_perfetto = {
    .name = "perfetto",
    .is_binary = true,
    .is_of_time = true,
    .write = write,
};
