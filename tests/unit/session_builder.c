/*
 * Builds session bytes in memory. One file: every function appends to the same buffer, one per kind of record.
 * SPDX-License-Identifier: MIT
 */
#undef NDEBUG
#include "session_builder.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "object_layout.h"
#include "task_layout.h"

#define FRAMES 16u
#define NODES_PER_CHUNK 4u /* small, so that tests walk several */

void *builder_at(struct session_builder *builder, uint32_t offset) { return builder->bytes + offset; }

static bool has_bytes(const struct session_builder *builder, uint32_t offset, size_t bytes)
{
    return (uint64_t)offset + bytes <= builder->capacity;
}

bool builder_read(void *builder, uint32_t offset, void *to, size_t bytes)
{
    if (!has_bytes(builder, offset, bytes))
        return false;
    memcpy(to, builder_at(builder, offset), bytes);
    return true;
}

bool builder_write(void *builder, uint32_t offset, const void *from, size_t bytes)
{
    if (!has_bytes(builder, offset, bytes))
        return false;
    memcpy(builder_at(builder, offset), from, bytes);
    return true;
}

struct hp_header *builder_header(struct session_builder *builder) { return builder_at(builder, 0); }

size_t builder_size(const struct session_builder *builder) { return builder->used; }

static uint32_t take(struct session_builder *builder, size_t size, uint32_t align)
{
    const uint32_t offset = (builder->used + align - 1) & ~(align - 1);
    assert(offset + size <= builder->capacity);
    builder->used = (uint32_t)((offset + size + 7) & ~(size_t)7);
    builder_header(builder)->used = builder->used;
    return offset;
}

uint32_t builder_text(struct session_builder *builder, const char *text)
{
    const size_t length = strlen(text);
    const uint32_t offset = take(builder, sizeof(uint32_t) + length + 1, 8);
    struct hp_string *string = builder_at(builder, offset);
    string->length = (uint32_t)length;
    memcpy((char *)string + offsetof(struct hp_string, bytes), text, length + 1);
    return offset;
}

void builder_init(struct session_builder *builder, size_t capacity)
{
    *builder = (struct session_builder){.bytes = calloc(1, capacity), .capacity = capacity};
    assert(builder->bytes != NULL && capacity > HP_HEADER_BYTES);
    builder->used = HP_HEADER_BYTES;
    builder->sites_per_chunk = HP_SITES_PER_CHUNK;
    struct hp_header *header = builder_header(builder);
    memcpy(header->magic, HP_MAGIC, sizeof header->magic);
    header->byte_order = HP_BYTE_ORDER;
    header->version = HP_LAYOUT_VERSION;
    header->header_bytes = HP_HEADER_BYTES;
    header->features = HP_FEATURE_TIMING;
    header->capacity = header->backed = capacity;
    header->used = builder->used;
    header->state = HP_STATE_FINISHED;
    header->pid = 4242;
    header->parent_pid = 1;
    header->process_start = 77;
    header->main_site = UINT32_MAX;
    header->wall_start_ns = UINT64_C(1790928000) * 1000000000;
    header->cores = 2;
    header->command = builder_text(builder, "./demo --fast");
    header->executable = builder_text(builder, "/usr/bin/demo");
    header->host = builder_text(builder, "box");
    header->system = builder_text(builder, "Linux 6.1 x86_64");
    header->library = builder_text(builder, "hotpath 0.1.0, gcc 12");
    builder_elapse(builder, 1000000, 1);
}

void builder_free(struct session_builder *builder)
{
    free(builder->bytes);
    builder->bytes = NULL;
}

void builder_elapse(struct session_builder *builder, uint64_t ticks, double ns_per_tick)
{
    struct hp_header *header = builder_header(builder);
    header->clock_kind = ns_per_tick == 1 ? HP_CLOCK_MONOTONIC : HP_CLOCK_TSC;
    header->clock_start = (struct hp_clock_pair){.ticks = BUILDER_START, .ns = 5000};
    header->clock_latest = (struct hp_clock_pair){.ticks = BUILDER_START + ticks,
                                                  .ns = 5000 + (uint64_t)((double)ticks * ns_per_tick)};
}

