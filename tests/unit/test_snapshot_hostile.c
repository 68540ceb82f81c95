/* Reading a session safely, with any content. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report.h"
#include "sanitizer.h"
#include "snapshot_fixture.h"

/* Sanitizers and valgrind take their time, and ThreadSanitizer has nothing to find here. */
#define ROUNDS (HP_THREAD_SANITIZER ? 100u : HP_ADDRESS_SANITIZER ? 1000u : 3000u)

/* A tenth will do for every day. */
static uint32_t rounds(void)
{
    const char *preloaded = getenv("LD_PRELOAD");
    if (getenv("HOTPATH_TEST_LONG") == NULL)
        return ROUNDS / 10;
    return preloaded != NULL && strstr(preloaded, "/vgpreload_") != NULL ? 100 : ROUNDS;
}

static bool swallow(void *context, const char *bytes, size_t length)
{
    (void)bytes;
    *(size_t *)context += length;
    return true;
}

/* Everything that reads a session, over bytes that may be anything. */
static void read_all(const unsigned char *bytes, size_t size)
{
    static struct hp_settings settings;
    const struct hp_snapshot *const session = &snapshot;
    const struct hp_snapshots sessions = {.all = &session, .count = 1};
    size_t written = 0;
    const struct hp_report_target target = {.sink = swallow, .context = &written, .width = 80, .color = true};
    memset(&settings, 0, sizeof settings);
    strcpy(settings.show.report, "all");
    strcpy(settings.show.columns, "all");
    settings.show.percentiles[0] = 50;
    settings.show.percentiles[1] = 99.9;
    settings.show.percentile_count = 2;
    strcpy(settings.show.slowest, "/./");
    settings.show.functions_limit = settings.show.calltree_limit = HOTPATH_NO_LIMIT;
    if (hp_snapshot_open(&snapshot, bytes, size, NULL) != NULL)
        return;
    assert_int_equal(hp_report_render(&sessions, &settings, &target), HOTPATH_OK);
    settings.output.format = HP_FORMAT_JSON_PRETTY;
    settings.show.by = HP_BY_THREAD;
    strcpy(settings.show.sort, "-thread");
    assert_int_equal(hp_report_render(&sessions, &settings, &target), HOTPATH_OK);
    assert_true(written > 0);
}

static void build_busy_session(void)
{
    const uint32_t main_site = builder_site(&builder, "main", "main.c", 3);
    const uint32_t parse = builder_site(&builder, "parse", "parse.c", 12);
    const uint32_t again = builder_site(&builder, "parse", "lexer.c", 99);
    builder_header(&builder)->main_site = main_site;
    for (unsigned count = 0; count < 3; count++) {
        const uint32_t thread = builder_thread(&builder);
        const uint32_t root = builder_node(&builder, thread, 0, main_site);
        const uint32_t child = builder_node(&builder, thread, root, parse);
        const uint32_t grandchild = builder_node(&builder, thread, child, again);
        const uint32_t other = builder_node(&builder, thread, 0, HP_SITE_OTHER);
        for (uint64_t ticks = 1; ticks < 200000; ticks = ticks * 3 + 1) {
            builder_call(&builder, thread, root, ticks * 3, ticks);
            builder_call(&builder, thread, child, ticks, ticks / 2);
            builder_nested_call(&builder, thread, grandchild, ticks / 2, 0);
            builder_call(&builder, thread, other, ticks, 0);
        }
        builder_log(&builder, thread, parse, 3);
        for (uint64_t start = 0; start < 5; start++)
            builder_logged_call(&builder, child, 100 * start, 40, 4242, start % 2 ? "rows=\x1b[1m" : NULL);
        const uint32_t slow = builder_slow_call(&builder, root, 50, 5000, 1000, 3, 16);
        struct hp_slow_row *row = builder_slow_row(&builder, slow, child, 2, 3000, 2000);
        builder_slow_row(&builder, slow, grandchild, 1, 1000, 1000);
        builder_slow_note(&builder, slow, row, "inner");
        builder_slow_note(&builder, slow, NULL, "outer");
        builder_slow_call(&builder, child, 60, 700, 700, 0, 0);
        builder_abandoned_call(&builder, child);
        builder_open(&builder, thread, root, 100, 5);
        builder_open(&builder, thread, child, 200, 0);
        builder_open(&builder, thread, child, 300, 0);
        const struct builder_allocs allocs = {.measures = {100, 2, 900, 9, 700, 7}, .net_bytes = -30};
        builder_alloc_call(&builder, child, &allocs);
        builder_alloc_call(&builder, grandchild, &allocs);
        builder_alloc_thread(&builder, thread)->bytes = 5000;
        builder_alloc_frame(&builder, thread, 1)->bytes = 1000;
        builder_alloc_frame(&builder, thread, 2)->bytes = 2000;
    }
    for (uint32_t key = 0; key < 20; key++)
        builder_path_key(&builder, &(struct hp_path_key){.kind = 1 + key % 2, .site = key, .name = key * 8});
    struct hp_walk threads = {0};
    struct hp_thread first;
    assert_null(hp_snapshot_open(&snapshot, builder.bytes, builder_size(&builder), NULL));
    assert_true(hp_snapshot_next_thread(&snapshot, &threads, &first));
    builder_path(&builder, threads.offset)->sums[3].ticks = 5;
    builder_pool(&builder, "arena")->bytes = 7;
    builder_pool(&builder, "strings")->live = -7;
}

