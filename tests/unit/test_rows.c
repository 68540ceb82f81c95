/*
 * Rows besides their numbers: ids, parents, histograms, and what a callback can read of them.
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "json_report.h"
#include "report_fixture.h"
#include "table.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static struct hotpath_row row_of(const char *section, size_t row)
{
    struct hotpath_row found = {.size = sizeof found};
    assert_int_equal(hotpath_section_row(section_named(section), row, &found), HOTPATH_OK);
    assert_int_equal(found.size, sizeof found);
    return found;
}

static uint64_t id_of(const char *section, const char *name)
{
    const hotpath_section *its = section_named(section);
    for (size_t row = 0; row < hotpath_section_rows(its); row++)
        if (strcmp(cell_of(its, row, "name").text, name) == 0)
            return row_of(section, row).id;
    fail_msg("no row %s in %s", name, section);
    return 0;
}

/* ------------------------------------------------------------------------------------------ identities */

/* Two functions, made in this order, with so many calls each. */
static void build_two(struct session_builder *session, const char *first, const char *second, unsigned calls)
{
    const uint32_t thread = builder_thread(session);
    const char *const names[] = {first, second};
    for (size_t at = 0; at < COUNT(names); at++) {
        const uint32_t site = builder_site(session, names[at], "two.c", (uint32_t)names[at][0]);
        const uint32_t node = builder_node(session, thread, 0, site);
        for (unsigned call = 0; call < calls; call++)
            builder_call(session, thread, node, 10 + call, 0);
    }
}

static void function_has_one_identity_in_all_processes(void **state)
{
    strcpy(settings.show.report, "timing,calltree");
    build_two(&builder, "a", "b", 1);
    fixture_build();
    const uint64_t a = id_of("timing", "a"), b = id_of("timing", "b");
    const uint64_t path = id_of("calltree", "a");
    assert_true(a != 0 && b != 0 && a != b && path != 0);
    fixture_tear_down(state);
    fixture_set_up(state);
    strcpy(settings.show.report, "timing,calltree");
    builder_header(&builder)->pid += 7;
    builder_site(&builder, "c", "two.c", 1);
    build_two(&builder, "b", "a", 5);
    fixture_build();
    assert_true(id_of("timing", "a") == a && id_of("timing", "b") == b && id_of("calltree", "a") == path);
}

/* The displayed name depends on other, similar names; the identity does not. */
static void displayed_name_does_not_change_the_identity(void **state)
{
    (void)state;
    build_two(&builder, "a", "b", 1);
    fixture_build();
    const uint64_t a = id_of("timing", "a");
    const uint32_t thread = builder_thread(&builder);
    const uint32_t other = builder_site(&builder, "a", "other.c", 3);
    builder_call(&builder, thread, builder_node(&builder, thread, 0, other), 1000, 0);
    fixture_build();
    const hotpath_section *timing = section_named("timing");
    size_t found = 0;
    for (size_t row = 0; row < hotpath_section_rows(timing); row++) {
        assert_string_not_equal(cell_of(timing, row, "name").text, "a");
        found += row_of("timing", row).id == a;
    }
    assert_int_equal(found, 1);
}

static bool read_as_star(const char *name, char *text, size_t size)
{
    (void)name;
    snprintf(text, size, "star()");
    return true;
}

static void demangling_does_not_change_the_identity(void **state)
{
    (void)state;
    build_two(&builder, "_Z4starv", "b", 1);
    fixture_build();
    const uint64_t star = id_of("timing", "_Z4starv");
    read_name = read_as_star;
    fixture_build();
    assert_true(id_of("timing", "star") == star);
}

static void any_difference_gives_another_identity(void **state)
{
    (void)state;
    const uint32_t thread = builder_thread(&builder);
    const uint32_t sites[] = {builder_site(&builder, "f", "a.c", 1), builder_site(&builder, "f", "a.c", 2),
                              builder_site(&builder, "f", "b.c", 1), builder_site(&builder, "g", "a.c", 1)};
    for (size_t at = 0; at < COUNT(sites); at++)
        builder_call(&builder, thread, builder_node(&builder, thread, 0, sites[at]), 10, 0);
    fixture_build();
    for (size_t x = 0; x < COUNT(sites); x++)
        for (size_t y = x + 1; y < COUNT(sites); y++)
            assert_true(row_of("timing", x).id != row_of("timing", y).id);
}