uint32_t builder_site(struct session_builder *builder, const char *name, const char *file, uint32_t line)
{
    const uint32_t id = builder_header(builder)->site_count++;
    assert(id < HP_MAX_SITES && id % HP_SITES_PER_CHUNK < builder->sites_per_chunk);
    uint32_t *chunk = &builder_header(builder)->site_chunks[id / HP_SITES_PER_CHUNK];
    if (*chunk == 0)
        *chunk = take(builder, builder->sites_per_chunk * sizeof(struct hp_site), 64);
    struct hp_site *site = (struct hp_site *)builder_at(builder, *chunk) + id % HP_SITES_PER_CHUNK;
    site->name = site->function = builder_text(builder, name);
    site->file = builder_text(builder, file);
    site->line = line;
    return id;
}

uint32_t builder_thread(struct session_builder *builder)
{
    const uint32_t offset = take(builder, sizeof(struct hp_thread), 64);
    struct hp_thread *thread = builder_at(builder, offset);
    thread->next = builder_header(builder)->threads;
    thread->state = HP_THREAD_LIVE;
    thread->tid = 4242 + builder_header(builder)->thread_count;
    thread->generation = 1;
    thread->frames = take(builder, FRAMES * sizeof(struct hotpath_frame_), 64);
    thread->frame_capacity = FRAMES;
    builder_header(builder)->threads = offset;
    builder_header(builder)->thread_count++;
    builder_header(builder)->threads_seen++;
    thread->root = builder_node(builder, offset, 0, HP_SITE_ROOT);
    return offset;
}

static uint32_t stat_offset(struct session_builder *builder, uint32_t thread, uint32_t site)
{
    struct hp_thread *record = builder_at(builder, thread);
    for (uint32_t at = record->stats; at != 0;) {
        const struct hotpath_stat_ *stat = builder_at(builder, at);
        if (stat->site == site)
            return at;
        at = stat->next;
    }
    const uint32_t offset = take(builder, sizeof(struct hotpath_stat_), 64);
    struct hotpath_stat_ *stat = builder_at(builder, offset);
    stat->site = site;
    stat->next = record->stats;
    stat->min = UINT64_MAX;
    stat->threads = 1;
    record->stats = offset;
    record->stat_count++;
    return offset;
}

struct hotpath_stat_ *builder_stat(struct session_builder *builder, uint32_t thread, uint32_t site)
{
    return builder_at(builder, stat_offset(builder, thread, site));
}

uint32_t builder_node(struct session_builder *builder, uint32_t thread, uint32_t parent, uint32_t site)
{
    struct hp_thread *record = builder_at(builder, thread);
    struct hp_node_chunk *chunk = record->node_chunks ? builder_at(builder, record->node_chunks) : NULL;
    if (chunk == NULL || chunk->used == chunk->capacity) {
        const uint32_t offset = take(builder, sizeof *chunk + NODES_PER_CHUNK * sizeof(struct hotpath_node_), 64);
        chunk = builder_at(builder, offset);
        chunk->next = record->node_chunks;
        chunk->capacity = NODES_PER_CHUNK;
        record->node_chunks = offset;
    }
    struct hotpath_node_ *node = &chunk->nodes[chunk->used++];
    node->site = site;
    node->parent = parent != 0 ? parent : record->root;
    node->stat = site == HP_SITE_ROOT ? 0 : stat_offset(builder, thread, site);
    record->node_count++;
    return (uint32_t)((unsigned char *)node - builder->bytes);
}

static uint64_t *counter_of(struct session_builder *builder, uint32_t octaves[HOTPATH_OCTAVES_], uint64_t ticks)
{
    const uint32_t octave = hotpath_octave_(ticks);
    assert(octave < HOTPATH_OCTAVES_);
    const uint32_t missing = octave == 0 ? 0 : 64 * sizeof(uint64_t); /* counters before the first one there is */
    if (octaves[octave] == 0)
        octaves[octave] = take(builder, 128 * sizeof(uint64_t) - missing, 64) - missing;
    return (uint64_t *)builder_at(builder, octaves[octave]) + (ticks >> octave);
}

