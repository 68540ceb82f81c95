/*
 * Rows of CPU time, from sessions with known numbers. One file: each rule divides the same samples and ticks in
 * another way, and the helpers build these. SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "arena.h"
#include "cpu_profile.h"
#include "function_profile.h"
#include "model.h"
#include "report_fixture.h"

static uint32_t thread, root, main_node, load, parse;
static struct hp_cpu_thread *cpu;

static const hotpath_section *rows(void)
{
    const hotpath_section *section = section_named("cpu");
    assert_non_null(section);
    return section;
}

static uint32_t node_of(struct session_builder *session, uint32_t in, uint32_t parent, const char *name)
{
    const uint32_t node = builder_node(session, in, parent, builder_site(session, name, "src/demo.c", 7));
    builder_call(session, in, node, 1000, 0);
    return node;
}

static uint32_t root_of(struct session_builder *session, uint32_t in)
{
    return ((struct hp_thread *)builder_at(session, in))->root;
}

/* The process started with 1000 ns, 100 of them in the kernel, on its clocks. */
static void begin(struct session_builder *session)
{
    struct hp_header *header = builder_header(session);
    header->cpu_start_ns = header->cpu_latest_ns = 1000;
    header->cpu_start_kernel_ns = header->cpu_latest_kernel_ns = 100;
}

/* main calls load calls parse. */
static void build_calls(void)
{
    begin(&builder);
    thread = builder_thread(&builder);
    root = root_of(&builder, thread);
    main_node = node_of(&builder, thread, 0, "main");
    load = node_of(&builder, thread, main_node, "load");
    parse = node_of(&builder, thread, load, "parse");
    cpu = builder_cpu_thread(&builder, thread, 16);
}

static void build(void)
{
    build_calls();
    builder_cpu(&builder, thread, root, 5, 50, 0);
    builder_cpu(&builder, thread, load, 20, 200, 30);
    builder_cpu(&builder, thread, parse, 70, 600, 20);
    builder_cpu(&builder, thread, main_node, 10, 100, 0);
}

static size_t row_named(const char *name)
{
    for (size_t row = 0; row < hotpath_section_rows(rows()); row++)
        if (strcmp(cell_of(rows(), row, "name").text, name) == 0)
            return row;
    fail_msg("there is no row '%s'", name);
    return 0;
}

static void assert_sums(const char *name, uint64_t samples, uint64_t user, uint64_t kernel)
{
    const size_t row = row_named(name);
    assert_int_equal(cell_of(rows(), row, "samples").count, samples);
    assert_float_equal(cell_of(rows(), row, "user_ns").number, (double)user, 0.1);
    assert_float_equal(cell_of(rows(), row, "kernel_ns").number, (double)kernel, 0.1);
    assert_float_equal(cell_of(rows(), row, "cpu_ns").number, (double)(user + kernel), 0.1);
}

static uint64_t total_named(const char *key)
{
    for (size_t at = 0; at < rows()->total_count; at++)
        if (strcmp(rows()->totals[at].key, key) == 0)
            return rows()->totals[at].cell.count;
    fail_msg("there is no total '%s'", key);
    return 0;
}

static double sum_of(const char *key)
{
    double sum = 0;
    for (size_t row = 0; row < hotpath_section_rows(rows()); row++)
        sum += cell_of(rows(), row, key).number;
    return sum;
}

/* --------------------------------------------------------------------------------------------------------- sums */

static void exclusive_time_is_what_samples_found(void **state)
{
    (void)state;
    build();
    fixture_build();
    assert_int_equal(hotpath_section_rows(rows()), 4);
    assert_string_equal(cell_of(rows(), 0, "name").text, "parse");
    assert_string_equal(cell_of(rows(), 1, "name").text, "load");
    assert_sums("parse", 70, 600, 20);
    assert_sums("load", 20, 200, 30);
    assert_sums("main", 10, 100, 0);
    assert_sums("<outside>", 5, 50, 0);
    assert_float_equal(cell_of(rows(), 0, "percent_total").number, 62, 0.001);
    assert_float_equal(sum_of("cpu_ns"), 1000, 0.1);
    assert_int_equal(total_named("cpu_ns"), 1000);
    assert_int_equal(total_named("samples"), 105);
    assert_int_equal(total_named("sampled_ns"), 1000);
}

