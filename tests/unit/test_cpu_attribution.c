/* Attribution of CPU time by the recorder, in a session with made-up samples only. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cpu_attribution.h"
#include "hotpath.h"
#include "thread_context.h"

#define MS UINT64_C(1000000)

static struct hp_thread_context *context;
static uint32_t here, there;
static struct hp_cpu_thread cpu;
static char folder[64];

static void find_here(void)
{
    HOTPATH_BLOCK("here");
    context = hp_thread_present();
    here = context->hot.top->node;
}

static void find_there(void)
{
    HOTPATH_BLOCK("there");
    there = context->hot.top->node;
}

static int set_up(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(strcpy(folder, "/tmp/hotpath-credits-XXXXXX")));
    const struct hotpath_options options = {.size = sizeof options, .format = "none", .dir = folder, .keep = 1};
    assert_int_equal(hotpath_start(&options), HOTPATH_OK);
    find_here();
    find_there();
    cpu = (struct hp_cpu_thread){.table = 0};
    context->sampler = (struct hp_sampler){.cpu = &cpu};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s", hotpath_session_path());
    context->sampler = (struct hp_sampler){.cpu = NULL};
    assert_int_equal(hotpath_stop(), HOTPATH_OK);
    unlink(path);
    return rmdir(folder);
}

/* One sample of perf's here, and as much more that waits. */
static void see_here(uint64_t perf_ms, uint64_t more_ms)
{
    struct hp_sampler *sampler = &context->sampler;
    sampler->seen[sampler->seen_count++] = here;
    sampler->seen_ns += perf_ms * MS;
    cpu.user_ns += (perf_ms + more_ms) * MS;
    cpu.waiting_ns += (perf_ms + more_ms) * MS;
}

static struct hp_cpu_node of_node(uint32_t node)
{
    const struct hp_cpu_table *table = hp_store_at(context->store, cpu.table);
    for (uint32_t at = 0; at < table->capacity; at++)
        if (table->nodes[at].node == node)
            return table->nodes[at];
    return (struct hp_cpu_node){.node = 0};
}

static void unsampled_time_at_a_kernel_tick_is_kept_apart(void **state)
{
    (void)state;
    see_here(1, 9);
    hp_cpu_attribute_tick(context, there, true, 0);
    assert_int_equal(of_node(here).user_ns, 1 * MS);
    assert_int_equal(of_node(there).user_ns, 0);
    assert_int_equal(of_node(there).ticked_ns, 10 * MS);
    assert_int_equal(cpu.unseen_ns, 9 * MS);
}

static void delayed_tick_credits_the_function_it_finds(void **state)
{
    (void)state;
    see_here(1, 99);
    hp_cpu_attribute_tick(context, there, false, 90 * MS);
    assert_int_equal(of_node(here).user_ns, 1 * MS);
    assert_int_equal(of_node(there).user_ns, 90 * MS);
    assert_int_equal(cpu.unseen_ns, 9 * MS);
    assert_int_equal(cpu.waiting_ns, 0);
}

static void delayed_tick_credits_at_most_the_unsampled_time(void **state)
{
    (void)state;
    see_here(1, 20);
    hp_cpu_attribute_tick(context, there, false, 90 * MS);
    assert_int_equal(of_node(there).user_ns, 20 * MS);
    assert_int_equal(cpu.unseen_ns, 0);
}

/* A call that took so long had its signal wait. */
static void delayed_tick_in_the_kernel_credits_nothing(void **state)
{
    (void)state;
    see_here(1, 99);
    hp_cpu_attribute_tick(context, there, true, 90 * MS);
    assert_int_equal(of_node(there).user_ns, 0);
    assert_int_equal(cpu.unseen_ns, 99 * MS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(unsampled_time_at_a_kernel_tick_is_kept_apart),
        TEST(delayed_tick_credits_the_function_it_finds),
        TEST(delayed_tick_credits_at_most_the_unsampled_time),
        TEST(delayed_tick_in_the_kernel_credits_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