static void count(struct session_builder *builder, uint32_t node_offset, uint64_t ticks, uint64_t inside)
{
    struct hotpath_node_ *node = builder_at(builder, node_offset);
    struct hotpath_stat_ *stat = builder_at(builder, node->stat);
    node->calls++;
    node->total += ticks;
    node->self += ticks - inside;
    stat->min = ticks < stat->min ? ticks : stat->min;
    stat->max = ticks > stat->max ? ticks : stat->max;
}

void builder_call(struct session_builder *builder, uint32_t thread, uint32_t node, uint64_t ticks, uint64_t inside)
{
    const uint32_t stat = ((struct hotpath_node_ *)builder_at(builder, node))->stat;
    (void)thread;
    count(builder, node, ticks, inside);
    ++*counter_of(builder, ((struct hotpath_stat_ *)builder_at(builder, stat))->octaves, ticks);
}

void builder_nested_call(struct session_builder *builder, uint32_t thread, uint32_t node, uint64_t ticks,
                         uint64_t inside)
{
    builder_call(builder, thread, node, ticks, inside);
    ((struct hotpath_node_ *)builder_at(builder, node))->nested += ticks;
}

void builder_abandoned_call(struct session_builder *builder, uint32_t node)
{
    ((struct hotpath_node_ *)builder_at(builder, node))->calls++;
    builder_header(builder)->losses[HP_LOSS_ABANDONED]++;
}

void builder_missed_call(struct session_builder *builder, uint32_t thread, uint32_t node, uint64_t ticks)
{
    (void)thread;
    count(builder, node, ticks, 0);
    const uint32_t stat = ((struct hotpath_node_ *)builder_at(builder, node))->stat;
    ((struct hotpath_stat_ *)builder_at(builder, stat))->missed++;
    builder_header(builder)->losses[HP_LOSS_BUCKETS]++;
}

void builder_open(struct session_builder *builder, uint32_t thread, uint32_t node, uint64_t start, uint64_t child)
{
    const struct hp_thread *record = builder_at(builder, thread);
    struct hotpath_frame_ *frames = builder_at(builder, record->frames);
    uint32_t depth = 1;
    while (frames[depth].zone != 0)
        depth++;
    assert(depth < FRAMES);
    struct hotpath_frame_ *frame = &frames[depth];
    frame->start = BUILDER_START + start;
    frame->child = child;
    frame->node = node;
    frame->stat = ((struct hotpath_node_ *)builder_at(builder, node))->stat;
    frame->zone = UINT64_C(0x7f0000000000) - depth * 64; /* stacks grow downwards */
}

/* -------------------------------------------------------------------------------- calls that are kept */

static uint32_t take_log(struct session_builder *builder, uint32_t records, uint32_t text_bytes, uint32_t flags)
{
    const uint32_t offset = take(builder, sizeof(struct hp_log) + (records + 1) * sizeof(struct hp_log_record), 64);
    *(struct hp_log *)builder_at(builder, offset) =
        (struct hp_log){.capacity = records + 1, .text_bytes = text_bytes, .flags = flags};
    return offset;
}

struct hp_log_record *builder_record(struct session_builder *builder, uint32_t log,
                                     const struct hp_log_record *record, const char *text)
{
    struct hp_log *to = builder_at(builder, log);
    const uint64_t place = to->count % to->capacity;
    if (text != NULL && to->texts == 0) {
        const uint32_t texts = take(builder, to->capacity * to->text_bytes, 8);
        to = builder_at(builder, log);
        to->texts = texts;
    }
    struct hp_log_record *at = &to->records[place];
    *at = *record;
    at->number = ++to->count;
    at->text_length = text != NULL ? (uint32_t)strlen(text) : 0;
    assert(at->text_length <= to->text_bytes);
    if (text != NULL)
        memcpy((char *)builder_at(builder, to->texts) + place * to->text_bytes, text, at->text_length);
    return at;
}

uint32_t builder_log(struct session_builder *builder, uint32_t thread, uint32_t site, uint32_t calls)
{
    const uint32_t offset = take_log(builder, calls, HP_LOG_TEXT, HP_LOG_CHOSEN);
    builder_stat(builder, thread, site)->log = offset;
    builder_header(builder)->features |= HP_FEATURE_CALLS | HP_FEATURE_LOGS;
    return offset;
}

