/*
 * CPU time and switches of threads, by the kernel's numbers and by their exit records: files, records and time are
 * made up. SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_kernel.h"
#include "proc_sampler.h"
#include "session_builder.h"

#define PID 4000u
#define SAMPLE (250 * MS)
#define STEP (10 * MS) /* of the kernel's times */

static struct session_builder session;
static struct hp_proc_sampler *watch;
static struct hp_thread_usage *usage;
static uint32_t record;

/* ------------------------------------------------------------------------------------------ threads */

struct task {
    uint32_t tid;
    const char *name;
    char state;
    uint64_t ran, kernel, slices, voluntary, involuntary;
};

static void show(const struct task *task)
{
    char folder[64], path[80];
    snprintf(folder, sizeof folder, "%u/task/%u", PID, task->tid);
    snprintf(path, sizeof path, "%s/stat", folder);
    fake_file(path, "1 (%s) %c 1 1 1 0 -1 0 0 0 0 0 %llu %llu 0 0 20 0 1 0 0 0\n", task->name, task->state,
              (unsigned long long)((task->ran - task->kernel) / STEP), (unsigned long long)(task->kernel / STEP));
    snprintf(path, sizeof path, "%s/schedstat", folder);
    fake_file(path, "%llu 0 %llu\n", (unsigned long long)task->ran, (unsigned long long)task->slices);
    snprintf(path, sizeof path, "%s/status", folder);
    fake_file(path, "Name:\ta\nvoluntary_ctxt_switches:\t%llu\nnonvoluntary_ctxt_switches:\t%llu\n",
              (unsigned long long)task->voluntary, (unsigned long long)task->involuntary);
    snprintf(path, sizeof path, "%s/syscall", folder);
    fake_file(path, "running\n");
}

static void hide(const struct task *task)
{
    char folder[64];
    snprintf(folder, sizeof folder, "%u/task/%u", PID, task->tid);
    fake_remove(folder);
}

static struct task main_task(void) { return (struct task){.tid = PID, .name = "main", .state = 'R', .slices = 1}; }

static void look_after(uint64_t ns)
{
    fake_ns += ns;
    assert_true(hp_proc_sample(watch));
}

static void show_memory(uint64_t pages, uint64_t peak_kilobytes)
{
    fake_file("4000/statm", "99999 %llu 5 5 0 5 0\n", (unsigned long long)pages);
    fake_file("4000/status", "Name:\ta\nVmHWM:\t  %llu kB\nVmRSS:\t 1 kB\n", (unsigned long long)peak_kilobytes);
}

/* As the kernel prints them. */
static void show_transfers(unsigned reads, unsigned read_bytes, unsigned writes, unsigned write_bytes)
{
    fake_file("4000/io",
              "rchar: %u\nwchar: %u\nsyscr: %u\nsyscw: %u\nread_bytes: 1\nwrite_bytes: 2\n"
              "cancelled_write_bytes: 0\n",
              read_bytes, write_bytes, reads, writes);
}

/* -------------------------------------------------------------------------------------------- the session */

static int set_up_with(uint32_t rows)
{
    fake_kernel_begin();
    fake_link("4000/exe", "/opt/program");
    builder_init(&session, 1u << 20);
    record = builder_thread(&session);
    builder_waits(&session, HP_WATCH_ENTRIES)->watcher = 0;
    usage = builder_thread_usage(&session, rows);
    usage->samples = 0;
    struct hp_header *header = builder_header(&session);
    header->pid = PID;
    header->state = HP_STATE_LIVE;
    header->threads_seen = 1;
    struct hp_thread *thread = builder_at(&session, record);
    thread->state = HP_THREAD_LIVE;
    thread->tid = PID;
    thread->generation = 1;
    watch = calloc(1, sizeof *watch);
    const struct hp_proc_sampler_target target = {
        .pid = PID, .read = builder_read, .write = builder_write, .context = &session};
    assert_true(hp_proc_sampler_begin(watch, &target));
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    return set_up_with(HP_THREAD_USAGE_ROWS);
}

static int set_up_small(void **state)
{
    (void)state;
    return set_up_with(4);
}

