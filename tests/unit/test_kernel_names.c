/* Functions of the kernel, from files like /proc/kallsyms, and stacks with them. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#include <stdio.h>

#include <cmocka.h>

#include "collector.h"
#include "fileless_code.h"
#include "kernel_names.h"
#include "name_stacks.h"
#include "program_stacks.h"
#include "scratch_folder.h"

static struct hp_kernel_names names;

static bool read_names(const char *text)
{
    char path[100];
    snprintf(path, sizeof path, "%s/symbols", scratch_folder);
    FILE *file = fopen(path, "w");
    assert_true(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
    hp_kernel_names_free(&names);
    return hp_kernel_names_read(&names, path);
}

static const char *name_at(uint64_t address)
{
    return hp_kernel_name(&names, hp_kernel_names_find(&names, address));
}

static const char symbols[] = "ffff000000001000 T _stext\n"
                              "ffff000000001000 T first\n"
                              "ffff000000001000 t __first\n"
                              "ffff000000001800 D data_between\n"
                              "ffff000000003000 t in_module\t[some_module]\n"
                              "ffff000000002000 W asm_exc_page_fault\n"
                              "ffff000000002040 T entry_SYSCALL_64_after_hwframe\n"
                              "ffff000000002080 t asm_sysvec_apic_timer_interrupt\n"
                              "not a line\n";

static void addresses_have_the_function_before(void **state)
{
    (void)state;
    assert_true(read_names(symbols));
    assert_string_equal(name_at(0xffff000000000fff), "");
    assert_string_equal(name_at(0xffff000000001000), "first");
    assert_string_equal(name_at(0xffff000000001fff), "first");
    assert_string_equal(name_at(0xffff000000002000), "asm_exc_page_fault");
    assert_string_equal(name_at(0xffff000000003010), "in_module");
    assert_string_equal(name_at(0xffff000000f03010), "");
    hp_kernel_names_free(&names);
}

static void hidden_addresses_are_no_names(void **state)
{
    (void)state;
    assert_false(read_names("0000000000000000 T first\n0000000000000000 t second\n"));
    assert_false(read_names(""));
    assert_false(hp_kernel_names_read(&names, "/nowhere"));
}

static void entries_say_why(void **state)
{
    (void)state;
    assert_int_equal(hp_kernel_entry_of("entry_SYSCALL_64_after_hwframe"), HP_ENTRY_CALL);
    assert_int_equal(hp_kernel_entry_of("el0_svc"), HP_ENTRY_CALL);
    assert_int_equal(hp_kernel_entry_of("asm_exc_page_fault"), HP_ENTRY_FAULT);
    assert_int_equal(hp_kernel_entry_of("asm_sysvec_apic_timer_interrupt"), HP_ENTRY_INTERRUPT);
    assert_int_equal(hp_kernel_entry_of("vfs_read"), HP_ENTRY_UNKNOWN);
}

/* ------------------------------------------------------------------------------------------------ stacks */

static struct hp_stacks stacks;
static struct hp_program_stacks program_stacks;
#define program program_stacks.stacks
static struct hp_named_stacks named;

static uint32_t below(uint32_t parent, uint32_t image, uint64_t place)
{
    return hp_stack_tree_below(&stacks.tree, parent, image, place);
}

static void weigh(uint32_t node, uint64_t ms) { stacks.tree.nodes[node].weight[HP_STACK_KERNEL_NS] = ms * 1000000; }

/* A function that takes a page fault (50 ms), is interrupted (20), and calls read (30); each in `first`. */
static void make_stacks(void)
{
    memset(&stacks, 0, sizeof stacks);
    const uint32_t process = below(HP_STACK_ROOT, HP_STACK_PROCESS, 7),
                   user = below(process, HP_STACK_NO_IMAGE, 0x50);
    const uint32_t other = below(user, HP_STACK_KERNEL, HP_KERNEL_NO_CALL),
                   call = below(user, HP_STACK_KERNEL, SYS_read + 1);
    const uint64_t at[] = {0xffff000000002010, 0xffff000000002090, 0xffff000000002050};
    const uint64_t first = 0xffff000000001230;
    weigh(below(below(other, HP_STACK_KERNEL_CODE, at[0]), HP_STACK_KERNEL_CODE, first), 50);
    weigh(below(below(other, HP_STACK_KERNEL_CODE, at[1]), HP_STACK_KERNEL_CODE, first), 20);
    weigh(below(below(call, HP_STACK_KERNEL_CODE, at[2]), HP_STACK_KERNEL_CODE, first), 30);
}