static struct hotpath_stat_ *stat_of(struct session_builder *builder, uint32_t node)
{
    return builder_at(builder, ((struct hotpath_node_ *)builder_at(builder, node))->stat);
}

struct hp_log_record *builder_logged_call(struct session_builder *builder, uint32_t node, uint64_t start,
                                          uint64_t ticks, uint32_t tid, const char *note)
{
    return builder_record(builder, stat_of(builder, node)->log,
                          &(struct hp_log_record){.what = HP_RECORD_CALL,
                                                  .tick = BUILDER_START + start + ticks,
                                                  .ticks = ticks,
                                                  .node = node,
                                                  .tid = tid},
                          note);
}

uint32_t builder_slow_call(struct session_builder *builder, uint32_t node, uint64_t start, uint64_t ticks,
                           uint64_t self, uint32_t rows, uint32_t note_bytes)
{
    const size_t bytes = sizeof(struct hp_slow_call) + rows * sizeof(struct hp_slow_row) + note_bytes;
    const uint32_t offset = take(builder, bytes, 8);
    struct hp_slow_call *slow = builder_at(builder, offset);
    slow->call = (struct hp_call){.start = BUILDER_START + start, .ticks = ticks, .node = node, .tid = 4242};
    slow->self = self;
    struct hotpath_stat_ *stat = stat_of(builder, node);
    if (stat->slowest == 0)
        stat->slowest = take(builder, sizeof(struct hp_slowest), 8);
    struct hp_slowest *slowest = builder_at(builder, stat->slowest);
    const uint32_t place = ++slowest->number % 2;
    slowest->calls[place] = offset;
    slowest->bytes[place] = (uint32_t)bytes;
    return offset;
}

struct hp_slow_row *builder_slow_row(struct session_builder *builder, uint32_t slow, uint32_t node, uint64_t calls,
                                     uint64_t total, uint64_t self)
{
    struct hp_slow_call *call = builder_at(builder, slow);
    assert(call->note_bytes == 0);
    struct hp_slow_row *row = builder_rows(call) + call->row_count++;
    *row = (struct hp_slow_row){.node = node, .calls = calls, .total = total, .self = self};
    return row;
}

void builder_slow_note(struct session_builder *builder, uint32_t slow, struct hp_slow_row *row, const char *note)
{
    struct hp_slow_call *call = builder_at(builder, slow);
    const uint32_t length = (uint32_t)strlen(note), at = call->note_bytes;
    memcpy((char *)(builder_rows(call) + call->row_count) + at, note, length);
    call->note_bytes += length;
    *(row != NULL ? &row->note : &call->call.note) = at;
    *(row != NULL ? &row->note_length : &call->call.note_length) = length;
}

/* ------------------------------------------------------------------------------------------ allocations */

struct hp_alloc_thread *builder_alloc_thread(struct session_builder *builder, uint32_t thread)
{
    struct hp_thread *record = builder_at(builder, thread);
    if (record->alloc == 0) {
        record->alloc = take(builder, sizeof(struct hp_alloc_thread), 64);
        ((struct hp_alloc_thread *)builder_at(builder, record->alloc))->frames =
            take(builder, FRAMES * sizeof(struct hp_alloc_frame), 64);
        ((struct hotpath_frame_ *)builder_at(builder, record->frames))->stat |= HOTPATH_ALLOCATES_;
        builder_header(builder)->features |= HP_FEATURE_ALLOC;
    }
    return builder_at(builder, record->alloc);
}

struct hp_alloc_frame *builder_alloc_frame(struct session_builder *builder, uint32_t thread, uint32_t index)
{
    const struct hp_thread *record = builder_at(builder, thread);
    const struct hp_alloc_thread *alloc = builder_alloc_thread(builder, thread);
    assert(index < FRAMES);
    ((struct hotpath_frame_ *)builder_at(builder, record->frames))[index].stat |= HOTPATH_ALLOCATES_;
    return (struct hp_alloc_frame *)builder_at(builder, alloc->frames) + index;
}

