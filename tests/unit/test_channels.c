/*
 * Channels and their instances: recorded with a fake clock and read as in a report, so every number is known. One
 * file: all tests read the rows through the same table of columns. SPDX-License-Identifier: MIT
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

#include "hook_entries.h"
#include "instances.h"
#include "object_layout.h"
#include "object_snapshot.h"
#include "process.h"
#include "report_cells.h"
#include "sanitizer.h"
#include "scratch_folder.h"
#include "thread_context.h"

static uint64_t now;
static uint64_t step; /* how far it moves with each reading */

/* The linker has the library call these (--wrap). */
__typeof__(hp_clock_counter) __wrap_hp_clock_counter;
__typeof__(hp_now) __wrap_hp_now;
enum hp_counter __wrap_hp_clock_counter(void) { return HP_COUNTER_NONE; }
__typeof__(hp_clock_pair) __wrap_hp_clock_pair;
void __wrap_hp_clock_pair(enum hp_counter counter, uint64_t *ret_ticks, uint64_t *ret_ns)
{
    (void)counter;
    *ret_ticks = *ret_ns = __wrap_hp_now();
}
uint64_t __wrap_hp_now(void) { return __atomic_add_fetch(&now, step, __ATOMIC_RELAXED); }

/* ------------------------------------------------------------------------------------------------- rows */

#define MOST_ROWS 5000

enum column {
    SENT,
    RECEIVED,
    QUEUE,
    QUEUE_BYTES,
    SENT_BYTES,
    RECEIVED_BYTES,
    FULL,
    EMPTY,
    FULL_PERCENT,
    EMPTY_PERCENT,
    FULL_WAITS,
    EMPTY_WAITS,
    REFUSED,
    DROPPED,
    CAPACITY,
    MOST,
    AVERAGE,
    DELAY,
    P50,
    RATE,
    INSTANCES,
    LIVE,
    COLUMNS
};
static const char *const keys[COLUMNS] = {
    "sent",         "received", "queue",        "queue_bytes",   "sent_bytes", "received_bytes",
    "full_ns",      "empty_ns", "percent_full", "percent_empty", "full_waits", "empty_waits",
    "refused",      "dropped",  "capacity",     "queue_max",     "queue_mean", "delay_mean_ns",
    "delay_p50_ns", "rate",     "instances",    "live"};
struct row {
    char name[32], instance[32], state[16], senders[64], receivers[64], recent[300];
    bool is_open;
    double number[COLUMNS]; /* -1: the cell is empty */
};
static struct row rows[MOST_ROWS];
static size_t row_count;

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
            copy_text(section, index, "senders", row->senders, sizeof row->senders);
            copy_text(section, index, "receivers", row->receivers, sizeof row->receivers);
            copy_text(section, index, "recent", row->recent, sizeof row->recent);
            struct hotpath_row shown = {.size = sizeof shown};
            assert_int_equal(hotpath_section_row(section, index, &shown), HOTPATH_OK);
            row->is_open = shown.flags & HOTPATH_ROW_OPEN;
            copy_numbers(section, index, keys, COLUMNS, row->number);
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

/* -1: the cell is empty. assert_int_equal would make an unsigned integer of it, which has no defined result. */
static void assert_number(double is, double should)
{
    if (is != should)
        fail_msg("it is %g, and should be %g", is, should);
}

static void assert_row(const struct row *row, double sent, double received, double queue)
{
    assert_non_null(row);
    assert_number(row->number[SENT], sent);
    assert_number(row->number[RECEIVED], received);
    assert_number(row->number[QUEUE], queue);
}

static const struct hp_header *header(void) { return hp_store_header(hp_runtime->store); }

