/* The rules of the verdict, at and around each threshold. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "verdict.h"

#define SECOND 1e9

static struct hp_judgement judge(struct hp_evidence evidence)
{
    struct hp_judgement judgement;
    hp_judge(&evidence, &judgement);
    return judgement;
}

static void assert_verdict(struct hp_evidence evidence, const char *name)
{
    assert_string_equal(hp_verdict_name(judge(evidence).verdict), name);
}

/* One second, sampled. */
static struct hp_evidence busy_for(double ns)
{
    return (struct hp_evidence){.wall_ns = SECOND, .samples_due = 997, .has_cpu = true, .cpu_ns = ns};
}

/* One second, sampled and watched. */
static struct hp_evidence watched(double busy_ns, double waited_ns, double queue_ns)
{
    struct hp_evidence evidence = busy_for(busy_ns);
    evidence.has_waits = true;
    evidence.waited_ns = waited_ns;
    evidence.queue_ns = queue_ns;
    return evidence;
}

static struct hp_evidence allocating(double busy_ns, double count)
{
    struct hp_evidence evidence = busy_for(busy_ns);
    evidence.has_allocs = true;
    evidence.alloc_count = count;
    return evidence;
}

static void cpu_time_alone_separates_busy_from_waiting(void **state)
{
    (void)state;
    assert_verdict(busy_for(SECOND), "cpu-bound");
    assert_verdict(busy_for(0.6 * SECOND), "cpu-bound");
    assert_verdict(busy_for(0.599 * SECOND), "mixed");
    assert_verdict(busy_for(0.401 * SECOND), "mixed");
    assert_verdict(busy_for(0.4 * SECOND), "waiting");
    assert_verdict(busy_for(0), "waiting");
}

/* The same of a time that is scaled up from some calls. */
static struct hp_evidence scaled(struct hp_evidence evidence)
{
    evidence.is_wall_scaled = true;
    return evidence;
}

static void scaled_time_without_cpu_time_is_unknown(void **state)
{
    (void)state;
    assert_verdict(scaled(busy_for(0.013 * SECOND)), "unknown");
    assert_false(judge(scaled(busy_for(0.013 * SECOND))).knows_waiting);
    assert_verdict(scaled(busy_for(0.6 * SECOND)), "cpu-bound");
    assert_verdict(scaled(watched(0.1 * SECOND, 0.1 * SECOND, 0)), "unknown");
    assert_verdict(scaled(watched(0.1 * SECOND, 0.6 * SECOND, 0)), "waiting");
    assert_verdict(scaled(watched(0.3 * SECOND, 0.4 * SECOND, 0)), "mixed");
    const struct hp_judgement judgement = judge(scaled(watched(0.7 * SECOND, 0.1 * SECOND, 0)));
    assert_int_equal(judgement.verdict, HP_VERDICT_CPU_BOUND);
    assert_true(judgement.busy_ns == 0.7 * SECOND);
    assert_true(judgement.waiting_ns == 0.1 * SECOND);
}

static void busy_and_waiting_add_up(void **state)
{
    (void)state;
    const struct hp_judgement plain = judge(busy_for(3e8));
    assert_true(plain.knows_waiting);
    assert_true(plain.busy_ns == 3e8 && plain.waiting_ns == 7e8);
    /* Samples may credit more than there was time. */
    const struct hp_judgement much = judge(busy_for(1.1e9));
    assert_true(much.busy_ns == SECOND && much.waiting_ns == 0);
    assert_int_equal(much.verdict, HP_VERDICT_CPU_BOUND);
}

static struct hp_evidence idling(double busy_ns, double waited_ns, double idle_ns)
{
    struct hp_evidence evidence = watched(busy_ns, waited_ns, 0);
    evidence.idle_ns = idle_ns;
    return evidence;
}

static void idle_verdict(void **state)
{
    (void)state;
    assert_verdict(idling(0, SECOND, SECOND), "idle");
    assert_verdict(idling(0, SECOND, 0.6 * SECOND), "idle");
    assert_verdict(idling(0, SECOND, 0.599 * SECOND), "waiting");
    assert_verdict(idling(0.5 * SECOND, 0.5 * SECOND, 0.5 * SECOND), "mixed");
    assert_verdict(idling(0.7 * SECOND, 0.3 * SECOND, 0.3 * SECOND), "cpu-bound");
}

/*
 * Unseen waiting is taken to be like the sampled waiting if that is at least a quarter, and excess is scaled down.
 */
static void idle_time_is_a_part_of_waiting(void **state)
{
    (void)state;
    assert_true(judge(idling(0, SECOND, 0.25 * SECOND)).idle_ns == 0.25 * SECOND);
    assert_true(judge(idling(0, 0.5 * SECOND, 0.25 * SECOND)).idle_ns == 0.5 * SECOND);
    assert_true(judge(idling(0, 0.25 * SECOND, 0.125 * SECOND)).idle_ns == 0.5 * SECOND);
    assert_true(judge(idling(0, 0.24 * SECOND, 0.125 * SECOND)).idle_ns == 0.125 * SECOND);
    assert_true(judge(idling(0, 2 * SECOND, 2 * SECOND)).idle_ns == SECOND);
    assert_true(judge(idling(SECOND, 2 * SECOND, 2 * SECOND)).idle_ns == 0);
    assert_true(judge(busy_for(0)).idle_ns == 0);
}

static void too_few_samples_give_no_verdict(void **state)
{
    (void)state;
    struct hp_evidence evidence = busy_for(SECOND);
    evidence.samples_due = HP_VERDICT_LEAST_SAMPLES;
    assert_verdict(evidence, "cpu-bound");
    evidence.samples_due = HP_VERDICT_LEAST_SAMPLES - 0.01;
    assert_verdict(evidence, "too-short");
    evidence.cpu_ns = 0;
    assert_verdict(evidence, "too-short");
    assert_verdict((struct hp_evidence){.has_cpu = true, .samples_due = 100}, "too-short");
}

