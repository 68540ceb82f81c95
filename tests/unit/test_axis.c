/* The time axis: values read equal values written, also after slots were merged. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* memfd_create */
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

#include "axis_writer.h"

#define START UINT64_C(5000000000)
#define SLOT HP_AXIS_FIRST_SLOT_NS

static struct hp_axis_writer writer;
static unsigned char *bytes;
static char path[64];
static struct hp_axis axis;

static int set_up(void **state)
{
    (void)state;
    const int fd = memfd_create("axis", MFD_CLOEXEC);
    bytes = malloc(HP_AXIS_BYTES);
    assert_true(fd >= 0 && bytes != NULL && hp_axis_begin(&writer, fd, 42, 77, START));
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    close(writer.fd);
    free(bytes);
    return 0;
}

static void read_all(void)
{
    assert_int_equal(pread(writer.fd, bytes, HP_AXIS_BYTES, 0), HP_AXIS_BYTES);
    assert_true(hp_axis_open(&axis, bytes));
}

/* Its place. */
static uint32_t find(uint32_t kind, uint32_t id, struct hp_axis_series *ret_series)
{
    for (uint32_t place = 0; place < HP_AXIS_SERIES; place++)
        if (hp_axis_series(&axis, place, ret_series) && ret_series->kind == kind && ret_series->id == id)
            return place;
    return HP_AXIS_SERIES;
}

static uint64_t value(uint32_t kind, uint32_t id, uint32_t slot)
{
    struct hp_axis_series series;
    const uint32_t place = find(kind, id, &series);
    assert_true(place < HP_AXIS_SERIES);
    return hp_axis_value(&axis, place, slot);
}

/* The sample in the middle of a slot, of slots as they were at first. */
static void sample(uint32_t slot, uint64_t user, uint64_t threads)
{
    hp_axis_put(&writer, HP_AXIS_CPU, 0, "", user);
    hp_axis_put(&writer, HP_AXIS_LIVE, 0, "", threads);
    assert_true(hp_axis_write(&writer, START + slot * SLOT + SLOT / 2));
}

static void slots_keep_what_was_put(void **state)
{
    (void)state;
    for (uint32_t slot = 0; slot < 10; slot++)
        sample(slot, 100 * slot, 20 - slot);
    read_all();
    assert_int_equal(axis.header.used, 10);
    assert_int_equal(axis.header.pid, 42);
    for (uint32_t slot = 0; slot < 10; slot++) {
        assert_int_equal(value(HP_AXIS_CPU, 0, slot), 100 * slot);
        assert_int_equal(value(HP_AXIS_LIVE, 0, slot), 20 - slot);
    }
}

/* Twice as long as there are slots, and then twice that: counters have their last value, levels their highest. */
static void slots_are_merged_when_full(void **state)
{
    (void)state;
    for (uint32_t slot = 0; slot < 4 * HP_AXIS_SLOTS; slot++)
        sample(slot, slot, slot % 4 == 1 ? 1000 + slot : 7);
    read_all();
    assert_int_equal(axis.header.used, HP_AXIS_SLOTS);
    assert_int_equal(axis.header.slot_ns, 4 * SLOT);
    assert_int_equal(axis.header.generation, 4);
    for (uint32_t slot = 0; slot < HP_AXIS_SLOTS; slot++) {
        assert_int_equal(value(HP_AXIS_CPU, 0, slot), 4 * slot + 3);
        assert_int_equal(value(HP_AXIS_LIVE, 0, slot), 1000 + 4 * slot + 1);
    }
}

/* Samples may come very late: every slot still has a value, and no counter falls. */
static void late_samples_fill_the_gap(void **state)
{
    (void)state;
    static const uint32_t slots[] = {0, 1, 7, 300, 511, 513, 5000, 5001, 70000};
    for (size_t at = 0; at < sizeof slots / sizeof slots[0]; at++) {
        sample(slots[at], slots[at] + 1, 3);
        read_all();
        uint64_t before = 0;
        for (uint32_t slot = 0; slot < axis.header.used; slot++) {
            const uint64_t now = value(HP_AXIS_CPU, 0, slot);
            assert_true(now >= before && now > 0);
            before = now;
        }
        assert_int_equal(before, slots[at] + 1);
        assert_int_equal(axis.header.used - 1, slots[at] * SLOT / axis.header.slot_ns);
    }
}

