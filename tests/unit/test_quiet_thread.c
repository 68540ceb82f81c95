/* Worker threads that run until told to stop. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <signal.h>
#include <time.h>

#include "clock.h"
#include "quiet_thread.h"

#define SECOND UINT64_C(1000000000)
#define LONG_MS 20000

static struct hp_quiet_thread thread;
static sigset_t held;
static unsigned rounds;

static void *work(void *unused)
{
    pthread_sigmask(SIG_BLOCK, NULL, &held);
    while (!hp_quiet_thread_is_over(&thread)) {
        hp_quiet_thread_pause(&thread, LONG_MS);
        rounds++;
    }
    return unused;
}

static unsigned open_files(void)
{
    unsigned count = 0;
    DIR *listing = opendir("/proc/self/fd");
    assert_non_null(listing);
    while (readdir(listing) != NULL)
        count++;
    closedir(listing);
    return count;
}

static void stops_at_once_and_leaks_nothing(void **state)
{
    const unsigned before = open_files();
    const uint64_t began = hp_clock_monotonic_ns();
    (void)state;
    for (unsigned time = 0; time < 3; time++) {
        rounds = 0;
        assert_true(hp_quiet_thread_start(&thread, work));
        assert_true(thread.is_begun);
        nanosleep(&(struct timespec){0, 10000000}, NULL);
        hp_quiet_thread_stop(&thread);
        assert_false(thread.is_begun);
        assert_true(rounds <= 1);
        assert_true(sigismember(&held, SIGTERM));
    }
    hp_quiet_thread_stop(&thread); /* for nothing */
    assert_true(hp_clock_monotonic_ns() - began < LONG_MS / 1000 * SECOND);
    assert_int_equal(open_files(), before);
}

static void *work_in_turns(void *unused)
{
    while (!hp_quiet_thread_is_over(&thread))
        hp_quiet_thread_pause(&thread, 1);
    return unused;
}

static void stopping_a_thread_that_never_started_is_harmless(void **state)
{
    struct hp_quiet_thread none = {.is_begun = false};
    (void)state;
    hp_quiet_thread_stop(&none);
    assert_true(hp_quiet_thread_start(&thread, work_in_turns));
    hp_quiet_thread_stop(&thread);
    assert_true(hp_quiet_thread_is_over(&thread));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stops_at_once_and_leaks_nothing),
        cmocka_unit_test(stopping_a_thread_that_never_started_is_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
