/*
 * What goes on while recording is paused (`hotpath off`): tasks end, items are received, levels change. Otherwise
 * they would seem to be open, queued or high ever after. SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "hook_entries.h"
#include "process.h"
#include "report_number.h"
#include "runtime.h"
#include "scratch_folder.h"

static uint64_t now = 1000000;

/* The linker has the library call these (--wrap). A tick is a nanosecond. */
__typeof__(hp_clock_counter) __wrap_hp_clock_counter;
__typeof__(hp_now) __wrap_hp_now;
__typeof__(hp_clock_pair) __wrap_hp_clock_pair;
enum hp_counter __wrap_hp_clock_counter(void) { return HP_COUNTER_NONE; }
uint64_t __wrap_hp_now(void) { return now += 10; }
void __wrap_hp_clock_pair(enum hp_counter counter, uint64_t *ret_ticks, uint64_t *ret_ns)
{
    (void)counter;
    *ret_ticks = *ret_ns = __wrap_hp_now();
}

static int set_up(void **state)
{
    (void)state;
    struct hotpath_options options = {.size = sizeof options,
                                      .report = "timing,tasks,task-waits,streams,channels,loops,values",
                                      .limit = HOTPATH_NO_LIMIT,
                                      .dir = scratch_folder};
    hotpath_set_reporter(read_number, NULL);
    return hotpath_start(&options) != HOTPATH_OK;
}

static int tear_down(void **state)
{
    (void)state;
    hotpath_stop();
    return 0;
}

/* As `hotpath off` and `hotpath on` do from outside. */
static void pause_it(bool is_paused)
{
    uint32_t *gate = &hp_store_header(hp_runtime->store)->gate;
    __atomic_store_n(gate, is_paused ? *gate | HP_GATE_PAUSED : *gate & ~HP_GATE_PAUSED, __ATOMIC_RELAXED);
}

#define ASSERT_NUMBER(section, name, key, number) assert_int_equal((int)number_of(section, name, key), number)

static void check_tasks(int made)
{
    ASSERT_NUMBER("tasks", "request", "calls", made);
    ASSERT_NUMBER("tasks", "request", "open", 0);
    ASSERT_NUMBER("tasks", "request", "misused", 0);
}

static void tasks_end(void **state)
{
    (void)state;
    hotpath_task tasks[100], late[100];
    for (int at = 0; at < 100; at++)
        HOTPATH_TASK(&tasks[at], "request");
    pause_it(true);
    for (int at = 0; at < 50; at++)
        HOTPATH_TASK_READY(&tasks[at]);
    for (int at = 50; at < 100; at++) {
        HOTPATH_TASK_RUN(&tasks[at]);
    }
    check_tasks(100);
    pause_it(false);
    check_tasks(100);
    ASSERT_NUMBER("tasks", "request", "polls", 0);
    pause_it(true);
    for (int at = 0; at < 100; at++)
        HOTPATH_TASK(&late[at], "request");
    HOTPATH_TASK_CANCEL(&late[0]);
    pause_it(false);
    ASSERT_NUMBER("tasks", "request", "open", 99);
    for (int at = 1; at < 100; at++)
        HOTPATH_TASK_READY(&late[at]);
    check_tasks(200);
    ASSERT_NUMBER("tasks", "request", "cancelled", 1);
}

/* A poll that began before is counted; its task goes on as the running one of the thread. */
static void polls_end(void **state)
{
    (void)state;
    hotpath_task task;
    HOTPATH_TASK(&task, "request");
    {
        HOTPATH_TASK_POLL(&task);
        pause_it(true);
        assert_int_equal(hotpath_current().id_, task.id_);
    }
    assert_int_equal(hotpath_current().id_, 0);
    {
        HOTPATH_TASK_POLL(&task);
        assert_int_equal(hotpath_current().id_, task.id_);
        pause_it(false);
    }
    assert_int_equal(hotpath_current().id_, 0);
    ASSERT_NUMBER("tasks", "request", "polls", 1);
    HOTPATH_TASK_READY(&task);
    check_tasks(1);
}

static void lanes_are_switched(void **state)
{
    (void)state;
    hotpath_task task;
    pause_it(true);
    HOTPATH_TASK(&task, "request", .lane = 1);
    {
        HOTPATH_TASK_POLL(&task);
        pause_it(false);
        const hotpath_lane lane = hotpath_switch(0);
        assert_int_not_equal(lane, 0);
        hotpath_switch(lane);
    }
    assert_int_equal(hotpath_switch(0), 0);
    HOTPATH_TASK_READY(&task);
    check_tasks(1);
}

static void send(const void *queue, int count)
{
    for (int at = 0; at < count; at++)
        HOTPATH_CHANNEL_SENT("queue", queue, 1, 10, -1);
}

static void receive(const void *queue, int count)
{
    for (int at = 0; at < count; at++)
        HOTPATH_CHANNEL_RECEIVED("queue", queue, 1, 10, -1);
}