struct hp_alloc_stat *builder_alloc_stat(struct session_builder *builder, uint32_t node)
{
    struct hotpath_stat_ *stat = stat_of(builder, node);
    if (stat->alloc == 0)
        stat->alloc = take(builder, sizeof(struct hp_alloc_stat), 64);
    builder_header(builder)->features |= HP_FEATURE_ALLOC;
    return builder_at(builder, stat->alloc);
}

void builder_alloc_call(struct session_builder *builder, uint32_t node, const struct builder_allocs *call)
{
    struct hp_alloc_stat *stat = builder_alloc_stat(builder, node);
    stat->calls++;
    stat->own_bytes += call->measures[HP_ALLOC_OWN_BYTES];
    stat->own_count += call->measures[HP_ALLOC_OWN_COUNT];
    if (!call->is_nested) {
        stat->all_bytes += call->measures[HP_ALLOC_ALL_BYTES];
        stat->all_count += call->measures[HP_ALLOC_ALL_COUNT];
        stat->net_bytes += call->net_bytes;
        stat->net_blocks += call->net_blocks;
    }
    for (size_t measure = 0; measure < HP_ALLOC_MEASURES; measure++) {
        const uint64_t value = call->measures[measure];
        ++*counter_of(builder, stat->octaves[measure], value);
        stat->max[measure] = value > stat->max[measure] ? value : stat->max[measure];
    }
}

static struct hp_paths *paths_of(struct session_builder *builder)
{
    struct hp_header *header = builder_header(builder);
    if (header->paths == 0) {
        const uint32_t offset = take(builder, sizeof(struct hp_paths), 64);
        ((struct hp_paths *)builder_at(builder, offset))->used = HP_PATH_WAKE_UP + 1;
        builder_header(builder)->paths = offset;
    }
    return builder_at(builder, builder_header(builder)->paths);
}

uint32_t builder_path_key(struct session_builder *builder, const struct hp_path_key *key)
{
    struct hp_paths *paths = paths_of(builder);
    assert(paths->used < HP_PATH_KEYS);
    paths->keys[paths->used] = *key;
    return paths->used++;
}

struct hp_path_thread *builder_path(struct session_builder *builder, uint32_t thread)
{
    paths_of(builder);
    const uint32_t offset = take(builder, sizeof(struct hp_path_thread), 64);
    struct hp_thread *record = builder_at(builder, thread);
    struct hp_path_thread *path = builder_at(builder, offset);
    record->path = offset;
    path->generation = record->generation;
    path->began = builder_header(builder)->clock_start.ticks;
    return path;
}

struct hp_pool *builder_pool(struct session_builder *builder, const char *name)
{
    const uint32_t text = builder_text(builder, name), offset = take(builder, sizeof(struct hp_pool), 64);
    struct hp_pool *pool = builder_at(builder, offset);
    pool->name = text;
    pool->next = builder_header(builder)->pools;
    builder_header(builder)->pools = offset;
    return pool;
}

static struct hp_kind_field field(struct session_builder *builder, const char *key, enum hp_merge merge)
{
    return (struct hp_kind_field){.key = builder_text(builder, key),
                                  .title = builder_text(builder, key),
                                  .unit = HOTPATH_UNIT_COUNT,
                                  .merge = merge};
}

/* As recorders describe it. */
static void describe_channel(struct session_builder *builder, struct hp_kind *kind)
{
    kind->flags |= HP_KIND_OWN_TABLE;
    kind->counter_count = HP_CHANNEL_CAPACITY + 1;
    kind->histogram_count = HP_CHANNEL_DELAYS + 1;
    for (uint32_t at = 0; at < kind->counter_count; at++)
        kind->counters[at] = field(builder, "counter", at < HP_CHANNEL_MOST_INSIDE ? HP_MERGE_SUM : HP_MERGE_MOST);
    kind->histograms[HP_CHANNEL_DELAYS] = field(builder, "delay", HP_MERGE_SUM);
}

static void describe_task(struct session_builder *builder, struct hp_kind *kind)
{
    kind->flags |= HP_KIND_OWN_TABLE;
    kind->counter_count = HP_TASK_MOST_OPEN + 1;
    kind->histogram_count = HP_TASK_WALLS + 1;
    for (uint32_t at = 0; at < kind->counter_count; at++)
        kind->counters[at] = field(builder, "counter", at < HP_TASK_MOST_OPEN ? HP_MERGE_SUM : HP_MERGE_MOST);
    kind->histograms[HP_TASK_WALLS] = field(builder, "wall", HP_MERGE_SUM);
}

