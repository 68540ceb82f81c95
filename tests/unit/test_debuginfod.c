/* Debug file servers that do not answer. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "debug_file.h"
#include "scratch_folder.h"

#define MINUTE UINT64_C(60000000000)
#define FASTER 200u /* so that minutes are less than a second */

uint64_t __real_hp_clock_monotonic_ns(void);
uint64_t __wrap_hp_clock_monotonic_ns(void);
uint64_t __wrap_hp_clock_monotonic_ns(void) { return FASTER * __real_hp_clock_monotonic_ns(); }

/* Stands for debuginfod-find, and notes that it was asked. */
static void make_finder(void)
{
    char path[200], variable[2000];
    snprintf(path, sizeof path, "%s/debuginfod-find", scratch_folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\necho x >> %s/asked\nexec sleep 60\n", scratch_folder);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0700), 0);
    snprintf(variable, sizeof variable, "%s:%s", scratch_folder, getenv("PATH"));
    setenv("PATH", variable, 1);
}

static long times_asked(void)
{
    char path[200];
    struct stat status;
    snprintf(path, sizeof path, "%s/asked", scratch_folder);
    return stat(path, &status) == 0 ? (long)status.st_size / 2 : 0;
}

static void servers_that_do_not_answer_cost_at_most_two_minutes(void **state)
{
    struct hp_image_file file = {.build_id = {.size = 20}}, debug;
    (void)state;
    make_finder();
    assert_false(hp_debuginfod_open(&file, &debug));
    assert_int_equal(times_asked(), 0); /* not allowed yet */
    hp_debuginfod_allow();
    const uint64_t before = hp_clock_monotonic_ns();
    assert_false(hp_debuginfod_open(&file, &debug));
    assert_true(hp_clock_monotonic_ns() - before >= 2 * MINUTE);
    assert_true(__real_hp_clock_monotonic_ns() - before / FASTER < MINUTE / 2);
    assert_int_equal(times_asked(), 1);
    assert_false(hp_debuginfod_open(&file, &debug));
    assert_int_equal(times_asked(), 1); /* the time is used up */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(servers_that_do_not_answer_cost_at_most_two_minutes),
    };
    return cmocka_run_group_tests(tests, make_scratch_folder, remove_scratch_folder);
}
