/*
 * What a futex is used for, by the memory contents of glibc 2.36 and musl 1.2.3 while a thread waited.
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "layout.h"
#include "wait_cause.h"

#define FIRST 22003u /* threads of the process: this and the next 99 */
#define STACK UINT64_C(0x7f6a729d2da8)
#define EVEN UINT64_C(0x559762384620) /* addresses: at the beginning of eight bytes, or in the middle */
#define ODD UINT64_C(0x559762384624)
#define OWN (STACK + 172) /* a variable of the thread that waits */

static bool is_thread(const void *context, uint32_t tid)
{
    assert_string_equal(context, "process");
    assert_int_not_equal(tid, 0);
    return tid >= FIRST && tid < FIRST + 100;
}

struct seen {
    const char *what;
    uint32_t operation, value;
    uint64_t address;
    uint32_t words[11]; /* the seventh is the futex */
    uint32_t cause, tid;
};

static const struct seen glibc[] = {
    {"mutex", 0x80, 2, EVEN, {0, 0, 0, 0, 0, 0, 2, 0, FIRST, 1, 0}, HP_WAIT_LOCK, FIRST},
    {"mutex, timed", 0x189, 2, EVEN, {0, 0, 0, 0, 0, 0, 2, 0, FIRST, 1, 0}, HP_WAIT_LOCK, FIRST},
    {"recursive", 0x80, 2, EVEN, {0, 0, 0, 0, 0, 0, 2, 1, FIRST, 1, 1}, HP_WAIT_LOCK, FIRST},
    {"robust",
     0,
     0x80000000 | FIRST,
     EVEN,
     {0, 0, 0, 0, 0, 0, 0x80000000 | FIRST, 1, FIRST, 1, 0x90},
     HP_WAIT_LOCK,
     FIRST},
    {"inheriting", 0x86, 0, EVEN, {0, 0, 0, 0, 0, 0, 0x80000000 | FIRST, 1, FIRST, 1, 0x20}, HP_WAIT_LOCK, FIRST},
    {"inheriting, by another clock",
     0x8d,
     0,
     EVEN,
     {0, 0, 0, 0, 0, 0, FIRST, 1, FIRST, 1, 0x20},
     HP_WAIT_LOCK,
     FIRST},
    {"mutex on the stack", 0x80, 2, OWN, {0, 0, 0, 0, 0, 0, 2, 0, FIRST, 1, 0}, HP_WAIT_LOCK, FIRST},
    {"mutex after what looks like arrivals",
     0x80,
     2,
     EVEN,
     {0, 0, 0, 0, 0, 3, 2, 1, FIRST, 1, 1},
     HP_WAIT_LOCK,
     FIRST},
    {"lock of stdio", 0x80, 2, EVEN, {0, 0, 0, 0, 0, 0, 2, 1, 0x189fd740, 0x7f86, 0}, HP_WAIT_LOCK, 0},
    {"condition", 0x189, 0, EVEN, {2, 0, 0, 0, 0, 0x18, 0, 0, 0, 0, 0}, HP_WAIT_CONDITION, 0},
    {"condition, other group", 0x189, 0, ODD, {2, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0}, HP_WAIT_CONDITION, 0},
    {"condition with a signal under way", 0x189, 0, EVEN, {2, 0, 0, 0, 0, 8, 0, 2, 0, 0, 0}, HP_WAIT_CONDITION, 0},
    {"condition since 2.41", 0x189, 6, EVEN, {0, 0, 0, 0, 0, 8, 6, 3, 0, 0, 0}, HP_WAIT_CONDITION, 0},
    {"condition, inheriting", 0x8b, 0, EVEN, {0}, HP_WAIT_CONDITION, 0},
    {"semaphore", 0x189, 0, EVEN, {0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0}, HP_WAIT_SEMAPHORE, 0},
    {"semaphore after numbers", 0x189, 0, EVEN, {9, 9, 9, 9, 9, 17, 0, 1, 0, 0, 0}, HP_WAIT_SEMAPHORE, 0},
    {"semaphore of processes", 0x109, 0, EVEN, {0, 0, 0, 0, 0, 0, 0, 1, 0x80, 0, 0}, HP_WAIT_SEMAPHORE, 0},
    {"barrier", 0x80, 0, ODD, {0, 0, 0, 0, 0, 1, 0, 5, 0, 0, 0}, HP_WAIT_BARRIER, 0},
    {"barrier of two, second round", 0x80, 2, ODD, {0, 0, 0, 0, 0, 3, 2, 2, 0, 0, 0}, HP_WAIT_BARRIER, 0},
    {"barrier that has turned over",
     0x80,
     UINT32_MAX >> 1,
     ODD,
     {0, 0, 0, 0, 0, 1u << 31, 0, 5, 0, 0, 0},
     HP_WAIT_BARRIER,
     0},
    {"to read", 0x189, 3, EVEN, {0, 0, 0, 0, 0xb, 0, 3, 3, 0, 0, FIRST}, HP_WAIT_LOCK, FIRST},
    {"to write", 0x189, 3, ODD, {0, 0, 0, 0xb, 0, 3, 3, 0, 0, FIRST, 0}, HP_WAIT_LOCK, FIRST},
    {"to write, after readers", 0x189, 2, EVEN, {0, 0, 0, 0, 0xb, 1, 2, 1, 0, 0, 0}, HP_WAIT_LOCK, 0},
    {"end of a thread",
     0x109,
     FIRST + 1,
     EVEN,
     {0x18c2a0c8, 0x7f86, 0x181fb980, 0x7f86, 0, 0, FIRST + 1},
     HP_WAIT_THREAD,
     FIRST + 1},
    {"end of a thread before 2.34", 0, FIRST + 1, EVEN, {0}, HP_WAIT_THREAD, FIRST + 1},
};

