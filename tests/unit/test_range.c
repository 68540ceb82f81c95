/* Mappings that grow in place, and the futex lock. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* After the standard headers, which it needs. */
#include <cmocka.h>

#include "mutex.h"
#include "range.h"

#define FIRST (128u << 10)
#define MOST (8u << 20)

static int new_file(uint64_t size)
{
    char path[] = "/tmp/hotpath-range-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    assert_int_equal(ftruncate(fd, (off_t)size), 0);
    return fd;
}

static void test_grows_in_place(void **state)
{
    struct hp_range range;
    const int fd = new_file(MOST);
    (void)state;
    assert_true(hp_range_map(&range, fd, FIRST, MOST, 0));
    close(fd);
    char *const base = range.base;
    strcpy(base, "first");
    for (uint64_t size = 2 * FIRST; size <= MOST; size *= 2) {
        assert_true(hp_range_grow(&range, size));
        assert_true(range.mapped >= size);
        assert_int_not_equal(hp_range_fill(&range, size / 2, size), HP_FILL_NO_SPACE);
        base[size - 1] = 'x';
    }
    assert_ptr_equal(range.base, base);
    assert_string_equal(base, "first");
    hp_range_unmap(&range);
    assert_null(range.base);
}

static void test_neighbour_is_left_alone(void **state)
{
    struct hp_range range;
    const int fd = new_file(MOST);
    (void)state;
    assert_true(hp_range_map(&range, fd, FIRST, MOST, 1));
    close(fd);
    if (range.mapped > FIRST) /* the whole address range was reserved at once, so there is none */
        skip();
    char *neighbour =
        mmap(range.base + FIRST, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    assert_ptr_equal(neighbour, range.base + FIRST);
    *neighbour = 'n';
    assert_false(hp_range_grow(&range, 2 * FIRST));
    assert_int_equal(*neighbour, 'n');
    assert_int_equal(range.mapped, FIRST);
    munmap(neighbour, 65536);
    assert_true(hp_range_grow(&range, 2 * FIRST));
    hp_range_unmap(&range);
}

static void test_two_ranges_do_not_overlap(void **state)
{
    struct hp_range ranges[2];
    const int fd = new_file(MOST);
    (void)state;
    for (uint32_t place = 0; place < 2; place++)
        assert_true(hp_range_map(&ranges[place], fd, FIRST, MOST, place));
    for (uint32_t place = 0; place < 2; place++)
        assert_true(hp_range_grow(&ranges[place], MOST));
    for (uint32_t place = 0; place < 2; place++)
        hp_range_unmap(&ranges[place]);
    close(fd);
}

static void test_empty_range_is_one_page_of_zeros(void **state)
{
    struct hp_range range;
    const int fd = new_file(MOST);
    (void)state;
    assert_true(hp_range_map(&range, fd, FIRST, MOST, 0));
    close(fd);
    memset(range.base, 'x', FIRST);
    hp_range_empty(&range);
    assert_true(range.mapped < FIRST);
    for (uint64_t at = 0; at < range.mapped; at++)
        assert_int_equal(range.base[at], 0);
    hp_range_unmap(&range);
}

static void test_anonymous_memory_is_mapped_at_once(void **state)
{
    struct hp_range range;
    (void)state;
    assert_true(hp_range_map(&range, -1, FIRST, MOST, 0));
    assert_int_equal(range.mapped, MOST);
    range.base[MOST - 1] = 'x';
    hp_range_unmap(&range);
}

/* ------------------------------------------------------------------------------------------------- the lock */

#define THREADS 4
#define ROUNDS 20000

static struct hp_mutex mutex;
static unsigned long shared;

static void *add(void *unused)
{
    for (int round = 0; round < ROUNDS; round++) {
        hp_mutex_take(&mutex);
        shared++;
        hp_mutex_give(&mutex);
    }
    return unused;
}

static void test_lock_excludes(void **state)
{
    pthread_t threads[THREADS];
    (void)state;
    for (int at = 0; at < THREADS; at++)
        assert_int_equal(pthread_create(&threads[at], NULL, add, NULL), 0);
    for (int at = 0; at < THREADS; at++)
        pthread_join(threads[at], NULL);
    assert_int_equal(shared, THREADS * ROUNDS);
    assert_int_equal(mutex.state, 0);
}

static void test_waiting_for_the_lock_is_bounded(void **state)
{
    struct hp_mutex taken = {0};
    (void)state;
    assert_true(hp_mutex_try(&taken));
    assert_false(hp_mutex_try(&taken));
    assert_false(hp_mutex_take_within(&taken, 0));
    assert_false(hp_mutex_take_within(&taken, 1000000));
    hp_mutex_give(&taken);
    assert_true(hp_mutex_take_within(&taken, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grows_in_place),
        cmocka_unit_test(test_neighbour_is_left_alone),
        cmocka_unit_test(test_two_ranges_do_not_overlap),
        cmocka_unit_test(test_empty_range_is_one_page_of_zeros),
        cmocka_unit_test(test_anonymous_memory_is_mapped_at_once),
        cmocka_unit_test(test_lock_excludes),
        cmocka_unit_test(test_waiting_for_the_lock_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
