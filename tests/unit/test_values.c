/*
 * Values, gauges and counts: recorded with a fake clock and read as in a report, so every number is known.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hotpath.h"
#include "process.h"
#include "report_cells.h"
#include "scratch_folder.h"
#include "thread_context.h"

static uint64_t now;

/* The linker has the library call these (--wrap). */
__typeof__(hp_clock_counter) __wrap_hp_clock_counter;
__typeof__(hp_now) __wrap_hp_now;
enum hp_counter __wrap_hp_clock_counter(void) { return HP_COUNTER_NONE; }
uint64_t __wrap_hp_now(void) { return __atomic_add_fetch(&now, 1000, __ATOMIC_RELAXED); }

/* ------------------------------------------------------------------------------------------------- rows */

#define MOST_ROWS 64

/* A row of the report; has[...] false: the cell is empty. */
enum column { UPDATES, MIN, MEAN, MAX, P50, P95, P99, TOTAL, RATE, THREADS, NUMBER, COLUMNS };
static const char *const keys[COLUMNS] = {"updates", "min",   "mean", "max",     "p50",        "p95",
                                          "p99",     "total", "rate", "threads", "last_number"};
struct row {
    char name[200], kind[16], last[100], recent[600], sampled[8];
    double number[COLUMNS];
    bool has[COLUMNS];
};
static struct row rows[MOST_ROWS];
static size_t row_count;

static void copy_row(const hotpath_section *section, size_t at, struct row *row)
{
    copy_text(section, at, "name", row->name, sizeof row->name);
    copy_text(section, at, "kind", row->kind, sizeof row->kind);
    copy_text(section, at, "last", row->last, sizeof row->last);
    copy_text(section, at, "recent", row->recent, sizeof row->recent);
    copy_text(section, at, "sampled", row->sampled, sizeof row->sampled);
    for (size_t column = 0; column < COLUMNS; column++) {
        const struct hotpath_cell cell = cell_at(section, at, keys[column]);
        row->number[column] = cell.number;
        row->has[column] = cell.has_value;
    }
}

static void take_rows(const hotpath_results *results, void *context)
{
    (void)context;
    row_count = 0;
    for (size_t at = 0; at < hotpath_results_sections(results); at++) {
        const hotpath_section *section = hotpath_results_section(results, at);
        for (size_t row = 0; row < hotpath_section_rows(section) && row < MOST_ROWS; row++)
            copy_row(section, row, &rows[row_count++]);
    }
}

static const struct row *row_named(const char *kind, const char *name)
{
    for (size_t at = 0; at < row_count; at++)
        if (strcmp(rows[at].name, name) == 0 && strcmp(rows[at].kind, kind) == 0)
            return &rows[at];
    fail_msg("there is no %s '%s'", kind, name);
    return NULL;
}

/* cmocka compares floats. */
#define assert_near(number, expected, by) assert_true(fabs((number) - (expected)) <= (by))

static void assert_numbers(const struct row *row, double updates, double min, double mean, double max)
{
    const double expected[] = {updates, min, mean, max};
    for (size_t at = 0; at <= MAX; at++) {
        assert_true(row->has[at]);
        assert_near(row->number[at], expected[at], fabs(expected[at]) * 1e-12);
    }
}

static uint64_t losses(enum hp_loss loss) { return hp_store_header(hp_runtime->store)->losses[loss]; }

