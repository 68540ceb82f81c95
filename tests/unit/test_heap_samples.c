/*
 * Heap samples: that they are unbiased, which sampled blocks are live, and which were live at the peak. With a
 * fixed random seed and a fake clock. SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "heap_live.h"
#include "heap_sampler.h"
#include "heap_samples.h"

#define MEAN 4096u

/* ------------------------------------------------------------------------------------------------ distances */

static void distances_are_exponential(void **state)
{
    const unsigned draws = 400000;
    uint64_t random = 1, beyond_mean = 0, beyond_three = 0;
    double sum = 0, squares = 0;
    (void)state;
    for (unsigned at = 0; at < draws; at++) {
        const uint64_t distance = hp_exponential_distance(hp_random_next(&random), 1000000);
        sum += (double)distance;
        squares += (double)distance * (double)distance;
        beyond_mean += distance > 1000000;
        beyond_three += distance > 3000000;
    }
    const double mean = sum / draws, deviation = sqrt(squares / draws - mean * mean);
    /* Five times what chance makes of so many. */
    const double bound = 5 / sqrt(draws);
    assert_true(fabs(mean / 1e6 - 1) < bound);
    assert_true(fabs(deviation / 1e6 - 1) < 3 * bound);
    assert_true(fabs((double)beyond_mean / draws - exp(-1)) < 5 * sqrt(0.25 / draws));
    assert_true(fabs((double)beyond_three / draws - exp(-3)) < 5 * sqrt(0.05 / draws));
}

static void logarithms_are_exact(void **state)
{
    (void)state;
    for (unsigned bit = 0; bit < 64; bit++)
        for (uint64_t more = 0; more < 5; more++) {
            const uint64_t random = (UINT64_C(1) << bit) + (bit > 3 ? more * ((UINT64_C(1) << bit) / 5) : 0);
            const double expected = -log((double)(random | 1) / 18446744073709551616.0) * 1e9;
            assert_true(fabs((double)hp_exponential_distance(random, 1000000000) - expected) < 200);
        }
    assert_int_equal(hp_exponential_distance(UINT64_MAX, 1), 1);
    assert_true(hp_exponential_distance(0, UINT64_MAX) > UINT64_C(1) << 45);
}

/* ------------------------------------------------------------------------------------------------- sampling */

/* A thread that allocates; its samples are added up. */
struct thread {
    struct hp_heap_pace pace;
    struct hp_heap_countdown countdown;
    struct hp_heap_live heap;
    uint64_t bytes, samples, looks;
    double variance; /* of the sum of bytes, as it is expected */
    struct hp_heap_worth sum;
    uint64_t now_ns, per_block_ns;
    uint64_t used; /* eighths of the room */
};

static void begin(struct thread *thread, uint64_t mean, uint64_t seed)
{
    memset(thread, 0, sizeof *thread);
    hp_heap_pace_begin(&thread->pace, mean, 0);
    hp_heap_countdown_begin(&thread->countdown, &thread->pace, seed, 0);
    thread->per_block_ns = 1000000000;
}

/* True: it was sampled. */
static bool allocate(struct thread *thread, uint64_t size)
{
    thread->bytes += size;
    thread->now_ns += thread->per_block_ns;
    const double share = size > 0 ? hp_heap_share(size, thread->countdown.mean) : 1;
    thread->variance += (double)size * (double)size * (1 - share) / share;
    if (thread->bytes < thread->countdown.due_at)
        return false;
    hp_heap_pace_crowd(&thread->pace, thread->used, 8);
    if (thread->bytes < thread->countdown.sample_at) {
        thread->looks++;
        hp_heap_countdown_next(&thread->countdown, &thread->pace, thread->bytes);
        return false;
    }
    const struct hp_heap_worth worth = hp_heap_worth(&thread->heap, size, thread->countdown.mean);
    thread->sum.bytes += worth.bytes;
    thread->sum.blocks += worth.blocks;
    thread->samples++;
    hp_heap_pace_count(&thread->pace, 0, thread->now_ns);
    hp_heap_countdown_next(&thread->countdown, &thread->pace, thread->bytes);
    return true;
}

