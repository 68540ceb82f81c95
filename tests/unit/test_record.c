/*
 * The recorder with a fake clock: the times it keeps of zones are known to the nanosecond. There is no counter, so
 * zones take the slow path and the library's clock; the inline fast path is tested by tests/e2e/test_truth.py.
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "hotpath.h"
#include "process.h"
#include "scratch_folder.h"
#include "thread_context.h"
#include "zone_stack.h"

static uint64_t now;

/* The linker has the library call these (--wrap). */
__typeof__(hp_clock_counter) __wrap_hp_clock_counter;
__typeof__(hp_now) __wrap_hp_now;
enum hp_counter __wrap_hp_clock_counter(void) { return HP_COUNTER_NONE; }
uint64_t __wrap_hp_now(void) { return now; }

static struct hp_thread_context *context(void) { return hp_thread_present(); }
static uint32_t here(void) { return context()->hot.top->node; }
static struct hotpath_node_ *node_at(uint32_t offset) { return hp_node_at(context(), offset); }
static struct hotpath_stat_ *stat_of(uint32_t node) { return hp_stat_at(context(), node_at(node)->stat); }
static uint64_t losses(enum hp_loss loss) { return hp_store_header(hp_runtime->store)->losses[loss]; }

static void start(uint64_t max_bytes)
{
    struct hotpath_options options = {
        .size = sizeof options, .format = "none", .dir = scratch_folder, .max_bytes = max_bytes, .keys_limit = 4};
    assert_int_equal(hotpath_start(&options), HOTPATH_OK);
}

static int set_up(void **state)
{
    (void)state;
    now = 1000000;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    hotpath_stop();
    return 0;
}

/* Calls of a node and of all below it. */
static uint64_t calls_below(uint32_t node)
{
    uint64_t calls = node_at(node)->calls;
    for (uint32_t child = node_at(node)->first_child; child != 0; child = node_at(child)->next_sibling)
        calls += calls_below(child);
    return calls;
}

/* How many durations of the site are in its histogram, as long as `ticks` or any. */
static uint64_t found_in_histogram(uint32_t node, uint64_t ticks)
{
    const struct hotpath_stat_ *stat = stat_of(node);
    const uint32_t octave = hotpath_octave_(ticks);
    if (stat->octaves[octave] == 0)
        return 0;
    const uint64_t *counters = (const uint64_t *)(const void *)(context()->hot.base + stat->octaves[octave]);
    return counters[ticks >> octave];
}

/* -------------------------------------------------------------------------------------------------- times */

static uint32_t inner_node, outer_node;

static void inner(uint64_t ns)
{
    HOTPATH_MEASURE();
    inner_node = here();
    now += ns;
}

static void outer(void)
{
    HOTPATH_MEASURE();
    outer_node = here();
    now += 10;
    inner(5000);
    inner(7000000);
    now += 3;
}

static void times_are_exact(void **state)
{
    (void)state;
    start(0);
    for (int times = 0; times < 3; times++)
        outer();
    const struct hotpath_node_ *of_outer = node_at(outer_node), *of_inner = node_at(inner_node);
    assert_int_equal(of_outer->calls, 3);
    assert_int_equal(of_outer->total, 3 * 7005013);
    assert_int_equal(of_outer->self, 3 * 13);
    assert_int_equal(of_outer->nested, 0);
    assert_int_equal(of_inner->calls, 6);
    assert_int_equal(of_inner->total, 3 * 7005000);
    assert_int_equal(of_inner->self, of_inner->total);
    assert_int_equal(of_inner->parent, outer_node);
    assert_int_equal(stat_of(inner_node)->min, 5000);
    assert_int_equal(stat_of(inner_node)->max, 7000000);
    assert_int_equal(found_in_histogram(inner_node, 5000), 3);
    assert_int_equal(found_in_histogram(inner_node, 7000000), 3);
    assert_int_equal(found_in_histogram(inner_node, 5100), 0); /* two percent more is another counter */
}

static uint32_t again_node;

static void again(unsigned depth)
{
    HOTPATH_MEASURE();
    again_node = here();
    now += 100;
    if (depth > 1)
        again(depth - 1);
}