/*
 * perf has seen main for 300 ns and load for 100, and 600 ns have passed unseen. Zones of each took so many ticks,
 * of a nanosecond each.
 */
static void build_unseen(uint64_t main_ticks, uint64_t load_ticks, uint64_t unseen_ns)
{
    build_calls();
    ((struct hotpath_node_ *)builder_at(&builder, main_node))->self = main_ticks;
    ((struct hotpath_node_ *)builder_at(&builder, load))->self = load_ticks;
    ((struct hotpath_node_ *)builder_at(&builder, parse))->self = 0;
    builder_cpu(&builder, thread, main_node, 30, 300, 0);
    builder_cpu(&builder, thread, load, 10, 100, 0);
    cpu->unseen_ns = unseen_ns;
    cpu->kernel_ns += unseen_ns;
    builder_header(&builder)->cpu_latest_ns += unseen_ns;
}

/* Many ticks, so that they decide. */
#define TICKS_NS 1e15

static void kernel_time_goes_where_ticks_found_the_kernel(void **state)
{
    (void)state;
    build_unseen(10000, 10000, 600);
    builder_cpu(&builder, thread, load, 0, 0, 0)->ticked_ns = (uint64_t)TICKS_NS;
    fixture_build();
    assert_sums("main", 30, 300, 0);
    assert_sums("load", 10, 100, 600);
    settings.show.cpu_inclusive = true;
    fixture_build();
    assert_sums("main", 40, 400, 600);
}

/* Both took the same time, so load was in the kernel where perf did not sample it, however ticks are aligned. */
static void kernel_time_without_ticks_goes_to_undersampled_functions(void **state)
{
    (void)state;
    build_unseen(5000, 5000, 600);
    fixture_build();
    assert_sums("main", 30, 300, 200);
    assert_sums("load", 10, 100, 400);
}

static void little_unsampled_time_is_user_time(void **state)
{
    (void)state;
    build_unseen(5000, 5000, 16);
    fixture_build();
    assert_sums("main", 30, 312, 0);
    assert_sums("load", 10, 104, 0);
}

/* As many came as there was time, so nothing is left for the kernel. */
static void late_samples_stand_for_their_time(void **state)
{
    (void)state;
    build_unseen(5000, 5000, 600);
    builder_cpu(&builder, thread, load, 0, 0, 0)->ticked_ns = (uint64_t)TICKS_NS;
    cpu->perf_samples = 40;
    fixture_build();
    assert_sums("main", 30, 750, 0);
    assert_sums("load", 10, 250, 0);
}

/* Nothing else knows of so much kernel time: signals were lost. */
static void time_beyond_the_kernel_time_is_user_time(void **state)
{
    (void)state;
    build_unseen(5000, 5000, 300);
    cpu->kernel_ns -= 300;
    cpu->user_ns += 300;
    fixture_build();
    assert_in_range(total_named("kernel_ns"), 70, 120);
    assert_int_equal(total_named("cpu_ns"), 700);
    assert_float_equal(sum_of("cpu_ns"), 700, 0.1);
}

/* Time beyond the zones of main goes to load, in load's modes. */
static void cpu_time_is_at_most_the_time_of_zones(void **state)
{
    (void)state;
    build_calls();
    ((struct hotpath_node_ *)builder_at(&builder, main_node))->self = 700;
    ((struct hotpath_node_ *)builder_at(&builder, load))->self = 300;
    ((struct hotpath_node_ *)builder_at(&builder, parse))->self = 0;
    builder_cpu(&builder, thread, main_node, 90, 900, 0);
    builder_cpu(&builder, thread, load, 5, 50, 50);
    fixture_build();
    assert_sums("main", 90, 700, 0);
    assert_sums("load", 5, 150, 150);
    assert_int_equal(total_named("cpu_ns"), 1000);
    assert_float_equal(sum_of("cpu_ns"), 1000, 0.1);
}

#define MS UINT64_C(1000000)

static void add_found(uint32_t node, uint64_t self_ms, uint64_t samples, uint64_t user_ms, uint64_t ticked_ms)
{
    ((struct hotpath_node_ *)builder_at(&builder, node))->self = self_ms * MS;
    builder_cpu(&builder, thread, node, samples, user_ms * MS, 0)->ticked_ns = ticked_ms * MS;
}

/*
 * load computes for 900 ms and parse is in the kernel for 100, in turns; other processes had the CPU for a third of
 * the time. The few ticks found load in the kernel as often as parse.
 */
