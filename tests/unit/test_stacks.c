/* Stacks as a tree, in a file, and summed by function. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "function_sums.h"
#include "scratch_folder.h"
#include "stack_file.h"
#include "stack_tree.h"

/* ------------------------------------------------------------------------------------------------- tree */

static void common_parts_of_stacks_are_stored_once(void **state)
{
    (void)state;
    struct hp_stack_tree tree = {0};
    const uint32_t start = hp_stack_tree_below(&tree, HP_STACK_ROOT, 0, 0x100);
    const uint32_t one = hp_stack_tree_below(&tree, start, 0, 0x200);
    assert_int_not_equal(start, HP_STACK_ROOT);
    assert_int_equal(hp_stack_tree_below(&tree, HP_STACK_ROOT, 0, 0x100), start);
    assert_int_equal(hp_stack_tree_below(&tree, start, 0, 0x200), one);
    assert_int_not_equal(hp_stack_tree_below(&tree, start, 1, 0x200), one);
    assert_int_not_equal(hp_stack_tree_below(&tree, one, 0, 0x200), one);
    assert_int_equal(tree.count, 5);
    hp_stack_tree_free(&tree);
}

/* Each node is found again, however often the tree has grown. */
static void many_stacks(void **state)
{
    (void)state;
    struct hp_stack_tree tree = {0};
    enum { MANY = 100000 };
    uint32_t *numbers = calloc(MANY, sizeof *numbers);
    assert_non_null(numbers);
    for (uint32_t at = 0; at < MANY; at++)
        numbers[at] = hp_stack_tree_below(&tree, at > 0 ? numbers[at / 3] : HP_STACK_ROOT, at % 7, 16 * at);
    assert_int_equal(tree.count, MANY + 1);
    for (uint32_t at = 0; at < MANY; at++) {
        assert_int_equal(hp_stack_tree_below(&tree, at > 0 ? numbers[at / 3] : HP_STACK_ROOT, at % 7, 16 * at),
                         numbers[at]);
        assert_true(tree.nodes[numbers[at]].parent < numbers[at]);
    }
    assert_int_equal(tree.count, MANY + 1);
    free(numbers);
    hp_stack_tree_free(&tree);
}

/* ------------------------------------------------------------------------------------------------ stacks */

/*
 *   main ─ work ─ leaf          10 ms in leaf
 *        │      └ work ─ leaf   20 ms in leaf, 5 ms in the inner work
 *        └ tail, inlined into work   40 ms in tail
 */
static struct hp_named_image images[] = {{"/usr/bin/prog", "0123ab", ""}, {"/usr/lib/libx.so.1", "", ""}};
static struct hp_named_function functions[] = {{"main", "main.c", 0},
                                               {"work", "work.c", 0},
                                               {"leaf", "", 1},
                                               {"tail", "work.c", 0},
                                               {"[kernel]", "", HP_STACK_NO_IMAGE}};
static struct hp_named_frame frames[] = {{0, 10}, {1, 20}, {2, 0}, {3, 33}, {1, 25}, {4, 0}};
#define MS UINT64_C(1000000)
static struct hp_named_node nodes[] = {
    {0},
    {.parent = 0, .image = 0, .place = 0x1000, .first_frame = 0, .frame_count = 1},
    {.parent = 1, .image = 0, .place = 0x2000, .first_frame = 1, .frame_count = 1},
    {.parent = 2, .image = 1, .place = 0x3000, .first_frame = 2, .frame_count = 1, .weight = {10 * MS, 0, 10}},
    {.parent = 2, .image = 0, .place = 0x2010, .first_frame = 1, .frame_count = 1, .weight = {5 * MS, 0, 5}},
    {.parent = 4, .image = 1, .place = 0x3010, .first_frame = 2, .frame_count = 1, .weight = {20 * MS, 0, 20}},
    {.parent = 1, .image = 0, .place = 0x2020, .first_frame = 3, .frame_count = 2, .weight = {40 * MS, 0, 40}},
    {.parent = 3, .image = HP_STACK_KERNEL, .first_frame = 5, .frame_count = 1, .weight = {0, 3 * MS, 3}},
};

