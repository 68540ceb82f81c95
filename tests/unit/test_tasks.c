/*
 * Tasks: recorded with a fake clock and read as in a report, so every number is known. One file: tasks, their waits
 * and their slots are checked by the same rows. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__ /* musl has no ucontext */
#include <ucontext.h>
#endif

#include <cmocka.h>

#include <hotpath/adapter.h>

#include "call_log.h"
#include "hotpath.h"
#include "objects.h"
#include "process.h"
#include "sanitizer.h"
#include "scratch_folder.h"

static uint64_t now;

/* The linker has the library call these (--wrap). A tick is a nanosecond. */
__typeof__(hp_clock_counter) __wrap_hp_clock_counter;
__typeof__(hp_now) __wrap_hp_now;
enum hp_counter __wrap_hp_clock_counter(void) { return HP_COUNTER_NONE; }
static uint64_t reading_ns; /* what a reading of the clock takes */
uint64_t __wrap_hp_now(void) { return __atomic_add_fetch(&now, reading_ns, __ATOMIC_RELAXED); }

static void pass(uint64_t ns) { __atomic_add_fetch(&now, ns, __ATOMIC_RELAXED); }

/* ------------------------------------------------------------------------------------------------- rows */

static const char *const keys[] = {"calls",    "polls",   "open",       "cancelled",   "avg_ns",     "p50_ns",
                                   "total_ns", "busy_ns", "waiting_ns", "max_poll_ns", "long_polls", "in_flight",
                                   "max_open", "misused", "age_ns",     "self_ns"};
enum { COLUMNS = sizeof keys / sizeof keys[0], WAITING = 8, MOST_ROWS = 64 };

struct row {
    char section[32], name[32], text[64], inside[64], waits_for[64], awaited[32];
    double number[COLUMNS]; /* -1: the cell is empty */
};
static struct row rows[MOST_ROWS];
static size_t row_count;

static bool find_cell(const hotpath_section *section, size_t row, const char *key, struct hotpath_cell *ret_cell)
{
    for (size_t at = 0; at < hotpath_section_columns(section); at++)
        if (strcmp(hotpath_section_column(section, at)->key, key) == 0)
            return hotpath_section_cell(section, row, at, ret_cell) == HOTPATH_OK && ret_cell->has_value;
    return false;
}

static void take_row(const hotpath_section *section, size_t index, struct row *row)
{
    struct hotpath_cell cell;
    memset(row, 0, sizeof *row);
    snprintf(row->section, sizeof row->section, "%s", hotpath_section_name(section));
    if (find_cell(section, index, "name", &cell))
        snprintf(row->name, sizeof row->name, "%s", cell.text);
    if (find_cell(section, index, "recent", &cell) || find_cell(section, index, "state", &cell))
        snprintf(row->text, sizeof row->text, "%s", cell.text);
    if (find_cell(section, index, "slowest_poll", &cell))
        snprintf(row->inside, sizeof row->inside, "%s", cell.text);
    if (find_cell(section, index, "awaited", &cell))
        snprintf(row->awaited, sizeof row->awaited, "%s", cell.text);
    if (find_cell(section, index, "waits_for", &cell))
        snprintf(row->waits_for, sizeof row->waits_for, "%s", cell.text);
    for (size_t at = 0; at < COLUMNS; at++)
        row->number[at] = find_cell(section, index, keys[at], &cell) ? cell.number : -1;
}

static void take_rows(const hotpath_results *results, void *context)
{
    (void)context;
    row_count = 0;
    for (size_t at = 0; at < hotpath_results_sections(results); at++) {
        const hotpath_section *section = hotpath_results_section(results, at);
        for (size_t index = 0; index < hotpath_section_rows(section) && row_count < MOST_ROWS; index++)
            take_row(section, index, &rows[row_count++]);
    }
}

static const struct row *find_row(const char *section, const char *name)
{
    for (size_t at = 0; at < row_count; at++)
        if (strcmp(rows[at].section, section) == 0 && strcmp(rows[at].name, name) == 0)
            return &rows[at];
    return NULL;
}

static double number_in(const char *section, const char *name, const char *key)
{
    const struct row *row = find_row(section, name);
    if (row == NULL)
        fail_msg("there is no %s in %s", name, section);
    for (size_t at = 0; at < COLUMNS; at++)
        if (strcmp(keys[at], key) == 0)
            return row->number[at];
    fail_msg("there is no column %s", key);
    return 0;
}

static double number_of(const char *name, const char *key) { return number_in("tasks", name, key); }

#define ASSERT_NUMBERS(name, ...)                                                                                  \
    assert_numbers(__FILE__, __LINE__, name, (const struct expected[]){__VA_ARGS__, {NULL, 0}})
struct expected {
    const char *key;
    double number;
};
static void assert_numbers(const char *file, int line, const char *name, const struct expected *expected)
{
    for (; expected->key != NULL; expected++)
        if (number_of(name, expected->key) != expected->number) {
            print_error("%s:%d: %s of %s is %g, not %g\n", file, line, expected->key, name,
                        number_of(name, expected->key), expected->number);
            fail();
        }
}

static void start_with(uint64_t max_bytes, const char *log)
{
    struct hotpath_options options = {.size = sizeof options,
                                      .report = "timing,tasks,open-tasks,task-waits",
                                      .percentiles = "50",
                                      .limit = HOTPATH_NO_LIMIT,
                                      .dir = scratch_folder,
                                      .max_bytes = max_bytes,
                                      .log = log};
    hotpath_set_reporter(take_rows, NULL);
    now = hp_clock_monotonic_ns(); /* as reports have it */
    assert_int_equal(hotpath_start(&options), HOTPATH_OK);
    now = hp_clock_monotonic_ns();
}

static void start(void) { start_with(0, NULL); }
static void report(void) { assert_int_equal(hotpath_report(), HOTPATH_OK); }