/*
 * A counter that is set to less keeps its value; a level keeps the highest value of its slot, and the next slot
 * starts anew.
 */
static void counters_and_levels(void **state)
{
    (void)state;
    sample(0, 50, 9);
    sample(1, 40, 4);
    read_all();
    assert_int_equal(value(HP_AXIS_CPU, 0, 1), 50);
    assert_int_equal(value(HP_AXIS_LIVE, 0, 1), 4);
}

static void late_series_has_no_earlier_values(void **state)
{
    (void)state;
    struct hp_axis_series series;
    sample(0, 1, 1);
    sample(1, 2, 1);
    hp_axis_put(&writer, HP_AXIS_THREAD, 4711, "worker", 30);
    sample(2, 3, 1);
    read_all();
    assert_true(find(HP_AXIS_THREAD, 4711, &series) < HP_AXIS_SERIES);
    assert_int_equal(series.first, 2);
    assert_string_equal(series.name, "worker");
    assert_int_equal(value(HP_AXIS_THREAD, 4711, 2), 30);
}

/* At the first sample all series start at zero; a series that comes later counts from the previous sample. */
static void series_from_zero_counts_since_the_last_sample(void **state)
{
    (void)state;
    struct hp_axis_series series;
    sample(3, 40, 1);
    hp_axis_put_from_zero(&writer, HP_AXIS_SITE_CALLS, 8, 5);
    sample(4, 50, 1);
    read_all();
    assert_true(find(HP_AXIS_CPU, 0, &series) < HP_AXIS_SERIES);
    assert_int_equal(series.first, 0);
    assert_int_equal(value(HP_AXIS_CPU, 0, 0), 40);
    assert_true(find(HP_AXIS_SITE_CALLS, 8, &series) < HP_AXIS_SERIES);
    assert_int_equal(series.first, 3);
    assert_int_equal(value(HP_AXIS_SITE_CALLS, 8, 3), 0);
    assert_int_equal(value(HP_AXIS_SITE_CALLS, 8, 4), 5);
}

/* One that comes with the very sample for which slots have to become one. */
static void series_added_during_a_merge(void **state)
{
    (void)state;
    struct hp_axis_series series;
    for (uint32_t slot = 0; slot < HP_AXIS_SLOTS; slot++)
        sample(slot, slot, 1);
    hp_axis_put(&writer, HP_AXIS_THREAD, 4711, "worker", 30);
    hp_axis_put_from_zero(&writer, HP_AXIS_SITE_CALLS, 8, 5);
    sample(HP_AXIS_SLOTS, HP_AXIS_SLOTS, 1);
    read_all();
    assert_int_equal(axis.header.used, HP_AXIS_SLOTS / 2 + 1);
    assert_true(find(HP_AXIS_THREAD, 4711, &series) < HP_AXIS_SERIES);
    assert_int_equal(series.first, HP_AXIS_SLOTS / 2);
    assert_int_equal(value(HP_AXIS_THREAD, 4711, HP_AXIS_SLOTS / 2), 30);
    assert_true(find(HP_AXIS_SITE_CALLS, 8, &series) < HP_AXIS_SERIES);
    assert_int_equal(series.first, HP_AXIS_SLOTS / 2 - 1);
    assert_int_equal(value(HP_AXIS_SITE_CALLS, 8, HP_AXIS_SLOTS / 2 - 1), 0);
    assert_int_equal(value(HP_AXIS_SITE_CALLS, 8, HP_AXIS_SLOTS / 2), 5);
}

