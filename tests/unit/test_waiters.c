/* Which function a waiting stack is attributed to, and what it waits for. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "function_sums.h"
#include "named_stacks.h"

#define MS UINT64_C(1000000)
#define PLACE(cause, text) ((uint64_t)(cause) << 32 | (text))
enum { PIPE = 7, DISK = 5, SLEEP = 3, OTHER = 0 };

static struct hp_named_image images[] = {{"/usr/bin/prog", "", ""}, {"/lib/x86_64-linux-gnu/libc.so.6", "", ""}};

enum {
    MAIN,
    READ_ALL,
    READ,
    FOR_PIPE,
    FOR_DISK_A,
    FOR_DISK_B,
    WAIT_HERE,
    NANOSLEEP,
    FOR_SLEEP,
    REST,
    FOR_OTHER,
    CLONE
};
static struct hp_named_function functions[] = {
    {"main", "", 0},
    {"read_all", "", 0},
    {"read", "", 1},
    {"[waiting: pipe]", "", HP_STACK_NO_IMAGE},
    {"[waiting: disk: /a]", "", HP_STACK_NO_IMAGE},
    {"[waiting: disk: /b]", "", HP_STACK_NO_IMAGE},
    {"wait_here", "", 0},
    {"nanosleep", "", 0},
    {"[waiting: sleep]", "", HP_STACK_NO_IMAGE},
    {"[rest of the stack unknown]", "", HP_STACK_NO_IMAGE},
    {"[waiting: other]", "", HP_STACK_NO_IMAGE},
    {"clone3", "", 1},
};
/* One for each function, and so are the numbers of frames. */
static struct hp_named_frame frames[] = {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0},  {5, 0},
                                         {6, 0}, {7, 0}, {8, 0}, {9, 0}, {10, 0}, {11, 0}};

#define NODE(its_parent, its_image, its_place, frame)                                                              \
    .parent = (its_parent), .image = (its_image), .place = (its_place), .first_frame = (frame), .frame_count = 1
#define WAITED(waited_ms, idle_ms, times)                                                                          \
    .weight = {[HP_STACK_WAITED_NS] = (waited_ms)*MS, [HP_STACK_IDLE_NS] = (idle_ms)*MS, [HP_STACK_WAITS] = (times)}

static struct hp_named_node nodes[] = {
    {0},
    {NODE(0, 0, 0x1000, MAIN), .weight = {[HP_STACK_USER_NS] = 8 * MS, [HP_STACK_SAMPLES] = 8}},
    {NODE(1, 0, 0x2000, READ_ALL)},
    {NODE(2, 1, 0x3000, READ)},
    {NODE(3, HP_STACK_WAITING, PLACE(PIPE, 1), FOR_PIPE), WAITED(90, 70, 3)},
    {NODE(3, HP_STACK_WAITING, PLACE(DISK, 1), FOR_DISK_A), WAITED(30, 0, 2)},
    {NODE(3, HP_STACK_WAITING, PLACE(DISK, 2), FOR_DISK_B), WAITED(35, 0, 1)},
    {NODE(1, 0, 0x2010, READ_ALL)}, /* from another line of it */
    {NODE(7, 1, 0x3010, READ)},
    {NODE(8, HP_STACK_WAITING, PLACE(DISK, 1), FOR_DISK_A), WAITED(10, 0, 1)},
    {NODE(1, 0, 0x4000, WAIT_HERE)}, /* with the C library in itself */
    {NODE(10, 0, 0x5000, NANOSLEEP)},
    {NODE(11, HP_STACK_WAITING, PLACE(SLEEP, 1), FOR_SLEEP), WAITED(12, 12, 1)},
    {NODE(0, HP_STACK_INCOMPLETE, 0, REST)},
    {NODE(13, HP_STACK_WAITING, PLACE(OTHER, 1), FOR_OTHER), WAITED(5, 0, 1)},
    {NODE(0, 1, 0x6000, CLONE)}, /* a thread of the library's own */
    {NODE(15, HP_STACK_WAITING, PLACE(SLEEP, 1), FOR_SLEEP), WAITED(4, 0, 1)},
};

static const struct hp_named_stacks stacks = {.images = images,
                                              .functions = functions,
                                              .frames = frames,
                                              .nodes = nodes,
                                              .image_count = 2,
                                              .function_count = sizeof functions / sizeof functions[0],
                                              .frame_count = sizeof frames / sizeof frames[0],
                                              .node_count = sizeof nodes / sizeof nodes[0],
                                              .counts.period_ns = MS,
                                              .counts.samples = 8,
                                              .counts.waits = 10};

static void waiting_function_of_a_stack(void **state)
{
    (void)state;
    assert_int_equal(hp_waiter_of(&stacks, 4), READ_ALL);
    assert_int_equal(hp_waiter_of(&stacks, 9), READ_ALL);
    assert_int_equal(hp_waiter_of(&stacks, 12), WAIT_HERE);
    assert_int_equal(hp_waiter_of(&stacks, 14), HP_NO_FUNCTION);
    assert_int_equal(hp_waiter_of(&stacks, 16), CLONE);
}

