/* Names of generated code: lines of perf maps, and which files are read. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "perf_map.h"
#include "process.h"
#include "scratch_folder.h"

/* ------------------------------------------------------------------------------------------------ lines */

#define MOST 8u

static struct hp_generated_code codes[MOST];
static size_t count;

static void wanted(size_t number, const uint64_t *addresses)
{
    memset(codes, 0, sizeof codes);
    count = number;
    for (size_t at = 0; at < number; at++)
        codes[at].address = addresses[at];
}

#define WANTED(...)                                                                                                \
    wanted(sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), (const uint64_t[]){__VA_ARGS__})

static void find(const char *text) { assert_true(hp_perf_map_find(text, strlen(text), codes, count)); }

static void assert_name(size_t at, const char *name)
{
    if (name == NULL) {
        assert_null(codes[at].name);
        return;
    }
    assert_non_null(codes[at].name);
    assert_int_equal(codes[at].length, strlen(name));
    assert_memory_equal(codes[at].name, name, strlen(name));
}

static void lines_have_ranges_and_names_with_blanks(void **state)
{
    (void)state;
    WANTED(0xfff, 0x1000, 0x10ff, 0x1100, 0x2000, 0x2003);
    find("1000 100 JS:*parse a.js:1:2\n0x2000 0x3 stub\n");
    assert_name(0, NULL);
    assert_name(1, "JS:*parse a.js:1:2");
    assert_name(2, "JS:*parse a.js:1:2");
    assert_name(3, NULL);
    assert_name(4, "stub");
    assert_name(5, NULL);
}

static void later_lines_win(void **state)
{
    (void)state;
    WANTED(0x1000, 0x1010, 0x1020, 0x1030);
    find("1000 40 whole\n1010 10 inner\n1000 20 again\n1028 20 behind\n");
    assert_name(0, "again");
    assert_name(1, "again");
    assert_name(2, "whole");
    assert_name(3, "behind");
}

static void what_is_no_line_is_left_out(void **state)
{
    (void)state;
    WANTED(0x10, 0x20, 0x30, 0x40, 0x50);
    find("\n\nxyz 10 a\n10\n10 \n10 10\n10 10 \n20 0 empty\n30 zz bad\n11111111111111110 10 long\n"
         "fffffffffffffff0 20 beyond\n-40 10 minus\n40 8 good\n50 8 half a li");
    assert_name(0, NULL);
    assert_name(1, NULL);
    assert_name(2, NULL);
    assert_name(3, "good");
    assert_name(4, NULL);
    find("");
    wanted(0, NULL);
    find("1 1 a\n");
}

static void many_lines_over_many_places_take_no_time(void **state)
{
    (void)state;
    enum { PLACES = 20000, LINES = 200000 };
    struct hp_generated_code *all = calloc(PLACES, sizeof *all);
    static const char line[] = "0 ffffffff x\n";
    char *text = malloc(LINES * (sizeof line - 1));
    assert_true(all != NULL && text != NULL);
    for (size_t at = 0; at < PLACES; at++)
        all[at].address = at;
    for (size_t at = 0; at < LINES; at++)
        memcpy(text + at * (sizeof line - 1), line, sizeof line - 1);
    assert_true(hp_perf_map_find(text, LINES * (sizeof line - 1), all, PLACES));
    assert_int_equal(all[PLACES - 1].length, 1);
    free(all);
    free(text);
}

/* ------------------------------------------------------------------------------------------------ files */

#define PID 70u
#define PID_THERE 3u

static struct hp_perf_maps maps;
static char there[PATH_MAX];

static const char *at_root(const char *path)
{
    static char whole[PATH_MAX];
    snprintf(whole, sizeof whole, "%s/%u/%s", scratch_folder, PID, path);
    return whole;
}