static int set_up(void **state)
{
    (void)state;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    hotpath_stop();
    return 0;
}

/* ------------------------------------------------------------------------------------------------- wall time */

/* Two at a time, of 100 and 300; one that polls for 30 and 50 of these. */
static void wall_busy_and_waiting(void **state)
{
    (void)state;
    hotpath_task first, second;
    start();
    HOTPATH_TASK(&first, "fetch");
    HOTPATH_TASK(&second, "fetch");
    {
        HOTPATH_TASK_POLL(&second);
        pass(30);
    }
    pass(70);
    HOTPATH_TASK_READY(&first);
    pass(150);
    {
        HOTPATH_TASK_RUN(&second);
        pass(50);
    }
    report();
    ASSERT_NUMBERS("fetch", {"calls", 2}, {"polls", 2}, {"open", 0}, {"cancelled", 0}, {"total_ns", 400},
                   {"avg_ns", 200}, {"busy_ns", 80}, {"waiting_ns", 320}, {"max_poll_ns", 50}, {"long_polls", 0},
                   {"max_open", 2}, {"misused", 0});
    assert_float_equal(number_of("fetch", "in_flight"), 400.0 / 300, 1e-9);
    assert_true(number_in("timing", "fetch", "total_ns") == 400); /* beside functions, by wall time */
    assert_true(number_in("timing", "fetch", "calls") == 2);
    assert_null(find_row("open-tasks", "fetch"));
}

static void tasks_without_polls(void **state)
{
    (void)state;
    hotpath_task task;
    start();
    for (int at = 1; at <= 3; at++) {
        HOTPATH_TASK(&task, "reply");
        pass(100);
        HOTPATH_TASK_READY(&task);
    }
    report();
    ASSERT_NUMBERS("reply", {"calls", 3}, {"polls", -1}, {"busy_ns", -1}, {"waiting_ns", -1}, {"total_ns", 300},
                   {"p50_ns", 100}, {"in_flight", 1});
    assert_true(number_in("timing", "reply", "total_ns") == 300);
    assert_true(number_in("timing", "reply", "p50_ns") == 100);
}

static void open_tasks_are_listed_with_their_age(void **state)
{
    (void)state;
    hotpath_task waiting, running;
    start();
    const uint64_t ago = now / 2; /* the report is of the moment at which it is made, by the real clock */
    now -= ago;
    HOTPATH_TASK(&waiting, "waiting");
    now += ago;
    HOTPATH_TASK(&running, "running");
    pass(100);
    {
        HOTPATH_TASK_POLL(&running);
        report();
    }
    const double age = number_in("open-tasks", "waiting", "age_ns");
    ASSERT_NUMBERS("waiting", {"open", 1}, {"total_ns", age}, {"p50_ns", -1});
    assert_true(age >= (double)ago && age < 2 * (double)ago);
    assert_true(number_in("open-tasks", "running", "age_ns") == age - (double)ago);
    assert_true(number_in("open-tasks", "running", "busy_ns") == age - (double)ago - 100);
    assert_string_equal(find_row("open-tasks", "running")->text, "running");
    assert_string_equal(find_row("open-tasks", "waiting")->text, "waiting");
}

static void cancelled_tasks_are_counted(void **state)
{
    (void)state;
    hotpath_task task;
    start();
    HOTPATH_TASK(&task, "request");
    pass(10);
    HOTPATH_TASK_CANCEL(&task);
    report();
    ASSERT_NUMBERS("request", {"calls", 1}, {"cancelled", 1}, {"open", 0}, {"total_ns", 10}, {"misused", 0});
}

static void long_polls_are_counted(void **state)
{
    (void)state;
    hotpath_task task;
    start();
    HOTPATH_TASK(&task, "slow");
    for (uint64_t ms = 3; ms <= 27; ms *= 3) { /* the rate of the clock is measured, so not close to the limit */
        HOTPATH_TASK_POLL(&task);
        pass(ms * 1000000);
    }
    HOTPATH_TASK_READY(&task);
    report();
    ASSERT_NUMBERS("slow", {"polls", 3}, {"long_polls", 1}, {"max_poll_ns", 27000000});
}

static void work_for(uint64_t ns)
{
    HOTPATH_MEASURE_AS("work");
    pass(ns);
}

static void contents_of_a_long_poll(void **state)
{
    (void)state;
    hotpath_task task;
    start();
    HOTPATH_TASK(&task, "slow");
    for (int at = 0; at < 100000; at++) {
        HOTPATH_TASK_POLL(&task);
        work_for(at == 50000 ? 30000000 : at == 60000 ? 20000000 : 100);
        pass(at == 50000 ? 5000000 : 50);
    }
    HOTPATH_TASK_READY(&task);
    report();
    ASSERT_NUMBERS("slow", {"polls", 100000}, {"long_polls", 2}, {"max_poll_ns", 35000000});
    assert_string_equal(find_row("tasks", "slow")->inside, "work 30.00 ms, itself 5.00 ms");
}

/* A look that lost its CPU for 4 ms. The next one must not be put off for 64 times as long. */
static void interrupted_looks_into_polls(void **state)
{
    (void)state;
    hotpath_task task;
    start();
    HOTPATH_TASK(&task, "slow");
    reading_ns = 10; /* so that it is not worthwhile to follow each poll */
    for (int at = 0; at < 1000; at++) {
        HOTPATH_TASK_POLL(&task);
        work_for(100);
    }
    reading_ns = 0;
    const uint64_t took[] = {50, 50, 4000000, 60, 4000000, 4000000, 50};
    uint64_t counted[] = {[6] = 0};
    {
        HOTPATH_TASK_POLL(&task);
        struct hp_thread_context *context = (struct hp_thread_context *)(void *)hotpath_v1_context;
        hp_context_hold(&context->hot);
        for (size_t at = 0; at < sizeof took / sizeof took[0]; at++)
            counted[at] = hp_call_log_look(context, context->hot.top->node, now - took[at]);
        hp_context_let_go(&context->hot);
    }
    HOTPATH_TASK_READY(&task);
    const uint64_t expected[] = {counted[0], 50, 50, 60, 60, 4000000, 50};
    assert_memory_equal(counted, expected, sizeof expected);
}

