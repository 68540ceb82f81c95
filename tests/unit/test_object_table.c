/* The section `objects`, from made-up sessions with unknown kinds. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report_fixture.h"

/* An instance of a class that has the same kind and name. */
static uint32_t instance_of(struct session_builder *of, uint32_t class_, const char *kind, const char *name,
                            uint64_t key)
{
    const uint32_t offset = builder_object(of, kind, name, 5);
    struct hp_object *object = builder_at(of, offset);
    object->class_ = class_;
    object->key = key;
    return offset;
}

static struct hp_part *new_part(struct session_builder *of, uint32_t object, uint64_t first)
{
    struct hp_part *part = builder_at(of, builder_part(of, object, builder_thread(of)));
    part->count[0] = first;
    return part;
}

static struct hotpath_cell cell_at(size_t row, const char *key)
{
    return cell_of(section_named("objects"), row, key);
}

static uint64_t count_at(size_t row, const char *key)
{
    const struct hotpath_cell cell = cell_at(row, key);
    assert_true(cell.has_value);
    return cell.count;
}

/* Counters are added up as the kind says: over threads, and over processes. */
static void counters_follow_their_kind(void **state)
{
    (void)state;
    const uint64_t ticks[] = {10, 30, 20};
    const uint32_t object = builder_object(&builder, "widget", "queue", 5);
    for (size_t at = 0; at < 3; at++) {
        struct hp_part *part = new_part(&builder, object, 10 + at);
        part->count[3] = 7 + at; /* least */
        part->count[4] = 7 + at; /* most */
        part->count[7] = ticks[at];
        part->last_tick = BUILDER_START + ticks[at]; /* newest */
    }
    fixture_build();
    assert_int_equal(hotpath_section_rows(section_named("objects")), 1);
    assert_string_equal(cell_at(0, "kind").text, "widget");
    assert_int_equal(count_at(0, "updates"), 33);
    assert_int_equal(count_at(0, "min"), 7);
    assert_int_equal(count_at(0, "max"), 9);
    assert_int_equal(count_at(0, "newest"), 30);
    assert_int_equal(count_at(0, "threads"), 3);
    assert_false(has_column(section_named("objects"), "real_sum")); /* private to the recorder */
    assert_null(section_named("values"));
    struct session_builder *child = fixture_add_session();
    new_part(child, builder_object(child, "widget", "queue", 6), 100)->count[4] = 1000;
    fixture_build();
    assert_int_equal(hotpath_section_rows(section_named("objects")), 1);
    assert_int_equal(count_at(0, "updates"), 133);
    assert_int_equal(count_at(0, "min"), 0);
    assert_int_equal(count_at(0, "max"), 1000);
}

static void instances_and_the_rest_of_their_class(void **state)
{
    (void)state;
    const uint32_t class_ = builder_object(&builder, "widget", "queue", 5);
    builder_object(&builder, "widget", "zebra", 9);
    new_part(&builder, class_, 30); /* counted for no instance; the sum is 100 */
    new_part(&builder, instance_of(&builder, class_, "widget", "queue", 0x7f0000001000), 20);
    new_part(&builder, instance_of(&builder, class_, "widget", "queue", 0x30), 50);
    struct hp_object *of = builder_at(&builder, class_);
    of->instances = 7;
    of->ended_count = 3;
    fixture_build();
    assert_int_equal(hotpath_section_rows(section_named("objects")), 5);
    assert_string_equal(cell_at(0, "name").text, "queue");
    assert_false(cell_at(0, "instance").has_value);
    assert_int_equal(count_at(0, "updates"), 100);
    assert_int_equal(count_at(0, "instances"), 7);
    assert_int_equal(count_at(0, "live"), 4);
    assert_string_equal(cell_at(1, "name").text, "zebra"); /* classes come first */
    assert_string_equal(cell_at(2, "instance").text, "0x30");
    assert_int_equal(count_at(2, "updates"), 50);
    assert_string_equal(cell_at(3, "instance").text, "0x7f0000001000");
    assert_string_equal(cell_at(4, "instance").text, "<other>");
    assert_int_equal(count_at(4, "updates"), 30);
    assert_false(cell_at(4, "max").has_value); /* no sum */
    assert_false(cell_at(4, "live").has_value);
}

