/* Reading a session safely, whatever its bytes are. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report.h"
#include "session_builder.h"
#include "snapshot.h"

static struct session_builder builder;
static struct hp_snapshot snapshot;

static int set_up(void **state)
{
    (void)state;
    builder_init(&builder, 1 << 20);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    builder_free(&builder);
    return 0;
}

/* A copy that is exactly as large as it says, so that a sanitizer sees the first byte too many. */
static const char *open_copy(size_t size, unsigned char **ret_copy)
{
    *ret_copy = malloc(size > 0 ? size : 1);
    memcpy(*ret_copy, builder.bytes, size);
    return hp_snapshot_open(&snapshot, *ret_copy, size, NULL);
}

static void assert_refused(size_t size, const char *problem)
{
    unsigned char *copy;
    const char *found = open_copy(size, &copy);
    assert_non_null(found);
    assert_string_equal(found, problem);
    free(copy);
}

static void assert_open(const struct hp_clock_pair *now)
{
    assert_null(hp_snapshot_open(&snapshot, builder.bytes, builder_size(&builder), now));
}

/* ------------------------------------------------------------------------------------------- opening */

static void says_what_is_wrong(void **state)
{
    (void)state;
    struct hp_header *header = builder_header(&builder);
    assert_refused(0, "too short for a hotpath session: 0 of at least 4096 bytes");
    assert_refused(7, "too short for a hotpath session: 7 of at least 4096 bytes");
    assert_refused(19, "too short for a hotpath session: 19 of at least 4096 bytes");
    assert_refused(4095, "a hotpath session truncated within its header: 4095 of 4096 bytes");
    header->header_bytes = 17;
    assert_refused(4096, "a damaged hotpath session: its header claims 17 bytes instead of 4096");
    header->version = 9;
    assert_refused(4096, "a hotpath session of format version 9, but this hotpath reads version 8");
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

static void a_finished_session_ends_when_it_says(void **state)
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

static void a_dead_session_ends_at_its_last_sign_of_life(void **state)
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
static void a_dead_session_ends_when_it_was_last_seen(void **state)
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

static void an_unknown_rate_is_not_invented(void **state)
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

static void walks_find_everything_once(void **state)
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

static void a_chunk_that_is_cut_off_hides_no_other(void **state)
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

static void durations_have_their_places(void **state)
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

/* ------------------------------------------------------------------------------- calls that are kept */

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

static void calls_have_all_that_is_known_of_them(void **state)
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

/* Each with one thing wrong, and what is still found. */
static void broken_logs_end(void **state)
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
    struct hp_call_log *log = (struct hp_call_log *)(void *)(copy + offset);
    log->capacity = 0;
    assert_int_equal(walk_log(&stat, starts, 8), 0);
    log->capacity = 1;
    assert_int_equal(walk_log(&stat, starts, 8), 0);
    log->capacity = 4;
    log->count = UINT64_MAX;
    assert_int_equal(walk_log(&stat, starts, 8), 3);
    log->count = 3;
    log->capacity = UINT32_MAX; /* far beyond the file: what is within is there */
    assert_int_equal(walk_log(&stat, starts, 8), 3);
    log->count = UINT64_C(1) << 31;
    assert_int_equal(walk_log(&stat, starts, 8), 0); /* none of the latest is within */
    log->capacity = 4;
    log->count = 3;
    static const struct {
        uint32_t note, length;
    } broken[] = {{0, 4}, {4, 4}, {UINT32_MAX, 4}, {1 << 20, 4}, {8192, HP_NOTE_BYTES + 1}, {8192, UINT32_MAX}};
    for (size_t at = 0; at < sizeof broken / sizeof broken[0]; at++) {
        struct hp_walk walk = {0};
        log->calls[2].note = broken[at].note;
        log->calls[2].note_length = broken[at].length;
        assert_true(hp_snapshot_next_call(&snapshot, &stat, &walk, &call));
        assert_int_equal(call.note_length, 0);
        assert_int_equal(call.start, BUILDER_START + 2);
    }
    log->calls[2].note = (uint32_t)builder_size(&builder) - 2; /* its end is beyond that of the file */
    log->calls[2].note_length = 3;
    struct hp_walk walk = {0};
    assert_true(hp_snapshot_next_call(&snapshot, &stat, &walk, &call));
    assert_int_equal(call.note_length, 0);
    static const uint32_t nowhere[] = {8, 4096 - 8, UINT32_MAX, 1 << 20, 8193};
    for (size_t at = 0; at < sizeof nowhere / sizeof nowhere[0]; at++) {
        stat.log = nowhere[at];
        assert_int_equal(walk_log(&stat, starts, 8), 0);
    }
    free(copy);
}

