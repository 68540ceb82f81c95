/*
 * The allocation sections, from sessions with known numbers. One file: all tests build on the same small session
 * and read the same tables. SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const hotpath_section *bytes(void) { return section_named("alloc-bytes"); }

static uint64_t number(const hotpath_section *section, size_t row, const char *key)
{
    const struct hotpath_cell cell = cell_of(section, row, key);
    assert_true(cell.has_value);
    return cell.count;
}

static int64_t signed_number(const hotpath_section *section, size_t row, const char *key)
{
    return (int64_t)number(section, row, key);
}

static size_t row_named(const hotpath_section *section, const char *name)
{
    for (size_t row = 0; row < hotpath_section_rows(section); row++)
        if (strcmp(cell_of(section, row, "name").text, name) == 0)
            return row;
    fail_msg("there is no row '%s'", name);
    return 0;
}

static uint64_t total_named(const hotpath_section *section, const char *key)
{
    for (size_t at = 0; at < section->total_count; at++)
        if (strcmp(section->totals[at].key, key) == 0)
            return section->totals[at].cell.count;
    fail_msg("there is no total '%s'", key);
    return 0;
}

static uint64_t sum(const hotpath_section *section, const char *key)
{
    uint64_t all = 0;
    for (size_t row = 0; row < hotpath_section_rows(section); row++)
        all += cell_of(section, row, key).count;
    return all;
}

/* Makes a call: `own` bytes in `count` blocks by itself, as much with all inside, all freed in the end. */
static void call(struct session_builder *session, uint32_t thread, uint32_t node, uint64_t own, uint64_t count)
{
    const struct builder_allocs allocs = {.measures = {own, count, own, count, own + 8 * count, count}};
    builder_call(session, thread, node, 100, 0);
    if (count > 0)
        builder_alloc_call(session, node, &allocs);
}

/* Says that the thread has allocated what its calls have, and nothing outside. */
static void settle(uint32_t thread, uint64_t all_bytes, uint64_t all_count)
{
    struct hp_alloc_thread *alloc = builder_alloc_thread(&builder, thread);
    struct hp_alloc_frame *outside = builder_alloc_frame(&builder, thread, 0);
    alloc->bytes = outside->inner_bytes = all_bytes;
    alloc->count = outside->inner_count = all_count;
}

static uint32_t node_of(struct session_builder *session, uint32_t thread, uint32_t parent, const char *name)
{
    return builder_node(session, thread, parent, builder_site(session, name, "src/demo.c", 7));
}

/*
 * One thread: main asks for 2000 bytes in 4 blocks, fill, which it calls ten times, for 1024 in one, and work for
 * nothing; outside of main there are 300 bytes in 2 blocks. 700 usable bytes live in the end.
 */
static void build(struct session_builder *session)
{
    const struct builder_allocs of_main = {
        .measures = {2000, 4, 12240, 14, 3000, 3}, .net_bytes = 500, .net_blocks = 1};
    const uint32_t thread = builder_thread(session);
    const uint32_t main_node = node_of(session, thread, 0, "main");
    const uint32_t fill = node_of(session, thread, main_node, "fill");
    const uint32_t work = node_of(session, thread, main_node, "work");
    builder_header(session)->main_site = 0;
    for (unsigned at = 0; at < 10; at++) {
        call(session, thread, fill, 1024, 1);
        call(session, thread, work, 0, 0);
    }
    builder_call(session, thread, main_node, 5000, 2000);
    builder_alloc_call(session, main_node, &of_main);
    struct hp_alloc_thread *alloc = builder_alloc_thread(session, thread);
    *alloc = (struct hp_alloc_thread){.count = 16,
                                      .bytes = 12540,
                                      .usable = 13700,
                                      .freed_count = 14,
                                      .peak_live = 3100,
                                      .peak_blocks = 4,
                                      .freed = 13000,
                                      .frames = alloc->frames};
    struct hp_alloc_frame *outside = builder_alloc_frame(session, thread, 0);
    outside->inner_bytes = 12240;
    outside->inner_count = 14;
}

static void assert_row(size_t row, const char *name, uint64_t average, uint64_t p95, uint64_t total, double percent)
{
    assert_string_equal(cell_of(bytes(), row, "name").text, name);
    assert_int_equal(number(bytes(), row, "avg_bytes"), average);
    assert_int_equal(number(bytes(), row, "p95_bytes"), p95);
    assert_int_equal(number(bytes(), row, "total_bytes"), total);
    assert_float_equal(cell_of(bytes(), row, "percent_total").number, percent, 0.001);
}

/* -------------------------------------------------------------------------------------------- sums */

