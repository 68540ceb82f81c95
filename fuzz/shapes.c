/* The sessions that fuzzing starts from. SPDX-License-Identifier: MIT */
#include "shapes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "object_layout.h"
#include "task_layout.h"

#define LARGEST_SHAPE (64u << 10)
#define LARGEST_NAMED (256u << 10)
#define MOST_CHANGES 16u

void fuzz_shape_begin(struct session_builder *builder)
{
    builder_init(builder, LARGEST_SHAPE);
    builder->sites_per_chunk = 8;
}

static void build_tree(struct session_builder *builder)
{
    const uint32_t main_site = builder_site(builder, "main", "src/main.c", 3);
    const uint32_t parse = builder_site(builder, "parse", "src/parse.c", 12);
    const uint32_t lex = builder_site(builder, "parse", "src/lexer.c", 99);
    builder_header(builder)->main_site = main_site;
    for (unsigned threads = 0; threads < 2; threads++) {
        const uint32_t thread = builder_thread(builder);
        const uint32_t root = builder_node(builder, thread, 0, main_site);
        const uint32_t child = builder_node(builder, thread, root, parse);
        const uint32_t leaf = builder_node(builder, thread, child, lex);
        for (uint64_t ticks = 5; ticks < 3000; ticks *= 7) {
            builder_call(builder, thread, root, ticks * 3, ticks);
            builder_call(builder, thread, child, ticks, ticks / 2);
            builder_nested_call(builder, thread, leaf, ticks / 2, 0);
        }
    }
}

static void build_open(struct session_builder *builder)
{
    const uint32_t thread = builder_thread(builder);
    const uint32_t outer = builder_node(builder, thread, 0, builder_site(builder, "größe", "a.c", 1));
    const uint32_t inner = builder_node(builder, thread, outer, builder_site(builder, "解析", "a.c", 2));
    builder_header(builder)->state = HP_STATE_LIVE;
    builder_abandoned_call(builder, inner);
    builder_missed_call(builder, thread, inner, 77);
    builder_open(builder, thread, outer, 100, 20);
    builder_open(builder, thread, inner, 200, 0);
    builder_open(builder, thread, outer, 300, 0);
    builder_call(builder, thread, builder_node(builder, thread, 0, HP_SITE_OTHER), 40, 0);
    builder_header(builder)->metadata = builder_text(builder, "branch=main,rev=1");
    builder_header(builder)->label = builder_text(builder, "nightly");
    builder_header(builder)->zone_cost_ps = 40000;
    builder_header(builder)->zone_inner_ps = 20000;
    builder_elapse(builder, 100000, 0.5);
}

/* The latest calls on two threads, one with a wrapped log, and slowest calls with rows and notes. */
static void build_kept(struct session_builder *builder)
{
    const uint32_t parse = builder_site(builder, "parse", "src/parse.c", 12);
    const uint32_t lex = builder_site(builder, "lex", "src/lexer.c", 99);
    const uint32_t eval = builder_site(builder, "eval", "src/eval.c", 5);
    for (uint32_t threads = 0; threads < 2; threads++) {
        const uint32_t thread = builder_thread(builder);
        const uint32_t node = builder_node(builder, thread, 0, parse);
        const uint32_t inner = builder_node(builder, thread, node, lex);
        const uint32_t innermost = builder_node(builder, thread, inner, eval);
        strcpy(((struct hp_thread *)builder_at(builder, thread))->name, threads ? "worker" : "demo");
        builder_call(builder, thread, node, 4000 + threads, 3000);
        builder_call(builder, thread, inner, 3000, 500);
        builder_call(builder, thread, innermost, 500, 0);
        builder_log(builder, thread, parse, 4 - threads);
        for (uint64_t call = 0; call < 4; call++)
            builder_logged_call(builder, node, 5000 * call, 100 + call, 4242 + threads,
                                call % 2 ? "rows=12" : NULL);
        builder_slow_call(builder, node, 100, 900, 900, 0, 0);
        const uint32_t slow = builder_slow_call(builder, node, 10000, 4000 + threads, 1000, 2, 16);
        struct hp_slow_row *row = builder_slow_row(builder, slow, inner, 3, 3000, 2500);
        builder_slow_row(builder, slow, innermost, 2, 500, 500);
        builder_slow_note(builder, slow, row, "id=\x1b[7m");
        builder_slow_note(builder, slow, NULL, "größe");
        ((struct hp_slow_call *)builder_at(builder, slow))->rows_left_out = 3;
        builder_slow_call(builder, inner, 10, 2000, 2000, 0, 0);
    }
}