static int tear_down(void **state)
{
    (void)state;
    free(watch);
    builder_free(&session);
    fake_kernel_end();
    return 0;
}

static const struct hp_thread_usage_row *rows(void)
{
    return (const struct hp_thread_usage_row *)(const void *)(usage + 1);
}

/* The row of a thread in the session, which has to be there once. */
static const struct hp_thread_usage_row *row_of(uint32_t tid)
{
    const struct hp_thread_usage_row *found = NULL;
    for (uint32_t at = 0; at < usage->used; at++)
        if (rows()[at].threads > 0 && rows()[at].tid == tid) {
            assert_null(found);
            found = &rows()[at];
        }
    assert_non_null(found);
    return found;
}

static uint32_t used_rows(void)
{
    uint32_t count = 0;
    for (uint32_t at = 0; at < usage->used; at++)
        count += rows()[at].threads > 0;
    return count;
}

static uint64_t all_time(void)
{
    uint64_t ns = 0;
    for (uint32_t at = 0; at < usage->used; at++)
        ns += rows()[at].user_ns + rows()[at].kernel_ns;
    return ns;
}

/* -------------------------------------------------------------------------------------------------- tests */

/* All that it ran is there to the nanosecond, and what of that was in the kernel to its steps. */
static void time_and_switches(void **state)
{
    (void)state;
    struct task task = main_task();
    show(&task);
    look_after(MS);
    task.ran = 123456789;
    task.kernel = 40 * MS;
    task.voluntary = 17;
    task.involuntary = 5;
    task.slices = 22;
    show(&task);
    look_after(SAMPLE);
    const struct hp_thread_usage_row *row = row_of(PID);
    assert_string_equal(row->name, "main");
    assert_int_equal(row->user_ns + row->kernel_ns, 123456789);
    assert_int_equal(row->kernel_ns, 40 * MS);
    assert_int_equal(row->voluntary, 17);
    assert_int_equal(row->involuntary, 5);
    assert_int_equal(row->state, 'R');
    assert_int_equal(row->living, 1);
}

/* Of a process that ran before, only what its threads do from now on counts; all of a thread that begins later. */
static void process_that_ran_before(void **state)
{
    (void)state;
    struct task task = main_task(), late = {.tid = PID + 1, .name = "late", .state = 'R', .slices = 1};
    task.ran = 7000 * MS;
    task.kernel = 2000 * MS;
    task.voluntary = 400;
    watch->usage.is_joined = true;
    show(&task);
    look_after(MS);
    task.ran += 200 * MS;
    task.kernel += 50 * MS;
    task.voluntary += 3;
    task.slices++;
    late.ran = 20 * MS;
    show(&task);
    show(&late);
    look_after(SAMPLE);
    const struct hp_thread_usage_row *row = row_of(PID);
    assert_int_equal(row->user_ns, 150 * MS);
    assert_int_equal(row->kernel_ns, 50 * MS);
    assert_int_equal(row->voluntary, 3);
    assert_int_equal(row->lived_ns, SAMPLE);
    assert_int_equal(row_of(PID + 1)->user_ns, 20 * MS);
}

static void assert_moved(uint64_t reads, uint64_t read_bytes, uint64_t writes, uint64_t write_bytes)
{
    assert_int_equal(usage->read_calls, reads);
    assert_int_equal(usage->read_bytes, read_bytes);
    assert_int_equal(usage->write_calls, writes);
    assert_int_equal(usage->write_bytes, write_bytes);
}

/* From the start of the process; after exec, from the first reading on. */
static void transfers_of_the_process(void **state)
{
    (void)state;
    struct task task = main_task();
    show(&task);
    show_transfers(2, 1000, 7, 7);
    look_after(SAMPLE);
    assert_moved(2, 1000, 7, 7);
    show_transfers(3, 1500, 107, 107);
    look_after(SAMPLE);
    assert_moved(3, 1500, 107, 107);
    watch->usage.has_past = true;
    look_after(SAMPLE);
    assert_moved(0, 0, 0, 0);
    show_transfers(4, 1600, 117, 127);
    look_after(SAMPLE);
    assert_moved(1, 100, 10, 20);
}

