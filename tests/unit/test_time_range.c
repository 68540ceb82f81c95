/*
 * An interval of a run: the difference of two points of time axes written by the test, for two processes with
 * different starts. SPDX-License-Identifier: MIT
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "arena.h"
#include "axis_writer.h"
#include "model.h"
#include "profile.h"
#include "scratch_folder.h"
#include "session_builder.h"
#include "snapshot.h"
#include "time_range.h"
#include "timeline.h"
#include "timestamp.h"
#include "wait_profile.h"

#define SLOT HP_AXIS_FIRST_SLOT_NS
#define SLOTS 8u
#define LATER (2 * SLOT) /* the second process begins then */

static struct {
    struct session_builder builder;
    struct hp_snapshot snapshot;
    char path[100];
    uint32_t first, second, node;
} processes[2];

static struct hp_arena arena;
static struct hp_model model;
static struct hp_axis_writer writer;

/*
 * What a function had done by a time: `first` works in the first half, `second` in the other. Two calls in a slot.
 */
static uint64_t done(bool is_second, uint64_t ns)
{
    const uint64_t half = SLOTS / 2 * SLOT;
    if (is_second)
        return ns > half ? ns - half : 0;
    return ns < half ? ns : half;
}

static void put_site(uint32_t site, bool is_second, uint64_t ns)
{
    hp_axis_put_from_zero(&writer, HP_AXIS_SITE_CALLS, site, done(is_second, ns) / (SLOT / 2));
    hp_axis_put_from_zero(&writer, HP_AXIS_SITE_TICKS, site, done(is_second, ns));
    hp_axis_put_from_zero(&writer, HP_AXIS_SITE_SELF, site, done(is_second, ns) / 2);
    hp_axis_put_from_zero(&writer, HP_AXIS_SITE_CPU, site, done(is_second, ns) / 4);
    hp_axis_put_from_zero(&writer, HP_AXIS_SITE_BYTES, site, done(is_second, ns) / 8);
    hp_axis_put_from_zero(&writer, HP_AXIS_SITE_KERNEL, site, is_second ? done(is_second, ns) / 8 : 0);
}

static void put_all(unsigned process, uint64_t ns)
{
    put_site(processes[process].first, false, ns);
    put_site(processes[process].second, true, ns);
    hp_axis_put_from_zero(&writer, HP_AXIS_PLACE, 0, done(true, ns) / 2);
    hp_axis_put_from_zero(&writer, HP_AXIS_BESIDE, 0, done(true, ns) / 4);
    hp_axis_put(&writer, HP_AXIS_WAIT, HP_WAIT_PIPE, "", done(true, ns) / 2);
    hp_axis_put(&writer, HP_AXIS_WATCHED, 0, "", ns);
    /* Of the whole run, which began before: something waits for a disk, then something works. */
    hp_axis_put(&writer, HP_AXIS_WORK, 0, "", 1000 + ns);
    hp_axis_put(&writer, HP_AXIS_WORK, 1, "", 900 + done(true, ns));
    hp_axis_put(&writer, HP_AXIS_WORK, 2, "", 100 + done(false, ns) / 2);
}

/* Samples come late in their slots, each a little later than the one before. */
static void write_axis(unsigned process)
{
    char path[120];
    const struct hp_header *header = builder_header(&processes[process].builder);
    assert_true(hp_axis_path(processes[process].path, path, sizeof path));
    const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0 && hp_axis_begin(&writer, fd, header->pid, header->process_start, header->clock_start.ns));
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        const uint64_t ns = slot * SLOT + SLOT / 2 + slot * (SLOT / 16);
        put_all(process, ns);
        hp_axis_put(&writer, HP_AXIS_CPU, 0, "", ns);
        assert_true(hp_axis_write(&writer, header->clock_start.ns + ns));
    }
    put_all(process, SLOTS * SLOT);
    assert_true(hp_axis_amend(&writer, header->clock_start.ns + SLOTS * SLOT));
    close(fd);
}