/* Counted per call, and its time once. */
static void recursion_has_one_node(void **state)
{
    (void)state;
    start(0);
    again(4);
    again(1);
    const struct hotpath_node_ *node = node_at(again_node);
    assert_int_equal(node->calls, 5);
    assert_int_equal(node->total - node->nested, 500);
    assert_int_equal(node->total, 400 + 300 + 200 + 100 + 100);
    assert_int_equal(node->self, 500);
    assert_int_equal(node->first_child, 0);
    assert_int_equal(stat_of(again_node)->min, 100);
    assert_int_equal(stat_of(again_node)->max, 400);
}

/* The stack of zones grows as often as it has to, and what lies on it stays. */
static void deep_stacks(void **state)
{
    (void)state;
    const unsigned depth = 3 * HP_FIRST_FRAMES;
    start(0);
    {
        HOTPATH_BLOCK("around");
        again(depth);
        assert_true(context()->record->frame_capacity > depth);
    }
    const struct hotpath_node_ *node = node_at(again_node);
    assert_int_equal(node->calls, depth);
    assert_int_equal(node->total - node->nested, 100 * depth);
    assert_int_equal(node_at(node->parent)->total, 100 * depth);
    assert_int_equal(node_at(node->parent)->self, 0);
    assert_int_equal(losses(HP_LOSS_DEPTH), 0);
}

static void backward_clock_is_clamped(void **state)
{
    (void)state;
    start(0);
    inner(100);
    inner((uint64_t)-50);
    assert_int_equal(node_at(inner_node)->calls, 2);
    assert_int_equal(node_at(inner_node)->total, 100);
    assert_int_equal(stat_of(inner_node)->min, 0);
    assert_int_equal(losses(HP_LOSS_CLOCK), 1);
}

/* ---------------------------------------------------------------------------------------------------- jumps */

static jmp_buf back;

static void leave_by_jump(void)
{
    HOTPATH_MEASURE();
    now += 10;
    inner(20);
    now += 500; /* which cannot be told from the time after the jump */
    longjmp(back, 1);
}

/* Such a zone is counted when the one around it ends, with the time up to its last sign. */
static void zone_left_by_longjmp_has_time_to_its_last_event(void **state)
{
    (void)state;
    uint32_t around;
    start(0);
    {
        HOTPATH_BLOCK("around");
        around = here();
        if (setjmp(back) == 0)
            leave_by_jump();
        now += 1000;
    }
    const uint32_t left = node_at(inner_node)->parent;
    assert_int_equal(node_at(left)->parent, around);
    assert_int_equal(node_at(left)->calls, 1);
    assert_int_equal(node_at(left)->total, 30);
    assert_int_equal(node_at(around)->total, 1530);
    assert_int_equal(node_at(around)->self, 1500);
    assert_int_equal(losses(HP_LOSS_ABANDONED), 1);
}

/* --------------------------------------------------------------------------------------------------- handlers */

static void on_signal(int number)
{
    (void)number;
    inner(40);
}

/* A handler that interrupts the recorder finds its context held, and has one of its own. */
static void handlers_do_not_touch_interrupted_contexts(void **state)
{
    (void)state;
    start(0);
    inner(10);
    const uint32_t before = inner_node;
    HOTPATH_BLOCK("around");
    struct hp_thread_context *own = context();
    const struct hotpath_frame_ *top = own->hot.top;
    signal(SIGUSR1, on_signal);
    own->hot.id_limit = 0;
    raise(SIGUSR1);
    assert_ptr_equal(own->hot.top, top);
    assert_non_null(own->handler);
    own->hot.id_limit = HOTPATH_IDS_;
    signal(SIGUSR1, SIG_DFL);
    assert_int_equal(node_at(before)->calls, 1);
    const struct hp_thread *other = own->handler->record;
    const struct hotpath_node_ *root = hp_node_at(own->handler, other->root);
    assert_int_equal(hp_node_at(own->handler, root->first_child)->calls, 1);
    assert_int_equal(hp_node_at(own->handler, root->first_child)->total, 40);
}

/* ------------------------------------------------------------------------------------------------------ limits */

