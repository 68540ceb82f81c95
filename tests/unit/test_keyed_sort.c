/* Sorting key-value pairs. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sort.h"

#define MOST 3000u

static struct hp_keyed items[MOST], room[MOST];

/* `value` is where each was. */
static void assert_sorted(size_t count)
{
    for (size_t at = 1; at < count; at++)
        assert_true(items[at - 1].key < items[at].key ||
                    (items[at - 1].key == items[at].key && items[at - 1].value < items[at].value));
}

static void sort_numbers(size_t count, uint64_t mask)
{
    uint64_t random = count + 1, sum = 0, sorted_sum = 0;
    for (size_t at = 0; at < count; at++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        items[at] = (struct hp_keyed){random & mask, at};
        sum += (random & mask) * (at + 1);
    }
    hp_keyed_sort(items, room, count);
    for (size_t at = 0; at < count; at++)
        sorted_sum += items[at].key * (items[at].value + 1);
    assert_true(sum == sorted_sum);
    assert_sorted(count);
}

static void numbers_of_any_size(void **state)
{
    (void)state;
    static const uint64_t masks[] = {0,        1,          0xff,       0xff00,          0xffff,
                                     0xffffff, 0xff00ff00, UINT64_MAX, UINT64_MAX << 56};
    for (size_t mask = 0; mask < sizeof masks / sizeof masks[0]; mask++)
        for (size_t count = 0; count <= MOST; count = count * 3 + 1)
            sort_numbers(count, masks[mask]);
}

static void numbers_in_order_and_from_behind(void **state)
{
    (void)state;
    for (size_t at = 0; at < MOST; at++)
        items[at] = (struct hp_keyed){at / 2, at};
    hp_keyed_sort(items, room, MOST);
    assert_sorted(MOST);
    for (size_t at = 0; at < MOST; at++)
        items[at] = (struct hp_keyed){MOST - at / 2, at};
    hp_keyed_sort(items, room, MOST);
    assert_sorted(MOST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_any_size),
        cmocka_unit_test(numbers_in_order_and_from_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
