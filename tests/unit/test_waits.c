/* What threads waited for, as rows, from sessions with known numbers. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "report_fixture.h"
#include "system_calls.h"
#include "wait_profile.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static uint32_t thread, root, load, save;

static const hotpath_section *waits(void)
{
    const hotpath_section *section = section_named("waits");
    assert_non_null(section);
    return section;
}

static uint32_t node_of(struct session_builder *session, uint32_t in, const char *name)
{
    const uint32_t node = builder_node(session, in, 0, builder_site(session, name, "src/demo.c", 7));
    builder_call(session, in, node, 5000, 0);
    return node;
}

/* load waits for a lock and two files, save for a file, both for a CPU; a thread outside all zones sleeps. */
static void build(void)
{
    thread = builder_thread(&builder);
    root = ((struct hp_thread *)builder_at(&builder, thread))->root;
    load = node_of(&builder, thread, "load");
    save = node_of(&builder, thread, "save");
    struct hp_waits *sums = builder_waits(&builder, 16);
    sums->watched_ns = 10000;
    sums->probes = 77;
    sums->period_us = 10000;
    sums->watcher_ns = 5;
    builder_wait(&builder, load, HP_WAIT_LOCK, SYS_futex, "", 3000);
    builder_wait(&builder, load, HP_WAIT_DISK, SYS_read, "/data/a", 200)->probes = 9;
    builder_wait(&builder, load, HP_WAIT_DISK, SYS_read, "/data/b", 100);
    builder_wait(&builder, save, HP_WAIT_DISK, SYS_fsync, "/data/a", 1500);
    builder_wait(&builder, save, HP_WAIT_RUN_QUEUE, -1, "", 400);
    builder_wait(&builder, root, HP_WAIT_SLEEP, SYS_clock_nanosleep, "", 50);
    builder_wait(&builder, 0, HP_WAIT_SLEEP, SYS_clock_nanosleep, "", 20);
    builder_wait(&builder, save, HP_WAIT_PIPE, SYS_read, "pipe:[1]", 0);
}

static void assert_row(size_t row, const char *name, const char *cause, const char *call, const char *what,
                       uint64_t ns)
{
    assert_string_equal(cell_of(waits(), row, "name").text, name);
    assert_string_equal(cell_of(waits(), row, "cause").text, cause);
    assert_string_equal(cell_of(waits(), row, "call").text, call);
    assert_string_equal(cell_of(waits(), row, "what").text, what);
    assert_int_equal(cell_of(waits(), row, "waited_ns").count, ns);
}

static void rows_are_by_function_cause_and_file(void **state)
{
    (void)state;
    build();
    fixture_build();
    assert_int_equal(hotpath_section_rows(waits()), 6); /* what took no time has no row */
    assert_row(0, "load", "lock", "futex", "", 3000);
    assert_row(1, "save", "disk", "fsync", "/data/a", 1500);
    assert_row(2, "save", "run queue", "", "", 400);
    assert_row(3, "load", "disk", "read", "/data/a", 200);
    assert_row(4, "load", "disk", "read", "/data/b", 100);
    assert_row(5, "<outside>", "sleep", "clock_nanosleep", "", 70);
    assert_int_equal(cell_of(waits(), 3, "looks").count, 9);
    assert_int_equal(cell_of(waits(), 0, "percent_total").count, 30);
    assert_string_equal(waits()->percent_of, "watched");
}

static uint64_t total(const char *key)
{
    for (size_t at = 0; at < waits()->total_count; at++)
        if (strcmp(waits()->totals[at].key, key) == 0)
            return waits()->totals[at].cell.count;
    fail_msg("there is no total '%s'", key);
    return 0;
}

static const char *text_of(size_t row, const char *key)
{
    const struct hotpath_cell cell = cell_of(waits(), row, key);
    return cell.has_value ? cell.text : "none";
}