/* A thread of two nested nodes, and a call of the inner one. */
struct parser {
    uint32_t thread, node, inner;
};

struct parser_sites {
    uint32_t parse, lex;
};

static struct parser_sites add_parser_sites(struct session_builder *builder)
{
    return (struct parser_sites){.parse = builder_site(builder, "parse", "src/parse.c", 12),
                                 .lex = builder_site(builder, "lex", "src/lexer.c", 99)};
}

static struct parser add_parser(struct session_builder *builder, const struct parser_sites *sites)
{
    struct parser parser = {.thread = builder_thread(builder)};
    parser.node = builder_node(builder, parser.thread, 0, sites->parse);
    parser.inner = builder_node(builder, parser.thread, parser.node, sites->lex);
    builder_call(builder, parser.thread, parser.inner, 500, 0);
    return parser;
}

/* Ended and open zones that allocate, a recursion, a thread that frees what another has allocated, pools. */
static void build_allocations(struct session_builder *builder)
{
    const struct parser_sites sites = add_parser_sites(builder);
    for (int64_t threads = 0; threads < 2; threads++) {
        const struct parser parser = add_parser(builder, &sites);
        const uint32_t thread = parser.thread, node = parser.node, inner = parser.inner;
        builder_nested_call(builder, thread, inner, 200, 0);
        for (int nested = 0; nested < 2; nested++) {
            const struct builder_allocs allocs = {
                .measures = {60, 2, 3000, 20, 2048, 9}, .net_bytes = 64, .net_blocks = 1, .is_nested = nested};
            builder_alloc_call(builder, inner, &allocs);
        }
        builder_open(builder, thread, node, 100, 500);
        builder_open(builder, thread, inner, 700, 0);
        struct hp_alloc_thread *alloc = builder_alloc_thread(builder, thread);
        *alloc = (struct hp_alloc_thread){.count = 90,
                                          .bytes = 9000,
                                          .usable = threads ? 7700 : 9200,
                                          .freed_count = threads ? 97 : 82,
                                          .peak_live = 900,
                                          .peak_blocks = 9,
                                          .freed = 8400,
                                          .foreign_count = threads ? 5 : 0,
                                          .foreign_bytes = threads ? 500 : 0,
                                          .frames = alloc->frames};
        *builder_alloc_frame(builder, thread, 0) = (struct hp_alloc_frame){.inner_count = 20, .inner_bytes = 3000};
        *builder_alloc_frame(builder, thread, 1) = (struct hp_alloc_frame){
            .count = 30, .bytes = 3500, .live = 100, .peak_live = 1000, .inner_count = 10, .inner_bytes = 100};
        *builder_alloc_frame(builder, thread, 2) = (struct hp_alloc_frame){.count = 80, .bytes = 8000, .live = 400};
    }
    struct hp_header *header = builder_header(builder);
    header->state = HP_STATE_LIVE;
    header->late_count = 3;
    header->late_bytes = 100;
    header->late_usable = 120;
    header->alloc_peak = 5000;
    builder_pool(builder, "arena")->bytes = 4000;
    builder_pool(builder, "größe")->live = -5;
    builder_pool(builder, "arena")->peak_live = 12;
}

