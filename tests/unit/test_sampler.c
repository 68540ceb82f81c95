/*
 * The rules of CPU sampling, with fake clocks, timers and events: the session is real, but signals arrive when the
 * test calls the handler, and threads have used what the test says. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "hotpath.h"
#include "scratch_folder.h"
#include "thread_context.h"

#define MS UINT64_C(1000000)
#define PERIOD MS /* at a thousand samples a second */
#define MOST 4096u

/* ------------------------------------------------------------------------------------------- made-up kernel */

static struct hp_cpu_time used; /* by the thread */
static int perf_refusal;
static enum hp_cpu_source source;
static enum hp_cpu_mode mode;
static hp_signal_handler *handler;

/* The requested values. */
static uint64_t perf_periods[MOST], timer_firsts[MOST];
static uint32_t perf_samples[MOST], perf_starts, perf_stops, timer_changes, timer_starts, timer_stops;
static uint64_t timer_period;
static uint32_t passed_on; /* signals of others */

/* The linker redirects the library to these (--wrap); they have the same prototypes. */
#define WRAPPED(result, name, parameters)                                                                          \
    __typeof__(name) __wrap_##name;                                                                                \
    result __wrap_##name parameters

WRAPPED(struct hp_cpu_time, hp_cpu_of_thread, (void)) { return used; }
WRAPPED(struct hp_cpu_time, hp_cpu_of_process, (void)) { return used; }

WRAPPED(bool, hp_cpu_timer_start, (int *timer, int signal, void *owner, uint64_t first_ns, uint64_t period_ns))
{
    (void)signal;
    (void)owner;
    (void)first_ns;
    *timer = 1;
    timer_period = period_ns;
    timer_starts++;
    return true;
}

WRAPPED(void, hp_cpu_timer_change, (int timer, uint64_t first_ns, uint64_t period_ns))
{
    (void)timer;
    timer_firsts[timer_changes++ % MOST] = first_ns;
    timer_period = period_ns;
}

WRAPPED(void, hp_cpu_timer_stop, (int timer))
{
    (void)timer;
    timer_stops++;
}

WRAPPED(void *, hp_cpu_perf_start, (int signal, uint64_t period_ns, uint32_t samples, int *refusal))
{
    (void)signal;
    perf_samples[perf_starts % MOST] = samples;
    perf_periods[perf_starts++ % MOST] = period_ns;
    *refusal = perf_refusal;
    return perf_refusal == 0 ? &perf_starts : NULL;
}

WRAPPED(void, hp_cpu_perf_stop, (void *mapping)) { perf_stops += mapping == &perf_starts; }

WRAPPED(int, hp_cpu_perf_prepare, (void **mapping))
{
    *mapping = NULL;
    return perf_refusal;
}

WRAPPED(struct hp_cpu_perf_weight, hp_cpu_perf_weigh, (enum hp_counter counter, uint64_t step))
{
    (void)counter;
    (void)step;
    return (struct hp_cpu_perf_weight){0};
}

WRAPPED(enum hp_cpu_source, hp_cpu_source_of, (const void *info, const void *owner))
{
    (void)info;
    (void)owner;
    return source;
}

/* Where every zone is further out. */
WRAPPED(uintptr_t, hp_cpu_stack_of, (const void *context)) { return (uintptr_t)context; }
WRAPPED(enum hp_cpu_mode, hp_cpu_mode_of, (const void *context)) { return context != NULL ? HP_CPU_USER : mode; }

WRAPPED(struct hp_stack, hp_cpu_alternate_of, (const void *context))
{
    (void)context;
    return (struct hp_stack){0, 0};
}

WRAPPED(enum hp_alternate, hp_alternate_present, (uint64_t * bytes))
{
    *bytes = 0;
    return HP_ALTERNATE_NONE;
}

WRAPPED(bool, hp_private_signal_take,
        (struct hp_taken_signal * taken, enum hp_private_signal which, hp_signal_handler *ours))
{
    (void)taken;
    (void)which;
    handler = ours;
    return true;
}

