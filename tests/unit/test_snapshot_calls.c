/*
 * Reading single calls of a session: logs and slowest calls, also broken and changing ones.
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot_fixture.h"

/* Opens a copy that is exactly as large as the session, and finds the stat of its first site. */
static unsigned char *open_stat(uint32_t thread, uint32_t site, struct hotpath_stat_ *ret_stat)
{
    unsigned char *copy;
    const uint32_t offset = (uint32_t)((unsigned char *)builder_stat(&builder, thread, site) - builder.bytes);
    assert_null(open_copy(builder_size(&builder), &copy));
    assert_true(hp_snapshot_stat(&snapshot, offset, ret_stat));
    return copy;
}

/* Walks a log and writes down the starts of its calls, in ticks after the start of the session. */
static size_t walk_log(const struct hotpath_stat_ *stat, uint64_t *starts, size_t room)
{
    struct hp_walk walk = {0};
    struct hp_logged_call call;
    size_t count = 0;
    while (hp_snapshot_next_call(&snapshot, stat, &walk, &call)) {
        assert_true(count < room);
        starts[count++] = call.start - BUILDER_START;
    }
    return count;
}

static void logs_are_walked_from_the_newest(void **state)
{
    (void)state;
    const uint32_t site = builder_site(&builder, "f", "a.c", 1), thread = builder_thread(&builder);
    const uint32_t node = builder_node(&builder, thread, 0, site);
    struct hotpath_stat_ stat;
    uint64_t starts[8];
    builder_log(&builder, thread, site, 3);
    for (uint64_t calls = 0; calls <= 10; calls++) {
        unsigned char *copy = open_stat(thread, site, &stat);
        const size_t count = walk_log(&stat, starts, 8);
        assert_int_equal(count, calls < 3 ? calls : 3); /* one place of the four is the writer's */
        for (size_t at = 0; at < count; at++)
            assert_int_equal(starts[at], 100 * (calls - at));
        free(copy);
        builder_logged_call(&builder, node, 100 * (calls + 1), 7, 9, NULL);
    }
}

static void logged_calls_have_all_fields(void **state)
{
    (void)state;
    const uint32_t site = builder_site(&builder, "f", "a.c", 1), thread = builder_thread(&builder);
    const uint32_t node = builder_node(&builder, thread, 0, site);
    char longest[HP_NOTE_BYTES + 1];
    struct hotpath_stat_ stat;
    struct hp_walk walk = {0};
    struct hp_logged_call call;
    memset(longest, 'x', HP_NOTE_BYTES);
    longest[HP_NOTE_BYTES] = '\0';
    builder_log(&builder, thread, site, 3);
    builder_logged_call(&builder, node, 5, 70, 99, longest);
    builder_logged_call(&builder, node, 6, 71, 98, NULL);
    unsigned char *copy = open_stat(thread, site, &stat);
    assert_true(hp_snapshot_next_call(&snapshot, &stat, &walk, &call));
    assert_int_equal(walk.number, 1);
    assert_int_equal(call.ticks, 71);
    assert_int_equal(call.tid, 98);
    assert_int_equal(call.note_length, 0);
    assert_string_equal(call.note, "");
    assert_true(hp_snapshot_next_call(&snapshot, &stat, &walk, &call));
    assert_int_equal(call.start, BUILDER_START + 5);
    assert_int_equal(hp_logged_call_end(&call), BUILDER_START + 75);
    assert_int_equal(call.node, node);
    assert_string_equal(call.note, longest);
    assert_false(hp_snapshot_next_call(&snapshot, &stat, &walk, &call));
    call.ticks = UINT64_MAX;
    assert_true(hp_logged_call_end(&call) == UINT64_MAX);
    free(copy);
}

