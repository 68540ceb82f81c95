/* Lines of /proc/PID/maps: the map of this process, compared with sscanf, and lines that are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* After the standard headers, which it needs. */
#include <cmocka.h>

#include "process.h"

static void the_map_of_this_process(void **state)
{
    (void)state;
    char text[5000], path[4096], expected_path[4096];
    size_t count = 0;
    FILE *file = fopen("/proc/self/maps", "re");
    assert_non_null(file);
    for (; fgets(text, sizeof text, file) != NULL; count++) {
        unsigned long long start, end, offset, inode;
        char rights[5];
        struct hp_map_line line;
        expected_path[0] = '\0';
        assert_true(sscanf(text, "%llx-%llx %4s %llx %*x:%*x %llu %4095[^\n]", &start, &end, rights, &offset,
                           &inode, expected_path) >= 5);
        assert_true(hp_map_line_read(text, &line, path, sizeof path));
        assert_int_equal(line.start, start);
        assert_int_equal(line.end, end);
        assert_int_equal(line.is_code, rights[2] == 'x');
        assert_int_equal(line.offset, offset);
        assert_int_equal(line.inode, inode);
        assert_string_equal(path, expected_path);
    }
    fclose(file);
    assert_true(count > 5);
}

static const char usual[] = "7f00-7f10 r-xp 00001000 fe:01 1234567  /a b\\012c (deleted)\n8000-9000 rw-p";

static void blanks_and_newlines_in_paths(void **state)
{
    (void)state;
    struct hp_map_line line;
    char path[64];
    assert_true(hp_map_line_read(usual, &line, path, sizeof path));
    assert_string_equal(path, "/a b\nc (deleted)");
    assert_true(line.start == 0x7f00 && line.end == 0x7f10 && line.offset == 0x1000 && line.inode == 1234567);
    assert_true(line.is_code);
}

static void paths_that_are_too_long(void **state)
{
    (void)state;
    struct hp_map_line line;
    char path[sizeof "/a b\\012c (deleted)"];
    assert_true(hp_map_line_read(usual, &line, path, sizeof path));
    assert_false(hp_map_line_read(usual, &line, path, sizeof path - 1));
}

static void no_path(void **state)
{
    (void)state;
    struct hp_map_line line;
    char path[8];
    assert_true(hp_map_line_read("1-2 rw-p 0 0:0 5", &line, path, sizeof path));
    assert_true(line.inode == 5 && path[0] == '\0' && !line.is_code);
}

/* Every line that ends before the inode, and some with wrong characters. */
static void lines_that_are_none(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "-",
                                        "x-y",
                                        "1 2 r-xp 0 0:0 0 /a",
                                        "1-2 r-x\np 0 0:0 0 /a",
                                        "1-2 r-xp 0 0 0 0 /a",
                                        "1-2 r-xp 0 0:0 x /a",
                                        "-1-2 r-xp 0 0:0 0 /a"};
    struct hp_map_line line;
    char text[sizeof usual], path[64];
    for (size_t length = 0; length < strcspn(usual, "6") - 5; length++) {
        memcpy(text, usual, length);
        text[length] = '\0';
        assert_false(hp_map_line_read(text, &line, path, sizeof path));
    }
    for (size_t at = 0; at < sizeof wrong / sizeof wrong[0]; at++)
        assert_false(hp_map_line_read(wrong[at], &line, path, sizeof path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_map_of_this_process), cmocka_unit_test(blanks_and_newlines_in_paths),
        cmocka_unit_test(paths_that_are_too_long), cmocka_unit_test(no_path),
        cmocka_unit_test(lines_that_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