static void check_queue(int sent, int inside)
{
    ASSERT_NUMBER("channels", "queue", "sent", sent);
    ASSERT_NUMBER("channels", "queue", "received", sent - inside);
    ASSERT_NUMBER("channels", "queue", "queue", inside);
}

static void items_are_received(void **state)
{
    (void)state;
    static const char first, second;
    send(&first, 100);
    pause_it(true);
    receive(&first, 100);
    check_queue(100, 0);
    send(&first, 30);
    send(&second, 20); /* first used while off */
    pause_it(false);
    check_queue(150, 50);
    receive(&first, 10);
    for (int round = 0; round < 5; round++) {
        pause_it(round % 2 == 0);
        send(&first, 7);
        receive(&first, 3);
    }
    receive(&second, 20);
    HOTPATH_CHANNEL_DROPPED("queue", &first, 40);
    ASSERT_NUMBER("channels", "queue", "sent", 185);
    ASSERT_NUMBER("channels", "queue", "dropped", 40);
    ASSERT_NUMBER("channels", "queue", "queue", 0);
}

static void waits_end(void **state)
{
    (void)state;
    static const char queue;
    send(&queue, 1);
    {
        HOTPATH_CHANNEL_FULL("queue", &queue);
        pause_it(true);
    }
    {
        HOTPATH_CHANNEL_FULL("queue", &queue); /* not recorded */
        pause_it(false);
    }
    ASSERT_NUMBER("channels", "queue", "full_waits", 1);
}

static void found_channels_go_on(void **state)
{
    (void)state;
    HOTPATH_SITE_(site, HOTPATH_KIND_OBJECT_, "pipe", );
    for (int at = 0; at < 40; at++) {
        pause_it(at / 10 % 2 == 1);
        struct hotpath_transfer_ transfer = {
            .site = &site, .channel = (const void *)1, .kind = HOTPATH_PIPE_, .is_sending = at < 20};
        hotpath_v1_transfer(&transfer);
        hotpath_v1_transferred(&transfer, 1, 5, 0);
    }
    ASSERT_NUMBER("channels", "pipe", "sent_bytes", 100);
    ASSERT_NUMBER("channels", "pipe", "received_bytes", 100);
}

static void levels_change(void **state)
{
    (void)state;
    for (int at = 0; at < 100; at++)
        HOTPATH_GAUGE_ADD("connections", 1);
    pause_it(true);
    for (int at = 0; at < 100; at++)
        HOTPATH_GAUGE_ADD("connections", -1);
    HOTPATH_GAUGE_ADD("late", 5);
    HOTPATH_GAUGE_SET("set", 7);
    pause_it(false);
    ASSERT_NUMBER("values", "connections", "last_number", 0);
    HOTPATH_GAUGE_ADD("connections", 1);
    HOTPATH_GAUGE_ADD("late", -5);
    HOTPATH_GAUGE_ADD("set", 1);
    ASSERT_NUMBER("values", "connections", "last_number", 1);
    ASSERT_NUMBER("values", "late", "last_number", 0);
    ASSERT_NUMBER("values", "set", "last_number", 8);
    ASSERT_NUMBER("values", "connections", "updates", 101);
    ASSERT_NUMBER("values", "connections", "min", 1); /* not of the time that it was off */
}

static void yield_one(void)
{
    HOTPATH_STREAM_NEXT("stream", NULL);
    HOTPATH_STREAM_ITEM("stream", NULL, 1, 1);
}

/* The pause is not a gap between two items, and nobody worked on one. */
static void streams_begin_again(void **state)
{
    (void)state;
    for (int at = 0; at < 10; at++)
        yield_one();
    pause_it(true);
    yield_one();
    now += 1000000;
    pause_it(false);
    for (int at = 0; at < 10; at++)
        yield_one();
    ASSERT_NUMBER("streams", "stream", "items", 20);
    assert_true(number_of("streams", "stream", "gap_mean_ns") < 1000);
    assert_true(number_of("streams", "stream", "consumed_ns") < 10000);
    {
        HOTPATH_STREAM_NEXT("stream", NULL);
        pause_it(true);
    }
    now += 1000000;
    pause_it(false);
    yield_one();
    assert_true(number_of("streams", "stream", "produced_ns") < 10000);
}

/* A turn that began before ends as usual; the pause is no turn. */
static void loops_begin_again(void **state)
{
    (void)state;
    for (int at = 0; at < 30; at++) {
        pause_it(at >= 10 && at < 20);
        {
            HOTPATH_LOOP_WAIT("loop");
        }
        if (at == 19)
            now += 1000000;
    }
    ASSERT_NUMBER("loops", "loop", "waits", 20);
    ASSERT_NUMBER("loops", "loop", "turns", 10 + 9);
    assert_true(number_of("loops", "loop", "longest_turn_ns") < 10000);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(tasks_end),          TEST(polls_end),           TEST(lanes_are_switched),
        TEST(items_are_received), TEST(waits_end),           TEST(found_channels_go_on),
        TEST(levels_change),      TEST(streams_begin_again), TEST(loops_begin_again),
    };
    return cmocka_run_group_tests(tests, make_scratch_folder, remove_scratch_folder);
}