/* ------------------------------------------------------------------------------------- the end, inside a poll */

/* Its zone is the innermost one when the task ends. */
static void what_follows_the_end_is_not_the_tasks(void **state)
{
    (void)state;
    hotpath_task task, around;
    start();
    HOTPATH_TASK(&around, "around");
    HOTPATH_TASK(&task, "request");
    pass(20);
    {
        HOTPATH_TASK_POLL(&around);
        pass(1);
        {
            HOTPATH_TASK_POLL(&task);
            pass(10);
            HOTPATH_TASK_READY(&task);
            assert_true(hotpath_current().id_ == around.id_);
            pass(100);
            work_for(1000);
        }
        assert_true(hotpath_current().id_ == around.id_);
    }
    assert_true(hotpath_current().id_ == 0);
    HOTPATH_TASK_READY(&around);
    report();
    ASSERT_NUMBERS("request", {"calls", 1}, {"total_ns", 31}, {"polls", 1}, {"busy_ns", 10}, {"waiting_ns", 21},
                   {"max_poll_ns", 10}, {"misused", 0});
    ASSERT_NUMBERS("around", {"busy_ns", 1111}, {"waiting_ns", 20}, {"misused", 0});
    assert_true(number_in("timing", "request", "self_ns") == 10);
    assert_true(number_in("timing", "around", "self_ns") == 101);
}

static void *end_for_another(void *task)
{
    HOTPATH_TASK_CANCEL((hotpath_task *)task);
    return NULL;
}

/* What the poll does after that is not the task's either: it cannot run longer than it lived. */
static void what_follows_the_end_by_another_thread(void **state)
{
    (void)state;
    hotpath_task task, short_;
    pthread_t thread;
    start();
    HOTPATH_TASK(&task, "request");
    pass(20);
    {
        HOTPATH_BLOCK("around");
        HOTPATH_TASK_POLL(&task);
        pass(10);
        work_for(5);
        assert_int_equal(pthread_create(&thread, NULL, end_for_another, &task), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        pass(100);
        work_for(1000);
    }
    assert_true(hotpath_current().id_ == 0);
    HOTPATH_TASK(&short_, "short");
    {
        HOTPATH_TASK_POLL(&short_);
        pass(1);
    }
    HOTPATH_TASK_READY(&short_);
    report();
    ASSERT_NUMBERS("request", {"calls", 1}, {"cancelled", 1}, {"total_ns", 35}, {"polls", 1}, {"busy_ns", 15},
                   {"waiting_ns", 20}, {"misused", 0});
    assert_true(number_in("timing", "around", "total_ns") == 1115);
    ASSERT_NUMBERS("short", {"busy_ns", 1}, {"misused", 0});
}

static void end_inside(hotpath_task *task)
{
    HOTPATH_MEASURE_AS("end inside");
    pass(4);
    HOTPATH_TASK_READY(task);
    pass(40);
}

/* A measured function is open when the task ends: it cannot be cut in two, but the times of the task can. */
static void what_follows_the_end_inside_a_function(void **state)
{
    (void)state;
    hotpath_task task, outer, inner;
    start();
    HOTPATH_TASK(&task, "request");
    {
        HOTPATH_TASK_RUN(&task);
        pass(2);
        work_for(5);
        end_inside(&task);
        pass(100);
        work_for(1000);
    }
    HOTPATH_TASK(&outer, "outer");
    HOTPATH_TASK(&inner, "inner");
    {
        HOTPATH_TASK_POLL(&outer);
        pass(3);
        {
            HOTPATH_TASK_POLL(&inner);
            pass(6);
            HOTPATH_TASK_READY(&outer);
            assert_true(hotpath_current().id_ == inner.id_);
            pass(60);
        }
        pass(600);
    }
    assert_true(hotpath_current().id_ == 0);
    HOTPATH_TASK_READY(&inner);
    report();
    ASSERT_NUMBERS("request", {"total_ns", 11}, {"polls", 1}, {"busy_ns", 11}, {"waiting_ns", 0},
                   {"max_poll_ns", 11}, {"open", 0}, {"misused", 0});
    assert_true(number_in("timing", "request", "self_ns") == 2);
    ASSERT_NUMBERS("outer", {"total_ns", 9}, {"busy_ns", 9}, {"max_poll_ns", 9}, {"misused", 0});
    ASSERT_NUMBERS("inner", {"total_ns", 669}, {"busy_ns", 66}, {"polls", 1});
    assert_true(number_in("timing", "outer", "self_ns") == 3);
}

static void long_polls_that_end_with_their_task(void **state)
{
    (void)state;
    hotpath_task task;
    start();
    for (int at = 0; at < 1000; at++) {
        HOTPATH_TASK(&task, "slow");
        {
            HOTPATH_TASK_POLL(&task);
            work_for(at == 500 ? 30000000 : 100000);
            HOTPATH_TASK_READY(&task);
            pass(50000000);
        }
    }
    report();
    ASSERT_NUMBERS("slow", {"polls", 1000}, {"long_polls", 1}, {"max_poll_ns", 30000000});
    assert_string_equal(find_row("tasks", "slow")->inside, "work 30.00 ms, itself 0");
}

/* ------------------------------------------------------------------------------------- causes of waiting */

/* As adapters of libraries do. */
#define REQUEST(request, label, waiting)                                                                           \
    hotpath_task_with_(request, HOTPATH_STATIC_SITE_(HOTPATH_KIND_TASK_, label), waiting, 0)

static void *end_elsewhere(void *task)
{
    HOTPATH_TASK_READY((hotpath_task *)task);
    return NULL;
}

static void on_another_thread(void *(*function)(void *), void *argument)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, function, argument), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* The other thread reads its clock before the poll begins, and finds it begun. */
static void polls_that_begin_while_their_task_ends(void **state)
{
    (void)state;
    hotpath_task task;
    start();
    pass(1000);
    HOTPATH_TASK(&task, "request");
    pass(100);
    {
        HOTPATH_TASK_POLL(&task);
        pass((uint64_t)-50);
        on_another_thread(end_elsewhere, &task);
        pass(90);
    }
    report();
    ASSERT_NUMBERS("request", {"total_ns", 50}, {"polls", 1}, {"long_polls", 0}, {"busy_ns", 0}, {"max_poll_ns", 0},
                   {"open", 0}, {"misused", 0});
}

