/*
 * The section `values`, from made-up sessions: several processes, other orders, broken records.
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report_fixture.h"

static size_t row_named(const hotpath_section *section, const char *name)
{
    for (size_t row = 0; row < hotpath_section_rows(section); row++)
        if (strcmp(cell_of(section, row, "name").text, name) == 0)
            return row;
    fail_msg("there is no row '%s'", name);
    return 0;
}

static double number(const char *name, const char *key)
{
    const hotpath_section *section = section_named("values");
    const struct hotpath_cell cell = cell_of(section, row_named(section, name), key);
    assert_true(cell.has_value);
    return cell.number;
}

static const char *text(const char *name, const char *key)
{
    const hotpath_section *section = section_named("values");
    return cell_of(section, row_named(section, name), key).text;
}

/* A gauge that is set, which the recorder keeps as it is. */
static void set_gauge(struct session_builder *session, uint32_t part, uint64_t tick, int64_t value)
{
    struct hp_part *gauge = builder_at(session, part);
    builder_update(session, part, tick, value);
    gauge->count[HP_VALUE_SET_TICK] = BUILDER_START + tick;
    gauge->count[HP_VALUE_SET] = (uint64_t)value;
}

static void values_of_processes_share_a_row(void **state)
{
    (void)state;
    struct session_builder *other = fixture_add_session();
    struct session_builder *const sessions[] = {&builder, other};
    for (int64_t at = 0; at < 2; at++) {
        const uint32_t thread = builder_thread(sessions[at]);
        const uint32_t size =
            builder_part(sessions[at], builder_object(sessions[at], "value", "size", 3 + (uint32_t)at), thread);
        for (int64_t value = 1; value <= 50; value++)
            builder_update(sessions[at], size, (uint64_t)(2 * value + at), 50 * at + value);
        set_gauge(sessions[at],
                  builder_part(sessions[at], builder_object(sessions[at], "gauge", "level", 9), thread),
                  at == 0 ? 80 : 60, at == 0 ? 5 : 6);
    }
    settings.show.percentiles[0] = 50;
    settings.show.percentiles[1] = 95;
    settings.show.percentiles[2] = 99;
    settings.show.percentile_count = 3;
    fixture_build();
    assert_int_equal(hotpath_section_rows(section_named("values")), 2);
    assert_true(number("size", "updates") == 100 && number("size", "threads") == 2);
    assert_true(number("size", "min") == 1 && number("size", "max") == 100 && number("size", "mean") == 50.5);
    assert_true(number("size", "p50") == 50 && number("size", "p95") == 95 && number("size", "p99") == 99);
    assert_string_equal(text("size", "recent"), "100, 50, 99, 49, 98, 48");
    assert_string_equal(text("size", "location"), "src/values.c:3");
    /* The value is that of the process that set it last, whichever comes first in the run. */
    assert_string_equal(text("level", "last"), "5");
    assert_true(number("level", "min") == 5 && number("level", "max") == 6);
}

/* Additions are added up over processes if none of them has set the gauge. */
static void gauges_with_additions(void **state)
{
    (void)state;
    struct session_builder *const sessions[] = {&builder, fixture_add_session(), fixture_add_session()};
    for (uint64_t at = 0; at < 3; at++) {
        const uint32_t part = builder_part(sessions[at], builder_object(sessions[at], "gauge", "open", 9),
                                           builder_thread(sessions[at]));
        builder_update(sessions[at], part, 10 + at, 1);
        struct hp_part *gauge = builder_at(sessions[at], part);
        gauge->count[HP_VALUE_SET_TICK] = 0;
        gauge->count[HP_VALUE_ADDED] = at == 2 ? UINT64_MAX : 10;
    }
    fixture_build();
    assert_string_equal(text("open", "last"), "19");
}