/* Of the kernel's steps and its exact sum each may be behind; neither part ever falls. */
static void sums_never_decrease(void **state)
{
    (void)state;
    static const struct {
        uint64_t ran, kernel;
    } steps[] = {
        {20 * MS, 20 * MS}, {30 * MS, 10 * MS}, {30 * MS, 30 * MS}, {90 * MS, 50 * MS}, {95 * MS, 90 * MS}};
    struct task task = main_task();
    uint64_t user = 0, kernel = 0;
    for (size_t at = 0; at < sizeof steps / sizeof steps[0]; at++) {
        task.ran = steps[at].ran;
        task.kernel = steps[at].kernel;
        task.slices++;
        show(&task);
        look_after(SAMPLE);
        const struct hp_thread_usage_row *row = row_of(PID);
        assert_true(row->user_ns >= user && row->kernel_ns >= kernel);
        assert_int_equal(row->user_ns + row->kernel_ns, task.ran);
        user = row->user_ns;
        kernel = row->kernel_ns;
    }
}

/* Half of the first sample, a tenth of the second: now that, at most half. */
static void current_and_highest_share(void **state)
{
    (void)state;
    struct task task = main_task();
    show(&task);
    look_after(MS);
    task.ran = SAMPLE / 2;
    show(&task);
    look_after(SAMPLE);
    assert_int_equal(row_of(PID)->now_permille, 500);
    task.ran += SAMPLE / 10;
    show(&task);
    look_after(SAMPLE);
    assert_int_equal(row_of(PID)->now_permille, 100);
    assert_int_equal(row_of(PID)->max_permille, 500);
    assert_int_equal(usage->samples, 3);
}

/* Between samples only new threads are read, to save system calls. */
static void only_new_threads_are_read_between_samples(void **state)
{
    (void)state;
    struct task task = main_task(),
                late = {.tid = PID + 1, .name = "late", .state = 'R', .slices = 1, .ran = 7 * MS};
    show(&task);
    look_after(MS);
    task.ran = 5 * MS;
    show(&task);
    show(&late);
    look_after(STEP);
    assert_int_equal(row_of(PID)->user_ns, 0);
    assert_int_equal(row_of(PID + 1)->user_ns, 7 * MS);
    assert_int_equal(usage->samples, 1);
    assert_int_equal(usage->most_threads, 2);
}

/* Without a record, the last reading counts, however long ago the last sample was. */
static void exit_of_a_thread_without_a_record(void **state)
{
    (void)state;
    struct task task = main_task(), other = {.tid = PID + 1, .name = "other", .state = 'R', .slices = 1};
    show(&task);
    show(&other);
    look_after(MS);
    other.ran = 9 * MS;
    show(&other);
    look_after(STEP);
    hide(&other);
    look_after(STEP);
    const struct hp_thread_usage_row *row = row_of(PID + 1);
    assert_int_equal(row->living, 0);
    assert_int_equal(row->user_ns, 9 * MS);
    assert_int_equal(usage->threads, 1);
    assert_int_equal(usage->most_threads, 2);
}

/* A thread with a record, which has been another's before. */
static struct hp_thread *second_record(void)
{
    const uint32_t offset = builder_thread(&session);
    struct hp_thread *thread = builder_at(&session, offset);
    struct hp_alloc_thread *alloc = builder_alloc_thread(&session, offset);
    *alloc = (struct hp_alloc_thread){.bytes = 1500, .usable = 1600, .freed = 300, .frames = alloc->frames};
    thread->state = HP_THREAD_LIVE;
    thread->tid = PID + 1;
    thread->generation = 3;
    thread->life = (struct hp_thread_life){.ended_generation = 2,
                                           .user_ns = 77 * MS,
                                           .bytes_before = 1000,
                                           .usable_before = 1024,
                                           .freed_before = 100};
    builder_header(&session)->threads_seen++;
    return thread;
}

static void end_by(struct hp_thread *thread, uint64_t user, uint64_t kernel)
{
    thread->life.user_ns = user;
    thread->life.kernel_ns = kernel;
    thread->life.voluntary = 8;
    thread->life.involuntary = 9;
    thread->life.ended_generation = thread->generation;
    thread->state = HP_THREAD_FREE;
}