static void rows_of_threads_have_different_identities(void **state)
{
    (void)state;
    const uint32_t site = builder_site(&builder, "f", "a.c", 1);
    for (unsigned at = 0; at < 2; at++) {
        const uint32_t thread = builder_thread(&builder);
        ((struct hp_thread *)builder_at(&builder, thread))->tid = 100 + at;
        builder_call(&builder, thread, builder_node(&builder, thread, 0, site), 10, 0);
    }
    settings.show.by = HP_BY_THREAD;
    fixture_build();
    assert_int_equal(hotpath_section_rows(section_named("timing")), 2);
    assert_true(row_of("timing", 0).id != row_of("timing", 1).id);
}

/* Two calls of one function with equal log entries are still two rows. */
static void equal_rows_have_different_identities(void **state)
{
    (void)state;
    const uint32_t thread = builder_thread(&builder), site = builder_site(&builder, "f", "a.c", 1);
    const uint32_t node = builder_node(&builder, thread, 0, site);
    builder_call(&builder, thread, node, 10, 0);
    builder_log(&builder, thread, site, 40);
    for (unsigned at = 0; at < 30; at++)
        builder_logged_call(&builder, node, 5, 10, 1, NULL);
    fixture_build();
    const size_t rows = hotpath_section_rows(section_named("calls"));
    assert_int_equal(rows, 30);
    for (size_t x = 0; x < rows; x++)
        for (size_t y = x + 1; y < rows; y++)
            assert_true(row_of("calls", x).id != row_of("calls", y).id);
}

/* ----------------------------------------------------------------------------------------------- trees */

/* main { a { c } b { c } } and d: a site in two places is two rows. */
static void build_tree(void)
{
    const uint32_t thread = builder_thread(&builder);
    const uint32_t c = builder_site(&builder, "c", "t.c", 4);
    const uint32_t main_node = builder_node(&builder, thread, 0, builder_site(&builder, "main", "t.c", 1));
    const uint32_t a = builder_node(&builder, thread, main_node, builder_site(&builder, "a", "t.c", 2));
    const uint32_t b = builder_node(&builder, thread, main_node, builder_site(&builder, "b", "t.c", 3));
    const uint32_t d = builder_node(&builder, thread, 0, builder_site(&builder, "d", "t.c", 5));
    const uint32_t in_a = builder_node(&builder, thread, a, c), in_b = builder_node(&builder, thread, b, c);
    builder_call(&builder, thread, in_a, 30, 0);
    builder_call(&builder, thread, in_b, 20, 0);
    builder_call(&builder, thread, a, 60, 30);
    builder_call(&builder, thread, b, 40, 20);
    builder_call(&builder, thread, main_node, 200, 100);
    builder_call(&builder, thread, d, 10, 0);
    builder_cpu(&builder, thread, in_a, 3, 7000000, 0);
    builder_waits(&builder, 8);
    builder_wait(&builder, in_a, HP_WAIT_SLEEP, -1, "", 3);
    builder_wait(&builder, in_b, HP_WAIT_LOCK, -1, "", 5);
    builder_wait(&builder, in_b, HP_WAIT_SLEEP, -1, "", 8);
    builder_elapse(&builder, 1000, 1e6);
    strcpy(settings.show.report, "timing,calltree");
    fixture_build();
}

static void rows_of_trees_know_their_parents(void **state)
{
    (void)state;
    build_tree();
    static const struct {
        const char *name;
        size_t parent;
        uint32_t depth;
    } expected[] = {{"main", SIZE_MAX, 0}, {"a", 0, 1}, {"c", 1, 2}, {"b", 0, 1}, {"c", 3, 2}, {"d", SIZE_MAX, 0}};
    const hotpath_section *tree = section_named("calltree");
    assert_int_equal(hotpath_section_rows(tree), COUNT(expected));
    for (size_t row = 0; row < COUNT(expected); row++) {
        assert_string_equal(cell_of(tree, row, "name").text, expected[row].name);
        const struct hotpath_row found = row_of("calltree", row);
        assert_int_equal(found.depth, expected[row].depth);
        assert_true(found.parent ==
                    (expected[row].parent != SIZE_MAX ? row_of("calltree", expected[row].parent).id : 0));
    }
    assert_true(row_of("calltree", 2).id != row_of("calltree", 4).id);
}

/* The order of siblings, and which rows are shown, are no part of it. */
static void order_and_limit_do_not_change_identities(void **state)
{
    (void)state;
    build_tree();
    const uint64_t in_a = row_of("calltree", 2).id, in_b = row_of("calltree", 4).id, b = row_of("calltree", 3).id;
    strcpy(settings.show.sort, "-name");
    fixture_build();
    const hotpath_section *tree = section_named("calltree");
    assert_string_equal(cell_of(tree, 0, "name").text, "main");
    assert_string_equal(cell_of(tree, 1, "name").text, "b");
    assert_true(row_of("calltree", 1).id == b && row_of("calltree", 2).id == in_b);
    assert_true(row_of("calltree", 4).id == in_a);
    settings.show.sort[0] = '\0';
    settings.show.calltree_limit = 3;
    fixture_build();
    assert_int_equal(hotpath_section_rows(section_named("calltree")), 3);
    assert_true(row_of("calltree", 2).id == b || row_of("calltree", 2).id == in_a);
}