/* The longest poll is not kept, because it is hardly longer than all since the last look: no other replaces it. */
static void contents_of_other_polls(void **state)
{
    (void)state;
    hotpath_task task;
    start();
    HOTPATH_TASK(&task, "slow");
    for (int at = 0; at < 1000; at++) {
        reading_ns = at < 999 ? 10 : 0; /* so that it is not worthwhile to follow each poll */
        HOTPATH_TASK_POLL(&task);
        work_for(at < 999 ? 100 : 1000000);
    }
    HOTPATH_TASK_READY(&task);
    report();
    ASSERT_NUMBERS("slow", {"polls", 1000}, {"long_polls", 0}, {"max_poll_ns", 1000000});
    assert_string_equal(find_row("tasks", "slow")->inside, "");
}

/* A row of `task-waits` for a task and a request; -1: there is none. */
static double awaited(const char *task, const char *request)
{
    for (size_t at = 0; at < row_count; at++)
        if (strcmp(rows[at].section, "task-waits") == 0 && strcmp(rows[at].name, task) == 0 &&
            strcmp(rows[at].awaited, request) == 0)
            return rows[at].number[WAITING];
    return -1;
}

/* While the task runs it does not wait for anything. */
static void waiting_is_split_by_cause(void **state)
{
    (void)state;
    hotpath_task file, write, sync;
    start();
    HOTPATH_TASK(&file, "file");
    {
        HOTPATH_TASK_POLL(&file);
        pass(10);
        REQUEST(&write, "write", file);
        pass(5);
    }
    pass(100);
    {
        HOTPATH_TASK_POLL(&file);
        pass(1);
        HOTPATH_TASK_READY(&write);
        pass(2);
        REQUEST(&sync, "sync", file);
        pass(3);
    }
    pass(50);
    on_another_thread(end_elsewhere, &sync);
    pass(7);
    {
        HOTPATH_TASK_RUN(&file);
        pass(3);
    }
    report();
    ASSERT_NUMBERS("file", {"busy_ns", 24}, {"waiting_ns", 157});
    assert_string_equal(find_row("tasks", "file")->waits_for, "write 100.00 ns, sync 50.00 ns");
    assert_true(awaited("file", "write") == 100 && awaited("file", "sync") == 50);
    assert_true(awaited("file", "<other>") == 7);
    assert_string_equal(find_row("tasks", "write")->waits_for, "");
}

/* Each wait that is open at once counts; none that is still open when its waiter has ended. */
static void concurrent_waits_count_each(void **state)
{
    (void)state;
    hotpath_task page, images[2], late, nobody = {0}, alone;
    start();
    HOTPATH_TASK(&page, "page");
    for (int at = 0; at < 2; at++)
        REQUEST(&images[at], "image", page);
    REQUEST(&late, "late", page);
    REQUEST(&alone, "alone", nobody);
    pass(40);
    HOTPATH_TASK_READY(&images[0]);
    pass(20);
    HOTPATH_TASK_CANCEL(&images[1]);
    {
        HOTPATH_TASK_RUN(&page);
        pass(1);
    }
    pass(1000);
    HOTPATH_TASK_READY(&late);
    HOTPATH_TASK_READY(&alone);
    report();
    assert_true(awaited("page", "image") == 100 && awaited("page", "late") == -1);
    assert_true(awaited("page", "<other>") == -1);
    ASSERT_NUMBERS("page", {"waiting_ns", 60});
    ASSERT_NUMBERS("late", {"total_ns", 1061});
}

static hotpath_task shared_parent;

/* Requests of many threads for one task, which runs on another thread: never more than their wall time. */
static void *make_requests(void *unused)
{
    (void)unused;
    for (int at = 0; at < 2000; at++) {
        hotpath_task request;
        REQUEST(&request, "request", shared_parent);
        pass(1);
        HOTPATH_TASK_READY(&request);
    }
    return NULL;
}

static void requests_of_many_threads(void **state)
{
    (void)state;
    pthread_t threads[3];
    start();
    HOTPATH_TASK(&shared_parent, "parent");
    for (int at = 0; at < 3; at++)
        assert_int_equal(pthread_create(&threads[at], NULL, make_requests, NULL), 0);
    for (int at = 0; at < 2000; at++) {
        HOTPATH_TASK_POLL(&shared_parent);
        pass(1);
    }
    for (int at = 0; at < 3; at++)
        assert_int_equal(pthread_join(threads[at], NULL), 0);
    HOTPATH_TASK_READY(&shared_parent);
    report();
    ASSERT_NUMBERS("request", {"calls", 6000}, {"open", 0}, {"misused", 0});
    assert_true(awaited("parent", "request") <= number_of("request", "total_ns"));
    assert_true(awaited("parent", "request") >= 0);
}

/* ----------------------------------------------------------------------------------------------------- lanes */

static uint64_t losses(enum hp_loss loss) { return hp_store_header(hp_runtime->store)->losses[loss]; }

#ifdef __GLIBC__
struct coroutine {
    ucontext_t context, caller;
    hotpath_task task;
    bool is_done;
    void *fake_stack; /* of AddressSanitizer */
    const void *caller_bottom;
    size_t caller_size;
    char stack[64 << 10];
};
static struct coroutine coroutines[2];

