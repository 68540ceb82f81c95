/*
 * Channels and their instances: recorded with a clock of the test's, and read as a report does, so every number is known.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "counter.h"
#include "hotpath.h"
#include "instances.h"
#include "scratch_folder.h"
#include "thread_head.h"

static uint64_t now;

/* The linker has the library call these (--wrap). */
__typeof__(hp_clock_counter) __wrap_hp_clock_counter;
__typeof__(hp_now) __wrap_hp_now;
enum hp_counter __wrap_hp_clock_counter(void) { return HP_COUNTER_NONE; }
uint64_t __wrap_hp_now(void) { return __atomic_add_fetch(&now, 1000, __ATOMIC_RELAXED); }

/* ------------------------------------------------------------------------------------------------- rows */

#define MOST_ROWS 5000

enum column {
    SENT,
    RECEIVED,
    INSIDE,
    SENT_BYTES,
    RECEIVED_BYTES,
    FULL,
    EMPTY,
    MOST,
    P50,
    INSTANCES,
    LIVE,
    COLUMNS
};
static const char *const keys[COLUMNS] = {"sent",           "received",  "inside",   "sent_bytes",
                                          "received_bytes", "full_ns",   "empty_ns", "max_length",
                                          "length_p50",     "instances", "live"};
struct row {
    char name[32], instance[32], state[16];
    double number[COLUMNS]; /* -1: the cell is empty */
};
static struct row rows[MOST_ROWS];
static size_t row_count;

static size_t column_named(const hotpath_section *section, const char *key)
{
    for (size_t at = 0; at < hotpath_section_columns(section); at++)
        if (strcmp(hotpath_section_column(section, at)->key, key) == 0)
            return at;
    return SIZE_MAX;
}

static void copy_text(const hotpath_section *section, size_t row, const char *key, char *to, size_t size)
{
    struct hotpath_cell cell;
    hotpath_section_cell(section, row, column_named(section, key), &cell);
    snprintf(to, size, "%s", cell.has_value ? cell.text : "-");
}

static void take_rows(const hotpath_results *results, void *context)
{
    (void)context;
    row_count = 0;
    for (size_t at = 0; at < hotpath_results_sections(results); at++) {
        const hotpath_section *section = hotpath_results_section(results, at);
        for (size_t index = 0; index < hotpath_section_rows(section) && row_count < MOST_ROWS; index++) {
            struct row *row = &rows[row_count++];
            copy_text(section, index, "name", row->name, sizeof row->name);
            copy_text(section, index, "instance", row->instance, sizeof row->instance);
            copy_text(section, index, "state", row->state, sizeof row->state);
            for (size_t column = 0; column < COLUMNS; column++) {
                struct hotpath_cell cell;
                hotpath_section_cell(section, index, column_named(section, keys[column]), &cell);
                row->number[column] = cell.has_value ? cell.number : -1;
            }
        }
    }
}

static const struct row *find_row(const char *name, const char *instance)
{
    for (size_t at = 0; at < row_count; at++)
        if (strcmp(rows[at].name, name) == 0 && strcmp(rows[at].instance, instance) == 0)
            return &rows[at];
    return NULL;
}

/* That of all channels of a label, or with an address that of one of them. */
static const struct row *row_of(const char *name, const void *address)
{
    char instance[32] = "-";
    if (address != NULL)
        snprintf(instance, sizeof instance, "%p", address);
    const struct row *row = find_row(name, instance);
    if (row == NULL)
        fail_msg("there is no %s %s", name, instance);
    return row;
}

static void assert_row(const struct row *row, double sent, double received, double inside)
{
    assert_non_null(row);
    assert_int_equal(row->number[SENT], sent);
    assert_int_equal(row->number[RECEIVED], received);
    assert_int_equal((int64_t)row->number[INSIDE], (int64_t)inside);
}

static const struct hp_header *header(void) { return hp_store_header(hp_runtime->store); }

static void start(uint64_t max_bytes)
{
    struct hotpath_options options = {.size = sizeof options,
                                      .report = "objects",
                                      .percentiles = "50",
                                      .limit = HOTPATH_NO_LIMIT,
                                      .dir = scratch_folder,
                                      .max_bytes = max_bytes};
    hotpath_set_reporter(take_rows, NULL);
    assert_int_equal(hotpath_start(&options), HOTPATH_OK);
}

static void report(void) { assert_int_equal(hotpath_report(), HOTPATH_OK); }