static struct hotpath_histogram histogram_of(const char *section, size_t row, const char *key)
{
    struct hotpath_histogram histogram = {.size = sizeof histogram};
    const hotpath_section *its = section_named(section);
    assert_int_equal(hotpath_section_histogram(its, row, column_of(its, key), &histogram), HOTPATH_OK);
    return histogram;
}

/* At the place where it was, not wherever the function is. */
static void paths_have_their_own_sums(void **state)
{
    (void)state;
    build_tree();
    const hotpath_section *tree = section_named("calltree");
    const struct hotpath_histogram in_a = histogram_of("calltree", 2, "waits_ns"),
                                   in_b = histogram_of("calltree", 4, "waits_ns");
    assert_int_equal(in_a.bars, 1);
    assert_string_equal(in_a.labels[0], "sleep");
    assert_int_equal(in_a.amounts[0], 3);
    assert_int_equal(in_b.bars, 2);
    assert_string_equal(in_b.labels[0], "sleep");
    assert_string_equal(in_b.labels[1], "lock");
    assert_true(in_b.amounts[0] == 8 && in_b.amounts[1] == 5 && in_b.from == NULL);
    assert_int_equal(cell_of(tree, 4, "waited_ns").count, 13);
    assert_int_equal(cell_of(tree, 3, "waited_ns").count, 0);
    const uint64_t own = cell_of(tree, 2, "own_cpu_ns").count;
    assert_true(own > 0);
    assert_int_equal(cell_of(tree, 4, "own_cpu_ns").count, 0);
    assert_int_equal(cell_of(tree, 1, "all_cpu_ns").count, own);
    assert_int_equal(cell_of(tree, 0, "all_cpu_ns").count, own);
    assert_int_equal(cell_of(tree, 3, "all_cpu_ns").count, 0);
}

/* ----------------------------------------------------------------------------------------- histograms */

static void histograms_have_every_call(void **state)
{
    (void)state;
    static const uint64_t ticks[] = {0, 1, 15, 16, 63, 64, 79, 80, 1000, 1000, 123456789};
    const uint32_t thread = builder_thread(&builder), site = builder_site(&builder, "f", "a.c", 1);
    const uint32_t node = builder_node(&builder, thread, 0, site);
    for (size_t at = 0; at < COUNT(ticks); at++)
        builder_call(&builder, thread, node, ticks[at], 0);
    builder_elapse(&builder, 200000000, 1);
    fixture_build();
    const struct hotpath_histogram found = histogram_of("timing", 0, "histogram_ns");
    uint64_t seen = 0;
    assert_true(found.unit == HOTPATH_UNIT_NS && found.amount_unit == HOTPATH_UNIT_COUNT && found.labels == NULL);
    for (size_t bar = 0; bar < found.bars; bar++) {
        uint64_t expected = 0;
        for (size_t at = 0; at < COUNT(ticks); at++)
            expected += (double)ticks[at] >= found.from[bar] && (double)ticks[at] < found.to[bar];
        assert_int_equal(found.amounts[bar], expected);
        assert_true(bar == 0 || found.from[bar] >= found.to[bar - 1]);
        assert_true(found.to[bar] <= 1.26 * found.from[bar] || found.to[bar] <= 64);
        seen += expected;
    }
    assert_int_equal(seen, COUNT(ticks));
}

/* -------------------------------------------------------------------------------------------- callbacks */

/* One that was compiled when structs were shorter, and one for which they will be longer. */
static void reporters_get_fields_up_to_their_size(void **state)
{
    (void)state;
    build_tree();
    struct {
        size_t size;
        uint64_t id;
        uint64_t untouched;
    } old = {.size = 16, .untouched = 99};
    const hotpath_section *tree = section_named("calltree");
    assert_int_equal(hotpath_section_row(tree, 1, (struct hotpath_row *)(void *)&old), HOTPATH_OK);
    assert_true(old.size == 16 && old.id == row_of("calltree", 1).id && old.untouched == 99);
    struct {
        struct hotpath_row row;
        uint64_t more;
    } newer = {.row = {.size = sizeof newer}, .more = 99};
    assert_int_equal(hotpath_section_row(tree, 1, &newer.row), HOTPATH_OK);
    assert_true(newer.row.size == sizeof newer && newer.row.id == old.id && newer.more == 0);
    struct hotpath_row none = {.size = 0, .id = 99};
    assert_int_equal(hotpath_section_row(tree, 1, &none), HOTPATH_E_OPTIONS);
    assert_int_equal(none.id, 99);
}