/* AddressSanitizer has to know which stack comes next. */
#if HP_ADDRESS_SANITIZER
void __sanitizer_start_switch_fiber(void **fake_stack, const void *bottom, size_t size);
void __sanitizer_finish_switch_fiber(void *fake_stack, const void **bottom, size_t *size);
#else
#define __sanitizer_start_switch_fiber(fake_stack, bottom, size) ((void)(fake_stack), (void)(bottom), (void)(size))
#define __sanitizer_finish_switch_fiber(fake_stack, bottom, size) ((void)(fake_stack), (void)(bottom), (void)(size))
#endif

static void yield(struct coroutine *self)
{
    __sanitizer_start_switch_fiber(self->is_done ? NULL : &self->fake_stack, self->caller_bottom,
                                   self->caller_size);
    swapcontext(&self->context, &self->caller);
    __sanitizer_finish_switch_fiber(self->fake_stack, &self->caller_bottom, &self->caller_size);
}

/* Keeps a zone open while others run, in which it says that it has ended. */
static void crawl(int number)
{
    struct coroutine *self = &coroutines[number];
    __sanitizer_finish_switch_fiber(NULL, &self->caller_bottom, &self->caller_size);
    {
        HOTPATH_BLOCK("crawl");
        pass(10);
        yield(self);
        {
            HOTPATH_BLOCK("parse");
            pass(20);
            yield(self);
            pass(3);
        }
        HOTPATH_TASK_READY(&self->task);
        pass(4);
    }
    self->is_done = true;
    yield(self);
}

static void begin_crawler(int number)
{
    struct coroutine *self = &coroutines[number];
    self->is_done = false;
    assert_int_equal(getcontext(&self->context), 0);
    self->context.uc_stack.ss_sp = self->stack;
    self->context.uc_stack.ss_size = sizeof self->stack;
    makecontext(&self->context, (void (*)(void))(uintptr_t)crawl, 1, number);
    HOTPATH_TASK(&self->task, "crawler", .lane = 1);
}

static void *resume(void *coroutine)
{
    struct coroutine *self = coroutine;
    HOTPATH_TASK_POLL(&self->task);
    void *fake_stack = NULL;
    __sanitizer_start_switch_fiber(&fake_stack, self->stack, sizeof self->stack);
    swapcontext(&self->caller, &self->context);
    __sanitizer_finish_switch_fiber(fake_stack, NULL, NULL);
    return NULL;
}

/* Each is resumed on another thread in turn; zones of both are open at the same time, and not nested. */
static void tasks_that_keep_zones_open_have_a_lane(void **state)
{
    (void)state;
    start();
    for (int times = 0; times < 3; times++) { /* lanes of those that have ended are used again */
        for (int at = 0; at < 2; at++)
            begin_crawler(at);
        while (!coroutines[1].is_done)
            for (int at = 0; at < 2; at++) {
                if (times == 0)
                    resume(&coroutines[at]);
                else
                    on_another_thread(resume, &coroutines[at]);
            }
    }
    assert_int_equal(__atomic_load_n(&hp_runtime->lane_count, __ATOMIC_RELAXED), 2);
    report();
    ASSERT_NUMBERS("crawler", {"calls", 6}, {"open", 0}, {"polls", 18}, {"misused", 0}, {"busy_ns", 6 * 37});
    assert_true(number_in("timing", "crawl", "calls") == 6 && number_in("timing", "parse", "calls") == 6);
    /* The time of the other task is in the wall time of this one, but not in its busy time. */
    assert_true(number_in("timing", "crawl", "total_ns") == 3 * (10 + 10 + 20 + 20 + 7 + 10 + 20 + 20 + 7 + 7));
    assert_true(number_in("timing", "<suspended>", "calls") == 12);
    assert_int_equal(losses(HP_LOSS_LANES), 0);
    assert_int_equal(losses(HP_LOSS_ABANDONED), 0);
}

#endif

static void resume_nothing(hotpath_task *task)
{
    HOTPATH_TASK_POLL(task);
    HOTPATH_BLOCK("inside");
    pass(1);
}

/* One that is never polled, and one that is ended by another thread. */
static void lanes_end_with_their_tasks(void **state)
{
    (void)state;
    start();
    const uint32_t before = __atomic_load_n(&hp_runtime->lane_count, __ATOMIC_RELAXED);
    for (int at = 0; at < 100; at++) {
        hotpath_task task;
        HOTPATH_TASK(&task, "crawler", .lane = 1);
        if (at % 2 != 0)
            resume_nothing(&task);
        HOTPATH_TASK_CANCEL(&task);
    }
    assert_true(__atomic_load_n(&hp_runtime->lane_count, __ATOMIC_RELAXED) <= before + 1);
    report();
    ASSERT_NUMBERS("crawler", {"calls", 100}, {"cancelled", 100}, {"polls", 50}, {"misused", 0});
    assert_int_equal(losses(HP_LOSS_LANES), 0);
}

static void current_task(void **state)
{
    (void)state;
    hotpath_task outer, inner;
    start();
    HOTPATH_TASK(&outer, "outer");
    HOTPATH_TASK(&inner, "inner");
    assert_true(hotpath_current().id_ == 0);
    {
        HOTPATH_TASK_POLL(&outer);
        assert_true(hotpath_current().id_ == outer.id_);
        {
            HOTPATH_TASK_POLL(&inner);
            assert_true(hotpath_current().id_ == inner.id_);
        }
        assert_true(hotpath_current().id_ == outer.id_);
    }
    assert_true(hotpath_current().id_ == 0);
}