/* Of both leaves in two zones; of tail in one; the rest is in none. */
static struct hp_named_zone zones[] = {{"load"}, {"check"}};
static struct hp_zone_share shares[] = {
    {3, 0, {10 * MS, 0, 10}}, {5, 0, {8 * MS, 0, 8}}, {5, 1, {12 * MS, 0, 12}}, {6, 1, {40 * MS, 0, 40}}};

static struct hp_lock_hold holds[] = {{3, 5, 7 * MS, 2}, {3, 6, 1 * MS, 1}};
static struct hp_named_program programs[] = {{"prog", "/usr/bin/prog"}};

/* Texts lie in one piece there. */
static struct hp_named_stacks example(void)
{
    static char texts[1000];
    struct hp_named_stacks stacks = {.counts.period_ns = MS,
                                     .counts.samples = 78,
                                     .counts.whole = 77,
                                     .counts.lost = 2,
                                     .counts.has_kernel = true,
                                     .images = images,
                                     .functions = functions,
                                     .frames = frames,
                                     .nodes = nodes,
                                     .image_count = 2,
                                     .function_count = 5,
                                     .frame_count = 6,
                                     .node_count = 8,
                                     .zones = zones,
                                     .shares = shares,
                                     .zone_count = 2,
                                     .share_count = 4,
                                     .holds = holds,
                                     .hold_count = 2,
                                     .programs = programs,
                                     .program_count = 1,
                                     .texts = texts};
    const char **places[] = {&images[0].path,    &images[0].build_id, &images[1].path,    &images[1].build_id,
                             &functions[0].name, &functions[0].file,  &functions[1].name, &functions[1].file,
                             &functions[2].name, &functions[2].file,  &functions[3].name, &functions[3].file,
                             &functions[4].name, &functions[4].file,  &zones[0].name,     &zones[1].name,
                             &programs[0].name,  &programs[0].file,   &images[0].package, &images[1].package};
    static bool is_done;
    for (size_t at = 0; at < sizeof places / sizeof places[0]; at++) {
        const size_t length = strlen(*places[at]);
        if (!is_done)
            *places[at] = strcpy(texts + stacks.text_bytes, *places[at]);
        stacks.text_bytes += length + 1;
    }
    is_done = true;
    return stacks;
}

static const struct hp_found_function *named(const struct hp_function_profile *profile, const char *name)
{
    for (size_t at = 0; at < profile->count; at++)
        if (strcmp(profile->all[at].name, name) == 0)
            return &profile->all[at];
    fail_msg("no function %s", name);
    return NULL;
}

static void assert_function(const struct hp_function_profile *profile, const char *name, uint64_t own_ms,
                            uint64_t total_ms, uint64_t samples)
{
    const struct hp_found_function *function = named(profile, name);
    assert_int_equal(function->user_ns + function->kernel_ns, own_ms * MS);
    assert_int_equal(function->total_ns, total_ms * MS);
    assert_int_equal(function->samples, samples);
}

static void assert_profile_of_example(const struct hp_named_stacks *stacks)
{
    struct hp_function_profile profile;
    assert_true(hp_function_sums_make(stacks, &profile));
    assert_int_equal(profile.count, 5);
    assert_int_equal(profile.cpu_ns, 78 * MS);
    assert_int_equal(profile.kernel_ns, 3 * MS);
    assert_string_equal(profile.all[0].name, "tail"); /* most of its own */
    assert_function(&profile, "main", 0, 78, 0);
    assert_function(&profile, "work", 5, 78, 5); /* which called itself, and into which tail was inlined */
    assert_function(&profile, "leaf", 30, 33, 30);
    assert_function(&profile, "tail", 40, 40, 40);
    assert_function(&profile, "[kernel]", 3, 3, 3);
    assert_string_equal(named(&profile, "leaf")->library, "libx.so.1");
    assert_string_equal(named(&profile, "[kernel]")->library, "");
    assert_string_equal(named(&profile, "work")->file, "work.c");
    hp_function_sums_free(&profile);
}

