/* What threads used, as rows, from sessions with known numbers. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report_fixture.h"

#define MS UINT64_C(1000000)

static uint32_t record, load;

static const hotpath_section *threads(void)
{
    const hotpath_section *section = section_named("threads");
    assert_non_null(section);
    return section;
}

static void build_at(bool is_live)
{
    static const struct hp_clock_pair now = {1000000, 1000000};
    strcpy(settings.show.report, "threads");
    fixture_build_at(is_live ? &now : NULL);
}

static const char *text_of(size_t row, const char *key) { return cell_of(threads(), row, key).text; }
static uint64_t count_of(size_t row, const char *key) { return cell_of(threads(), row, key).count; }

/* A record of a thread that is in `load`; it was another's before. */
static struct hp_thread *build_record(void)
{
    record = builder_thread(&builder);
    load = builder_node(&builder, record, 0, builder_site(&builder, "load", "src/demo.c", 7));
    builder_open(&builder, record, load, 100, 0);
    struct hp_thread *thread = builder_at(&builder, record);
    struct hp_alloc_thread *alloc = builder_alloc_thread(&builder, record);
    thread->tid = 5001;
    thread->generation = 2;
    thread->state = HP_THREAD_LIVE;
    thread->life = (struct hp_thread_life){
        .ended_generation = 1, .user_ns = 90 * MS, .bytes_before = 100, .usable_before = 128, .freed_before = 20};
    alloc->bytes = 1100;
    alloc->usable = 1152;
    alloc->freed = 320;
    return thread;
}

static struct hp_thread_usage_row *build_worker(void)
{
    struct hp_thread_usage_row *row = builder_thread_usage_row(&builder, "worker", 5001);
    row->user_ns = 30 * MS;
    row->kernel_ns = 10 * MS;
    row->voluntary = 7;
    row->involuntary = 3;
    row->lived_ns = 400 * MS;
    row->now_permille = 250;
    row->max_permille = 900;
    row->record = record;
    row->generation = 2;
    return row;
}

static void a_thread_that_lives(void **state)
{
    (void)state;
    build_record();
    builder_header(&builder)->state = HP_STATE_LIVE;
    struct hp_thread_usage *usage = builder_thread_usage(&builder, 4);
    usage->rss_bytes = 3u << 20;
    usage->rss_peak_bytes = 5u << 20;
    usage->most_threads = 4;
    build_worker();
    build_at(true);
    assert_int_equal(hotpath_section_rows(threads()), 1);
    assert_string_equal(text_of(0, "name"), "worker 5001");
    assert_string_equal(text_of(0, "state"), "waiting");
    assert_string_equal(text_of(0, "current"), "load");
    assert_int_equal(count_of(0, "percent_now"), 25);
    assert_int_equal(count_of(0, "percent_max"), 90);
    assert_int_equal(count_of(0, "percent_average"), 10);
    assert_int_equal(count_of(0, "cpu_ns"), 40 * MS);
    assert_int_equal(count_of(0, "user_ns"), 30 * MS);
    assert_int_equal(count_of(0, "kernel_ns"), 10 * MS);
    assert_int_equal(count_of(0, "voluntary_switches"), 7);
    assert_int_equal(count_of(0, "involuntary_switches"), 3);
    assert_int_equal(count_of(0, "allocated_bytes"), 1000); /* by the record, up to now */
    assert_int_equal(count_of(0, "freed_usable_bytes"), 300);
    assert_int_equal(count_of(0, "live_usable_bytes"), 724);
    assert_string_equal(threads()->summary, "1 thread running, 4 at peak; memory in use: 3.0 MB, at most 5.0 MB");
}

static uint64_t total(const char *key)
{
    for (size_t at = 0; at < threads()->total_count; at++)
        if (strcmp(threads()->totals[at].key, key) == 0)
            return threads()->totals[at].cell.count;
    fail_msg("no %s", key);
    return 0;
}

/* A watched process used 50 ms, 40 of them in the thread that was seen, and one that was not watched used 7. */
static void cpu_time_without_waits_is_told(void **state)
{
    (void)state;
    builder_thread_usage(&builder, 4);
    build_worker();
    builder_header(&builder)->cpu_start_ns = 2 * MS;
    builder_header(&builder)->cpu_latest_ns = 52 * MS;
    struct session_builder *second = fixture_add_session();
    builder_header(second)->cpu_latest_ns = 7 * MS;
    build_at(false);
    assert_int_equal(total("cpu_ns"), 57 * MS);
    assert_int_equal(total("unseen_cpu_ns"), 17 * MS);
}

/* The exit record overrides the last sample. */
static void a_thread_that_has_ended(void **state)
{
    (void)state;
    struct hp_thread *thread = build_record();
    builder_thread_usage(&builder, 4);
    build_worker()->living = 0;
    thread->life.ended_generation = 2;
    thread->life.user_ns = 31 * MS;
    thread->life.kernel_ns = 12 * MS;
    thread->life.voluntary = 8;
    thread->state = HP_THREAD_FREE;
    build_at(false);
    assert_string_equal(text_of(0, "state"), "ended");
    assert_int_equal(count_of(0, "cpu_ns"), 43 * MS);
    assert_int_equal(count_of(0, "lived_ns"), 403 * MS); /* 3 ms of that after the last sample */
    assert_int_equal(count_of(0, "kernel_ns"), 12 * MS);
    assert_int_equal(count_of(0, "voluntary_switches"), 8);
    assert_false(cell_of(threads(), 0, "percent_now").has_value);
    assert_false(cell_of(threads(), 0, "current").has_value);
}