static void start(uint64_t max_bytes)
{
    struct hotpath_options options = {.size = sizeof options,
                                      .report = "channels",
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
    step = 1000;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    hotpath_stop();
    return 0;
}

/* ------------------------------------------------------------------------------------------------- channels */

/* From here on the clock stands still unless the test moves it. */
static void start_still(void)
{
    start(0);
    step = 0;
}

static void sent_and_received_are_counted(void **state)
{
    (void)state;
    char first, second;
    start(0);
    for (int at = 1; at <= 10; at++)
        HOTPATH_CHANNEL_SENT("jobs", &first, 1, 100, at);
    HOTPATH_CHANNEL_SENT("jobs", &second, 5, 7, -1);
    HOTPATH_CHANNEL_CAPACITY("jobs", &second, 5);
    HOTPATH_CHANNEL_RECEIVED("jobs", &first, 4, 400, 6);
    HOTPATH_CHANNEL_SENT("other", NULL, 2, 0, 2);
    report();
    const struct row *all = row_of("jobs", NULL);
    assert_row(all, 15, 4, 11);
    assert_int_equal(all->number[SENT_BYTES], 1007);
    assert_int_equal(all->number[RECEIVED_BYTES], 400);
    assert_int_equal(all->number[MOST], 10);
    assert_int_equal(all->number[CAPACITY], 5);
    assert_int_equal(all->number[INSTANCES], 2);
    assert_string_equal(all->state, "open");
    assert_row(row_of("jobs", &first), 10, 4, 6);
    assert_int_equal(row_of("jobs", &first)->number[MOST], 10);
    assert_true(row_of("jobs", &first)->number[CAPACITY] == -1);
    assert_row(row_of("jobs", &second), 5, 0, 5);
    assert_true(row_of("jobs", &second)->number[MOST] == -1);
    assert_string_equal(row_of("jobs", &second)->state, "full");
    assert_row(row_of("other", NULL), 2, 0, 2);
    assert_null(find_row("jobs", "<other>"));
    assert_int_equal(row_count, 4);
}

/* ------------------------------------------------------------------------------------------------- times */

/* Three items are inside for 30, 30 and 40 microseconds, within 50. */
static void delays_of_items(void **state)
{
    (void)state;
    char channel;
    start_still();
    HOTPATH_CHANNEL_SENT("jobs", &channel, 1, 0, -1);
    now += 10000;
    HOTPATH_CHANNEL_SENT("jobs", &channel, 2, 0, -1);
    now += 20000;
    HOTPATH_CHANNEL_RECEIVED("jobs", &channel, 1, 0, -1);
    now += 10000;
    HOTPATH_CHANNEL_RECEIVED("jobs", &channel, 1, 0, -1);
    now += 10000;
    HOTPATH_CHANNEL_DROPPED("jobs", &channel, 1);
    HOTPATH_CHANNEL_REFUSED("jobs", &channel, 4);
    now += 777000; /* nothing is inside, so this is not its time */
    report();
    const struct row *all = row_of("jobs", NULL);
    assert_row(all, 3, 2, 0);
    assert_int_equal(all->number[DROPPED], 1);
    assert_int_equal(all->number[REFUSED], 4);
    assert_true(all->number[DELAY] == 100000.0 / 3);
    assert_true(all->number[AVERAGE] == 2);
    assert_true(all->number[RATE] == 2 * 1e9 / 50000);
    assert_true(!all->is_open);
    assert_string_equal(all->state, "empty");
}

/* Queued items count with their age, and the row says so. */
static void queued_items_have_an_age(void **state)
{
    (void)state;
    char channel, ended;
    start_still();
    HOTPATH_CHANNEL_SENT("jobs", &channel, 2, 0, -1);
    HOTPATH_CHANNEL_SENT("jobs", &ended, 1, 0, -1);
    now += 30000;
    HOTPATH_CHANNEL_RECEIVED("jobs", &channel, 1, 0, -1);
    HOTPATH_CHANNEL_END("jobs", &ended);
    now += 40000;
    report();
    const struct row *row = row_of("jobs", &channel);
    assert_row(row, 2, 1, 1);
    assert_true(row->is_open);
    assert_true(row->number[DELAY] == (30000 + 70000) / 2.0);
    assert_true(row->number[AVERAGE] == 100000.0 / 70000);
    row = row_of("jobs", &ended);
    assert_row(row, 1, 0, 1);
    assert_true(row->number[DELAY] == 30000); /* up to its end */
    assert_string_equal(row->state, "closed");
    assert_string_equal(row_of("jobs", NULL)->state, "open");
}

/* Items sent by an unmeasured process have no sending time. */
static void more_received_than_sent(void **state)
{
    (void)state;
    start_still();
    HOTPATH_CHANNEL_SENT("jobs", NULL, 1, 0, -1);
    HOTPATH_CHANNEL_RECEIVED("jobs", NULL, 5, 0, -1);
    now += 1000000;
    HOTPATH_CHANNEL_RECEIVED("only", NULL, 5, 0, -1);
    for (int at = 0; at < 100; at++) {
        HOTPATH_CHANNEL_SENT("few", NULL, 1, 0, -1);
        now += 1000000;
        HOTPATH_CHANNEL_RECEIVED("few", NULL, 1, 0, -1);
    }
    HOTPATH_CHANNEL_RECEIVED("few", NULL, 10, 0, -1);
    report();
    assert_row(row_of("few", NULL), 100, 110, 0);
    assert_true(row_of("few", NULL)->number[DELAY] == -1);
    assert_true(row_of("few", NULL)->number[AVERAGE] == -1);
    assert_row(row_of("jobs", NULL), 1, 5, 0);
    assert_true(row_of("jobs", NULL)->number[DELAY] == -1);
    assert_true(row_of("jobs", NULL)->number[AVERAGE] == -1);
    assert_row(row_of("only", NULL), 0, 5, 0);
    assert_true(row_of("only", NULL)->number[DELAY] == -1);
}

/* Items come out in another order than they went in, each after 50 microseconds or more. */
static void delays_by_item_id(void **state)
{
    (void)state;
    char channel;
    start_still();
    for (uint64_t at = 1; at <= 30; at++) {
        HOTPATH_CHANNEL_SENT("jobs", &channel, 1, 0, -1, 2 * at);
        now += 200000;
        HOTPATH_CHANNEL_SENT("jobs", &channel, 1, 0, -1, 2 * at + 1);
        now += 50000;
        HOTPATH_CHANNEL_RECEIVED("jobs", &channel, 1, 0, -1, 2 * at + 1);
        if (at % 3 == 0)
            HOTPATH_CHANNEL_RECEIVED("jobs", &channel, 1, 0, -1, 2 * at);
        now += 150000;
    }
    HOTPATH_CHANNEL_RECEIVED("jobs", &channel, 1, 0, -1, 12345); /* unknown id */
    report();
    assert_in_range(row_of("jobs", NULL)->number[P50], 49600, 50400);
    HOTPATH_CHANNEL_SENT("none", NULL, 1, 0, -1);
    HOTPATH_CHANNEL_RECEIVED("none", NULL, 1, 0, -1);
    report();
    assert_true(row_of("none", NULL)->number[P50] == -1);
}

static void waits(void **state)
{
    (void)state;
    char channel;
    start_still();
    for (int at = 0; at < 3; at++) {
        HOTPATH_CHANNEL_FULL("jobs", &channel);
        now += 10000;
    }
    {
        HOTPATH_CHANNEL_EMPTY("jobs", &channel);
        now += 70000;
    }
    now += 1000000;
    report();
    const struct row *all = row_of("jobs", NULL);
    assert_row(all, 0, 0, 0);
    assert_true(all->number[FULL] == 30000 && all->number[EMPTY] == 70000);
    assert_int_equal(all->number[FULL_WAITS], 3);
    assert_int_equal(all->number[EMPTY_WAITS], 1);
    assert_true(all->number[FULL_PERCENT] == 30 && all->number[EMPTY_PERCENT] == 70);
    assert_int_equal(row_count, 1); /* one instance says no more than all */
}

static void open_waits(void **state)
{
    (void)state;
    char channel;
    start_still();
    {
        HOTPATH_CHANNEL_FULL("jobs", &channel);
        now += 60000;
        report();
    }
    const struct row *all = row_of("jobs", NULL);
    assert_true(all->number[FULL] == 60000 && all->number[FULL_PERCENT] == 100);
    assert_int_equal(all->number[FULL_WAITS], 0);
    assert_string_equal(all->state, "full");
    assert_true(all->is_open);
    now += 60000;
    report();
    all = row_of("jobs", NULL);
    assert_true(all->number[FULL] == 60000 && !all->is_open);
    assert_string_equal(all->state, "empty");
}

static int made_texts;
static const char *make_text(void)
{
    made_texts++;
    return "job";
}

/* The clock moves, so that their order is known. */
static void the_latest_texts(void **state)
{
    (void)state;
    char channel;
    struct hotpath_options options = {
        .size = sizeof options, .report = "channels", .log = "jobs", .dir = scratch_folder};
    hotpath_set_reporter(take_rows, NULL);
    assert_int_equal(hotpath_start(&options), HOTPATH_OK);
    errno = 77;
    for (int at = 1; at <= 20; at++) {
        HOTPATH_CHANNEL_SENT("jobs", &channel, 1, 0, -1);
        HOTPATH_CHANNEL_TEXT("jobs", &channel, "%s %d", make_text(), at);
        HOTPATH_CHANNEL_SENT("others", &channel, 1, 0, -1);
        HOTPATH_CHANNEL_TEXT("others", &channel, "job %d", at);
    }
    HOTPATH_CHANNEL_TEXT("jobs", NULL, "%060d", 1);
    assert_int_equal(errno, 77);
    report();
    assert_string_equal(
        row_of("jobs", NULL)->recent,
        "000000000000000000000000000000000000000000000000, job 20, job 19, job 18, job 17, job 16, job 15, "
        "job 14, job 13, job 12, job 11, job 10, job 9, job 8, job 7");
    assert_string_equal(row_of("others", NULL)->recent, "-");
    assert_int_equal(made_texts, 20);
    hotpath_stop();
    HOTPATH_CHANNEL_TEXT("jobs", &channel, "%s", make_text());
}

static void produce(const void *channel)
{
    HOTPATH_MEASURE();
    HOTPATH_CHANNEL_SENT("jobs", channel, 1, 0, -1);
}

static void *consume(void *channel)
{
    HOTPATH_MEASURE();
    HOTPATH_CHANNEL_RECEIVED("jobs", channel, 1, 0, -1);
    return NULL;
}

static void senders_and_receivers_are_named(void **state)
{
    (void)state;
    char channel;
    pthread_t thread;
    start(0);
    produce(&channel);
    assert_int_equal(pthread_create(&thread, NULL, consume, &channel), 0);
    pthread_join(thread, NULL);
    HOTPATH_CHANNEL_SENT("outside", NULL, 1, 0, -1);
    report();
    assert_string_equal(row_of("jobs", NULL)->senders, "produce");
    assert_string_equal(row_of("jobs", NULL)->receivers, "consume");
    assert_string_equal(row_of("outside", NULL)->senders, "-");
    assert_string_equal(row_of("outside", NULL)->receivers, "-");
}

/* ------------------------------------------------------------------------------------------------- identity */

/* A value and a channel on one line have the same label and place. */
static void kinds_with_equal_labels_are_separate(void **state)
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

static void reused_address_is_another_channel(void **state)
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
            ended += strcmp(rows[at].state, "closed") == 0;
            live += strcmp(rows[at].state, "open") == 0;
        }
    assert_int_equal(sent, 7);
    assert_int_equal(ended, 2);
    assert_int_equal(live, 2);
}

