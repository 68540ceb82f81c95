/*
 * Streams: recorded with a fake clock and read as in a report, so every number is known.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "hotpath.h"
#include "instances.h"
#include "object_layout.h"
#include "object_snapshot.h"
#include "process.h"
#include "report_cells.h"
#include "runtime.h"
#include "sanitizer.h"
#include "scratch_folder.h"

static uint64_t now;

/* The linker has the library call these (--wrap). */
__typeof__(hp_clock_counter) __wrap_hp_clock_counter;
__typeof__(hp_now) __wrap_hp_now;
__typeof__(hp_clock_pair) __wrap_hp_clock_pair;
enum hp_counter __wrap_hp_clock_counter(void) { return HP_COUNTER_NONE; }
uint64_t __wrap_hp_now(void) { return __atomic_load_n(&now, __ATOMIC_RELAXED); }
void __wrap_hp_clock_pair(enum hp_counter counter, uint64_t *ret_ticks, uint64_t *ret_ns)
{
    (void)counter;
    *ret_ticks = *ret_ns = __wrap_hp_now();
}

static void pass(uint64_t ns) { __atomic_add_fetch(&now, ns, __ATOMIC_RELAXED); }

/* ------------------------------------------------------------------------------------------------- rows */

#define MOST_ROWS 1100

enum column { ITEMS, BYTES, RATE, GAP, P50, PRODUCE, CONSUME, PRODUCED, CONSUMED, INSTANCES, LIVE, COLUMNS };
static const char *const keys[COLUMNS] = {
    "items",           "item_bytes",  "rate",        "gap_mean_ns", "gap_p50_ns", "produce_mean_ns",
    "consume_mean_ns", "produced_ns", "consumed_ns", "instances",   "live"};
struct row {
    char name[32], instance[32], state[16], producers[64], recent[256];
    double number[COLUMNS]; /* -1: the cell is empty */
};
static struct row rows[MOST_ROWS];
static size_t row_count;

static void take_row(const hotpath_section *section, size_t index, struct row *row)
{
    copy_text(section, index, "name", row->name, sizeof row->name);
    copy_text(section, index, "instance", row->instance, sizeof row->instance);
    copy_text(section, index, "state", row->state, sizeof row->state);
    copy_text(section, index, "producers", row->producers, sizeof row->producers);
    copy_text(section, index, "recent", row->recent, sizeof row->recent);
    copy_numbers(section, index, keys, COLUMNS, row->number);
}

static void take_rows(const hotpath_results *results, void *context)
{
    (void)context;
    row_count = 0;
    for (size_t at = 0; at < hotpath_results_sections(results); at++) {
        const hotpath_section *section = hotpath_results_section(results, at);
        for (size_t index = 0; index < hotpath_section_rows(section) && row_count < MOST_ROWS; index++)
            take_row(section, index, &rows[row_count++]);
    }
}

static const struct row *row_of(const char *name, const char *instance)
{
    for (size_t at = 0; at < row_count; at++)
        if (strcmp(rows[at].name, name) == 0 && strcmp(rows[at].instance, instance) == 0)
            return &rows[at];
    fail_msg("there is no %s %s", name, instance);
    return NULL;
}

static const struct row *all_of(const char *name) { return row_of(name, "-"); }

static void report(void) { assert_int_equal(hotpath_report(), HOTPATH_OK); }

static int set_up(void **state)
{
    (void)state;
    struct hotpath_options options = {.size = sizeof options,
                                      .report = "streams",
                                      .percentiles = "50",
                                      .limit = HOTPATH_NO_LIMIT,
                                      .dir = scratch_folder};
    now = 1000000;
    hotpath_set_reporter(take_rows, NULL);
    return hotpath_start(&options) != HOTPATH_OK;
}

static int tear_down(void **state)
{
    (void)state;
    hotpath_stop();
    return 0;
}

/* ------------------------------------------------------------------------------------------------- streams */

/* Works for 3000, yields, and needs 1000 to come back. */
static void produce(const void *stream)
{
    HOTPATH_MEASURE();
    HOTPATH_STREAM_NEXT("lines", stream);
    pass(3000);
    HOTPATH_STREAM_ITEM("lines", stream, 1, 80);
    pass(1000);
}

