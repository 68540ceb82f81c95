/* The section `processes` of reports about several sessions. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "run_fixture.h"

static void assert_process(size_t row, const char *name, const char *state, double started, double elapsed,
                           uint64_t calls, double total, double percent)
{
    const hotpath_section *processes = section_named("processes");
    assert_string_equal(cell_of(processes, row, "name").text, name);
    assert_string_equal(cell_of(processes, row, "state").text, state);
    assert_float_equal(cell_of(processes, row, "started_ns").number, started, 0.001);
    assert_float_equal(cell_of(processes, row, "elapsed_ns").number, elapsed, 0.001);
    assert_int_equal(cell_of(processes, row, "calls").count, calls);
    assert_float_equal(cell_of(processes, row, "total_ns").number, total, 0.001);
    assert_float_equal(cell_of(processes, row, "percent_total").number, percent, 0.001);
}

/*
 * A server that waits, a worker with two threads, and one that was killed in its work; half a nanosecond per tick.
 */
static void build_server(void)
{
    const uint32_t main_thread = builder_thread(&builder), main_site = builder_site(&builder, "main", "s.c", 1);
    builder_header(&builder)->main_site = main_site;
    builder_header(&builder)->command = builder_text(&builder, "./server");
    const uint32_t main_node = builder_node(&builder, main_thread, 0, main_site);
    const uint32_t accept =
        builder_node(&builder, main_thread, main_node, builder_site(&builder, "accept", "s.c", 2));
    builder_call(&builder, main_thread, accept, 4000, 0);
    builder_call(&builder, main_thread, main_node, 40000, 4000);
    builder_elapse(&builder, 50000, 0.5);
    begin_later(&builder, 2000, 0.5);

    struct session_builder *worker = fixture_add_session();
    builder_header(worker)->command = builder_text(worker, "./server --worker");
    builder_header(worker)->parent_pid = 4242;
    const uint32_t work = builder_site(worker, "work", "s.c", 3), parse = builder_site(worker, "parse", "s.c", 4);
    for (unsigned count = 0; count < 2; count++) {
        const uint32_t thread = builder_thread(worker);
        const uint32_t work_node = builder_node(worker, thread, 0, work);
        const uint32_t parse_node = builder_node(worker, thread, work_node, parse);
        builder_nested_call(worker, thread, work_node, 2000, 0);
        builder_call(worker, thread, work_node, 30000, 12000);
        builder_call(worker, thread, parse_node, 10000, 0);
    }
    builder_elapse(worker, 80000, 0.5);
    begin_later(worker, 6000, 0.5);

    struct session_builder *killed = fixture_add_session();
    builder_header(killed)->command = 0;
    builder_header(killed)->state = HP_STATE_LIVE;
    const uint32_t thread = builder_thread(killed);
    const uint32_t open = builder_node(killed, thread, 0, builder_site(killed, "work", "s.c", 3));
    builder_elapse(killed, 60000, 0.5);
    builder_open(killed, thread, open, 40000, 0);
}

static void every_process_has_a_row(void **state)
{
    (void)state;
    build_server();
    fixture_build();
    const hotpath_section *processes = section_named("processes");
    assert_non_null(processes);
    assert_int_equal(hotpath_section_rows(processes), 3);
    assert_process(0, "4243 ./server --worker", "finished", 3000, 40000, 6, 30000, 50);
    assert_process(1, "4242 ./server", "finished", 1000, 25000, 2, 20000, 100.0 / 3);
    assert_process(2, "4244", "ended", 0, 30000, 1, 10000, 100.0 / 6);
    assert_int_equal(cell_of(processes, 0, "threads").count, 2);
    assert_int_equal(cell_of(processes, 0, "pid").count, 4243);
    assert_int_equal(cell_of(processes, 0, "parent_pid").count, 4242);
    assert_string_equal(cell_of(processes, 2, "command").text, "");
    assert_string_equal(processes->percent_of, "rows");
    assert_null(processes->main);
    assert_true(has_note("processes", "ended: by a signal, _exit or exec"));
    assert_int_equal(hotpath_results_elapsed_ns(results), 43000);
}

static void own_time_of_main_can_be_left_out(void **state)
{
    (void)state;
    settings.show.exclude_wrapper = true;
    build_server();
    fixture_build();
    assert_process(1, "4244", "ended", 0, 30000, 1, 10000, 100 * 10.0 / 42);
    assert_process(2, "4242 ./server", "finished", 1000, 25000, 2, 2000, 100 * 2.0 / 42);
    assert_true(has_note("processes", "excludes the main function's own time"));
}