static void results_of_logged_tasks(void **state)
{
    (void)state;
    hotpath_task task;
    int evaluated = 0;
    start_with(0, "lookup");
    for (int at = 1; at <= 2; at++) {
        HOTPATH_TASK(&task, "lookup");
        HOTPATH_TASK_RESULT(&task, "row %d", at);
        HOTPATH_TASK(&task, "other");
        HOTPATH_TASK_RESULT(&task, "%d", evaluated++);
    }
    report();
    assert_string_equal(find_row("tasks", "lookup")->text, "row 2, row 1");
    assert_string_equal(find_row("tasks", "other")->text, "ended");
    assert_int_equal(evaluated, 0); /* not used */
}

/* ------------------------------------------------------------------------------------------------- misuse */

static void used_after_its_end(void **state)
{
    (void)state;
    hotpath_task task, copy;
    start();
    HOTPATH_TASK(&task, "request");
    copy = task;
    HOTPATH_TASK_READY(&task);
    HOTPATH_TASK_READY(&task);
    HOTPATH_TASK_CANCEL(&task);
    HOTPATH_TASK_READY(&copy);
    HOTPATH_TASK(&task, "request"); /* in the same slot */
    HOTPATH_TASK_READY(&copy);
    report();
    ASSERT_NUMBERS("request", {"calls", 2}, {"open", 1}, {"cancelled", 0}, {"misused", 4});
}

static void polled_after_its_end(void **state)
{
    (void)state;
    hotpath_task task, copy;
    start();
    HOTPATH_TASK(&task, "request");
    copy = task;
    HOTPATH_TASK_READY(&task);
    {
        HOTPATH_TASK_POLL(&copy);
        pass(10);
    }
    report();
    ASSERT_NUMBERS("request", {"polls", -1}, {"misused", 1}, {"total_ns", 0});
}

/* Freed in its own poll: the guard has the number, so freed memory is not read. */
static void freed_in_its_own_poll(void **state)
{
    (void)state;
    hotpath_task *task = malloc(sizeof *task);
    start();
    HOTPATH_TASK(task, "request");
    {
        HOTPATH_TASK_POLL(task);
        pass(10);
        HOTPATH_TASK_READY(task);
        memset(task, 0xff, sizeof *task);
        free(task);
        pass(5);
    }
    report();
    ASSERT_NUMBERS("request", {"calls", 1}, {"open", 0}, {"total_ns", 10}, {"misused", 0}, {"polls", 1});
}

static void *poll_elsewhere(void *task)
{
    HOTPATH_TASK_POLL((hotpath_task *)task);
    pass(5);
    return NULL;
}

static void running_twice_at_once(void **state)
{
    (void)state;
    hotpath_task task;
    start();
    HOTPATH_TASK(&task, "request");
    {
        HOTPATH_TASK_POLL(&task);
        pass(10);
        on_another_thread(poll_elsewhere, &task);
    }
    HOTPATH_TASK_READY(&task);
    report();
    ASSERT_NUMBERS("request", {"calls", 1}, {"total_ns", 15}, {"polls", 1}, {"busy_ns", 15}, {"misused", 1});
}

/* As an adapter and the program do together. */
static void a_poll_inside_a_poll_of_the_same_task(void **state)
{
    (void)state;
    hotpath_task task, run;
    start();
    HOTPATH_TASK(&task, "request");
    HOTPATH_TASK(&run, "run");
    for (int at = 0; at < 3; at++) {
        HOTPATH_TASK_POLL(&task);
        pass(10);
        {
            HOTPATH_TASK_POLL(&task);
            pass(5);
            assert_true(hotpath_current().id_ == task.id_);
        }
        assert_true(hotpath_current().id_ == task.id_);
    }
    HOTPATH_TASK_READY(&task);
    {
        HOTPATH_TASK_POLL(&run);
        pass(2);
        {
            HOTPATH_TASK_RUN(&run); /* ends here */
            pass(1);
        }
        pass(7);
    }
    report();
    ASSERT_NUMBERS("request", {"calls", 1}, {"total_ns", 45}, {"polls", 3}, {"busy_ns", 45}, {"misused", 0});
    ASSERT_NUMBERS("run", {"open", 0}, {"total_ns", 48}, {"polls", 1}, {"busy_ns", 3}, {"misused", 0});
}

/* Whatever the number is. */
static void invalid_task_handles(void **state)
{
    (void)state;
    uint64_t bits = 88172645463325252u;
    hotpath_task task;
    start();
    HOTPATH_TASK(&task, "request");
    for (int at = 0; at < 100000; at++) {
        bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
        hotpath_task wrong = {at % 2 ? bits : bits & 0xfff0000003ffffff};
        if (wrong.id_ == task.id_)
            continue;
        HOTPATH_TASK_POLL(&wrong);
        HOTPATH_TASK_READY(&wrong);
    }
    {
        HOTPATH_TASK_POLL(NULL);
        HOTPATH_TASK_READY(NULL);
        HOTPATH_TASK_CANCEL(NULL);
    }
    report();
    assert_true(number_of("request", "calls") == 1);
}

/* A number of another session is invalid. */
static void tasks_of_the_previous_session(void **state)
{
    (void)state;
    hotpath_task task, other;
    start();
    HOTPATH_TASK(&task, "request");
    hotpath_stop();
    start();
    HOTPATH_TASK(&other, "request");
    HOTPATH_TASK_READY(&task);
    report();
    ASSERT_NUMBERS("request", {"calls", 1}, {"open", 1}, {"misused", 0});
}

static void without_a_session(void **state)
{
    (void)state;
    hotpath_task task = {77};
    errno = 5;
    HOTPATH_TASK(&task, "early");
    assert_true(task.id_ == 0);
    start();
    {
        HOTPATH_TASK_RUN(&task);
        pass(10);
    }
    report();
    assert_null(find_row("tasks", "early"));
    assert_int_equal(errno, 5);
}

/* ------------------------------------------------------------------------------------------------- very many */