/* Each with one broken field, and the number of calls that are still found. */
static void walks_over_broken_logs_end(void **state)
{
    (void)state;
    const uint32_t site = builder_site(&builder, "f", "a.c", 1), thread = builder_thread(&builder);
    const uint32_t node = builder_node(&builder, thread, 0, site);
    const uint32_t offset = builder_log(&builder, thread, site, 3);
    struct hotpath_stat_ stat;
    struct hp_logged_call call;
    uint64_t starts[8];
    for (uint64_t at = 0; at < 3; at++)
        builder_logged_call(&builder, node, at, 7, 9, "note");
    unsigned char *copy = open_stat(thread, site, &stat);
    struct hp_log *log = (struct hp_log *)(void *)(copy + offset);
    log->capacity = 0;
    assert_int_equal(walk_log(&stat, starts, 8), 0);
    log->capacity = 1;
    assert_int_equal(walk_log(&stat, starts, 8), 0);
    log->capacity = 4;
    log->count = UINT64_MAX;
    assert_int_equal(walk_log(&stat, starts, 8), 0); /* none has such a number */
    log->count = 3;
    log->capacity = UINT32_MAX; /* far beyond the file: only calls within it are found */
    assert_int_equal(walk_log(&stat, starts, 8), 3);
    log->count = UINT64_C(1) << 31;
    assert_int_equal(walk_log(&stat, starts, 8), 0); /* all of the latest calls are beyond it */
    log->capacity = 4;
    log->count = 3;
    struct hp_log_record *last = &log->records[2];
    const uint32_t texts = log->texts;
    static const struct {
        uint32_t texts, length;
    } broken[] = {{0, 4}, {4, 4}, {UINT32_MAX, 4}, {1 << 20, 4}, {8192, HP_LOG_TEXT + 1}, {8192, UINT32_MAX}};
    for (size_t at = 0; at < sizeof broken / sizeof broken[0]; at++) {
        struct hp_walk walk = {0};
        log->texts = broken[at].texts;
        last->text_length = broken[at].length;
        assert_true(hp_snapshot_next_call(&snapshot, &stat, &walk, &call));
        assert_int_equal(call.note_length, 0);
        assert_int_equal(call.start, BUILDER_START + 2);
    }
    log->texts = (uint32_t)builder_size(&builder) - 2 * HP_LOG_TEXT - 2; /* the end is beyond that of the file */
    last->text_length = 3;
    struct hp_walk walk = {0};
    assert_true(hp_snapshot_next_call(&snapshot, &stat, &walk, &call));
    assert_int_equal(call.note_length, 0);
    log->texts = texts;
    static const uint64_t numbers[] = {0, 2, 4, 7, UINT64_MAX}; /* being written, or of another call */
    for (size_t at = 0; at < sizeof numbers / sizeof numbers[0]; at++) {
        last->number = numbers[at];
        assert_int_equal(walk_log(&stat, starts, 8), 0);
    }
    last->number = 3;
    last->what = HP_RECORD_KINDS;
    assert_int_equal(walk_log(&stat, starts, 8), 2);
    last->what = HP_RECORD_CALL;
    static const uint32_t nowhere[] = {8, 4096 - 8, UINT32_MAX, 1 << 20, 8193};
    for (size_t at = 0; at < sizeof nowhere / sizeof nowhere[0]; at++) {
        stat.log = nowhere[at];
        assert_int_equal(walk_log(&stat, starts, 8), 0);
    }
    free(copy);
}

/*
 * The writer continues between two steps of the walk: calls that it has overwritten are not shown.
 */