static void build_shared(uint64_t waited_ms, uint64_t ticked_ms, uint64_t preempted)
{
    build_calls();
    ((struct hotpath_node_ *)builder_at(&builder, main_node))->self = 0;
    add_found(load, 1350, 885, 880, ticked_ms);
    add_found(parse, 150, 8, 3, ticked_ms);
    cpu = builder_at(&builder, ((struct hp_thread *)builder_at(&builder, thread))->cpu);
    cpu->unseen_ns = 117 * MS;
    cpu->kernel_ns += cpu->unseen_ns;
    cpu->preempted = preempted;
    cpu->waited_ns = waited_ms * MS;
    builder_header(&builder)->cpu_latest_ns += cpu->unseen_ns;
    fixture_build();
}

static double ns_of(const char *name) { return cell_of(rows(), row_named(name), "cpu_ns").number; }

static void function_that_never_waits_has_the_time_of_its_zones(void **state)
{
    (void)state;
    build_shared(0, 50, 170);
    assert_float_equal(ns_of("parse"), 100e6, 15e6);
    assert_float_equal(ns_of("load"), 900e6, 15e6);
    assert_true(cell_of(rows(), row_named("parse"), "kernel_ns").number > 85e6);
    assert_float_equal(sum_of("cpu_ns"), 1000e6, 1);
}

/*
 * load computes for 600 ms, parse for 300. parse sometimes asks the kernel for the time and is preempted each time,
 * so it takes twice as long as load. Neither ever waits.
 */
static void preemption_at_system_calls_does_not_shift_time(void **state)
{
    (void)state;
    build_calls();
    ((struct hotpath_node_ *)builder_at(&builder, main_node))->self = 0;
    add_found(load, 1000, 600, 600, 0);
    add_found(parse, 2000, 300, 300, 0);
    cpu = builder_at(&builder, ((struct hp_thread *)builder_at(&builder, thread))->cpu);
    cpu->preempted = 20000;
    fixture_build();
    assert_float_equal(ns_of("parse"), 300e6, 20e6);
    assert_float_equal(ns_of("load"), 600e6, 20e6);
}

/*
 * A tenth was not sampled, and only lost samples explain it: other processes had the CPU a hundred times a second.
 */
static void preempted_functions_are_not_in_step_with_ticks(void **state)
{
    (void)state;
    build_calls();
    ((struct hotpath_node_ *)builder_at(&builder, main_node))->self = 0;
    add_found(load, 2000, 900, 900, 0);
    add_found(parse, 100, 5, 5, 4);
    cpu = builder_at(&builder, ((struct hp_thread *)builder_at(&builder, thread))->cpu);
    cpu->unseen_ns = 95 * MS;
    cpu->user_ns += cpu->unseen_ns;
    cpu->preempted = 100;
    builder_header(&builder)->cpu_latest_ns += cpu->unseen_ns;
    fixture_build();
    assert_true(cell_of(rows(), row_named("parse"), "kernel_ns").number < 10e6);
    assert_float_equal(ns_of("load"), 990e6, 12e6);
}

/*
 * It was seen in user mode for next to no time, and yet it did not wait. Others came seldom, so that the times of
 * zones say little.
 */
static void function_that_never_waits_was_in_the_kernel(void **state)
{
    (void)state;
    build_shared(0, 0, 3);
    assert_float_equal(ns_of("parse"), 100e6, 5e6);
    assert_float_equal(sum_of("cpu_ns"), 1000e6, 1);
}

/* Then samples decide, however long the zones took. */
static void samples_decide_if_the_function_may_have_waited(void **state)
{
    (void)state;
    build_shared(500, 50, 170);
    assert_true(ns_of("parse") < 80e6);
    assert_float_equal(sum_of("cpu_ns"), 1000e6, 1);
}

/* A function that no sample has found is next; what finds no place at all is outside. */
static void unsampled_function_gets_time_that_exceeds_other_zones(void **state)
{
    (void)state;
    build_calls();
    ((struct hotpath_node_ *)builder_at(&builder, main_node))->self = 700;
    ((struct hotpath_node_ *)builder_at(&builder, load))->self = 250;
    ((struct hotpath_node_ *)builder_at(&builder, parse))->self = 0;
    builder_cpu(&builder, thread, main_node, 100, 1000, 0);
    fixture_build();
    assert_sums("main", 100, 700, 0);
    assert_sums("load", 0, 250, 0);
    assert_sums("<outside>", 0, 50, 0);
}

