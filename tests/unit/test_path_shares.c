/*
 * What threads did in segments of critical paths, from samples and ends that are made up.
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "path_shares.h"

#define MS UINT64_C(1000000)
#define PID 70u
#define WORKER 71u

static struct hp_path_shares shares;

static int end(void **state)
{
    (void)state;
    hp_path_shares_free(&shares);
    return 0;
}

static void sample(uint32_t tid, uint64_t ns, uint32_t node)
{
    hp_path_shares_sample(&shares,
                          &(struct hp_path_sample){.pid = PID, .tid = tid, .node = node, .ns = ns, .cpu_ns = MS});
}

static int64_t cpu_ns(uint32_t node, uint32_t key)
{
    int64_t ns = 0;
    for (size_t at = 0; at < shares.count; at++)
        if (shares.all[at].node == node && shares.all[at].key == key && shares.all[at].pid == PID)
            ns += shares.all[at].cpu_ns;
    return ns;
}

static void a_sample_belongs_to_the_next_end_of_its_thread(void **state)
{
    (void)state;
    sample(WORKER, 2 * MS, 1);
    sample(WORKER, 12 * MS, 1);
    sample(WORKER, 7 * MS, 2); /* sources are read one after the other */
    sample(PID, 3 * MS, 3);
    hp_path_shares_end(&shares, PID, WORKER, 101, 10 * MS);
    hp_path_shares_end(&shares, PID, WORKER, 100, 5 * MS);
    hp_path_shares_settle(&shares, 4 * MS);
    assert_int_equal(shares.count, 0); /* more may come */
    hp_path_shares_settle(&shares, 10 * MS);
    assert_int_equal(cpu_ns(1, 100), MS);
    assert_int_equal(cpu_ns(2, 101), MS);
    assert_int_equal(shares.count, 2);
    hp_path_shares_end(&shares, PID, WORKER, 100, 15 * MS);
    hp_path_shares_settle(&shares, 20 * MS);
    assert_int_equal(cpu_ns(1, 100), 2 * MS);
}

/* What other threads did after their last segment is on no path. */
static void the_first_thread_s_last_segment_is_open(void **state)
{
    (void)state;
    sample(PID, 3 * MS, 3);
    sample(WORKER, 3 * MS, 4);
    hp_path_shares_finish(&shares);
    assert_int_equal(cpu_ns(3, HP_PATH_OPEN), MS);
    assert_int_equal(shares.count, 1);
}

/* A segment that takes an hour: fewer samples stand for all of them. */
static void many_samples_keep_their_sums(void **state)
{
    (void)state;
    for (uint64_t at = 0; at < 100000; at++)
        sample(WORKER, at * MS, at % 4 < 3 ? 1 : 2);
    hp_path_shares_end(&shares, PID, WORKER, 7, 100000 * MS);
    hp_path_shares_finish(&shares);
    const double all = (double)(cpu_ns(1, 7) + cpu_ns(2, 7)), most = (double)cpu_ns(1, 7);
    assert_int_equal((uint64_t)all, 100000 * MS);
    assert_true(most > 0.7 * all && most < 0.8 * all);
}

static void time_can_be_taken_back(void **state)
{
    (void)state;
    const struct hp_path_sample more = {.pid = PID, .tid = WORKER, .node = 5, .ns = MS, .waited_ns = 30};
    const struct hp_path_sample less = {.pid = PID, .tid = WORKER, .node = 5, .ns = 2 * MS, .waited_ns = -10};
    hp_path_shares_sample(&shares, &more);
    hp_path_shares_sample(&shares, &less);
    hp_path_shares_end(&shares, PID, WORKER, 7, 3 * MS);
    hp_path_shares_finish(&shares);
    assert_int_equal(shares.count, 1);
    assert_int_equal(shares.all[0].waited_ns, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_sample_belongs_to_the_next_end_of_its_thread, end),
        cmocka_unit_test_teardown(the_first_thread_s_last_segment_is_open, end),
        cmocka_unit_test_teardown(many_samples_keep_their_sums, end),
        cmocka_unit_test_teardown(time_can_be_taken_back, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