static void shares_are_those_of_the_formula(void **state)
{
    static const uint64_t sizes[] = {1, 16, 100, 4096, 524288, 600000, 5000000, 40000000};
    (void)state;
    for (size_t at = 0; at < sizeof sizes / sizeof sizes[0]; at++) {
        const double expected = -expm1(-(double)sizes[at] / 524288);
        assert_true(fabs(hp_heap_share(sizes[at], 524288) / expected - 1) < 1e-12);
    }
}

static void each_size_is_unbiased(void **state)
{
    static const uint64_t sizes[] = {1, 16, 1000, MEAN, 3 * MEAN, 20 * MEAN};
    (void)state;
    for (size_t at = 0; at < sizeof sizes / sizeof sizes[0]; at++) {
        struct thread thread;
        const uint64_t blocks = sizes[at] < 1000 ? 4000000 : 200000;
        begin(&thread, MEAN, at + 1);
        for (uint64_t block = 0; block < blocks; block++)
            allocate(&thread, sizes[at]);
        const double share = hp_heap_share(sizes[at], MEAN), deviation = sqrt(thread.variance);
        assert_true(fabs((double)thread.sum.bytes - (double)thread.bytes) <= 4 * deviation + 2);
        assert_true(fabs((double)thread.sum.blocks - (double)blocks) <= 4 * deviation / (double)sizes[at] + 2);
        assert_true(fabs((double)thread.samples / (double)blocks / share - 1) <=
                    4 * sqrt((1 - share) / share / (double)blocks) + 1e-9);
        hp_heap_live_free(&thread.heap);
    }
}

/* Allocations of one caller are not counted for the other, with large blocks beside small ones. */
static void sizes_do_not_bias_each_other(void **state)
{
    struct thread thread;
    uint64_t random = 7, small_bytes = 0, large_bytes = 0;
    struct hp_heap_worth small = {0}, large = {0};
    (void)state;
    begin(&thread, MEAN, 99);
    for (unsigned at = 0; at < 1000000; at++) {
        const bool is_large = hp_random_next(&random) % 50 == 0;
        const uint64_t size = is_large ? 2 * MEAN + at % 100 : 1 + at % 64;
        const struct hp_heap_worth before = thread.sum;
        *(is_large ? &large_bytes : &small_bytes) += size;
        allocate(&thread, size);
        (is_large ? &large : &small)->bytes += thread.sum.bytes - before.bytes;
        (is_large ? &large : &small)->blocks += thread.sum.blocks - before.blocks;
    }
    assert_true(fabs((double)small.bytes / (double)small_bytes - 1) < 4 / sqrt((double)small_bytes / MEAN));
    assert_true(fabs((double)large.bytes / (double)large_bytes - 1) < 4 / sqrt((double)large_bytes / MEAN));
    hp_heap_live_free(&thread.heap);
}

/* A program that allocates quickly is sampled less often, and its sums stay right. */
static void fast_allocation_is_sampled_less(void **state)
{
    struct thread thread;
    (void)state;
    begin(&thread, MEAN, 5);
    thread.per_block_ns = 10000;
    for (unsigned at = 0; at < 400000; at++)
        allocate(&thread, 8192);
    assert_true(thread.now_ns == 4000000000 && thread.pace.mean > 32 * MEAN);
    assert_true(thread.samples < 2 * HP_HEAP_MOST_PER_SECOND * 4);
    assert_true(thread.samples > HP_HEAP_MOST_PER_SECOND);
    assert_true(fabs((double)thread.sum.bytes - (double)thread.bytes) < 4 * sqrt(thread.variance));
    thread.per_block_ns = 200000000; /* and then slowly: the first sample notices */
    while (!allocate(&thread, 8192))
        ;
    assert_int_equal(thread.pace.mean, MEAN);
    assert_true(fabs((double)thread.sum.bytes - (double)thread.bytes) < 4 * sqrt(thread.variance));
    hp_heap_live_free(&thread.heap);
}