static int set_up(void **state)
{
    (void)state;
    now = 1000000;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    hotpath_stop();
    return 0;
}

/* ------------------------------------------------------------------------------------------------- channels */

static void what_goes_in_and_out(void **state)
{
    (void)state;
    char first, second;
    start(0);
    for (int at = 1; at <= 10; at++)
        HOTPATH_CHANNEL_SENT("jobs", &first, 1, 100, at);
    HOTPATH_CHANNEL_SENT("jobs", &second, 5, 7, -1);
    HOTPATH_CHANNEL_RECEIVED("jobs", &first, 4, 400, 6);
    HOTPATH_CHANNEL_SENT("other", NULL, 2, 0, 2);
    report();
    const struct row *all = row_of("jobs", NULL);
    assert_row(all, 15, 4, 11);
    assert_int_equal(all->number[SENT_BYTES], 1007);
    assert_int_equal(all->number[RECEIVED_BYTES], 400);
    assert_int_equal(all->number[MOST], 10);
    assert_int_equal(all->number[P50], 6); /* of 1 to 10, and 6 */
    assert_int_equal(all->number[INSTANCES], 2);
    assert_row(row_of("jobs", &first), 10, 4, 6);
    assert_int_equal(row_of("jobs", &first)->number[MOST], 10);
    assert_true(row_of("jobs", &first)->number[P50] == -1);
    assert_row(row_of("jobs", &second), 5, 0, 5);
    assert_int_equal(row_of("jobs", &second)->number[MOST], 0);
    assert_row(row_of("other", NULL), 2, 0, 2);
    assert_null(find_row("jobs", "<other>"));
    assert_int_equal(row_count, 4);
}

/* Each reading of the clock is 1000 ticks after the one before, and a tick is a nanosecond: one at its begin, one at its end. */
static void waits(void **state)
{
    (void)state;
    char channel;
    start(0);
    for (int at = 0; at < 3; at++) {
        HOTPATH_CHANNEL_FULL("jobs", &channel);
    }
    {
        HOTPATH_CHANNEL_EMPTY("jobs", &channel);
        now += 70000;
    }
    report();
    const struct row *all = row_of("jobs", NULL);
    assert_row(all, 0, 0, 0);
    assert_true(all->number[FULL] >= 3000 && all->number[FULL] < 30000);
    assert_true(all->number[EMPTY] >= 71000 && all->number[EMPTY] < 80000);
    assert_int_equal(row_count, 1); /* one instance says no more than all */
}

/* A value and a channel on one line have the same label and place. */
static void kinds_are_told_apart(void **state)
{
    (void)state;
    start(0);
    for (int at = 0; at < 2; at++) {
        HOTPATH_VALUE("jobs", 1), HOTPATH_CHANNEL_SENT("jobs", NULL, 1, 0, -1);
    }
    report();
    assert_int_equal(row_count, 1);
    assert_row(row_of("jobs", NULL), 2, 0, 2);
}

static void an_address_that_is_used_again_is_another_channel(void **state)
{
    (void)state;
    char channel, stays;
    start(0);
    HOTPATH_CHANNEL_SENT("jobs", &stays, 1, 0, -1);
    for (int at = 1; at <= 3; at++) {
        HOTPATH_CHANNEL_SENT("jobs", &channel, at, 0, -1);
        if (at < 3)
            HOTPATH_CHANNEL_END("jobs", &channel);
    }
    HOTPATH_CHANNEL_END("jobs", NULL);
    HOTPATH_CHANNEL_END("jobs", &state); /* was none */
    report();
    assert_row(row_of("jobs", NULL), 7, 0, 7);
    assert_int_equal(row_of("jobs", NULL)->number[INSTANCES], 4);
    assert_int_equal(row_of("jobs", NULL)->number[LIVE], 2);
    double sent = 0;
    size_t ended = 0, live = 0;
    for (size_t at = 0; at < row_count; at++)
        if (strcmp(rows[at].instance, "-") != 0) {
            sent += rows[at].number[SENT];
            ended += strcmp(rows[at].state, "ended") == 0;
            live += strcmp(rows[at].state, "live") == 0;
        }
    assert_int_equal(sent, 7);
    assert_int_equal(ended, 2);
    assert_int_equal(live, 2);
}

/* ------------------------------------------------------------------------------------------------- many */

/* Where threads are watched each takes ten times as long. */
#if defined(__has_feature)
#define HAS_FEATURE(name) __has_feature(name)
#else
#define HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_THREAD__) || HAS_FEATURE(thread_sanitizer)
#define MANY 20000u
#else
#define MANY 1000000u
#endif