static void starved_verdict(void **state)
{
    (void)state;
    assert_verdict(watched(0.75e9, 0.25e9, 0.25e9), "starved");
    assert_verdict(watched(0.75e9, 0.25e9, 0.249e9), "cpu-bound");
    assert_verdict(watched(0.1e9, 0.9e9, 0.9e9), "starved");
    /* Half of its waiting at least. */
    assert_verdict(watched(0.2e9, 0.8e9, 0.4e9), "starved");
    assert_verdict(watched(0.2e9, 0.8e9, 0.399e9), "waiting");
    assert_verdict(watched(0.5e9, 0.5e9, 0.2e9), "mixed");
    /* Unseen waiting does not count. */
    assert_verdict(watched(0.2e9, 0.5e9, 0.25e9), "starved");
    assert_verdict(watched(0.2e9, 0.51e9, 0.25e9), "waiting");
}

/* Wait samples are coarse: a function that was busy was not waiting, whatever they say. */
static void waits_are_scaled_to_the_time_left_by_cpu_time(void **state)
{
    (void)state;
    assert_verdict(watched(0.9e9, 0.4e9, 0.4e9), "cpu-bound");
    const struct hp_judgement judgement = judge(watched(0.9e9, 0.4e9, 0.2e9));
    assert_true(judgement.waiting_ns > 0.0999e9 && judgement.waiting_ns < 0.1001e9);
    assert_true(judgement.waited_scale > 0.2499 && judgement.waited_scale < 0.2501);
    assert_true(judgement.queue_ns > 0.0499e9 && judgement.queue_ns < 0.0501e9);
    /* They are not scaled up: the rest is unseen waiting. */
    assert_true(judge(watched(0.1e9, 0.2e9, 0.2e9)).queue_ns == 0.2e9);
    assert_verdict(watched(0.1e9, 0.2e9, 0.2e9), "waiting");
}

static void without_cpu_time_the_rest_of_waiting_is_busy(void **state)
{
    (void)state;
    struct hp_evidence evidence = {.wall_ns = SECOND, .samples_due = 100, .has_waits = true, .waited_ns = 0.6e9};
    assert_verdict(evidence, "waiting");
    evidence.waited_ns = 0.5e9;
    assert_verdict(evidence, "mixed");
    evidence.waited_ns = 0.4e9;
    assert_verdict(evidence, "cpu-bound");
    evidence.waited_ns = 0.4e9;
    evidence.queue_ns = 0.3e9;
    assert_verdict(evidence, "starved");
    evidence.waited_ns = 2e9; /* more than there was */
    evidence.queue_ns = 0;
    assert_verdict(evidence, "waiting");
    assert_true(judge(evidence).waiting_ns == SECOND);
}

static void allocations_are_weighed_against_busy_time(void **state)
{
    (void)state;
    const double third = 0.9e9 / 3 / HP_VERDICT_PAIR_NS;
    assert_verdict(allocating(0.9e9, third + 1), "allocation-heavy");
    assert_verdict(allocating(0.9e9, third - 1), "cpu-bound");
    assert_verdict(allocating(0.9e9, 100 * third), "allocation-heavy");
    assert_true(judge(allocating(0.9e9, 100 * third)).alloc_part == 1);
    /* A waiting function does not allocate at the same time. */
    assert_verdict(allocating(0.4e9, third), "waiting");
    assert_verdict(allocating(0.5e9, third), "allocation-heavy");
    assert_verdict(allocating(0.5e9, 1), "mixed");
    struct hp_evidence evidence = allocating(0.9e9, 2 * third);
    evidence.has_allocs = false;
    assert_verdict(evidence, "cpu-bound");
    /* Time in the run queue is not the allocator's fault. */
    evidence = allocating(0.7e9, third);
    evidence.has_waits = true;
    evidence.waited_ns = evidence.queue_ns = 0.3e9;
    assert_verdict(evidence, "starved");
}

/* They are counted and not sampled. */
static void allocations_need_no_samples(void **state)
{
    (void)state;
    struct hp_evidence evidence = {.wall_ns = 3e6, .samples_due = 3, .has_cpu = true, .has_allocs = true};
    evidence.alloc_count = 1e6 / HP_VERDICT_PAIR_NS + 1;
    assert_verdict(evidence, "allocation-heavy");
    evidence.alloc_count = 1e6 / HP_VERDICT_PAIR_NS - 1;
    assert_verdict(evidence, "too-short");
    evidence.has_cpu = false;
    assert_verdict(evidence, "unknown");
    evidence.alloc_count = 1e6 / HP_VERDICT_PAIR_NS + 1;
    assert_verdict(evidence, "allocation-heavy");
    assert_false(judge(evidence).knows_waiting);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpu_time_alone_separates_busy_from_waiting),
        cmocka_unit_test(scaled_time_without_cpu_time_is_unknown),
        cmocka_unit_test(busy_and_waiting_add_up),
        cmocka_unit_test(idle_verdict),
        cmocka_unit_test(idle_time_is_a_part_of_waiting),
        cmocka_unit_test(too_few_samples_give_no_verdict),
        cmocka_unit_test(starved_verdict),
        cmocka_unit_test(waits_are_scaled_to_the_time_left_by_cpu_time),
        cmocka_unit_test(without_cpu_time_the_rest_of_waiting_is_busy),
        cmocka_unit_test(allocations_are_weighed_against_busy_time),
        cmocka_unit_test(allocations_need_no_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