static void survives_being_cut_anywhere(void **state)
{
    (void)state;
    build_busy_session();
    read_all(builder.bytes, builder_size(&builder));
    for (size_t size = 0; size < builder_size(&builder);
         size += size < HP_HEADER_BYTES ? 61 : 64 * (3000 / rounds())) {
        unsigned char *copy = malloc(size > 0 ? size : 1);
        memcpy(copy, builder.bytes, size);
        read_all(copy, size);
        free(copy);
    }
}

static uint32_t random_next(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33);
}

/* Where the interesting words are: a flip in the middle of a string proves little. */
static size_t random_place(uint64_t *seed, size_t size)
{
    const uint32_t choice = random_next(seed);
    if (choice % 4 == 0)
        return 16 + random_next(seed) % 440;
    if (choice % 16 == 1)
        return offsetof(struct hp_header, time_period) + random_next(seed) % 80;
    return HP_HEADER_BYTES + random_next(seed) % (uint32_t)(size - HP_HEADER_BYTES);
}

static void survives_flipped_bytes(void **state)
{
    (void)state;
    build_busy_session();
    const size_t size = builder_size(&builder);
    unsigned char *copy = malloc(size);
    for (uint64_t round = 0; round < rounds(); round++) {
        uint64_t seed = round * 7919 + 1;
        memcpy(copy, builder.bytes, size);
        for (uint32_t flips = 1 + random_next(&seed) % 24; flips > 0; flips--)
            copy[random_place(&seed, size)] ^= (unsigned char)(1u << random_next(&seed) % 8);
        read_all(copy, size);
    }
    free(copy);
}

static void survives_random_words(void **state)
{
    (void)state;
    build_busy_session();
    const size_t size = builder_size(&builder);
    unsigned char *copy = malloc(size);
    for (uint64_t round = 0; round < rounds(); round++) {
        uint64_t seed = round * 104729 + 5;
        memcpy(copy, builder.bytes, size);
        for (uint32_t words = 1 + random_next(&seed) % 16; words > 0; words--) {
            static const uint32_t nasty[] = {0,           1,           4096,        4097,        0x7fffffffu,
                                             0x80000000u, 0xffffffffu, 0xfffffff8u, 0xfffffffeu, 64};
            const size_t at = random_place(&seed, size - 8) & ~(size_t)3;
            uint32_t word = nasty[random_next(&seed) % (sizeof nasty / sizeof nasty[0])];
            if (random_next(&seed) % 2)
                word = (uint32_t)(random_place(&seed, size) & ~(size_t)7);
            memcpy(copy + at, &word, sizeof word);
        }
        read_all(copy, size);
    }
    free(copy);
}