static void exclusive_bytes_per_function(void **state)
{
    (void)state;
    build(&builder);
    fixture_build();
    assert_int_equal(hotpath_results_sections(results), 3); /* bottlenecks, timing, this */
    assert_int_equal(hotpath_section_rows(bytes()), 4);
    assert_row(0, "fill", 1024, 1024, 10240, 100 * 10240 / 12540.0);
    assert_row(1, "main", 2000, 2000, 2000, 100 * 2000 / 12540.0);
    assert_row(3, "work", 0, 0, 0, 0);
    assert_int_equal(number(bytes(), 0, "calls"), 10);
    assert_int_equal(number(bytes(), 3, "calls"), 10);
    assert_int_equal(number(bytes(), 0, "peak_usable_bytes"), 1032);
    assert_int_equal(number(bytes(), 1, "peak_usable_bytes"), 3000);
    assert_int_equal(number(bytes(), 1, "peak_blocks"), 3);
    assert_int_equal(signed_number(bytes(), 1, "net_usable_bytes"), 500);
    assert_int_equal(signed_number(bytes(), 1, "net_blocks"), 1);
    assert_int_equal(number(bytes(), 1, "own_bytes"), 2000);
    assert_int_equal(number(bytes(), 1, "all_bytes"), 12240);
    assert_int_equal(number(bytes(), 1, "own_count"), 4);
    assert_int_equal(number(bytes(), 1, "all_count"), 14);
    assert_string_equal(bytes()->percent_of, "allocated");
}

static void outside_row_completes_the_sum(void **state)
{
    (void)state;
    build(&builder);
    builder_header(&builder)->late_count = 3;
    builder_header(&builder)->late_bytes = 77;
    fixture_build();
    const size_t row = row_named(bytes(), "<outside>");
    assert_int_equal(number(bytes(), row, "total_bytes"), 377);
    assert_int_equal(number(bytes(), row, "own_count"), 5);
    static const char *const unknown[] = {"calls", "avg_bytes", "p95_bytes", "peak_usable_bytes",
                                          "net_usable_bytes"};
    for (size_t at = 0; at < COUNT(unknown); at++)
        assert_false(cell_of(bytes(), row, unknown[at]).has_value);
    assert_int_equal(sum(bytes(), "own_bytes"), 12617);
    assert_int_equal(sum(bytes(), "own_count"), 19);
    assert_int_equal(total_named(bytes(), "requested_bytes"), 12617);
    assert_int_equal(total_named(bytes(), "allocations"), 19);
}

static void inclusive_bytes_per_function(void **state)
{
    (void)state;
    settings.show.alloc_cumulative = true;
    build(&builder);
    fixture_build();
    assert_string_equal(hotpath_section_description(bytes()), "Allocated bytes by function, including callees.");
    assert_row(0, "main", 12240, 12240, 12240, 100 * 12240 / 12540.0);
    assert_row(1, "fill", 1024, 1024, 10240, 100 * 10240 / 12540.0);
    assert_int_equal(number(bytes(), row_named(bytes(), "<outside>"), "total_bytes"), 300);
}

static void recursion_counts_once(void **state)
{
    (void)state;
    const uint32_t thread = builder_thread(&builder), node = node_of(&builder, thread, 0, "fib");
    const struct builder_allocs inner = {.measures = {100, 1, 100, 1, 104, 1}, .net_bytes = 104, .is_nested = 1};
    const struct builder_allocs outer = {.measures = {50, 1, 150, 2, 160, 2}, .net_bytes = 56, .net_blocks = 1};
    builder_alloc_call(&builder, node, &inner);
    builder_nested_call(&builder, thread, node, 10, 0);
    builder_alloc_call(&builder, node, &outer);
    builder_call(&builder, thread, node, 30, 10);
    settle(thread, 150, 2);
    fixture_build();
    assert_int_equal(number(bytes(), 0, "own_bytes"), 150);
    assert_int_equal(number(bytes(), 0, "all_bytes"), 150);
    assert_int_equal(number(bytes(), 0, "all_count"), 2);
    assert_int_equal(signed_number(bytes(), 0, "net_usable_bytes"), 56);
    settings.show.alloc_cumulative = true;
    fixture_build();
    assert_int_equal(number(bytes(), 0, "total_bytes"), 150);
    assert_int_equal(number(bytes(), 0, "avg_bytes"), 75);
    assert_int_equal(number(bytes(), 0, "p95_bytes"), 150);
}

static void counts_have_a_table_of_their_own(void **state)
{
    (void)state;
    settings.show.alloc_metric = HP_ALLOC_COUNT_TOTAL;
    build(&builder);
    fixture_build();
    assert_null(bytes());
    const hotpath_section *count = section_named("alloc-count");
    assert_string_equal(hotpath_section_description(count), "Allocations by function, without measured callees.");
    assert_string_equal(cell_of(count, 0, "name").text, "fill");
    assert_int_equal(number(count, 0, "total_count"), 10);
    assert_float_equal(cell_of(count, 0, "avg_count").number, 1, 0);
    assert_int_equal(number(count, 0, "p95_count"), 1);
    assert_float_equal(cell_of(count, 0, "percent_total").number, 100 * 10 / 16.0, 0.001);
    assert_string_equal(cell_of(count, 1, "name").text, "main");
    assert_int_equal(number(count, 1, "total_count"), 4);
    assert_int_equal(number(count, 1, "peak_blocks"), 3);
    assert_int_equal(number(count, 1, "all_bytes"), 12240);
    assert_int_equal(sum(count, "total_count"), 16);
}

