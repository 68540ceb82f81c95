/* Reading a session: its header, its end, its records. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot_fixture.h"

static void assert_refused(size_t size, const char *problem)
{
    unsigned char *copy;
    const char *found = open_copy(size, &copy);
    assert_non_null(found);
    assert_string_equal(found, problem);
    free(copy);
}

/* ------------------------------------------------------------------------------------------- opening */

static void refused_files_have_a_reason(void **state)
{
    (void)state;
    struct hp_header *header = builder_header(&builder);
    assert_refused(0, "too short for a hotpath session: 0 of at least 4096 bytes");
    assert_refused(7, "too short for a hotpath session: 7 of at least 4096 bytes");
    assert_refused(19, "too short for a hotpath session: 19 of at least 4096 bytes");
    assert_refused(4095, "a hotpath session truncated within its header: 4095 of 4096 bytes");
    header->header_bytes = 17;
    assert_refused(4096, "a damaged hotpath session: its header claims 17 bytes instead of 4096");
    header->version = 10;
    assert_refused(4096, "a hotpath session of format version 10, but this hotpath reads version 9");
    header->byte_order = 0x04030201u;
    assert_refused(4096, "a hotpath session of a machine with the opposite byte order: read it on such a machine");
    header->byte_order = 3;
    assert_refused(4096, "not a hotpath session: its byte order mark is invalid");
    header->magic[7] = '!';
    assert_refused(4096, "not a hotpath session: wrong magic number");
    assert_refused(8, "not a hotpath session: wrong magic number");
    assert_non_null(hp_snapshot_open(&snapshot, builder.bytes + 1, 4096, NULL));
}

static void copies_the_header(void **state)
{
    (void)state;
    struct hp_header *header = builder_header(&builder);
    header->losses[HP_LOSS_CLOCK] = UINT64_C(0x1122334455667788);
    header->zone_cost_ps = UINT64_C(0xffeeddccbbaa9988);
    header->site_chunks[255] = 0xabcdu;
    memset(header->boot_id, 0x5a, 16);
    assert_open(NULL);
    assert_memory_equal(&snapshot.header, header, HP_HEADER_USED);
}

static void finished_session_has_its_recorded_end(void **state)
{
    (void)state;
    const struct hp_clock_pair now = {.ticks = BUILDER_START + 99000000, .ns = 1};
    builder_elapse(&builder, 2000000, 0.5);
    assert_open(&now);
    assert_true(snapshot.is_finished);
    assert_true(snapshot.is_rate_known);
    assert_int_equal(hp_snapshot_elapsed_ns(&snapshot), 1000000);
    assert_float_equal(hp_snapshot_ns(&snapshot, 7000), 3500, 0.001);
}

static void a_running_session_ends_now(void **state)
{
    (void)state;
    const struct hp_clock_pair now = {.ticks = BUILDER_START + 4000000, .ns = 5000 + 1000000};
    builder_elapse(&builder, 2000, 0.5);
    builder_header(&builder)->state = HP_STATE_LIVE;
    assert_open(&now);
    assert_true(snapshot.is_live);
    assert_false(snapshot.is_finished);
    assert_int_equal(hp_snapshot_elapsed_ns(&snapshot), 1000000);
    assert_float_equal(snapshot.ns_per_tick, 0.25, 1e-9);
}