/* The rows of two entries in one have the names of the longer wait, and the probes of both. */
static void rows_have_the_other_side(void **state)
{
    (void)state;
    build();
    builder_header(&builder)->pid = 50;
    struct session_builder *second = fixture_add_session();
    builder_header(second)->pid = 60;
    builder_header(second)->executable = builder_text(second, "/usr/bin/xz");
    builder_wait(&builder, root, HP_WAIT_PIPE, SYS_read, "pipe:[2]", 9000)->peer = 60;
    builder_wait(&builder, root, HP_WAIT_PIPE, SYS_write, "pipe:[3]", 8000)->peer = 60;
    builder_wait(&builder, root, HP_WAIT_SOCKET, SYS_write, "socket:[4]", 7000)->peer = 61;
    builder_wait(&builder, root, HP_WAIT_PIPE, SYS_read, "pipe:[5]", 6000)->peer = 50;
    for (uint32_t at = 0; at < 2; at++) {
        struct hp_wait *wait = builder_wait(&builder, root, HP_WAIT_LOCK, SYS_futex, "", at == 0 ? 1000 : 4000);
        wait->peer = 70 + at;
        memcpy(wait->holder, at == 0 ? "one" : "two", 3);
        wait->held_working = at == 0 ? 1 : 2;
        wait->held_waiting = at == 0 ? 9 : 1;
        wait->held_cause = at == 0 ? HP_WAIT_SLEEP : HP_WAIT_DISK;
    }
    fixture_build();
    assert_string_equal(text_of(0, "other_end"), "from xz");
    assert_int_equal(cell_of(waits(), 0, "other_end_pid").count, 60);
    assert_string_equal(text_of(1, "other_end"), "to xz");
    assert_string_equal(text_of(2, "other_end"), "with another process");
    assert_string_equal(text_of(3, "other_end"), "within the process");
    assert_string_equal(text_of(3, "held_by"), "none");
    assert_string_equal(text_of(4, "cause"), "lock");
    assert_int_equal(cell_of(waits(), 4, "waited_ns").count, 5000);
    assert_string_equal(text_of(4, "held_by"), "two");
    assert_int_equal(cell_of(waits(), 4, "held_by_tid").count, 71);
    assert_string_equal(text_of(4, "held_state"), "disk");
    assert_string_equal(text_of(5, "held_by"), "none");
}

static void totals_are_of_all_rows(void **state)
{
    (void)state;
    build();
    ((struct hp_waits *)builder_at(&builder, builder_header(&builder)->waits))->left_out_ns = 30;
    fixture_build();
    assert_int_equal(total("watched_ns"), 10000);
    assert_int_equal(total("waited_ns"), 5300);
    assert_int_equal(total("left_out_ns"), 30);
    assert_int_equal(total("looks"), 77);
    assert_int_equal(total("period_us"), 10000);
    assert_int_equal(total("watcher_ns"), 5);
    assert_int_equal(total("watched_processes"), 1);
    assert_int_equal(waits()->note_count, 1);
    assert_non_null(strstr(waits()->notes[0], "has no row"));
}

static void summary_has_number_period_and_cost_of_samples(void **state)
{
    (void)state;
    build();
    fixture_build();
    assert_non_null(strstr(waits()->summary, "; 77 samples, every 10.00 ms, took "));
}

static void unsampled_threads_are_noted(void **state)
{
    (void)state;
    build();
    ((struct hp_waits *)builder_at(&builder, builder_header(&builder)->waits))->unwatched = 3;
    fixture_build();
    assert_int_equal(waits()->note_count, 1);
    assert_non_null(strstr(waits()->notes[0], "not all threads were sampled"));
    assert_int_equal(total("unwatched_threads"), 3);
}

static void one_sample_is_singular(void **state)
{
    (void)state;
    build();
    ((struct hp_waits *)builder_at(&builder, builder_header(&builder)->waits))->probes = 1;
    fixture_build();
    assert_non_null(strstr(waits()->summary, "; 1 sample, every 10.00 ms, took "));
}