static void inclusive_time_counts_for_all_callers(void **state)
{
    (void)state;
    build();
    settings.show.cpu_inclusive = true;
    fixture_build();
    assert_sums("main", 100, 900, 50);
    assert_sums("load", 90, 800, 50);
    assert_sums("parse", 70, 600, 20);
    assert_sums("<outside>", 5, 50, 0);
}

/* load calls itself through parse: its node holds the samples of the inner call, which is inside parse, too. */
static void folded_recursion_counts_once_in_inclusive_time(void **state)
{
    (void)state;
    build();
    struct hp_cpu_node *entry = builder_cpu(&builder, thread, parse, 0, 0, 0);
    entry->also_samples = 15;
    entry->also_ns = 150;
    settings.show.cpu_inclusive = true;
    fixture_build();
    assert_sums("parse", 85, 750, 20);
    assert_sums("load", 90, 800, 50);
    settings.show.cpu_inclusive = false;
    fixture_build();
    assert_sums("parse", 70, 600, 20);
    assert_float_equal(sum_of("cpu_ns"), 1000, 0.1);
}

/* A site that is above itself counts once. */
static void recursion_counts_once(void **state)
{
    (void)state;
    build();
    const struct hotpath_node_ *record = builder_at(&builder, load);
    const uint32_t again = builder_node(&builder, thread, parse, record->site);
    builder_call(&builder, thread, again, 1000, 0);
    builder_cpu(&builder, thread, again, 4, 40, 0);
    settings.show.cpu_inclusive = true;
    fixture_build();
    assert_sums("load", 94, 840, 50);
    assert_sums("parse", 74, 640, 20);
}

/*
 * Calls took 100, 230 and 620 on average: unsampled time is shared out in that proportion, and the remainder goes
 * to the last place.
 */
static void waiting_time_of_calls_is_shared_out(void **state)
{
    (void)state;
    build();
    cpu->waiting_ns = 38;
    cpu->user_ns += 30;
    cpu->kernel_ns += 8;
    cpu->last_node = parse;
    builder_header(&builder)->cpu_latest_ns += 38;
    builder_header(&builder)->cpu_latest_kernel_ns += 8;
    fixture_build();
    assert_sums("parse", 70, 600 + 24, 20 + 1);
    assert_sums("load", 20, 200 + 8, 30 + 1);
    assert_sums("main", 10, 100 + 4, 0);
    assert_int_equal(total_named("cpu_ns"), 1038);
}

/*
 * A short thread that no sample has found: others show what its functions take, though it has called one more
 * often.
 */
static void threads_too_short_for_a_sample(void **state)
{
    (void)state;
    build();
    const uint32_t second = builder_thread(&builder);
    const uint32_t site = ((const struct hotpath_node_ *)builder_at(&builder, load))->site;
    const uint32_t loaded = builder_node(&builder, second, 0, site);
    builder_call(&builder, second, loaded, 1000, 0);
    builder_call(&builder, second, loaded, 1000, 0);
    const uint32_t fresh = node_of(&builder, second, 0, "fresh");
    struct hp_cpu_thread *used = builder_cpu_thread(&builder, second, 4);
    used->user_ns = used->waiting_ns = 200;
    used->last_node = fresh;
    builder_header(&builder)->cpu_latest_ns += 200;
    fixture_build();
    assert_sums("load", 20, 200 + 200, 30);
    assert_sums("fresh", 0, 0, 0);
}

/* No function it called was ever sampled: the time goes where the recorder guessed, or to no function. */
static void threads_without_data(void **state)
{
    (void)state;
    build();
    const uint32_t second = builder_thread(&builder);
    const uint32_t fresh = node_of(&builder, second, 0, "fresh");
    struct hp_cpu_thread *used = builder_cpu_thread(&builder, second, 4);
    used->user_ns = used->waiting_ns = 40;
    used->last_node = fresh;
    builder_header(&builder)->cpu_latest_ns += 40;
    fixture_build();
    assert_sums("fresh", 0, 40, 0);
    used->last_node = 0;
    fixture_build();
    assert_sums("fresh", 0, 0, 0);
    assert_sums("<outside>", 5, 90, 0);
}