WRAPPED(void, hp_private_signal_pass_on,
        (struct hp_taken_signal * taken, int signal, siginfo_t *info, void *context))
{
    (void)taken;
    (void)signal;
    (void)info;
    (void)context;
    passed_on++;
}

WRAPPED(bool, hp_private_signal_guard_io, (void)) { return true; }
WRAPPED(void, hp_private_signal_drop, (enum hp_private_signal which)) { (void)which; }

/* ---------------------------------------------------------------------------------------------------- scenes */

static void use(uint64_t user_ns, uint64_t kernel_ns)
{
    used.ns += user_ns + kernel_ns;
    used.kernel_ns += kernel_ns;
}

static void signal_by(enum hp_cpu_source by)
{
    source = by;
    handler(hp_private_signal_number(HP_SIGNAL_HERE), NULL, NULL);
}

static struct hp_thread_context *context(void) { return hp_thread_present(); }
static uint32_t here(void) { return context()->hot.top->node; }
static const struct hp_cpu_thread *cpu(void) { return context()->sampler.cpu; }

static struct hp_cpu_node credit_of(uint32_t node)
{
    const struct hp_cpu_table *table = hp_store_at(context()->store, cpu()->table);
    for (uint32_t at = 0; at < table->capacity; at++)
        if (table->nodes[at].node == node)
            return table->nodes[at];
    return (struct hp_cpu_node){0};
}

/* All that was credited, and what still waits. */
static uint64_t all_credits(void)
{
    const struct hp_cpu_table *table = hp_store_at(context()->store, cpu()->table);
    uint64_t ns = cpu()->waiting_ns + cpu()->unseen_ns;
    for (uint32_t at = 0; at < table->capacity; at++)
        if (table->nodes[at].node != 0)
            ns += table->nodes[at].user_ns + table->nodes[at].kernel_ns;
    return ns;
}

static void begin(void)
{
    struct hotpath_options options = {
        .size = sizeof options, .cpu = 1, .cpu_rate = 1000, .format = "none", .dir = scratch_folder};
    assert_int_equal(hotpath_start(&options), HOTPATH_OK);
}

/* From now on chance is the same each time. */
static void settle_chance(void) { context()->sampler.chance = 88172645463325252u; }

static int set_up(void **state)
{
    (void)state;
    memset(&used, 0, sizeof used);
    perf_refusal = 0;
    mode = HP_CPU_USER;
    perf_starts = perf_stops = timer_changes = timer_starts = timer_stops = passed_on = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    hotpath_stop();
    return 0;
}

/* ----------------------------------------------------------------------------------------------------- tests */

static void a_thread_is_sampled_from_its_first_zone_on(void **state)
{
    (void)state;
    begin();
    assert_int_equal(timer_starts + perf_starts, 0);
    use(5 * MS, 1 * MS);
    HOTPATH_BLOCK("zone");
    assert_int_equal(timer_starts, 1);
    assert_int_equal(perf_starts, 1); /* the first thread has it at once */
    /* Earlier CPU time is outside all zones. */
    const struct hp_cpu_node outside = credit_of(context()->record->root);
    assert_int_equal(outside.user_ns, 5 * MS);
    assert_int_equal(outside.kernel_ns, 1 * MS);
    assert_int_equal(cpu()->waiting_ns, 0);
}

/* Beside perf the timer is for kernel time only. */
static void timers_come_less_often_beside_perf(void **state)
{
    (void)state;
    begin();
    HOTPATH_BLOCK("zone");
    settle_chance();
    assert_int_equal(timer_period, 10 * PERIOD);
    for (int signals = 0; signals < 1000; signals++) {
        use(10 * PERIOD, 0);
        signal_by(HP_CPU_BY_PERF);
        signal_by(HP_CPU_BY_TIMER);
    }
    /* Each is due at another time, which is never the round one. */
    assert_in_range(timer_changes, 1000, 1001);
    uint64_t sum = 0;
    for (uint32_t at = 0; at < timer_changes; at++) {
        assert_in_range(timer_firsts[at], 10 * PERIOD * 2 / 3, 10 * PERIOD * 4 / 3);
        assert_true(timer_firsts[at] >= 10 * PERIOD * 13 / 12 || timer_firsts[at] <= 10 * PERIOD * 11 / 12);
        sum += timer_firsts[at];
    }
    assert_in_range(sum / timer_changes, 97 * PERIOD / 10, 103 * PERIOD / 10);
}

