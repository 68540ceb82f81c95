/*
 * Event loops: recorded with a fake clock and read as in a report, so every number is known. A tick is a
 * nanosecond. One file: a loop is a few lines with the clock and rows that all tests share.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "hook_entries.h"
#include "objects.h"
#include "process.h"
#include "report_cells.h"
#include "scratch_folder.h"

#define MS UINT64_C(1000000)

static uint64_t now;

/* The linker has the library call these (--wrap). */
__typeof__(hp_clock_counter) __wrap_hp_clock_counter;
__typeof__(hp_now) __wrap_hp_now;
enum hp_counter __wrap_hp_clock_counter(void) { return HP_COUNTER_NONE; }
__typeof__(hp_clock_pair) __wrap_hp_clock_pair;
uint64_t __wrap_hp_now(void) { return __atomic_load_n(&now, __ATOMIC_RELAXED); }
void __wrap_hp_clock_pair(enum hp_counter counter, uint64_t *ret_ticks, uint64_t *ret_ns)
{
    (void)counter;
    *ret_ticks = *ret_ns = __wrap_hp_now();
}

/* ------------------------------------------------------------------------------------------------- rows */

#define MOST_ROWS 16

enum column {
    TURNS,
    EVENTS,
    PER_TURN,
    BUSY,
    WAITED,
    SHARE,
    MEAN,
    LONGEST,
    DELAY,
    P50,
    P95,
    P100,
    BLOCKED,
    WAITS,
    CALLBACK,
    COLUMNS
};
static const char *const keys[COLUMNS] = {"turns",         "events",       "events_per_turn", "busy_ns",
                                          "waited_ns",     "percent_busy", "mean_turn_ns",    "longest_turn_ns",
                                          "mean_delay_ns", "p50_delay_ns", "p95_delay_ns",    "max_delay_ns",
                                          "blocked_turns", "waits",        "callback_ns"};
struct row {
    char name[64], place[128], callback[64];
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
            copy_text(section, index, "place", row->place, sizeof row->place);
            copy_text(section, index, "callback", row->callback, sizeof row->callback);
            copy_numbers(section, index, keys, COLUMNS, row->number);
        }
    }
}

static const struct row *only_row(void)
{
    assert_int_equal(hotpath_report(), HOTPATH_OK);
    assert_int_equal(row_count, 1);
    return &rows[0];
}

static void assert_near(double value, double truth)
{
    if (value < truth * 0.99 || value > truth * 1.01)
        fail_msg("%g is not near %g", value, truth);
}

static void start(void)
{
    struct hotpath_options options = {.size = sizeof options,
                                      .report = "loops",
                                      .percentiles = "50,95,100",
                                      .limit = HOTPATH_NO_LIMIT,
                                      .dir = scratch_folder};
    hotpath_set_reporter(take_rows, NULL);
    assert_int_equal(hotpath_start(&options), HOTPATH_OK);
}

static int set_up(void **state)
{
    (void)state;
    now = 1000 * MS;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    hotpath_stop();
    return 0;
}

/* ------------------------------------------------------------------------------------------------- the macro */

static void wait_for(uint64_t ticks)
{
    HOTPATH_LOOP_WAIT("main loop");
    now += ticks;
}

/* A wait, and the work after it. */
static void go_round(uint64_t waited, uint64_t turn)
{
    wait_for(waited);
    now += turn;
}

static double share_beyond(const uint64_t *turns, size_t count, double elapsed, double x)
{
    double sum = 0;
    for (size_t at = 0; at < count; at++)
        sum += (double)turns[at] > x ? (double)turns[at] - x : 0;
    return sum / elapsed;
}