static void free_stacks(void)
{
    hp_program_stacks_free(&program_stacks);
    hp_stack_tree_free(&stacks.tree);
    hp_kernel_names_free(&names);
}

/* The node with this weight: its places up to the code in user mode. */
static void assert_places(uint64_t ms, const uint64_t *places, size_t count)
{
    for (uint32_t at = 1; at < program.tree.count; at++) {
        const struct hp_stack_node *node = &program.tree.nodes[at];
        if (node->weight[HP_STACK_KERNEL_NS] != ms * 1000000)
            continue;
        for (size_t place = 0; place < count; place++) {
            assert_int_equal(node->place, places[place]);
            node = &program.tree.nodes[node->parent];
        }
        assert_int_equal(node->place, 0x50);
        return;
    }
    fail_msg("no stack has %d ms", (int)ms);
}

#define PLACES(ms, ...)                                                                                            \
    assert_places(ms, (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static void functions_are_below_why_they_ran(void **state)
{
    (void)state;
    make_stacks();
    assert_true(read_names(symbols));
    stacks.kernel = &names;
    assert_true(hp_program_stacks_make(&program_stacks, &stacks));
    const uint64_t first = hp_kernel_names_find(&names, 0xffff000000001230);
    PLACES(50, first, hp_kernel_names_find(&names, 0xffff000000002010), HP_KERNEL_FAULT);
    PLACES(20, first, hp_kernel_names_find(&names, 0xffff000000002090), HP_KERNEL_INTERRUPT);
    PLACES(30, first, hp_kernel_names_find(&names, 0xffff000000002050), SYS_read + 1);
    free_stacks();
}

static void without_names_there_are_no_functions(void **state)
{
    (void)state;
    make_stacks();
    assert_true(hp_program_stacks_make(&program_stacks, &stacks));
    PLACES(70, HP_KERNEL_NO_CALL);
    PLACES(30, SYS_read + 1);
    free_stacks();
}

static const char *function_with(uint64_t ms)
{
    for (uint32_t at = 1; at < named.node_count; at++)
        if (named.nodes[at].weight[HP_STACK_KERNEL_NS] == ms * 1000000)
            return named.functions[named.frames[named.nodes[at].first_frame].function].name;
    return NULL;
}

/* Little time in the kernel: its functions are not worth reading, and rows have names all the same. */
static void rows_without_functions(void **state)
{
    (void)state;
    make_stacks();
    const uint32_t user = below(below(HP_STACK_ROOT, HP_STACK_PROCESS, 7), HP_STACK_NO_IMAGE, 0x50);
    stacks.tree.nodes[user].weight[HP_STACK_USER_NS] = 10 * UINT64_C(1000000000);
    assert_true(hp_name_stacks(&stacks, NULL, &named));
    assert_string_equal(function_with(70), "[kernel: page faults and interrupts]");
    assert_string_equal(function_with(30), "[kernel: read]");
    hp_named_stacks_free(&named);
    hp_stack_tree_free(&stacks.tree);
}

static void assert_not_sampled(struct hp_stack_counts counts, const char *beginning)
{
    char name[100];
    hp_not_sampled_name(&counts, name, sizeof name);
    assert_int_equal(strncmp(name, beginning, strlen(beginning)), 0);
    assert_int_equal(strncmp(name, HP_NOT_SAMPLED, strlen(HP_NOT_SAMPLED)), 0);
    assert_int_equal(name[strlen(name) - 1], '>');
}

static void time_without_samples_says_why(void **state)
{
    (void)state;
    const struct hp_stack_counts perf = {.source = HP_STACKS_BY_PERF, .has_kernel = true},
                                 lost = {.source = HP_STACKS_BY_PERF, .has_kernel = true, .lost = 1},
                                 user = {.source = HP_STACKS_BY_PERF, .lost = 1},
                                 timers = {.source = HP_STACKS_BY_TIMERS, .has_kernel = true};
    assert_not_sampled(perf, "<not sampled: ended too soon>");
    assert_not_sampled(lost, "<not sampled: samples were lost>");
    assert_not_sampled(user, "<not sampled: in the kernel, ");
    assert_not_sampled(timers, "<not sampled>");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_have_the_function_before),
        cmocka_unit_test(hidden_addresses_are_no_names),
        cmocka_unit_test(entries_say_why),
        cmocka_unit_test(functions_are_below_why_they_ran),
        cmocka_unit_test(without_names_there_are_no_functions),
        cmocka_unit_test(rows_without_functions),
        cmocka_unit_test(time_without_samples_says_why),
    };
    return cmocka_run_group_tests(tests, make_scratch_folder, remove_scratch_folder);
}