static void describe_stream(struct session_builder *builder, struct hp_kind *kind)
{
    kind->flags |= HP_KIND_OWN_TABLE;
    kind->counter_count = HP_STREAM_CONSUMED_ITEMS + 1;
    kind->histogram_count = HP_STREAM_GAP_TIMES + 1;
    for (uint32_t at = 0; at < kind->counter_count; at++)
        kind->counters[at] = field(builder, "counter", HP_MERGE_SUM);
    kind->histograms[HP_STREAM_GAP_TIMES] = field(builder, "gap", HP_MERGE_SUM);
}

static uint32_t kind_named(struct session_builder *builder, const char *name)
{
    static const struct {
        const char *key;
        enum hp_merge merge;
    } counters[] = {{"updates", HP_MERGE_SUM}, {"numbers", HP_MERGE_SUM},  {"total", HP_MERGE_SUM},
                    {"min", HP_MERGE_LEAST},   {"max", HP_MERGE_MOST},     {"real_sum", HP_MERGE_NONE},
                    {"added", HP_MERGE_SUM},   {"newest", HP_MERGE_NEWEST}};
    for (uint32_t at = builder_header(builder)->kinds; at != 0;) {
        const struct hp_kind *kind = builder_at(builder, at);
        if (strcmp(((struct hp_string *)builder_at(builder, kind->name))->bytes, name) == 0)
            return at;
        at = kind->next;
    }
    const uint32_t offset = take(builder, sizeof(struct hp_kind), 64);
    struct hp_kind made = {.next = builder_header(builder)->kinds,
                           .name = builder_text(builder, name),
                           .title = builder_text(builder, name),
                           .flags = HP_KIND_BY_NAME,
                           .counter_count = 8,
                           .histogram_count = 2};
    if (strcmp(name, "value") == 0 || strcmp(name, "gauge") == 0 || strcmp(name, "count") == 0)
        made.flags |= HP_KIND_OWN_TABLE;
    for (size_t at = 0; at < made.counter_count; at++)
        made.counters[at] = field(builder, counters[at].key, counters[at].merge);
    made.histograms[0] = field(builder, "value", HP_MERGE_SUM);
    made.histograms[1] = field(builder, "negative", HP_MERGE_SUM);
    if (strcmp(name, "channel") == 0)
        describe_channel(builder, &made);
    if (strcmp(name, "task") == 0)
        describe_task(builder, &made);
    if (strcmp(name, "stream") == 0)
        describe_stream(builder, &made);
    *(struct hp_kind *)builder_at(builder, offset) = made;
    builder_header(builder)->kinds = offset;
    return offset;
}

uint32_t builder_object(struct session_builder *builder, const char *kind, const char *name, uint32_t line)
{
    const uint32_t of = kind_named(builder, kind), site = builder_site(builder, name, "src/values.c", line);
    const uint32_t offset = take(builder, sizeof(struct hp_object), 64);
    struct hp_object *object = builder_at(builder, offset);
    object->kind = of;
    object->site = site;
    object->state = HP_OBJECT_LIVE;
    object->next = builder_header(builder)->objects;
    builder_header(builder)->objects = offset;
    return offset;
}

uint32_t builder_part(struct session_builder *builder, uint32_t object, uint32_t thread)
{
    const uint32_t offset = take(builder, sizeof(struct hp_instance_part), 64);
    const uint32_t log = take_log(builder, 3, 48, 0);
    const uint32_t histograms[] = {take(builder, sizeof(struct hp_histogram), 64),
                                   take(builder, sizeof(struct hp_histogram), 64)};
    struct hp_object *of = builder_at(builder, object);
    *(struct hp_part *)builder_at(builder, offset) = (struct hp_part){.object = object,
                                                                      .sibling = of->parts,
                                                                      .thread = thread,
                                                                      .type = HP_VALUE_SIGNED,
                                                                      .histograms = {histograms[0], histograms[1]},
                                                                      .log = log};
    of->parts = offset;
    return offset;
}