/* The x for which sum of max(turn - x, 0) / elapsed is `share`, found by halves. */
static double delay_of(const uint64_t *turns, size_t count, double elapsed, double share)
{
    double low = 0, high = 1e18;
    for (int at = 0; at < 200; at++) {
        const double middle = (low + high) / 2;
        if (share_beyond(turns, count, elapsed, middle) > share)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void turns_and_delays(void **state)
{
    (void)state;
    static const uint64_t turns[] = {MS, 2 * MS, 50 * MS, 3 * MS, MS / 2, 11 * MS, MS, 20 * MS, 5 * MS, MS};
    const size_t count = sizeof turns / sizeof turns[0];
    double busy = 0, squares = 0;
    start();
    for (size_t at = 0; at < count; at++) {
        go_round(4 * MS, turns[at]);
        busy += (double)turns[at];
        squares += (double)turns[at] * (double)turns[at];
    }
    HOTPATH_LOOP_END("main loop");
    now += 900 * MS; /* is no turn */
    const struct row *row = only_row();
    const double elapsed = busy + 40.0 * MS;
    assert_string_equal(row->name, "main loop");
    assert_non_null(strstr(row->place, "test_loops.c:"));
    assert_int_equal(row->number[TURNS], count);
    assert_int_equal(row->number[WAITS], count);
    assert_true(row->number[EVENTS] == -1 && row->number[PER_TURN] == -1);
    assert_int_equal(row->number[BUSY], busy);
    assert_int_equal(row->number[WAITED], 40 * MS);
    assert_int_equal(row->number[LONGEST], 50 * MS);
    assert_int_equal(row->number[BLOCKED], 3);
    assert_near(row->number[SHARE], 100 * busy / elapsed);
    assert_near(row->number[MEAN], busy / (double)count);
    assert_near(row->number[DELAY], squares / (2 * elapsed));
    assert_near(row->number[P50], delay_of(turns, count, elapsed, 0.50));
    assert_near(row->number[P95], delay_of(turns, count, elapsed, 0.05));
    assert_int_equal(row->number[P100], 50 * MS);
}

/* An event that arrives while the loop waits is not delayed: here that is most of the time. */
static void an_idle_loop_has_no_delay(void **state)
{
    (void)state;
    start();
    for (int at = 0; at < 100; at++)
        go_round(9 * MS, MS);
    HOTPATH_LOOP_END("main loop");
    const struct row *row = only_row();
    assert_near(row->number[SHARE], 10);
    assert_near(row->number[DELAY], 0.05 * MS);
    assert_int_equal(row->number[P50], 0);
    assert_near(row->number[P95], 0.5 * MS); /* of the tenth of the time that is busy, half */
}

/* Squares of turns of minutes do not fit into 64 bits. */
static void long_turns_do_not_overflow(void **state)
{
    (void)state;
    const uint64_t turn = (UINT64_C(1) << 41) + 12345;
    start();
    for (int at = 0; at < 5; at++)
        go_round(0, turn);
    HOTPATH_LOOP_END("main loop");
    const struct row *row = only_row();
    assert_int_equal(row->number[LONGEST], turn);
    assert_near(row->number[DELAY], (double)turn / 2);
    assert_near(row->number[P50], (double)turn / 2);
    assert_int_equal(row->number[BLOCKED], 5);
}

/* ------------------------------------------------------------------------------------------------- callbacks */

static void on_timer(uint64_t ticks)
{
    HOTPATH_MEASURE();
    now += ticks;
}

/* Most of it is in a function inside, which is no callback. */
static void on_request(uint64_t ticks)
{
    HOTPATH_MEASURE();
    now += ticks / 10;
    HOTPATH_BLOCK("inside");
    now += ticks - ticks / 10;
}

/* Is measured, waits for long, and does a little itself. */
static void next_event(uint64_t waited)
{
    HOTPATH_MEASURE();
    wait_for(waited);
    now += MS;
}

/*
 * Among others before and after it, in a turn that is not the last; those that are short follow one another
 * closely.
 */
static void the_callback_of_the_longest_turn(void **state)
{
    (void)state;
    start();
    for (int at = 0; at < 1000; at++) {
        next_event(at == 500 ? 300 * MS : 1000);
        on_timer(at == 400 ? 9 * MS : 500);
        on_request(at == 600 ? 40 * MS : at == 700 ? 30 * MS : 200);
        on_timer(at == 600 ? 7 * MS : 500);
    }
    wait_for(MS);
    const struct row *row = only_row();
    assert_int_equal(row->number[LONGEST], MS + 500 + 40 * MS + 7 * MS);
    assert_string_equal(row->callback, "on_request");
    assert_int_equal(row->number[CALLBACK], 40 * MS);
}

/* What the loop does by itself is in no callback; nor is it in one that ran before. */
static void a_turn_without_callbacks(void **state)
{
    (void)state;
    start();
    for (int at = 0; at < 100; at++) {
        wait_for(MS);
        if (at < 50)
            on_timer(5 * MS);
        else if (at == 60)
            now += 50 * MS;
    }
    const struct row *row = only_row();
    assert_int_equal(row->number[LONGEST], 50 * MS);
    assert_string_equal(row->callback, "-");
    assert_true(row->number[CALLBACK] < 0); /* empty */
}

/* They are below where the turn began or where it ends, which may be different places. */
static void loop_inside_other_zones(void **state)
{
    (void)state;
    start();
    HOTPATH_BLOCK("outer");
    for (int at = 0; at < 50; at++) {
        HOTPATH_BLOCK("iteration");
        next_event(MS);
        on_timer(at == 30 ? 20 * MS : 10);
        HOTPATH_BLOCK("elsewhere");
        wait_for(MS);
        on_request(at == 40 ? 60 * MS : 10);
    }
    const struct row *row = only_row();
    assert_int_equal(row->number[LONGEST], 60 * MS);
    assert_string_equal(row->callback, "on_request");
    assert_int_equal(row->number[CALLBACK], 60 * MS);
}

static void two_waits_are_not_a_loop(void **state)
{
    (void)state;
    start();
    go_round(MS, MS);
    go_round(MS, MS);
    wait_for(MS);
    assert_int_equal(only_row()->number[TURNS], 2);
    hotpath_stop();
    start();
    go_round(MS, MS);
    wait_for(MS);
    assert_int_equal(hotpath_report(), HOTPATH_OK);
    assert_int_equal(row_count, 0);
}

/* Of a process that goes on, so does its turn: it may be the one that hangs. */
static void unfinished_turn_counts(void **state)
{
    (void)state;
    start();
    for (int at = 0; at < 4; at++)
        go_round(MS, MS);
    now += 70 * MS;
    const struct row *row = only_row();
    assert_int_equal(row->number[TURNS], 3);
    assert_int_equal(row->number[LONGEST], 71 * MS);
    assert_int_equal(row->number[BUSY], 74 * MS);
    HOTPATH_LOOP_WAIT("main loop");
    now += 30 * MS;
    row = only_row();
    assert_int_equal(row->number[TURNS], 4);
    assert_int_equal(row->number[WAITED], 34 * MS);
}

/* ------------------------------------------------------------------------------------------- seen from outside */

static struct hotpath_site site = {
    .id = HOTPATH_ID_NEW_, .kind = HOTPATH_KIND_OBJECT_, .name = "lib: run", .function = "run", .file = "lib"};

static void wait_outside(struct hotpath_loop_ *loop, uint64_t ticks, uint64_t events)
{
    assert_int_equal(hotpath_v1_loop_waits(loop), 1);
    now += ticks;
    hotpath_v1_loop_woke(loop, events);
}

static void loop_that_is_left_and_entered_again(void **state)
{
    (void)state;
    struct hotpath_loop_ loop = {.site = &site, .loop = &loop};
    start();
    for (int run = 0; run < 2; run++) {
        hotpath_v1_loop_begin(&site, &loop);
        now += 3 * MS;
        for (int at = 0; at < 3; at++) {
            wait_outside(&loop, 2 * MS, 5);
            now += MS;
        }
        hotpath_v1_loop_end(&site, &loop);
        now += 300 * MS;
    }
    const struct row *row = only_row();
    assert_string_equal(row->name, "lib: run");
    assert_string_equal(row->place, "lib");
    assert_int_equal(row->number[TURNS], 8);
    assert_int_equal(row->number[EVENTS], 30);
    assert_near(row->number[PER_TURN], 30.0 / 8);
    assert_int_equal(row->number[LONGEST], 3 * MS);
    assert_int_equal(row->number[WAITED], 12 * MS);
    assert_int_equal(row->number[BUSY], 12 * MS);
}

static void loops_are_separate(void **state)
{
    (void)state;
    struct hotpath_loop_ first = {.site = &site, .loop = &first}, second = {.site = &site, .loop = &second};
    start();
    for (int at = 0; at < 10; at++) {
        wait_outside(&first, MS, 1);
        now += MS;
        if (at % 2 == 0)
            wait_outside(&second, MS, 2);
    }
    assert_int_equal(hotpath_report(), HOTPATH_OK);
    assert_int_equal(row_count, 2);
    const struct row *many = &rows[rows[0].number[WAITS] == 10 ? 0 : 1],
                     *few = &rows[rows[0].number[WAITS] == 10 ? 1 : 0];
    assert_int_equal(many->number[TURNS], 9);
    assert_int_equal(many->number[EVENTS], 10);
    assert_int_equal(few->number[TURNS], 4);
    assert_int_equal(few->number[EVENTS], 10);
}

/* A wait reported by a macro is also seen by the interposed function that waits. */
static __attribute__((noinline)) int wait_seen(struct hotpath_loop_ *seen)
{
    const int is_one = hotpath_v1_loop_waits(seen);
    now += MS;
    return is_one;
}

static __attribute__((noinline)) void wait_told(struct hotpath_loop_ *seen)
{
    HOTPATH_LOOP_WAIT("told");
    assert_int_equal(wait_seen(seen), 0);
}

static void nested_wait_is_not_a_loop(void **state)
{
    (void)state;
    struct hotpath_loop_ seen = {.site = &site};
    start();
    for (int at = 0; at < 5; at++)
        wait_told(&seen);
    assert_string_equal(only_row()->name, "told");
    wait_outside(&seen, MS, 0); /* outside of it, it is one */
}

/* A wait that was left by a jump has no end and does not count. */
/* Deeper in the stack than where the next one begins, as what a jump leaves is. */
static __attribute__((noinline)) void begin_deep_down(struct hotpath_loop_ *loop)
{
    volatile char room[4096];
    room[0] = 0;
    assert_int_equal(hotpath_v1_loop_waits(loop), 1);
    room[1] = room[0];
}

static void longjmp_out_of_a_wait(void **state)
{
    (void)state;
    struct hotpath_loop_ loop = {.site = &site};
    start();
    for (int at = 0; at < 5; at++) {
        wait_outside(&loop, MS, 1);
        now += MS;
        begin_deep_down(&loop);
        now += 100 * MS;
    }
    const struct row *row = only_row();
    assert_int_equal(row->number[TURNS], 5);
    assert_int_equal(row->number[LONGEST], MS);
    assert_int_equal(row->number[WAITED], 5 * MS + 100 * MS); /* the last one goes on */
}

/* A turn that began before ends as usual. While nothing is recorded there are no turns, and none goes on. */
static void recording_paused(void **state)
{
    (void)state;
    struct hotpath_loop_ loop = {.site = &site, .loop = &loop};
    start();
    struct hp_header *header = hp_store_header(hp_runtime->store);
    const uint32_t gate = header->gate;
    for (int at = 0; at < 3; at++) {
        for (int waits = 0; waits < 5; waits++) {
            wait_outside(&loop, MS, 1);
            now += MS;
        }
        __atomic_store_n(&header->gate, gate | HP_GATE_PAUSED, __ATOMIC_RELAXED);
        assert_int_equal(hotpath_v1_loop_waits(&loop), 0);
        now += 100 * MS;
        __atomic_store_n(&header->gate, gate, __ATOMIC_RELAXED);
    }
    wait_outside(&loop, MS, 1);
    hotpath_v1_loop_end(&site, &loop);
    const struct row *row = only_row();
    assert_int_equal(row->number[TURNS], 3 * 5 + 1);
    assert_int_equal(row->number[EVENTS], 16);
    assert_int_equal(row->number[LONGEST], MS);
}

static void interrupting_handler_has_its_own_part(void **state)
{
    (void)state;
    struct hotpath_loop_ loop = {.site = &site};
    start();
    for (int at = 0; at < 4; at++) {
        struct hotpath_context_ *context = hotpath_v1_context;
        wait_outside(&loop, MS, 1);
        context->id_limit = 0; /* as if the recorder were at work on it */
        wait_outside(&loop, 0, 1);
        context->id_limit = HOTPATH_IDS_;
    }
    assert_int_equal(hotpath_report(), HOTPATH_OK);
    assert_int_equal(row_count, 2);
    assert_int_equal(rows[0].number[EVENTS] + rows[1].number[EVENTS], 8);
}

static void next_session_starts_from_zero(void **state)
{
    (void)state;
    struct hotpath_loop_ loop = {.site = &site, .loop = &loop};
    for (int run = 0; run < 3; run++) {
        start();
        for (int at = 0; at < 3 + run; at++)
            wait_outside(&loop, MS, 1);
        assert_int_equal(only_row()->number[EVENTS], 3 + run);
        assert_int_equal(hotpath_v1_loop_waits(&loop), 1);
        hotpath_stop();
        hotpath_v1_loop_woke(&loop, 7);
        assert_int_equal(hotpath_v1_loop_waits(&loop), 0);
        now += MS;
    }
}

static void errno_is_kept(void **state)
{
    (void)state;
    struct hotpath_loop_ loop = {.site = &site, .loop = &loop};
    start();
    errno = 4711;
    wait_outside(&loop, MS, 1);
    hotpath_v1_loop_begin(&site, &loop);
    hotpath_v1_loop_end(&site, &loop);
    assert_non_null(hotpath_v1_loop_site("poll", __builtin_return_address(0)));
    wait_for(MS);
    assert_int_equal(errno, 4711);
}

/* ------------------------------------------------------------------------------------------------- places */

static void places_have_names(void **state)
{
    (void)state;
    start();
    static const char poll[] = "poll", epoll[] = "epoll_wait";
    const void *here = (const char *)(uintptr_t)places_have_names + 8;
    struct hotpath_site *first = hotpath_v1_loop_site(poll, here), *second = hotpath_v1_loop_site(epoll, here);
    assert_string_equal(first->name, "poll in places_have_names");
    assert_string_equal(second->name, "epoll_wait in places_have_names");
    assert_non_null(strstr(first->file, "test_loops"));
    assert_ptr_equal(first, hotpath_v1_loop_site(poll, here));
    assert_ptr_not_equal(first, second);
    struct hotpath_site *nowhere = hotpath_v1_loop_site(poll, (const void *)(uintptr_t)4096);
    assert_string_equal(nowhere->name, "poll");
}

static void number_of_places_is_limited(void **state)
{
    (void)state;
    static const char poll[] = "poll";
    unsigned found = 0;
    start();
    for (uintptr_t at = 1; at <= 2000; at++)
        found += hotpath_v1_loop_site(poll, (const void *)(at << 12)) != NULL;
    assert_in_range(found, 200, 256);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(turns_and_delays),
        TEST(an_idle_loop_has_no_delay),
        TEST(long_turns_do_not_overflow),
        TEST(the_callback_of_the_longest_turn),
        TEST(a_turn_without_callbacks),
        TEST(loop_inside_other_zones),
        TEST(two_waits_are_not_a_loop),
        TEST(unfinished_turn_counts),
        TEST(loop_that_is_left_and_entered_again),
        TEST(loops_are_separate),
        TEST(nested_wait_is_not_a_loop),
        TEST(longjmp_out_of_a_wait),
        TEST(recording_paused),
        TEST(interrupting_handler_has_its_own_part),
        TEST(next_session_starts_from_zero),
        TEST(errno_is_kept),
        TEST(places_have_names),
        TEST(number_of_places_is_limited),
    };
    return cmocka_run_group_tests(tests, make_scratch_folder, remove_scratch_folder);
}
