/*
 * The sections `critical-path` and `path-waits`, and the first sentence, from sessions with known paths.
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "report_fixture.h"

#define MS UINT64_C(1000000)

static uint32_t thread, worker, main_site, main_node, job_site, job_node, main_key, job_key, lock_key;
static struct hp_path_thread *path;

/* A second: 700 ms in job on another thread, 600 of it waited for; 200 in main; 100 from waking to running. */
static int set_up(void **state)
{
    fixture_set_up(state);
    thread = builder_thread(&builder);
    ((struct hp_thread *)builder_at(&builder, thread))->tid = builder_header(&builder)->pid;
    main_site = builder_site(&builder, "main", "a.c", 1);
    job_site = builder_site(&builder, "job", "a.c", 9);
    main_node = builder_node(&builder, thread, 0, main_site);
    builder_call(&builder, thread, main_node, 1000 * MS, 0);
    worker = builder_thread(&builder);
    job_node = builder_node(&builder, worker, 0, job_site);
    builder_call(&builder, worker, job_node, 700 * MS, 0);
    builder_elapse(&builder, 1000 * MS, 1);
    builder_cpu(&builder, worker, job_node, 700, 700 * MS, 0);
    const uint32_t outside =
        builder_path_key(&builder, &(struct hp_path_key){.kind = HP_PATH_KEY_SITE, .site = HP_SITE_ROOT});
    main_key = builder_path_key(&builder, &(struct hp_path_key){.kind = HP_PATH_KEY_SITE, .site = main_site});
    job_key = builder_path_key(&builder, &(struct hp_path_key){.kind = HP_PATH_KEY_SITE, .site = job_site});
    lock_key = builder_path_key(&builder, &(struct hp_path_key){.kind = HP_PATH_KEY_WAIT,
                                                                .site = job_site,
                                                                .wait = HP_PATH_FOR_LOCK,
                                                                .name = builder_text(&builder, "cache_lock")});
    path = builder_path(&builder, thread);
    path->sums[outside].ticks -= BUILDER_START;
    path->sums[main_key].ticks = 200 * MS - 1000 * MS;
    path->sums[job_key].ticks = 700 * MS;
    path->sums[HP_PATH_WAKE_UP].ticks = 100 * MS;
    path->sums[lock_key] = (struct hp_path_sum){600 * MS, 20};
    path->known = 750 * MS;
    path->waker_tid = 99;
    path->waker_kind = HP_PATH_FOR_THREAD;
    strcpy(path->waker_name, "worker 3");
    strcpy(settings.show.report, "all");
    return 0;
}

static double number(const char *section, size_t row, const char *key)
{
    return cell_of(section_named(section), row, key).number;
}

static const char *text(const char *section, size_t row, const char *key)
{
    return cell_of(section_named(section), row, key).text;
}

static void rows_are_the_path(void **state)
{
    (void)state;
    fixture_build();
    assert_int_equal(hotpath_section_total_rows(section_named("critical-path")), 3);
    assert_string_equal(text("critical-path", 0, "name"), "job");
    assert_string_equal(text("critical-path", 0, "kind"), "running");
    assert_true(number("critical-path", 0, "path_ns") == 700e6);
    assert_true(number("critical-path", 0, "percent_path") == 70);
    assert_true(number("critical-path", 0, "percent_saved") == 35);
    assert_string_equal(text("critical-path", 1, "name"), "main");
    assert_true(number("critical-path", 1, "path_ns") == 200e6);
    assert_string_equal(text("critical-path", 2, "name"), "<wake-up>");
    assert_true(number("critical-path", 2, "path_ns") == 100e6);
    assert_int_equal(hotpath_section_total_rows(section_named("path-waits")), 1);
    assert_string_equal(text("path-waits", 0, "name"), "cache_lock");
    assert_string_equal(text("path-waits", 0, "held_by"), "job");
    assert_true(number("path-waits", 0, "waited_ns") == 600e6 && number("path-waits", 0, "avg_ns") == 30e6);
}

static void the_sentence_says_who_waits_for_whom(void **state)
{
    static const char expected[] =
        "main waits for worker 3, which waits 67 % of the time for cache_lock, held by job (30.00 ms at a time); "
        "of "
        "the critical path, 78 % is in job. The function with the most time of its own is ";
    (void)state;
    fixture_build();
    assert_non_null(results->headline);
    assert_memory_equal(results->headline, expected, sizeof expected - 1);
}

static const char *headline(void)
{
    fixture_build();
    return results->headline != NULL ? results->headline : "";
}

static void unknown_wakers_are_said_and_decide_nothing_from_a_third_on(void **state)
{
    (void)state;
    path->sums[main_key].more = 150 * MS;
    assert_non_null(strstr(headline(), "; who ended 17 % of its waits is unknown"));
    assert_string_equal(text("critical-path", 1, "kind"), "unknown-waker");
    path->sums[job_key].more = 250 * MS;
    assert_null(strstr(headline(), "critical path"));
}