static void averages_with_few_allocating_calls(void **state)
{
    (void)state;
    const uint32_t thread = builder_thread(&builder), node = node_of(&builder, thread, 0, "f");
    for (unsigned at = 0; at < 4; at++)
        call(&builder, thread, node, 60, at == 0);
    settle(thread, 60, 1);
    settings.show.alloc_metric = HP_ALLOC_COUNT_TOTAL;
    fixture_build();
    assert_float_equal(cell_of(section_named("alloc-count"), 0, "avg_count").number, 0.25, 0);
}

/* ------------------------------------------------------------------------------------------ percentiles */

static void calls_without_allocations_count_as_zero(void **state)
{
    (void)state;
    static const double wanted[] = {0, 50, 90, 95, 100};
    memcpy(settings.show.percentiles, wanted, sizeof wanted);
    settings.show.percentile_count = COUNT(wanted);
    const uint32_t thread = builder_thread(&builder), node = node_of(&builder, thread, 0, "f");
    for (unsigned at = 0; at < 18; at++)
        call(&builder, thread, node, 0, 0);
    call(&builder, thread, node, 100, 1);
    call(&builder, thread, node, 5000, 1);
    settle(thread, 5100, 2);
    fixture_build();
    assert_int_equal(number(bytes(), 0, "calls"), 20);
    assert_int_equal(number(bytes(), 0, "avg_bytes"), 255);
    assert_int_equal(number(bytes(), 0, "min_bytes"), 0);
    assert_int_equal(number(bytes(), 0, "p50_bytes"), 0);
    assert_int_equal(number(bytes(), 0, "p90_bytes"), 0);
    assert_int_equal(number(bytes(), 0, "p95_bytes"), 100); /* the 19th of 20 */
    assert_int_equal(number(bytes(), 0, "max_bytes"), 5000);
    assert_int_equal(number(bytes(), 0, "max_peak_usable_bytes"), 5008);
}

/* Between the lowest and the highest a value is known to 0.8 %; if all are alike, exactly. */
static void percentiles_of_equal_values_are_exact(void **state)
{
    (void)state;
    const uint32_t thread = builder_thread(&builder);
    const uint32_t alike = node_of(&builder, thread, 0, "alike");
    const uint32_t apart = builder_node(&builder, thread, 0, builder_site(&builder, "apart", "f.c", 2));
    for (unsigned at = 0; at < 3; at++)
        call(&builder, thread, alike, 100003, 1);
    for (unsigned at = 0; at < 98; at++)
        call(&builder, thread, apart, 1000, 1);
    call(&builder, thread, apart, 900, 1);
    call(&builder, thread, apart, 2000, 1);
    settle(thread, 400909, 103);
    settings.show.percentiles[0] = 50;
    fixture_build();
    assert_int_equal(number(bytes(), row_named(bytes(), "alike"), "p50_bytes"), 100003);
    assert_in_range(number(bytes(), row_named(bytes(), "apart"), "p50_bytes"), 992, 1007);
}

static void peak_bytes_can_lead_the_table(void **state)
{
    (void)state;
    settings.show.alloc_metric = HP_ALLOC_BYTES_MAX;
    build(&builder);
    fixture_build();
    assert_string_equal(hotpath_section_description(bytes()), "Peak live bytes during a call, by function.");
    assert_string_equal(cell_of(bytes(), 0, "name").text, "main");
    assert_string_equal(cell_of(bytes(), 1, "name").text, "fill");
    assert_int_equal(number(bytes(), 0, "avg_peak_usable_bytes"), 3000);
    assert_int_equal(number(bytes(), 0, "p95_peak_usable_bytes"), 3000);
    assert_int_equal(number(bytes(), 0, "peak_usable_bytes"), 3000);
    assert_in_range(number(bytes(), 1, "avg_peak_usable_bytes"), 1024, 1032); /* of ten that are alike */
    assert_int_equal(number(bytes(), 1, "total_bytes"), 10240);
    assert_string_equal(bytes()->columns[bytes()->order.column].shown.key, "peak_usable_bytes");
    static const char *const titles[] = {"Function", "Calls", "Avg Peak", "P95 Peak",
                                         "Peak",     "Total", "% Total",  "Net"};
    size_t shown = 0;
    for (size_t at = 0; at < hotpath_section_columns(bytes()); at++)
        if (hotpath_section_column(bytes(), at)->visible)
            assert_string_equal(hotpath_section_column(bytes(), at)->title, titles[shown++]);
    assert_int_equal(shown, COUNT(titles));
}

static void peaks_are_averaged_over_all_calls(void **state)
{
    (void)state;
    settings.show.alloc_metric = HP_ALLOC_COUNT_MAX;
    const uint32_t thread = builder_thread(&builder), node = node_of(&builder, thread, 0, "f");
    call(&builder, thread, node, 1000, 10);
    call(&builder, thread, node, 1000, 40);
    call(&builder, thread, node, 0, 0);
    call(&builder, thread, node, 0, 0);
    settle(thread, 2000, 50);
    fixture_build();
    const hotpath_section *count = section_named("alloc-count");
    assert_float_equal(cell_of(count, 0, "avg_peak_blocks").number, 12.5, 0);
    assert_int_equal(number(count, 0, "p95_peak_blocks"), 40);
}

/* ------------------------------------------------------------------------------------------------ open */