/* ------------------------------------------------------------------------------------------------- many */

/* Where threads or memory are watched each takes ten times as long. */
#define MANY (HP_THREAD_SANITIZER ? 20000u : HP_ADDRESS_SANITIZER ? 100000u : 1000000u)

static void assert_small(void)
{
    size_t objects = 0;
    for (uint32_t at = header()->objects; at != 0; objects++)
        at = ((const struct hp_object *)hp_store_at(hp_runtime->store, at))->next;
    assert_in_range(objects, 1, 1 + HP_MOST_INSTANCES);
    assert_true(header()->used <= 2u << 20);
    /* Memory outside the session: numbers, the table of this thread, its cache. */
    size_t private = HP_CACHED_INSTANCES * sizeof(struct hp_cached_instance);
    for (size_t at = 0; at < HP_OBJECT_CHUNKS; at++)
    private += hp_runtime->object_chunks[at] != NULL ? HP_OBJECTS_PER_CHUNK * sizeof(struct hp_known_object) : 0;
    private += ((struct hp_thread_context *)(void *)hotpath_v1_context)->part_places * sizeof(uint32_t);
    assert_true(header()->used + private <= 2u << 20);
}

static const void *address_of(unsigned number)
{
    return (const void *)(uintptr_t)(0x10000 + 64 * (uint64_t)number);
}