/* The second process has its sites in the other order. */
static void build_session(unsigned process)
{
    struct session_builder *builder = &processes[process].builder;
    builder_init(builder, (size_t)1 << 20);
    struct hp_header *header = builder_header(builder);
    if (process == 1)
        processes[1].second = builder_site(builder, "second", "phases.c", 2);
    processes[process].first = builder_site(builder, "first", "phases.c", 1);
    if (process == 0)
        processes[0].second = builder_site(builder, "second", "phases.c", 2);
    const uint32_t never = builder_site(builder, "left_out", "phases.c", 3), thread = builder_thread(builder);
    const uint32_t first = builder_node(builder, thread, 0, processes[process].first);
    builder_call(builder, thread, first, SLOTS / 2 * SLOT, 0);
    builder_cpu(builder, thread, first, 400, SLOTS / 2 * SLOT / 4, 0);
    processes[process].node = builder_node(builder, thread, 0, processes[process].second);
    builder_call(builder, thread, processes[process].node, SLOTS / 2 * SLOT, 0);
    builder_call(builder, thread, builder_node(builder, thread, 0, never), 5, 0);
    builder_cpu(builder, thread, processes[process].node, 400, SLOTS / 2 * SLOT / 8, SLOTS / 2 * SLOT / 8);
    builder_alloc_call(builder, processes[process].node,
                       &(struct builder_allocs){.measures = {[HP_ALLOC_OWN_BYTES] = 720}});
    builder_waits(builder, 4)->watched_ns = SLOTS * SLOT;
    builder_wait(builder, processes[process].node, HP_WAIT_PIPE, 0, "", SLOTS / 4 * SLOT);
    builder_elapse(builder, SLOTS * SLOT, 1);
    header->pid = 100 + process;
    header->clock_start.ns += process * LATER;
    header->clock_latest.ns += process * LATER;
    header->clock_start.ticks += process * LATER;
    header->clock_latest.ticks += process * LATER;
    snprintf(processes[process].path, sizeof processes[process].path, "%s/%u.hotpath", scratch_folder, process);
}

static int set_up(void **state)
{
    (void)state;
    build_session(0);
    build_session(1);
    return 0;
}

static int tear_down(void **state)
{
    char command[120];
    (void)state;
    hp_arena_release(&arena);
    for (unsigned process = 0; process < 2; process++)
        builder_free(&processes[process].builder);
    snprintf(command, sizeof command, "rm -f %s/*", scratch_folder);
    return system(command); /* NOLINT(cert-env33-c): the words are our own */
}

/* NULL, or the error. */
static const char *cut(unsigned count, uint64_t from, uint64_t to)
{
    const struct hp_snapshot *all[2] = {&processes[0].snapshot, &processes[1].snapshot};
    const struct hp_snapshots snapshots = {.all = all, .count = count};
    for (unsigned process = 0; process < count; process++) {
        struct session_builder *builder = &processes[process].builder;
        assert_null(hp_snapshot_open(&processes[process].snapshot, builder->bytes, builder_size(builder), NULL));
        processes[process].snapshot.path = processes[process].path;
    }
    hp_arena_release(&arena);
    assert_true(hp_model_build(&model, &arena, &arena, &snapshots));
    return hp_model_cut(&model, from, to);
}

static const struct hp_site_sums *site(const char *name)
{
    for (size_t at = 0; at < model.profile->site_count; at++)
        if (strcmp(model.profile->sites[at]->name, name) == 0)
            return model.profile->sites[at];
    return NULL;
}

/* As the functions would have it, of processes that began so much later. */
static uint64_t expected(bool is_second, unsigned count, uint64_t from, uint64_t to)
{
    uint64_t sum = 0;
    for (unsigned process = 0; process < count; process++) {
        const uint64_t start = process * LATER, end = SLOTS * SLOT;
        const uint64_t a = from > start ? from - start : 0, b = to > start ? to - start : 0;
        sum += done(is_second, b < end ? b : end) - done(is_second, a < end ? a : end);
    }
    return sum;
}

static void assert_near(uint64_t number, uint64_t truth, uint64_t leeway)
{
    assert_true(number <= truth + leeway && truth <= number + leeway);
}

static void assert_times(const char *name, uint64_t ticks, uint64_t leeway)
{
    const struct hp_site_sums *found = site(name);
    const struct hp_sums none = {0}, *sums = found != NULL ? &found->sums : &none;
    assert_near(sums->total, ticks, leeway);
    assert_near(sums->self, ticks / 2, leeway);
    assert_near(sums->calls, ticks / (SLOT / 2), 2 + leeway / (SLOT / 2));
    assert_near(found != NULL ? found->range_cpu_ns : 0, ticks / 4, leeway);
    assert_near(found != NULL ? found->range_kernel_ns : 0, strcmp(name, "second") == 0 ? ticks / 8 : 0, leeway);
    assert_near(found != NULL ? found->range_bytes : 0, ticks / 8, leeway);
}