/*
 * main is open and called leaf, which ended, and rec, which is open and called itself. Of 1000 bytes that were
 * asked for so far 100 were before main, 200 in leaf, 150 in main itself, 250 in the outer rec and 300 in the inner
 * one.
 */
static uint32_t build_open(void)
{
    const uint32_t thread = builder_thread(&builder);
    const uint32_t main_node = node_of(&builder, thread, 0, "main"),
                   rec = node_of(&builder, thread, main_node, "rec");
    const uint32_t leaf = node_of(&builder, thread, main_node, "leaf");
    call(&builder, thread, leaf, 200, 2);
    builder_open(&builder, thread, main_node, 10, 0);
    builder_open(&builder, thread, rec, 20, 0);
    builder_open(&builder, thread, rec, 30, 0);
    struct hp_alloc_thread *alloc = builder_alloc_thread(&builder, thread);
    *alloc = (struct hp_alloc_thread){.count = 10,
                                      .bytes = 1000,
                                      .usable = 1100,
                                      .freed_count = 5,
                                      .peak_live = 900,
                                      .peak_blocks = 6,
                                      .freed = 600,
                                      .frames = alloc->frames};
    *builder_alloc_frame(&builder, thread, 1) = (struct hp_alloc_frame){.count = 1,
                                                                        .bytes = 100,
                                                                        .live = 110,
                                                                        .blocks = 1,
                                                                        .peak_live = 2000,
                                                                        .peak_blocks = 2,
                                                                        .inner_count = 2,
                                                                        .inner_bytes = 200};
    *builder_alloc_frame(&builder, thread, 2) = (struct hp_alloc_frame){
        .count = 4, .bytes = 450, .live = 300, .blocks = 3, .peak_live = 1500, .peak_blocks = 9};
    *builder_alloc_frame(&builder, thread, 3) = (struct hp_alloc_frame){
        .count = 7, .bytes = 700, .live = 600, .blocks = 6, .peak_live = 1000, .peak_blocks = 8};
    return thread;
}

static void open_zones_count_up_to_now(void **state)
{
    (void)state;
    build_open();
    fixture_build();
    const size_t main_row = row_named(bytes(), "main"), rec = row_named(bytes(), "rec");
    assert_int_equal(number(bytes(), main_row, "own_bytes"), 150);
    assert_int_equal(number(bytes(), main_row, "all_bytes"), 900);
    assert_int_equal(number(bytes(), main_row, "own_count"), 1);
    assert_int_equal(number(bytes(), main_row, "all_count"), 9);
    assert_int_equal(number(bytes(), main_row, "peak_usable_bytes"), 1500 - 110);
    assert_int_equal(number(bytes(), main_row, "peak_blocks"), 9 - 1);
    assert_int_equal(signed_number(bytes(), main_row, "net_usable_bytes"), 390);
    assert_int_equal(signed_number(bytes(), main_row, "net_blocks"), 4);
    assert_int_equal(number(bytes(), rec, "calls"), 2);
    assert_int_equal(number(bytes(), rec, "open"), 2);
    assert_int_equal(number(bytes(), rec, "own_bytes"), 550);
    assert_int_equal(number(bytes(), rec, "all_bytes"), 550);
    assert_int_equal(number(bytes(), rec, "own_count"), 6);
    assert_int_equal(number(bytes(), rec, "peak_usable_bytes"),
                     700); /* the outer one: 1000 - 300; the inner one 300 */
    assert_int_equal(signed_number(bytes(), rec, "net_usable_bytes"), 200);
    assert_int_equal(number(bytes(), rec, "p95_bytes"), 300);
    assert_true(bytes()->rows[rec].is_open);
    assert_int_equal(number(bytes(), row_named(bytes(), "<outside>"), "own_bytes"), 100);
    assert_int_equal(sum(bytes(), "own_bytes"), 1000);
    assert_int_equal(sum(bytes(), "own_count"), 10);
    assert_int_equal(total_named(bytes(), "peak_usable_bytes"), 2000);
    assert_int_equal(total_named(bytes(), "peak_blocks"), 9);
}

/* A zone without a mark has allocated nothing, and one that is only counted may have. */
static void unmarked_open_zones_have_no_allocations(void **state)
{
    (void)state;
    const uint32_t thread = build_open();
    const struct hp_thread *record = builder_at(&builder, thread);
    struct hotpath_frame_ *frames = builder_at(&builder, record->frames);
    frames[2].stat |= HOTPATH_COUNTED_;
    frames[3].stat &= ~HOTPATH_ALLOCATES_;
    fixture_build();
    const size_t rec = row_named(bytes(), "rec");
    assert_int_equal(number(bytes(), rec, "calls"), 2);
    assert_int_equal(number(bytes(), rec, "own_bytes"), 550);
    assert_int_equal(number(bytes(), rec, "avg_bytes"), 275);
    assert_int_equal(number(section_named("timing"), row_named(section_named("timing"), "rec"), "timed"), 1);
    assert_int_equal(sum(bytes(), "own_bytes"), 1000);
}

/* ---------------------------------------------------------------------------------- threads and processes */