/* Ids, some of which are searched for when they are received: there are never more stamps than places. */
static void many_messages_take_no_more_space(void **state)
{
    (void)state;
    static char channel;
    uint64_t used = 0;
    start_still();
    for (uint64_t at = 1; at <= MANY; at++) {
        HOTPATH_CHANNEL_SENT("queue", &channel, 1, 8, 1, at);
        now += 1000;
        HOTPATH_CHANNEL_RECEIVED("queue", &channel, 1, 8, 0, at);
        if (at == 1000)
            used = header()->used;
    }
    assert_int_equal(header()->used, used);
    report();
    const struct row *all = row_of("queue", NULL);
    assert_int_equal(all->number[SENT], MANY);
    assert_int_equal(all->number[RECEIVED], MANY);
    assert_true(all->number[DELAY] == 1000);
}

/* Of each, one item is inside for 1000 ns and one for 2000. */
static void a_million_short_lived_channels(void **state)
{
    (void)state;
    start_still();
    for (unsigned at = 0; at < MANY; at++) {
        HOTPATH_CHANNEL_SENT("jobs", address_of(at), 2, 1, -1);
        now += 1000;
        HOTPATH_CHANNEL_RECEIVED("jobs", address_of(at), 1, 1, -1);
        now += 1000;
        HOTPATH_CHANNEL_DROPPED("jobs", address_of(at), 1);
        HOTPATH_CHANNEL_END("jobs", address_of(at));
    }
    assert_small();
    assert_int_equal(header()->losses[HP_LOSS_VALUES], 0);
    report();
    const struct row *all = row_of("jobs", NULL);
    assert_row(all, 2.0 * MANY, MANY, 0);
    assert_true(all->number[DELAY] == 1500);
    assert_true(all->number[AVERAGE] == 1.5);
    assert_in_range(all->number[RATE], 999900, 1000100);
    assert_int_equal(all->number[INSTANCES], MANY);
    assert_int_equal(all->number[LIVE], 0);
    assert_string_equal(all->state, "closed");
    assert_row(row_of("jobs", address_of(MANY - 1)), 2, 1, 0); /* the latest are still there ... */
    assert_true(row_of("jobs", address_of(MANY - 1))->number[DELAY] == 1500);
    assert_row(row_of("jobs", address_of(MANY - HP_MOST_OF_CLASS)), 2, 1, 0);
    const double gone = MANY - HP_MOST_OF_CLASS; /* ... and the first are not */
    assert_null(find_row("jobs", "0x10000"));
    assert_row(find_row("jobs", "<other>"), 2 * gone, gone, 0);
    assert_true(find_row("jobs", "<other>")->number[DELAY] == 1500);
}

