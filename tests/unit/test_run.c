/*
 * One report of several sessions with known numbers: equal functions are added up, times have one clock. SPDX-
 * License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "run_fixture.h"
#include "trust.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void assert_row(size_t row, const char *name, uint64_t calls, double total, double self, double percent)
{
    const hotpath_section *timing = section_named("timing");
    assert_string_equal(cell_of(timing, row, "name").text, name);
    assert_int_equal(cell_of(timing, row, "calls").count, calls);
    assert_float_equal(cell_of(timing, row, "total_ns").number, total, 0.001);
    assert_float_equal(cell_of(timing, row, "self_ns").number, self, 0.001);
    assert_float_equal(cell_of(timing, row, "percent_total").number, percent, 0.001);
}

/* --------------------------------------------------------------------------------------------- sites */

/* Of functions and main functions of C++; labels of blocks and names of C functions are not signatures. */
static void signatures_are_made_short(void **state)
{
    (void)state;
    static const struct {
        uint32_t kind;
        const char *stored, *shown;
    } all[] = {
        {HOTPATH_KIND_FUNCTION_ | HOTPATH_KIND_CXX_, "int ns::Class<T>::method(int) const [with T = int]",
         "ns::Class<int>::method"},
        {HOTPATH_KIND_MAIN_ | HOTPATH_KIND_CXX_, "int main()", "main"},
        {HOTPATH_KIND_BLOCK_ | HOTPATH_KIND_CXX_, "int label(int)", "int label(int)"},
        {HOTPATH_KIND_FUNCTION_, "int plain(int)", "int plain(int)"},
    };
    const uint32_t thread = builder_thread(&builder);
    for (uint32_t at = 0; at < COUNT(all); at++) {
        const uint32_t site = builder_site(&builder, all[at].stored, "a.cc", 10 + at);
        struct hp_site *sites = builder_at(&builder, builder_header(&builder)->site_chunks[0]);
        sites[site].kind = all[at].kind;
        builder_call(&builder, thread, builder_node(&builder, thread, 0, site), 100 - at, 0);
    }
    builder_elapse(&builder, 1000, 1);
    fixture_build();
    for (size_t at = 0; at < COUNT(all); at++)
        assert_string_equal(cell_of(section_named("timing"), at, "name").text, all[at].shown);
}

static void the_same_place_in_code_is_one_row(void **state)
{
    (void)state;
    strcpy(settings.show.report, "timing,calltree");
    build_parser(&builder, true);
    build_parser(fixture_add_session(), false);
    fixture_build();
    const hotpath_section *timing = section_named("timing");
    assert_int_equal(hotpath_section_rows(timing), 2);
    assert_row(0, "main", 2, 2000, 800, 100);
    assert_row(1, "parse", 6, 1200, 1200, 60);
    assert_number(1, "avg_ns", 200);
    assert_int_equal(cell_of(timing, 1, "threads").count, 2);
    assert_string_equal(timing->percent_of, "main");
    assert_int_equal(timing->note_count, 0);
    assert_int_equal(hotpath_section_rows(section_named("calltree")), 2);
    assert_place(0, 0, "main", 2, 2000, 800);
    assert_place(1, 1, "parse", 6, 1200, 1200);
}

static void sites_that_differ_are_separate_rows(void **state)
{
    (void)state;
    static const struct {
        const char *name, *function, *file;
        uint32_t line, kind;
    } sites[] = {
        {"work", "work", "w.c", 1, 0}, {"play", "work", "w.c", 1, 0}, {"work", "main", "w.c", 1, 0},
        {"work", "work", "v.c", 1, 0}, {"work", "work", "w.c", 2, 0}, {"work", "work", "w.c", 1, 2},
    };
    settings.show.functions_limit = HOTPATH_NO_LIMIT;
    /* The first session has all of them; each of the others has one, as its first. */
    for (size_t session = 0; session <= COUNT(sites); session++) {
        struct session_builder *to = session == 0 ? &builder : fixture_add_session();
        const uint32_t thread = builder_thread(to);
        for (size_t at = 0; at < COUNT(sites); at++) {
            if (session > 0 && at != session - 1)
                continue;
            const uint32_t id = builder_site(to, sites[at].name, sites[at].file, sites[at].line);
            struct hp_site *site = (struct hp_site *)builder_at(to, builder_header(to)->site_chunks[0]) + id;
            site->function = builder_text(to, sites[at].function);
            site->kind = sites[at].kind;
            builder_call(to, thread, builder_node(to, thread, 0, id), 100 + at, 0);
        }
    }
    fixture_build();
    assert_int_equal(hotpath_section_rows(section_named("timing")), COUNT(sites));
    for (size_t row = 0; row < COUNT(sites); row++) {
        assert_int_equal(cell_of(section_named("timing"), row, "calls").count, 2);
        assert_number(row, "total_ns", 2 * (double)(100 + COUNT(sites) - 1 - row));
    }
}