static void time_of_no_thread_is_outside(void **state)
{
    (void)state;
    build();
    builder_header(&builder)->cpu_latest_ns += 500;
    builder_header(&builder)->cpu_latest_kernel_ns += 200;
    fixture_build();
    assert_sums("<outside>", 5, 350, 200);
    assert_int_equal(total_named("cpu_ns"), 1500);
    assert_int_equal(total_named("sampled_ns"), 1000);
}

static void paused_time_is_not_attributed(void **state)
{
    (void)state;
    build();
    builder_header(&builder)->cpu_latest_ns += 500;
    builder_header(&builder)->cpu_latest_kernel_ns += 200;
    cpu->skipped_ns = 450;
    cpu->skipped_kernel_ns = 180;
    fixture_build();
    assert_int_equal(total_named("cpu_ns"), 1050);
    assert_sums("<outside>", 5, 80, 20);
}

/* A process that was killed: its clock was last read before those of its threads. */
static void sums_of_threads_override_an_older_process_clock(void **state)
{
    (void)state;
    build();
    builder_header(&builder)->cpu_latest_ns = 1200;
    fixture_build();
    assert_int_equal(total_named("cpu_ns"), 1000);
    assert_float_equal(sum_of("cpu_ns"), 1000, 0.1);
    assert_float_equal(sum_of("user_ns"), (double)total_named("user_ns"), 0.1);
}

static void rows_by_thread(void **state)
{
    (void)state;
    build();
    const uint32_t second = builder_thread(&builder);
    const struct hotpath_node_ *record = builder_at(&builder, load);
    const uint32_t there = builder_node(&builder, second, 0, record->site);
    builder_call(&builder, second, there, 100, 0);
    builder_cpu_thread(&builder, second, 4);
    builder_cpu(&builder, second, there, 3, 33, 0);
    settings.show.by = HP_BY_THREAD;
    fixture_build();
    size_t found = 0;
    for (size_t row = 0; row < hotpath_section_rows(rows()); row++)
        if (strcmp(cell_of(rows(), row, "name").text, "load") == 0) {
            const double ns = cell_of(rows(), row, "cpu_ns").number;
            assert_true(ns == 230 || ns == 33);
            found++;
        }
    assert_int_equal(found, 2);
    assert_float_equal(sum_of("cpu_ns"), 1033, 0.1);
    settings.show.by = HP_BY_FUNCTION;
    fixture_build();
    assert_sums("load", 23, 233, 30);
}

static void sessions_are_added_up(void **state)
{
    (void)state;
    build();
    struct session_builder *other = fixture_add_session();
    begin(other);
    const uint32_t in = builder_thread(other);
    const uint32_t same = node_of(other, in, 0, "parse"), own = node_of(other, in, 0, "other");
    builder_cpu_thread(other, in, 4);
    builder_cpu(other, in, same, 1, 5, 5);
    builder_cpu(other, in, own, 2, 7, 0);
    builder_header(other)->cpu_engine = HP_CPU_TIMERS;
    builder_header(other)->cpu_refusal = 13;
    struct session_builder *unsampled = fixture_add_session();
    node_of(unsampled, builder_thread(unsampled), 0, "load");
    fixture_build();
    assert_sums("parse", 71, 605, 25);
    assert_sums("other", 2, 7, 0);
    assert_sums("load", 20, 200, 30);
    assert_int_equal(total_named("cpu_ns"), 1017);
    const char *text = fixture_render(0, false);
    assert_non_null(strstr(text, "perf and timers, or timers alone"));
    assert_non_null(strstr(text, "kernel.perf_event_paranoid"));
}

/* Each was found once, in zones that took much longer. */
static void build_few(uint64_t samples_of_main)
{
    build_calls();
    ((struct hotpath_node_ *)builder_at(&builder, main_node))->self = 100000;
    ((struct hotpath_node_ *)builder_at(&builder, load))->self = 100000;
    ((struct hotpath_node_ *)builder_at(&builder, parse))->self = 100000;
    builder_cpu(&builder, thread, parse, 1, 30, 0);
    builder_cpu(&builder, thread, load, 2, 40, 0);
    builder_cpu(&builder, thread, main_node, samples_of_main, 20 * samples_of_main, 0);
}