static const struct seen musl[] = {
    {"mutex", 0x80, 0x80000010, ODD, {0, 0, 0, 0, 0, 0, 0x80000010, 2, 0, 0, 0}, HP_WAIT_LOCK, 0},
    {"recursive",
     0x80,
     0x80000000 | FIRST,
     ODD,
     {0, 0, 0, 0, 0, 1, 0x80000000 | FIRST, 1, 0, 0, 0},
     HP_WAIT_LOCK,
     FIRST},
    {"condition", 0x80, 2, OWN, {0, 0, 0x7fe7, 0, 0, 0, 2, 0, 0, 0, 0}, HP_WAIT_CONDITION, 0},
    {"condition, second", 0x80, 2, OWN, {0, 0, 0x7f6a, 0x729d2e40, 0x7f6a, 0, 2, 0, 0, 0, 0}, HP_WAIT_CONDITION, 0},
    {"semaphore", 0x80, UINT32_MAX, EVEN, {0, 0, 0, 0, 0, 0, UINT32_MAX, 2, 0x80, 0, 0}, HP_WAIT_SEMAPHORE, 0},
    {"semaphore of processes",
     0,
     UINT32_MAX,
     EVEN,
     {0, 0, 0, 0, 0, 0, UINT32_MAX, 2, 0, 0, 0},
     HP_WAIT_SEMAPHORE,
     0},
    {"semaphore since 1.2.4",
     0x80,
     0x80000000,
     EVEN,
     {0, 0, 0, 0, 0, 0, 0x80000000, 2, 0x80, 0, 0},
     HP_WAIT_SEMAPHORE,
     0},
    {"to read or write", 0x80, UINT32_MAX, EVEN, {0, 0, 0, 0, 0, 0, UINT32_MAX, 2, 0, 0, 0}, HP_WAIT_LOCK, 0},
    {"barrier, first", 0x80, 1, OWN, {0, 0, 0, 0, 0, 0, 1, 0x72923e90, 0x7f6a, 0, 0}, HP_WAIT_BARRIER, 0},
    {"barrier, others", 0x80, 0, ODD, {0, 0, 0, 0, 0, 3, 0, 2, 1, 0, 0}, HP_WAIT_BARRIER, 0},
    {"end of a thread",
     0x80,
     2,
     EVEN,
     {0, 0, 0x5a8600fb, 0xa03a13ca, FIRST + 1, 0, 2, 0, 0, 0, 0},
     HP_WAIT_THREAD,
     FIRST + 1},
    {"lock of stdio", 0x80, 0x40000000 | FIRST, ODD, {0, 0, 0, 1, 0, 0, 0x40000000 | FIRST}, HP_WAIT_LOCK, FIRST},
};