static void missing_data_is_empty(void **state)
{
    (void)state;
    build_tree();
    const hotpath_section *timing = section_named("timing");
    struct hotpath_row row = {.size = sizeof row, .id = 99};
    struct hotpath_histogram histogram = {.size = sizeof histogram, .bars = 99};
    struct hotpath_series series = {.size = sizeof series, .points = 99};
    assert_int_equal(hotpath_section_row(timing, 1000, &row), HOTPATH_E_OPTIONS);
    assert_int_equal(hotpath_section_histogram(timing, 0, column_of(timing, "calls"), &histogram),
                     HOTPATH_E_OPTIONS);
    assert_int_equal(hotpath_section_series(timing, 0, column_of(timing, "calls"), &series), HOTPATH_E_OPTIONS);
    assert_true(row.id == 0 && histogram.bars == 0 && series.points == 0);
}

/* ------------------------------------------------------------------------------------------- rendering */

/* Gives a column of the first row another unit and value. */
static void change(const char *key, enum hotpath_unit unit, struct hp_cell cell)
{
    struct hotpath_section *timing = results->sections[0];
    const size_t column = column_of(timing, key);
    cell.has_value = true;
    timing->columns[column].shown.unit = unit;
    timing->columns[column].shown.visible = 1;
    timing->columns[column].traits = 0;
    timing->rows[0].cells[column] = cell;
}

static void every_kind_of_cell_is_rendered(void **state)
{
    (void)state;
    static const uint64_t times[] = {5, 250000000};
    static const double values[] = {1, 4.5};
    const struct hotpath_series series = {
        .points = 2, .unit = HOTPATH_UNIT_NUMBER, .times_ns = times, .values = values};
    static char bytes[1 << 16];
    struct hp_text out;
    build_two(&builder, "a", "b", 1);
    strcpy(settings.show.report, "timing");
    fixture_build();
    change("timed", HOTPATH_UNIT_SERIES, (struct hp_cell){.series = &series});
    change("threads", HOTPATH_UNIT_RATE, (struct hp_cell){.number = 12.5});
    change("open", HOTPATH_UNIT_INSTANT, (struct hp_cell){.count = UINT64_C(1000000000000000000)});
    change("sampling", HOTPATH_UNIT_STATE, (struct hp_cell){.text = "asleep"});
    ((struct hotpath_section *)results->sections[0])->row_count = 1;
    hp_text_init(&out, bytes, sizeof bytes);
    hp_json_report_render(results, &out, false);
    hp_text_end(&out);
    assert_non_null(strstr(bytes, "\"timed\":[[5,1],[250000000,4.5]]"));
    assert_non_null(strstr(bytes, "\"threads\":12.5"));
    assert_non_null(strstr(bytes, "\"open\":\"2001-09-09T01:46:40.000Z\""));
    assert_non_null(strstr(bytes, "\"sampling\":\"asleep\""));
    char id[40];
    snprintf(id, sizeof id, "\"rows\":[{\"id\":\"%016llx\",", (unsigned long long)row_of("timing", 0).id);
    assert_non_null(strstr(bytes, id));
    hp_text_init(&out, bytes, sizeof bytes);
    assert_true(hp_report_text_render(results, &out, &(struct hp_table_style){0}));
    hp_text_end(&out);
    assert_non_null(strstr(bytes, "\u2582\u2588"));
    assert_non_null(strstr(bytes, " 12.50/s "));
    assert_non_null(strstr(bytes, " 2001-09-09T01:46:40.000Z "));
    assert_non_null(strstr(bytes, "| asleep "));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(function_has_one_identity_in_all_processes),
        TEST(displayed_name_does_not_change_the_identity),
        TEST(demangling_does_not_change_the_identity),
        TEST(any_difference_gives_another_identity),
        TEST(rows_of_threads_have_different_identities),
        TEST(equal_rows_have_different_identities),
        TEST(rows_of_trees_know_their_parents),
        TEST(order_and_limit_do_not_change_identities),
        TEST(paths_have_their_own_sums),
        TEST(histograms_have_every_call),
        TEST(reporters_get_fields_up_to_their_size),
        TEST(missing_data_is_empty),
        TEST(every_kind_of_cell_is_rendered),
    };
    return cmocka_run_group_tests_name("rows", tests, NULL, NULL);
}