static void processes_are_added_up(void **state)
{
    (void)state;
    build(&builder);
    struct session_builder *other = fixture_add_session();
    builder_site(other, "first", "src/first.c", 1); /* so that ids differ */
    build(other);
    builder_header(other)->main_site = 1;
    struct session_builder *without = fixture_add_session();
    const uint32_t thread = builder_thread(without);
    call(without, thread, node_of(without, thread, 0, "work"), 0, 0);
    fixture_build();
    const size_t main_row = row_named(bytes(), "main");
    assert_int_equal(hotpath_section_rows(bytes()), 4);
    assert_int_equal(number(bytes(), main_row, "calls"), 2);
    assert_int_equal(number(bytes(), main_row, "own_bytes"), 4000);
    assert_int_equal(number(bytes(), main_row, "all_bytes"), 24480);
    assert_int_equal(number(bytes(), main_row, "peak_usable_bytes"), 3000);
    assert_int_equal(signed_number(bytes(), main_row, "net_usable_bytes"), 1000);
    assert_int_equal(number(bytes(), row_named(bytes(), "work"), "calls"), 21);
    assert_int_equal(number(bytes(), row_named(bytes(), "<outside>"), "own_bytes"), 600);
    assert_int_equal(sum(bytes(), "own_bytes"), 25080);
    assert_int_equal(total_named(bytes(), "requested_bytes"), 25080);
    assert_int_equal(total_named(bytes(), "live_usable_bytes"), 1400);
    assert_int_equal(total_named(bytes(), "peak_usable_bytes"), 3100);
}

/* A thread that allocates and one that frees what the first has allocated. */
static void build_two_threads(void)
{
    build(&builder);
    const uint32_t second = builder_thread(&builder);
    const uint32_t node = builder_node(&builder, second, 0, 1);
    call(&builder, second, node, 500, 1);
    strcpy(((struct hp_thread *)builder_at(&builder, second))->name, "worker");
    struct hp_alloc_thread *alloc = builder_alloc_thread(&builder, second);
    *alloc = (struct hp_alloc_thread){.count = 2,
                                      .bytes = 520,
                                      .usable = 600,
                                      .freed_count = 5,
                                      .peak_live = 600,
                                      .peak_blocks = 2,
                                      .freed = 4600,
                                      .foreign_count = 5,
                                      .foreign_bytes = 4500,
                                      .frames = alloc->frames};
    builder_alloc_frame(&builder, second, 0)->inner_bytes = 500;
    builder_alloc_frame(&builder, second, 0)->inner_count = 1;
    builder_header(&builder)->alloc_peak = 2900;
}

static void live_bytes_are_never_below_zero(void **state)
{
    (void)state;
    build_two_threads();
    fixture_build();
    assert_int_equal(total_named(bytes(), "live_usable_bytes"), 0);
    assert_int_equal(total_named(bytes(), "live_blocks"), 0);
    assert_int_equal(total_named(bytes(), "earlier_freed_usable_bytes"), 3300);
    assert_int_equal(total_named(bytes(), "earlier_freed_blocks"), 1);
    assert_int_equal(total_named(bytes(), "freed_blocks"), 19);
    assert_int_equal(total_named(bytes(), "foreign_freed_blocks"), 5);
    assert_int_equal(total_named(bytes(), "foreign_freed_usable_bytes"), 4500);
    assert_int_equal(total_named(bytes(), "peak_usable_bytes"), 2900);
    assert_int_equal(total_named(bytes(), "peak_error_bytes"), 65536);
    const char *table = fixture_render(0, false);
    assert_non_null(strstr(table, "\nTotal: 12.8 KB in 18 allocations; usable: 17.2 KB freed, 0 B live, peak about "
                                  "2.8 KB; 4.4 KB freed by another thread\n"));
    assert_non_null(strstr(table, "\n"
                                  "3.2 KB were freed that had been allocated before measuring began\n"));
    assert_non_null(strstr(table, "\n"
                                  "the peak of all threads together is accurate to 64.0 KB, 32 KB per thread\n"));
    settings.output.format = HP_FORMAT_JSON;
    assert_non_null(strstr(fixture_render(0, false),
                           "\"totals\":{\"requested_bytes\":13060,\"allocations\":18,\"freed_usable_bytes\":17600,"
                           "\"freed_blocks\":19,\"live_usable_bytes\":0,\"live_blocks\":0,"
                           "\"peak_usable_bytes\":2900,\"peak_error_bytes\":65536,"
                           "\"foreign_freed_usable_bytes\":4500,\"foreign_freed_blocks\":5,"
                           "\"earlier_freed_usable_bytes\":3300,\"earlier_freed_blocks\":1,\"failed\":0}"));
}

/* What lives is added up, a peak is not: of several processes it says whose it is. */
static void peak_is_labelled_for_a_single_process(void **state)
{
    (void)state;
    build(&builder);
    build(fixture_add_session());
    const char *table = fixture_render(0, false);
    assert_non_null(strstr(table, " live, peak of one process 3.0 KB\n"));
    settings.show.alloc_metric = HP_ALLOC_COUNT_TOTAL;
    assert_non_null(strstr(fixture_render(0, false), " live, peak of one process 4\n"));
}