/* An event is good for some samples, twice as many each time, and each has a period of its own. */
static void periods_are_random(void **state)
{
    (void)state;
    begin();
    HOTPATH_BLOCK("zone");
    settle_chance();
    perf_stops = 0; /* of the session before */
    for (int events = 0; events < 999; events++) {
        use(PERIOD, 0);
        signal_by(HP_CPU_BY_ENDING_PERF);
    }
    assert_int_equal(perf_starts, 1000);
    assert_int_equal(perf_stops, 999);
    assert_int_equal(perf_samples[0], 64);
    assert_int_equal(perf_samples[1], 128);
    assert_int_equal(perf_samples[3], HP_CPU_MOST_SAMPLES);
    assert_int_equal(perf_samples[999], HP_CPU_MOST_SAMPLES);
    uint64_t sum = 0, same = 0;
    for (uint32_t at = 0; at < perf_starts; at++) {
        assert_in_range(perf_periods[at], PERIOD * 2 / 3, PERIOD * 4 / 3);
        assert_true(perf_periods[at] >= PERIOD * 13 / 12 || perf_periods[at] <= PERIOD * 11 / 12);
        sum += perf_periods[at];
        same += at > 0 && perf_periods[at] == perf_periods[at - 1];
    }
    assert_in_range(sum / perf_starts, 97 * PERIOD / 100, 103 * PERIOD / 100);
    assert_true(same < 3);
}

/* Timer signals after so much CPU time each, with so many switches for a second of it. */
static void run_switched(uint64_t per_second, int signals)
{
    for (; signals > 0; signals--) {
        use(10 * PERIOD, 0);
        used.switches += per_second / 100;
        if (context()->sampler.perf != NULL)
            signal_by(HP_CPU_BY_PERF);
        signal_by(HP_CPU_BY_TIMER);
    }
}

/* An event has a price whenever its thread is switched. Between the two bounds all stays as it is. */
static void threads_that_switch_often_use_timers_alone(void **state)
{
    (void)state;
    begin();
    HOTPATH_BLOCK("zone");
    perf_stops = 0; /* of the session before */
    run_switched(4000, 5);
    assert_int_equal(perf_stops, 0);
    run_switched(6000, 1);
    assert_int_equal(perf_stops, 1);
    assert_null(context()->sampler.perf);
    assert_int_equal(timer_period, PERIOD);
    assert_int_equal(timer_firsts[timer_changes - 1], PERIOD); /* ticks say when, so there is nothing to choose */
    run_switched(4000, 20);
    assert_int_equal(perf_starts, 1);
    run_switched(2000, 1);
    assert_int_equal(perf_starts, 2);
    assert_int_equal(timer_period, 10 * PERIOD);
}

/* Sums match the clock, with any samples. */
static void sums_match_the_thread_clock(void **state)
{
    (void)state;
    static const enum hp_cpu_source sources[] = {HP_CPU_BY_PERF, HP_CPU_BY_PERF, HP_CPU_BY_TIMER,
                                                 HP_CPU_BY_ENDING_PERF};
    begin();
    HOTPATH_BLOCK("outer");
    for (uint32_t number = 1; number < 3000; number++) {
        HOTPATH_BLOCK("inner");
        use(number * 7919u % (3 * PERIOD), number % 5 == 0 ? number * 104729u % PERIOD : 0);
        mode = number % 7 == 0 ? HP_CPU_KERNEL : HP_CPU_USER;
        signal_by(sources[number * 31 / 7 % 4]);
        assert_int_equal(cpu()->user_ns + cpu()->kernel_ns, context()->sampler.counted.ns);
        assert_int_equal(all_credits(), context()->sampler.counted.ns);
    }
    use(0, 0);
    signal_by(HP_CPU_BY_TIMER);
    assert_int_equal(cpu()->user_ns + cpu()->kernel_ns, used.ns);
    assert_int_equal(all_credits(), used.ns);
}

