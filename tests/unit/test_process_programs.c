/* Which program a process runs, by the events of the kernel and by its mappings. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "event_queue.h"
#include "function_role.h"
#include "image_set.h"
#include "named_stacks.h"
#include "space_table.h"

#define SHELL 4194000u /* no process has these: nothing is read from /proc */
#define CHILD 4194001u

static struct hp_space_table table;
static struct hp_image_set images;

static void take(const struct hp_event *event) { hp_space_table_take(&table, &images, event); }

static void execute(uint32_t pid, const char *comm, const char *file)
{
    take(&(struct hp_event){.kind = HP_EVENT_EXECUTED, .pid = pid, .tid = pid, .path = comm});
    take(&(struct hp_event){
        .kind = HP_EVENT_MAPPED, .pid = pid, .tid = pid, .start = 0x40000, .end = 0x50000, .path = file});
    take(&(struct hp_event){
        .kind = HP_EVENT_MAPPED, .pid = pid, .tid = pid, .start = 0x7000, .end = 0x8000, .path = "/lib/ld.so"});
}

static void map_all(uint32_t pid, const char *maps)
{
    take(&(struct hp_event){.kind = HP_EVENT_MAPS, .pid = pid, .path = maps});
}

static void assert_program(uint32_t pid, const char *comm, const char *file)
{
    const struct hp_process_space *process = hp_space_table_find(&table, pid);
    assert_non_null(process);
    assert_in_range(process->program, 1, table.program_count);
    const struct hp_process_program *program = &table.programs[process->program - 1];
    assert_string_equal(program->comm, comm);
    assert_string_equal(program->file, file);
}

static int clear(void **state)
{
    (void)state;
    hp_space_table_free(&table);
    hp_image_set_free(&images);
    return 0;
}

static void a_child_runs_its_parents_program_until_it_executes_another(void **state)
{
    (void)state;
    execute(SHELL, "sh", "/usr/bin/dash");
    assert_program(SHELL, "sh", "/usr/bin/dash");
    take(&(struct hp_event){.kind = HP_EVENT_FORKED, .parent_pid = SHELL, .pid = CHILD, .tid = CHILD});
    assert_program(CHILD, "sh", "/usr/bin/dash");
    hp_space_table_find(&table, CHILD)->node = 7;
    execute(CHILD, "cc1", "/usr/lib/gcc/cc1");
    assert_int_equal(hp_space_table_find(&table, CHILD)->node, 0);
    assert_program(CHILD, "cc1", "/usr/lib/gcc/cc1");
    assert_program(SHELL, "sh", "/usr/bin/dash");
    execute(SHELL, "tail", "/usr/bin/tail");
    assert_program(SHELL, "tail", "/usr/bin/tail");
    assert_program(CHILD, "cc1", "/usr/lib/gcc/cc1");
}

/* A new process with the number of one that has ended. */
static void a_number_is_used_again(void **state)
{
    (void)state;
    execute(SHELL, "sh", "/usr/bin/dash");
    execute(CHILD, "cc1", "/usr/lib/gcc/cc1");
    hp_space_table_find(&table, CHILD)->node = 7;
    take(&(struct hp_event){.kind = HP_EVENT_FORKED, .parent_pid = SHELL, .pid = CHILD, .tid = CHILD});
    assert_program(CHILD, "sh", "/usr/bin/dash");
    assert_int_equal(hp_space_table_find(&table, CHILD)->node, 0);
}

static void mappings_tell_the_program(void **state)
{
    (void)state;
    map_all(SHELL, "400000-500000 r-xp 00000000 00:00 0 /usr/bin/dash\n"
                   "7000000-8000000 r-xp 00000000 00:00 0 /lib/libc.so.6\n");
    assert_program(SHELL, "", "/usr/bin/dash");
    hp_space_table_find(&table, SHELL)->node = 7;
    map_all(SHELL, "400000-500000 r-xp 00000000 00:00 0 /usr/bin/dash\n"
                   "6000000-7000000 r-xp 00000000 00:00 0 /lib/libm.so.6\n");
    assert_int_equal(hp_space_table_find(&table, SHELL)->node, 7);
    map_all(SHELL, "100000-200000 r-xp 00000000 00:00 0 \n"
                   "400000-500000 r-xp 00000000 00:00 0 /usr/bin/tail\n");
    assert_int_equal(hp_space_table_find(&table, SHELL)->node, 0);
    assert_program(SHELL, "", "/usr/bin/tail");
}

static void names_of_programs(void **state)
{
    (void)state;
    assert_string_equal(hp_program_name("python3", "/usr/bin/python3.11"), "python3");
    assert_string_equal(hp_program_name("as", "/usr/bin/x86_64-linux-gnu-as"), "as");
    assert_string_equal(hp_program_name("build.sh", "/usr/bin/bash"), "bash");
    assert_string_equal(hp_program_name("MainThread", "/usr/bin/node"), "node");
    assert_string_equal(hp_program_name("a-name-that-is-", "/bin/a-name-that-is-long"), "a-name-that-is-long");
    assert_string_equal(hp_program_name("sort", ""), "sort");
    assert_string_equal(hp_program_name("", "/usr/bin/sort"), "sort");
    assert_string_equal(hp_program_name("", ""), "");
    /* A file with a link beside it. */
    char folder[] = "/tmp/hotpath-unit-XXXXXX", file[64], link[64];
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/check-rdb", folder);
    snprintf(link, sizeof link, "%s/server", folder);
    FILE *made = fopen(file, "we");
    assert_true(made != NULL && fclose(made) == 0 && symlink("check-rdb", link) == 0);
    assert_string_equal(hp_program_name("server", file), "server");
    assert_string_equal(hp_program_name("worker", file), "check-rdb");
    assert_true(unlink(link) == 0 && unlink(file) == 0 && rmdir(folder) == 0);
}

/* A file is called what its processes are called, unless they are called differently. */
static void libraries_have_the_names_of_programs(void **state)
{
    (void)state;
    struct hp_named_image files[] = {
        {"/usr/bin/redis-check-rdb", "", ""}, {"/usr/bin/busybox", "", ""}, {"/lib/libc.so.6", "", ""}};
    struct hp_named_program programs[] = {{"redis-server", "/usr/bin/redis-check-rdb"},
                                          {"ls", "/usr/bin/busybox"},
                                          {"", "/usr/bin/redis-check-rdb"},
                                          {"cat", "/usr/bin/busybox"}};
    const struct hp_named_stacks stacks = {
        .images = files, .image_count = 3, .programs = programs, .program_count = 4};
    assert_string_equal(hp_library_name(&stacks, 0), "redis-server");
    assert_string_equal(hp_library_name(&stacks, 1), "busybox");
    assert_string_equal(hp_library_name(&stacks, 2), "libc.so.6");
    assert_string_equal(hp_library_name(&stacks, HP_STACK_NO_IMAGE), "");
    assert_true(hp_is_nameless("redis-check-rdb+0x64da0"));
    assert_false(hp_is_nameless("operator+") || hp_is_nameless("+0x12") || hp_is_nameless("a+0x"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_child_runs_its_parents_program_until_it_executes_another, clear),
        cmocka_unit_test_teardown(a_number_is_used_again, clear),
        cmocka_unit_test_teardown(mappings_tell_the_program, clear),
        cmocka_unit_test(names_of_programs),
        cmocka_unit_test(libraries_have_the_names_of_programs),
    };
    return cmocka_run_group_tests_name("process_programs", tests, NULL, NULL);
}