/* A channel with an instance, between two threads, one of which waits, with items inside and delays. */
static void build_channels(struct session_builder *builder)
{
    const struct parser_sites sites = add_parser_sites(builder);
    const uint32_t class_ = builder_object(builder, "channel", "jobs", 7);
    const uint32_t instance = builder_object(builder, "channel", "jobs", 7);
    struct hp_object *one = builder_at(builder, instance), *all = builder_at(builder, class_);
    one->class_ = class_;
    one->key = 0x7f0000001000;
    one->generation = 1;
    all->instances = 2;
    all->ended_count = 1;
    for (uint64_t at = 0; at < 4; at++) {
        const struct parser parser = add_parser(builder, &sites);
        const uint32_t offset = builder_part(builder, at < 2 ? instance : class_, parser.thread);
        struct hp_instance_part *its = builder_at(builder, offset);
        struct hp_part *part = &its->part;
        part->generation = at == 1 || at > 2 ? 0 : 1;
        part->node = parser.node;
        part->first_tick = BUILDER_START + 10 * at;
        part->last_tick = BUILDER_START + 100 * (at + 1);
        part->count[at % 2 == 0 ? HP_CHANNEL_SENT : HP_CHANNEL_RECEIVED] = 9 - at;
        part->count[at % 2 == 0 ? HP_CHANNEL_IN_TICKS : HP_CHANNEL_OUT_TICKS] = (9 - at) * part->last_tick;
        part->count[HP_CHANNEL_FULL] = 30 * at;
        part->count[HP_CHANNEL_CAPACITY] = 8;
        part->last = at == 2 ? BUILDER_START + 50 : 0;
        part->flags = HP_CHANNEL_FULL;
        if (at < 2)
            its->base[HP_CHANNEL_SENT] = at;
    }
}

/*
 * A stream with an instance that was on two threads, one with a previous instance's numbers before its own; and
 * texts.
 */
static void build_streams(struct session_builder *builder)
{
    const struct parser_sites sites = add_parser_sites(builder);
    const uint32_t class_ = builder_object(builder, "stream", "lines", 9);
    const uint32_t instance = builder_object(builder, "stream", "lines", 9);
    struct hp_object *one = builder_at(builder, instance), *all = builder_at(builder, class_);
    one->class_ = class_;
    one->key = 0x7f0000002000;
    one->generation = 1;
    one->born = BUILDER_START;
    one->shared[HP_STREAM_LATEST] = one->shared[HP_STREAM_HANDED] = BUILDER_START + 300;
    all->instances = 2;
    all->ended_count = 1;
    for (uint64_t at = 0; at < 3; at++) {
        const struct parser parser = add_parser(builder, &sites);
        const uint32_t offset = builder_part(builder, at < 2 ? instance : class_, parser.thread);
        if (at == 2)
            builder_update_text(builder, offset, 40, "a line");
        struct hp_instance_part *its = builder_at(builder, offset);
        struct hp_part *part = &its->part;
        part->generation = at < 2;
        part->node = parser.node;
        part->first_tick = BUILDER_START + 10 * at;
        part->last_tick = BUILDER_START + 100 * (at + 1);
        part->count[HP_STREAM_ITEMS] = 9 - at;
        part->count[HP_STREAM_BYTES] = 90;
        part->count[HP_STREAM_GAPS] = 8 - at;
        part->count[HP_STREAM_GAP] = 80;
        part->count[HP_STREAM_PRODUCED] = 50;
        part->count[HP_STREAM_CONSUMED] = 30;
        part->count[HP_STREAM_CONSUMED_ITEMS] = 8 - at;
        if (at == 1)
            its->base[HP_STREAM_ITEMS] = 3;
    }
}

/*
 * Tasks of one label that wait for those of another, one of them open, and a recorded slowest poll with its
 * contents.
 */
static void build_tasks(struct session_builder *builder)
{
    const struct parser_sites sites = add_parser_sites(builder);
    const struct parser parser = add_parser(builder, &sites);
    const uint32_t load = builder_object(builder, "task", "load", 11);
    const uint32_t read = builder_object(builder, "task", "read", 12);
    const uint32_t await = builder_object(builder, "await", "read", 12);
    const uint32_t instance = builder_object(builder, "await", "read", 12);
    const struct hp_object *waiter = builder_at(builder, load);
    struct hp_object *one = builder_at(builder, instance);
    one->class_ = await;
    one->key = (uint64_t)waiter->site + 1;
    const uint32_t polls = builder_node(builder, parser.thread, 0, waiter->site);
    const uint32_t inside = builder_node(builder, parser.thread, polls, sites.lex);
    builder_call(builder, parser.thread, polls, 100, 60);
    builder_call(builder, parser.thread, inside, 60, 0);
    const uint32_t slow = builder_slow_call(builder, polls, 10, 100, 40, 1, 0);
    builder_slow_row(builder, slow, inside, 1, 60, 60);
    for (uint32_t at = 0; at < 2; at++) {
        struct hp_part *part = builder_at(builder, builder_part(builder, at == 0 ? load : read, parser.thread));
        part->count[HP_TASK_CREATED] = 3;
        part->count[HP_TASK_READY] = 2;
        part->count[HP_TASK_LONG_POLLS] = 1;
        part->count[HP_TASK_BORN_TICKS] = 3 * (BUILDER_START + 10);
        part->count[HP_TASK_ENDED_TICKS] = 2 * (BUILDER_START + 400);
    }
    struct hp_part *part = builder_at(builder, builder_part(builder, instance, parser.thread));
    part->count[HP_AWAIT_COUNT] = 2;
    part->count[HP_AWAIT_TICKS] = 300;
    builder_open_task(builder, load, parser.thread, 10);
}

