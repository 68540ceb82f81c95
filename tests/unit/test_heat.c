/*
 * The heat map of a session: what was counted per slot and bucket is read again, also after slots were merged; and
 * that of a session whose functions get slower. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1 /* memfd_create */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "arena.h"
#include "heat_feed.h"
#include "heat_map.h"
#include "heat_writer.h"
#include "model.h"
#include "scratch_folder.h"
#include "session_builder.h"
#include "snapshot.h"

#define SLOT HP_AXIS_FIRST_SLOT_NS
#define MS UINT64_C(1000000)
#define START (100 * SLOT)

static struct hp_heat_writer writer;
static struct hp_heat heat;
static hp_heat_row rows[HP_HEAT_SLOTS];
static char path[64];

static int set_up(void **state)
{
    (void)state;
    const int fd = memfd_create("heat", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return !(fd >= 0 && hp_heat_begin(&writer, fd, 42, 77, START));
}

static int tear_down(void **state)
{
    (void)state;
    close(writer.fd);
    return 0;
}

/* `count` calls of so many ticks end in the slots before `to`, evenly since `from`. */
static void add(uint32_t site, uint64_t ticks, uint64_t count, uint64_t from, uint64_t to)
{
    uint64_t calls[HP_HEAT_BUCKETS] = {0};
    const uint32_t place = hp_heat_track(&writer, site, START + from);
    assert_true(place < HP_HEAT_SITES);
    calls[hp_heat_bucket(ticks)] = count;
    assert_true(hp_heat_add(&writer, place, calls, START + from, START + to) && hp_heat_write(&writer, START + to));
}

/* As hp_regular_open refuses links, the file is opened by its descriptor. */
static void read_site(uint32_t site)
{
    heat.fd = writer.fd;
    assert_int_equal(pread(heat.fd, &heat.header, sizeof heat.header, 0), sizeof heat.header);
    assert_int_equal(pread(heat.fd, heat.sites, sizeof heat.sites, sizeof heat.header), sizeof heat.sites);
    uint32_t place = 0;
    while (place < HP_HEAT_SITES && heat.sites[place].id != site + 1)
        place++;
    assert_true(hp_heat_rows(&heat, place, rows));
}

static uint64_t count_at(uint32_t slot, uint64_t ticks)
{
    uint64_t sum = 0;
    for (uint32_t at = 0; at < HP_HEAT_CELLS; at++)
        if (hp_heat_count_of(rows[slot][at]) > 0 && hp_heat_bucket_of(rows[slot][at]) == hp_heat_bucket(ticks))
            sum += hp_heat_count_of(rows[slot][at]);
    return sum;
}

static uint64_t count_in(uint32_t slot)
{
    uint64_t sum = 0;
    for (uint32_t at = 0; at < HP_HEAT_CELLS; at++)
        sum += hp_heat_count_of(rows[slot][at]);
    return sum;
}

/* -------------------------------------------------------------------------------------------------- tests */

static void buckets_are_half_octaves(void **state)
{
    (void)state;
    static const uint64_t ticks[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 15, 16, 1000, UINT64_MAX};
    static const uint32_t truth[] = {0, 0, 2, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 19, 127};
    for (size_t at = 0; at < sizeof ticks / sizeof ticks[0]; at++)
        assert_int_equal(hp_heat_bucket(ticks[at]), truth[at]);
    for (uint32_t bucket = 2; bucket < HP_HEAT_BUCKETS; bucket++) {
        assert_int_equal(hp_heat_bucket(hp_heat_least_ticks(bucket)), bucket);
        assert_true(hp_heat_bucket(hp_heat_least_ticks(bucket) - 1) < bucket);
    }
}

/* Exact up to a million, then to a millionth. */
static void counts_of_any_size(void **state)
{
    (void)state;
    for (uint64_t count = 1; count < UINT64_C(1) << 50; count = count * 3 + 1) {
        const uint64_t read = hp_heat_count_of(hp_heat_cell(5, count));
        assert_int_equal(hp_heat_bucket_of(hp_heat_cell(5, count)), 5);
        if (count < 1000000)
            assert_int_equal(read, count);
        assert_true(read <= count + count / 1000000 && count <= read + read / 1000000);
    }
}

static void slots_keep_what_was_added(void **state)
{
    (void)state;
    for (uint32_t slot = 0; slot < 20; slot++)
        add(7, slot < 10 ? 1000 : 4000, 50 + slot, slot * SLOT, (slot + 1) * SLOT - 1);
    read_site(7);
    assert_int_equal(heat.header.used, 20);
    for (uint32_t slot = 0; slot < 20; slot++) {
        assert_int_equal(count_at(slot, 1000), slot < 10 ? 50 + slot : 0);
        assert_int_equal(count_at(slot, 4000), slot < 10 ? 0 : 50 + slot);
    }
}

/* Calls between two readings are spread over the slots of that time, and none is lost. */
static void late_calls_are_spread(void **state)
{
    (void)state;
    add(7, 1000, 1001, SLOT / 2, 4 * SLOT + SLOT / 2);
    add(7, 9000, 1, 4 * SLOT + SLOT / 2, 5 * SLOT + 1);
    read_site(7);
    static const uint64_t truth[] = {125, 250, 251, 250, 125};
    for (uint32_t slot = 0; slot < 5; slot++)
        assert_in_range(count_at(slot, 1000), truth[slot] - 1, truth[slot] + 1);
    assert_int_equal(
        count_at(0, 1000) + count_at(1, 1000) + count_at(2, 1000) + count_at(3, 1000) + count_at(4, 1000), 1001);
    assert_int_equal(count_at(4, 9000), 1);
}

/* 1 ms in the first half, 4 ms in the second, for four times as long as there are slots. */
static void slots_are_merged_when_full(void **state)
{
    (void)state;
    for (uint32_t slot = 0; slot < 4 * HP_HEAT_SLOTS; slot++)
        add(7, slot < 2 * HP_HEAT_SLOTS ? MS : 4 * MS, 3, slot * SLOT, (slot + 1) * SLOT - 1);
    read_site(7);
    assert_int_equal(heat.header.used, HP_HEAT_SLOTS);
    assert_int_equal(heat.header.slot_ns, 4 * SLOT);
    assert_int_equal(heat.header.generation, 4);
    for (uint32_t slot = 0; slot < HP_HEAT_SLOTS; slot++) {
        assert_int_equal(count_at(slot, MS), slot < HP_HEAT_SLOTS / 2 ? 12 : 0);
        assert_int_equal(count_at(slot, 4 * MS), slot < HP_HEAT_SLOTS / 2 ? 0 : 12);
    }
}

/* With more buckets than cells, rare neighbours share one; the number of calls stays, and so do the outer ones. */
static void many_buckets_share_cells(void **state)
{
    (void)state;
    for (uint32_t bucket = 10; bucket < 30; bucket++)
        add(7, hp_heat_least_ticks(bucket), 10 * bucket, 0, 1);
    add(7, UINT64_C(1) << 40, 1, 0, 1);
    read_site(7);
    uint64_t sum = 1;
    for (uint32_t bucket = 10; bucket < 30; bucket++)
        sum += 10 * bucket;
    assert_int_equal(count_in(0), sum);
    assert_int_equal(count_at(0, UINT64_C(1) << 40), 1);
}

static void function_that_gives_way_leaves_nothing(void **state)
{
    (void)state;
    for (uint32_t site = 0; site < HP_HEAT_SITES; site++)
        add(site, 1000, 5, 0, 1);
    assert_int_equal(hp_heat_track(&writer, 999, START), HP_HEAT_SITES);
    assert_true(hp_heat_drop(&writer, 3));
    add(999, 4000, 9, 2 * SLOT, 2 * SLOT + 1);
    read_site(999);
    assert_int_equal(count_in(0), 0);
    assert_int_equal(count_at(2, 4000), 9);
    assert_int_equal(heat.sites[3].first, 2);
}

/* A changed file is not mixed with what was known of it. */
static void changed_file_is_refused(void **state)
{
    (void)state;
    add(7, 1000, 5, 0, 1);
    read_site(7);
    assert_true(hp_heat_drop(&writer, 0));
    assert_false(hp_heat_rows(&heat, 0, rows));
    assert_false(hp_heat_rows(&heat, 1, rows));
    assert_false(hp_heat_rows(&heat, HP_HEAT_SITES, rows));
    assert_false(hp_heat_open(&heat, "/dev/null"));
    assert_false(hp_heat_open(&heat, path)); /* a link */
}

/* --------------------------------------------------------------------------------------------- a session */

static struct session_builder builder;
static struct hp_axis_writer axis;

static void write_session(int fd)
{
    assert_int_equal(pwrite(fd, builder.bytes, builder_size(&builder), 0), builder_size(&builder));
}

/* Through the feed and the model: two threads call a function, 1 ms each in the first second, then 4 ms. */
static void function_that_gets_slower(void **state)
{
    (void)state;
    static struct hp_arena arena;
    static struct hp_model model;
    struct hp_heat_feed *feed = NULL;
    struct hp_snapshot snapshot;
    char session[100], name[120];
    double calls[2][HP_HEAT_BUCKETS] = {{0}}, sum = 0;
    builder_init(&builder, 1u << 20);
    struct hp_header *header = builder_header(&builder);
    const uint32_t site = builder_site(&builder, "slow", "a.c", 1), thread = builder_thread(&builder),
                   other = builder_thread(&builder), node = builder_node(&builder, thread, 0, site),
                   other_node = builder_node(&builder, other, 0, site);
    snprintf(session, sizeof session, "%s/1.hotpath", scratch_folder);
    snprintf(name, sizeof name, "%s/1.axis", scratch_folder);
    const int fd = open(session, O_RDWR | O_CREAT | O_TRUNC, 0600);
    const int axis_fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0 && axis_fd >= 0);
    assert_true(hp_axis_begin(&axis, axis_fd, header->pid, header->process_start, header->clock_start.ns));
    hp_axis_put(&axis, HP_AXIS_SITE_TICKS, site, "", 1);
    for (uint32_t slot = 0; slot < 8; slot++) {
        for (unsigned call = 0; call < 10; call++) {
            builder_call(&builder, thread, node, slot < 4 ? MS : 4 * MS, 0);
            builder_call(&builder, other, other_node, slot < 4 ? MS : 4 * MS, 0);
        }
        write_session(fd);
        hp_heat_feed_look(&feed, session, fd, &axis, false, header->clock_start.ns + (slot + 1) * SLOT - 1);
    }
    assert_non_null(feed);
    hp_heat_feed_end(&feed);
    assert_null(feed);
    builder_elapse(&builder, 8 * SLOT, 1);
    assert_null(hp_snapshot_open(&snapshot, builder.bytes, builder_size(&builder), NULL));
    snapshot.path = session;
    const struct hp_snapshot *all[] = {&snapshot};
    const struct hp_snapshots snapshots = {.all = all, .count = 1};
    assert_true(hp_model_build(&model, &arena, &arena, &snapshots));
    const uint64_t moments[] = {0, 4 * SLOT, 8 * SLOT};
    const struct hp_run_steps steps = {.moments = moments, .count = 2};
    const struct hp_site_sums *slow = hp_profile_site(model.profile, 0, site);
    assert_true(hp_heat_map_add(model.profile, slow, &steps, calls));
    for (unsigned step = 0; step < 2; step++)
        for (uint32_t bucket = 0; bucket < HP_HEAT_BUCKETS; bucket++)
            sum += calls[step][bucket];
    assert_int_equal((uint64_t)(calls[0][hp_heat_bucket(MS)] + 0.5), 80);
    assert_int_equal((uint64_t)(calls[1][hp_heat_bucket(4 * MS)] + 0.5), 80);
    assert_int_equal((uint64_t)(sum + 0.5), 160);
    double from, to;
    hp_heat_bucket_ns(&model.run, hp_heat_bucket(MS), &from, &to);
    assert_true(from <= 1e6 && to > 1e6 && to <= 1.5 * from + 1);
    hp_arena_release(&arena);
    builder_free(&builder);
    close(fd);
    close(axis_fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_are_half_octaves),
        cmocka_unit_test(counts_of_any_size),
        cmocka_unit_test_setup_teardown(slots_keep_what_was_added, set_up, tear_down),
        cmocka_unit_test_setup_teardown(late_calls_are_spread, set_up, tear_down),
        cmocka_unit_test_setup_teardown(slots_are_merged_when_full, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_buckets_share_cells, set_up, tear_down),
        cmocka_unit_test_setup_teardown(function_that_gives_way_leaves_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(changed_file_is_refused, set_up, tear_down),
        cmocka_unit_test(function_that_gets_slower),
    };
    return cmocka_run_group_tests(tests, make_scratch_folder, remove_scratch_folder);
}