static void functions_by_thread(void **state)
{
    (void)state;
    build_two_threads();
    settings.show.by = HP_BY_THREAD;
    fixture_build();
    size_t outside = 0;
    for (size_t row = 0; row < hotpath_section_rows(bytes()); row++)
        if (strcmp(cell_of(bytes(), row, "name").text, "<outside>") == 0) {
            const bool is_second = strcmp(cell_of(bytes(), row, "thread").text, "worker 4243") == 0;
            assert_int_equal(number(bytes(), row, "own_bytes"), is_second ? 20 : 300);
            outside++;
        }
    assert_int_equal(outside, 2);
    assert_int_equal(hotpath_section_rows(bytes()), 6); /* fill on both */
    assert_int_equal(number(bytes(), 0, "own_bytes"), 10240);
    assert_int_equal(sum(bytes(), "own_bytes"), 13060);
}

static void threads_have_a_table(void **state)
{
    (void)state;
    build_two_threads();
    builder_header(&builder)->late_count = 1;
    builder_header(&builder)->late_bytes = 10;
    builder_header(&builder)->late_usable = 24;
    builder_header(&builder)->late_frees = 2;
    builder_header(&builder)->late_freed = 48;
    strcpy(settings.show.report, "alloc-threads");
    fixture_build();
    const hotpath_section *threads = section_named("alloc-threads");
    assert_int_equal(hotpath_section_rows(threads), 3);
    assert_string_equal(cell_of(threads, 0, "name").text, "4242");
    assert_int_equal(number(threads, 0, "allocations"), 16);
    assert_int_equal(number(threads, 0, "allocated_bytes"), 12540);
    assert_int_equal(number(threads, 0, "freed_usable_bytes"), 13000);
    assert_int_equal(signed_number(threads, 0, "live_usable_bytes"), 700);
    assert_int_equal(signed_number(threads, 0, "peak_usable_bytes"), 3100);
    assert_int_equal(number(threads, 0, "outside_bytes"), 300);
    assert_string_equal(cell_of(threads, 1, "name").text, "worker 4243");
    assert_int_equal(signed_number(threads, 1, "live_usable_bytes"), -4000);
    assert_float_equal(cell_of(threads, 1, "live_usable_bytes").number, -4000, 0);
    assert_int_equal(number(threads, 1, "foreign_freed_blocks"), 5);
    assert_int_equal(number(threads, 1, "foreign_freed_usable_bytes"), 4500);
    assert_string_equal(cell_of(threads, 2, "name").text, "<others>");
    assert_int_equal(signed_number(threads, 2, "live_usable_bytes"), -24);
    assert_false(cell_of(threads, 2, "peak_usable_bytes").has_value);
    strcpy(settings.show.sort, "-live");
    fixture_build();
    assert_string_equal(cell_of(section_named("alloc-threads"), 0, "name").text, "worker 4243");
}

/* Records of handlers belong to their thread. */
static void records_of_one_thread_share_a_row(void **state)
{
    (void)state;
    build_two_threads();
    struct hp_thread *second = builder_at(&builder, builder_header(&builder)->threads);
    second->tid = 4242;
    second->name[0] = '\0';
    strcpy(settings.show.report, "alloc-threads");
    fixture_build();
    const hotpath_section *threads = section_named("alloc-threads");
    assert_int_equal(hotpath_section_rows(threads), 1);
    assert_int_equal(number(threads, 0, "allocated_bytes"), 13060);
    assert_int_equal(signed_number(threads, 0, "live_usable_bytes"), -3300);
}

static void pools_have_a_table(void **state)
{
    (void)state;
    struct session_builder *other = fixture_add_session();
    for (unsigned at = 0; at < 2; at++) {
        struct hp_pool *pool = builder_pool(at == 0 ? &builder : other, "arena");
        *pool = (struct hp_pool){.next = pool->next,
                                 .name = pool->name,
                                 .count = 10,
                                 .bytes = 1000,
                                 .freed_count = 4,
                                 .freed_bytes = 300,
                                 .live = at == 0 ? 700 : -100,
                                 .peak_live = 800 + at,
                                 .peak_blocks = 9};
    }
    builder_pool(&builder, "strings")->bytes = 5000;
    fixture_build();
    const hotpath_section *pools = section_named("alloc-pools");
    assert_non_null(pools);
    assert_int_equal(hotpath_section_rows(pools), 2);
    assert_string_equal(cell_of(pools, 0, "name").text, "strings");
    assert_string_equal(cell_of(pools, 1, "name").text, "arena");
    assert_int_equal(number(pools, 1, "allocations"), 20);
    assert_int_equal(number(pools, 1, "allocated_bytes"), 2000);
    assert_int_equal(number(pools, 1, "freed_bytes"), 600);
    assert_int_equal(signed_number(pools, 1, "live_bytes"), 600);
    assert_int_equal(signed_number(pools, 1, "peak_bytes"), 801);
    assert_int_equal(signed_number(pools, 1, "live_blocks"), 12);
    assert_null(bytes()); /* malloc was not watched */
}

/* -------------------------------------------------------------------------------------------- settings */