static void self_and_total_time_of_functions(void **state)
{
    (void)state;
    const struct hp_named_stacks stacks = example();
    assert_profile_of_example(&stacks);
}

/* Leaves ran beside another thread, tail alone. */
static void wall_share_of_functions(void **state)
{
    (void)state;
    struct hp_named_stacks stacks = example();
    struct hp_named_node with_wall[sizeof nodes / sizeof nodes[0]];
    struct hp_function_profile profile;
    memcpy(with_wall, nodes, sizeof nodes);
    with_wall[3].weight[HP_STACK_WALL_NS] = 5 * MS;
    with_wall[5].weight[HP_STACK_WALL_NS] = 10 * MS;
    with_wall[6].weight[HP_STACK_WALL_NS] = 40 * MS;
    stacks.nodes = with_wall;
    assert_true(hp_function_sums_make(&stacks, &profile));
    assert_int_equal(profile.wall_ns, 55 * MS);
    assert_int_equal(named(&profile, "leaf")->wall_ns, 15 * MS);
    assert_int_equal(named(&profile, "work")->wall_ns, 0);
    assert_int_equal(named(&profile, "work")->total_wall_ns, 55 * MS);
    assert_int_equal(named(&profile, "tail")->total_wall_ns, 40 * MS);
    hp_function_sums_free(&profile);
}

/* main and leaf in one program, main in another; the larger part names it. */
static void programs_of_functions(void **state)
{
    static struct hp_named_program both[] = {{"prog", "/usr/bin/prog"}, {"sort", "/usr/bin/sort"}};
    struct hp_named_node processes[] = {
        {0},
        {.image = HP_STACK_PROCESS, .place = UINT64_C(1) << 32 | 11},
        {.parent = 1, .first_frame = 0, .frame_count = 1, .weight = {1 * MS, 0, 1}},
        {.parent = 2, .first_frame = 2, .frame_count = 1, .weight = {2 * MS, 0, 2}},
        {.image = HP_STACK_PROCESS, .place = UINT64_C(2) << 32 | 11},
        {.parent = 4, .first_frame = 0, .frame_count = 1, .weight = {5 * MS, 0, 5}},
        {.parent = 0, .first_frame = 5, .frame_count = 1, .weight = {8 * MS, 0, 8}},
    };
    struct hp_named_stacks stacks = example();
    struct hp_function_profile profile;
    (void)state;
    stacks.programs = both;
    stacks.program_count = 2;
    stacks.nodes = processes;
    stacks.node_count = sizeof processes / sizeof processes[0];
    stacks.share_count = 0;
    assert_true(hp_function_sums_make(&stacks, &profile));
    assert_int_equal(named(&profile, "main")->total_ns, 8 * MS);
    assert_string_equal(named(&profile, "main")->program, "sort");
    assert_int_equal(named(&profile, "main")->program_ns, 5 * MS);
    assert_string_equal(named(&profile, "leaf")->program, "prog");
    assert_int_equal(named(&profile, "leaf")->program_ns, 2 * MS);
    assert_string_equal(named(&profile, "[kernel]")->program, "");
    hp_function_sums_free(&profile);
}

static void assert_zone(const struct hp_function_profile *profile, enum hp_zone_part part, const char *function,
                        size_t at, const char *zone, uint64_t amount)
{
    const struct hp_found_zones *found = &named(profile, function)->zones[part];
    assert_true(at < found->count);
    assert_string_equal(found->all[at].name, zone);
    assert_int_equal(found->all[at].amount, amount);
}