static void producer_and_consumer_time(void **state)
{
    (void)state;
    static char stream;
    for (int at = 0; at < 10; at++) {
        produce(&stream);
        pass(6000); /* the consumer has it from the yield on */
    }
    report();
    const struct row *all = all_of("lines");
    assert_int_equal(row_count, 1);
    assert_int_equal(all->number[ITEMS], 10);
    assert_int_equal(all->number[BYTES], 800);
    assert_true(all->number[GAP] == 10000);
    assert_in_range(all->number[P50], 9920, 10080);
    assert_true(all->number[PRODUCE] == 3000 && all->number[PRODUCED] == 30000);
    assert_true(all->number[CONSUME] == 7000 && all->number[CONSUMED] == 63000); /* the last has not ended */
    assert_true(all->number[RATE] == 100000);
    assert_string_equal(all->state, "consuming");
    assert_string_equal(all->producers, "produce");
    HOTPATH_STREAM_END("lines", &stream);
    report();
    assert_string_equal(all_of("lines")->state, "ended");
}

/* Asked in vain twice; then two yields of a scope, of three and of one. */
static void work_that_yields_nothing_and_batches(void **state)
{
    (void)state;
    static char stream;
    for (int at = 0; at < 2; at++) {
        HOTPATH_STREAM_NEXT("lines", &stream);
        pass(500);
    }
    {
        HOTPATH_STREAM_NEXT("lines", &stream);
        pass(2000);
        HOTPATH_STREAM_ITEM("lines", &stream, 3, 30);
        pass(1000);
        HOTPATH_STREAM_ITEM("lines", &stream, 1, 10);
        pass(100);
        report();
        assert_string_equal(all_of("lines")->state, "producing");
    }
    pass(4000);
    HOTPATH_STREAM_NEXT("lines", &stream);
    report();
    const struct row *all = all_of("lines");
    assert_int_equal(all->number[ITEMS], 4);
    assert_true(all->number[PRODUCED] == 500 + 500 + 2000 + 1000 && all->number[PRODUCE] == 1000);
    assert_true(all->number[CONSUMED] == 4100 && all->number[CONSUME] == 4100.0 / 4);
    assert_true(all->number[GAP] == 1000);
}

/* As most do: nothing more comes, and the producer says so. Its end is that of the same stream. */
static void stream_that_ends_in_its_producer_scope(void **state)
{
    (void)state;
    static char stream;
    produce(&stream);
    pass(6000);
    {
        HOTPATH_STREAM_NEXT("lines", &stream);
        pass(500);
        HOTPATH_STREAM_END("lines", &stream);
        pass(100);
    }
    report();
    const struct row *all = all_of("lines");
    assert_int_equal(all->number[INSTANCES], 1);
    assert_int_equal(all->number[LIVE], 0);
    assert_true(all->number[PRODUCED] == 3500 && all->number[CONSUMED] == 7000);
    assert_string_equal(all->state, "ended");
}

/* The scope of one stream is left by a jump, another is nested in itself: a new scope replaces the old one. */
static void scopes_left_by_a_jump_or_nested(void **state)
{
    (void)state;
    static char left, nested;
    jmp_buf place;
    if (setjmp(place) == 0) {
        HOTPATH_STREAM_NEXT("left", &left);
        pass(500);
        longjmp(place, 1);
    }
    for (int at = 0; at < 2; at++) {
        HOTPATH_STREAM_NEXT("left", &left);
        pass(2000);
        HOTPATH_STREAM_ITEM("left", &left, 1, 1);
    }
    {
        HOTPATH_STREAM_NEXT("nested", &nested);
        pass(100);
        {
            HOTPATH_STREAM_NEXT("nested", &nested);
            pass(10);
            HOTPATH_STREAM_ITEM("nested", &nested, 1, 1);
        }
        pass(1);
    }
    report();
    const struct row *row = all_of("left");
    assert_int_equal(row->number[ITEMS], 2);
    assert_true(row->number[PRODUCED] == 4000 && row->number[CONSUMED] == 0 && row->number[GAP] == 2000);
    row = all_of("nested");
    assert_true(row->number[ITEMS] == 1 && row->number[PRODUCED] == 10);
    assert_string_equal(row->state, "consuming");
}