/* Where a session has the same content twice, which none should, the nth is the nth. */
static void equal_sites_of_one_session_stay_separate(void **state)
{
    (void)state;
    static const uint64_t ticks[3][3] = {{1000, 0, 0}, {200, 100, 0}, {40, 30, 7}};
    for (size_t session = 0; session < 3; session++) {
        struct session_builder *to = session == 0 ? &builder : fixture_add_session();
        const uint32_t thread = builder_thread(to);
        for (size_t twin = 0; twin <= session; twin++)
            builder_call(to, thread, builder_node(to, thread, 0, builder_site(to, "twin", "x.c", 3)),
                         ticks[session][twin], 0);
    }
    fixture_build();
    const hotpath_section *timing = section_named("timing");
    assert_int_equal(hotpath_section_rows(timing), 3);
    assert_number(0, "total_ns", 1240);
    assert_number(1, "total_ns", 130);
    assert_number(2, "total_ns", 7);
    assert_string_not_equal(cell_of(timing, 0, "name").text, cell_of(timing, 1, "name").text);
    assert_string_not_equal(cell_of(timing, 1, "name").text, cell_of(timing, 2, "name").text);
}

static void sites_known_by_number_only_are_not_merged(void **state)
{
    (void)state;
    for (uint32_t session = 0; session < 2; session++) {
        struct session_builder *to = session == 0 ? &builder : fixture_add_session();
        const uint32_t thread = builder_thread(to);
        builder_call(to, thread, builder_node(to, thread, 0, 700), 10 - session, 0);
        builder_call(to, thread, builder_node(to, thread, 0, HP_SITE_OTHER), 50, 0);
    }
    fixture_build();
    assert_int_equal(hotpath_section_rows(section_named("timing")), 3);
    assert_row(0, "<other>", 2, 100, 100, 0.01);
    assert_row(1, "<site 700>", 1, 10, 10, 0.001);
    assert_row(2, "<site 700 of 4243>", 1, 9, 9, 0.0009);
}

/* --------------------------------------------------------------------------------------------- numbers */

static void recursion_counts_once_in_every_process(void **state)
{
    (void)state;
    for (unsigned session = 0; session < 2; session++) {
        struct session_builder *to = session == 0 ? &builder : fixture_add_session();
        if (session > 0)
            builder_site(to, "other", "o.c", 9);
        const uint32_t thread = builder_thread(to);
        const uint32_t node = builder_node(to, thread, 0, builder_site(to, "fib", "fib.c", 1));
        builder_nested_call(to, thread, node, 100, 0);
        builder_nested_call(to, thread, node, 300, 100);
        builder_call(to, thread, node, 500, 300);
        builder_elapse(to, 1000, 1);
    }
    fixture_build();
    assert_row(0, "fib", 6, 1000, 1000, 100);
    assert_number(0, "avg_ns", 300);
}

static void percentiles_are_those_of_all_calls(void **state)
{
    (void)state;
    static const double wanted[] = {0, 50, 90, 95, 100};
    memcpy(settings.show.percentiles, wanted, sizeof wanted);
    settings.show.percentile_count = COUNT(wanted);
    struct session_builder *second = fixture_add_session();
    builder_site(second, "before", "b.c", 1);
    /* 1 to 50 ticks in one process, 51 to 100 in the other: every value has a counter of its own up to 127. */
    for (uint64_t session = 0; session < 2; session++) {
        struct session_builder *to = session == 0 ? &builder : second;
        const uint32_t thread = builder_thread(to);
        const uint32_t node = builder_node(to, thread, 0, builder_site(to, "f", "f.c", 1));
        for (uint64_t ticks = 1; ticks <= 50; ticks++)
            builder_call(to, thread, node, ticks + 50 * session, 0);
    }
    fixture_build();
    assert_row(0, "f", 100, 5050, 5050, 0.505);
    assert_number(0, "min_ns", 1);
    assert_number(0, "p50_ns", 50);
    assert_number(0, "p90_ns", 90);
    assert_number(0, "p95_ns", 95);
    assert_number(0, "max_ns", 100);
}

