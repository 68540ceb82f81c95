/* The package of a file, in lists like those of dpkg. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <stdio.h>

#include <cmocka.h>

#include "debug_package.h"
#include "scratch_folder.h"

static void put(const char *name, const char *text)
{
    char path[100];
    snprintf(path, sizeof path, "%s/%s", scratch_folder, name);
    FILE *file = fopen(path, "w");
    assert_true(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void assert_package(const char *path, const char *expected)
{
    char name[64] = "none";
    assert_int_equal(hp_debug_package(scratch_folder, path, name, sizeof name), strcmp(expected, "none") != 0);
    assert_string_equal(name, expected);
}

static void packages_by_files(void **state)
{
    (void)state;
    put("zlib1g:amd64.list", "/.\n/lib\n/lib/x86_64-linux-gnu/libz.so.1.2.13\n/usr/share/doc\n");
    put("libc6:amd64.list", "/.\n/usr/lib/x86_64-linux-gnu/libc.so.6\n");
    put("tool.list", "/.\n/usr/bin/tool\n/usr/bin/tool-more\n");
    put("tool.conffiles", "/usr/bin/conf\n");
    put("empty.list", "");
    assert_package("/lib/x86_64-linux-gnu/libz.so.1.2.13", "zlib1g-dbgsym");
    assert_package("/usr/lib/x86_64-linux-gnu/libz.so.1.2.13", "zlib1g-dbgsym"); /* /lib is a link */
    assert_package("/lib/x86_64-linux-gnu/libc.so.6", "libc6-dbg");
    assert_package("/usr/bin/tool", "tool-dbgsym");
    assert_package("/usr/bin/too", "none");
    assert_package("/bin/tool-more", "tool-dbgsym");
    assert_package("/usr/bin/conf", "none");
    assert_package("/usr/bin", "none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(packages_by_files)};
    return cmocka_run_group_tests(tests, make_scratch_folder, remove_scratch_folder);
}