static void number_of_series_per_kind_is_limited(void **state)
{
    (void)state;
    struct hp_axis_series series;
    for (uint32_t site = 0; site < HP_AXIS_SITES + 5; site++)
        hp_axis_put(&writer, HP_AXIS_SITE_TICKS, site, "", 1000 + (site ^ 5));
    assert_true(hp_axis_has(&writer, HP_AXIS_SITE_TICKS, HP_AXIS_SITES - 1));
    assert_false(hp_axis_has(&writer, HP_AXIS_SITE_TICKS, HP_AXIS_SITES));
    assert_false(hp_axis_has_place(&writer, HP_AXIS_SITE_TICKS, HP_AXIS_SITES));
    assert_true(hp_axis_has_place(&writer, HP_AXIS_SITE_CALLS, HP_AXIS_SITES));
    assert_int_equal(hp_axis_least(&writer, HP_AXIS_SITE_TICKS), 5);
    sample(0, 1, 1);
    hp_axis_drop(&writer, HP_AXIS_SITE_TICKS, 5);
    hp_axis_put(&writer, HP_AXIS_SITE_TICKS, 999, "", 17);
    sample(1, 1, 1);
    read_all();
    assert_true(find(HP_AXIS_SITE_TICKS, 5, &series) == HP_AXIS_SERIES);
    assert_true(find(HP_AXIS_SITE_TICKS, 999, &series) < HP_AXIS_SERIES);
    assert_int_equal(series.first, 1); /* earlier slots belong to another series */
    assert_int_equal(value(HP_AXIS_SITE_TICKS, 999, 1), 17);
}

/* A file that is being changed, is truncated or has any other content is refused. */
static void broken_files_are_refused(void **state)
{
    (void)state;
    static const size_t fields[] = {
        offsetof(struct hp_axis_header, magic),   offsetof(struct hp_axis_header, byte_order),
        offsetof(struct hp_axis_header, version), offsetof(struct hp_axis_header, slots),
        offsetof(struct hp_axis_header, series),  offsetof(struct hp_axis_header, used)};
    const uint32_t odd = 7, wrong = UINT32_MAX;
    sample(0, 1, 1);
    read_all();
    for (size_t at = 0; at < sizeof fields / sizeof fields[0]; at++) {
        read_all();
        memcpy(bytes + fields[at], &wrong, sizeof wrong);
        assert_false(hp_axis_open(&axis, bytes));
    }
    read_all();
    assert_true(pwrite(writer.fd, &odd, sizeof odd, offsetof(struct hp_axis_header, generation)) == sizeof odd);
    assert_false(hp_axis_read(path, bytes));
    memset(bytes, 0xff, HP_AXIS_BYTES);
    memcpy(bytes, &axis.header, sizeof axis.header);
    assert_true(hp_axis_open(&axis, bytes));
    struct hp_axis_series series;
    for (uint32_t place = 0; place < HP_AXIS_SERIES + 3; place++)
        assert_false(hp_axis_series(&axis, place, &series));
    assert_int_equal(hp_axis_value(&axis, HP_AXIS_SERIES, 0), 0);
    assert_int_equal(hp_axis_value(&axis, 0, HP_AXIS_SLOTS), 0);
}

static void file_lies_beside_the_session(void **state)
{
    (void)state;
    char made[64];
    assert_true(hp_axis_path("/a/1-2-0.hotpath", made, sizeof made));
    assert_string_equal(made, "/a/1-2-0.axis");
    assert_false(hp_axis_path("/a/1-2-0.txt", made, sizeof made));
    assert_false(hp_axis_path("/a/1-2-0.hotpath", made, 8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(slots_keep_what_was_put, set_up, tear_down),
        cmocka_unit_test_setup_teardown(slots_are_merged_when_full, set_up, tear_down),
        cmocka_unit_test_setup_teardown(late_samples_fill_the_gap, set_up, tear_down),
        cmocka_unit_test_setup_teardown(counters_and_levels, set_up, tear_down),
        cmocka_unit_test_setup_teardown(late_series_has_no_earlier_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(series_from_zero_counts_since_the_last_sample, set_up, tear_down),
        cmocka_unit_test_setup_teardown(series_added_during_a_merge, set_up, tear_down),
        cmocka_unit_test_setup_teardown(number_of_series_per_kind_is_limited, set_up, tear_down),
        cmocka_unit_test_setup_teardown(broken_files_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(file_lies_beside_the_session, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