static void overwritten_calls_end_the_walk(void **state)
{
    (void)state;
    const uint32_t site = builder_site(&builder, "f", "a.c", 1), thread = builder_thread(&builder);
    const uint32_t node = builder_node(&builder, thread, 0, site);
    const struct hp_clock_pair now = {.ticks = BUILDER_START + 1000, .ns = 6000};
    struct hp_logged_call call;
    builder_log(&builder, thread, site, 3);
    for (uint64_t later = 0; later <= 3; later++) {
        struct hp_walk walk = {0};
        for (uint64_t at = 0; at < 4; at++)
            builder_logged_call(&builder, node, 10 * (at + 1), 7, 9, NULL);
        assert_open(&now);
        const struct hotpath_stat_ stat = *builder_stat(&builder, thread, site);
        assert_true(hp_snapshot_next_call(&snapshot, &stat, &walk, &call));
        assert_int_equal(call.start, BUILDER_START + 40);
        for (uint64_t at = 0; at < later; at++)
            builder_logged_call(&builder, node, 900, 7, 9, NULL);
        uint64_t left = 0;
        while (hp_snapshot_next_call(&snapshot, &stat, &walk, &call))
            assert_int_equal(call.start, BUILDER_START + 30 - 10 * left++);
        assert_int_equal(left, later == 0 ? 2 : 3 - later);
    }
}

static _Alignas(8) unsigned char slow_memory[4096];

static bool copy_slowest(const struct hotpath_stat_ *stat, struct hp_slow_copy *ret_copy)
{
    return hp_snapshot_copy_slowest(&snapshot, stat, slow_memory, sizeof slow_memory, ret_copy);
}

static unsigned reads_left;

/* The file behind a copy: the builder's bytes, which go on. After so many readings it is gone. */
static bool read_builder(void *context, uint32_t offset, void *to, size_t bytes)
{
    assert_ptr_equal(context, &builder);
    if (reads_left == 0 || bytes > builder_size(&builder) || offset > builder_size(&builder) - bytes)
        return false;
    reads_left--;
    memcpy(to, builder.bytes + offset, bytes);
    return true;
}

/* A copy of all the file is old when it is read: single calls come from the file itself. */
static void calls_of_a_copied_session_are_read_again(void **state)
{
    (void)state;
    const uint32_t site = builder_site(&builder, "f", "a.c", 1), thread = builder_thread(&builder);
    const uint32_t node = builder_node(&builder, thread, 0, site);
    struct hotpath_stat_ stat;
    struct hp_logged_call call;
    struct hp_slow_copy copied;
    uint64_t ticks, starts[8];
    builder_log(&builder, thread, site, 3);
    for (uint64_t at = 1; at <= 3; at++)
        builder_logged_call(&builder, node, at, 7, 9, "old");
    builder_slow_call(&builder, node, 5, 40, 40, 0, 0);
    const uint32_t slow = builder_slow_call(&builder, node, 7, 100, 30, 1, 0);
    unsigned char *copy = open_stat(thread, site, &stat);
    snapshot.read_anew = read_builder;
    snapshot.read_context = &builder;
    for (uint64_t at = 4; at <= 9; at++) /* all places are used anew */
        builder_logged_call(&builder, node, at, 7, 9, "new");
    struct hp_slow_call *whole = builder_at(&builder, slow);
    whole->call.ticks = 300;
    reads_left = 1000;
    assert_int_equal(walk_log(&stat, starts, 8), 3);
    assert_int_equal(starts[0], 9);
    assert_int_equal(starts[2], 7);
    struct hp_walk walk = {0};
    assert_true(hp_snapshot_next_call(&snapshot, &stat, &walk, &call));
    assert_string_equal(call.note, "new");
    assert_true(hp_snapshot_slowest_ticks(&snapshot, &stat, &ticks));
    assert_int_equal(ticks, 300);
    assert_true(copy_slowest(&stat, &copied));
    assert_int_equal(copied.call.ticks, 300);
    for (unsigned reads = 0; reads < 3; reads++) { /* a file that cannot be read any more has no calls */
        reads_left = reads;
        assert_int_equal(walk_log(&stat, starts, 8), 0);
        reads_left = reads;
        assert_false(copy_slowest(&stat, &copied));
    }
    free(copy);
}