static void order_and_limit(void **state)
{
    (void)state;
    const uint32_t thread = builder_thread(&builder);
    static const char *const names[] = {"once", "twice", "often"};
    for (size_t at = 0; at < 3; at++) {
        const uint32_t part = builder_part(&builder, builder_object(&builder, "value", names[at], 3), thread);
        for (size_t times = 0; times <= at; times++)
            builder_update(&builder, part, 5, 100 - (int64_t)at);
    }
    settings.show.functions_limit = 2;
    fixture_build();
    const hotpath_section *section = section_named("values");
    assert_int_equal(hotpath_section_rows(section), 2);
    assert_int_equal(hotpath_section_total_rows(section), 3);
    assert_string_equal(cell_of(section, 0, "name").text, "often");
    strcpy(settings.show.sort, "max");
    fixture_build();
    assert_string_equal(cell_of(section_named("values"), 0, "name").text, "once");
    assert_non_null(strstr(fixture_render(0, false), "rows are sorted by Max, descending"));
}

static void rendered_table(void **state)
{
    (void)state;
    const uint32_t thread = builder_thread(&builder);
    const uint32_t part = builder_part(&builder, builder_object(&builder, "count", "bytes", 3), thread);
    builder_update(&builder, part, 1000, 200);
    builder_update(&builder, part, 2000, 200);
    builder_update_text(&builder, builder_part(&builder, builder_object(&builder, "value", "state", 4), thread), 7,
                        "on\n\x1b[1m");
    fixture_build();
    const char *report = fixture_render(0, false);
    assert_non_null(
        strstr(report, "| Value | Kind  | Updates | Last        | Min | Mean | P95 | Max | Total |    Rate/s |\n"));
    assert_non_null(
        strstr(report, "| bytes | count |       2 | 200         | 200 |  200 | 200 | 200 |   400 | 200000000 |\n"));
    assert_null(strstr(report, "\x1b"));
}

/* Records with invalid offsets, circles or excessive counts: there is still a report. */
static void broken_records(void **state)
{
    (void)state;
    const uint32_t thread = builder_thread(&builder);
    const uint32_t object = builder_object(&builder, "value", "size", 3);
    const uint32_t part = builder_part(&builder, object, thread);
    builder_update(&builder, part, 5, 7);
    struct hp_object *of = builder_at(&builder, object);
    struct hp_part *in = builder_at(&builder, part);
    struct hp_kind *kind = builder_at(&builder, of->kind);
    struct hp_log *log = builder_at(&builder, in->log);
    struct hp_histogram *histogram = builder_at(&builder, in->histograms[0]);
    uint32_t *const links[] = {
        &of->next,       &of->kind,         &of->site,   &of->parts,
        &in->sibling,    &in->log,          &kind->name, &kind->counter_count,
        &log->capacity,  &log->texts,       &in->type,   &histogram->octaves[HP_MAGNITUDE_ONE + 2],
        &of->generation, &in->histograms[1]};
    const uint32_t wrong[] = {1,      8,    0xffffffff, 0xfffffff8,
                              object, part, 100,        (uint32_t)builder_size(&builder) - 8};
    for (size_t at = 0; at < sizeof links / sizeof links[0]; at++)
        for (size_t number_ = 0; number_ < sizeof wrong / sizeof wrong[0]; number_++) {
            const uint32_t before = *links[at];
            *links[at] = wrong[number_];
            strcpy(settings.show.report, "values");
            fixture_build();
            assert_non_null(section_named("values"));
            fixture_render(0, false);
            *links[at] = before;
        }
    fixture_build();
    assert_true(number("size", "max") == 7);
}

/* A record of an instance that is used again has parts of those before, which count no more. */
static void parts_of_earlier_instances(void **state)
{
    (void)state;
    const uint32_t object = builder_object(&builder, "value", "size", 3);
    for (uint32_t at = 0; at < 3; at++) {
        const uint32_t part = builder_part(&builder, object, builder_thread(&builder));
        builder_update(&builder, part, 5, 1);
        ((struct hp_part *)builder_at(&builder, part))->generation = at;
    }
    ((struct hp_object *)builder_at(&builder, object))->generation = 1;
    fixture_build();
    assert_true(number("size", "updates") == 1);
}

static void without_memory(void **state)
{
    (void)state;
    const uint32_t object = builder_object(&builder, "value", "size", 3);
    builder_update(&builder, builder_part(&builder, object, builder_thread(&builder)), 5, 1);
    strcpy(settings.show.report, "values");
    assert_true(fixture_builds_that_fail() > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(values_of_processes_share_a_row, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(gauges_with_additions, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(order_and_limit, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(rendered_table, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(broken_records, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(parts_of_earlier_instances, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(without_memory, fixture_set_up, fixture_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