static void *produce_there(void *stream)
{
    produce(stream);
    return NULL;
}

/* Each item on a thread of its own: moments are the stream's, not a thread's. */
static void stream_continued_on_other_threads(void **state)
{
    (void)state;
    static char stream;
    for (int at = 0; at < 8; at++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, produce_there, &stream), 0);
        pthread_join(thread, NULL);
        pass(6000);
    }
    report();
    const struct row *all = all_of("lines");
    assert_int_equal(all->number[ITEMS], 8);
    assert_true(all->number[GAP] == 10000 && all->number[PRODUCE] == 3000 && all->number[CONSUME] == 7000);
    assert_true(all->number[RATE] == 100000);
}

static void items_without_scopes(void **state)
{
    (void)state;
    for (int at = 0; at < 5; at++) {
        HOTPATH_STREAM_ITEM("pushed", NULL, 1, 0);
        pass(2000);
    }
    report();
    const struct row *all = all_of("pushed");
    assert_true(all->number[GAP] == 2000);
    assert_true(all->number[PRODUCE] == -1 && all->number[CONSUME] == -1);
}

/* A record that is used again knows nothing of the stream before. */
static void many_that_come_and_go(void **state)
{
    (void)state;
    const unsigned many = 3 * HP_MOST_OF_CLASS;
    for (unsigned at = 0; at < many; at++) {
        const void *stream = (const void *)(uintptr_t)(0x10000 + 64 * (uint64_t)at);
        for (int item = 0; item < 2; item++) {
            produce(stream);
            pass(6000);
        }
        HOTPATH_STREAM_END("lines", stream);
        pass(1000000);
    }
    report();
    const struct row *all = all_of("lines");
    assert_int_equal(all->number[ITEMS], 2 * many);
    assert_int_equal(all->number[INSTANCES], many);
    assert_int_equal(all->number[LIVE], 0);
    assert_true(all->number[GAP] == 10000 && all->number[PRODUCE] == 3000 && all->number[CONSUME] == 7000);
    const struct row *other = row_of("lines", "<other>");
    assert_int_equal(other->number[ITEMS], 2 * (many - HP_MOST_OF_CLASS));
    assert_true(other->number[GAP] == 10000 && other->number[CONSUME] == 7000);
}

static void nothing_is_recorded_and_errno_is_kept(void **state)
{
    (void)state;
    static char stream;
    errno = 77;
    produce(&stream);
    {
        HOTPATH_STREAM_NEXT("lines", &stream);
        hotpath_stop();
        errno = 77;
    }
    produce(&stream);
    HOTPATH_STREAM_END("lines", &stream);
    assert_int_equal(errno, 77);
}

/* ------------------------------------------------------------------------------------------------- texts */

static int made_texts;
static const char *make_text(void)
{
    made_texts++;
    return "line";
}

/* Where the label is logged; elsewhere nothing is even made. */
static void the_latest_texts(void **state)
{
    (void)state;
    static char stream;
    struct hotpath_options options = {
        .size = sizeof options, .report = "streams", .log = "lines", .dir = scratch_folder};
    hotpath_stop();
    assert_int_equal(hotpath_start(&options), HOTPATH_OK);
    errno = 77;
    for (int at = 1; at <= 20; at++) {
        HOTPATH_STREAM_ITEM("lines", &stream, 1, 0);
        HOTPATH_STREAM_TEXT("lines", &stream, "%s %d", make_text(), at);
        HOTPATH_STREAM_ITEM("others", &stream, 1, 0);
        HOTPATH_STREAM_TEXT("others", &stream, "line %d", at);
        pass(10);
    }
    HOTPATH_STREAM_TEXT("lines", NULL, "%060d", 1);
    assert_int_equal(errno, 77);
    report();
    assert_string_equal(
        all_of("lines")->recent,
        "000000000000000000000000000000000000000000000000, line 20, line 19, line 18, line 17, line 16, line 15, "
        "line 14, line 13, line 12, line 11, line 10, line 9, line 8, line 7");
    assert_string_equal(all_of("others")->recent, "-");
    assert_int_equal(made_texts, 20);
    hotpath_stop();
    HOTPATH_STREAM_TEXT("lines", &stream, "%s", make_text());
}