static void dead_session_ends_at_its_last_event(void **state)
{
    (void)state;
    builder_header(&builder)->state = HP_STATE_LIVE;
    assert_open(NULL);
    assert_false(snapshot.is_live);
    assert_int_equal(hp_snapshot_elapsed_ns(&snapshot), 1000000);
    const uint32_t site = builder_site(&builder, "f", "a.c", 1);
    const uint32_t thread = builder_thread(&builder);
    const uint32_t node = builder_node(&builder, thread, 0, site);
    builder_open(&builder, thread, node, 1500000, 0);
    assert_open(NULL);
    assert_int_equal(hp_snapshot_elapsed_ns(&snapshot), 1500000);
    /* A frame that is closed keeps the moment of its end. */
    const struct hp_thread *record = builder_at(&builder, thread);
    struct hotpath_frame_ *closed = (struct hotpath_frame_ *)builder_at(&builder, record->frames) + 3;
    closed->child = BUILDER_START + 1700000;
    assert_open(NULL);
    assert_int_equal(hp_snapshot_elapsed_ns(&snapshot), 1700000);
    /* One of a call that is not timed does not know when it began. */
    builder_open(&builder, thread, node, 1900000, 0);
    assert_open(NULL);
    assert_int_equal(hp_snapshot_elapsed_ns(&snapshot), 1900000);
    struct hotpath_frame_ *open = (struct hotpath_frame_ *)builder_at(&builder, record->frames) + 2;
    for (uint32_t flag = HOTPATH_UNTIMED_; flag <= HOTPATH_COUNTED_; flag += HOTPATH_COUNTED_ - HOTPATH_UNTIMED_) {
        open->stat = (open->stat & ~HOTPATH_FLAGS_) | flag;
        assert_open(NULL);
        assert_int_equal(hp_snapshot_elapsed_ns(&snapshot), 1700000);
    }
}

/* While it waits, it leaves no sign itself. */
static void dead_session_ends_when_it_was_last_sampled(void **state)
{
    (void)state;
    const struct hp_clock_pair later = {.ticks = BUILDER_START + 8000000, .ns = 5000 + 4000000};
    struct hp_waits *waits = builder_waits(&builder, 1);
    waits->latest_ns = 5000 + 1800000;
    assert_open(NULL);
    assert_int_equal(hp_snapshot_elapsed_ns(&snapshot), 1000000); /* it has finished, and knows better */
    builder_header(&builder)->state = HP_STATE_LIVE;
    assert_open(NULL);
    assert_int_equal(hp_snapshot_elapsed_ns(&snapshot), 1800000);
    /* Of ticks whose rate becomes known later on. */
    builder_elapse(&builder, 0, 0.5);
    assert_open(NULL);
    assert_int_equal(hp_snapshot_elapsed(&snapshot), 0);
    hp_snapshot_use_rate(&snapshot, &later);
    assert_int_equal(hp_snapshot_elapsed(&snapshot), 3600000);
    assert_int_equal(hp_snapshot_elapsed_ns(&snapshot), 1800000);
    waits->latest_ns = UINT64_MAX; /* which cannot be */
    assert_open(NULL);
    hp_snapshot_use_rate(&snapshot, &later);
    assert_int_equal(hp_snapshot_elapsed(&snapshot), 0);
}

static void unknown_tick_rate_stays_unknown(void **state)
{
    (void)state;
    builder_elapse(&builder, 100, 0.5);
    assert_open(NULL);
    assert_false(snapshot.is_rate_known);
    assert_float_equal(snapshot.ns_per_tick, 1, 0);
    builder_header(&builder)->clock_latest = (struct hp_clock_pair){.ticks = BUILDER_START + 1, .ns = UINT64_MAX};
    assert_open(NULL);
    assert_false(snapshot.is_rate_known);
    builder_header(&builder)->clock_latest = (struct hp_clock_pair){.ticks = 1, .ns = 1};
    assert_open(NULL);
    assert_false(snapshot.is_rate_known);
    assert_int_equal(hp_snapshot_elapsed_ns(&snapshot), 0);
}

/* ------------------------------------------------------------------------------------------- records */