/* Values on two threads, texts, a gauge, an unknown kind, and an instance of it. */
static void build_values(struct session_builder *builder)
{
    const uint32_t threads[] = {builder_thread(builder), builder_thread(builder)};
    const uint32_t size = builder_object(builder, "value", "size", 3);
    const uint32_t level = builder_object(builder, "gauge", "größe", 4);
    const uint32_t queue = builder_object(builder, "widget", "queue", 5);
    const uint32_t instance = builder_object(builder, "widget", "queue", 5);
    struct hp_object *one = builder_at(builder, instance);
    one->class_ = queue;
    one->key = 0x1000;
    for (size_t at = 0; at < 2; at++) {
        const uint32_t part = builder_part(builder, size, threads[at]);
        for (int64_t value = -3; value < 200; value += 40)
            builder_update(builder, part, 10 + (uint64_t)(value + 3), value);
        builder_update_text(builder, part, 900, at == 0 ? "connecting" : "\xff\xfe");
        builder_update(builder, builder_part(builder, at == 0 ? queue : instance, threads[at]), 50, 7);
    }
    const uint32_t part = builder_part(builder, level, threads[0]);
    builder_update(builder, part, 70, 12);
    struct hp_part *gauge = builder_at(builder, part);
    gauge->count[HP_VALUE_SET_TICK] = BUILDER_START + 70;
    gauge->count[HP_VALUE_SET] = 12;
    gauge->flags = HP_PART_SAMPLED;
}

/* Credited and waiting time, a recursion folded out of the tree, a wrapped ring of samples. */
static void build_processor_time(struct session_builder *builder)
{
    const struct parser_sites sites = add_parser_sites(builder);
    for (uint32_t threads = 0; threads < 2; threads++) {
        const struct parser parser = add_parser(builder, &sites);
        const uint32_t thread = parser.thread, node = parser.node, inner = parser.inner;
        builder_call(builder, thread, node, 900, 500);
        struct hp_cpu_thread *cpu = builder_cpu_thread(builder, thread, 8);
        builder_cpu(builder, thread, ((struct hp_thread *)builder_at(builder, thread))->root, 1, 10, 0);
        builder_cpu(builder, thread, inner, 3, 400, 20 + threads);
        struct hp_cpu_node *folded = builder_cpu(builder, thread, node, 2, 300, 0);
        folded->also_samples = 1;
        folded->also_ns = 100;
        cpu->waiting_ns = 7;
        cpu->skipped_ns = 50;
        cpu->skipped_kernel_ns = 5;
        const uint32_t older = builder_samples(builder, 4, 4, 4, node);
        const uint32_t newer = builder_samples(builder, 4, 3, 8, inner);
        ((struct hp_sample_chunk *)builder_at(builder, older))->next = newer;
        ((struct hp_sample_chunk *)builder_at(builder, newer))->next = older;
        cpu->chunk = newer;
        cpu->chunk_count = 2;
        cpu->recorded = 11;
    }
    builder_header(builder)->cpu_refusal = 13;
}