/* What could not be a key of ours, or is one of another column, is not shown; the rest is. */
static void invalid_keys_are_not_shown(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "id",
                                        "name",
                                        "threads",
                                        "Upper",
                                        "a b",
                                        "\"x\"",
                                        "\x1b[1m",
                                        "ungültig",
                                        "children",
                                        "a_key_that_is_far_too_long_to_be_the_name_of_a_column"};
    const uint32_t object = builder_object(&builder, "widget", "queue", 5);
    new_part(&builder, object, 3)->count[1] = 4;
    for (size_t at = 0; at < sizeof wrong / sizeof wrong[0]; at++) {
        const uint32_t text = builder_text(&builder, wrong[at]);
        ((struct hp_kind *)builder_at(&builder, ((struct hp_object *)builder_at(&builder, object))->kind))
            ->counters[0]
            .key = text;
        fixture_build();
        assert_int_equal(count_at(0, "numbers"), 4);
        assert_string_equal(cell_at(0, "name").text, "queue");
        assert_int_equal(count_at(0, "threads"), 1);
        assert_int_equal(has_column(section_named("objects"), "Upper") + has_column(section_named("objects"), "id"),
                         0);
        assert_null(strstr(fixture_render(0, false), "\x1b"));
    }
}

static void invalid_units_are_survived(void **state)
{
    (void)state;
    const uint32_t object = builder_object(&builder, "widget", "queue", 5);
    new_part(&builder, object, 3)->count[1] = 4;
    struct hp_kind *kind = builder_at(&builder, ((struct hp_object *)builder_at(&builder, object))->kind);
    for (uint32_t unit = 0; unit < 40; unit++) {
        kind->counters[0].unit = unit < 39 ? unit : UINT32_MAX;
        fixture_build();
        assert_int_equal(count_at(0, "numbers"), 4);
        assert_non_null(fixture_render(0, false));
    }
}

/* Other classes, itself, none; a kind that claims too much. There is still a report. */
static void broken_records(void **state)
{
    (void)state;
    const uint32_t class_ = builder_object(&builder, "widget", "queue", 5);
    const uint32_t instance = instance_of(&builder, class_, "widget", "queue", 0x30);
    new_part(&builder, class_, 2);
    new_part(&builder, instance, 1);
    struct hp_object *one = builder_at(&builder, instance);
    struct hp_kind *kind = builder_at(&builder, one->kind);
    uint32_t *const links[] = {&one->class_,
                               &one->kind,
                               &one->state,
                               &one->parts,
                               &kind->name,
                               &kind->counter_count,
                               &kind->histogram_count,
                               &kind->counters[0].merge,
                               &kind->flags};
    const uint32_t wrong[] = {1, 2, 8, 9, instance, class_, 0xffffffff, 0xfffffff8};
    for (size_t at = 0; at < sizeof links / sizeof links[0]; at++)
        for (size_t number = 0; number < sizeof wrong / sizeof wrong[0]; number++) {
            const uint32_t before = *links[at];
            *links[at] = wrong[number];
            strcpy(settings.show.report, "objects");
            fixture_build();
            assert_non_null(section_named("objects"));
            fixture_render(0, false);
            *links[at] = before;
        }
}

static void without_memory(void **state)
{
    (void)state;
    const uint32_t class_ = builder_object(&builder, "widget", "queue", 5);
    new_part(&builder, class_, 3);
    new_part(&builder, instance_of(&builder, class_, "widget", "queue", 0x30), 1);
    strcpy(settings.show.report, "objects");
    assert_true(fixture_builds_that_fail() > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(counters_follow_their_kind, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(instances_and_the_rest_of_their_class, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(invalid_keys_are_not_shown, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(invalid_units_are_survived, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(broken_records, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(without_memory, fixture_set_up, fixture_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