static void put(const char *path, const char *how, const char *text)
{
    FILE *file = fopen(path, how);
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Ticks of the kernel since it began, a second before now. */
static unsigned long long begun(void)
{
    struct timespec now;
    assert_int_equal(clock_gettime(CLOCK_BOOTTIME, &now), 0);
    return (unsigned long long)now.tv_sec * (unsigned long long)sysconf(_SC_CLK_TCK);
}

/* A process, which has its own numbers of processes, and its own root. */
static int begin(void **state)
{
    char text[400];
    (void)state;
    memset(&maps, 0, sizeof maps);
    hp_task_root = scratch_folder;
    snprintf(there, sizeof there, "rm -rf %s/%u && mkdir -p %s/%u/root/tmp", scratch_folder, PID, scratch_folder,
             PID);
    if (system(there) != 0) /* NOLINT(cert-env33-c): the words are our own */
        return 1;
    snprintf(text, sizeof text, "Name:\ta\nUid:\t%u\t%u\t%u\t%u\nNStgid:\t%u\t%u\nNSpid:\t%u\t%u\nNSpgid:\t1\n",
             (unsigned)geteuid(), (unsigned)geteuid(), (unsigned)geteuid(), (unsigned)geteuid(), PID, PID_THERE,
             PID, PID_THERE);
    put(at_root("status"), "w", text);
    snprintf(text, sizeof text, "%u (a) R 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %llu 0 0\n", PID, begun());
    put(at_root("stat"), "w", text);
    snprintf(there, sizeof there, "%s", at_root("root/tmp/perf-3.map"));
    return 0;
}

static int end(void **state)
{
    (void)state;
    hp_perf_maps_free(&maps);
    hp_task_root = "/proc";
    return 0;
}

static void assert_text(const char *text)
{
    assert_int_equal(maps.count, 1);
    assert_int_equal(maps.all[0].bytes, strlen(text));
    if (text[0] != '\0')
        assert_memory_equal(maps.all[0].text, text, strlen(text));
}

static void only_what_was_added_is_read(void **state)
{
    (void)state;
    hp_perf_maps_expect(&maps, PID, 0);
    hp_perf_maps_expect(&maps, PID, 0);
    hp_perf_maps_read(&maps);
    assert_text("");
    put(there, "w", "1 1 a\n2 1 ");
    hp_perf_maps_read(&maps);
    put(there, "a", "b\n");
    hp_perf_maps_read(&maps);
    hp_perf_maps_read(&maps);
    assert_text("1 1 a\n2 1 b\n");
}

static void a_map_that_is_written_anew_counts_after_the_old_one(void **state)
{
    (void)state;
    put(there, "w", "1 1 old\n2 1 older\n");
    hp_perf_maps_expect(&maps, PID, 0);
    hp_perf_maps_read(&maps);
    put(there, "w", "1 1 new\n");
    hp_perf_maps_read(&maps);
    assert_text("1 1 old\n2 1 older\n1 1 new\n");
    assert_int_equal(unlink(there), 0);
    put(there, "w", "1 1 another file\n2 2 of more bytes\n");
    hp_perf_maps_read(&maps);
    assert_text("1 1 old\n2 1 older\n1 1 new\n1 1 another file\n2 2 of more bytes\n");
}

static void the_end_of_a_process_is_read_when_it_is_gone(void **state)
{
    (void)state;
    char away[PATH_MAX];
    hp_perf_maps_expect(&maps, PID, 0);
    put(there, "w", "1 1 a\n");
    snprintf(away, sizeof away, "%s", at_root("away"));
    char from[PATH_MAX];
    snprintf(from, sizeof from, "%s", at_root("root"));
    assert_int_equal(unlink(at_root("stat")), 0);
    assert_int_equal(rename(from, away), 0);
    hp_perf_maps_end(&maps, PID);
    assert_text("1 1 a\n");
    hp_perf_maps_read(&maps);
    assert_text("1 1 a\n");
    hp_perf_maps_expect(&maps, PID, 0); /* the pid has another program now */
    assert_int_equal(maps.count, 2);
}

static void links_lead_nowhere(void **state)
{
    (void)state;
    char elsewhere[PATH_MAX], folder[PATH_MAX];
    snprintf(elsewhere, sizeof elsewhere, "%s", at_root("elsewhere"));
    put(elsewhere, "w", "1 1 secret\n");
    assert_int_equal(symlink(elsewhere, there), 0);
    hp_perf_maps_expect(&maps, PID, 0);
    hp_perf_maps_read(&maps);
    assert_text("");
    assert_int_equal(unlink(there), 0);
    snprintf(folder, sizeof folder, "%s", at_root("root/tmp"));
    assert_int_equal(rename(folder, at_root("folder")), 0);
    assert_int_equal(symlink(at_root("folder"), folder), 0);
    put(there, "w", "1 1 secret\n");
    hp_perf_maps_free(&maps);
    hp_perf_maps_expect(&maps, PID, 0);
    hp_perf_maps_read(&maps);
    assert_text("");
}

static void pipes_do_not_block(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(there, 0600), 0);
    hp_perf_maps_expect(&maps, PID, 0);
    hp_perf_maps_read(&maps);
    assert_text("");
}

static void maps_of_others_and_of_earlier_processes_are_not_read(void **state)
{
    (void)state;
    const struct timespec old[2] = {{.tv_sec = time(NULL) - 3600}, {.tv_sec = time(NULL) - 3600}};
    put(there, "w", "1 1 a\n");
    hp_perf_maps_expect(&maps, PID, 0);
    assert_int_equal(utimensat(AT_FDCWD, there, old, 0), 0);
    hp_perf_maps_read(&maps);
    assert_text("");
    assert_int_equal(utimensat(AT_FDCWD, there, NULL, 0), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(there, 1234, 1234), 0);
        hp_perf_maps_read(&maps);
        assert_text("");
        assert_int_equal(chown(there, 0, 0), 0);
    }
    hp_perf_maps_read(&maps);
    assert_text("1 1 a\n");
}

static void no_more_than_the_limit_is_read(void **state)
{
    (void)state;
    put(there, "w", "1 1 a\n");
    assert_int_equal(truncate(there, (off_t)HP_PERF_MAP_MOST_BYTES + (1 << 20)), 0);
    hp_perf_maps_expect(&maps, PID, 0);
    hp_perf_maps_read(&maps);
    hp_perf_maps_read(&maps);
    assert_int_equal(maps.all[0].bytes, HP_PERF_MAP_MOST_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_have_ranges_and_names_with_blanks),
        cmocka_unit_test(later_lines_win),
        cmocka_unit_test(what_is_no_line_is_left_out),
        cmocka_unit_test(many_lines_over_many_places_take_no_time),
        cmocka_unit_test_setup_teardown(only_what_was_added_is_read, begin, end),
        cmocka_unit_test_setup_teardown(a_map_that_is_written_anew_counts_after_the_old_one, begin, end),
        cmocka_unit_test_setup_teardown(the_end_of_a_process_is_read_when_it_is_gone, begin, end),
        cmocka_unit_test_setup_teardown(links_lead_nowhere, begin, end),
        cmocka_unit_test_setup_teardown(pipes_do_not_block, begin, end),
        cmocka_unit_test_setup_teardown(maps_of_others_and_of_earlier_processes_are_not_read, begin, end),
        cmocka_unit_test_setup_teardown(no_more_than_the_limit_is_read, begin, end),
    };
    return cmocka_run_group_tests(tests, make_scratch_folder, remove_scratch_folder);
}