static void a_million_live_channels(void **state)
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
    assert_row(row_of("jobs", address_of(HP_MOST_OF_CLASS - 1)), 1, 0, 1);
    assert_row(find_row("jobs", "<other>"), MANY - HP_MOST_OF_CLASS, 0, MANY - HP_MOST_OF_CLASS);
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

/* ------------------------------------------------------------------------------------------------- live */

#define READINGS (HP_THREAD_SANITIZER ? 2000u : HP_ADDRESS_SANITIZER ? 20000u : 100000u)

static uint64_t is_read; /* atomic */

/* Each item is inside for 1000 ticks, one reading of the clock, but for the first, which takes some more. */
static void *pass_items(void *channel)
{
    while (__atomic_load_n(&is_read, __ATOMIC_RELAXED) == 0) {
        HOTPATH_CHANNEL_SENT("jobs", channel, 1, 10, -1);
        HOTPATH_CHANNEL_RECEIVED("jobs", channel, 1, 10, -1);
    }
    return NULL;
}

/* What a reader makes of counters that belong together: time up to the latest moment in them. */
static void assert_not_torn(const struct hp_part *part, uint64_t *first_took)
{
    const uint64_t sent = part->count[HP_CHANNEL_SENT], received = part->count[HP_CHANNEL_RECEIVED];
    const uint64_t area =
        part->count[HP_CHANNEL_OUT_TICKS] - part->count[HP_CHANNEL_IN_TICKS] + (sent - received) * part->last_tick;
    const uint64_t more = received > 0 ? area - 1000 * received : area;
    *first_took = received > 0 && *first_took == 0 ? more : *first_took;
    if (sent - received > 1 || (more != *first_took && more != 0) || more > 9000 ||
        part->count[HP_CHANNEL_SENT_BYTES] != 10 * sent)
        fail_msg("%llu sent, %llu received, %llu ticks", (unsigned long long)sent, (unsigned long long)received,
                 (unsigned long long)area);
}