/* Between two samples things go on evenly, but for the one between which the phases change. */
static void assert_range(unsigned count, uint64_t from, uint64_t to)
{
    assert_null(cut(count, from, to));
    const uint64_t leeway = count * SLOT;
    assert_times("first", expected(false, count, from, to), leeway);
    assert_times("second", expected(true, count, from, to), leeway);
    assert_int_equal(model.run.elapsed_ticks, to - from);
    assert_int_equal(model.run.range->whole_ns, SLOTS * SLOT + (count - 1) * LATER);
    assert_int_equal(model.run.range->unknown, 1);
    assert_null(site("left_out"));
}

static void any_moments(void **state)
{
    (void)state;
    for (unsigned count = 1; count <= 2; count++) {
        const uint64_t end = SLOTS * SLOT + (count - 1) * LATER;
        write_axis(count - 1);
        for (uint64_t from = 0; from < end; from += SLOT * 2 / 3)
            for (uint64_t to = from + SLOT / 7; to <= end; to += SLOT * 3 / 2)
                assert_range(count, from, to);
    }
}

/* Where all is even it is exact: within one phase, to the nearest whole. */
static void within_a_phase(void **state)
{
    (void)state;
    write_axis(0);
    assert_null(cut(1, SLOT / 4, 3 * SLOT));
    assert_times("first", 3 * SLOT - SLOT / 4, 2);
    assert_null(site("second"));
    assert_null(cut(1, 5 * SLOT, 7 * SLOT + 11));
    assert_times("second", 2 * SLOT + 11, 2);
    assert_null(site("first"));
    assert_null(cut(1, 6 * SLOT, SLOTS * SLOT));
    assert_times("second", 2 * SLOT, 2);
}

static void work_in_a_range(void **state)
{
    (void)state;
    write_axis(0);
    assert_null(cut(1, 5 * SLOT, 7 * SLOT + 11));
    struct hp_run_work work = hp_run_work(&model.run);
    assert_true(work.is_known);
    assert_int_equal(work.covered_ns, 2 * SLOT + 11);
    assert_int_equal(work.worked_ns, 2 * SLOT + 11);
    assert_int_equal(work.blocked_ns + work.socket_ns + work.idle_ns, 0);
    assert_null(cut(1, SLOT, 3 * SLOT));
    work = hp_run_work(&model.run);
    assert_int_equal(work.covered_ns, 2 * SLOT);
    assert_int_equal(work.worked_ns, 0);
    assert_int_equal(work.blocked_ns, SLOT);
    assert_int_equal(work.idle_ns, SLOT);
}

/* Stretches that follow one another have together what the run has. */
static void parts_of_a_run(void **state)
{
    (void)state;
    static const uint64_t bounds[] = {0, 3, SLOT, SLOT + 1, 3 * SLOT, 5 * SLOT + 77, 6 * SLOT, 10 * SLOT};
    uint64_t calls = 0, ticks = 0, self = 0, waited = 0;
    write_axis(0);
    write_axis(1);
    for (size_t at = 0; at + 1 < sizeof bounds / sizeof bounds[0]; at++) {
        assert_null(cut(2, bounds[at], bounds[at + 1]));
        const struct hp_site_sums *second = site("second");
        calls += second != NULL ? second->sums.calls : 0;
        ticks += second != NULL ? second->sums.total : 0;
        self += second != NULL ? second->sums.self : 0;
        waited += model.run.range->waits[0].ns[0] + model.run.range->waits[1].ns[0];
    }
    assert_int_equal(calls, 2 * SLOTS);
    assert_int_equal(ticks, SLOTS * SLOT);
    assert_int_equal(self, SLOTS * SLOT / 2);
    assert_int_equal(waited, SLOTS * SLOT / 2);
}