static void open_zones_count_to_the_end_of_their_own_session(void **state)
{
    (void)state;
    for (uint64_t session = 0; session < 2; session++) {
        struct session_builder *to = session == 0 ? &builder : fixture_add_session();
        if (session > 0)
            builder_site(to, "first", "f.c", 9);
        const uint32_t thread = builder_thread(to);
        const uint32_t serve = builder_node(to, thread, 0, builder_site(to, "serve", "f.c", 1));
        const uint32_t wait = builder_node(to, thread, serve, builder_site(to, "wait", "f.c", 2));
        builder_open(to, thread, serve, 1000, 0);
        builder_open(to, thread, wait, 1500, 0);
        builder_elapse(to, session == 0 ? 4000 : 9000, 1);
    }
    fixture_build();
    /* 3000 and 8000 ticks of serve, 2500 and 7500 of these in wait. */
    assert_row(0, "serve", 2, 11000, 1000, 100 * 11000.0 / 9000);
    assert_row(1, "wait", 2, 10000, 10000, 100 * 10000.0 / 9000);
    assert_number(0, "min_ns", 3000);
    assert_number(0, "max_ns", 8000);
    assert_int_equal(cell_of(section_named("timing"), 0, "open").count, 2);
    assert_true(has_note("timing", "* still running at the time of the report: counted up to then"));
}

static void open_zones_of_dead_and_live_processes_are_distinguished(void **state)
{
    (void)state;
    for (unsigned session = 0; session < 2; session++) {
        struct session_builder *to = session == 0 ? &builder : fixture_add_session();
        const uint32_t thread = builder_thread(to);
        builder_open(to, thread, builder_node(to, thread, 0, builder_site(to, "f", "f.c", 1)), 100, 0);
        builder_header(to)->state = session == 0 ? HP_STATE_FINISHED : HP_STATE_LIVE;
    }
    fixture_add_session(); /* has nothing open and no say */
    fixture_build();
    assert_true(has_note("timing", "at the time of the report, or when its process ended"));
    builder_header(&builder)->state = HP_STATE_LIVE;
    fixture_build();
    assert_true(has_note("timing", "* still running when the process ended"));
}

/* A child that leaves by _exit or exec is complete, unless it was in the middle of a call. */
static void only_processes_cut_short_are_mentioned(void **state)
{
    (void)state;
    struct session_builder *child = fixture_add_session(), *next = fixture_add_session();
    const uint32_t thread = builder_thread(child);
    builder_header(child)->pid = builder_header(next)->pid = 77;
    builder_header(child)->state = HP_STATE_LIVE;
    builder_header(next)->exec_count = 1;
    assert_null(strstr(fixture_render(0, false), "measured calls"));
    builder_open(child, thread, builder_node(child, thread, 0, builder_site(child, "f", "f.c", 1)), 100, 0);
    assert_null(strstr(fixture_render(0, false), "measured calls")); /* it went on as another program */
    builder_header(next)->pid = 78;
    assert_non_null(strstr(fixture_render(0, false),
                           "\n1 of 3 processes was killed, or ended by _exit, in the middle of "
                           "measured calls, which are counted up to their last recorded time\n"));
    builder_header(child)->state = HP_STATE_FINISHED;
    assert_null(strstr(fixture_render(0, false), "measured calls"));
}