static void assert_small(void)
{
    size_t objects = 0;
    for (uint32_t at = header()->objects; at != 0; objects++)
        at = ((const struct hp_object *)hp_store_at(hp_runtime->store, at))->next;
    assert_in_range(objects, 1, 1 + HP_MOST_INSTANCES);
    assert_true(header()->used <= 2u << 20);
    /* What is not in the session: numbers, the table of this thread, its cache. */
    size_t private = HP_CACHED_INSTANCES * sizeof(struct hp_cached_instance);
    for (size_t at = 0; at < HP_OBJECT_CHUNKS; at++)
    private += hp_runtime->object_chunks[at] != NULL ? HP_OBJECTS_PER_CHUNK * sizeof(struct hp_known_object) : 0;
    private += ((struct hp_head *)(void *)hotpath_v1_head)->part_places * sizeof(uint32_t);
    assert_true(header()->used + private <= 2u << 20);
}

static const void *address_of(unsigned number)
{
    return (const void *)(uintptr_t)(0x10000 + 64 * (uint64_t)number);
}

static void a_million_that_come_and_go(void **state)
{
    (void)state;
    start(0);
    for (unsigned at = 0; at < MANY; at++) {
        HOTPATH_CHANNEL_SENT("jobs", address_of(at), 2, 1, -1);
        HOTPATH_CHANNEL_RECEIVED("jobs", address_of(at), 1, 1, -1);
        HOTPATH_CHANNEL_END("jobs", address_of(at));
    }
    assert_small();
    assert_int_equal(header()->losses[HP_LOSS_VALUES], 0);
    report();
    assert_row(row_of("jobs", NULL), 2.0 * MANY, MANY, MANY);
    assert_int_equal(row_of("jobs", NULL)->number[INSTANCES], MANY);
    assert_int_equal(row_of("jobs", NULL)->number[LIVE], 0);
    assert_row(row_of("jobs", address_of(MANY - 1)), 2, 1, 1); /* the latest are still there ... */
    assert_row(row_of("jobs", address_of(MANY - HP_MOST_INSTANCES)), 2, 1, 1);
    const double gone = MANY - HP_MOST_INSTANCES; /* ... and the first are not */
    assert_null(find_row("jobs", "0x10000"));
    assert_row(find_row("jobs", "<other>"), 2 * gone, gone, gone);
}

static void a_million_that_live(void **state)
{
    (void)state;
    start(0);
    for (unsigned at = 0; at < MANY; at++)
        HOTPATH_CHANNEL_SENT("jobs", address_of(at), 1, 0, -1);
    for (unsigned at = 0; at < 10; at++)
        HOTPATH_CHANNEL_SENT("jobs", address_of(at), 1, 0, -1);
    assert_small();
    report();
    assert_row(row_of("jobs", NULL), MANY + 10, 0, MANY + 10);
    assert_row(row_of("jobs", address_of(9)), 2, 0, 2);
    assert_row(row_of("jobs", address_of(HP_MOST_INSTANCES - 1)), 1, 0, 1);
    assert_row(find_row("jobs", "<other>"), MANY - HP_MOST_INSTANCES, 0, MANY - HP_MOST_INSTANCES);
    /* When one ends, there is room for another. */
    HOTPATH_CHANNEL_END("jobs", address_of(5));
    HOTPATH_CHANNEL_SENT("jobs", address_of(MANY), 3, 0, -1);
    report();
    assert_row(row_of("jobs", address_of(MANY)), 3, 0, 3);
    assert_row(row_of("jobs", NULL), MANY + 13, 0, MANY + 13);
}

/* ------------------------------------------------------------------------------------------------- threads */

#define THREADS 4
#define ROUNDS 3000u

static char shared[8];

/* Channels of its own that come and go, at addresses that others use too at other times, and some that all use. */
static void *work(void *context)
{
    for (unsigned at = 0; at < ROUNDS; at++) {
        const void *own = (const char *)context + 16 * (at % 100);
        HOTPATH_CHANNEL_SENT("own", own, 1, 1, 1);
        HOTPATH_CHANNEL_SENT("shared", &shared[at % 8], 1, 2, 1);
        HOTPATH_CHANNEL_RECEIVED("shared", &shared[(at + 3) % 8], 1, 2, 0);
        HOTPATH_CHANNEL_RECEIVED("own", own, 1, 1, 0);
        HOTPATH_CHANNEL_END("own", own);
    }
    return NULL;
}