static void too_few_samples_are_not_ranked(void **state)
{
    (void)state;
    build_few(1);
    fixture_build();
    assert_string_equal(cell_of(rows(), 0, "name").text, "load");
    assert_string_equal(cell_of(rows(), 1, "name").text, "main");
    assert_string_equal(cell_of(rows(), 2, "name").text, "parse");
    assert_float_equal(cell_of(rows(), 2, "error_ns").number, 24.5, 0.1); /* 30, times the root of 60 of 90 */
    const char *text = fixture_render(0, false);
    assert_non_null(strstr(text, "too few samples to rank"));
    assert_non_null(strstr(text, "~30.00 ns"));
}

static void few_samples_are_marked(void **state)
{
    (void)state;
    build_few(100);
    fixture_build();
    assert_string_equal(cell_of(rows(), 0, "name").text, "main");
    assert_string_equal(cell_of(rows(), 1, "name").text, "load");
    const char *text = fixture_render(0, false);
    assert_null(strstr(text, "too few samples to rank"));
    assert_non_null(strstr(text, "~ too few samples"));
    assert_non_null(strstr(text, "~40.00 ns"));
    assert_null(strstr(text, "~2.00"));
}

/* Its zones took no longer than its CPU time: any number of samples gives the same. */
static void function_that_never_waits_needs_no_samples(void **state)
{
    (void)state;
    build_few(1);
    ((struct hotpath_node_ *)builder_at(&builder, main_node))->self = 20;
    ((struct hotpath_node_ *)builder_at(&builder, load))->self = 40;
    ((struct hotpath_node_ *)builder_at(&builder, parse))->self = 30;
    fixture_build();
    assert_string_equal(cell_of(rows(), 0, "name").text, "load");
    assert_float_equal(cell_of(rows(), 0, "error_ns").number, 0, 0.1);
    assert_null(strstr(fixture_render(0, false), "too few samples"));
}

static void sampling_by_ticks_alone_is_noted(void **state)
{
    (void)state;
    build();
    fixture_build();
    assert_null(strstr(fixture_render(0, false), "sampled on kernel ticks only"));
    builder_header(&builder)->cpu_engine = HP_CPU_TIMERS;
    fixture_build();
    assert_non_null(strstr(fixture_render(0, false), "sampled on kernel ticks only"));
}

/* CPU time before the session counts if 'hotpath run' started the process, less the time it had before exec. */
static void the_time_before_main_has_a_row(void **state)
{
    (void)state;
    build();
    fixture_build();
    assert_int_equal(total_named("cpu_ns"), 1000);
    builder_header(&builder)->features |= HP_FEATURE_RUN;
    fixture_build();
    assert_sums("<startup>", 0, 900, 100);
    assert_int_equal(total_named("cpu_ns"), 2000);
    assert_float_equal(sum_of("cpu_ns"), 2000, 0.1);
    struct session_builder *before = fixture_add_session();
    node_of(before, builder_thread(before), 0, "load");
    builder_header(before)->pid = builder_header(&builder)->pid;
    builder_header(before)->cpu_latest_ns = 700;
    builder_header(before)->cpu_latest_kernel_ns = 60;
    fixture_build();
    assert_sums("<startup>", 0, 260, 40);
}

static void section_without_samples(void **state)
{
    (void)state;
    thread = builder_thread(&builder);
    node_of(&builder, thread, 0, "main");
    strcpy(settings.show.report, "cpu");
    fixture_build();
    assert_int_equal(hotpath_section_rows(rows()), 0);
    assert_non_null(strstr(fixture_render(0, false), HP_NO_CPU));
}

/* ------------------------------------------------------------------------------------------------- broken files */

static struct hp_cpu_table *table(void) { return builder_at(&builder, cpu->table); }

static void assert_broken_table_is_outside(void)
{
    fixture_build();
    assert_int_equal(total_named("cpu_ns"), 1000);
    assert_float_equal(sum_of("cpu_ns"), 1000, 0.1);
    assert_float_equal(cell_of(rows(), row_named("<outside>"), "cpu_ns").number, 1000, 0.1);
}

static void hostile_capacities(void **state)
{
    (void)state;
    build();
    cpu->last_node = 0;
    const uint32_t hostile[] = {0, UINT32_MAX, UINT32_MAX / 48, 89478486, 1u << 31, 1u << 20};
    for (size_t at = 0; at < sizeof hostile / sizeof hostile[0]; at++) {
        table()->capacity = hostile[at];
        assert_broken_table_is_outside();
    }
}