static void start(uint64_t max_bytes)
{
    struct hotpath_options options = {.size = sizeof options,
                                      .report = "values",
                                      .percentiles = "50,95,99",
                                      .limit = HOTPATH_NO_LIMIT,
                                      .dir = scratch_folder,
                                      .max_bytes = max_bytes,
                                      .keys_limit = 2};
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

/* ------------------------------------------------------------------------------------------------- values */

static void whole_numbers_are_exact(void **state)
{
    (void)state;
    start(0);
    for (int number = 1; number <= 100; number++)
        HOTPATH_VALUE("to a hundred", number);
    static const int64_t some[] = {5, -3, 0, INT64_MAX, INT64_MIN, 7};
    for (size_t at = 0; at < sizeof some / sizeof some[0]; at++)
        HOTPATH_VALUE("some", some[at]);
    report();
    const struct row *hundred = row_named("value", "to a hundred");
    assert_numbers(hundred, 100, 1, 50.5, 100);
    assert_near(hundred->number[P50], 50, 0);
    assert_near(hundred->number[P95], 95, 0);
    assert_near(hundred->number[P99], 99, 0);
    assert_string_equal(hundred->last, "100");
    assert_string_equal(hundred->recent, "100, 99, 98, 97, 96, 95, 94, 93, 92, 91, 90, 89, 88, 87, 86");
    assert_false(hundred->has[TOTAL]); /* that of a value says nothing */
    assert_numbers(row_named("value", "some"), 6, -0x1p63, (double)(5 - 3 + 7 - 1) / 6, 0x1p63);
    assert_string_equal(row_named("value", "some")->recent,
                        "7, -9223372036854775808, 9223372036854775807, 0, -3, 5");
    assert_near(row_named("value", "some")->number[P50], 0, 0);
}

static void other_numbers(void **state)
{
    (void)state;
    start(0);
    for (int number = 1; number <= 1000; number++)
        HOTPATH_VALUE("thousandths", number / -1000.0);
    HOTPATH_VALUE("tiny", DBL_MIN);
    HOTPATH_VALUE("tiny", 1e-9f);
    HOTPATH_VALUE("huge", DBL_MAX / 4);
    HOTPATH_VALUE("huge", -DBL_MAX / 4);
    HOTPATH_VALUE("odd", NAN);
    HOTPATH_VALUE("odd", -INFINITY);
    HOTPATH_VALUE("odd", 2.5L);
    report();
    const struct row *row = row_named("value", "thousandths");
    assert_numbers(row, 1000, -1, -0.5005, -0.001);
    assert_near(row->number[P50], -0.501, 0.501 * 0.008);
    assert_near(row->number[P95], -0.051, 0.051 * 0.008);
    assert_near(row->number[P99], -0.011, 0.011 * 0.008);
    row = row_named("value", "tiny");
    assert_true(row->number[MIN] == DBL_MIN && row->number[MAX] == (double)1e-9f);
    row = row_named("value", "huge");
    assert_true(row->number[MIN] == -DBL_MAX / 4 && row->number[MAX] == DBL_MAX / 4);
    /* A value that is not a number is an update and a recent value only. */
    assert_numbers(row_named("value", "odd"), 3, 2.5, 2.5, 2.5);
    assert_string_equal(row_named("value", "odd")->recent, "2.5, -inf, nan");
}

static void mixed_types_of_one_value(void **state)
{
    (void)state;
    start(0);
    HOTPATH_VALUE("signed", (size_t)5); /* an unsigned number that fits is the same as a signed one */
    HOTPATH_VALUE("signed", -7);
    HOTPATH_VALUE("signed", (bool)1);
    HOTPATH_VALUE("mixed", 3);
    HOTPATH_VALUE("mixed", 0.5);
    HOTPATH_VALUE("mixed", UINT64_MAX);
    report();
    assert_numbers(row_named("value", "signed"), 3, -7, -1.0 / 3, 5);
    assert_string_equal(row_named("value", "signed")->recent, "true, -7, 5");
    assert_numbers(row_named("value", "mixed"), 3, 0.5, 0x1p64 / 3, 0x1p64);
    assert_string_equal(row_named("value", "mixed")->recent, "18446744073709551615, 0.5, 3");
}

static void texts_and_addresses(void **state)
{
    (void)state;
    char name[100];
    const char *none = NULL;
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    start(0);
    HOTPATH_VALUE("state", "connecting");
    HOTPATH_VALUE("state", name);
    HOTPATH_VALUE("state", none);
    HOTPATH_VALUE("address", (void *)(uintptr_t)0x1234abcd);
    report();
    const struct row *row = row_named("value", "state");
    assert_string_equal(row->recent, "(null), xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx, connecting");
    assert_false(row->has[MIN] || row->has[MEAN] || row->has[P50] || row->has[NUMBER]);
    assert_near(row->number[UPDATES], 3, 0);
    assert_string_equal(row_named("value", "address")->last, "0x1234abcd");
}

static void equal_keys_share_a_row(void **state)
{
    (void)state;
    start(0);
    HOTPATH_VALUE("shared", 1);
    HOTPATH_VALUE("shared", 2);
    HOTPATH_COUNT("shared", 4); /* but another kind is another thing */
    report();
    assert_numbers(row_named("value", "shared"), 2, 1, 1.5, 2);
    assert_numbers(row_named("count", "shared"), 1, 4, 4, 4);
    assert_int_equal(row_count, 2);
}

static void keys_made_at_run_time(void **state)
{
    (void)state;
    static const char *const texts[] = {"a", "b", "c", "d", "a"};
    start(0);
    for (int at = 0; at < 5; at++) {
        char text[8];
        snprintf(text, sizeof text, "%s", texts[at]);
        HOTPATH_VALUE_KEY("size", text, at);
        HOTPATH_GAUGE_SET_KEY("level", text, at);
        HOTPATH_GAUGE_ADD_KEY("added", text, 1);
        HOTPATH_COUNT_KEY("bytes", text, 10);
    }
    report();
    assert_numbers(row_named("value", "size[a]"), 2, 0, 2, 4);
    assert_numbers(row_named("value", "size[<other>]"), 2, 2, 2.5, 3);
    assert_string_equal(row_named("gauge", "level[b]")->last, "1");
    assert_string_equal(row_named("gauge", "added[a]")->last, "2");
    assert_near(row_named("count", "bytes[<other>]")->number[TOTAL], 20, 0);
    assert_int_equal(row_count, 4 * 3);
}

static void debug_returns_its_argument(void **state)
{
    (void)state;
    int evaluated = 0;
    char buffer[8] = "text";
    start(0);
    assert_int_equal(HOTPATH_DEBUG(++evaluated * 21), 21);
    assert_int_equal(evaluated, 1);
    assert_true(HOTPATH_DEBUG(buffer) == buffer);
    assert_near(HOTPATH_DEBUG(1.5f), 1.5, 0);
    const struct row *made = HOTPATH_DEBUG(&(struct row){.name = "alive"});
    _Static_assert(_Generic(HOTPATH_DEBUG((short)-2), short : 1, default : 0), "the same type");
    const short small = HOTPATH_DEBUG((short)-2);
    const unsigned char byte = HOTPATH_DEBUG((unsigned char)200);
    const uint64_t wide = HOTPATH_DEBUG(UINT64_MAX - 1);
    const bool is = HOTPATH_DEBUG((bool)evaluated);
    assert_true(small == -2 && byte == 200 && wide == UINT64_MAX - 1 && is);
    for (int times = 0; times < 2; times++)
        HOTPATH_DEBUG(times);
    HOTPATH_DEBUG(evaluated);
    HOTPATH_DEBUG(evaluated);
    report();
    assert_string_equal(made->name, "alive"); /* objects made by the thread outlive it */
    assert_string_equal(row_named("debug", "++evaluated * 21")->last, "21");
    assert_string_equal(row_named("debug", "buffer")->last, "text");
    assert_string_equal(row_named("debug", "1.5f")->last, "1.5");
    assert_string_equal(row_named("debug", "(short)-2")->last, "-2");
    assert_string_equal(row_named("debug", "(unsigned char)200")->last, "200");
    assert_string_equal(row_named("debug", "UINT64_MAX - 1")->last, "18446744073709551614");
    assert_string_equal(row_named("debug", "(bool)evaluated")->last, "true");
    assert_near(row_named("debug", "times")->number[UPDATES], 2, 0);
    size_t places = 0;
    for (size_t at = 0; at < row_count; at++)
        places += strcmp(rows[at].name, "evaluated") == 0;
    assert_int_equal(places, 2);
}

/* ----------------------------------------------------------------------------------------------- counts, gauges */

static void counts_and_rates(void **state)
{
    (void)state;
    start(0);
    for (int at = 0; at < 11; at++) { /* a microsecond apart, by the clock above */
        HOTPATH_COUNT("bytes", 100);
    }
    report();
    const struct row *row = row_named("count", "bytes");
    assert_numbers(row, 11, 100, 100, 100);
    assert_near(row->number[TOTAL], 1100, 0);
    assert_near(row->number[RATE], 1000.0 / 10e-6, 1);
}

static void gauge_is_set_and_added_to(void **state)
{
    (void)state;
    start(0);
    HOTPATH_GAUGE_SET("level", 10);
    HOTPATH_GAUGE_ADD("level", 5);
    HOTPATH_GAUGE_ADD("level", -20);
    HOTPATH_GAUGE_SET("level", 3);
    HOTPATH_GAUGE_ADD("level", 1u);
    HOTPATH_GAUGE_ADD("only added", 2.5);
    HOTPATH_GAUGE_ADD("only added", -1);
    report();
    const struct row *row = row_named("gauge", "level");
    assert_numbers(row, 5, -5, (10 + 15 - 5 + 3 + 4) / 5.0, 15);
    assert_string_equal(row->recent, "4, 3, -5, 15, 10");
    assert_string_equal(row->last, "4");
    assert_near(row->number[NUMBER], 4, 0);
    assert_string_equal(row->sampled, "no");
    assert_string_equal(row_named("gauge", "only added")->last, "1.5");
}

#define ADDS 1000

static void *add_some(void *context)
{
    (void)context;
    for (int at = 0; at < ADDS; at++) {
        HOTPATH_GAUGE_ADD("of threads", 2);
        HOTPATH_COUNT("of threads", 1);
        HOTPATH_VALUE("of threads", at);
    }
    HOTPATH_GAUGE_ADD("of threads", -ADDS);
    return NULL;
}

static void threads_add_up(void **state)
{
    (void)state;
    enum { THREADS_AT_ONCE = 4 };
    pthread_t threads[THREADS_AT_ONCE];
    start(0);
    HOTPATH_GAUGE_SET("of threads", 7);
    for (int at = 0; at < THREADS_AT_ONCE; at++)
        assert_int_equal(pthread_create(&threads[at], NULL, add_some, NULL), 0);
    for (int at = 0; at < THREADS_AT_ONCE; at++)
        pthread_join(threads[at], NULL);
    report();
    const struct row *row = row_named("gauge", "of threads");
    assert_near(row->number[UPDATES], 1 + THREADS_AT_ONCE * (ADDS + 1), 0);
    assert_near(row->number[NUMBER], 7 + THREADS_AT_ONCE * ADDS, 0);
    assert_string_equal(row->sampled, "yes");
    assert_near(row_named("count", "of threads")->number[TOTAL], THREADS_AT_ONCE * ADDS, 0);
    assert_numbers(row_named("value", "of threads"), THREADS_AT_ONCE * ADDS, 0, (ADDS - 1) / 2.0, ADDS - 1);
    HOTPATH_GAUGE_SET("of threads", -1); /* takes what threads added before off, those that have ended, too */
    HOTPATH_GAUGE_ADD("of threads", 3);
    report();
    assert_near(row_named("gauge", "of threads")->number[NUMBER], 2, 0);
}

/* --------------------------------------------------------------------------------------------- the host's world */

static void interrupting_handler_has_its_own_part(void **state)
{
    (void)state;
    start(0);
    for (int times = 0; times < 2; times++) {
        HOTPATH_VALUE("interrupted", 1);
        struct hotpath_context_ *context = hotpath_v1_context;
        context->id_limit = 0; /* as if the recorder were at work on it */
        HOTPATH_VALUE("interrupted", 3);
        HOTPATH_GAUGE_ADD("interrupted", 1);
        context->id_limit = HOTPATH_IDS_;
        HOTPATH_GAUGE_ADD("interrupted", 1);
    }
    report();
    assert_numbers(row_named("value", "interrupted"), 4, 1, 2, 3);
    assert_near(row_named("gauge", "interrupted")->number[NUMBER], 4, 0);
}

/* Counted plus lost is everything. */
static void full_session_counts_its_losses(void **state)
{
    (void)state;
    uint64_t made = 0, counted = 0;
    start(512 << 10);
    char text[16];
    for (unsigned at = 0; at < 2000; at++) {
        snprintf(text, sizeof text, "%u", at % 2);
        HOTPATH_COUNT_KEY("few", text, 1);
        HOTPATH_VALUE("wide", (double)at * at * at);
        made += 2;
    }
    static struct hotpath_site sites[3000]; /* keys, as many as there is no space for */
    static char names[3000][16];
    for (unsigned at = 0; at < 3000; at++) {
        snprintf(names[at], sizeof names[at], "key %u", at);
        sites[at] = (struct hotpath_site){.id = HOTPATH_ID_NEW_,
                                          .kind = HOTPATH_KIND_COUNT_,
                                          .name = names[at],
                                          .function = "",
                                          .file = "full.c"};
        hotpath_update_(&sites[at], hotpath_of_signed_(1));
        hotpath_update_(&sites[at], hotpath_of_signed_(1));
        made += 2;
    }
    const uint64_t lost = losses(HP_LOSS_VALUES);
    assert_true(lost > 0 && lost < made);
    for (const struct hp_header *header = hp_store_header(hp_runtime->store); header != NULL; header = NULL)
        for (uint32_t at = header->objects; at != 0;) {
            const struct hp_object *object = hp_store_at(hp_runtime->store, at);
            for (uint32_t part = object->parts; part != 0;) {
                const struct hp_part *one = hp_store_at(hp_runtime->store, part);
                counted += one->count[HP_VALUE_UPDATES];
                part = one->sibling;
            }
            at = object->next;
        }
    assert_int_equal(counted + lost, made);
}

static void paused_and_stopped(void **state)
{
    (void)state;
    HOTPATH_VALUE("paused", 1000);
    start(0);
    struct hp_header *header = hp_store_header(hp_runtime->store);
    const uint32_t gate = header->gate;
    for (int at = 1; at <= 3; at++) {
        __atomic_store_n(&header->gate, at == 2 ? gate | HP_GATE_PAUSED : gate, __ATOMIC_RELAXED);
        HOTPATH_VALUE("paused", at);
    }
    report();
    assert_numbers(row_named("value", "paused"), 2, 1, 2, 3);
    assert_int_equal(losses(HP_LOSS_VALUES), 0);
    hotpath_stop();
    HOTPATH_VALUE("paused", 2000);
    start(0);
    for (int at = 8; at <= 9; at++)
        HOTPATH_VALUE("paused", at);
    report();
    assert_int_equal(row_count, 1);
    assert_numbers(row_named("value", "paused"), 2, 8, 8.5, 9);
}

static void errno_is_kept(void **state)
{
    (void)state;
    start(0);
    errno = 77;
    for (int at = 0; at < 20; at++)
        HOTPATH_VALUE("errno", 1 << at);
    HOTPATH_GAUGE_ADD("errno", 1);
    assert_int_equal(errno, 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(whole_numbers_are_exact, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_numbers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(mixed_types_of_one_value, set_up, tear_down),
        cmocka_unit_test_setup_teardown(texts_and_addresses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(equal_keys_share_a_row, set_up, tear_down),
        cmocka_unit_test_setup_teardown(keys_made_at_run_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(debug_returns_its_argument, set_up, tear_down),
        cmocka_unit_test_setup_teardown(counts_and_rates, set_up, tear_down),
        cmocka_unit_test_setup_teardown(gauge_is_set_and_added_to, set_up, tear_down),
        cmocka_unit_test_setup_teardown(threads_add_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(interrupting_handler_has_its_own_part, set_up, tear_down),
        cmocka_unit_test_setup_teardown(full_session_counts_its_losses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(paused_and_stopped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(errno_is_kept, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, make_scratch_folder, remove_scratch_folder);
}