/* Probes found job waiting for a lock, for half of its time, and nobody recorded for whom. */
static void what_probes_find_and_nobody_recorded_is_unknown(void **state)
{
    (void)state;
    builder_waits(&builder, 4)->watched_ns = 2000 * MS;
    builder_wait(&builder, job_node, HP_WAIT_LOCK, SYS_futex, "", 350 * MS)->probes = 35;
    fixture_build();
    assert_true(number("critical-path", 0, "unknown_ns") == 350e6);
    struct hp_paths *paths = builder_at(&builder, builder_header(&builder)->paths);
    paths->keys[job_key].known = 350 * MS; /* now somebody has */
    fixture_build();
    assert_true(number("critical-path", 0, "unknown_ns") == 0);
}

static void waiting_that_no_thread_ends_is_named(void **state)
{
    (void)state;
    builder_waits(&builder, 4)->watched_ns = 2000 * MS;
    builder_wait(&builder, job_node, HP_WAIT_SLEEP, SYS_nanosleep, "", 600 * MS)->probes = 60;
    assert_non_null(strstr(headline(), "78 % is in job (sleep)"));
    assert_string_equal(text("critical-path", 0, "kind"), "waiting");
    assert_string_equal(text("critical-path", 0, "waits_for"), "sleep");
}

/* For half a second the first thread waited for work, in main, which has 200 ms besides on the path. */
static void waiting_for_work_is_no_part_of_the_path(void **state)
{
    (void)state;
    path->sums[main_key].ticks = 700 * MS - 1000 * MS;
    builder_waits(&builder, 4)->watched_ns = 2000 * MS;
    builder_wait(&builder, main_node, HP_WAIT_POLL, SYS_ppoll, "", 500 * MS)->probes = 50;
    assert_memory_equal(headline(), "Busy for 67 % of 1.50 s: main waits for worker 3, which waits 67 % of", 67);
    assert_string_equal(text("critical-path", 1, "name"), "<idle>");
    assert_string_equal(text("critical-path", 1, "kind"), "idle");
    assert_true(number("critical-path", 1, "path_ns") == 500e6);
    assert_false(cell_of(section_named("critical-path"), 1, "percent_path").has_value);
    assert_string_equal(text("critical-path", 2, "name"), "main");
    assert_true(number("critical-path", 2, "path_ns") == 200e6 && number("critical-path", 2, "unknown_ns") == 0);
    assert_true(number("critical-path", 0, "percent_path") == 70);
}

/* The same, but another thread worked meanwhile, besides what it has on the path: who let main go on is unknown. */
static void waiting_beside_work_of_others_is_not_idle(void **state)
{
    (void)state;
    path->sums[main_key].ticks = 700 * MS - 1000 * MS;
    builder_waits(&builder, 4)->watched_ns = 2000 * MS;
    struct hp_wait *wait = builder_wait(&builder, main_node, HP_WAIT_POLL, SYS_ppoll, "", 600 * MS);
    wait->probes = 60;
    wait->beside_ns = 600 * MS;
    path->sums[main_key].ticks += 10 * MS;
    builder_cpu(&builder, worker, job_node, 500, 500 * MS, 0);
    fixture_build();
    assert_string_equal(text("critical-path", 0, "name"), "main");
    assert_string_equal(text("critical-path", 0, "kind"), "unknown-waker");
    assert_true(number("critical-path", 0, "path_ns") == 710e6);
}

static void work_of_main_itself_leaves_the_sentence_to_the_rules(void **state)
{
    (void)state;
    path->sums[main_key].ticks = 800 * MS - 1000 * MS;
    path->sums[job_key].ticks = 100 * MS;
    path->sums[lock_key].ticks = 100 * MS;
    path->known = 100 * MS;
    assert_null(strstr(headline(), "critical path"));
}

/* Half replaced when the process was killed: nothing is said. */
static void a_path_that_is_being_replaced_is_not_read(void **state)
{
    (void)state;
    path->sequence = 7;
    assert_null(strstr(headline(), "critical path"));
    assert_int_equal(hotpath_section_total_rows(section_named("critical-path")), 0);
}

static void the_path_of_an_earlier_thread_of_the_record_is_not_read(void **state)
{
    (void)state;
    path->generation++;
    fixture_build();
    assert_int_equal(hotpath_section_total_rows(section_named("critical-path")), 0);
}

static void without_paths_there_is_no_section(void **state)
{
    (void)state;
    builder_header(&builder)->paths = 0;
    fixture_build();
    assert_null(section_named("critical-path"));
    assert_null(section_named("path-waits"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(rows_are_the_path),
                                       TEST(the_sentence_says_who_waits_for_whom),
                                       TEST(unknown_wakers_are_said_and_decide_nothing_from_a_third_on),
                                       TEST(what_probes_find_and_nobody_recorded_is_unknown),
                                       TEST(waiting_that_no_thread_ends_is_named),
                                       TEST(waiting_for_work_is_no_part_of_the_path),
                                       TEST(waiting_beside_work_of_others_is_not_idle),
                                       TEST(work_of_main_itself_leaves_the_sentence_to_the_rules),
                                       TEST(a_path_that_is_being_replaced_is_not_read),
                                       TEST(the_path_of_an_earlier_thread_of_the_record_is_not_read),
                                       TEST(without_paths_there_is_no_section)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
