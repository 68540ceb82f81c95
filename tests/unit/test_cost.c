/* The cost of measuring for a run, from known numbers. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cost.h"
#include "function_profile.h"
#include "object_layout.h"
#include "report_fixture.h"
#include "task_layout.h"
#include "trust.h"

/*
 * A session of a millisecond on one core, whose ticks are nanoseconds, with a function that has calls and a tree
 * that has a thread.
 */
static uint32_t thread, node;

static int set_up(void **state)
{
    fixture_set_up(state);
    struct hp_header *header = builder_header(&builder);
    thread = builder_thread(&builder);
    node = builder_node(&builder, thread, 0, builder_site(&builder, "f", "f.c", 1));
    header->cores = 1;
    header->zone_cost_ps = 100000;
    header->counted_cost_ps = 20000;
    header->function_cost_ps = 150000;
    header->function_counted_ps = 30000;
    header->alloc_cost_ps = 10000;
    builder_elapse(&builder, 1000000, 1);
    return 0;
}

static struct hotpath_node_ *stored_node(uint32_t offset) { return builder_at(&builder, offset); }
static struct hp_thread *stored_thread(void) { return builder_at(&builder, thread); }

static void give_calls(uint32_t offset, uint64_t calls, uint64_t untimed)
{
    stored_node(offset)->calls = calls;
    stored_node(offset)->untimed = untimed;
}

/* A function that the compiler measures: its file is known. */
static uint32_t compiled_site(void)
{
    const uint32_t site = builder_site(&builder, "g", "g.c", 0), image = builder_text(&builder, "/bin/g");
    struct hp_site *sites = builder_at(&builder, builder_header(&builder)->site_chunks[0]);
    sites[site].image = image;
    return site;
}

/* The fixture shows shares; the run is a millisecond long. */
static void assert_cost_ns(double ns)
{
    fixture_build();
    assert_float_equal(results->trust->share_percent / 100 * 1000000, ns, 0.01);
}

/* Most of the run is the program's own. */
static void assert_least_ns(double ns)
{
    fixture_build();
    assert_float_equal(results->trust->least_percent / 100 * 1000000, ns, 0.01);
}

static void timed_zones_have_a_cost(void **state)
{
    (void)state;
    give_calls(node, 1000, 0);
    assert_cost_ns(1000 * 100);
}

static void counted_zones_have_a_cost(void **state)
{
    (void)state;
    give_calls(node, 1600, 1500);
    assert_cost_ns(100 * 100 + 1500 * 20);
}

/* The CPU may count while the program waits. */
static void least_cost_of_counted_zones_is_zero(void **state)
{
    (void)state;
    give_calls(node, 1600, 1500);
    assert_least_ns(100 * 100);
}

/* 42,000 calls of 20 ns: of a millisecond 160 us are left in which they can have been counted. */
static void least_cost_grows_when_counting_exceeds_the_run_time(void **state)
{
    (void)state;
    give_calls(node, 42000, 42000);
    assert_cost_ns(42000 * 20);
    assert_least_ns(42000 * 20 - 160000);
}

static void instrumented_functions_have_their_own_cost(void **state)
{
    (void)state;
    give_calls(builder_node(&builder, thread, node, compiled_site()), 300, 200);
    give_calls(node, 10, 0);
    assert_cost_ns(10 * 100 + 100 * 150 + 200 * 30);
}

static void instrumented_functions_without_a_known_cost_count_as_zones(void **state)
{
    (void)state;
    builder_header(&builder)->function_cost_ps = 0;
    give_calls(builder_node(&builder, thread, node, compiled_site()), 300, 0);
    assert_cost_ns(300 * 100);
}

/* A CPU hides 64 of 100 ns where it waits, and none where it does not: a zone of 32 or of 100 ns. */
static void cost_of_a_timed_zone_is_between_hidden_and_alone(void **state)
{
    (void)state;
    give_calls(node, 1000, 0);
    give_calls(builder_node(&builder, thread, node, compiled_site()), 100, 0);
    builder_header(&builder)->hidden_cost_ps = 64000;
    assert_cost_ns(1000 * 56.70979 + 100 * 111.01351);
}