static void waits_of_a_range(void **state)
{
    (void)state;
    write_axis(0);
    assert_null(cut(1, 5 * SLOT, 7 * SLOT));
    const struct hp_run_waits *waits = hp_model_waits(&model);
    assert_int_equal(waits->count, 1);
    assert_string_equal(waits->all[0]->site->name, "second");
    assert_near(waits->all[0]->ns, SLOT, 2);
    assert_near(waits->all[0]->beside_ns, SLOT / 2, 2);
    assert_near(waits->watched_ns, 2 * SLOT, 2);
    assert_null(cut(1, 0, 3 * SLOT));
    assert_int_equal(hp_model_waits(&model)->waited_ns, 0);
}

static void timeline_of_a_range(void **state)
{
    (void)state;
    write_axis(0);
    assert_null(cut(1, 2 * SLOT + 1, 5 * SLOT));
    const struct hp_timeline *timeline = hp_model_timeline(&model);
    assert_int_equal(timeline->from, 2);
    assert_int_equal(timeline->slots, 3);
    for (size_t at = 0; at < timeline->count; at++)
        assert_int_equal(timeline->lines[at].first + timeline->lines[at].count, 3);
}

/* A process that ended before there was anything to see counts where it is inside as a whole. */
static void process_without_history(void **state)
{
    (void)state;
    write_axis(0);
    assert_null(cut(2, 0, 10 * SLOT));
    assert_int_equal(site("first")->sums.total, 2 * (SLOTS / 2) * SLOT);
    const struct hp_site_sums *second = site("second");
    assert_int_equal(second->range_cpu_ns, 2 * (SLOTS / 2) * SLOT / 4);
    assert_int_equal(second->range_bytes, (SLOTS / 2) * SLOT / 8 + 720);
    assert_null(cut(2, SLOT, 9 * SLOT));
    assert_true(site("first")->sums.total < (SLOTS / 2) * SLOT);
}

static void no_history(void **state)
{
    (void)state;
    assert_non_null(strstr(cut(2, 0, SLOT), "no history"));
    /* That of another process that had the name. */
    write_axis(0);
    builder_header(&processes[0].builder)->pid++;
    assert_non_null(strstr(cut(1, 0, SLOT), "no history"));
}

static void moments(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t ns; /* of a run of 100 s; UINT64_MAX: invalid */
    } all[] = {
        {"2s", 2000000000u},       {"2", 2000000000u},     {"1m30s", 90000000000u},
        {"250ms", 250000000u},     {"1.5s", 1500000000u},  {"80%", 80000000000u},
        {"-10s", 90000000000u},    {"-25%", 75000000000u}, {"0", 0},
        {"-0s", 100000000000u},    {"1h", 100000000000u},  {"-1h", 0},
        {"1m2s3ms", 62003000000u}, {"7us", 7000u},         {"", UINT64_MAX},
        {"-", UINT64_MAX},         {"%", UINT64_MAX},      {"s", UINT64_MAX},
        {"1x", UINT64_MAX},        {"1s1m", UINT64_MAX},   {"1s1s", UINT64_MAX},
        {"101%", UINT64_MAX},      {"--1s", UINT64_MAX},   {"1 s", UINT64_MAX},
        {"1e3", UINT64_MAX},       {"1mss", UINT64_MAX},   {".", UINT64_MAX},
    };
    for (size_t at = 0; at < sizeof all / sizeof all[0]; at++) {
        struct hp_timestamp moment;
        if (hp_timestamp_read(all[at].text, &moment))
            assert_int_equal(hp_timestamp_in(&moment, 100000000000u), all[at].ns);
        else
            assert_int_equal(UINT64_MAX, all[at].ns);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(any_moments, set_up, tear_down),
        cmocka_unit_test_setup_teardown(within_a_phase, set_up, tear_down),
        cmocka_unit_test_setup_teardown(work_in_a_range, set_up, tear_down),
        cmocka_unit_test_setup_teardown(parts_of_a_run, set_up, tear_down),
        cmocka_unit_test_setup_teardown(waits_of_a_range, set_up, tear_down),
        cmocka_unit_test_setup_teardown(timeline_of_a_range, set_up, tear_down),
        cmocka_unit_test_setup_teardown(process_without_history, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_history, set_up, tear_down),
        cmocka_unit_test(moments),
    };
    return cmocka_run_group_tests(tests, make_scratch_folder, remove_scratch_folder);
}