static void one_process_is_shown_on_request(void **state)
{
    (void)state;
    build_parser(&builder, true);
    fixture_build();
    assert_null(section_named("processes"));
    strcpy(settings.show.report, "processes");
    assert_string_equal(
        fixture_render(0, false),
        "[hotpath] 2.00 µs | processes\n"
        "\n"
        "processes - Time in zones per process.\n"
        "+--------------------+----------+---------+---------+---------+-------+---------+---------+\n"
        "| Process            | State    | Started | Elapsed | Threads | Calls |   Total | % Total |\n"
        "+--------------------+----------+---------+---------+---------+-------+---------+---------+\n"
        "| 4242 ./demo --fast | finished |       0 | 2.00 µs |       1 |     4 | 1.00 µs | 100.00% |\n"
        "+--------------------+----------+---------+---------+---------+-------+---------+---------+\n"
        "\n"
        "clock monotonic; zone cost unknown; nothing was lost\n");
}

static void processes_are_limited_and_ties_keep_their_order(void **state)
{
    (void)state;
    settings.show.functions_limit = 3;
    for (unsigned session = 0; session < 6; session++)
        build_parser(session == 0 ? &builder : fixture_add_session(), true);
    assert_non_null(strstr(fixture_render(0, false), "processes - Time in zones per process. (3/6)\n"));
    fixture_build();
    for (size_t row = 0; row < 3; row++)
        assert_int_equal(cell_of(section_named("processes"), row, "pid").count, 4242 + row);
    settings.show.functions_limit = HOTPATH_NO_LIMIT;
    fixture_build();
    assert_int_equal(hotpath_section_rows(section_named("processes")), 6);
}

static void process_that_execs_is_one_row(void **state)
{
    (void)state;
    struct session_builder *second = fixture_add_session(), *third = fixture_add_session();
    builder_header(second)->pid = builder_header(&builder)->pid;
    builder_header(second)->process_start = builder_header(&builder)->process_start = 77;
    builder_header(third)->process_start = 78;
    fixture_build();
    assert_int_equal(results->model->run.count, 3);
    assert_int_equal(results->model->run.process_count, 2);
    assert_int_equal(hotpath_section_rows(section_named("processes")), 3);
    uint64_t counted = 0;
    for (size_t row = 0; row < 3; row++)
        counted += cell_of(section_named("processes"), row, "processes").count;
    assert_int_equal(counted, 2);
    builder_header(third)->pid = builder_header(&builder)->pid; /* used again, by another process */
    fixture_build();
    assert_int_equal(results->model->run.process_count, 2);
}

/* Two libraries that cannot share a session measure the same process; sessions one after the other do not. */
static void two_versions_in_a_process_are_noticed(void **state)
{
    (void)state;
    struct session_builder *second = fixture_add_session();
    builder_header(second)->pid = builder_header(&builder)->pid;
    builder_elapse(&builder, 1000, 1);
    builder_elapse(second, 1000, 1);
    assert_non_null(
        strstr(fixture_render(0, false), "\nwarning: a program contains another version of the library"));
    struct hp_header *header = builder_header(second);
    header->clock_start.ns += 1000, header->clock_start.ticks += 1000;
    header->clock_latest.ns += 1000, header->clock_latest.ticks += 1000;
    assert_null(strstr(fixture_render(0, false), "warning: "));
}

static void processes_without_a_session_are_named(void **state)
{
    (void)state;
    struct session_builder *second = fixture_add_session();
    struct hp_header *header = builder_header(second);
    header->outside = builder_text(second, "it is linked statically");
    header->command = builder_text(second, "busybox");
    header->losses[HP_LOSS_PROCESSES] = 3;
    header->processes = 3;
    header->features |= HP_FEATURE_CPU;
    header->cpu_latest_ns = 5000;
    const char *report = fixture_render(0, false);
    assert_null(strstr(report, "nothing was lost"));
    assert_non_null(strstr(report, "; 3 processes could not be followed, only observed from outside\n"));
    assert_non_null(strstr(report, ", 4 processes | "));
    fixture_build();
    assert_true(has_note("processes", "busybox (3 processes) could not be followed: it is linked statically"));
    const hotpath_section *processes = section_named("processes");
    const size_t row = strcmp(cell_of(processes, 0, "state").text, "outside") == 0 ? 0 : 1;
    assert_string_equal(cell_of(processes, row, "reason").text, "it is linked statically");
    assert_float_equal(cell_of(processes, row, "cpu_ns").number, 5000, 0.001);
}