static void walks_over_circular_lists_end(void **state)
{
    (void)state;
    build_busy_session();
    struct hp_thread *thread = builder_at(&builder, builder_header(&builder)->threads);
    thread->next = builder_header(&builder)->threads;
    struct hp_node_chunk *chunk = builder_at(&builder, thread->node_chunks);
    chunk->next = thread->node_chunks;
    struct hotpath_stat_ *stat = builder_at(&builder, thread->stats);
    stat->next = thread->stats;
    chunk->nodes[0].parent = thread->node_chunks + (uint32_t)sizeof *chunk; /* its own parent */
    read_all(builder.bytes, builder_size(&builder));
    /* Two parents of each other. */
    chunk->nodes[0].parent = thread->node_chunks + (uint32_t)(sizeof *chunk + sizeof(struct hotpath_node_));
    chunk->nodes[1].parent = thread->node_chunks + (uint32_t)sizeof *chunk;
    chunk->used = chunk->capacity = UINT32_MAX;
    thread->frame_capacity = UINT32_MAX;
    read_all(builder.bytes, builder_size(&builder));
}

/* Many threads that claim the same large list must not cost threads times nodes. */
static void shared_lists_are_walked_within_bounds(void **state)
{
    (void)state;
    builder_free(&builder);
    builder_init(&builder, 40u << 20);
    const uint32_t site = builder_site(&builder, "f", "a.c", 1);
    const uint32_t thread = builder_thread(&builder);
    uint32_t node = 0;
    for (unsigned count = 0; count < 40000; count++) {
        node = builder_node(&builder, thread, count % 100 ? node : 0, site);
        ((struct hotpath_node_ *)builder_at(&builder, node))->calls = 1;
    }
    const struct hp_thread first = *(const struct hp_thread *)builder_at(&builder, thread);
    for (unsigned count = 0; count < 20000; count++) {
        struct hp_thread *more = builder_at(&builder, builder_thread(&builder));
        more->node_chunks = first.node_chunks;
        more->stats = first.stats;
        more->frames = 8192;
        more->frame_capacity = UINT32_MAX;
    }
    read_all(builder.bytes, builder_size(&builder));
}

static void any_counter_value_is_survived(void **state)
{
    (void)state;
    build_busy_session();
    struct hp_header *header = builder_header(&builder);
    header->zone_cost_ps = header->zone_inner_ps = header->wall_start_ns = UINT64_MAX;
    memset(header->losses, 0xff, sizeof header->losses);
    header->cores = 0;
    header->clock_latest = (struct hp_clock_pair){.ticks = UINT64_MAX, .ns = UINT64_MAX};
    struct hp_thread *thread = builder_at(&builder, header->threads);
    struct hp_node_chunk *chunk = builder_at(&builder, thread->node_chunks);
    for (uint32_t at = 0; at < chunk->used; at++)
        chunk->nodes[at].calls = chunk->nodes[at].total = chunk->nodes[at].nested = chunk->nodes[at].self =
            UINT64_MAX - at;
    struct hotpath_stat_ *stat = builder_at(&builder, thread->stats);
    stat->max = stat->missed = UINT64_MAX;
    stat->threads = UINT32_MAX;
    read_all(builder.bytes, builder_size(&builder));
    header->clock_kind = 77;
    header->state = 99;
    read_all(builder.bytes, builder_size(&builder));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(survives_being_cut_anywhere),
        TEST(survives_flipped_bytes),
        TEST(survives_random_words),
        TEST(walks_over_circular_lists_end),
        TEST(shared_lists_are_walked_within_bounds),
        TEST(any_counter_value_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