/* Where samples are not taken away, there are soon hardly any, but never none. */
static void unread_samples_are_thinned_out(void **state)
{
    struct thread thread;
    (void)state;
    begin(&thread, MEAN, 6);
    thread.per_block_ns = 1;
    thread.used = 7;
    for (unsigned at = 0; at < 1000000; at++)
        allocate(&thread, 100);
    assert_int_equal(hp_heap_pace_mean(&thread.pace), HP_HEAP_MOST_GROWTH * MEAN);
    assert_true(thread.samples > 50 && thread.samples < 250);
    assert_true(fabs((double)thread.sum.bytes - (double)thread.bytes) < 4 * sqrt(thread.variance));
    hp_heap_live_free(&thread.heap);
}

/* A reader that was preempted for a moment has no lasting effect: soon samples are as frequent as before. */
static void sampling_recovers_after_a_crowd(void **state)
{
    struct thread thread;
    (void)state;
    begin(&thread, MEAN, 8);
    thread.used = 7;
    while (hp_heap_pace_mean(&thread.pace) == MEAN)
        allocate(&thread, 100);
    thread.used = 3;
    const uint64_t back = thread.bytes;
    while (hp_heap_pace_mean(&thread.pace) != MEAN)
        allocate(&thread, 100);
    assert_true(thread.bytes - back <= 4 * MEAN + 100);
    hp_heap_live_free(&thread.heap);
}

/* Crowds come and go while nothing is sampled: redrawn distances have the same distribution as the first ones. */
static void redrawn_distances_are_unbiased(void **state)
{
    struct thread thread;
    uint64_t random = 11;
    (void)state;
    begin(&thread, MEAN, 12);
    for (unsigned at = 0; at < 4000000; at++) {
        if (at % 3000 == 0)
            thread.used = hp_random_next(&random) % 8;
        allocate(&thread, at % 7 == 0 ? 3000 : 100);
    }
    assert_true(thread.looks > 1000);
    assert_true(fabs((double)thread.sum.bytes - (double)thread.bytes) < 4 * sqrt(thread.variance));
    hp_heap_live_free(&thread.heap);
}

static void many_live_samples_make_them_rarer(void **state)
{
    struct hp_heap_pace pace;
    (void)state;
    hp_heap_pace_begin(&pace, MEAN, 0);
    for (uint64_t at = 1; at <= 256; at++)
        hp_heap_pace_count(&pace, HP_HEAP_MOST_LIVE + 1, at * 2000000);
    assert_int_equal(pace.mean, MEAN << 4);
    for (uint64_t at = 257; at <= 512; at++)
        hp_heap_pace_count(&pace, HP_HEAP_MOST_LIVE, at * 4000000);
    assert_int_equal(pace.mean, MEAN << 4);
}

/* -------------------------------------------------------------------------------------------------- blocks */

static struct hp_heap_blocks *new_blocks(void)
{
    struct hp_heap_blocks *blocks = calloc(1, sizeof *blocks);
    assert_non_null(blocks);
    return blocks;
}

static const void *address_of(unsigned at) { return (const void *)(uintptr_t)(0x7f001000u + 48u * at); }

static void blocks_are_found_until_they_are_freed(void **state)
{
    struct hp_heap_blocks *blocks = new_blocks();
    const unsigned count = 4000;
    unsigned asked = 0;
    (void)state;
    for (unsigned at = 0; at < count; at += 2)
        assert_true(hp_heap_blocks_put(blocks, address_of(at), at + 1));
    for (unsigned at = 0; at < count; at++) {
        asked += hp_heap_may_have(blocks, address_of(at));
        assert_int_equal(hp_heap_blocks_take(blocks, address_of(at)), at % 2 == 0 ? at + 1 : 0);
    }
    assert_true(asked >= count / 2 && asked < count / 2 + count / 8);
    assert_int_equal(blocks->live, 0);
    for (unsigned at = 0; at < count; at++)
        assert_false(hp_heap_may_have(blocks, address_of(at)));
    free(blocks);
}