/* 9,500 zones of 100 ns in a millisecond leave little to hide behind: two thirds of the way from 56.7 ns. */
static void cost_of_zones_that_take_all_of_the_time_is_that_of_zones_alone(void **state)
{
    (void)state;
    give_calls(node, 9500, 0);
    builder_header(&builder)->hidden_cost_ps = 64000;
    builder_elapse(&builder, 4000000, 1); /* others had the CPU for the rest */
    builder_header(&builder)->used_ns = 1000000;
    builder_header(&builder)->preempted = 1;
    assert_cost_ns(9500 * (56.709788 + (100 - 56.709788) * 2 / 3));
}

/* ------------------------------------------------------------------------------------------------------ objects */

static uint32_t part_of(const char *kind)
{
    return builder_part(&builder, builder_object(&builder, kind, kind, 1), thread);
}

static uint64_t *counts_of(uint32_t part) { return ((struct hp_part *)builder_at(&builder, part))->count; }

static void values_and_gauges_have_a_cost(void **state)
{
    (void)state;
    counts_of(part_of("value"))[HP_VALUE_UPDATES] = 1000;
    assert_cost_ns(1000 * 100);
    counts_of(part_of("count"))[HP_VALUE_UPDATES] = 100;
    assert_cost_ns(1100 * 100);
    counts_of(part_of("gauge"))[HP_VALUE_UPDATES] = 10;
    assert_cost_ns(1100 * 100 + 10 * 130);
}

static void tasks_have_a_cost_beside_their_polls(void **state)
{
    (void)state;
    uint64_t *counts = counts_of(part_of("task"));
    counts[HP_TASK_CREATED] = 100;
    counts[HP_TASK_READY] = 70;
    counts[HP_TASK_CANCELLED] = 30;
    assert_cost_ns(200 * 120);
}

static void set_changes(uint32_t part, uint32_t changes)
{
    ((struct hp_part *)builder_at(&builder, part))->sequence = 2 * changes;
}

/* Many items at once are one event. */
static void events_of_channels_have_a_cost(void **state)
{
    (void)state;
    const uint32_t part = part_of("channel");
    counts_of(part)[HP_CHANNEL_SENT] = 1000000;
    set_changes(part, 1000);
    assert_cost_ns(1000 * 65);
}

static void streams_loops_and_found_channels_have_a_cost(void **state)
{
    (void)state;
    set_changes(part_of("stream"), 1000);
    assert_cost_ns(1000 * 80);
    set_changes(part_of("loop"), 100);
    assert_cost_ns(1000 * 80 + 100 * 85);
    set_changes(part_of("pipe"), 10);
    assert_cost_ns(1000 * 80 + 100 * 85 + 10 * 130);
    set_changes(part_of("something new"), 10000);
    assert_cost_ns(1000 * 80 + 100 * 85 + 10 * 130);
}

/* After 2^31 changes the number begins again; one item each tells how many there were. */
static void changes_are_counted_beyond_their_word(void **state)
{
    (void)state;
    const uint32_t part = part_of("channel");
    const double all = 2147483648.0 + 500;
    counts_of(part)[HP_CHANNEL_SENT] = (uint64_t)all;
    set_changes(part, 500);
    fixture_build();
    assert_float_equal(results->trust->cost_ns, all * 65, 1);
    counts_of(part)[HP_CHANNEL_SENT] = (uint64_t)(1.7 * all); /* several at once */
    fixture_build();
    assert_float_equal(results->trust->cost_ns, 500 * 65, 1);
}

/* The thread that used them is delayed by them. */
static void objects_delay_their_threads(void **state)
{
    (void)state;
    const uint32_t other = builder_thread(&builder);
    const uint32_t object = builder_object(&builder, "value", "v", 1);
    counts_of(builder_part(&builder, object, thread))[HP_VALUE_UPDATES] = 300;
    counts_of(builder_part(&builder, object, other))[HP_VALUE_UPDATES] = 400;
    builder_header(&builder)->cores = 8;
    assert_cost_ns(400 * 100);
    give_calls(node, 200, 0);
    assert_cost_ns(300 * 100 + 200 * 100);
}

/* ---------------------------------------------------------------------------------------- what it is a share of */

/* Half of the run was spent waiting for a CPU that other programs had. */
static void share_is_that_of_the_cpu_time_where_cpus_are_taken(void **state)
{
    (void)state;
    give_calls(node, 1000, 0);
    builder_header(&builder)->used_ns = 500000;
    fixture_build();
    assert_false(results->trust->is_of_cpu);
    assert_float_equal(results->trust->share_percent, 10, 0.001);
    builder_header(&builder)->preempted = 1; /* in half a millisecond */
    fixture_build();
    assert_true(results->trust->is_of_cpu);
    assert_float_equal(results->trust->share_percent, 20, 0.001);
}