static void text_is_checked(void **state)
{
    (void)state;
    const uint32_t good = builder_text(&builder, "good");
    const uint32_t bad = builder_text(&builder, "bad");
    static char longest[4097];
    memset(longest, 'x', 4095);
    const uint32_t fits = builder_text(&builder, longest);
    longest[4095] = 'x';
    const uint32_t too_long = builder_text(&builder, longest);
    const uint32_t room = builder_text(&builder, "some room for a string");
    struct hp_string misplaced = {.length = 2, .bytes = "hi"};
    memcpy((char *)builder_at(&builder, room) + 6, &misplaced, sizeof misplaced);
    const uint32_t end = builder_text(&builder, "at the end");
    assert_open(NULL);
    assert_string_equal(hp_snapshot_text(&snapshot, good), "good");
    assert_string_equal(hp_snapshot_text(&snapshot, end), "at the end");
    assert_int_equal(strlen(hp_snapshot_text(&snapshot, fits)), 4095);
    assert_string_equal(hp_snapshot_text(&snapshot, too_long), "");
    assert_string_equal(hp_snapshot_text(&snapshot, room + 6), ""); /* whole, but not aligned */
    assert_string_equal(hp_snapshot_text(&snapshot, 0), "");
    assert_string_equal(hp_snapshot_text(&snapshot, good + 1), "");
    assert_string_equal(hp_snapshot_text(&snapshot, 8), "");
    assert_string_equal(hp_snapshot_text(&snapshot, UINT32_MAX), "");
    assert_string_equal(hp_snapshot_text(&snapshot, UINT32_MAX - 3), "");
    assert_string_equal(hp_snapshot_text(&snapshot, (uint32_t)builder_size(&builder)), "");
    ((struct hp_string *)builder_at(&builder, bad))->length = 2; /* no zero where it must be */
    ((struct hp_string *)builder_at(&builder, good))->length = 4096;
    ((struct hp_string *)builder_at(&builder, end))->length = 4000;
    assert_string_equal(hp_snapshot_text(&snapshot, bad), "");
    assert_string_equal(hp_snapshot_text(&snapshot, good), "");
    assert_string_equal(hp_snapshot_text(&snapshot, end), "");
}

static void sites_are_found_by_number(void **state)
{
    (void)state;
    struct hp_site site;
    for (uint32_t id = 0; id < 1500; id++)
        builder_site(&builder, "f", "a.c", id + 1);
    assert_open(NULL);
    assert_true(hp_snapshot_site(&snapshot, 0, &site));
    assert_int_equal(site.line, 1);
    assert_true(hp_snapshot_site(&snapshot, 1499, &site));
    assert_int_equal(site.line, 1500);
    assert_false(hp_snapshot_site(&snapshot, 1500, &site)); /* no name yet */
    assert_false(hp_snapshot_site(&snapshot, 5000, &site)); /* no chunk */
    assert_false(hp_snapshot_site(&snapshot, HP_MAX_SITES, &site));
    assert_false(hp_snapshot_site(&snapshot, HP_SITE_OTHER, &site));
}

static void walks_visit_every_record_once(void **state)
{
    (void)state;
    const uint32_t site = builder_site(&builder, "f", "a.c", 1);
    for (unsigned thread_count = 0; thread_count < 3; thread_count++) {
        const uint32_t thread = builder_thread(&builder);
        uint32_t node = 0;
        for (uint32_t at = 0; at < 10; at++) {
            node = builder_node(&builder, thread, node, site + at % 2);
            builder_call(&builder, thread, node, 100 + at, 0);
        }
        builder_open(&builder, thread, node, 10, 0);
        builder_open(&builder, thread, node, 20, 0);
    }
    assert_open(NULL);
    struct hp_walk threads = {0}, nodes = {0}, stats = {0}, opens = {0};
    struct hp_thread thread;
    struct hp_node node;
    struct hotpath_stat_ stat;
    struct hotpath_frame_ frame;
    unsigned thread_count = 0, node_count = 0, stat_count = 0, open_count = 0;
    uint64_t ticks = 0, calls = 0;
    hp_duration_line lines[HP_DURATION_LINES] = {{0}};
    while (hp_snapshot_next_thread(&snapshot, &threads, &thread)) {
        thread_count++;
        for (hp_walk_rewind(&nodes); hp_snapshot_next_node(&snapshot, &thread, &nodes, &node); node_count++)
            ticks += node.outermost;
        for (hp_walk_rewind(&stats); hp_snapshot_next_stat(&snapshot, &thread, &stats, &stat); stat_count++)
            hp_snapshot_add_durations(&snapshot, &stat, lines);
        for (hp_walk_rewind(&opens); hp_snapshot_next_open(&snapshot, &thread, &opens, &frame); open_count++)
            assert_int_equal(frame.start, BUILDER_START + (open_count % 2 ? 20 : 10));
    }
    for (unsigned line = 0; line < HP_DURATION_LINES; line++)
        for (unsigned step = 0; step < 64; step++)
            calls += lines[line][step];
    assert_int_equal(thread_count, 3);
    assert_int_equal(node_count, 3 * 11);
    assert_int_equal(stat_count, 3 * 2);
    assert_int_equal(open_count, 3 * 2);
    assert_int_equal(ticks, 3 * 1045);
    assert_int_equal(calls, 3 * 10);
}

