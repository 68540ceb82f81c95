/* In how much of a run anything worked: periods with a known truth. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "run_work.h"

#define MS UINT64_C(1000000)
#define PERIOD (10 * MS)

static struct hp_work work;
static uint64_t now;

static int set_up(void **state)
{
    (void)state;
    now = 5000 * MS;
    hp_work_begin(&work, now);
    return 0;
}

static void look(struct hp_work_found found)
{
    now += PERIOD;
    hp_work_add(&work, &found, now);
}

/* A thread that ran for that long, in a period that ends while it works, or does not. */
static struct hp_work_found ran(uint64_t ns, bool is_working)
{
    return (struct hp_work_found){.sum_ns = ns, .ran_ns = ns, .longest_ns = ns, .is_working = is_working};
}

static void assert_times(uint64_t covered, uint64_t worked, uint64_t blocked, uint64_t socket)
{
    const struct hp_work_times times = hp_work_times(&work);
    assert_int_equal(times.covered_ns, covered);
    assert_int_equal(times.worked_ns, worked);
    assert_int_equal(times.blocked_ns, blocked);
    assert_int_equal(times.socket_ns, socket);
}

/* One thread works for 3 ms in each period. The looks never find it at work, or always: the clocks know better. */
static void one_thread_is_exact(void **state)
{
    (void)state;
    for (int at = 0; at < 10; at++)
        look(ran(3 * MS, false));
    assert_times(100 * MS, 30 * MS, 0, 0);
    for (int at = 0; at < 10; at++)
        look(ran(3 * MS, true));
    assert_times(200 * MS, 60 * MS, 0, 0);
}

/* Two threads take turns, 5 ms each: all of the time, not half. Or they work at the same time: half. */
static void turns_are_told_from_parallel_work(void **state)
{
    (void)state;
    struct hp_work_found both = ran(5 * MS, true);
    hp_work_join(&both, &(struct hp_work_found){.sum_ns = 5 * MS, .ran_ns = 5 * MS, .longest_ns = 5 * MS});
    for (int at = 0; at < 100; at++)
        look(both);
    assert_times(1000 * MS, 1000 * MS, 0, 0);
    set_up(NULL);
    for (int at = 0; at < 100; at++) {
        both.is_working = at % 2 == 0;
        look(both);
    }
    assert_times(1000 * MS, 500 * MS, 0, 0);
}

/* All threads run for less than the looks have it, or one for longer than a period: a lag of the kernel. */
static void bounds_hold(void **state)
{
    (void)state;
    struct hp_work_found busy = {.sum_ns = 4 * MS, .ran_ns = 4 * MS, .longest_ns = 3 * MS, .is_working = true};
    look(busy);
    look(busy);
    assert_times(2 * PERIOD, 8 * MS, 0, 0);
    look(ran(14 * MS, true));
    assert_times(3 * PERIOD, 18 * MS, 0, 0);
}

/* A thread is woken and waits 34 ms for a CPU; that is known only when it begins to run. */
static void time_in_the_run_queue_is_made_up_for(void **state)
{
    (void)state;
    look(ran(PERIOD, true));
    look((struct hp_work_found){0});
    for (int at = 0; at < 3; at++)
        look((struct hp_work_found){0});
    assert_times(5 * PERIOD, PERIOD, 0, 0);
    look((struct hp_work_found){.sum_ns = 34 * MS, .longest_ns = 34 * MS, .is_working = true});
    assert_times(6 * PERIOD, PERIOD + 34 * MS, 0, 0);
    /* It cannot have been ready before something else was last found at work. */
    look((struct hp_work_found){0});
    look((struct hp_work_found){.sum_ns = 90 * MS, .longest_ns = 90 * MS, .is_working = true});
    assert_times(8 * PERIOD, PERIOD + 34 * MS + 2 * PERIOD, 0, 0);
}

/* A thread that has been ready for the whole period has no time yet. */
static void queued_threads_work(void **state)
{
    (void)state;
    look((struct hp_work_found){.is_working = true, .is_queued = true});
    assert_times(PERIOD, PERIOD, 0, 0);
}

static void the_rest_is_told_apart(void **state)
{
    (void)state;
    look((struct hp_work_found){.is_blocked = true, .is_at_socket = true});
    look((struct hp_work_found){.is_at_socket = true});
    look((struct hp_work_found){.is_at_socket = true});
    look((struct hp_work_found){.is_working = true, .is_queued = true, .is_blocked = true});
    look((struct hp_work_found){0});
    assert_times(5 * PERIOD, PERIOD, PERIOD, 2 * PERIOD);
}

/* Nothing is more than what it is a part of, and what worked did. */
static void parts_stay_within_the_whole(void **state)
{
    (void)state;
    struct hp_work_times before = {0};
    uint32_t dice = 1;
    for (int at = 0; at < 2000; at++) {
        dice = dice * 1103515245u + 12345u;
        const uint64_t longest = dice >> 8 & 0xffffffu, more = dice >> 4 & 0xfffffu;
        look((struct hp_work_found){.sum_ns = longest + more,
                                    .longest_ns = longest,
                                    .is_working = (dice >> 28 & 3) == 0,
                                    .is_blocked = (dice >> 26 & 3) == 0,
                                    .is_at_socket = (dice >> 24 & 1) != 0});
        const struct hp_work_times times = hp_work_times(&work);
        assert_true(times.worked_ns >= before.worked_ns);
        assert_true(times.worked_ns + times.blocked_ns + times.socket_ns <= times.covered_ns);
        before = times;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(one_thread_is_exact, set_up),
        cmocka_unit_test_setup(turns_are_told_from_parallel_work, set_up),
        cmocka_unit_test_setup(bounds_hold, set_up),
        cmocka_unit_test_setup(time_in_the_run_queue_is_made_up_for, set_up),
        cmocka_unit_test_setup(queued_threads_work, set_up),
        cmocka_unit_test_setup(the_rest_is_told_apart, set_up),
        cmocka_unit_test_setup(parts_stay_within_the_whole, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