static void threads_add_up(void **state)
{
    (void)state;
    static char places[THREADS][16 * 100];
    pthread_t threads[THREADS];
    start(0);
    for (size_t at = 0; at < THREADS; at++)
        assert_int_equal(pthread_create(&threads[at], NULL, work, places[at]), 0);
    for (size_t at = 0; at < THREADS; at++)
        pthread_join(threads[at], NULL);
    report();
    assert_row(row_of("own", NULL), THREADS * ROUNDS, THREADS * ROUNDS, 0);
    assert_int_equal(row_of("own", NULL)->number[INSTANCES], THREADS * ROUNDS);
    assert_int_equal(row_of("own", NULL)->number[LIVE], 0);
    assert_row(row_of("shared", NULL), THREADS * ROUNDS, THREADS * ROUNDS, 0);
    for (size_t at = 0; at < sizeof shared; at++)
        assert_row(row_of("shared", &shared[at]), THREADS * ROUNDS / 8.0, THREADS * ROUNDS / 8.0, 0);
    assert_int_equal(header()->losses[HP_LOSS_VALUES], 0);
}

/* ------------------------------------------------------------------------------------------------- the host's world */

static void a_handler_that_interrupts_counts_elsewhere(void **state)
{
    (void)state;
    char channel, second;
    start(0);
    for (int times = 0; times < 2; times++) {
        HOTPATH_CHANNEL_SENT("jobs", &channel, 1, 0, -1);
        struct hotpath_head_ *head = hotpath_v1_head;
        head->ready = 0; /* as if the recorder were at work on it */
        HOTPATH_CHANNEL_SENT("jobs", &channel, 10, 0, -1);
        HOTPATH_CHANNEL_SENT("jobs", &second, 1, 0, -1);
        head->ready = HOTPATH_READY_;
    }
    report();
    assert_row(row_of("jobs", NULL), 24, 0, 24);
    assert_row(row_of("jobs", &channel), 22, 0, 22);
    assert_row(row_of("jobs", &second), 2, 0, 2);
}

/* Without space for instances their class counts on, or what it loses is counted. */
static void a_full_session_counts_what_it_loses(void **state)
{
    (void)state;
    start(300 << 10);
    for (unsigned at = 0; at < 20000; at++)
        HOTPATH_CHANNEL_SENT("jobs", address_of(at % 4000), 1, 0, -1);
    report();
    const double sent = row_of("jobs", NULL)->number[SENT];
    assert_int_equal(sent + (double)header()->losses[HP_LOSS_VALUES], 20000);
    assert_true(find_row("jobs", "<other>")->number[SENT] > 0);
}

static void the_next_session_begins_anew(void **state)
{
    (void)state;
    char channel, second;
    for (int at = 1; at <= 3; at++) {
        start(0);
        HOTPATH_CHANNEL_SENT("jobs", &channel, at, 0, -1);
        HOTPATH_CHANNEL_SENT("jobs", &second, 1, 0, -1);
        if (at == 2)
            HOTPATH_CHANNEL_END("jobs", &second);
        report();
        assert_row(row_of("jobs", NULL), at + 1, 0, at + 1);
        assert_row(row_of("jobs", &channel), at, 0, at);
        hotpath_stop();
        HOTPATH_CHANNEL_SENT("jobs", &channel, 100, 0, -1);
        HOTPATH_CHANNEL_END("jobs", &channel);
        HOTPATH_CHANNEL_FULL("jobs", &channel);
    }
    start(0);
}

static void errno_is_kept(void **state)
{
    (void)state;
    start(0);
    errno = 77;
    for (unsigned at = 0; at < 200; at++) {
        HOTPATH_CHANNEL_FULL("jobs", address_of(at));
        HOTPATH_CHANNEL_SENT("jobs", address_of(at), 1, 1, (int)at);
        HOTPATH_CHANNEL_END("jobs", address_of(at));
    }
    assert_int_equal(errno, 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_goes_in_and_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(waits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(kinds_are_told_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_address_that_is_used_again_is_another_channel, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_million_that_come_and_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_million_that_live, set_up, tear_down),
        cmocka_unit_test_setup_teardown(threads_add_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_handler_that_interrupts_counts_elsewhere, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_session_counts_what_it_loses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_next_session_begins_anew, set_up, tear_down),
        cmocka_unit_test_setup_teardown(errno_is_kept, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, make_scratch_folder, remove_scratch_folder);
}