static void processes_are_added_up(void **state)
{
    (void)state;
    build();
    struct session_builder *other = fixture_add_session();
    const uint32_t in = builder_thread(other);
    node_of(other, in, "other");
    const uint32_t node = node_of(other, in, "load");
    builder_waits(other, 4)->watched_ns = 5000;
    builder_wait(other, node, HP_WAIT_LOCK, SYS_futex, "", 11);
    fixture_add_session(); /* without samples */
    fixture_build();
    assert_row(0, "load", "lock", "futex", "", 3011);
    assert_int_equal(total("watched_ns"), 15000);
    assert_int_equal(total("watched_processes"), 2);
}

static const struct hp_site_sums *site_named(const char *name)
{
    for (size_t at = 0; at < results->model->profile->site_count; at++)
        if (strcmp(results->model->profile->sites[at]->name, name) == 0)
            return results->model->profile->sites[at];
    fail_msg("there is no function '%s'", name);
    return NULL;
}

/* Waits are sampled: time beyond what the function took belongs elsewhere. */
static void waiting_is_at_most_the_time_of_the_function(void **state)
{
    (void)state;
    thread = builder_thread(&builder);
    load = node_of(&builder, thread, "load");
    builder_waits(&builder, 8)->watched_ns = 20000;
    builder_wait(&builder, load, HP_WAIT_SLEEP, SYS_clock_nanosleep, "", 7000)->beside_ns = 7000;
    builder_wait(&builder, load, HP_WAIT_DISK, SYS_fsync, "/data/a", 1750);
    builder_wait(&builder, 0, HP_WAIT_SLEEP, SYS_clock_nanosleep, "", 6000);
    fixture_build();
    assert_row(0, "<outside>", "sleep", "clock_nanosleep", "", 6000);
    assert_row(1, "load", "sleep", "clock_nanosleep", "", 4000);
    assert_row(2, "load", "disk", "fsync", "/data/a", 1000);
    assert_int_equal(cell_of(waits(), 1, "beside_ns").count, 4000);
    assert_non_null(strstr(fixture_render(0, false),
                           "\n"
                           "3.75 µs of waiting time has no row: it exceeded the time of its function\n"));
}

static void waits_of_one_function(void **state)
{
    (void)state;
    struct hp_site_waits of;
    build();
    fixture_build();
    assert_non_null(results->model->waits);
    hp_waits_of_site(results->model->waits, site_named("load"), &of);
    assert_int_equal(of.ns, 3300);
    assert_int_equal(of.by_cause[HP_WAIT_LOCK], 3000);
    assert_int_equal(of.by_cause[HP_WAIT_DISK], 300);
    assert_int_equal(of.longest->cause, HP_WAIT_LOCK);
    hp_waits_of_site(results->model->waits, site_named("save"), &of);
    assert_int_equal(of.by_cause[HP_WAIT_RUN_QUEUE], 400);
    assert_string_equal(of.longest->what, "/data/a");
    hp_waits_of_site(results->model->waits, NULL, &of);
    assert_int_equal(of.ns, 70);
}

static void section_is_shown_if_there_are_waits(void **state)
{
    (void)state;
    strcpy(settings.show.report, "auto");
    build();
    fixture_build();
    assert_non_null(section_named("waits"));
    strcpy(settings.show.report, "-waits");
    fixture_build();
    assert_null(section_named("waits"));
    ((struct hp_waits *)builder_at(&builder, builder_header(&builder)->waits))->watcher = 0;
    strcpy(settings.show.report, "all");
    fixture_build();
    assert_null(section_named("waits"));
    strcpy(settings.show.report, "waits");
    fixture_build();
    assert_int_equal(hotpath_section_rows(waits()), 0);
    assert_non_null(strstr(waits()->if_empty, "HOTPATH_WAITS=1"));
}