/* Including callees, recursion counted once; largest first. */
static void functions_by_zone(void **state)
{
    (void)state;
    const struct hp_named_stacks stacks = example();
    struct hp_function_profile profile;
    assert_true(hp_function_sums_make(&stacks, &profile));
    assert_zone(&profile, HP_ZONES_OF_CPU, "leaf", 0, "load", 18 * MS);
    assert_zone(&profile, HP_ZONES_OF_CPU, "leaf", 1, "check", 12 * MS);
    assert_zone(&profile, HP_ZONES_OF_CPU, "work", 0, "check", 52 * MS);
    assert_zone(&profile, HP_ZONES_OF_CPU, "work", 1, "load", 18 * MS);
    assert_zone(&profile, HP_ZONES_OF_CPU, "main", 0, "check", 52 * MS);
    assert_zone(&profile, HP_ZONES_OF_CPU, "tail", 0, "check", 40 * MS);
    assert_int_equal(named(&profile, "tail")->zones[HP_ZONES_OF_CPU].count, 1);
    assert_int_equal(named(&profile, "[kernel]")->zones[HP_ZONES_OF_CPU].count, 0);
    assert_int_equal(named(&profile, "main")->zones[HP_ZONES_OF_HEAP].count, 0);
    hp_function_sums_free(&profile);
}

/* A place may be in several of these, each with zones of its own. */
static void waiting_and_allocations_by_zone(void **state)
{
    (void)state;
    struct hp_zone_share others[] = {
        {3, 0, {[HP_STACK_WAITED_NS] = 7 * MS}},
        {3, 1, {[HP_STACK_WAITED_NS] = 9 * MS, [HP_STACK_ALLOC_BYTES] = 100}},
        {6, 0, {[HP_STACK_ALLOC_BYTES] = 50}},
    };
    struct hp_named_stacks stacks = example();
    struct hp_function_profile profile;
    stacks.shares = others;
    stacks.share_count = 3;
    assert_true(hp_function_sums_make(&stacks, &profile));
    assert_zone(&profile, HP_ZONES_OF_WAITING, "leaf", 0, "check", 9 * MS);
    assert_zone(&profile, HP_ZONES_OF_WAITING, "main", 1, "load", 7 * MS);
    assert_zone(&profile, HP_ZONES_OF_HEAP, "main", 0, "check", 100);
    assert_zone(&profile, HP_ZONES_OF_HEAP, "main", 1, "load", 50);
    assert_int_equal(named(&profile, "leaf")->zones[HP_ZONES_OF_HEAP].count, 1);
    assert_int_equal(named(&profile, "main")->zones[HP_ZONES_OF_CPU].count, 0);
    hp_function_sums_free(&profile);
}

static void pairs_are_numbered(void **state)
{
    (void)state;
    enum { MANY = 10000 };
    struct hp_pair_table table = {0};
    for (uint32_t at = 0; at < 2 * MANY; at++)
        assert_int_equal(hp_pair_table_put(&table, at % MANY, at % MANY * 7), at % MANY);
    assert_int_equal(table.count, MANY);
    assert_int_equal(table.all[5].second, 35);
    hp_pair_table_free(&table);
}

static void no_stacks_at_all(void **state)
{
    (void)state;
    struct hp_named_node root = {0};
    const struct hp_named_stacks stacks = {.nodes = &root, .node_count = 1};
    struct hp_function_profile profile;
    assert_true(hp_function_sums_make(&stacks, &profile));
    assert_int_equal(profile.count, 0);
    hp_function_sums_free(&profile);
}

/* ------------------------------------------------------------------------------------------------- file */

static void file_keeps_everything(void **state)
{
    (void)state;
    const struct hp_named_stacks written = example();
    struct hp_named_stacks read;
    assert_true(hp_stack_file_write(scratch_folder, &written));
    assert_true(hp_stack_file_read(scratch_folder, &read));
    assert_int_equal(read.counts.period_ns, MS);
    assert_int_equal(read.counts.samples, 78);
    assert_int_equal(read.counts.whole, 77);
    assert_int_equal(read.counts.lost, 2);
    assert_true(read.counts.has_kernel);
    assert_string_equal(read.images[0].build_id, "0123ab");
    assert_memory_equal(read.frames, frames, sizeof frames);
    assert_memory_equal(read.nodes, nodes, sizeof nodes);
    assert_memory_equal(read.shares, shares, sizeof shares);
    assert_int_equal(read.hold_count, 2);
    assert_memory_equal(read.holds, holds, sizeof holds);
    assert_int_equal(read.zone_count, 2);
    assert_string_equal(read.zones[1].name, "check");
    assert_int_equal(read.program_count, 1);
    assert_string_equal(read.programs[0].name, "prog");
    assert_string_equal(read.programs[0].file, "/usr/bin/prog");
    assert_profile_of_example(&read);
    hp_named_stacks_free(&read);
}