/* Some preemptions per second come from the kernel's own threads. */
static void rare_preemptions_do_not_count(void **state)
{
    (void)state;
    give_calls(node, 1000, 0);
    builder_elapse(&builder, 1000000000, 1);
    builder_header(&builder)->used_ns = 500000000;
    builder_header(&builder)->preempted = 20;
    fixture_build();
    assert_false(results->trust->is_of_cpu);
    builder_header(&builder)->preempted = 30;
    fixture_build();
    assert_true(results->trust->is_of_cpu);
    assert_float_equal(results->trust->share_percent, 0.02, 0.0001);
}

/* As in a run with processes that were killed. */
static void share_is_that_of_the_run_if_a_cpu_time_is_unknown(void **state)
{
    (void)state;
    give_calls(node, 1000, 0);
    builder_header(&builder)->preempted = 100;
    fixture_build();
    assert_false(results->trust->is_of_cpu);
    assert_float_equal(results->trust->share_percent, 10, 0.001);
}

static void allocations_are_counted_in_pairs(void **state)
{
    (void)state;
    struct hp_alloc_thread *alloc = builder_alloc_thread(&builder, thread);
    alloc->count = 700;
    alloc->freed_count = 300;
    assert_cost_ns(500 * 12);
    builder_header(&builder)->late_count = 100;
    builder_header(&builder)->late_frees = 100;
    assert_cost_ns(600 * 12);
}

static void timed_slow_paths_stand_for_untimed_ones(void **state)
{
    (void)state;
    stored_thread()->slow_ways = 1000;
    stored_thread()->slow_ticks = 2000;
    assert_cost_ns(2000 * HP_SLOW_PERIOD);
}

static void samples_include_the_cost_of_the_kernel(void **state)
{
    (void)state;
    struct hp_cpu_thread *cpu = builder_cpu_thread(&builder, thread, 16);
    cpu->samples = cpu->perf_samples = 10;
    cpu->spent_ticks = 5000;
    assert_cost_ns(5000 + 10 * 4000 * 0.8); /* not weighed */
    builder_header(&builder)->interrupt_ticks = 2000;
    assert_cost_ns(5000 + 10 * 2000 * 0.8);
    cpu = builder_at(&builder, stored_thread()->cpu);
    cpu->perf_ticks = 3000; /* caches are as cold for the kernel as for the handler */
    assert_cost_ns(5000 + 10 * 2000 * 0.8 + 3000 * 15);
    cpu = builder_at(&builder, stored_thread()->cpu);
    cpu->samples = 14; /* four by the timer */
    cpu->perf_switches = 11;
    assert_cost_ns(5000 + 10 * 2000 * 0.8 + 3000 * 15 + 4 * 3000 + 11 * 3200); /* not weighed */
    builder_header(&builder)->pause_ticks = 1500;
    assert_cost_ns(5000 + 10 * 2000 * 0.8 + 3000 * 15 + 4 * 3000 + 11 * 1500);
}

static void observer_costs_its_share_of_the_cores(void **state)
{
    (void)state;
    builder_waits(&builder, 4)->watcher_ns = 60000;
    assert_cost_ns(60000);
    builder_header(&builder)->cores = 4;
    assert_cost_ns(15000);
}

/* Each thread is delayed by its own measuring, at the same time as the others. */
static void busiest_thread_counts_with_enough_cores(void **state)
{
    (void)state;
    const uint32_t other = builder_thread(&builder);
    give_calls(builder_node(&builder, other, 0, 0), 400, 0);
    give_calls(node, 300, 0);
    builder_header(&builder)->cores = 8;
    assert_cost_ns(400 * 100);
    builder_header(&builder)->cores = 1;
    assert_cost_ns(700 * 100);
}

/* As is known where CPU time was measured. */
static void threads_sharing_a_core_all_count(void **state)
{
    (void)state;
    const uint32_t other = builder_thread(&builder);
    give_calls(builder_node(&builder, other, 0, 0), 400, 0);
    give_calls(node, 300, 0);
    struct hp_header *header = builder_header(&builder);
    header->cores = 8;
    header->features |= HP_FEATURE_CPU;
    header->cpu_latest_ns = header->cpu_start_ns + 900000;
    assert_cost_ns(700 * 100);
    builder_header(&builder)->cpu_latest_ns = builder_header(&builder)->cpu_start_ns + 1400000;
    assert_cost_ns(500 * 100);
    builder_header(&builder)->cpu_latest_ns = builder_header(&builder)->cpu_start_ns + 8000000;
    assert_cost_ns(400 * 100);
}