static void focus_and_limit_apply(void **state)
{
    (void)state;
    build();
    strcpy(settings.show.focus, "save");
    fixture_build();
    assert_int_equal(hotpath_section_rows(waits()), 2);
    settings.show.focus[0] = '\0';
    settings.show.functions_limit = 2;
    fixture_build();
    assert_int_equal(hotpath_section_rows(waits()), 2);
    assert_int_equal(hotpath_section_total_rows(waits()), 6);
    settings.show.min_percent = 20;
    fixture_build();
    assert_int_equal(hotpath_section_rows(waits()), 1);
    settings.show.min_percent = 0;
    settings.show.functions_limit = HOTPATH_NO_LIMIT;
    strcpy(settings.show.sort, "looks");
    fixture_build();
    assert_row(0, "load", "disk", "read", "/data/a", 200);
}

static void unreadable_system_calls(void **state)
{
    (void)state;
    build();
    fixture_build();
    assert_int_equal(waits()->note_count, 0);
    builder_wait(&builder, save, HP_WAIT_OTHER, -1, "do_something", 9);
    fixture_build();
    assert_int_equal(waits()->note_count, 1);
    assert_non_null(strstr(waits()->notes[0], "some system calls are unknown"));
}

/* Counts that are too large, invalid nodes, unknown causes, names without an end. */
static void broken_records_are_survived(void **state)
{
    (void)state;
    build();
    struct hp_waits *sums = builder_at(&builder, builder_header(&builder)->waits);
    struct hp_wait *wait = builder_wait(&builder, 12345679, 99, 999999, "", UINT64_MAX);
    memset(wait->what, 'x', sizeof wait->what);
    sums->used = sums->capacity = UINT32_MAX;
    fixture_build();
    assert_string_equal(cell_of(waits(), 0, "name").text, "<outside>");
    assert_string_equal(cell_of(waits(), 0, "cause").text, "other");
    assert_int_equal(strlen(cell_of(waits(), 0, "what").text), sizeof wait->what - 1);
    static const uint32_t places[] = {1, 4095, 4097, UINT32_MAX, UINT32_MAX - 7};
    for (size_t at = 0; at < COUNT(places); at++) {
        builder_header(&builder)->waits = places[at];
        strcpy(settings.show.report, "waits");
        fixture_build();
        assert_int_equal(hotpath_section_rows(waits()), 0);
    }
}

static void system_calls_have_names(void **state)
{
    (void)state;
    assert_string_equal(hp_system_call_name(SYS_read), "read");
    assert_int_equal(hp_system_call(SYS_fsync)->cause, HP_WAIT_DISK);
    assert_true(hp_system_call(SYS_fsync)->has_descriptor && !hp_system_call(SYS_fsync)->is_by_file);
    assert_true(hp_system_call(SYS_read)->is_by_file);
    assert_false(hp_system_call(SYS_wait4)->has_descriptor);
    assert_string_equal(hp_system_call_name(SYS_mprotect), "mprotect");
    assert_null(hp_system_call_name(-1));
    assert_null(hp_system_call_name(100000));
    for (uint32_t cause = 0; cause < HP_WAIT_CAUSES; cause++)
        assert_non_null(hp_wait_cause_name(cause));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rows_are_by_function_cause_and_file),
        TEST(rows_have_the_other_side),
        TEST(totals_are_of_all_rows),
        TEST(summary_has_number_period_and_cost_of_samples),
        TEST(unsampled_threads_are_noted),
        TEST(one_sample_is_singular),
        TEST(processes_are_added_up),
        TEST(waiting_is_at_most_the_time_of_the_function),
        TEST(waits_of_one_function),
        TEST(section_is_shown_if_there_are_waits),
        TEST(focus_and_limit_apply),
        TEST(unreadable_system_calls),
        TEST(broken_records_are_survived),
        TEST(system_calls_have_names),
    };
    return cmocka_run_group_tests_name("waits", tests, NULL, NULL);
}