static struct task with_record(void)
{
    return (struct task){.tid = PID + 1, .name = "worker", .state = 'R', .slices = 1, .ran = 4 * MS};
}

/* The exit record of a thread overrides the last reading. */
static void exit_known_from_the_record(void **state)
{
    (void)state;
    struct task task = main_task(), worker = with_record();
    struct hp_thread *thread = second_record();
    show(&task);
    show(&worker);
    look_after(MS);
    assert_int_equal(row_of(PID + 1)->allocated_bytes, 500);
    assert_int_equal(row_of(PID + 1)->usable_bytes, 576);
    assert_int_equal(row_of(PID + 1)->freed_bytes, 200);
    assert_int_equal(row_of(PID + 1)->user_ns, 4 * MS); /* not what the one before it used */
    struct hp_alloc_thread *alloc = builder_at(&session, thread->alloc);
    alloc->bytes += 50;
    alloc->usable += 64;
    end_by(thread, 5 * MS + 1, 2 * MS + 3);
    hide(&worker);
    look_after(STEP);
    const struct hp_thread_usage_row *row = row_of(PID + 1);
    assert_int_equal(row->user_ns + row->kernel_ns, 7 * MS + 4);
    assert_int_equal(row->kernel_ns, 2 * MS + 3);
    assert_int_equal(row->voluntary, 8);
    assert_int_equal(row->involuntary, 9);
    assert_int_equal(row->allocated_bytes, 550);
    assert_int_equal(row->usable_bytes, 640);
}

/* The record belongs to the next thread already: its starting values are the final ones of this thread. */
static void record_reused_by_another_thread(void **state)
{
    (void)state;
    struct task task = main_task(), worker = with_record();
    struct hp_thread *thread = second_record();
    show(&task);
    show(&worker);
    look_after(MS);
    end_by(thread, 6 * MS, 0);
    thread->generation++;
    thread->tid = PID + 2;
    thread->state = HP_THREAD_LIVE;
    thread->life.bytes_before = 1700;
    thread->life.usable_before = 1800;
    thread->life.freed_before = 400;
    builder_header(&session)->threads_seen++;
    ((struct hp_alloc_thread *)builder_at(&session, thread->alloc))->bytes = 99999;
    hide(&worker);
    look_after(STEP);
    assert_int_equal(row_of(PID + 1)->allocated_bytes, 700);
    assert_int_equal(row_of(PID + 1)->freed_bytes, 300);
    assert_int_equal(row_of(PID + 1)->user_ns, 6 * MS);
}

/* Its record was reused, so only the last reading is known. */
static void record_reused_twice(void **state)
{
    (void)state;
    struct task task = main_task(), worker = with_record();
    struct hp_thread *thread = second_record();
    show(&task);
    show(&worker);
    look_after(MS);
    end_by(thread, 6 * MS, 0);
    thread->generation += 2;
    thread->life.ended_generation = thread->generation - 1;
    thread->life.bytes_before = 50000;
    hide(&worker);
    look_after(STEP);
    assert_int_equal(row_of(PID + 1)->allocated_bytes, 500);
    assert_int_equal(row_of(PID + 1)->user_ns, 4 * MS);
}

/* Threads of one name, one after the other: a few have rows of their own, then all of them one. */
static void threads_of_equal_names(void **state)
{
    (void)state;
    struct task task = main_task();
    uint64_t ran = 0;
    show(&task);
    for (uint32_t at = 1; at <= 40; at++) {
        struct task brief = {
            .tid = PID + at, .name = "brief", .state = 'R', .slices = 1, .ran = at * MS, .voluntary = 2};
        ran += brief.ran;
        show(&brief);
        look_after(STEP);
        hide(&brief);
        look_after(STEP);
        assert_int_equal(all_time(), ran);
        assert_int_equal(used_rows(), at <= 8 ? 1 + at : 2);
    }
    assert_int_equal(row_of(PID + 40)->threads, 40);
    assert_int_equal(row_of(PID + 40)->voluntary, 80);
    assert_int_equal(row_of(PID + 40)->living, 0);
}