static const struct hp_found_function *named(const struct hp_function_profile *profile, const char *name)
{
    for (size_t at = 0; at < profile->count; at++)
        if (strcmp(profile->all[at].name, name) == 0)
            return &profile->all[at];
    fail_msg("no function %s", name);
    return NULL;
}

static void assert_waits(const struct hp_function_profile *profile, const char *name, uint64_t own_ms,
                         uint64_t idle_ms, uint64_t total_ms, uint64_t times)
{
    const struct hp_found_function *function = named(profile, name);
    assert_int_equal(function->waiting_ns, own_ms * MS);
    assert_int_equal(function->idle_ns, idle_ms * MS);
    assert_int_equal(function->total_waiting_ns, total_ms * MS);
    assert_int_equal(function->waits, times);
}

static void assert_cause(struct hp_found_cause found, const char *cause)
{
    assert_int_equal(found.length, strlen(cause));
    assert_memory_equal(found.text, cause, strlen(cause));
}

static void causes_of_waiting_per_function(void **state)
{
    (void)state;
    struct hp_function_profile profile;
    assert_true(hp_function_sums_make(&stacks, &profile));
    assert_int_equal(profile.waited_ns, 186 * MS);
    assert_int_equal(profile.idle_ns, 82 * MS);
    assert_int_equal(profile.cpu_ns, 8 * MS);
    assert_int_equal(profile.count, 7); /* causes are not functions */
    assert_string_equal(profile.all[0].name, "read_all");
    assert_string_equal(profile.all[1].name, "main"); /* before those that wait for less, or idle */
    assert_waits(&profile, "read_all", 165, 70, 165, 7);
    assert_waits(&profile, "read", 0, 0, 165, 0);
    assert_waits(&profile, "main", 0, 0, 177, 0);
    assert_waits(&profile, "wait_here", 12, 12, 12, 1);
    assert_waits(&profile, "[rest of the stack unknown]", 0, 0, 5, 0);
    assert_waits(&profile, "clone3", 4, 0, 4, 1);
    /* The pipe has the most time. Without idle time the disk has, and /a more than /b, though no single one. */
    assert_cause(named(&profile, "read_all")->waits_for, "pipe");
    assert_cause(named(&profile, "read_all")->blocked_for, "disk: /a");
    assert_cause(named(&profile, "wait_here")->waits_for, "sleep");
    assert_null(named(&profile, "wait_here")->blocked_for.text);
    assert_null(named(&profile, "main")->waits_for.text);
    /* By activity: 20 ms of the waiting for the pipe were not idle. */
    assert_int_equal(named(&profile, "read_all")->blocked_ns[HP_PART_NETWORK], 20 * MS);
    assert_int_equal(named(&profile, "read_all")->blocked_ns[HP_PART_DISK], 75 * MS);
    assert_int_equal(named(&profile, "wait_here")->blocked_ns[HP_PART_SLEEP], 0);
    assert_int_equal(named(&profile, "clone3")->blocked_ns[HP_PART_SLEEP], 4 * MS);
    hp_function_sums_free(&profile);
}

/* While read_all waited, a holder waited in wait_here for longer than others ran in main. */
static struct hp_lock_hold holds[] = {{4, 12, 60 * MS, 3}, {9, 1, 20 * MS, 2}, {12, 7, 4 * MS, 4}};

static void function_that_holds_the_lock(void **state)
{
    (void)state;
    struct hp_function_profile profile;
    struct hp_named_stacks with_holds = stacks;
    with_holds.holds = holds;
    with_holds.hold_count = 3;
    assert_true(hp_function_sums_make(&with_holds, &profile));
    const struct hp_found_function *waiter = named(&profile, "read_all"), *rare = named(&profile, "wait_here");
    assert_int_equal(waiter->held_ns, 80 * MS);
    assert_int_equal(waiter->held_samples, 5);
    assert_string_equal(waiter->held_in, "wait_here");
    assert_int_equal(rare->held_ns, 4 * MS);
    assert_null(rare->held_in); /* four samples */
    assert_int_equal(profile.hold_count, 3);
    for (size_t at = 0; at < profile.hold_count; at++) {
        const bool is_rare = &profile.all[profile.holds[at].function] == rare;
        assert_true(at == 0 || profile.holds[at].function >= profile.holds[at - 1].function);
        assert_int_equal(profile.holds[at].ns == 4 * MS, is_rare);
        assert_true(profile.holds[at].node < profile.node_count);
    }
    hp_function_sums_free(&profile);
    /* Less was waited in the end than it had seemed, and most of it for a thread in main, which says nothing. */
    holds[1].ns = 200 * MS;
    assert_true(hp_function_sums_make(&with_holds, &profile));
    assert_int_equal(named(&profile, "read_all")->held_ns, 165 * MS);
    assert_null(named(&profile, "read_all")->held_in);
    hp_function_sums_free(&profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(waiting_function_of_a_stack),
                                       cmocka_unit_test(causes_of_waiting_per_function),
                                       cmocka_unit_test(function_that_holds_the_lock)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
