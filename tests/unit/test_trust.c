/*
 * Estimates: numbers that are scaled up, the bounds of overhead, and the trust line. SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "function_profile.h"
#include "text.h"
#include "timing_fixture.h"
#include "trust_line.h"

/* ------------------------------------------------------------------------------------------- estimates */

/* main, timed: 1000 ticks; in it `f`, ten of whose 160 calls were timed, and `g`, with all calls timed. */
static void build_sampled_session(uint64_t ticks_of_f)
{
    const uint32_t thread = builder_thread(&builder);
    const uint32_t main = builder_node(&builder, thread, 0, builder_site(&builder, "main", "m.c", 1));
    const uint32_t f = builder_node(&builder, thread, main, builder_site(&builder, "f", "m.c", 2));
    const uint32_t g = builder_node(&builder, thread, main, builder_site(&builder, "g", "m.c", 3));
    for (int call = 0; call < 10; call++)
        builder_call(&builder, thread, f, ticks_of_f, 0);
    struct hotpath_node_ *node = builder_at(&builder, f);
    node->calls = 160;
    node->untimed = 150;
    builder_call(&builder, thread, g, 200, 0);
    builder_call(&builder, thread, main, 1000, 10 * ticks_of_f + 200);
    builder_header(&builder)->time_period = 16;
    strcpy(settings.show.report, "timing,calltree");
    strcpy(settings.show.columns, "all");
}

static const char *scaled_of(const char *section, size_t row)
{
    return cell_of(section_named(section), row, "scaled").text;
}

static bool shows(const char *text, const char *line) { return strstr(text, line) != NULL; }

static void every_scaled_number_is_marked(void **state)
{
    (void)state;
    build_sampled_session(3);
    fixture_build();
    assert_string_equal(scaled_of("timing", 0), "self"); /* what 160 calls of f leave to it */
    assert_string_equal(scaled_of("timing", 1), "all");
    assert_string_equal(scaled_of("timing", 2), "none");
    assert_string_equal(scaled_of("calltree", 0), "self");
    assert_string_equal(scaled_of("calltree", 1), "all");
    assert_string_equal(scaled_of("calltree", 2), "none");
    const char *table = fixture_render(400, false);
    assert_true(shows(table, "|   1.00 µs |   1.00 µs |    1.00 µs |   0.10% | ^320.00 ns |   1.00 µs |"));
    assert_true(shows(table, "|  ^3.00 ns |  ^3.00 ns | ^480.00 ns |  ^0.05% | ^480.00 ns |  ^3.00 ns |"));
    assert_true(shows(table, "|   f      |   160 |     - | ^480.00 ns | ^480.00 ns |  ^0.05% |"));
    assert_true(shows(table, "|   g      |     1 |     - |  200.00 ns |  200.00 ns |   0.02% |"));
}

static void scaled_callees_do_not_exceed_their_caller(void **state)
{
    (void)state;
    build_sampled_session(30);
    fixture_build();
    const hotpath_section *timing = section_named("timing");
    assert_string_equal(cell_of(timing, 1, "name").text, "f");
    assert_float_equal(cell_of(timing, 1, "total_ns").number, 800, 0.001); /* and not 4800 of 1000 */
    assert_float_equal(cell_of(timing, 0, "self_ns").number, 0, 0.001);
    assert_float_equal(cell_of(section_named("calltree"), 1, "total_ns").number, 800, 0.001);
}

/* --------------------------------------------------------------------------------------------- trust */

static void overhead_is_bounded_from_above(void **state)
{
    (void)state;
    build_small_session();
    builder_header(&builder)->zone_cost_ps = 10000; /* 10 ns, 4 of which fall into the zone itself */
    builder_header(&builder)->zone_inner_ps = 4000;
    fixture_build();
    const hotpath_section *timing = section_named("timing");
    assert_number(0, "overhead_max_ns", 4 + 6 * 10);
    assert_number(1, "overhead_max_ns", 2 * 4 + 4 * 10);
    assert_number(2, "overhead_max_ns", 5 * 4);
    assert_false(timing->rows[0].is_rough);
    assert_int_equal(timing->note_count, 0);
    builder_header(&builder)->zone_cost_ps = 20000;
    fixture_build();
    assert_true(section_named("timing")->rows[0].is_rough);  /* 124 of 1000 */
    assert_false(section_named("timing")->rows[2].is_rough); /* 20 of 450 */
    assert_int_equal(section_named("timing")->note_count, 1);
    /* The busiest thread made 7 of 8 calls: 140 of 2000 ns. */
    assert_float_equal(results->trust->share_percent, 7, 0.001);
}