/* The writer goes on between two steps of the walk: what it has overwritten, or may be at work on, is not shown. */
static void calls_that_are_overwritten_end_the_walk(void **state)
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
        assert_int_equal(left, later < 2 ? 2 - later : 0);
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
static void calls_of_a_copy_are_read_anew(void **state)
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
    for (uint64_t at = 4; at <= 9; at++) { /* all places are used anew */
        struct hp_call *newer = builder_logged_call(&builder, node, at, 7, 9, NULL);
        newer->note = ((const struct hp_call_log *)(const void *)(copy + stat.log))->calls[0].note;
        newer->note_length = 3;
        memcpy(builder_at(&builder, newer->note), "new", 3);
    }
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
    assert_true(count <= builder_size(&builder) / sizeof(struct hp_call));
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

static void broken_slowest_calls_are_none(void **state)
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

/* ------------------------------------------------------------------------------------------- hostile */

/* Sanitizers and valgrind take their time, and ThreadSanitizer has nothing to find here. */
#if defined(__has_feature)
#define HAS_FEATURE(name) __has_feature(name)
#else
#define HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_THREAD__) || HAS_FEATURE(thread_sanitizer)
#define ROUNDS 100u
#elif defined(__SANITIZE_ADDRESS__) || HAS_FEATURE(address_sanitizer)
#define ROUNDS 1000u
#else
#define ROUNDS 3000u
#endif

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

static void lists_that_bite_their_tails_end(void **state)
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

static void counters_may_be_anything(void **state)
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(says_what_is_wrong, set_up, tear_down),
        cmocka_unit_test_setup_teardown(copies_the_header, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_finished_session_ends_when_it_says, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_running_session_ends_now, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_dead_session_ends_at_its_last_sign_of_life, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_dead_session_ends_when_it_was_last_seen, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_unknown_rate_is_not_invented, set_up, tear_down),
        cmocka_unit_test_setup_teardown(text_is_checked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sites_are_found_by_number, set_up, tear_down),
        cmocka_unit_test_setup_teardown(walks_find_everything_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_chunk_that_is_cut_off_hides_no_other, set_up, tear_down),
        cmocka_unit_test_setup_teardown(durations_have_their_places, set_up, tear_down),
        cmocka_unit_test_setup_teardown(logs_are_walked_from_the_newest, set_up, tear_down),
        cmocka_unit_test_setup_teardown(calls_have_all_that_is_known_of_them, set_up, tear_down),
        cmocka_unit_test_setup_teardown(broken_logs_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(calls_that_are_overwritten_end_the_walk, set_up, tear_down),
        cmocka_unit_test_setup_teardown(calls_of_a_copy_are_read_anew, set_up, tear_down),
        cmocka_unit_test_setup_teardown(shared_logs_are_walked_within_bounds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_slowest_call_has_its_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(broken_slowest_calls_are_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(survives_being_cut_anywhere, set_up, tear_down),
        cmocka_unit_test_setup_teardown(survives_flipped_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(survives_random_words, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lists_that_bite_their_tails_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(shared_lists_are_walked_within_bounds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(counters_may_be_anything, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
