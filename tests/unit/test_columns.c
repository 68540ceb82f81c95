/* The tables of columns: what rows, schema and column help rely on. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report_fixture.h"

static bool has_suffix(const char *key, const char *suffix)
{
    const size_t length = strlen(key), end = strlen(suffix);
    return length >= end && strcmp(key + length - end, suffix) == 0;
}

/* The unit is in the key, and no other one is. */
static void check_key(const struct hp_column_spec *spec)
{
    const bool is_time = has_suffix(spec->key, "_ns");
    const bool is_bytes = has_suffix(spec->key, "_bytes");
    if (spec->unit == HOTPATH_UNIT_NS)
        assert_true(is_time);
    if (spec->unit == HOTPATH_UNIT_BYTES || spec->unit == HOTPATH_UNIT_SIGNED_BYTES)
        assert_true(is_bytes);
    if (spec->unit == HOTPATH_UNIT_PERCENT)
        assert_memory_equal(spec->key, "percent_", 8);
    if (hp_unit_is_text(spec->unit))
        assert_false(is_time || is_bytes);
    for (const char *at = spec->key; *at != '\0'; at++)
        assert_true((*at >= 'a' && *at <= 'z') || (*at >= '0' && *at <= '9') || *at == '_');
}

static void check_column(const struct hp_column_spec *spec)
{
    check_key(spec);
    if (spec->about != NULL)
        assert_int_equal(spec->about[strlen(spec->about) - 1], '.');
    if (spec->words != NULL)
        assert_true(hp_unit_is_text(spec->unit) || spec->unit == HOTPATH_UNIT_HISTOGRAM);
    if (spec->traits & HP_COLUMN_PART)
        assert_int_equal(spec->unit, HOTPATH_UNIT_PERCENT);
    if (spec->shown_by != 0)
        assert_true(spec->traits & HP_COLUMN_SHOWN);
}

static void column_tables_are_complete(void **state)
{
    (void)state;
    for (size_t at = 0; at < hp_section_type_count; at++) {
        const struct hp_section_type *type = hp_section_types[at];
        struct hp_column_list columns, totals;
        size_t families = 0;
        hp_fields_list(type->fields, NULL, &columns);
        hp_fields_list(type->totals, NULL, &totals);
        assert_true(columns.count > 0);
        assert_true(columns.specs[0]->traits & HP_COLUMN_NAME);
        for (size_t column = 0; column < columns.count; column++) {
            check_column(columns.specs[column]);
            assert_true(columns.specs[column]->title != NULL);
            families += columns.specs[column]->is_family;
        }
        /* There is room for all percentiles that can be requested. */
        assert_true(columns.count + families * (HP_MAX_PERCENTILES - 1) <= HP_MAX_COLUMNS);
        for (size_t total = 0; total < totals.count; total++)
            assert_true(totals.specs[total]->key[0] != '\0' && hp_unit_is_whole(totals.specs[total]->unit));
        assert_true(totals.count <= HP_MAX_TOTALS);
    }
}

/* Families may differ only in what precedes their percentiles. */
static bool is_same(const struct hp_column_spec *one, const struct hp_column_spec *other)
{
    return strcmp(one->key, other->key) == 0 &&
           strcmp(one->before != NULL ? one->before : "", other->before != NULL ? other->before : "") == 0;
}

static void columns_have_different_keys(void **state)
{
    (void)state;
    for (size_t at = 0; at < hp_section_type_count; at++) {
        struct hp_column_list list;
        hp_fields_list(hp_section_types[at]->fields, NULL, &list);
        for (size_t x = 0; x < list.count; x++)
            for (size_t y = x + 1; y < list.count; y++)
                assert_false(is_same(list.specs[x], list.specs[y]));
    }
}

static size_t index_of(const struct hotpath_section *section, const char *key)
{
    size_t at = 0;
    while (at < section->column_count && strcmp(section->columns[at].shown.key, key) != 0)
        at++;
    return at;
}

/* Reports have the columns of the table, in the same order, with any settings. */
static void reports_have_the_columns_of_the_table(void **state)
{
    (void)state;
    const uint32_t thread = builder_thread(&builder);
    const uint32_t site = builder_site(&builder, "f", "f.c", 1);
    builder_call(&builder, thread, builder_node(&builder, thread, 0, site), 10, 0);
    strcpy(settings.show.report, "all");
    for (unsigned round = 0; round < 4; round++) {
        settings.show.by = round & 1 ? HP_BY_THREAD : HP_BY_FUNCTION;
        settings.show.time_exclusive = round & 2;
        fixture_build();
        assert_true(results->section_count > 2);
        for (size_t at = 0; at < results->section_count; at++) {
            const struct hotpath_section *section = results->sections[at];
            struct hp_column_list list;
            hp_fields_list(section->type->fields, NULL, &list);
            for (size_t column = 0; column < list.count; column++) {
                const struct hp_column_spec *spec = list.specs[column];
                const size_t found = index_of(section, spec->key);
                if (!spec->is_family && spec->needs == 0)
                    assert_true(found < section->column_count);
                if (spec->needs == HP_FACT_BY_THREAD)
                    assert_int_equal(found < section->column_count, round & 1);
            }
        }
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(column_tables_are_complete), TEST(columns_have_different_keys),
                                       TEST(reports_have_the_columns_of_the_table)};
    return cmocka_run_group_tests_name("columns", tests, NULL, NULL);
}