/* Many stats that claim one large log must not cost stats times calls. */
static void shared_logs_are_walked_within_bounds(void **state)
{
    (void)state;
    const uint32_t site = builder_site(&builder, "f", "a.c", 1), thread = builder_thread(&builder);
    const uint32_t node = builder_node(&builder, thread, 0, site);
    builder_log(&builder, thread, site, 1000);
    for (uint64_t at = 0; at < 1000; at++)
        builder_logged_call(&builder, node, at, 7, 9, NULL);
    assert_open(NULL);
    const struct hotpath_stat_ stat = *builder_stat(&builder, thread, site);
    struct hp_walk walk = {0};
    struct hp_logged_call call;
    uint64_t count = 0;
    for (unsigned stats = 0; stats < 1000; stats++)
        for (hp_walk_rewind(&walk); hp_snapshot_next_call(&snapshot, &stat, &walk, &call);)
            count++;
    assert_true(count >= 1000);
    assert_true(count <= builder_size(&builder) / sizeof(struct hp_log_record));
}

static void the_slowest_call_has_its_rows(void **state)
{
    (void)state;
    const uint32_t site = builder_site(&builder, "f", "a.c", 1), thread = builder_thread(&builder);
    const uint32_t node = builder_node(&builder, thread, 0, site),
                   inner = builder_node(&builder, thread, node, site);
    struct hotpath_stat_ stat;
    struct hp_slow_copy copied;
    uint64_t ticks;
    unsigned char *copy = open_stat(thread, site, &stat);
    assert_false(hp_snapshot_slowest_ticks(&snapshot, &stat, &ticks));
    assert_false(copy_slowest(&stat, &copied));
    assert_int_equal(hp_snapshot_slowest_bytes(&snapshot, &stat), 0);
    free(copy);
    builder_slow_call(&builder, node, 5, 40, 40, 0, 0); /* an earlier one */
    const uint32_t slow = builder_slow_call(&builder, node, 7, 100, 30, 2, 11);
    builder_slow_row(&builder, slow, inner, 2, 60, 50);
    struct hp_slow_row *row = builder_slow_row(&builder, slow, node, 1, 10, 10);
    builder_slow_note(&builder, slow, NULL, "outer");
    builder_slow_note(&builder, slow, row, "inner!");
    ((struct hp_slow_call *)builder_at(&builder, slow))->rows_left_out = 3;
    copy = open_stat(thread, site, &stat);
    assert_true(hp_snapshot_slowest_ticks(&snapshot, &stat, &ticks));
    assert_int_equal(ticks, 100);
    const size_t bytes = sizeof(struct hp_slow_call) + 2 * sizeof(struct hp_slow_row) + 11;
    assert_int_equal(hp_snapshot_slowest_bytes(&snapshot, &stat), bytes);
    assert_false(hp_snapshot_copy_slowest(&snapshot, &stat, slow_memory, bytes - 1, &copied));
    assert_true(hp_snapshot_copy_slowest(&snapshot, &stat, slow_memory, bytes, &copied));
    free(copy); /* nothing of the copy is in there */
    assert_int_equal(copied.call.start, BUILDER_START + 7);
    assert_int_equal(copied.call.ticks, 100);
    assert_int_equal(copied.self, 30);
    assert_string_equal(copied.call.note, "outer");
    assert_int_equal(copied.row_count, 2);
    assert_int_equal(copied.rows_left_out, 3);
    assert_int_equal(copied.rows[0].node, inner);
    assert_int_equal(copied.rows[0].calls, 2);
    assert_int_equal(copied.rows[0].total, 60);
    assert_int_equal(copied.rows[0].self, 50);
    assert_int_equal(copied.rows[0].note_length, 0);
    assert_int_equal(copied.rows[1].note_length, 6);
    assert_memory_equal(copied.notes + copied.rows[1].note, "inner!", 6);
}

