/* Stacks without hotpath's own code, from stacks made by hand. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "program_stacks.h"

/* None of these files exists: only their names are known, and no function of the C library counts as hooked. */
#define PROGRAM "/nowhere/program"
#define OURS "/nowhere/libhotpath_preload.so.0"
#define ALLOCATOR "/nowhere/libjemalloc.so.2"
#define C_LIBRARY "/nowhere/libc.so.6"

static struct hp_stacks stacks;
static struct hp_program_stacks program_stacks;
#define found program_stacks.stacks

static int set_up(void **state)
{
    (void)state;
    memset(&stacks, 0, sizeof stacks);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    hp_program_stacks_free(&program_stacks);
    hp_stack_tree_free(&stacks.tree);
    hp_zone_shares_free(&stacks.shares);
    hp_image_set_free(&stacks.images);
    return 0;
}

static uint32_t image(const char *path)
{
    const struct hp_image_place place = {.path = path};
    const struct hp_image *known = hp_image_set_find(&stacks.images, &place);
    assert_non_null(known);
    return known->number;
}

/* Each place has its own weight, which tells it from others. */
static uint32_t below(uint32_t parent, uint32_t of, uint64_t place)
{
    const uint32_t node = hp_stack_tree_below(&stacks.tree, parent, of, place);
    stacks.tree.nodes[node].weight[HP_STACK_USER_NS] = place;
    return node;
}

static void assert_stack(uint64_t weight, const uint32_t *images, size_t count)
{
    for (uint32_t node = 1; node < found.tree.count; node++) {
        if (found.tree.nodes[node].weight[HP_STACK_USER_NS] != weight)
            continue;
        for (size_t at = count; at-- > 0; node = found.tree.nodes[node].parent)
            assert_int_equal(found.tree.nodes[node].image, images[at]);
        assert_int_equal(node, HP_STACK_ROOT);
        return;
    }
    fail_msg("no stack has weight %d", (int)weight);
}

#define STACK(weight, ...)                                                                                         \
    assert_stack(weight, (const uint32_t[]){__VA_ARGS__},                                                          \
                 sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static void calls_are_passed_on(void **state)
{
    (void)state;
    const uint32_t program = image(PROGRAM), ours = image(OURS), allocator = image(ALLOCATOR);
    const uint32_t hook = below(below(HP_STACK_ROOT, program, 1), ours, 2);
    below(below(below(hook, ours, 3), allocator, 40), HP_STACK_KERNEL, 50);
    below(hook, HP_STACK_NO_IMAGE, 60);
    assert_true(hp_program_stacks_make(&program_stacks, &stacks));
    STACK(1, program);
    STACK(2 + 3, HP_STACK_OWN);
    STACK(40, program, allocator);
    STACK(50, program, allocator, HP_STACK_KERNEL);
    STACK(60, program, HP_STACK_NO_IMAGE);
}

static void own_work_has_what_it_calls(void **state)
{
    (void)state;
    const uint32_t program = image(PROGRAM), ours = image(OURS), c_library = image(C_LIBRARY);
    const uint32_t caller = below(HP_STACK_ROOT, program, 1), hook = below(caller, ours, 20);
    below(below(hook, c_library, 300), HP_STACK_KERNEL, 4000);
    below(hook, HP_STACK_WAITING, 50000);
    below(caller, c_library, 600000);
    assert_true(hp_program_stacks_make(&program_stacks, &stacks));
    STACK(1, program);
    STACK(20 + 300 + 4000, HP_STACK_OWN);
    STACK(50000, HP_STACK_OWN, HP_STACK_WAITING);
    STACK(600000, program, c_library);
}

static void zones_keep_their_shares(void **state)
{
    (void)state;
    const uint32_t program = image(PROGRAM), ours = image(OURS), allocator = image(ALLOCATOR);
    const uint32_t hook = below(below(HP_STACK_ROOT, program, 1), ours, 2);
    const uint32_t passed_on = below(hook, allocator, 3);
    hp_zone_shares_at(&stacks.shares, hook, 7)->weight[HP_STACK_SAMPLES] = 10;
    hp_zone_shares_at(&stacks.shares, passed_on, 7)->weight[HP_STACK_SAMPLES] = 20;
    assert_true(hp_program_stacks_make(&program_stacks, &stacks));
    assert_int_equal(found.shares.count, 2);
    for (size_t at = 0; at < found.shares.count; at++) {
        const struct hp_zone_share *share = &found.shares.all[at];
        const bool is_own = found.tree.nodes[share->node].image == HP_STACK_OWN;
        assert_int_equal(share->zone, 7);
        assert_int_equal(share->weight[HP_STACK_SAMPLES], is_own ? 10 : 20);
        assert_true(is_own || found.tree.nodes[share->node].image == allocator);
    }
}

static void programs_without_our_library_stay_as_they_are(void **state)
{
    (void)state;
    const uint32_t program = image(PROGRAM), c_library = image(C_LIBRARY);
    below(below(HP_STACK_ROOT, program, 1), c_library, 2);
    below(HP_STACK_ROOT, HP_STACK_NOT_SAMPLED, 3);
    assert_true(hp_program_stacks_make(&program_stacks, &stacks));
    assert_int_equal(found.tree.count, 4);
    STACK(2, program, c_library);
    STACK(3, HP_STACK_NOT_SAMPLED);
}

/* While more is found, nodes keep their numbers, and have the weights of now. */
static void numbers_stay(void **state)
{
    (void)state;
    const uint32_t program = image(PROGRAM), ours = image(OURS), c_library = image(C_LIBRARY);
    const uint32_t caller = below(HP_STACK_ROOT, program, 1), hook = below(caller, ours, 0);
    below(caller, c_library, 30);
    assert_true(hp_program_stacks_make(&program_stacks, &stacks));
    const uint32_t count = (uint32_t)found.tree.count;
    struct hp_stack_node before[8];
    assert_true(count <= 8);
    memcpy(before, found.tree.nodes, count * sizeof before[0]);
    stacks.tree.nodes[hook].weight[HP_STACK_USER_NS] = 500;
    stacks.tree.nodes[caller].weight[HP_STACK_USER_NS] = 7;
    below(below(HP_STACK_ROOT, program, 2000), c_library, 40000);
    assert_true(hp_program_stacks_make(&program_stacks, &stacks));
    for (uint32_t at = 0; at < count; at++) {
        assert_int_equal(found.tree.nodes[at].parent, before[at].parent);
        assert_int_equal(found.tree.nodes[at].image, before[at].image);
        assert_int_equal(found.tree.nodes[at].place, before[at].place);
    }
    STACK(7, program);
    STACK(30, program, c_library);
    STACK(500, HP_STACK_OWN);
    STACK(40000, program, c_library);
    assert_int_equal(found.tree.nodes[found.slot_nodes[hook]].image, HP_STACK_OWN);
    assert_int_equal(found.tree.nodes[found.slot_nodes[caller]].image, program);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(calls_are_passed_on),
        TEST(own_work_has_what_it_calls),
        TEST(numbers_stay),
        TEST(zones_keep_their_shares),
        TEST(programs_without_our_library_stay_as_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