/* Waits in zones and outside, an unterminated name, and invalid entries. */
static void build_waits(struct session_builder *builder)
{
    const uint32_t thread = builder_thread(builder);
    const uint32_t node = builder_node(builder, thread, 0, builder_site(builder, "parse", "src/parse.c", 12));
    const uint32_t root = ((struct hp_thread *)builder_at(builder, thread))->root;
    builder_call(builder, thread, node, 500, 0);
    struct hp_waits *waits = builder_waits(builder, 8);
    waits->watched_ns = 9000;
    waits->probes = 40;
    waits->left_out_ns = 3;
    waits->watcher_ns = 100;
    waits->period_us = 10000;
    builder_wait(builder, node, HP_WAIT_DISK, 0, "/data/größe", 4000);
    builder_wait(builder, node, HP_WAIT_DISK, 0, "/data/other", 100);
    builder_wait(builder, node, HP_WAIT_RUN_QUEUE, -1, "", 50);
    builder_wait(builder, root, HP_WAIT_SOCKET, 1, "tcp 127.0.0.1:6379", 70);
    builder_wait(builder, 0, HP_WAIT_OTHER, -1, "do_wait", 7);
    memset(builder_wait(builder, 4104, 77, 99999, "", 1)->what, 0xff, sizeof((struct hp_wait *)0)->what);
}

/* Threads that live, have ended, share a row; an unterminated name, invalid records. */
static void build_thread_usage(struct session_builder *builder)
{
    const uint32_t thread = builder_thread(builder);
    struct hp_thread *record = builder_at(builder, thread);
    builder_header(builder)->state = HP_STATE_LIVE;
    builder_header(builder)->cpu_latest_ns = 90000000;
    record->state = HP_THREAD_LIVE;
    record->tid = 4242;
    record->generation = 2;
    record->life = (struct hp_thread_life){.ended_generation = 1, .user_ns = 900, .bytes_before = 10};
    builder_alloc_thread(builder, thread)->bytes = 100;
    builder_thread_usage(builder, 8)->rss_bytes = 5u << 20;
    struct hp_thread_usage_row *row = builder_thread_usage_row(builder, "main", 4242);
    row->record = thread;
    row->generation = 2;
    row->user_ns = 5000;
    row->lived_ns = 9000;
    row->now_permille = 500;
    *builder_thread_usage_row(builder, "worker", 4250) =
        (struct hp_thread_usage_row){.tid = 4250, .threads = 9, .user_ns = 70};
    memset(builder_thread_usage_row(builder, "", 1)->name, 0xff, sizeof row->name);
    builder_thread_usage_row(builder, "gone", 2)->threads = 0;
    row = builder_thread_usage_row(builder, "lost", 3);
    row->record = 4104;
    row->generation = UINT32_MAX;
}

static void build_empty(struct session_builder *builder) { (void)builder; }

const struct fuzz_shape fuzz_shapes[] = {
    {"tree", build_tree},
    {"kept-calls", build_kept},
    {"allocations", build_allocations},
    {"processor-time", build_processor_time},
    {"waits", build_waits},
    {"usage", build_thread_usage},
    {"open-zones", build_open},
    {"empty-session", build_empty},
    {"values", build_values},
    {"channels", build_channels},
    {"streams", build_streams},
    {"tasks", build_tasks},
};
const size_t fuzz_shape_count = sizeof fuzz_shapes / sizeof fuzz_shapes[0];

/* ---------------------------------------------------------------------------------------- arbitrary names */

#define MOST_NAMES 6u

static uint32_t take_text(struct session_builder *builder, struct fuzz_input *input)
{
    static char text[4096];
    fuzz_text(input, text, sizeof text);
    return builder_text(builder, text);
}

static uint32_t take_site(struct session_builder *builder, struct fuzz_input *input)
{
    static char name[4096], file[256];
    fuzz_text(input, name, sizeof name);
    fuzz_text(input, file, sizeof file);
    return builder_site(builder, name, file, (uint32_t)fuzz_number(input, 2));
}