static void processes_say_what_they_moved(void **state)
{
    (void)state;
    struct hp_thread_usage *usage = builder_thread_usage(&builder, 2);
    struct session_builder *second = fixture_add_session();
    usage->read_calls = 3;
    usage->read_bytes = 3000;
    usage->write_calls = 5000;
    usage->write_bytes = 5001;
    builder_header(second)->pid = 77;
    fixture_build();
    const hotpath_section *processes = section_named("processes");
    const size_t row = cell_of(processes, 0, "pid").count == 77 ? 1 : 0;
    assert_int_equal(cell_of(processes, row, "read_calls").count, 3);
    assert_int_equal(cell_of(processes, row, "read_bytes").count, 3000);
    assert_int_equal(cell_of(processes, row, "write_calls").count, 5000);
    assert_int_equal(cell_of(processes, row, "write_bytes").count, 5001);
    assert_false(cell_of(processes, 1 - row, "write_calls").has_value);
}

/* Named below the table if it used much CPU time. */
static void processes_that_were_not_watched_are_named(void **state)
{
    (void)state;
    static const struct {
        uint32_t why, probes;
        uint64_t cpu_ns;
        const char *reason;
    } all[] = {{HP_UNWATCHED_UNKNOWN, 3, 9000, NULL},
               {HP_UNWATCHED_MANY, 3, 9000, NULL}, /* found a place later */
               {HP_UNWATCHED_BRIEF, 0, 8000, "it ended, or executed another program, before it was looked at"},
               {HP_UNWATCHED_MANY, 0, 100, "too many processes ran at the same time"},
               {77, 0, 100, NULL}};
    for (uint32_t at = 0; at < sizeof all / sizeof all[0]; at++) {
        struct session_builder *each = at == 0 ? &builder : fixture_add_session();
        struct hp_waits *waits = builder_waits(each, 2);
        struct hp_header *header = builder_header(each);
        waits->probes = all[at].probes;
        waits->why = all[at].why;
        header->pid = 100 + at;
        header->command = builder_text(each, "tool");
        header->features |= HP_FEATURE_CPU;
        header->cpu_latest_ns = header->cpu_start_ns + all[at].cpu_ns;
    }
    fixture_build();
    const hotpath_section *processes = section_named("processes");
    for (size_t row = 0; row < sizeof all / sizeof all[0]; row++) {
        const struct hotpath_cell reason = cell_of(processes, row, "unwatched");
        const char *expected = all[cell_of(processes, row, "pid").count - 100].reason;
        if (expected == NULL)
            assert_false(reason.has_value);
        else
            assert_string_equal(reason.text, expected);
    }
    assert_true(has_note("processes", "102 tool: what it waited for is not known: it ended, or executed another "
                                      "program, before it was looked at"));
    assert_false(has_note("processes", "103 tool: what it waited for is not known: too many processes ran at the "
                                       "same time"));
}

static void very_many_processes_share_a_row_per_program(void **state)
{
    (void)state;
    settings.show.functions_limit = HOTPATH_NO_LIMIT;
    for (unsigned session = 0; session < 120; session++) {
        struct session_builder *each = session == 0 ? &builder : fixture_add_session();
        builder_header(each)->executable = builder_text(each, session < 50 ? "/bin/one" : "/bin/other");
    }
    fixture_build();
    const hotpath_section *processes = section_named("processes");
    assert_int_equal(hotpath_section_rows(processes), 2);
    assert_string_equal(cell_of(processes, 0, "name").text, "/bin/one (50 processes)");
    assert_int_equal(cell_of(processes, 1, "processes").count, 70);
}

static void long_commands_are_shortened_in_names_only(void **state)
{
    (void)state;
    char command[1001];
    memset(command, 'a', 1000);
    memcpy(command, "./tool ", 7);
    memcpy(command + 990, " --the-end", 11);
    builder_header(&builder)->command = builder_text(&builder, command);
    strcpy(settings.show.report, "processes");
    fixture_build();
    const char *name = cell_of(section_named("processes"), 0, "name").text;
    assert_true(strlen(name) < 100);
    assert_memory_equal(name, "4242 ./tool aaa", 15);
    assert_string_equal(name + strlen(name) - 10, " --the-end");
    assert_string_equal(cell_of(section_named("processes"), 0, "command").text, command);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(every_process_has_a_row),
        TEST(own_time_of_main_can_be_left_out),
        TEST(one_process_is_shown_on_request),
        TEST(processes_are_limited_and_ties_keep_their_order),
        TEST(process_that_execs_is_one_row),
        TEST(two_versions_in_a_process_are_noticed),
        TEST(processes_without_a_session_are_named),
        TEST(processes_say_what_they_moved),
        TEST(processes_that_were_not_watched_are_named),
        TEST(very_many_processes_share_a_row_per_program),
        TEST(long_commands_are_shortened_in_names_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