static void tasks_beyond_the_slots(void **state)
{
    (void)state;
    enum { MANY = 70000 };
    hotpath_task *tasks = calloc(MANY, sizeof *tasks);
    start();
    for (int at = 0; at < MANY; at++)
        HOTPATH_TASK(&tasks[at], "crowd");
    pass(1 << 20);
    for (int at = 0; at < MANY; at++) {
        HOTPATH_TASK_POLL(&tasks[at]);
        HOTPATH_TASK_READY(&tasks[at]);
    }
    report();
    ASSERT_NUMBERS("crowd", {"calls", MANY}, {"polls", MANY}, {"open", 0}, {"misused", 0});
    const double least = (double)MANY * (1 << 20); /* without a slot, bits of when it was created are missing */
    assert_in_range((uint64_t)number_of("crowd", "total_ns"), (uint64_t)least,
                    (uint64_t)least + (MANY - 65536) * 4096);
    free(tasks);
}

static uint64_t used(void) { return hp_store_header(hp_runtime->store)->used; }

static void a_million_consecutive_tasks(void **state)
{
    (void)state;
    enum { MANY = HP_THREAD_SANITIZER || HP_ADDRESS_SANITIZER ? 100000 : 1000000 };
    hotpath_task task;
    start();
    HOTPATH_TASK(&task, "short");
    HOTPATH_TASK_READY(&task);
    const uint64_t before = used();
    for (int at = 0; at < MANY; at++) {
        HOTPATH_TASK(&task, "short");
        HOTPATH_TASK_READY(&task);
    }
    assert_true(used() - before < 4096);
    report();
    ASSERT_NUMBERS("short", {"calls", MANY + 1}, {"open", 0});
}

/* ------------------------------------------------------------------------------------------------- threads */

enum { HANDED = HP_THREAD_SANITIZER ? 20000 : HP_ADDRESS_SANITIZER ? 50000 : 200000, RING = 64 };
static hotpath_task handed[RING];
static uint32_t written, taken;

static void *end_what_is_handed(void *context)
{
    for (uint32_t at = 0; at < HANDED; at++) {
        while (__atomic_load_n(&written, __ATOMIC_ACQUIRE) == at)
            sched_yield();
        hotpath_task task = handed[at % RING];
        __atomic_store_n(&taken, at + 1, __ATOMIC_RELEASE);
        HOTPATH_TASK_RUN(&task);
    }
    return context;
}

/* Slots go back to the creating thread, so their number stays constant. */
static void created_on_one_thread_and_ended_on_another(void **state)
{
    (void)state;
    pthread_t thread;
    uint64_t early = 0;
    written = taken = 0;
    start();
    assert_int_equal(pthread_create(&thread, NULL, end_what_is_handed, NULL), 0);
    for (uint32_t at = 0; at < HANDED; at++) {
        while (at - __atomic_load_n(&taken, __ATOMIC_ACQUIRE) >= RING)
            sched_yield();
        HOTPATH_TASK(&handed[at % RING], "handed");
        __atomic_store_n(&written, at + 1, __ATOMIC_RELEASE);
        if (at == HANDED / 4)
            early = used();
    }
    pthread_join(thread, NULL);
    assert_true(used() < early + 65536);
    report();
    ASSERT_NUMBERS("handed", {"calls", HANDED}, {"polls", HANDED}, {"open", 0}, {"misused", 0});
}

static hotpath_task contested[4];

static void *end_contested(void *context)
{
    for (int at = 0; at < 4; at++) {
        hotpath_task copy = contested[at];
        HOTPATH_TASK_READY(&copy);
    }
    return context;
}

static void ended_by_two_threads_at_once(void **state)
{
    (void)state;
    enum { ROUNDS = 300 };
    start();
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t threads[2];
        for (int at = 0; at < 4; at++)
            HOTPATH_TASK(&contested[at], "contested");
        for (int at = 0; at < 2; at++)
            assert_int_equal(pthread_create(&threads[at], NULL, end_contested, NULL), 0);
        for (int at = 0; at < 2; at++)
            pthread_join(threads[at], NULL);
    }
    report();
    ASSERT_NUMBERS("contested", {"calls", 4 * ROUNDS}, {"open", 0}, {"misused", 4 * ROUNDS});
}

/* ------------------------------------------------------------------------------------ objects that have no room */

static void tasks_of_objects(void **state)
{
    (void)state;
    enum { OBJECTS = 30000 }; /* more than the first table has slots */
    static char objects[OBJECTS];
    start();
    assert_null(hotpath_task_at(&objects[0]));
    for (int round = 0; round < 2; round++) {
        for (int at = 0; at < OBJECTS; at++)
            HOTPATH_TASK(hotpath_task_of(&objects[at]), "request");
        for (int at = 0; at < OBJECTS; at++) {
            HOTPATH_TASK_POLL(hotpath_task_at(&objects[at]));
            HOTPATH_TASK_READY(hotpath_task_at(&objects[at]));
        }
    }
    assert_null(hotpath_task_at(&objects[0]));
    report();
    ASSERT_NUMBERS("request", {"calls", 60000}, {"polls", 60000}, {"open", 0}, {"misused", 0});
}

/* The table of adapters grows, and entries stay where they are. */
static void operations_of_adapters(void **state)
{
    (void)state;
    enum { OPERATIONS = 30000 };
    static char objects[OPERATIONS];
    static struct hotpath_wait_ *waits[OPERATIONS];
    HOTPATH_SITE_(site, HOTPATH_KIND_TASK_, "operation", );
    start();
    for (int round = 0; round < 2; round++) {
        for (int at = 0; at < OPERATIONS; at++)
            waits[at] = hotpath_wait_begin_(&objects[at], HOTPATH_REQUEST_, &site, NULL);
        for (int at = 0; at < OPERATIONS; at++) {
            struct hotpath_wait_ wait;
            assert_non_null(waits[at]);
            assert_ptr_equal(hotpath_wait_find_(&objects[at], HOTPATH_REQUEST_), waits[at]);
            assert_true(hotpath_wait_take_(&objects[at], HOTPATH_REQUEST_, &wait));
            HOTPATH_TASK_READY(&wait.own);
        }
    }
    report();
    ASSERT_NUMBERS("operation", {"calls", 2 * OPERATIONS}, {"open", 0}, {"misused", 0});
    assert_int_equal(hp_store_header(hp_runtime->store)->losses[HP_LOSS_VALUES], 0);
}