static void hostile_offsets(void **state)
{
    (void)state;
    build();
    cpu->last_node = 0;
    const uint32_t hostile[] = {1, 4, UINT32_MAX, UINT32_MAX - 7, (uint32_t)builder_size(&builder) - 8, 0};
    for (size_t at = 0; at < sizeof hostile / sizeof hostile[0]; at++) {
        cpu->table = hostile[at];
        assert_broken_table_is_outside();
    }
    struct hp_thread *record = builder_at(&builder, thread);
    for (size_t at = 0; at < sizeof hostile / sizeof hostile[0]; at++) {
        record->cpu = hostile[at];
        assert_broken_table_is_outside();
    }
}

static void hostile_nodes(void **state)
{
    (void)state;
    build();
    builder_cpu(&builder, thread, UINT32_MAX, 1, 10, 0);
    builder_cpu(&builder, thread, 12, 1, 10, 0)->also_samples = 5;
    builder_cpu(&builder, thread, (uint32_t)builder_size(&builder) - 8, 1, 10, 0);
    fixture_build();
    assert_sums("parse", 70, 600, 20);
    assert_sums("<outside>", 8, 80, 0);
}

/* A way up that never ends. */
static void nodes_in_a_circle(void **state)
{
    (void)state;
    build();
    ((struct hotpath_node_ *)builder_at(&builder, main_node))->parent = parse;
    ((struct hotpath_node_ *)builder_at(&builder, load))->parent = load;
    settings.show.cpu_inclusive = true;
    fixture_build();
    assert_sums("parse", 70, 600, 20);
    assert_sums("load", 90, 800, 50);
}

/* ------------------------------------------------------------------------------------------------------ samples */

static struct hp_sample_chunk *chunk_at(uint32_t offset) { return builder_at(&builder, offset); }

static size_t walk(uint64_t *numbers, size_t most)
{
    const struct hp_snapshot *session = fixture_open(NULL)->all[0];
    struct hp_walk threads = {0}, samples = {0};
    struct hp_thread record;
    struct hp_cpu_thread copy;
    struct hp_sample one;
    size_t count = 0;
    assert_true(hp_snapshot_next_thread(session, &threads, &record));
    assert_true(hp_snapshot_cpu_thread(session, &record, &copy));
    while (hp_snapshot_next_sample(session, &copy, &samples, &one) && count < most) {
        assert_true(one.ticks == BUILDER_START + samples.number || one.node == 0);
        numbers[count++] = samples.number;
    }
    return count;
}

static void samples_come_oldest_first(void **state)
{
    (void)state;
    uint64_t numbers[64];
    build();
    assert_int_equal(walk(numbers, 64), 0);
    cpu->chunk = builder_samples(&builder, 4, 3, 0, parse);
    assert_int_equal(walk(numbers, 64), 3);
    assert_int_equal(numbers[2], 2);
    /* Three chunks; the oldest was written over with what came last. */
    const uint32_t third = builder_samples(&builder, 4, 4, 8, parse);
    const uint32_t second = builder_samples(&builder, 4, 4, 4, load);
    const uint32_t newest = builder_samples(&builder, 4, 2, 12, load);
    chunk_at(newest)->next = second;
    chunk_at(second)->next = third;
    chunk_at(third)->next = newest;
    cpu->chunk = newest;
    assert_int_equal(walk(numbers, 64), 10);
    for (size_t at = 0; at < 10; at++)
        assert_int_equal(numbers[at], 4 + at);
}

static void walks_over_broken_rings_end(void **state)
{
    (void)state;
    static uint64_t numbers[1 << 20];
    build();
    const uint32_t first = builder_samples(&builder, 4, 4, 0, parse);
    const uint32_t second = builder_samples(&builder, 4, 4, 4, parse);
    const uint32_t third = builder_samples(&builder, 4, 4, 8, parse);
    cpu->chunk = first;
    chunk_at(first)->next = second;
    chunk_at(second)->next = third;
    chunk_at(third)->next = second; /* which never comes back to the first */
    const size_t count = walk(numbers, 1 << 20);
    assert_true(count < builder_size(&builder) / sizeof(struct hp_sample) + 1);
    chunk_at(second)->used = 5; /* more than it has room for */
    assert_int_equal(walk(numbers, 64), 0);
    chunk_at(second)->used = chunk_at(second)->capacity = UINT32_MAX;
    assert_int_equal(walk(numbers, 64), 0);
    chunk_at(first)->next = UINT32_MAX - 3;
    assert_int_equal(walk(numbers, 64), 0);
    cpu->chunk = 4;
    assert_int_equal(walk(numbers, 64), 0);
    chunk_at(first)->next = first;
    chunk_at(first)->used = 0;
    cpu->chunk = first;
    assert_int_equal(walk(numbers, 64), 0);
}