static void zone_cost_is_averaged(void **state)
{
    (void)state;
    static const uint64_t costs[] = {10000, 30000, 0}; /* the last could not find out */
    for (size_t session = 0; session < COUNT(costs); session++) {
        struct session_builder *to = session == 0 ? &builder : fixture_add_session();
        build_parser(to, true);
        builder_header(to)->zone_cost_ps = costs[session];
        builder_header(to)->zone_inner_ps = costs[session] / 2;
        builder_header(to)->losses[HP_LOSS_ABANDONED] = session;
        builder_header(to)->losses[HP_LOSS_CHILDREN] = 1;
    }
    fixture_build();
    assert_float_equal(results->trust->zone_cost_ns, 20, 0.001);
    assert_float_equal(results->trust->zone_inner_ns, 10, 0.001);
    assert_int_equal(results->trust->lost[HP_LOSS_ABANDONED], 3);
    assert_int_equal(results->trust->lost[HP_LOSS_CHILDREN], 3);
    /* main: three calls of 10 ns within, and nine calls inside of 20 ns. */
    assert_number(0, "overhead_max_ns", 3 * 10 + 9 * 20);
    /* Twelve calls on two cores at 20 ns are 120 of 2000 ns. */
    assert_float_equal(results->trust->share_percent, 6, 0.001);
}

/* One after the other on many cores: what each process lost, the run lost. */
static void overhead_of_consecutive_processes_adds_up(void **state)
{
    (void)state;
    for (uint64_t session = 0; session < 4; session++) {
        struct session_builder *to = session == 0 ? &builder : fixture_add_session();
        build_parser(to, true);
        builder_header(to)->cores = 64;
        builder_header(to)->zone_cost_ps = 50000;
        begin_later(to, 2000 * session, 1);
    }
    fixture_build();
    assert_int_equal(hotpath_results_elapsed_ns(results), 8000);
    assert_float_equal(results->trust->share_percent, 10, 0.001); /* four calls of 50 ns in 2000 ns, four times */
}

/* -------------------------------------------------------------------------------------------- 100 % */

static void child_without_main_keeps_the_main_row(void **state)
{
    (void)state;
    strcpy(settings.show.report, "timing,calltree");
    build_parser(&builder, true);
    struct session_builder *child = fixture_add_session();
    const uint32_t thread = builder_thread(child);
    const uint32_t parse = builder_node(child, thread, 0, builder_site(child, "parse", "parse.c", 2));
    builder_call(child, thread, parse, 4400, 0);
    builder_elapse(child, 5000, 1);
    fixture_build();
    const hotpath_section *timing = section_named("timing");
    assert_row(0, "main", 1, 1000, 400, 100);
    assert_row(1, "parse", 4, 5000, 5000, 500);
    assert_string_equal(timing->percent_of, "main");
    assert_string_equal(timing->main, "main");
    assert_true(timing->rows[0].is_main);
    assert_true(has_note("timing", "not every process ran it: rows can exceed 100 %"));
    assert_true(has_note("calltree", "not every process ran it: rows can exceed 100 %"));
    assert_place(0, 0, "parse", 1, 4400, 4400);
    assert_place(1, 0, "main", 1, 1000, 400);
    assert_place(2, 1, "parse", 3, 600, 600);
}

static void different_main_functions_are_not_100_percent(void **state)
{
    (void)state;
    build_parser(&builder, true);
    struct session_builder *other = fixture_add_session();
    const uint32_t thread = builder_thread(other);
    const uint32_t main_site = builder_site(other, "main", "tool.c", 7);
    builder_header(other)->main_site = main_site;
    builder_call(other, thread, builder_node(other, thread, 0, main_site), 3000, 0);
    builder_elapse(other, 4000, 1);
    begin_later(other, 1000, 1);
    fixture_build();
    const hotpath_section *timing = section_named("timing");
    assert_string_equal(timing->percent_of, "elapsed");
    assert_null(timing->main);
    assert_int_equal(hotpath_results_elapsed_ns(results), 5000);
    assert_row(0, "tool:main", 1, 3000, 3000, 60);
    assert_row(1, "main:main", 1, 1000, 400, 20);
    assert_row(2, "parse", 3, 600, 600, 12);
    assert_false(timing->rows[0].is_main);
    assert_true(has_note("timing", "because the processes have different main functions"));
    settings.show.exclude_wrapper = true;
    fixture_build();
    assert_int_equal(hotpath_section_rows(section_named("timing")), 1);
    assert_row(0, "parse", 3, 600, 600, 100);
}

