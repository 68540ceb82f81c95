/* Where locks were held, from samples of their holders that are made up. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lock_holds.h"

#define MS UINT64_C(1000000)
#define OWNER 71u
#define OTHER 72u

static struct hp_lock_holds holds;

static int end(void **state)
{
    (void)state;
    hp_lock_holds_free(&holds);
    return 0;
}

static const struct hp_lock_hold *hold_of(uint32_t waiter, uint32_t holder)
{
    static const struct hp_lock_hold none;
    for (size_t at = 0; at < holds.count; at++)
        if (holds.all[at].waiter == waiter && holds.all[at].holder == holder)
            return &holds.all[at];
    return &none;
}

static void run(uint32_t waiter, uint64_t from_ns, uint64_t to_ns, uint64_t ns)
{
    hp_lock_holds_run(&holds, &(struct hp_running_hold){from_ns, to_ns, ns, waiter, OWNER});
}

/* Only those of the owner, while it held the lock. */
static void samples_of_the_time_are_found(void **state)
{
    (void)state;
    hp_lock_holds_sample(&holds, 9 * MS, OWNER, 1);
    hp_lock_holds_sample(&holds, 11 * MS, OTHER, 2);
    hp_lock_holds_sample(&holds, 13 * MS, OWNER, 4); /* rings are read one after the other */
    hp_lock_holds_sample(&holds, 12 * MS, OWNER, 3);
    hp_lock_holds_sample(&holds, 16 * MS, OWNER, 5);
    run(100, 10 * MS, 15 * MS, 8 * MS);
    hp_lock_holds_settle(&holds, 14 * MS);
    assert_int_equal(holds.count, 0); /* more samples may come */
    hp_lock_holds_settle(&holds, 15 * MS);
    hp_lock_holds_end(&holds);
    assert_int_equal(holds.count, 2);
    assert_int_equal(hold_of(100, 3)->ns, 4 * MS);
    assert_int_equal(hold_of(100, 4)->ns, 4 * MS);
    assert_int_equal(hold_of(100, 4)->samples, 1);
}

/* What is known of a few looks stands for all looks at the same stack, and for those only. */
static void found_samples_stand_for_all_looks(void **state)
{
    (void)state;
    hp_lock_holds_sample(&holds, 11 * MS, OWNER, 3);
    hp_lock_holds_sample(&holds, 31 * MS, OWNER, 4);
    hp_lock_holds_sample(&holds, 32 * MS, OWNER, 4);
    run(100, 10 * MS, 12 * MS, 10 * MS);
    run(100, 20 * MS, 22 * MS, 10 * MS); /* no sample */
    run(100, 30 * MS, 33 * MS, 10 * MS);
    run(100, 40 * MS, 40 * MS, 30 * MS); /* given up before the second look */
    run(101, 50 * MS, 50 * MS, 30 * MS);
    hp_lock_holds_end(&holds);
    assert_int_equal(holds.count, 2);
    assert_int_equal(hold_of(100, 3)->ns, 30 * MS);
    assert_int_equal(hold_of(100, 4)->ns, 30 * MS);
    assert_int_equal(hold_of(100, 4)->samples, 2);
}

/* A holder that waits is known at every look. */
static void waiting_holders_have_their_time(void **state)
{
    (void)state;
    hp_lock_holds_sample(&holds, 11 * MS, OWNER, 3);
    for (int at = 0; at < 5; at++)
        assert_true(hp_lock_holds_add(&holds, 100, 200, 10 * MS, 1));
    run(100, 10 * MS, 12 * MS, 10 * MS);
    run(100, 20 * MS, 20 * MS, 20 * MS);
    hp_lock_holds_end(&holds);
    assert_int_equal(hold_of(100, 200)->ns, 50 * MS);
    assert_int_equal(hold_of(100, 200)->samples, 5);
    assert_int_equal(hold_of(100, 3)->ns, 30 * MS);
}

/* A day of samples takes no more room than a second. */
static void old_samples_are_forgotten(void **state)
{
    (void)state;
    for (uint64_t ms = 1; ms < 100000; ms++) {
        hp_lock_holds_sample(&holds, ms * MS, OWNER, (uint32_t)(ms % 7));
        if (ms % 20 == 0)
            hp_lock_holds_settle(&holds, (ms - 10) * MS);
    }
    assert_true(holds.sample_room < 2000);
    run(100, 99998 * MS, 99999 * MS, MS);
    hp_lock_holds_end(&holds);
    assert_int_equal(holds.count, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(samples_of_the_time_are_found, end),
        cmocka_unit_test_teardown(found_samples_stand_for_all_looks, end),
        cmocka_unit_test_teardown(waiting_holders_have_their_time, end),
        cmocka_unit_test_teardown(old_samples_are_forgotten, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