/* Inner calls of f were folded onto the outer one, so it is unknown how many of them ran inside g and h. */
static void overhead_counts_folded_recursion_in_full(void **state)
{
    (void)state;
    const uint32_t thread = builder_thread(&builder);
    const uint32_t f = builder_node(&builder, thread, 0, builder_site(&builder, "f", "f.c", 1));
    const uint32_t g = builder_node(&builder, thread, f, builder_site(&builder, "g", "f.c", 2));
    const uint32_t h = builder_node(&builder, thread, g, builder_site(&builder, "h", "f.c", 3));
    builder_header(&builder)->zone_cost_ps = 10000;
    builder_header(&builder)->zone_inner_ps = 4000;
    builder_nested_call(&builder, thread, f, 3000, 0);
    builder_nested_call(&builder, thread, f, 4000, 0);
    builder_call(&builder, thread, f, 9000, 7000);
    for (unsigned call = 0; call < 4; call++)
        builder_call(&builder, thread, g, 2000, 1000);
    for (unsigned call = 0; call < 2; call++)
        builder_call(&builder, thread, h, 1000, 0);
    fixture_build();
    assert_row(0, "f", 3, 16000.0 / 3, 9000, 0.9);
    assert_number(0, "overhead_max_ns", 3 * 10 + (3 + 6) * 10);
    assert_row(1, "g", 4, 2000, 8000, 0.8);
    assert_number(1, "overhead_max_ns", 4 * 4 + (3 + 6) * 10);
    assert_row(2, "h", 2, 1000, 2000, 0.2);
    assert_number(2, "overhead_max_ns", 2 * 4 + (3 + 6) * 10);
}

static const char *line_of(const struct hp_trust *trust)
{
    static char bytes[1024];
    struct hp_text text;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_trust_put(trust, &text);
    return hp_text_end(&text);
}

static const char *trust_line(void) { return line_of(results->trust); }

static void trust_line_with_all_parts(void **state)
{
    (void)state;
    build_small_session();
    builder_header(&builder)->zone_cost_ps = 46000;
    builder_elapse(&builder, 2100000, 1 / 2.1);
    fixture_build();
    assert_string_equal(trust_line(),
                        "clock tsc at 2.10 GHz; one zone costs 46.0 ns; measuring took less than 0.1 % of the run; "
                        "nothing was lost");
    builder_header(&builder)->losses[HP_LOSS_ABANDONED] = 12;
    builder_header(&builder)->losses[HP_LOSS_DEPTH] = 1;
    builder_header(&builder)->zone_cost_ps = 460000;
    fixture_build();
    assert_string_equal(
        trust_line(),
        "clock tsc at 2.10 GHz; one zone costs 460 ns; measuring took about 0.3 % of the run; 12 zones were left "
        "by longjmp or similar: timed up to their last recorded time; 1 zone was nested too deeply: not recorded");
}

static void trust_line_says_how_the_cpu_counted(void **state)
{
    (void)state;
    build_small_session();
    struct hp_header *header = builder_header(&builder);
    header->clock_kind = HP_CLOCK_INSTRUCTIONS;
    header->engine = builder_text(&builder, "pmu, a CPU, glibc 2.36");
    header = builder_header(&builder);
    header->zone_cost_ps = 210400;
    header->zone_inner_ps = 90000;
    fixture_build();
    assert_string_equal(
        trust_line(),
        "clock instructions (pmu, a CPU, glibc 2.36); counted by the CPU, which was not tested by the "
        "authors: interrupts and page faults add some; those of hotpath are included, about 210 for a "
        "zone, 90 of them in its own number; nothing was lost");
    builder_header(&builder)->features |= HP_FEATURE_SHARED_COUNTER;
    fixture_build();
    assert_non_null(strstr(trust_line(), "; not exact: others used the counter, too"));
    assert_null(strstr(trust_line(), "a thread has no counter"));
    builder_header(&builder)->features |= HP_FEATURE_MISSING_COUNTER;
    fixture_build();
    assert_non_null(strstr(trust_line(), "; a thread has no counter, and its durations are 0"));
    header = builder_header(&builder);
    header->engine = builder_text(&builder, "qemu 7.2.22, cpu max,-erms, glibc 2.36");
    fixture_build();
    assert_non_null(strstr(trust_line(), "; those of hotpath are not counted; "));
}

static void trust_line_shows_the_range_of_overhead(void **state)
{
    (void)state;
    struct hp_trust trust = {.clock = "tsc", .zone_cost_ns = 46, .share_percent = 20, .least_percent = 16};
    assert_non_null(strstr(line_of(&trust), "measuring took about 20.0 % of the run"));
    trust.least_percent = 4;
    assert_non_null(strstr(line_of(&trust), "measuring took about 4.0 to 20.0 % of the run"));
    trust.least_percent = 0.01;
    assert_non_null(strstr(line_of(&trust), "measuring took at most about 20.0 % of the run"));
}

static void trust_line_names_lost_stack_samples(void **state)
{
    (void)state;
    struct hp_function_profile functions = {.counts.samples = 5, .counts.source = HP_STACKS_BY_TIMERS};
    struct hp_trust trust = {.clock = "monotonic", .functions = &functions};
    assert_non_null(strstr(line_of(&trust), "; nothing was lost"));
    functions.counts.lost = 34;
    assert_non_null(strstr(line_of(&trust), "5 samples by timers in the program; 34 stack samples were lost: no "
                                            "space for them, or their processes had ended"));
    assert_null(strstr(line_of(&trust), "nothing was lost"));
    functions.counts.lost = 0;
    functions.counts.allocs_lost = 1;
    assert_non_null(strstr(line_of(&trust), "; 1 allocation sample was lost: no space for it"));
    assert_null(strstr(line_of(&trust), "nothing was lost"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(every_scaled_number_is_marked),
        TEST(scaled_callees_do_not_exceed_their_caller),
        TEST(overhead_is_bounded_from_above),
        TEST(overhead_counts_folded_recursion_in_full),
        TEST(trust_line_with_all_parts),
        TEST(trust_line_says_how_the_cpu_counted),
        cmocka_unit_test(trust_line_names_lost_stack_samples),
        TEST(trust_line_shows_the_range_of_overhead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