void builder_open_task(struct session_builder *builder, uint32_t object, uint32_t thread, uint64_t born)
{
    const uint32_t offset = take(builder, sizeof(struct hp_task_chunk), 64);
    struct hp_task_chunk *chunk = builder_at(builder, offset);
    chunk->next = builder_header(builder)->tasks;
    chunk->slots[0] = (struct hp_task_slot){.self = offset + (uint32_t)offsetof(struct hp_task_chunk, slots),
                                            .generation = 1,
                                            .object = object,
                                            .number = 1,
                                            .born = BUILDER_START + born,
                                            .thread = thread};
    builder_header(builder)->tasks = offset;
}

static void remember(struct session_builder *builder, struct hp_part *part, const struct hp_log_record *value,
                     const char *text)
{
    builder_record(builder, part->log, value, text);
    part->count[HP_VALUE_UPDATES]++;
    part->last_tick = value->tick;
    if (part->first_tick == 0)
        part->first_tick = value->tick;
}

static void distribute(struct session_builder *builder, uint32_t histogram, uint64_t magnitude)
{
    struct hp_histogram *to = builder_at(builder, histogram);
    uint32_t exponent = 0;
    while (magnitude >> exponent > 1)
        exponent++;
    if (magnitude == 0) {
        to->zeros++;
        return;
    }
    uint32_t *octave = &to->octaves[HP_MAGNITUDE_ONE + exponent];
    if (*octave == 0)
        *octave = take(builder, HP_MAGNITUDE_STEPS * sizeof(uint64_t), 64);
    const uint64_t step = exponent < 6 ? magnitude << (6 - exponent) : magnitude >> (exponent - 6);
    ((uint64_t *)builder_at(builder, *octave))[step % HP_MAGNITUDE_STEPS]++;
}