static void a_full_set_refuses(void **state)
{
    struct hp_heap_blocks *blocks = new_blocks();
    const uint32_t set = hp_heap_set_of(address_of(0));
    unsigned put = 0, refused = 0;
    (void)state;
    for (unsigned at = 0; refused < 3; at++)
        if (hp_heap_set_of(address_of(at)) == set)
            *(hp_heap_blocks_put(blocks, address_of(at), at + 1) ? &put : &refused) += 1;
    assert_int_equal(put, HP_HEAP_WAYS);
    assert_int_equal(blocks->filter[set], HP_HEAP_WAYS);
    assert_int_equal(blocks->live, HP_HEAP_WAYS);
    free(blocks);
}

/* Threads that put blocks in, and others that take them out. */
#define THREADS 4u
#define BLOCKS 50000u
static struct hp_heap_blocks *shared;

static void *put_and_take(void *argument)
{
    const unsigned number = (unsigned)(uintptr_t)argument;
    for (unsigned at = 0; at < BLOCKS; at++) {
        const void *block = address_of(at % 500 * THREADS + number);
        if (hp_heap_blocks_put(shared, block, at + 1) && hp_heap_blocks_take(shared, block) != at + 1)
            return shared;
    }
    return NULL;
}

static void threads_do_not_disturb_each_other(void **state)
{
    pthread_t threads[THREADS];
    void *failed;
    (void)state;
    shared = new_blocks();
    for (unsigned at = 0; at < THREADS; at++)
        assert_int_equal(pthread_create(&threads[at], NULL, put_and_take, (void *)(uintptr_t)at), 0);
    for (unsigned at = 0; at < THREADS; at++) {
        pthread_join(threads[at], &failed);
        assert_null(failed);
    }
    assert_int_equal(shared->live, 0);
    for (size_t at = 0; at < HP_HEAP_SETS; at++)
        assert_int_equal(shared->filter[at], 0);
    free(shared);
}

/* --------------------------------------------------------------------------------------------- what lives */

static const struct hp_heap_stack *stack_of(const struct hp_heap_live *heap, uint32_t stack)
{
    for (size_t at = 0; at < heap->stack_count; at++)
        if (heap->stacks[at].stack == stack)
            return &heap->stacks[at];
    fail();
    return NULL;
}

static void add(struct hp_heap_live *heap, uint32_t number, uint32_t stack, uint64_t bytes)
{
    assert_true(hp_heap_live_add(heap, number, stack, bytes, &(struct hp_heap_worth){bytes, 1}));
}

static void the_peak_is_by_stack(void **state)
{
    struct hp_heap_live heap = {0};
    (void)state;
    add(&heap, 1, 10, 100);
    add(&heap, 2, 20, 50);
    hp_heap_live_look(&heap, 151);
    hp_heap_live_remove(&heap, 1, 0);
    add(&heap, 3, 30, 70);
    hp_heap_live_look(&heap, 151); /* as many as before: the first one counts */
    hp_heap_live_look(&heap, 0);
    assert_int_equal(stack_of(&heap, 10)->peak.bytes, 100);
    assert_int_equal(stack_of(&heap, 20)->peak.bytes, 50);
    assert_int_equal(stack_of(&heap, 30)->peak.bytes, 0);
    add(&heap, 4, 30, 40);
    hp_heap_live_look(&heap, 160);
    hp_heap_live_remove(&heap, 2, 0);
    hp_heap_live_remove(&heap, 2, 0);
    assert_int_equal(stack_of(&heap, 10)->peak.bytes, 0);
    assert_int_equal(stack_of(&heap, 20)->peak.bytes, 50);
    assert_int_equal(stack_of(&heap, 30)->peak.bytes, 110);
    assert_int_equal(stack_of(&heap, 30)->peak.blocks, 2);
    assert_int_equal(stack_of(&heap, 20)->live.bytes, 0);
    assert_int_equal(stack_of(&heap, 30)->live.bytes, 110);
    hp_heap_live_free(&heap);
}