static void broken_slowest_calls_are_ignored(void **state)
{
    (void)state;
    const uint32_t site = builder_site(&builder, "f", "a.c", 1), thread = builder_thread(&builder);
    const uint32_t node = builder_node(&builder, thread, 0, site);
    const uint32_t offset = builder_slow_call(&builder, node, 7, 100, 30, 2, 4);
    struct hp_slow_row *built = builder_slow_row(&builder, offset, node, 2, 60, 50);
    builder_slow_row(&builder, offset, node, 2, 60, 50);
    builder_slow_note(&builder, offset, built, "note");
    struct hotpath_stat_ stat;
    struct hp_slow_copy copied;
    uint64_t ticks;
    unsigned char *copy = open_stat(thread, site, &stat);
    struct hp_slowest *slowest = (struct hp_slowest *)(void *)(copy + stat.slowest);
    struct hp_slow_call *slow = (struct hp_slow_call *)(void *)(copy + offset);
    const struct hp_slow_call good = *slow;
    static const uint32_t counts[] = {3, 1000, UINT32_MAX,
                                      0x66666667u}; /* the last one: 40 times it is small again */
    for (size_t at = 0; at < sizeof counts / sizeof counts[0]; at++) {
        slow->row_count = counts[at];
        assert_false(copy_slowest(&stat, &copied));
    }
    *slow = good;
    slow->note_bytes = 5;
    assert_false(copy_slowest(&stat, &copied));
    slow->note_bytes = UINT32_MAX;
    assert_false(copy_slowest(&stat, &copied));
    *slow = good;
    slow->self = 101;
    slow->call.note = 4;
    slow->call.note_length = 1;
    builder_rows(slow)[0].note_length = 5;
    builder_rows(slow)[1].note = UINT32_MAX;
    builder_rows(slow)[1].note_length = 2;
    assert_true(copy_slowest(&stat, &copied));
    assert_int_equal(copied.self, 100);
    assert_int_equal(copied.call.note_length, 0);
    assert_int_equal(copied.rows[0].note_length, 0);
    assert_int_equal(copied.rows[1].note_length, 0);
    slowest->bytes[1] = UINT32_MAX; /* a place that claims more than the file has */
    assert_int_equal(hp_snapshot_slowest_bytes(&snapshot, &stat), builder_size(&builder));
    slow->row_count = 60000;
    assert_false(hp_snapshot_copy_slowest(&snapshot, &stat, slow_memory, SIZE_MAX, &copied));
    *slow = good;
    slowest->bytes[1] = sizeof(struct hp_slow_call) - 1;
    assert_false(hp_snapshot_slowest_ticks(&snapshot, &stat, &ticks));
    slowest->bytes[1] = 4096;
    static const uint32_t nowhere[] = {0, 8, UINT32_MAX, 1 << 20, 8193};
    for (size_t at = 0; at < sizeof nowhere / sizeof nowhere[0]; at++) {
        slowest->calls[1] = nowhere[at];
        assert_false(hp_snapshot_slowest_ticks(&snapshot, &stat, &ticks));
        assert_false(copy_slowest(&stat, &copied));
    }
    slowest->calls[1] = offset;
    slowest->number = 0;
    assert_false(copy_slowest(&stat, &copied));
    slowest->number = 2; /* the other place has none */
    assert_false(copy_slowest(&stat, &copied));
    for (size_t at = 1; at < sizeof nowhere / sizeof nowhere[0]; at++) {
        stat.slowest = nowhere[at];
        assert_false(copy_slowest(&stat, &copied));
        assert_int_equal(hp_snapshot_slowest_bytes(&snapshot, &stat), 0);
    }
    free(copy);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(logs_are_walked_from_the_newest),
        TEST(logged_calls_have_all_fields),
        TEST(walks_over_broken_logs_end),
        TEST(overwritten_calls_end_the_walk),
        TEST(calls_of_a_copied_session_are_read_again),
        TEST(shared_logs_are_walked_within_bounds),
        TEST(the_slowest_call_has_its_rows),
        TEST(broken_slowest_calls_are_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