static void truncated_chunk_hides_no_other(void **state)
{
    (void)state;
    const uint32_t site = builder_site(&builder, "f", "a.c", 1);
    const uint32_t offset = builder_thread(&builder);
    uint32_t node_offset = 0;
    for (unsigned count = 0; count < 8; count++) /* with the root: two chunks of four, and one in a third */
        node_offset = builder_node(&builder, offset, 0, site);
    ((struct hp_node_chunk *)builder_at(&builder, ((struct hp_thread *)builder_at(&builder, offset))->node_chunks))
        ->used = 4;
    unsigned char *copy;
    assert_null(open_copy(node_offset + 64 + 64, &copy)); /* two of its nodes are there, two are not */
    struct hp_walk threads = {0}, nodes = {0};
    struct hp_thread thread;
    struct hp_node node;
    unsigned count = 0;
    assert_true(snapshot.is_cut_off);
    assert_true(hp_snapshot_next_thread(&snapshot, &threads, &thread));
    while (hp_snapshot_next_node(&snapshot, &thread, &nodes, &node))
        count++;
    assert_int_equal(count, 2 + 4 + 4);
    free(copy);
}

static void durations_fall_into_their_buckets(void **state)
{
    (void)state;
    const uint32_t thread = builder_thread(&builder);
    const uint32_t node = builder_node(&builder, thread, 0, builder_site(&builder, "f", "a.c", 1));
    static const uint64_t durations[] = {
        0, 1, 63, 64, 65, 127, 128, 129, 255, 1000, 4096, 123456789, UINT64_C(1) << 52, (UINT64_C(1) << 54) - 1};
    for (size_t at = 0; at < sizeof durations / sizeof durations[0]; at++)
        builder_call(&builder, thread, node, durations[at], 0);
    assert_open(NULL);
    hp_duration_line lines[HP_DURATION_LINES] = {{0}};
    struct hotpath_stat_ stat;
    assert_true(hp_snapshot_stat(&snapshot, ((struct hotpath_node_ *)builder_at(&builder, node))->stat, &stat));
    hp_snapshot_add_durations(&snapshot, &stat, lines);
    for (size_t at = 0; at < sizeof durations / sizeof durations[0]; at++) {
        uint32_t line, step;
        hp_duration_place(durations[at], &line, &step);
        assert_true(lines[line][step] > 0);
        const uint64_t low = line == 0 ? step : (uint64_t)(64 + step) << (line - 1);
        const uint64_t high = line == 0 ? low : low + (UINT64_C(1) << (line - 1)) - 1;
        assert_true(durations[at] >= low && durations[at] <= high);
    }
    uint32_t line, step;
    hp_duration_place(UINT64_MAX, &line, &step);
    assert_int_equal(line, HP_DURATION_LINES - 1);
    assert_int_equal(step, 63);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(refused_files_have_a_reason),
        TEST(copies_the_header),
        TEST(finished_session_has_its_recorded_end),
        TEST(a_running_session_ends_now),
        TEST(dead_session_ends_at_its_last_event),
        TEST(dead_session_ends_when_it_was_last_sampled),
        TEST(unknown_tick_rate_stays_unknown),
        TEST(text_is_checked),
        TEST(sites_are_found_by_number),
        TEST(walks_visit_every_record_once),
        TEST(truncated_chunk_hides_no_other),
        TEST(durations_fall_into_their_buckets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