/* The callback of a cancelled request is the request's, unless a task continues in it. */
static void callbacks_of_cancelled_operations(void **state)
{
    (void)state;
    char objects[2];
    HOTPATH_SITE_(site, HOTPATH_KIND_TASK_, "operation", );
    hotpath_task task;
    start();
    hotpath_wait_begin_(&objects[0], HOTPATH_REQUEST_, &site, NULL);
    HOTPATH_TASK(&task, "task");
    {
        HOTPATH_TASK_POLL(&task);
        hotpath_wait_begin_(&objects[1], HOTPATH_REQUEST_, &site, NULL);
    }
    for (int at = 0; at < 2; at++) {
        struct hotpath_wait_ wait;
        pass(10);
        assert_true(hotpath_wait_take_(&objects[at], HOTPATH_REQUEST_, &wait));
        HOTPATH_TURN_(&wait, 1);
        pass(30000000);
    }
    HOTPATH_TASK_READY(&task);
    report();
    ASSERT_NUMBERS("operation", {"calls", 2}, {"cancelled", 2}, {"open", 0}, {"misused", 0}, {"polls", 1},
                   {"busy_ns", 30000000}, {"long_polls", 1});
    ASSERT_NUMBERS("task", {"polls", 2}, {"busy_ns", 30000000}, {"misused", 0});
}

/* The linker has everything call this (--wrap). A 64-bit off_t makes glibc call mmap by another name. */
static bool is_memory_short;
#ifdef __GLIBC__
#define __real_mmap __real_mmap64
#define __wrap_mmap __wrap_mmap64
#endif
__typeof__(mmap) __real_mmap, __wrap_mmap;
void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    return is_memory_short && size > 1 << 20 ? MAP_FAILED
                                             : __real_mmap(address, size, protection, flags, fd, offset);
}

/* What finds no place is counted as lost, and not as a task that never ends. */
static void no_memory_for_larger_tables(void **state)
{
    (void)state;
    enum { OPERATIONS = HP_THREAD_SANITIZER ? 60000 : 200000 };
    static char objects[OPERATIONS];
    HOTPATH_SITE_(site, HOTPATH_KIND_TASK_, "operation", );
    uint64_t lost = 0;
    start();
    is_memory_short = true;
    for (int at = 0; at < OPERATIONS; at++)
        lost += hotpath_wait_begin_(&objects[at], HOTPATH_REQUEST_, &site, NULL) == NULL;
    is_memory_short = false;
    assert_true(lost > 0 && lost < OPERATIONS);
    assert_int_equal(hp_store_header(hp_runtime->store)->losses[HP_LOSS_VALUES], lost);
    for (int at = 0; at < OPERATIONS; at++)
        hotpath_wait_drop_(hotpath_wait_find_(&objects[at], HOTPATH_REQUEST_));
    report();
    ASSERT_NUMBERS("operation", {"calls", OPERATIONS - (double)lost}, {"open", 0}, {"misused", 0});
}

/* As hotpath_task_of without memory, or a macro of a task that the program does not have. */
static void no_task(void **state)
{
    (void)state;
    hotpath_task *const none = NULL;
    start();
    HOTPATH_TASK(none, "none");
    HOTPATH_TASK(none, "none", .lane = 1);
    {
        HOTPATH_TASK_POLL(none);
        HOTPATH_TASK_RUN(none);
        assert_int_equal(hotpath_current().id_, 0);
    }
    HOTPATH_TASK_READY(none);
    HOTPATH_TASK_RESULT(none, "%d", 1);
    HOTPATH_TASK_CANCEL(none);
    assert_null(hotpath_task_of(NULL));
    assert_null(hotpath_task_at(NULL));
    report();
    assert_null(find_row("tasks", "none"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(wall_busy_and_waiting),
        TEST(tasks_without_polls),
        TEST(open_tasks_are_listed_with_their_age),
        TEST(cancelled_tasks_are_counted),
        TEST(long_polls_are_counted),
        TEST(contents_of_a_long_poll),
        TEST(interrupted_looks_into_polls),
        TEST(what_follows_the_end_is_not_the_tasks),
        TEST(what_follows_the_end_by_another_thread),
        TEST(what_follows_the_end_inside_a_function),
        TEST(long_polls_that_end_with_their_task),
        TEST(polls_that_begin_while_their_task_ends),
        TEST(contents_of_other_polls),
        TEST(waiting_is_split_by_cause),
        TEST(concurrent_waits_count_each),
        TEST(requests_of_many_threads),
#ifdef __GLIBC__
        TEST(tasks_that_keep_zones_open_have_a_lane),
#endif
        TEST(lanes_end_with_their_tasks),
        TEST(current_task),
        TEST(results_of_logged_tasks),
        TEST(used_after_its_end),
        TEST(polled_after_its_end),
        TEST(freed_in_its_own_poll),
        TEST(running_twice_at_once),
        TEST(a_poll_inside_a_poll_of_the_same_task),
        TEST(invalid_task_handles),
        TEST(tasks_of_the_previous_session),
        TEST(without_a_session),
        TEST(tasks_beyond_the_slots),
        TEST(a_million_consecutive_tasks),
        TEST(created_on_one_thread_and_ended_on_another),
        TEST(ended_by_two_threads_at_once),
        TEST(tasks_of_objects),
        TEST(operations_of_adapters),
        TEST(callbacks_of_cancelled_operations),
        TEST(no_memory_for_larger_tables),
        TEST(no_task),
    };
    return cmocka_run_group_tests(tests, make_scratch_folder, remove_scratch_folder);
}