/* A block that is freed at the peak was sampled, so it stands for one block. */
static void the_peak_before_a_free(void **state)
{
    struct hp_heap_live heap = {0};
    (void)state;
    assert_true(hp_heap_live_add(&heap, 1, 10, 16, &(struct hp_heap_worth){4096, 256}));
    assert_true(hp_heap_live_add(&heap, 2, 20, 16, &(struct hp_heap_worth){4096, 256}));
    hp_heap_live_remove(&heap, 2, 5000);
    assert_int_equal(stack_of(&heap, 10)->peak.bytes, 4096);
    assert_int_equal(stack_of(&heap, 20)->peak.bytes, 16);
    assert_int_equal(stack_of(&heap, 20)->peak.blocks, 1);
    assert_int_equal(stack_of(&heap, 20)->live.bytes, 0);
    hp_heap_live_remove(&heap, 1, 4000); /* not the peak */
    assert_int_equal(stack_of(&heap, 10)->peak.bytes, 4096);
    assert_int_equal(stack_of(&heap, 10)->live.blocks, 0);
    hp_heap_live_free(&heap);
}

/* Against the same done in the simplest way. */
static void peak_matches_a_full_copy(void **state)
{
    enum { STACKS = 37, NUMBERS = 600 };
    static uint64_t size_of[NUMBERS], live[STACKS], peak[STACKS];
    struct hp_heap_live heap = {0};
    uint64_t random = 3, all = 0, most = 0;
    (void)state;
    for (unsigned at = 0; at < 200000; at++) {
        const uint64_t draw = hp_random_next(&random);
        const uint32_t number = (uint32_t)(draw % NUMBERS), stack = number % STACKS;
        const uint64_t size = draw >> 32 & 1023;
        if (size_of[number] != 0) {
            live[stack] -= size_of[number];
            all -= size_of[number];
            size_of[number] = 0;
            hp_heap_live_remove(&heap, number + 1, 0);
            hp_heap_live_look(&heap, all);
            continue;
        }
        size_of[number] = size;
        live[stack] += size;
        all += size;
        if (size > 0)
            add(&heap, number + 1, stack, size);
        hp_heap_live_look(&heap, all);
        if (all > most) {
            most = all;
            memcpy(peak, live, sizeof peak);
        }
    }
    assert_int_equal(heap.peak, most);
    for (uint32_t stack = 0; stack < STACKS; stack++) {
        assert_int_equal(stack_of(&heap, stack)->live.bytes, live[stack]);
        assert_int_equal(stack_of(&heap, stack)->peak.bytes, peak[stack]);
    }
    hp_heap_live_free(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distances_are_exponential),
        cmocka_unit_test(logarithms_are_exact),
        cmocka_unit_test(shares_are_those_of_the_formula),
        cmocka_unit_test(each_size_is_unbiased),
        cmocka_unit_test(sizes_do_not_bias_each_other),
        cmocka_unit_test(fast_allocation_is_sampled_less),
        cmocka_unit_test(unread_samples_are_thinned_out),
        cmocka_unit_test(sampling_recovers_after_a_crowd),
        cmocka_unit_test(redrawn_distances_are_unbiased),
        cmocka_unit_test(many_live_samples_make_them_rarer),
        cmocka_unit_test(blocks_are_found_until_they_are_freed),
        cmocka_unit_test(a_full_set_refuses),
        cmocka_unit_test(threads_do_not_disturb_each_other),
        cmocka_unit_test(the_peak_is_by_stack),
        cmocka_unit_test(the_peak_before_a_free),
        cmocka_unit_test(peak_matches_a_full_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