/*
 * Of the time in load all was alone, of that in parse half; what samples do not know has the part of the run.
 */
static void call_tree_has_time_on_the_clock(void **state)
{
    (void)state;
    static struct hp_model model;
    struct hp_arena model_arena = {0};
    struct hp_zone_time zones[] = {{"parse", 620, 310}, {"load", 230, 230}};
    const struct hp_function_profile functions = {
        .cpu_ns = 1000, .wall_ns = 700, .zone_times = zones, .zone_time_count = 2};
    strcpy(settings.show.report, "calltree");
    build();
    for (int way = 0; way < 2; way++) {
        memset(&model, 0, sizeof model);
        assert_true(hp_model_build(&model, &model_arena, &model_arena, fixture_open(NULL)));
        model.functions = way == 0 ? &functions : NULL;
        results = hp_results_of_model(&model, &settings);
        assert_non_null(results);
        const hotpath_section *tree = section_named("calltree");
        if (way > 0) {
            for (size_t column = 0; column < tree->column_count; column++)
                assert_string_not_equal(tree->columns[column].shown.key, "percent_wall");
            break;
        }
        const struct {
            const char *name;
            uint64_t wall_ns;
        } truth[] = {{"main", 310 + 230 + 70}, {"load", 310 + 230}, {"parse", 310}};
        const double whole = 310 + 230 + 70 + 35;
        for (size_t row = 0; row < 3; row++) {
            assert_string_equal(cell_of(tree, row, "name").text, truth[row].name);
            assert_int_equal(cell_of(tree, row, "total_wall_ns").count, truth[row].wall_ns);
            const double share = 100 * (double)truth[row].wall_ns / whole;
            assert_float_equal((float)cell_of(tree, row, "percent_wall").number, (float)share, 0.01);
        }
    }
    hp_arena_release(&model_arena);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(exclusive_time_is_what_samples_found),
        TEST(kernel_time_goes_where_ticks_found_the_kernel),
        TEST(kernel_time_without_ticks_goes_to_undersampled_functions),
        TEST(little_unsampled_time_is_user_time),
        TEST(late_samples_stand_for_their_time),
        TEST(time_beyond_the_kernel_time_is_user_time),
        TEST(preemption_at_system_calls_does_not_shift_time),
        TEST(preempted_functions_are_not_in_step_with_ticks),
        TEST(cpu_time_is_at_most_the_time_of_zones),
        TEST(function_that_never_waits_has_the_time_of_its_zones),
        TEST(function_that_never_waits_was_in_the_kernel),
        TEST(samples_decide_if_the_function_may_have_waited),
        TEST(unsampled_function_gets_time_that_exceeds_other_zones),
        TEST(inclusive_time_counts_for_all_callers),
        TEST(folded_recursion_counts_once_in_inclusive_time),
        TEST(recursion_counts_once),
        TEST(waiting_time_of_calls_is_shared_out),
        TEST(threads_too_short_for_a_sample),
        TEST(threads_without_data),
        TEST(time_of_no_thread_is_outside),
        TEST(paused_time_is_not_attributed),
        TEST(sums_of_threads_override_an_older_process_clock),
        TEST(rows_by_thread),
        TEST(sessions_are_added_up),
        TEST(too_few_samples_are_not_ranked),
        TEST(few_samples_are_marked),
        TEST(function_that_never_waits_needs_no_samples),
        TEST(sampling_by_ticks_alone_is_noted),
        TEST(the_time_before_main_has_a_row),
        TEST(section_without_samples),
        TEST(hostile_capacities),
        TEST(hostile_offsets),
        TEST(hostile_nodes),
        TEST(nodes_in_a_circle),
        TEST(samples_come_oldest_first),
        TEST(walks_over_broken_rings_end),
        TEST(call_tree_has_time_on_the_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
