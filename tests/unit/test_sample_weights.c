/* How much CPU time samples stand for. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "collector.h"

#define PERIOD 1000u
#define MOST (4 * PERIOD)
#define NODES 8u

static struct hp_sample_window window;
static uint64_t got[NODES], kernel[NODES], nobodys;

static void put(void *context, const struct hp_waiting_sample *sample, uint64_t ns)
{
    assert_ptr_equal(context, &window);
    if (sample->node == HP_SAMPLE_OF_NONE)
        nobodys += ns;
    else
        *(sample->is_kernel ? &kernel[sample->node] : &got[sample->node]) += ns;
}

static int begin(void **state)
{
    (void)state;
    memset(&window, 0, sizeof window);
    memset(got, 0, sizeof got);
    memset(kernel, 0, sizeof kernel);
    nobodys = 0;
    return 0;
}

static void add(uint32_t node, unsigned times)
{
    while (times-- > 0)
        assert_true(hp_sample_window_add(&window, &(struct hp_waiting_sample){.node = node}));
}

static void count(uint64_t ns)
{
    hp_sample_window_count(&window, &(struct hp_sample_count){.ns = ns, .most_ns = MOST}, put, &window);
}

static void end(void) { hp_sample_window_end(&window, &(struct hp_sample_count){.most_ns = PERIOD}, put, &window); }

static void samples_share_the_counted_time(void **state)
{
    (void)state;
    add(1, 30);
    add(2, 10);
    assert_true(hp_sample_window_add(&window, &(struct hp_waiting_sample){.node = 2, .is_kernel = true}));
    count(41 * PERIOD);
    assert_int_equal(got[1], 30 * PERIOD);
    assert_int_equal(got[2], 10 * PERIOD);
    assert_int_equal(kernel[2], PERIOD);
    end();
    assert_int_equal(got[1] + got[2] + kernel[2] + nobodys, 41 * PERIOD);
}

static void late_and_lost_samples_are_made_up_for(void **state)
{
    (void)state;
    add(1, 30);
    add(2, 10);
    count(80 * PERIOD);
    assert_int_equal(got[1], 60 * PERIOD);
    assert_int_equal(got[2], 20 * PERIOD);
    add(1, 10);
    count(9 * PERIOD); /* one too many, by chance */
    assert_int_equal(got[1], 69 * PERIOD);
    assert_int_equal(nobodys, 0);
    end();
}

static void weight_of_a_sample_is_bounded(void **state)
{
    (void)state;
    add(3, 1);
    count(50 * PERIOD);
    assert_int_equal(got[3], MOST);
    assert_int_equal(nobodys, 50 * PERIOD - MOST);
    end();
    assert_int_equal(nobodys, 50 * PERIOD - MOST);
}

static void time_without_samples_goes_to_the_next_ones(void **state)
{
    (void)state;
    count(PERIOD / 2);
    count(PERIOD / 2);
    assert_int_equal(nobodys, 0);
    add(4, 2);
    count(PERIOD);
    assert_int_equal(got[4], 2 * PERIOD);
    count(3 * PERIOD); /* of threads that ended before a sample came */
    end();
    assert_int_equal(nobodys, 3 * PERIOD);
}

/* Many short threads used it, not the ones that come after them. */
static void much_time_without_samples_is_not_attributed(void **state)
{
    (void)state;
    count(50 * PERIOD);
    assert_int_equal(nobodys, 50 * PERIOD);
    add(4, 50);
    count(50 * PERIOD);
    assert_int_equal(got[4], 50 * PERIOD);
    end();
    assert_int_equal(nobodys, 50 * PERIOD);
}

static void no_nanosecond_is_lost(void **state)
{
    (void)state;
    uint64_t counted = 0;
    for (unsigned round = 1; round <= 100; round++) {
        add(round % NODES, round % 7);
        count(round * 777);
        counted += round * 777;
    }
    end();
    uint64_t sum = nobodys;
    for (unsigned node = 0; node < NODES; node++)
        sum += got[node];
    assert_int_equal(sum, counted);
}

static void samples_without_a_count_stand_for_their_period(void **state)
{
    (void)state;
    add(5, 1000);
    end();
    assert_int_equal(got[5], 1000 * PERIOD);
    assert_int_equal(nobodys, 0);
    assert_null(window.all);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, NULL)
    const struct CMUnitTest tests[] = {
        TEST(samples_share_the_counted_time),
        TEST(late_and_lost_samples_are_made_up_for),
        TEST(weight_of_a_sample_is_bounded),
        TEST(time_without_samples_goes_to_the_next_ones),
        TEST(much_time_without_samples_is_not_attributed),
        TEST(no_nanosecond_is_lost),
        TEST(samples_without_a_count_stand_for_their_period),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