/* Beginning and ending the session were timed, loading was not. */
static void sessions_of_a_run_have_a_cost(void **state)
{
    (void)state;
    struct hp_header *header = builder_header(&builder);
    header->features |= HP_FEATURE_RUN;
    header->session_ns = 70000;
    assert_cost_ns(70000 + 150000);
    builder_header(&builder)->loading_ns = 90000;
    assert_cost_ns(70000 + 90000);
}

/* Executed ones load the library, forked ones have it. */
static void brief_processes_have_a_cost(void **state)
{
    (void)state;
    struct hp_header *header = builder_header(&builder);
    header->brief = 3;
    header->loading_ns = 90000;
    assert_cost_ns(3 * 40000);
    builder_header(&builder)->exec_count = 1;
    assert_cost_ns(3 * 90000);
}

/* If the program used more CPU time than one CPU has, that much of its time passed at once. */
static void own_time_on_stacks_is_a_cost(void **state)
{
    (void)state;
    struct hp_function_profile functions = {.counts.samples = 1000, .cpu_ns = 800000, .own_ns = 300000};
    fixture_build();
    struct hp_model *model = results->model;
    const struct hp_cost cost = hp_cost_of(model->arena, model->profile, &functions);
    assert_float_equal(cost.most, 0.3, 0.00001);
    assert_float_equal(cost.least, 0.3, 0.00001);
    functions.cpu_ns = 2000000;
    assert_float_equal(hp_cost_of(model->arena, model->profile, &functions).most, 0.15, 0.00001);
    functions.counts.samples = 3;
    assert_float_equal(hp_cost_of(model->arena, model->profile, &functions).most, 0, 0.00001);
}

/* Only if perf samples all threads from outside. */
static void switches_are_slower_under_perf(void **state)
{
    (void)state;
    struct hp_function_profile functions = {
        .counts.samples = 1000, .cpu_ns = 800000, .counts.source = HP_STACKS_BY_PERF};
    builder_header(&builder)->switches = 100;
    fixture_build();
    struct hp_model *model = results->model;
    assert_float_equal(hp_cost_of(model->arena, model->profile, &functions).cpu_ns, 100 * 1000, 0.01);
    functions.counts.source = HP_STACKS_BY_TIMERS;
    assert_float_equal(hp_cost_of(model->arena, model->profile, &functions).cpu_ns, 0, 0.01);
}

static void cost_is_at_most_the_run_time(void **state)
{
    (void)state;
    stored_thread()->slow_ticks = UINT64_MAX;
    assert_cost_ns(1000000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(timed_zones_have_a_cost),
        TEST(counted_zones_have_a_cost),
        TEST(least_cost_of_counted_zones_is_zero),
        TEST(least_cost_grows_when_counting_exceeds_the_run_time),
        TEST(instrumented_functions_have_their_own_cost),
        TEST(instrumented_functions_without_a_known_cost_count_as_zones),
        TEST(cost_of_a_timed_zone_is_between_hidden_and_alone),
        TEST(cost_of_zones_that_take_all_of_the_time_is_that_of_zones_alone),
        TEST(values_and_gauges_have_a_cost),
        TEST(tasks_have_a_cost_beside_their_polls),
        TEST(events_of_channels_have_a_cost),
        TEST(streams_loops_and_found_channels_have_a_cost),
        TEST(changes_are_counted_beyond_their_word),
        TEST(objects_delay_their_threads),
        TEST(share_is_that_of_the_cpu_time_where_cpus_are_taken),
        TEST(rare_preemptions_do_not_count),
        TEST(share_is_that_of_the_run_if_a_cpu_time_is_unknown),
        TEST(allocations_are_counted_in_pairs),
        TEST(timed_slow_paths_stand_for_untimed_ones),
        TEST(samples_include_the_cost_of_the_kernel),
        TEST(observer_costs_its_share_of_the_cores),
        TEST(busiest_thread_counts_with_enough_cores),
        TEST(threads_sharing_a_core_all_count),
        TEST(sessions_of_a_run_have_a_cost),
        TEST(brief_processes_have_a_cost),
        TEST(own_time_on_stacks_is_a_cost),
        TEST(switches_are_slower_under_perf),
        TEST(cost_is_at_most_the_run_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