static void shares_without_main_are_of_the_total_time(void **state)
{
    (void)state;
    for (uint64_t session = 0; session < 3; session++) {
        struct session_builder *to = session == 0 ? &builder : fixture_add_session();
        const uint32_t thread = builder_thread(to);
        builder_call(to, thread, builder_node(to, thread, 0, builder_site(to, "f", "f.c", 1)), 500000, 0);
        builder_elapse(to, 1000000, 1);
        begin_later(to, 2000000 - 1000000 * session, 1); /* the primary one begins last */
    }
    fixture_build();
    assert_int_equal(hotpath_results_elapsed_ns(results), 3000000);
    assert_row(0, "f", 3, 1500000, 1500000, 50);
    assert_true(has_note("timing", "because no process had a HOTPATH_MAIN()"));
    /* It began at eight and ended with the last, a millisecond later. */
    settings.output.format = HP_FORMAT_JSON;
    assert_non_null(strstr(fixture_render(0, false), "\"created_at\":\"2026-10-02T08:00:00.001Z\""));
    assert_non_null(strstr(fixture_render(0, false), "\"elapsed_ns\":3000000"));
}

/* -------------------------------------------------------------------------------------------- clocks */

static void ticks_of_sessions_are_converted_to_one_rate(void **state)
{
    (void)state;
    for (unsigned session = 0; session < 3; session++) {
        struct session_builder *to = session == 0 ? &builder : fixture_add_session();
        build_parser(to, true);
        builder_elapse(to, 2000000, 0.5);
    }
    fixture_build();
    assert_row(0, "main", 3, 1500, 600, 100);
    assert_float_equal(results->trust->clock_hz, 2e9, 1);
    /* The primary session knows its own rate, which overrides the others. */
    builder_elapse(fixture_add_session(), 9000000, 0.25);
    fixture_build();
    assert_float_equal(results->trust->clock_hz, 2e9, 1);
}

static void unknown_tick_rate_is_taken_from_the_longest_session(void **state)
{
    (void)state;
    static const struct {
        uint64_t ticks;
        double ns_per_tick;
    } clocks[] = {{30, 0.5}, {2000000, 0.4}, {4000000, 0.5}, {20, 0.1}, {3000000, 0.3}};
    for (size_t session = 0; session < COUNT(clocks); session++) {
        struct session_builder *to = session == 0 ? &builder : fixture_add_session();
        build_parser(to, true);
        builder_elapse(to, clocks[session].ticks, clocks[session].ns_per_tick);
    }
    /* One that was killed long after it had read its clock for the last time. */
    struct session_builder *killed = fixture_add_session();
    const uint32_t thread = builder_thread(killed);
    builder_elapse(killed, 10, 0.5);
    builder_header(killed)->state = HP_STATE_LIVE;
    builder_open(killed, thread, builder_node(killed, thread, 0, builder_site(killed, "f", "f.c", 1)), 5000000, 0);
    fixture_build();
    assert_float_equal(results->trust->clock_hz, 2e9, 1);
    assert_row(0, "main", 5, 2500, 1000, 100);
    assert_int_equal(hotpath_results_elapsed_ns(results), 2500000);
}

static void sessions_with_other_clocks_are_left_out_and_named(void **state)
{
    (void)state;
    build_parser(&builder, true);
    for (unsigned session = 1; session < 14; session++) {
        struct session_builder *to = fixture_add_session();
        build_parser(to, true);
        if (session == 13)
            builder_header(to)->boot_id[15] = 1;
        else if (session > 1)
            builder_header(to)->clock_kind = HP_CLOCK_CNTVCT;
    }
    fixture_build();
    assert_row(0, "main", 2, 2000, 800, 100);
    assert_int_equal(results->model->run.count, 2);
    assert_int_equal(results->warning_count, 2);
    assert_string_equal(results->warnings[0],
                        "processes '4244, 4245, 4246, 4247, 4248, 4249, 4250, 4251 and 3 more' are left out: their "
                        "clocks are of a different kind than that of the first process");
    assert_string_equal(results->warnings[1],
                        "process '4255' is left out: it ran on another machine, or before a reboot");
    assert_non_null(strstr(fixture_render(0, false), "\nwarning: process '4255' is left out"));
}

/* ------------------------------------------------------------------------------------------ condition */

static const char *state_in_json(void)
{
    static char word[16];
    settings.output.format = HP_FORMAT_JSON;
    const char *found = strstr(fixture_render(0, false), "\"state\":\"");
    assert_non_null(found);
    sscanf(found, "\"state\":\"%15[a-z]", word);
    return word;
}