/* A call for everything that a row can be about, some with notes, some open. */
static void add_calls(struct session_builder *builder, struct fuzz_input *input, uint32_t thread, uint32_t node)
{
    char note[HP_NOTE_BYTES + 1];
    const uint64_t ticks = 1 + fuzz_number(input, 1) * (UINT64_C(1) << fuzz_byte(input) % 48);
    const uint8_t what = fuzz_byte(input);
    builder_call(builder, thread, node, ticks, ticks / 3);
    builder_cpu(builder, thread, node, what, ticks / 2, what);
    fuzz_text(input, note, sizeof note);
    if (what & 1)
        builder_slow_call(builder, node, 10, ticks, ticks / 2, 0, HP_NOTE_BYTES);
    if (what & 2) {
        builder_log(builder, thread, ((struct hotpath_node_ *)builder_at(builder, node))->site, 2);
        builder_logged_call(builder, node, 20, ticks, 4242, note[0] != '\0' ? note : NULL);
    }
    if (what & 4)
        builder_open(builder, thread, node, 100, 0);
    if (what & 8)
        builder_wait(builder, node, what % HP_WAIT_CAUSES, -1, note, ticks);
}

void fuzz_shape_named(struct session_builder *builder, struct fuzz_input *input)
{
    builder_init(builder, LARGEST_NAMED);
    builder->sites_per_chunk = MOST_NAMES;
    struct hp_header *header = builder_header(builder);
    const uint32_t thread = builder_thread(builder);
    struct hp_thread *record = builder_at(builder, thread);
    const unsigned names = 1 + fuzz_byte(input) % MOST_NAMES;
    uint32_t parent = 0;
    header->state = fuzz_byte(input) & 1 ? HP_STATE_LIVE : HP_STATE_FINISHED;
    header->losses[HP_LOSS_ZONES] = fuzz_byte(input);
    header->label = take_text(builder, input);
    header->metadata = take_text(builder, input);
    fuzz_bytes(input, record->name, sizeof record->name);
    builder_waits(builder, MOST_NAMES);
    builder_thread_usage(builder, 1);
    fuzz_bytes(input, builder_thread_usage_row(builder, "", 4242)->name, sizeof record->name);
    for (unsigned at = 0; at < names; at++) {
        const uint32_t node = builder_node(builder, thread, parent, take_site(builder, input));
        add_calls(builder, input, thread, node);
        parent = fuzz_byte(input) & 1 ? node : 0;
    }
}

/* ---------------------------------------------------------------------------------------- arbitrary changes */

static const struct session_builder *built(size_t number)
{
    static struct session_builder shapes[sizeof fuzz_shapes / sizeof fuzz_shapes[0]];
    struct session_builder *shape = &shapes[number];
    if (shape->bytes == NULL) {
        fuzz_shape_begin(shape);
        fuzz_shapes[number].build(shape);
    }
    return shape;
}

/* What a number in a session may become: an arbitrary one, or a meaningful one. */
static uint64_t changed(const struct fuzz_session *session, struct fuzz_input *input, uint64_t old)
{
    switch (fuzz_byte(input) % 8) {
    case 0:
        return fuzz_byte(input);
    case 1:
        return fuzz_number(input, 4);
    case 2:
        return fuzz_number(input, 8);
    case 3:
        return old + fuzz_byte(input) - 128;
    case 4:
        return session->size - fuzz_byte(input);
    case 5:
        return HP_HEADER_BYTES + 8 * fuzz_number(input, 2) % session->size;
    case 6:
        return UINT64_MAX >> fuzz_byte(input) % 64;
    default:
        return old ^ UINT64_C(1) << fuzz_byte(input) % 64;
    }
}

void fuzz_session_change(struct fuzz_session *session, struct fuzz_input *input)
{
    const size_t place = (size_t)fuzz_number(input, 2);
    const size_t bytes = place & 1 ? 8 : 4;
    const size_t offset = place / 2 * 4 % (session->size - 4) & ~(bytes - 1);
    uint64_t value = 0;
    memcpy(&value, session->bytes + offset, bytes);
    value = changed(session, input, value);
    memcpy(session->bytes + offset, &value, bytes);
}

struct fuzz_session fuzz_session_take(struct fuzz_input *input)
{
    const struct session_builder *shape = built(fuzz_byte(input) % fuzz_shape_count);
    struct fuzz_session session = {malloc(builder_size(shape)), builder_size(shape)};
    assert(session.bytes != NULL);
    memcpy(session.bytes, shape->bytes, session.size);
    for (unsigned left = fuzz_byte(input) % MOST_CHANGES; left > 0; left--)
        fuzz_session_change(&session, input);
    return session;
}

void fuzz_session_free(struct fuzz_session *session)
{
    free(session->bytes);
    session->bytes = NULL;
}