/* Three of four samples are in one function: it gets three quarters of the time. */
static void samples_share_out_the_time(void **state)
{
    (void)state;
    uint32_t often = 0, seldom = 0;
    begin();
    HOTPATH_BLOCK("outer");
    for (int number = 0; number < 400; number++) {
        use(context()->sampler.perf_ns, 0);
        if (number % 4 == 3) {
            HOTPATH_BLOCK("seldom");
            seldom = here();
            signal_by(HP_CPU_BY_PERF);
        } else {
            HOTPATH_BLOCK("often");
            often = here();
            signal_by(HP_CPU_BY_PERF);
        }
    }
    signal_by(HP_CPU_BY_TIMER);
    assert_int_equal(credit_of(often).samples, 300);
    assert_int_equal(credit_of(seldom).samples, 100);
    assert_in_range(credit_of(often).user_ns, used.ns * 74 / 100, used.ns * 76 / 100);
    assert_in_range(credit_of(seldom).user_ns, used.ns * 24 / 100, used.ns * 26 / 100);
    assert_int_equal(credit_of(often).kernel_ns + credit_of(seldom).kernel_ns, 0);
}

/* What perf has not seen waits until it is known where ticks find the thread in the kernel. */
static void time_perf_missed_goes_where_ticks_find_the_kernel(void **state)
{
    (void)state;
    begin();
    HOTPATH_BLOCK("outer");
    const uint32_t outer = here();
    use(PERIOD / 2, 0);
    signal_by(HP_CPU_BY_PERF);
    {
        HOTPATH_BLOCK("call");
        const uint32_t call = here();
        use(0, 5 * PERIOD);
        mode = HP_CPU_KERNEL;
        signal_by(HP_CPU_BY_TIMER);
        assert_int_equal(credit_of(call).samples, 1);
        assert_int_equal(credit_of(call).ticked_ns, 5 * PERIOD + PERIOD / 2);
        assert_int_equal(credit_of(call).user_ns, 0);
    }
    assert_int_equal(credit_of(outer).user_ns + cpu()->unseen_ns, 5 * PERIOD + PERIOD / 2);
    assert_true(credit_of(outer).user_ns > 0);
}

/* A sample that comes just behind the clock has its whole period, although a signal of the timer was in between. */
static void timer_signal_does_not_cut_a_perf_period(void **state)
{
    (void)state;
    begin();
    HOTPATH_BLOCK("zone");
    const uint64_t period = context()->sampler.perf_ns;
    use(period - 1000, 0);
    signal_by(HP_CPU_BY_TIMER);
    assert_int_equal(cpu()->unseen_ns, period - 1000);
    use(1000, 0);
    signal_by(HP_CPU_BY_PERF);
    signal_by(HP_CPU_BY_TIMER);
    assert_int_equal(credit_of(here()).user_ns, period);
    assert_int_equal(cpu()->unseen_ns, 0);
}

/* Signals of the timer that find user time and no sample: the event's last one was lost, and it is started anew. */
static void silent_perf_event_is_renewed(void **state)
{
    (void)state;
    begin();
    HOTPATH_BLOCK("zone");
    perf_stops = 0; /* of the session before */
    for (int signals = 0; signals < 7; signals++) {
        use(10 * PERIOD, 0);
        signal_by(HP_CPU_BY_TIMER);
    }
    assert_int_equal(perf_starts, 1);
    use(10 * PERIOD, 0);
    signal_by(HP_CPU_BY_TIMER);
    assert_int_equal(perf_starts, 2);
    assert_int_equal(perf_stops, 1);
    assert_int_equal(credit_of(here()).user_ns, used.ns); /* and nothing was lost in between */
}