/* The part that has counted something: that of the instance. */
static bool read_part(const struct hp_snapshot *snapshot, struct hp_instance_part *ret_part)
{
    struct hp_walk objects = {0};
    struct hp_object object;
    while (hp_snapshot_next_object(snapshot, &objects, &object)) {
        struct hp_walk parts = {0};
        if (object.class_ != 0 && hp_snapshot_next_part(snapshot, &object, &parts, ret_part))
            return true;
    }
    return false;
}

static void concurrent_reader_sees_whole_changes(void **state)
{
    (void)state;
    static char channel;
    pthread_t writer;
    struct hp_snapshot snapshot;
    struct hp_instance_part part;
    uint64_t changes = 0, latest = 0, first_took = 0;
    start(0);
    const struct hp_clock_pair moment = {.ticks = now, .ns = now};
    assert_null(hp_snapshot_open(&snapshot, header(), (size_t)header()->capacity, &moment));
    __atomic_store_n(&is_read, 0, __ATOMIC_RELAXED);
    assert_int_equal(pthread_create(&writer, NULL, pass_items, &channel), 0);
    for (unsigned at = 0; at < READINGS || changes < 1000;) {
        if (!read_part(&snapshot, &part) || part.part.sequence & 1)
            continue; /* not started yet, or preempted */
        assert_not_torn(&part.part, &first_took);
        changes += part.part.last_tick != latest;
        latest = part.part.last_tick;
        at++;
    }
    __atomic_store_n(&is_read, 1, __ATOMIC_RELAXED);
    pthread_join(writer, NULL);
}

/* --------------------------------------------------------------------------------------------- the host's world */

static void interrupting_handler_has_its_own_part(void **state)
{
    (void)state;
    char channel, second;
    start(0);
    for (int times = 0; times < 2; times++) {
        HOTPATH_CHANNEL_SENT("jobs", &channel, 1, 0, -1);
        struct hotpath_context_ *context = hotpath_v1_context;
        context->id_limit = 0; /* as if the recorder were at work on it */
        HOTPATH_CHANNEL_SENT("jobs", &channel, 10, 0, -1);
        HOTPATH_CHANNEL_SENT("jobs", &second, 1, 0, -1);
        context->id_limit = HOTPATH_IDS_;
    }
    report();
    assert_row(row_of("jobs", NULL), 24, 0, 24);
    assert_row(row_of("jobs", &channel), 22, 0, 22);
    assert_row(row_of("jobs", &second), 2, 0, 2);
}