/* Other libraries, which use the system call in their own ways. */
static const struct seen others[] = {
    {"nothing known", 0x80, 7, EVEN, {0}, HP_WAIT_FUTEX, 0},
    {"until it is no longer 0", 0x80, 0, EVEN, {0}, HP_WAIT_FUTEX, 0},
    {"until it is no longer 0, bitset", 0x189, 0, EVEN, {0}, HP_WAIT_FUTEX, 0},
    {"parked", 0x89, UINT32_MAX, EVEN, {0}, HP_WAIT_FUTEX, 0},
    {"a lock by three states", 0x89, 2, EVEN, {0}, HP_WAIT_LOCK, 0},
    {"another operation", 0x8c, 0, EVEN, {0}, HP_WAIT_FUTEX, 0},
    {"a number that is no thread", 0x109, 77, EVEN, {0}, HP_WAIT_FUTEX, 0},
};

static struct hp_futex futex_of(const struct seen *seen)
{
    struct hp_futex futex = {.operation = seen->operation,
                             .value = seen->value,
                             .address = seen->address,
                             .stack = STACK,
                             .has_words = true,
                             .is_thread = is_thread,
                             .context = "process"};
    memcpy(futex.words, seen->words, sizeof futex.words);
    return futex;
}

static void check(const struct seen *all, size_t count)
{
    for (size_t at = 0; at < count; at++) {
        const struct hp_futex futex = futex_of(&all[at]);
        uint32_t tid = 1;
        const uint32_t cause = hp_futex_cause(&futex, &tid);
        if (cause != all[at].cause || tid != all[at].tid)
            fail_msg("%s: cause %u, thread %u", all[at].what, cause, tid);
    }
}

static void futexes_of_glibc(void **state)
{
    (void)state;
    check(glibc, sizeof glibc / sizeof glibc[0]);
}

static void futexes_of_musl(void **state)
{
    (void)state;
    check(musl, sizeof musl / sizeof musl[0]);
}

static void futexes_of_other_libraries(void **state)
{
    (void)state;
    check(others, sizeof others / sizeof others[0]);
}

/* Where memory cannot be read, nothing is claimed that only memory tells. */
static void futexes_that_cannot_be_read(void **state)
{
    (void)state;
    for (size_t at = 0; at < sizeof glibc / sizeof glibc[0]; at++) {
        struct hp_futex futex = futex_of(&glibc[at]);
        uint32_t tid;
        futex.has_words = false;
        memset(futex.words, 0xff, sizeof futex.words);
        const uint32_t cause = hp_futex_cause(&futex, &tid);
        assert_true(cause == glibc[at].cause || cause == HP_WAIT_FUTEX ||
                    (glibc[at].value == 2 && cause == HP_WAIT_LOCK));
        assert_true(tid == 0 || tid == glibc[at].tid);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(futexes_of_glibc),
        cmocka_unit_test(futexes_of_musl),
        cmocka_unit_test(futexes_of_other_libraries),
        cmocka_unit_test(futexes_that_cannot_be_read),
    };
    return cmocka_run_group_tests_name("futex", tests, NULL, NULL);
}