static void missing_file_is_distinguished_from_a_bad_one(void **state)
{
    (void)state;
    struct hp_named_stacks read;
    errno = 0;
    assert_false(hp_stack_file_read("/nonexistent", &read));
    assert_int_equal(errno, ENOENT);
    assert_false(hp_stack_file_parse("what", 4, &read));
    assert_int_equal(errno, EINVAL);
}

static char *bytes_of_file(size_t *ret_size)
{
    char path[200];
    const struct hp_named_stacks written = example();
    assert_true(hp_stack_file_write(scratch_folder, &written));
    snprintf(path, sizeof path, "%s/%s", scratch_folder, HP_STACK_FILE_NAME);
    FILE *file = fopen(path, "rb");
    char *bytes = malloc(100000);
    assert_true(file != NULL && bytes != NULL);
    *ret_size = fread(bytes, 1, 100000, file);
    fclose(file);
    return bytes;
}

static void truncated_file_is_refused(void **state)
{
    (void)state;
    size_t size;
    char *bytes = bytes_of_file(&size);
    struct hp_named_stacks read;
    assert_true(hp_stack_file_parse(bytes, size, &read));
    hp_named_stacks_free(&read);
    for (size_t length = 0; length < size; length++) {
        char *part = malloc(length > 0 ? length : 1); /* so that a sanitizer sees reads beyond its end */
        memcpy(part, bytes, length);
        assert_false(hp_stack_file_parse(part, length, &read));
        free(part);
    }
    free(bytes);
}

/* With any content it is refused, or the result is sound. */
static void changed_files_are_survived(void **state)
{
    (void)state;
    size_t size;
    char *bytes = bytes_of_file(&size);
    for (size_t at = 0; at < size; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            struct hp_named_stacks read;
            struct hp_function_profile profile;
            bytes[at] = (char)(bytes[at] ^ 1 << bit);
            if (hp_stack_file_parse(bytes, size, &read)) {
                assert_true(hp_function_sums_make(&read, &profile));
                hp_function_sums_free(&profile);
                hp_named_stacks_free(&read);
            }
            bytes[at] = (char)(bytes[at] ^ 1 << bit);
        }
    free(bytes);
}

static void other_version_is_refused(void **state)
{
    (void)state;
    size_t size;
    char *bytes = bytes_of_file(&size);
    struct hp_named_stacks read;
    bytes[8]++;
    assert_false(hp_stack_file_parse(bytes, size, &read));
    assert_int_equal(errno, EPROTO);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(common_parts_of_stacks_are_stored_once),
        cmocka_unit_test(many_stacks),
        cmocka_unit_test(self_and_total_time_of_functions),
        cmocka_unit_test(wall_share_of_functions),
        cmocka_unit_test(programs_of_functions),
        cmocka_unit_test(functions_by_zone),
        cmocka_unit_test(waiting_and_allocations_by_zone),
        cmocka_unit_test(pairs_are_numbered),
        cmocka_unit_test(no_stacks_at_all),
        cmocka_unit_test(file_keeps_everything),
        cmocka_unit_test(missing_file_is_distinguished_from_a_bad_one),
        cmocka_unit_test(truncated_file_is_refused),
        cmocka_unit_test(changed_files_are_survived),
        cmocka_unit_test(other_version_is_refused),
    };
    return cmocka_run_group_tests(tests, make_scratch_folder, remove_scratch_folder);
}