static void state_of_a_run_combines_all_processes(void **state)
{
    (void)state;
    struct session_builder *second = fixture_add_session();
    assert_string_equal(state_in_json(), "finished");
    builder_header(second)->state = HP_STATE_LIVE;
    assert_string_equal(state_in_json(), "ended");
    builder_header(&builder)->state = HP_STATE_LIVE;
    assert_string_equal(state_in_json(), "ended");
    builder_header(second)->state = HP_STATE_FINISHED;
    assert_string_equal(state_in_json(), "ended");
    const struct hp_clock_pair now = {.ticks = BUILDER_START + 5000000, .ns = 5000 + 5000000};
    fixture_build_at(&now);
    assert_int_equal(hp_run_state(&results->model->run), HP_SNAPSHOT_RUNNING);
}

static void unfinished_processes_are_counted_in_the_table(void **state)
{
    (void)state;
    struct session_builder *second = fixture_add_session(), *third = fixture_add_session();
    const char *report = fixture_render(0, false);
    assert_null(strstr(report, "warning"));
    assert_null(strstr(report, "measured calls"));
    assert_non_null(strstr(report, "[hotpath] 1.00 ms, 3 processes | timing"));
    builder_header(second)->used += 1000;
    builder_header(third)->state = HP_STATE_LIVE;
    report = fixture_render(0, false);
    assert_non_null(strstr(report, "\nwarning: 1 of 3 session files is truncated\n"));
    assert_null(strstr(report, "measured calls")); /* it ended unfinished, but nothing was open */
    builder_header(third)->used += 1000;
    builder_header(second)->state = HP_STATE_LIVE;
    report = fixture_render(0, false);
    assert_non_null(strstr(report, "\nwarning: 2 of 3 session files are truncated\n"));
    settings.output.format = HP_FORMAT_JSON;
    report = fixture_render(0, false);
    assert_non_null(strstr(report, "\"warnings\":[\"2 of 3 session files are truncated\"]"));
    assert_non_null(strstr(report, "\"processes\":3,"));
    assert_non_null(strstr(report, "\"pid\":4242,"));
}

/* The observer saw the program start, end, and wait for a CPU meanwhile: half a run more than there was. */
static void work_is_that_of_the_run(void **state)
{
    (void)state;
    struct hp_work_times *work = &builder_header(&builder)->work;
    *work = (struct hp_work_times){
        .covered_ns = 1500000, .worked_ns = 400000, .blocked_ns = 200000, .socket_ns = 100000};
    settings.output.format = HP_FORMAT_JSON;
    assert_non_null(strstr(fixture_render(0, false),
                           "\"work\":{\"covered_ns\":1000000,\"worked_ns\":400000,\"blocked_ns\":200000,"
                           "\"socket_ns\":100000,\"idle_ns\":300000}"));
    builder_header(&builder)->work.worked_ns = 1300000;
    assert_non_null(strstr(fixture_render(0, false),
                           "\"work\":{\"covered_ns\":1000000,\"worked_ns\":1000000,\"blocked_ns\":0,"
                           "\"socket_ns\":0,\"idle_ns\":0}"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_same_place_in_code_is_one_row),
        TEST(sites_that_differ_are_separate_rows),
        TEST(equal_sites_of_one_session_stay_separate),
        TEST(signatures_are_made_short),
        TEST(sites_known_by_number_only_are_not_merged),
        TEST(recursion_counts_once_in_every_process),
        TEST(percentiles_are_those_of_all_calls),
        TEST(open_zones_count_to_the_end_of_their_own_session),
        TEST(open_zones_of_dead_and_live_processes_are_distinguished),
        TEST(only_processes_cut_short_are_mentioned),
        TEST(zone_cost_is_averaged),
        TEST(overhead_of_consecutive_processes_adds_up),
        TEST(child_without_main_keeps_the_main_row),
        TEST(different_main_functions_are_not_100_percent),
        TEST(shares_without_main_are_of_the_total_time),
        TEST(ticks_of_sessions_are_converted_to_one_rate),
        TEST(unknown_tick_rate_is_taken_from_the_longest_session),
        TEST(sessions_with_other_clocks_are_left_out_and_named),
        TEST(state_of_a_run_combines_all_processes),
        TEST(unfinished_processes_are_counted_in_the_table),
        TEST(work_is_that_of_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