/* Its last wait ended after the last look at it; but nothing can be longer than its session. */
static void a_thread_lived_for_what_it_did(void **state)
{
    (void)state;
    build_record();
    builder_thread_usage(&builder, 4);
    struct hp_thread_usage_row *row = build_worker();
    builder_elapse(&builder, 300 * MS, 1);
    row->lived_ns = 100 * MS;
    row->waited_ns[HP_WAIT_LOCK] = 200 * MS;
    build_at(false);
    assert_int_equal(count_of(0, "lived_ns"), 240 * MS);
    row->waited_ns[HP_WAIT_LOCK] = 300 * MS;
    build_at(false);
    assert_int_equal(count_of(0, "lived_ns"), 100 * MS);
}

/* The longest first; null for a thread without samples. */
static void causes_of_waiting_per_thread(void **state)
{
    (void)state;
    struct hotpath_histogram causes = {.size = sizeof causes};
    build_record();
    builder_thread_usage(&builder, 4);
    struct hp_thread_usage_row *row = build_worker();
    row->waited_ns[HP_WAIT_SLEEP] = 30 * MS;
    row->waited_ns[HP_WAIT_LOCK] = 200 * MS;
    build_at(false);
    assert_int_equal(count_of(0, "waited_ns"), 230 * MS);
    const size_t column = column_of(threads(), "waits_ns");
    assert_int_equal(hotpath_section_histogram(threads(), 0, column, &causes), HOTPATH_OK);
    assert_int_equal(causes.bars, 2);
    assert_string_equal(causes.labels[0], "lock");
    assert_int_equal(causes.amounts[0], 200 * MS);
    assert_string_equal(causes.labels[1], "sleep");
    assert_int_equal(causes.amounts[1], 30 * MS);
}

/* Another thread has the record now: its numbers are not this thread's. */
static void record_reused_by_another_thread(void **state)
{
    (void)state;
    struct hp_thread *thread = build_record();
    builder_thread_usage(&builder, 4);
    struct hp_thread_usage_row *row = build_worker();
    row->living = 0;
    row->allocated_bytes = 60;
    row->usable_bytes = 64;
    thread->generation = 3;
    thread->life.ended_generation = 3;
    build_at(false);
    assert_int_equal(count_of(0, "cpu_ns"), 40 * MS);
    assert_int_equal(count_of(0, "allocated_bytes"), 60);
    assert_int_equal(count_of(0, "live_usable_bytes"), 64);
}

/* CPU time of the process beyond the listed threads has a row; rows add up to the total. */
static void row_for_unlisted_threads(void **state)
{
    (void)state;
    build_record();
    builder_thread_usage(&builder, 4);
    build_worker();
    struct hp_header *header = builder_header(&builder);
    header->cpu_latest_ns = 100 * MS;
    header->cpu_latest_kernel_ns = 25 * MS;
    header->threads_seen = 9;
    build_at(false);
    assert_int_equal(hotpath_section_rows(threads()), 2);
    assert_string_equal(text_of(0, "name"), "<others>");
    assert_int_equal(count_of(0, "cpu_ns"), 60 * MS);
    assert_int_equal(count_of(0, "kernel_ns"), 15 * MS);
    assert_int_equal(count_of(0, "threads"), 8);
    assert_int_equal(count_of(0, "allocated_bytes"), 100); /* of the one that had the record before */
    assert_false(cell_of(threads(), 0, "voluntary_switches").has_value);
}

/* The thread of the library that watches is no thread of the program. */
static void observer_is_not_in_the_rest(void **state)
{
    (void)state;
    builder_thread_usage(&builder, 4);
    build_worker();
    struct hp_header *header = builder_header(&builder);
    struct hp_waits *waits = builder_waits(&builder, 4);
    header->threads_seen = 1;
    header->cpu_latest_ns = 100 * MS;
    waits->watcher = header->pid;
    waits->watcher_ns = 60 * MS;
    build_at(false);
    assert_int_equal(hotpath_section_rows(threads()), 1);
}

/* Free entries are not rows; several threads of one name are counted. */
static void threads_of_one_name(void **state)
{
    (void)state;
    builder_thread_usage(&builder, 4);
    builder_thread_usage_row(&builder, "gone", 9)->threads = 0;
    struct hp_thread_usage_row *row = build_worker();
    row->threads = 12;
    row->living = 0;
    build_at(false);
    assert_int_equal(hotpath_section_rows(threads()), 1);
    assert_string_equal(text_of(0, "name"), "worker 5001 (12 threads)");
    assert_int_equal(count_of(0, "threads"), 12);
}

/* Without samples, only the records are known. */
static void without_an_observer(void **state)
{
    (void)state;
    build_record();
    struct hp_cpu_thread *cpu = builder_cpu_thread(&builder, record, 4);
    cpu->user_ns = 5 * MS;
    cpu->kernel_ns = MS;
    build_at(false);
    assert_int_equal(hotpath_section_rows(threads()), 1);
    assert_int_equal(count_of(0, "cpu_ns"), 6 * MS);
    assert_int_equal(count_of(0, "allocated_bytes"), 1100);
    assert_false(cell_of(threads(), 0, "percent_average").has_value);
    assert_true(threads()->note_count > 0);
}

static void running_out_of_memory_is_reported(void **state)
{
    (void)state;
    build_record();
    builder_thread_usage(&builder, 4);
    build_worker();
    builder_header(&builder)->threads_seen = 9;
    strcpy(settings.show.report, "threads");
    assert_true(fixture_builds_that_fail() > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_thread_that_lives, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(a_thread_that_has_ended, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(cpu_time_without_waits_is_told, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(a_thread_lived_for_what_it_did, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(causes_of_waiting_per_thread, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(record_reused_by_another_thread, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(row_for_unlisted_threads, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(observer_is_not_in_the_rest, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(threads_of_one_name, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(without_an_observer, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(running_out_of_memory_is_reported, fixture_set_up, fixture_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
