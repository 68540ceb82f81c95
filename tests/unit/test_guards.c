/*
 * Guards whose beginning was jumped over: their cleanup gets whatever the stack contains, and must not count it,
 * nor fail. Every kind of guard is ended on memory with all sorts of contents, among them those of a real guard.
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "guards.h"
#include "hotpath.h"
#include "report_number.h"
#include "runtime.h"
#include "scratch_folder.h"

union guard {
    struct hotpath_zone zone;
    struct hotpath_poll_ poll;
    struct hotpath_stream_next_ next;
    struct hotpath_channel_wait_ wait;
    struct hotpath_loop_wait_ loop;
    struct hotpath_expected_ expected;
    uint64_t words[32];
};

static int complaints; /* of HOTPATH_EXPECT_ALLOCS: one for each end, since nothing is counted here */

static void complain(const struct hotpath_unexpected *unexpected, void *context)
{
    (void)context;
    assert_string_equal(unexpected->function, "begin_expected");
    complaints++;
}

/* -------------------------------------------------------------------------------------------------------- kinds */

static hotpath_task task, quiet, laned;

static void begin_zone(union guard *guard)
{
    HOTPATH_SITE_(site, HOTPATH_KIND_BLOCK_, "zone", );
    guard->zone.state = hotpath_open_(&guard->zone, &site);
}
static void end_zone(union guard *guard) { hotpath_close_(&guard->zone); }

static void begin_poll(union guard *guard) { hotpath_begin_poll_(&guard->poll, &task, 0); }
static void begin_quiet_poll(union guard *guard) { hotpath_begin_poll_(&guard->poll, &quiet, 0); }
static void begin_laned_poll(union guard *guard) { hotpath_begin_poll_(&guard->poll, &laned, 0); }
static void end_poll(union guard *guard) { hotpath_end_poll_(&guard->poll); }

static void begin_next(union guard *guard)
{
    static char stream;
    HOTPATH_SITE_(site, HOTPATH_KIND_OBJECT_, "stream", );
    guard->next.place = hotpath_begin_next_(&guard->next, &site, &stream);
}
static void end_next(union guard *guard) { hotpath_end_next_(&guard->next); }

static void begin_wait(union guard *guard)
{
    static char channel;
    HOTPATH_SITE_(site, HOTPATH_KIND_OBJECT_, "channel", );
    hotpath_begin_wait_(&guard->wait, &site, &channel, 0);
}
static void end_wait(union guard *guard) { hotpath_end_wait_(&guard->wait); }

static void begin_loop_wait(union guard *guard)
{
    HOTPATH_SITE_(site, HOTPATH_KIND_OBJECT_, "loop", );
    hotpath_begin_loop_wait_(&guard->loop, &site);
}
static void end_loop_wait(union guard *guard) { hotpath_end_loop_wait_(&guard->loop); }

static void begin_expected(union guard *guard)
{
    hotpath_v1_expect(&guard->expected, 0, __FILE__, __LINE__, __func__);
}
static void end_expected(union guard *guard) { hotpath_v1_expect_end(&guard->expected); }

static double zones(void) { return number_of("timing", "zone", "calls"); }
static double polls(void) { return number_of("tasks", "task", "polls"); }
static double waits(void) { return number_of("channels", "channel", "empty_waits"); }
static double loop_waits(void) { return number_of("loops", "loop", "waits"); }
static double expectations(void) { return complaints; }

/* `count`: how many have ended; NULL: nothing counts them. */
static const struct kind {
    const char *name;
    void (*begin)(union guard *guard), (*end)(union guard *guard);
    double (*count)(void);
} kinds[] = {{"zone", begin_zone, end_zone, zones},
             {"poll", begin_poll, end_poll, polls},
             {"poll without a zone", begin_quiet_poll, end_poll, NULL},
             {"poll on a lane", begin_laned_poll, end_poll, NULL},
             {"stream", begin_next, end_next, NULL},
             {"channel", begin_wait, end_wait, waits},
             {"loop", begin_loop_wait, end_loop_wait, loop_waits},
             {"expectation", begin_expected, end_expected, expectations}};

#define FOR_EACH_KIND(kind)                                                                                        \
    for (const struct kind *kind = kinds; kind < kinds + sizeof kinds / sizeof kinds[0]; kind++)

static double count_of(const struct kind *kind) { return kind->count != NULL ? kind->count() : 0; }