/* Without space for instances their class counts on; otherwise the loss is counted. */
static void full_session_counts_its_losses(void **state)
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

static void next_session_starts_from_zero(void **state)
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

/* ----------------------------------------------------------------------------------------- those that are found */

static struct hotpath_site pipes = {
    .id = HOTPATH_ID_NEW_, .kind = HOTPATH_KIND_OBJECT_, .name = "pipe", .function = "", .file = ""};
static struct hotpath_site events = {
    .id = HOTPATH_ID_NEW_, .kind = HOTPATH_KIND_OBJECT_, .name = "events", .function = "", .file = ""};

static void transfer(struct hotpath_site *site, int kind, uintptr_t key, bool is_sending, uint64_t took,
                     uint64_t items, uint64_t bytes)
{
    struct hotpath_transfer_ call = {
        .site = site, .channel = (const void *)key, .kind = (uint16_t)kind, .is_sending = is_sending};
    hotpath_v1_transfer(&call);
    assert_true(call.since != 0);
    now += took;
    hotpath_v1_transferred(&call, items, bytes, items == 0);
}

/* 5 microseconds, and half a nanosecond for each byte. */
static void long_calls_count_as_waits(void **state)
{
    (void)state;
    start_still();
    transfer(&pipes, HOTPATH_PIPE_, 7, true, 5050, 1, 100);
    transfer(&pipes, HOTPATH_PIPE_, 7, true, 5051, 1, 100);
    transfer(&pipes, HOTPATH_PIPE_, 7, true, 100, 0, 0);
    transfer(&pipes, HOTPATH_PIPE_, 7, false, 10000, 1, 50);
    transfer(&pipes, HOTPATH_PIPE_, 8, true, 0, 1, 1);
    report();
    const struct row *one = find_row("pipe", "[7]"), *other = find_row("pipe", "[8]");
    assert_row(one, 2, 1, -1);
    assert_int_equal(one->number[QUEUE_BYTES], 150);
    assert_int_equal(one->number[SENT_BYTES], 200);
    assert_int_equal(one->number[FULL], 5051);
    assert_int_equal(one->number[FULL_WAITS], 1);
    assert_int_equal(one->number[EMPTY], 10000);
    assert_int_equal(one->number[REFUSED], 1);
    assert_true(one->number[DELAY] == -1 && one->number[AVERAGE] == -1);
    assert_string_equal(one->state, "open");
    /* Nobody receives from the other. */
    assert_row(other, 1, -1, -1);
    assert_true(other->number[RECEIVED_BYTES] == -1 && other->number[QUEUE_BYTES] == -1);
    assert_int_equal(row_count, 3);
}

/*
 * An item that waits for room enters at the end of the call: 20 and 10 microseconds are spent inside, of which 10
 * and 10 are known.
 */
static void found_messages_have_delays(void **state)
{
    (void)state;
    start_still();
    transfer(&events, HOTPATH_MESSAGES_, 3, true, 1000, 1, 0);
    now += 9000;
    transfer(&events, HOTPATH_MESSAGES_, 3, false, 0, 1, 0);
    transfer(&events, HOTPATH_MESSAGES_, 3, true, 20000, 1, 0);
    now += 10000;
    transfer(&events, HOTPATH_MESSAGES_, 3, false, 0, 1, 0);
    report();
    const struct row *row = row_of("events", NULL);
    assert_row(row, 2, 2, 0);
    assert_int_equal(row->number[DELAY], 10000);
    assert_int_equal(row->number[FULL], 20000);
    assert_string_equal(row->state, "empty");
}

/* As when a thread is cancelled in the middle of a call. */
static void *begin_and_end(void *call)
{
    hotpath_v1_transfer(call);
    now += 30000;
    return NULL;
}