/* ------------------------------------------------------------------------------------------------- live */

#define READINGS (HP_THREAD_SANITIZER ? 2000u : 100000u) /* each takes it ten times as long */

static uint64_t is_read; /* atomic */

/* Each item takes the producer 3000 ticks, and the consumer 1000. */
static void *yield_items(void *stream)
{
    while (__atomic_load_n(&is_read, __ATOMIC_RELAXED) == 0) {
        {
            HOTPATH_STREAM_NEXT("lines", stream);
            pass(3000);
            HOTPATH_STREAM_ITEM("lines", stream, 1, 10);
        }
        pass(1000);
    }
    return NULL;
}

/* Sums and counts that a mean is made of belong together. */
static void assert_not_torn(const struct hp_part *part)
{
    const uint64_t items = part->count[HP_STREAM_ITEMS], gaps = items > 0 ? items - 1 : 0;
    const uint64_t consumed = part->count[HP_STREAM_CONSUMED_ITEMS];
    if (part->count[HP_STREAM_BYTES] != 10 * items || part->count[HP_STREAM_GAPS] != gaps ||
        part->count[HP_STREAM_GAP] != 4000 * gaps || part->count[HP_STREAM_PRODUCED] != 3000 * items ||
        part->count[HP_STREAM_CONSUMED] != 1000 * consumed || (consumed != items && consumed != gaps))
        fail_msg("%llu items, %llu ticks between, %llu produced, %llu consumed", (unsigned long long)items,
                 (unsigned long long)part->count[HP_STREAM_GAP],
                 (unsigned long long)part->count[HP_STREAM_PRODUCED],
                 (unsigned long long)part->count[HP_STREAM_CONSUMED]);
}

/* The part that has counted something: that of the instance. */
static bool read_part(const struct hp_snapshot *snapshot, struct hp_instance_part *ret_part)
{
    struct hp_walk objects = {0};
    struct hp_object object;
    while (hp_snapshot_next_object(snapshot, &objects, &object)) {
        struct hp_walk parts = {0};
        if (object.class_ != 0 && hp_snapshot_next_part(snapshot, &object, &parts, ret_part))
            return true;
    }
    return false;
}

static void concurrent_reader_sees_whole_changes(void **state)
{
    (void)state;
    static char stream;
    struct hp_header *header = hp_store_header(hp_runtime->store);
    pthread_t writer;
    struct hp_snapshot snapshot;
    struct hp_instance_part part;
    uint64_t changes = 0, latest = 0;
    const struct hp_clock_pair moment = {.ticks = now, .ns = now};
    assert_null(hp_snapshot_open(&snapshot, header, (size_t)header->capacity, &moment));
    __atomic_store_n(&is_read, 0, __ATOMIC_RELAXED);
    assert_int_equal(pthread_create(&writer, NULL, yield_items, &stream), 0);
    for (unsigned at = 0; at < READINGS || changes < 1000;) {
        if (!read_part(&snapshot, &part) || part.part.sequence & 1)
            continue; /* not started yet, or preempted */
        assert_not_torn(&part.part);
        changes += part.part.last_tick != latest;
        latest = part.part.last_tick;
        at++;
    }
    __atomic_store_n(&is_read, 1, __ATOMIC_RELAXED);
    pthread_join(writer, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(producer_and_consumer_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(work_that_yields_nothing_and_batches, set_up, tear_down),
        cmocka_unit_test_setup_teardown(stream_that_ends_in_its_producer_scope, set_up, tear_down),
        cmocka_unit_test_setup_teardown(scopes_left_by_a_jump_or_nested, set_up, tear_down),
        cmocka_unit_test_setup_teardown(stream_continued_on_other_threads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(items_without_scopes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_that_come_and_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_latest_texts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(concurrent_reader_sees_whole_changes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_recorded_and_errno_is_kept, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, make_scratch_folder, remove_scratch_folder);
}
