/* Files beside a session, which hooks make when the first of them is called. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <hotpath.h>
#include <unistd.h>

#include "preload.h"
#include "runtime.h"
#include "side_file.h"

bool hp_preload_has_valgrind(void) { return false; }

static bool leave_empty(struct hp_side_file *file)
{
    (void)file;
    return true;
}

static struct hp_side_kind kind = {
    .suffix = ".beside", .magic = "besides", .version = 1, .bytes = 1 << 20, .fill = leave_empty};

static char folder[] = "/tmp/hotpath-beside-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL || setenv("HOTPATH_DIR", folder, 1) != 0;
}

static int remove_folder(void **state)
{
    (void)state;
    char path[sizeof folder + 300];
    DIR *all = opendir(folder);
    for (const struct dirent *entry; (entry = readdir(all)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        unlink(path);
    }
    closedir(all);
    return rmdir(folder);
}

static bool is_made(void)
{
    static struct hp_side_file file;
    memset(&file, 0, sizeof file);
    return hp_side_begin(&file, &kind);
}

static void there_is_one_while_a_session_runs(void **state)
{
    (void)state;
    assert_false(is_made());
    assert_int_equal(hotpath_start(NULL), HOTPATH_OK);
    assert_true(is_made());
    hotpath_stop();
}

/* They have times, and waiting takes no instructions. */
static void there_is_none_while_instructions_are_counted(void **state)
{
    (void)state;
    assert_int_equal(hotpath_start(NULL), HOTPATH_OK);
    const enum hp_counter counter = hp_runtime->counter;
    hp_runtime->counter = HP_COUNTER_INSTRUCTIONS;
    assert_false(is_made());
    hp_runtime->counter = counter;
    assert_true(is_made());
    hotpath_stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_is_one_while_a_session_runs),
        cmocka_unit_test(there_is_none_while_instructions_are_counted),
    };
    setenv("HOTPATH_OUTPUT_PATH", "/dev/null", 1);
    return cmocka_run_group_tests_name("side_file", tests, make_folder, remove_folder);
}