static void thread_exit_ends_its_waits(void **state)
{
    (void)state;
    pthread_t thread;
    struct hotpath_transfer_ call = {.site = &pipes, .channel = (const void *)9, .kind = HOTPATH_PIPE_};
    start_still();
    assert_int_equal(pthread_create(&thread, NULL, begin_and_end, &call), 0);
    pthread_join(thread, NULL);
    now += 100000;
    report();
    assert_int_equal(row_of("pipe", NULL)->number[EMPTY], 30000);
    assert_false(row_of("pipe", NULL)->is_open);
}

/* Later items with the same key are in the same channel: the key is the kernel's. */
static void equal_keys_are_one_channel(void **state)
{
    (void)state;
    start_still();
    transfer(&pipes, HOTPATH_PIPE_, 7, true, 0, 1, 10);
    hotpath_v1_transfer_over(&pipes, (const void *)7, HOTPATH_PIPE_, hotpath_v1_clock());
    transfer(&pipes, HOTPATH_PIPE_, 7, false, 0, 1, 10);
    report();
    assert_int_equal(row_count, 1);
    assert_row(row_of("pipe", NULL), 1, 1, -1);
    assert_int_equal(row_of("pipe", NULL)->number[QUEUE_BYTES], 0);
}

/* One item is inside for a second, the other for two: until the channel ended, which is told nine seconds later. */
static void channels_end_when_they_are_closed(void **state)
{
    (void)state;
    start_still();
    transfer(&events, HOTPATH_MESSAGES_, 3, true, 0, 2, 0);
    now += UINT64_C(1000000000);
    transfer(&events, HOTPATH_MESSAGES_, 3, false, 0, 1, 0);
    now += UINT64_C(10000000000);
    hotpath_v1_transfer_over(&events, (const void *)3, HOTPATH_MESSAGES_,
                             hotpath_v1_clock() - UINT64_C(9000000000));
    transfer(&events, HOTPATH_MESSAGES_, 4, true, 0, 1, 0);
    report();
    assert_float_equal(find_row("events", "[3]")->number[AVERAGE], 1.5, 0.01);
}

/* A record that is made before the first transfer is no row. */
static void prepared_channels_are_not_shown(void **state)
{
    (void)state;
    const struct hotpath_transfer_ unused = {.site = &pipes, .channel = (const void *)8, .kind = HOTPATH_PIPE_};
    start_still();
    hotpath_v1_transfer_prepare(&unused);
    report();
    assert_int_equal(row_count, 0);
    transfer(&pipes, HOTPATH_PIPE_, 7, true, 0, 1, 10);
    report();
    assert_int_equal(row_count, 1);
    assert_row(row_of("pipe", NULL), 1, -1, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sent_and_received_are_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(delays_of_items, set_up, tear_down),
        cmocka_unit_test_setup_teardown(queued_items_have_an_age, set_up, tear_down),
        cmocka_unit_test_setup_teardown(more_received_than_sent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(delays_by_item_id, set_up, tear_down),
        cmocka_unit_test_setup_teardown(waits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(open_waits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_latest_texts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(senders_and_receivers_are_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(kinds_with_equal_labels_are_separate, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reused_address_is_another_channel, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_million_short_lived_channels, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_million_live_channels, set_up, tear_down),
        cmocka_unit_test_setup_teardown(threads_add_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(concurrent_reader_sees_whole_changes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(interrupting_handler_has_its_own_part, set_up, tear_down),
        cmocka_unit_test_setup_teardown(full_session_counts_its_losses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(next_session_starts_from_zero, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_messages_take_no_more_space, set_up, tear_down),
        cmocka_unit_test_setup_teardown(long_calls_count_as_waits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(found_messages_have_delays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(thread_exit_ends_its_waits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(equal_keys_are_one_channel, set_up, tear_down),
        cmocka_unit_test_setup_teardown(channels_end_when_they_are_closed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(prepared_channels_are_not_shown, set_up, tear_down),
        cmocka_unit_test_setup_teardown(errno_is_kept, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, make_scratch_folder, remove_scratch_folder);
}