void builder_update(struct session_builder *builder, uint32_t part, uint64_t tick, int64_t value)
{
    struct hp_part *to = builder_at(builder, part);
    uint64_t *count = to->count;
    const bool is_first = count[HP_VALUE_NUMBERS] == 0;
    double sum;
    memcpy(&sum, &count[HP_VALUE_REAL_SUM], sizeof sum);
    sum += (double)value;
    memcpy(&count[HP_VALUE_REAL_SUM], &sum, sizeof sum);
    count[HP_VALUE_SUM] += (uint64_t)value;
    if (is_first || value < (int64_t)count[HP_VALUE_LEAST])
        count[HP_VALUE_LEAST] = (uint64_t)value;
    if (is_first || value > (int64_t)count[HP_VALUE_MOST])
        count[HP_VALUE_MOST] = (uint64_t)value;
    count[HP_VALUE_NUMBERS]++;
    distribute(builder, to->histograms[value < 0], value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
    remember(
        builder, to,
        &(struct hp_log_record){
            .what = HP_RECORD_VALUE, .tick = BUILDER_START + tick, .id = (uint64_t)value, .type = HP_VALUE_SIGNED},
        NULL);
}

void builder_update_text(struct session_builder *builder, uint32_t part, uint64_t tick, const char *text)
{
    struct hp_part *to = builder_at(builder, part);
    remember(builder, to,
             &(struct hp_log_record){
                 .what = HP_RECORD_VALUE, .tick = BUILDER_START + tick, .id = strlen(text), .type = HP_VALUE_TEXT},
             text);
}

struct hp_cpu_thread *builder_cpu_thread(struct session_builder *builder, uint32_t thread, uint32_t places)
{
    struct hp_thread *record = builder_at(builder, thread);
    record->cpu = take(builder, sizeof(struct hp_cpu_thread), 64);
    struct hp_cpu_thread *cpu = builder_at(builder, record->cpu);
    cpu->table = take(builder, sizeof(struct hp_cpu_table) + places * sizeof(struct hp_cpu_node), 64);
    ((struct hp_cpu_table *)builder_at(builder, cpu->table))->capacity = places;
    builder_header(builder)->features |= HP_FEATURE_CPU;
    builder_header(builder)->cpu_engine = HP_CPU_PERF;
    builder_header(builder)->cpu_rate = 997;
    return cpu;
}

struct hp_cpu_node *builder_cpu(struct session_builder *builder, uint32_t thread, uint32_t node, uint64_t samples,
                                uint64_t user_ns, uint64_t kernel_ns)
{
    if (((struct hp_thread *)builder_at(builder, thread))->cpu == 0)
        builder_cpu_thread(builder, thread, 64);
    const struct hp_thread *record = builder_at(builder, thread);
    struct hp_cpu_thread *cpu = builder_at(builder, record->cpu);
    struct hp_cpu_table *table = builder_at(builder, cpu->table);
    struct hp_cpu_node *nodes = (struct hp_cpu_node *)(void *)(table + 1);
    uint32_t at = 0;
    while (at < table->capacity && nodes[at].node != 0)
        at++;
    assert(at < table->capacity);
    nodes[at] = (struct hp_cpu_node){.node = node, .samples = samples, .user_ns = user_ns, .kernel_ns = kernel_ns};
    table->used++;
    cpu->user_ns += user_ns;
    cpu->kernel_ns += kernel_ns;
    cpu->samples += samples;
    cpu->last_node = node;
    builder_header(builder)->cpu_latest_ns += user_ns + kernel_ns;
    builder_header(builder)->cpu_latest_kernel_ns += kernel_ns;
    return &nodes[at];
}

uint32_t builder_samples(struct session_builder *builder, uint32_t capacity, uint32_t used, uint64_t first,
                         uint32_t node)
{
    const uint32_t offset = take(builder, sizeof(struct hp_sample_chunk) + capacity * sizeof(struct hp_sample), 64);
    struct hp_sample_chunk *chunk = builder_at(builder, offset);
    chunk->next = offset;
    chunk->capacity = capacity;
    chunk->used = used;
    chunk->first = first;
    for (uint32_t at = 0; at < used; at++)
        chunk->samples[at] = (struct hp_sample){
            .ticks = BUILDER_START + first + at, .node = node, .tid = 4242, .kind = HP_SAMPLE_PERF};
    return offset;
}

struct hp_waits *builder_waits(struct session_builder *builder, uint32_t capacity)
{
    const size_t size = sizeof(struct hp_waits) + capacity * sizeof(struct hp_wait);
    const uint32_t offset = take(builder, size, 64);
    struct hp_waits *waits = builder_at(builder, offset);
    waits->capacity = capacity;
    waits->watcher = 4242;
    builder_header(builder)->waits = offset;
    return waits;
}

struct hp_wait *builder_wait(struct session_builder *builder, uint32_t node, uint32_t cause, int32_t call,
                             const char *what, uint64_t ns)
{
    struct hp_waits *waits = builder_at(builder, builder_header(builder)->waits);
    assert(waits->used < waits->capacity);
    struct hp_wait *wait = (struct hp_wait *)(void *)(waits + 1) + waits->used++;
    *wait = (struct hp_wait){.node = node, .cause = cause, .call = call, .probes = 1, .ns = ns};
    memcpy(wait->what, what, strnlen(what, sizeof wait->what));
    return wait;
}

struct hp_thread_usage *builder_thread_usage(struct session_builder *builder, uint32_t capacity)
{
    const uint32_t offset =
        take(builder, sizeof(struct hp_thread_usage) + capacity * sizeof(struct hp_thread_usage_row), 64);
    struct hp_thread_usage *usage = builder_at(builder, offset);
    usage->capacity = capacity;
    usage->samples = 1;
    builder_header(builder)->thread_usage = offset;
    return usage;
}

struct hp_thread_usage_row *builder_thread_usage_row(struct session_builder *builder, const char *name,
                                                     uint32_t tid)
{
    struct hp_thread_usage *usage = builder_at(builder, builder_header(builder)->thread_usage);
    assert(usage->used < usage->capacity);
    struct hp_thread_usage_row *row = (struct hp_thread_usage_row *)(void *)(usage + 1) + usage->used++;
    *row = (struct hp_thread_usage_row){.tid = tid, .threads = 1, .living = 1, .state = 'S'};
    memcpy(row->name, name, strnlen(name, sizeof row->name));
    return row;
}
