/*
 * System calls for threads that start and exit are made before the recorder's lock is taken, so no thread waits for
 * them. A sandbox is entered only after calls in progress have finished.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include <cmocka.h>

#include "hook_entries.h"
#include "raw_call.h"
#include "thread_context.h"

static struct {
    uint32_t thread_id; /* atomic: it has begun */
    uint32_t may_zone, has_zone, may_end;
    char name[16];
} other;

static void wait_for(const uint32_t *flag)
{
    while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) == 0)
        sched_yield();
}

static void raise_flag(uint32_t *flag) { __atomic_store_n(flag, 1, __ATOMIC_RELEASE); }

static void *live(void *unused)
{
    prctl(PR_SET_NAME, "before");
    __atomic_store_n(&other.thread_id, hp_sys_thread_id(), __ATOMIC_RELEASE);
    wait_for(&other.may_zone);
    {
        HOTPATH_BLOCK("zone");
        memcpy(other.name, hp_thread_present()->record->name, sizeof other.name);
    }
    raise_flag(&other.has_zone);
    wait_for(&other.may_end);
    return unused;
}

/* Another thread waits for our lock: it marks the lock before it waits. */
static void wait_for_waiting(void)
{
    while (__atomic_load_n(&hp_page()->lock.state, __ATOMIC_ACQUIRE) != 2)
        sched_yield();
}

static bool rename_other(const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%u/comm", other.thread_id);
    FILE *file = fopen(path, "w");
    return file != NULL && fputs(name, file) >= 0 && fclose(file) == 0;
}

/* Of this process; -1: the kernel does not tell. */
static int count_timers(void)
{
    char line[256];
    int count = 0;
    FILE *list = fopen("/proc/self/timers", "r");
    if (list == NULL)
        return -1;
    while (fgets(line, sizeof line, list) != NULL)
        count += strncmp(line, "ID:", 3) == 0;
    fclose(list);
    return count;
}

static void test_thread_start_and_exit_under_the_lock(void **state)
{
    struct hp_signals held;
    pthread_t thread;
    (void)state;
    assert_int_equal(hotpath_start(NULL), HOTPATH_OK);
    assert_int_equal(pthread_create(&thread, NULL, live, NULL), 0);
    wait_for(&other.thread_id);

    assert_true(hp_lock(&held));
    raise_flag(&other.may_zone);
    wait_for_waiting();
    const bool is_renamed = rename_other("after");
    hp_unlock(&held);
    wait_for(&other.has_zone);
    assert_true(is_renamed);
    assert_string_equal(other.name, "before");

    const int timers = count_timers();
    assert_true(hp_lock(&held));
    raise_flag(&other.may_end);
    wait_for_waiting();
    const int timers_left = count_timers();
    hp_unlock(&held);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(timers <= 0 || timers_left < timers);
    assert_int_equal(hotpath_stop(), HOTPATH_OK);
}

static struct {
    uint32_t may_zone, has_zone;
} newcomer;

static void *come(void *unused)
{
    wait_for(&newcomer.may_zone);
    {
        HOTPATH_BLOCK("zone");
    }
    raise_flag(&newcomer.has_zone);
    return unused;
}

/* A thread that waits for the lock still has to release signals, by a system call: the sandbox waits for it. */
static void test_entering_a_sandbox_waits_for_the_lock(void **state)
{
    struct hp_signals held;
    pthread_t thread;
    (void)state;
    assert_int_equal(hotpath_start(NULL), HOTPATH_OK);
    assert_int_equal(pthread_create(&thread, NULL, come, NULL), 0);
    assert_true(hp_lock(&held));
    raise_flag(&newcomer.may_zone);
    wait_for_waiting();
    hp_unlock(&held);
    hotpath_v1_confine(HOTPATH_CONFINES_CALLS_);
    assert_int_equal(__atomic_load_n(&hp_page()->callers, __ATOMIC_ACQUIRE), 0);
    assert_true(hp_is_sandboxed());
    wait_for(&newcomer.has_zone);
    hotpath_v1_confine(-HOTPATH_CONFINES_CALLS_);
    assert_false(hp_is_sandboxed());
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(hotpath_stop(), HOTPATH_OK);
}

int main(void)
{
    setenv("HOTPATH_CPU", "1", 1);
    setenv("HOTPATH_DIR", "/dev/null/none", 1); /* in memory */
    setenv("HOTPATH_OUTPUT_PATH", "/dev/null", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_thread_start_and_exit_under_the_lock),
                                       cmocka_unit_test(test_entering_a_sandbox_waits_for_the_lock)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