static void sections_that_are_shown(void **state)
{
    (void)state;
    static const struct {
        const char *report;
        uint32_t metric;
        bool is_watched, has_bytes, has_count, has_threads;
    } cases[] = {
        {"auto", HP_ALLOC_BYTES_TOTAL, true, true, false, false},
        {"auto", HP_ALLOC_COUNT_MAX, true, false, true, false},
        {"auto", HP_ALLOC_BYTES_TOTAL, false, false, false, false},
        {"all", HP_ALLOC_BYTES_TOTAL, true, true, true, true},
        {"all", HP_ALLOC_BYTES_TOTAL, false, false, false, false},
        {"alloc", HP_ALLOC_BYTES_TOTAL, true, true, true, false},
        {"alloc", HP_ALLOC_BYTES_TOTAL, false, true, true, false},
        {"alloc-count", HP_ALLOC_BYTES_TOTAL, true, false, true, false},
        {"all,-alloc", HP_ALLOC_BYTES_TOTAL, true, false, false, true},
        {"-alloc", HP_ALLOC_BYTES_TOTAL, true, false, false, false},
    };
    build(&builder);
    for (size_t at = 0; at < COUNT(cases); at++) {
        strcpy(settings.show.report, cases[at].report);
        settings.show.alloc_metric = cases[at].metric;
        builder_header(&builder)->features = HP_FEATURE_TIMING | (cases[at].is_watched ? HP_FEATURE_ALLOC : 0);
        fixture_build();
        assert_int_equal(section_named("alloc-bytes") != NULL, cases[at].has_bytes);
        assert_int_equal(section_named("alloc-count") != NULL, cases[at].has_count);
        assert_int_equal(section_named("alloc-threads") != NULL, cases[at].has_threads);
        assert_null(section_named("alloc-pools"));
        assert_int_equal(results->warning_count, 0);
    }
}

static void rendered_table(void **state)
{
    (void)state;
    build(&builder);
    strcpy(settings.show.report, "auto");
    const char *table = fixture_render(0, false);
    assert_memory_equal(table, "[hotpath] 1.00 ms | bottlenecks, timing, alloc\n", 47);
    assert_non_null(strstr(table,
                           "\n"
                           "alloc-bytes - Allocated bytes by function, without measured callees.\n"
                           "Total: 12.2 KB in 16 allocations; usable: 12.7 KB freed, 700 B live, peak 3.0 KB\n"
                           "+-----------+-------+--------+--------+---------+---------+--------+-------+\n"
                           "| Function  | Calls |    Avg |    P95 |   Total | % Total |   Peak |   Net |\n"
                           "+-----------+-------+--------+--------+---------+---------+--------+-------+\n"
                           "| fill      |    10 | 1.0 KB | 1.0 KB | 10.0 KB |  81.66% | 1.0 KB |   0 B |\n"
                           "| main      |     1 | 2.0 KB | 2.0 KB |  2.0 KB |  15.95% | 2.9 KB | 500 B |\n"
                           "| <outside> |     - |      - |      - |   300 B |   2.39% |      - |     - |\n"
                           "| work      |    10 |    0 B |    0 B |     0 B |   0.00% |    0 B |   0 B |\n"
                           "+-----------+-------+--------+--------+---------+---------+--------+-------+\n"));
    strcpy(settings.show.report, "all");
    table = fixture_render(0, false);
    assert_non_null(strstr(table, ", alloc, alloc-threads, ")); /* one name for both kinds */
    assert_non_null(strstr(table, "\nTotal: 16 allocations of 12.2 KB; blocks: 14 freed, 2 live, peak 4\n"));
}

static void warns_if_requested_allocations_are_not_counted(void **state)
{
    (void)state;
    const uint32_t thread = builder_thread(&builder);
    builder_call(&builder, thread, node_of(&builder, thread, 0, "f"), 10, 0);
    fixture_build();
    assert_int_equal(results->warning_count, 0);
    settings.record.alloc_is_asked = true;
    fixture_build();
    assert_int_equal(results->warning_count, 1);
    assert_string_equal(
        results->warnings[0],
        "HOTPATH includes alloc, but no allocations were recorded: malloc is watched in programs that "
        "are linked with -lhotpath_alloc or started by 'hotpath run'");
    builder_alloc_thread(&builder, thread);
    fixture_build();
    assert_int_equal(results->warning_count, 0);
}

static void focus_limit_and_filters_apply(void **state)
{
    (void)state;
    build(&builder);
    settings.show.exclude_wrapper = true;
    fixture_build();
    assert_int_equal(hotpath_section_rows(bytes()), 3);
    assert_float_equal(cell_of(bytes(), 0, "percent_total").number, 97.1537, 0.001);
    settings.show.exclude_wrapper = false;
    settings.show.min_percent = 10;
    fixture_build();
    assert_int_equal(hotpath_section_rows(bytes()), 2);
    assert_int_equal(hotpath_section_total_rows(bytes()), 4);
    settings.show.min_percent = 0;
    settings.show.functions_limit = 1;
    fixture_build();
    assert_int_equal(hotpath_section_rows(bytes()), 1);
    settings.show.functions_limit = 15;
    strcpy(settings.show.focus, "main");
    fixture_build();
    assert_int_equal(hotpath_section_rows(bytes()), 1);
    assert_string_equal(cell_of(bytes(), 0, "name").text, "main");
    settings.show.focus[0] = '\0';
    strcpy(settings.show.sort, "net");
    fixture_build();
    assert_string_equal(cell_of(bytes(), 0, "name").text, "main");
    assert_string_equal(cell_of(bytes(), 3, "name").text, "<outside>"); /* it has none */
}