/* As many ways through these as there is room for. */
static uint64_t entered;
static void wander(unsigned depth);
static void step(unsigned site, unsigned depth)
{
    entered++;
    switch (site) {
    case 0: {
        HOTPATH_BLOCK("a");
        wander(depth);
        break;
    }
    case 1: {
        HOTPATH_BLOCK("b");
        wander(depth);
        break;
    }
    case 2: {
        HOTPATH_BLOCK("c");
        wander(depth);
        break;
    }
    case 3: {
        HOTPATH_BLOCK("d");
        wander(depth);
        break;
    }
    case 4: {
        HOTPATH_BLOCK("e");
        wander(depth);
        break;
    }
    case 5: {
        HOTPATH_BLOCK("f");
        wander(depth);
        break;
    }
    default: {
        HOTPATH_BLOCK("g");
        wander(depth);
        break;
    }
    }
}

static unsigned taken; /* sites on the way here: each once, or they would be folded */
static void wander(unsigned depth)
{
    now += 1;
    for (unsigned site = 0; depth > 0 && site < 7; site++)
        if (!(taken & 1u << site)) {
            taken |= 1u << site;
            step(site, depth - 1);
            taken &= ~(1u << site);
        }
}

/*
 * 13699 ways take more than that: what finds no place is counted at <other>, and nothing is lost but where it was.
 */
static void full_session_counts_calls_as_other(void **state)
{
    (void)state;
    start(256u << 10);
    entered = 0;
    const uint64_t from = now;
    wander(7);
    assert_int_equal(entered, 7 + 42 + 210 + 840 + 2520 + 5040 + 5040);
    assert_true(losses(HP_LOSS_NODES) > 0);
    const uint32_t root = context()->record->root, other = context()->record->other;
    const uint64_t in_tree = calls_below(root);
    assert_int_equal(in_tree, entered);
    /* Paths are lost, each of which may have many calls. */
    assert_true(calls_below(other) >= losses(HP_LOSS_NODES));
    assert_true(calls_below(other) > entered / 2);
    assert_true(hp_store_header(hp_runtime->store)->used <= 256u << 10);
    assert_true(now > from);
}

/* Keys beyond the limit share a row. */
static void keys_beyond_the_limit_share_a_row(void **state)
{
    (void)state;
    uint32_t nodes[7];
    start(0);
    for (int round = 0; round < 2; round++)
        for (char key = 0; key < 7; key++) {
            const char text[] = {(char)('a' + key), 0};
            HOTPATH_BLOCK_KEY("key", text);
            nodes[(int)key] = here();
            now += 1;
        }
    for (int key = 0; key < 4; key++) {
        assert_int_equal(node_at(nodes[key])->calls, 2);
        assert_int_not_equal(nodes[key], nodes[key + 1]);
    }
    assert_int_equal(nodes[4], nodes[5]);
    assert_int_equal(nodes[5], nodes[6]);
    assert_int_equal(node_at(nodes[4])->calls, 6);
}

/* A paused session records nothing, and goes on where it was. */
static void paused(void **state)
{
    (void)state;
    start(0);
    inner(10);
    struct hp_header *header = hp_store_header(hp_runtime->store);
    const uint32_t gate = header->gate;
    __atomic_store_n(&header->gate, gate | HP_GATE_PAUSED, __ATOMIC_RELAXED);
    inner(1000);
    __atomic_store_n(&header->gate, gate, __ATOMIC_RELAXED);
    inner(20);
    assert_int_equal(node_at(inner_node)->calls, 2);
    assert_int_equal(node_at(inner_node)->total, 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(times_are_exact, set_up, tear_down),
        cmocka_unit_test_setup_teardown(recursion_has_one_node, set_up, tear_down),
        cmocka_unit_test_setup_teardown(deep_stacks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(backward_clock_is_clamped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(zone_left_by_longjmp_has_time_to_its_last_event, set_up, tear_down),
        cmocka_unit_test_setup_teardown(handlers_do_not_touch_interrupted_contexts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(full_session_counts_calls_as_other, set_up, tear_down),
        cmocka_unit_test_setup_teardown(keys_beyond_the_limit_share_a_row, set_up, tear_down),
        cmocka_unit_test_setup_teardown(paused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, make_scratch_folder, remove_scratch_folder);
}