static int set_up(void **state)
{
    (void)state;
    struct hotpath_options options = {.size = sizeof options,
                                      .report = "timing,tasks,streams,channels,loops",
                                      .skip = "quiet",
                                      .limit = HOTPATH_NO_LIMIT,
                                      .dir = scratch_folder};
    hotpath_set_reporter(read_number, NULL);
    hotpath_set_on_unexpected(complain, NULL);
    complaints = 0;
    if (hotpath_start(&options) != HOTPATH_OK)
        return 1;
    HOTPATH_TASK(&task, "task");
    HOTPATH_TASK(&quiet, "quiet");
    HOTPATH_TASK(&laned, "laned", .lane = 1);
    static union guard guard; /* a loop of a few turns has no row */
    for (int at = 0; at < 10; at++) {
        begin_loop_wait(&guard);
        end_loop_wait(&guard);
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    HOTPATH_TASK_READY(&task);
    HOTPATH_TASK_READY(&quiet);
    HOTPATH_TASK_READY(&laned);
    hotpath_stop();
    return 0;
}

static void fill(union guard *guard, uint64_t word)
{
    for (size_t at = 0; at < sizeof guard->words / sizeof guard->words[0]; at++)
        guard->words[at] = word;
}

/* ------------------------------------------------------------------------------------------------------- tests */

static void any_contents(void **state)
{
    (void)state;
    static union guard guard;
    const uint64_t session = (uint64_t)hp_epoch() << 32;
    FOR_EACH_KIND(kind)
    {
        kind->begin(&guard);
        kind->end(&guard);
        const double before = count_of(kind);
        for (uint64_t byte = 0; byte < 256; byte++) {
            fill(&guard, byte * UINT64_C(0x0101010101010101));
            kind->end(&guard);
        }
        for (uint64_t offset = 0; offset < UINT64_C(1) << 32; offset += offset < 1 << 20 ? 32 : 1 << 24) {
            fill(&guard, session | offset); /* as a place in the session */
            kind->end(&guard);
        }
        fill(&guard, (uintptr_t)hotpath_v1_context);
        kind->end(&guard);
        fill(&guard, (uintptr_t)&guard);
        kind->end(&guard);
        if (count_of(kind) != before)
            fail_msg("%s: %g ended, not %g", kind->name, count_of(kind), before);
    }
}

/* The stack still has the bytes of a guard that was there before and has ended. */
static void remains_of_an_earlier_guard(void **state)
{
    (void)state;
    static union guard guard, copy;
    FOR_EACH_KIND(kind)
    {
        const double none = count_of(kind);
        kind->begin(&guard);
        copy = guard;
        kind->end(&guard);
        const double before = count_of(kind);
        for (int round = 0; round < 3; round++) {
            guard = copy;
            kind->end(&guard);
        }
        if (kind->count != NULL && before != none + 1)
            fail_msg("%s: %g ended, not %g", kind->name, before, none + 1);
        if (count_of(kind) != before)
            fail_msg("%s: %g ended, not %g", kind->name, count_of(kind), before);
    }
}

/* The bytes of a guard that is open elsewhere do not end it. */
static void copy_of_an_open_guard(void **state)
{
    (void)state;
    static union guard guard, copy;
    FOR_EACH_KIND(kind)
    {
        const double before = count_of(kind);
        kind->begin(&guard);
        copy = guard;
        const double with_open = count_of(kind); /* zones count as soon as they are open */
        kind->end(&copy);
        if (count_of(kind) != with_open)
            fail_msg("%s: the copy ended it", kind->name);
        kind->end(&guard);
        if (kind->count != NULL && count_of(kind) != before + 1)
            fail_msg("%s: %g ended, not %g", kind->name, count_of(kind), before + 1);
    }
}

/* What has no counter, and would show otherwise that something was ended. */
static void open_scopes_stay_open(void **state)
{
    (void)state;
    static union guard guard, copy;
    begin_next(&guard);
    copy = guard;
    end_next(&copy);
    const double before = number_of("streams", "stream", "produced_ns");
    end_next(&guard);
    assert_true(before == 0 && number_of("streams", "stream", "produced_ns") > 0);

    const uint64_t none = hotpath_current().id_;
    begin_quiet_poll(&guard);
    copy = guard;
    end_poll(&copy);
    assert_int_equal(hotpath_current().id_, quiet.id_);
    end_poll(&guard);
    assert_int_equal(hotpath_current().id_, none);

    begin_laned_poll(&guard);
    copy = guard;
    end_poll(&copy);
    const hotpath_lane lane = hotpath_switch(0);
    assert_int_not_equal(lane, 0);
    hotpath_switch(lane);
    end_poll(&guard);
    assert_int_equal(hotpath_switch(0), 0);
}

/* Guards that longjmp left stay in the table. It forgets the oldest ones, and new ones always find room. */
static void many_left_guards(void **state)
{
    (void)state;
    static char guards[100000];
    for (uint64_t at = 0; at < sizeof guards; at++) {
        hp_guard_open(&guards[at], at + 1);
        assert_false(hp_guard_close(&guards[at], at + 2));
        if (at % 2 == 0)
            assert_true(hp_guard_close(&guards[at], at + 1));
        assert_true(at % 2 == 1 || !hp_guard_close(&guards[at], at + 1));
    }
}

/* Nested guards on several threads at once: none loses its entry, since few are open. */
static void *open_and_close(void *context)
{
    static uint64_t marks;
    for (int round = 0; round < 20000; round++) {
        char outer, inner;
        const uint64_t mark = __atomic_add_fetch(&marks, 2, __ATOMIC_RELAXED);
        hp_guard_open(&outer, mark);
        hp_guard_open(&inner, mark + 1);
        const bool is_inner = hp_guard_close(&inner, mark + 1), is_outer = hp_guard_close(&outer, mark);
        *(int *)context += is_inner && is_outer && !hp_guard_close(&outer, mark);
    }
    return NULL;
}

static void guards_of_many_threads(void **state)
{
    (void)state;
    pthread_t threads[4];
    int good[4] = {0};
    for (int at = 0; at < 4; at++)
        assert_int_equal(pthread_create(&threads[at], NULL, open_and_close, &good[at]), 0);
    for (int at = 0; at < 4; at++) {
        pthread_join(threads[at], NULL);
        assert_int_equal(good[at], 20000);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(any_contents),          TEST(remains_of_an_earlier_guard), TEST(copy_of_an_open_guard),
        TEST(open_scopes_stay_open), TEST(guards_of_many_threads),      TEST(many_left_guards),
    };
    return cmocka_run_group_tests(tests, make_scratch_folder, remove_scratch_folder);
}