/* ------------------------------------------------------------------------------------- calls that are kept */

static void logged_calls_have_their_allocations(void **state)
{
    (void)state;
    const uint32_t thread = builder_thread(&builder), node = node_of(&builder, thread, 0, "f");
    builder_call(&builder, thread, node, 100, 0);
    builder_log(&builder, thread, 0, 2);
    struct hp_log_record *kept = builder_logged_call(&builder, node, 5, 100, 4242, NULL);
    kept->bytes = 4096;
    kept->count = 3;
    const uint32_t slow = builder_slow_call(&builder, node, 5, 100, 90, 1, 0);
    builder_slow_row(&builder, slow, node, 1, 10, 10);
    ((struct hp_slow_call *)builder_at(&builder, slow))->call.alloc_bytes = 512;
    ((struct hp_slow_call *)builder_at(&builder, slow))->call.alloc_count = 7;
    strcpy(settings.show.slowest, "f");
    fixture_build();
    assert_false(has_column(section_named("calls"), "alloc_bytes"));
    assert_false(has_column(section_named("slowest"), "alloc_bytes"));
    builder_alloc_thread(&builder, thread);
    fixture_build();
    assert_int_equal(number(section_named("calls"), 0, "alloc_bytes"), 4096);
    assert_int_equal(number(section_named("calls"), 0, "alloc_count"), 3);
    assert_int_equal(number(section_named("slowest"), 0, "alloc_bytes"), 512);
    assert_int_equal(number(section_named("slowest"), 0, "alloc_count"), 7);
    assert_false(cell_of(section_named("slowest"), 1, "alloc_bytes").has_value);
}

/* ----------------------------------------------------------------------------------------------- broken */

/* Offsets that lead anywhere, counters that are larger at the beginning than now, pools in a circle. */
static void broken_numbers_are_survived(void **state)
{
    (void)state;
    static const uint32_t offsets[] = {1, 4095, 4096, 4100, 0x7ffffff8, 0xfffffff8, 0xffffffff};
    for (size_t at = 0; at < COUNT(offsets); at++) {
        fixture_tear_down(NULL);
        fixture_set_up(NULL);
        strcpy(settings.show.report, "all");
        const uint32_t thread = build_open();
        struct hp_thread *record = builder_at(&builder, thread);
        struct hp_pool *pool = builder_pool(&builder, "circle");
        pool->next = builder_header(&builder)->pools;
        pool->live = INT64_MIN;
        pool->peak_live = INT64_MAX;
        *builder_alloc_frame(&builder, thread, 2) = (struct hp_alloc_frame){
            UINT64_MAX, UINT64_MAX, INT64_MIN, INT64_MAX, INT64_MAX, INT64_MIN, 5, UINT64_MAX};
        builder_header(&builder)->late_usable = UINT64_MAX;
        builder_header(&builder)->late_frees = UINT64_MAX;
        builder_header(&builder)->alloc_peak = INT64_MIN;
        fixture_build();
        assert_int_equal(number(bytes(), row_named(bytes(), "rec"), "all_bytes"), 0);
        builder_alloc_thread(&builder, thread)->frames = offsets[at];
        fixture_build();
        record->alloc = offsets[at];
        fixture_build();
        assert_non_null(section_named("alloc-pools"));
        builder_stat(&builder, thread, 2)->alloc = offsets[at];
        builder_header(&builder)->pools = offsets[at];
        fixture_build();
        settings.output.format = HP_FORMAT_JSON;
        fixture_render(0, false);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(exclusive_bytes_per_function),
        TEST(outside_row_completes_the_sum),
        TEST(inclusive_bytes_per_function),
        TEST(recursion_counts_once),
        TEST(counts_have_a_table_of_their_own),
        TEST(averages_with_few_allocating_calls),
        TEST(calls_without_allocations_count_as_zero),
        TEST(percentiles_of_equal_values_are_exact),
        TEST(peak_bytes_can_lead_the_table),
        TEST(peaks_are_averaged_over_all_calls),
        TEST(open_zones_count_up_to_now),
        TEST(unmarked_open_zones_have_no_allocations),
        TEST(processes_are_added_up),
        TEST(live_bytes_are_never_below_zero),
        TEST(peak_is_labelled_for_a_single_process),
        TEST(functions_by_thread),
        TEST(threads_have_a_table),
        TEST(records_of_one_thread_share_a_row),
        TEST(pools_have_a_table),
        TEST(sections_that_are_shown),
        TEST(rendered_table),
        TEST(warns_if_requested_allocations_are_not_counted),
        TEST(focus_limit_and_filters_apply),
        TEST(logged_calls_have_their_allocations),
        TEST(broken_numbers_are_survived),
    };
    return cmocka_run_group_tests_name("allocs", tests, NULL, NULL);
}
