/* How many threads of a run were running at a time, by switches and by samples. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "running_threads.h"

#define MS UINT64_C(1000000)

/* ------------------------------------------------------------------------------------------------- by switches */

static struct hp_switches switches = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void put(size_t processor, uint64_t ms, bool is_running)
{
    hp_switches_put(&switches, processor, ms * MS, is_running);
}

static int end_switches(void **state)
{
    (void)state;
    hp_switches_free(&switches);
    return 0;
}

/*
 * A sample each millisecond on each CPU that runs a thread of the run: 600 ms on one CPU, then 300 ms on both, with
 * the wake-up of another thread in between. Each part has half of the CPU time; the first has two thirds of the
 * time on the clock.
 */
static void samples_are_divided_by_what_ran_then(void **state)
{
    uint64_t cpu[2] = {0}, wall[2] = {0};
    (void)state;
    put(0, 0, true);
    put(1, 200, true);
    put(1, 201, false);
    put(1, 600, true);
    put(0, 900, false);
    put(1, 900, false);
    for (uint64_t ms = 1; ms < 900; ms++)
        for (size_t processor = 0; processor < (ms > 600 ? 2 : 1); processor++) {
            cpu[ms > 600] += MS;
            wall[ms > 600] += hp_wall_part(MS, hp_switches_running(&switches, processor, ms * MS));
        }
    assert_int_equal(cpu[0], 600 * MS);
    assert_int_equal(cpu[1], 2 * 299 * MS);
    assert_in_range(wall[0], 598 * MS, 600 * MS); /* while the other one ran, and at the moment of a switch */
    assert_int_equal(wall[1], 299 * MS);
}

/* One CPU for four threads: each sample finds one running, whatever waits for the CPU. */
static void queued_threads_do_not_count(void **state)
{
    (void)state;
    for (uint64_t ms = 0; ms < 100; ms++) {
        put(0, ms, false);
        put(0, ms, true); /* another thread */
    }
    for (uint64_t ms = 0; ms < 100; ms++)
        assert_int_equal(hp_switches_running(&switches, 0, ms * MS + MS / 2), 1);
}

/* A thread that was running before it was watched, or whose switch was lost, has a sample. */
static void a_sample_shows_that_its_thread_runs(void **state)
{
    (void)state;
    assert_int_equal(hp_switches_running(&switches, 3, 1 * MS), 1);
    assert_int_equal(hp_switches_running(&switches, 0, 2 * MS), 2);
    put(3, 3, false);
    assert_int_equal(hp_switches_running(&switches, 0, 4 * MS), 1);
    assert_int_equal(hp_switches_running(&switches, 3, 5 * MS), 2);
    assert_int_equal(hp_switches_running(&switches, 100000, 5 * MS), 1);
}

/* Nobody asks for a long time; what is forgotten still counts. */
static void many_switches(void **state)
{
    (void)state;
    put(1, 0, true);
    for (uint64_t at = 1; at <= 100000; at++) {
        hp_switches_put(&switches, 0, at, at & 1);
        if (at % 1000 == 0)
            hp_switches_forget(&switches, at - 500);
        if (at == 50001)
            assert_int_equal(hp_switches_running(&switches, 1, at), 2);
    }
    assert_int_equal(hp_switches_running(&switches, 1, 100000), 1);
    assert_in_range(switches.lines[0].room, 1, 10000);
}

/* -------------------------------------------------------------------------------------------------- by samples */

struct found {
    uint64_t wall[4];
    size_t count;
    uint32_t most;
};

static void note(void *context, const struct hp_timed_sample *sample, uint32_t running)
{
    struct found *found = context;
    found->wall[sample->node] += hp_wall_part(sample->ns, running);
    found->count++;
    if (running > found->most)
        found->most = running;
}

static struct hp_timed_samples samples;

static int end_samples(void **state)
{
    (void)state;
    hp_timed_samples_free(&samples);
    return 0;
}