static void ticks_alone_without_perf(void **state)
{
    (void)state;
    perf_refusal = EACCES;
    begin();
    HOTPATH_BLOCK("zone");
    const struct hp_header *header = hp_store_header(context()->store);
    assert_int_equal(header->cpu_engine, HP_CPU_TIMERS);
    assert_int_equal(header->cpu_refusal, EACCES);
    assert_int_equal(perf_starts, 0);
    assert_int_equal(timer_period, PERIOD);
    use(4 * PERIOD, 0);
    signal_by(HP_CPU_BY_TIMER);
    mode = HP_CPU_KERNEL;
    use(3 * PERIOD, 0); /* whatever the kernel reports for it */
    signal_by(HP_CPU_BY_TIMER);
    assert_int_equal(credit_of(here()).user_ns, 4 * PERIOD);
    assert_int_equal(credit_of(here()).kernel_ns, 3 * PERIOD);
    assert_int_equal(credit_of(here()).samples, 2);
    assert_int_equal(timer_changes, 0);
}

/* Signals of others are passed on, and those that come when the sources are gone change nothing. */
static void foreign_signals_are_not_counted(void **state)
{
    (void)state;
    begin();
    HOTPATH_BLOCK("zone");
    use(PERIOD, 0);
    signal_by(HP_CPU_BY_PERF);
    const uint64_t samples = cpu()->samples;
    assert_int_equal(passed_on, 0);
    signal_by(HP_CPU_BY_OTHERS);
    assert_int_equal(passed_on, 1);
    assert_int_equal(cpu()->samples, samples);
    context()->sampler.has_timer = false;
    context()->sampler.perf = NULL;
    signal_by(HP_CPU_BY_TIMER);
    assert_int_equal(cpu()->samples, samples);
}

/* ------------------------------------------------------------------------------------------- another thread */

/* What happened there, since a test may only fail on its own thread. */
static struct {
    uint32_t perf_at_first, perf_after_signal, timers, period_at_first;
    uint64_t period_after_signal;
} other;

static void *be_other(void *unused)
{
    HOTPATH_BLOCK("other");
    other.timers = timer_starts;
    other.perf_at_first = perf_starts;
    other.period_at_first = (uint32_t)timer_period;
    use(PERIOD, 0);
    signal_by(HP_CPU_BY_TIMER);
    other.perf_after_signal = perf_starts;
    other.period_after_signal = timer_period;
    return unused;
}

/* Short threads cost one timer: perf joins when that has gone off. */
static void other_threads_begin_with_a_timer(void **state)
{
    (void)state;
    pthread_t thread;
    begin();
    HOTPATH_BLOCK("first");
    const uint32_t perf_before = perf_starts, timers_before = timer_starts;
    assert_int_equal(pthread_create(&thread, NULL, be_other, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(other.timers, timers_before + 1);
    assert_int_equal(other.perf_at_first, perf_before);
    assert_int_equal(other.period_at_first, PERIOD);
    assert_int_equal(other.perf_after_signal, perf_before + 1);
    assert_int_equal(other.period_after_signal, 10 * PERIOD);
    assert_true(timer_stops >= 1); /* it has ended */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_thread_is_sampled_from_its_first_zone_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(timers_come_less_often_beside_perf, set_up, tear_down),
        cmocka_unit_test_setup_teardown(periods_are_random, set_up, tear_down),
        cmocka_unit_test_setup_teardown(threads_that_switch_often_use_timers_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sums_match_the_thread_clock, set_up, tear_down),
        cmocka_unit_test_setup_teardown(samples_share_out_the_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(time_perf_missed_goes_where_ticks_find_the_kernel, set_up, tear_down),
        cmocka_unit_test_setup_teardown(timer_signal_does_not_cut_a_perf_period, set_up, tear_down),
        cmocka_unit_test_setup_teardown(silent_perf_event_is_renewed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ticks_alone_without_perf, set_up, tear_down),
        cmocka_unit_test_setup_teardown(foreign_signals_are_not_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_threads_begin_with_a_timer, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, make_scratch_folder, remove_scratch_folder);
}