/* Four rows in all, of threads that live: further ones share that of their name, or have none. */
static void more_threads_than_rows(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", "c", "c", "c", "d"};
    struct task task = main_task();
    uint64_t ran = 0;
    show(&task);
    look_after(MS);
    for (uint32_t at = 0; at < 6; at++) {
        struct task other = {
            .tid = PID + 1 + at, .name = names[at], .state = 'R', .slices = 1, .ran = (at + 1) * MS};
        ran += at < 5 ? other.ran : 0;
        show(&other);
        look_after(STEP);
        assert_int_equal(all_time(), ran);
    }
    assert_int_equal(usage->unlisted, 1);
    assert_int_equal(used_rows(), 4);
    assert_int_equal(row_of(PID + 5)->threads, 3);
    assert_int_equal(row_of(PID + 5)->living, 3);
    fake_remove("4000/task/4003");
    look_after(STEP);
    assert_int_equal(row_of(PID + 5)->living, 2);
    assert_int_equal(all_time(), ran);
}

/* When all have names of their own, those that have ended make room for others. */
static void ended_threads_make_room(void **state)
{
    (void)state;
    struct task task = main_task();
    uint64_t ran = 0;
    show(&task);
    for (uint32_t at = 1; at <= 20; at++) {
        char name[16];
        snprintf(name, sizeof name, "job %u", at);
        struct task job = {.tid = PID + at, .name = name, .state = 'R', .slices = 1, .ran = at * MS};
        ran += job.ran;
        show(&job);
        look_after(STEP);
        assert_string_equal(row_of(PID + at)->name, name);
        hide(&job);
        look_after(STEP);
        assert_int_equal(all_time(), ran);
    }
    assert_int_equal(usage->unlisted, 0);
}

static void memory_of_the_process(void **state)
{
    (void)state;
    struct task task = main_task();
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    show(&task);
    show_memory(100, 10);
    look_after(MS);
    assert_int_equal(usage->rss_bytes, 100 * page);
    assert_int_equal(usage->rss_peak_bytes, 100 * page);
    show_memory(300, 10); /* between two samples */
    look_after(STEP);
    show_memory(50, 10);
    look_after(STEP);
    assert_int_equal(usage->rss_bytes, 50 * page);
    assert_int_equal(usage->rss_peak_bytes, 300 * page);
    show_memory(50, 1u << 20); /* known to the kernel only */
    look_after(SAMPLE);
    assert_int_equal(usage->rss_peak_bytes, UINT64_C(1) << 30);
}

/* The session ends with its threads, whose exit records have their times. */
static void exit_of_all_threads(void **state)
{
    (void)state;
    struct task task = main_task();
    show(&task);
    look_after(MS);
    task.ran = 3 * MS;
    show(&task);
    look_after(STEP);
    end_by(builder_at(&session, record), 4 * MS, MS);
    builder_header(&session)->state = HP_STATE_FINISHED;
    assert_false(hp_proc_sample(watch));
    hp_proc_sampler_end(watch);
    assert_int_equal(row_of(PID)->user_ns + row_of(PID)->kernel_ns, 5 * MS);
    assert_int_equal(row_of(PID)->living, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(time_and_switches, set_up, tear_down),
        cmocka_unit_test_setup_teardown(process_that_ran_before, set_up, tear_down),
        cmocka_unit_test_setup_teardown(transfers_of_the_process, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sums_never_decrease, set_up, tear_down),
        cmocka_unit_test_setup_teardown(current_and_highest_share, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_new_threads_are_read_between_samples, set_up, tear_down),
        cmocka_unit_test_setup_teardown(exit_of_a_thread_without_a_record, set_up, tear_down),
        cmocka_unit_test_setup_teardown(exit_known_from_the_record, set_up, tear_down),
        cmocka_unit_test_setup_teardown(record_reused_by_another_thread, set_up, tear_down),
        cmocka_unit_test_setup_teardown(record_reused_twice, set_up, tear_down),
        cmocka_unit_test_setup_teardown(threads_of_equal_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(more_threads_than_rows, set_up_small, tear_down),
        cmocka_unit_test_setup_teardown(ended_threads_make_room, set_up_small, tear_down),
        cmocka_unit_test_setup_teardown(memory_of_the_process, set_up, tear_down),
        cmocka_unit_test_setup_teardown(exit_of_all_threads, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