/* A thread that computes from one time to another. Samples, every `each` milliseconds, are up to 0.3 ms late. */
static void compute(uint64_t from_ms, uint64_t to_ms, uint64_t each, uint32_t node)
{
    for (uint64_t ms = from_ms + each, before = from_ms * MS; ms <= to_ms; ms += each) {
        const uint64_t late = ms < to_ms ? ms * ms % 30 * MS / 100 : 0, end = ms * MS + late;
        assert_true(hp_timed_samples_add(&samples, &(struct hp_timed_sample){end, end - before, node, 0, false}));
        before = end;
    }
}

static void assert_near(uint64_t ns, uint64_t ms) { assert_in_range(ns, ms * MS * 97 / 100, ms * MS * 103 / 100); }

static void samples_are_divided_by_those_beside_them(void **state)
{
    struct found found = {.count = 0};
    (void)state;
    compute(1000, 1600, 1, 0);
    compute(1600, 1900, 1, 1);
    compute(1600, 1900, 4, 2); /* with less frequent samples */
    hp_timed_samples_take(&samples, UINT64_MAX, note, &found);
    assert_int_equal(found.count, 600 + 300 + 75);
    assert_near(found.wall[0], 600);
    assert_near(found.wall[1] + found.wall[2], 300);
    assert_near(found.wall[1], 150);
    assert_int_equal(samples.count, 0);
}

/* They are given as they arrive; each is put once, and what comes later runs beside earlier ones. */
static void samples_arrive_in_parts(void **state)
{
    struct found found = {.count = 0};
    (void)state;
    for (uint64_t ms = 1000; ms < 1900; ms += 10) {
        compute(ms, ms + 10, 1, 0);
        if (ms >= 1600)
            compute(ms, ms + 10, 1, 1);
        hp_timed_samples_take(&samples, (ms - 50) * MS, note, &found);
        assert_in_range(samples.count, 1, 300);
    }
    hp_timed_samples_take(&samples, UINT64_MAX, note, &found);
    assert_int_equal(found.count, 900 + 300);
    assert_near(found.wall[0], 600 + 150);
    assert_near(found.wall[1], 150);
}

/* Two threads take turns on one CPU, 4 ms each: a queued one has no sample in that time. */
static void threads_that_take_turns_run_alone(void **state)
{
    struct found found = {.count = 0};
    (void)state;
    for (uint64_t ms = 1000; ms < 1400; ms += 8) {
        compute(ms, ms + 4, 1, 0);
        compute(ms + 4, ms + 8, 1, 1);
    }
    hp_timed_samples_take(&samples, UINT64_MAX, note, &found);
    assert_near(found.wall[0], 200);
    assert_near(found.wall[1], 200);
}

/* Of samples that stand for more time than has passed, no more count than there are CPUs. */
static void no_more_run_than_there_are_processors(void **state)
{
    struct found found = {.count = 0};
    (void)state;
    samples.processors = 2;
    for (uint32_t thread = 0; thread < 4; thread++)
        compute(1000, 1100, 10, thread);
    hp_timed_samples_take(&samples, UINT64_MAX, note, &found);
    assert_int_equal(found.most, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(samples_are_divided_by_what_ran_then, end_switches),
        cmocka_unit_test_teardown(queued_threads_do_not_count, end_switches),
        cmocka_unit_test_teardown(a_sample_shows_that_its_thread_runs, end_switches),
        cmocka_unit_test_teardown(many_switches, end_switches),
        cmocka_unit_test_teardown(samples_are_divided_by_those_beside_them, end_samples),
        cmocka_unit_test_teardown(samples_arrive_in_parts, end_samples),
        cmocka_unit_test_teardown(threads_that_take_turns_run_alone, end_samples),
        cmocka_unit_test_teardown(no_more_run_than_there_are_processors, end_samples),
    };
    return cmocka_run_group_tests_name("running_threads", tests, NULL, NULL);
}
