/* A refreshed model equals a new one, whatever happened to its sessions in between. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "floors.h"
#include "model.h"
#include "report.h"
#include "report_fixture.h"

struct output {
    char bytes[1 << 18];
    size_t length;
};

static struct hp_arena kept, passing;
static struct hp_model model;
static struct output old_way, new_way;
static uint32_t thread, main_node, leaf, leaf_site;

static bool collect(void *context, const char *bytes, size_t length)
{
    struct output *output = context;
    assert_true(output->length + length < sizeof output->bytes);
    memcpy(output->bytes + output->length, bytes, length);
    output->length += length;
    output->bytes[output->length] = '\0';
    return true;
}

static struct hp_report_target into(struct output *output)
{
    output->length = 0;
    return (struct hp_report_target){.sink = collect, .context = output};
}

/* Every section, every column. */
static void check_is_as_new(void)
{
    const struct hp_report_target from_scratch = into(&old_way), up_to_date = into(&new_way);
    assert_int_equal(hp_report_render(fixture_open(NULL), &settings, &from_scratch), HOTPATH_OK);
    assert_int_equal(hp_report_render_model(&model, &settings, &up_to_date), HOTPATH_OK);
    assert_string_equal(new_way.bytes, old_way.bytes);
}

static void begin(void)
{
    strcpy(settings.show.report, "all");
    settings.output.format = HP_FORMAT_JSON_PRETTY;
    const uint32_t main_site = builder_site(&builder, "main", "m.c", 1);
    leaf_site = builder_site(&builder, "leaf", "m.c", 9);
    builder_header(&builder)->main_site = main_site;
    thread = builder_thread(&builder);
    main_node = builder_node(&builder, thread, 0, main_site);
    leaf = builder_node(&builder, thread, main_node, leaf_site);
    builder_call(&builder, thread, leaf, 40, 0);
    builder_call(&builder, thread, main_node, 100, 40);
    builder_elapse(&builder, 1000, 1);
    assert_true(hp_model_build(&model, &kept, &passing, fixture_open(NULL)));
    check_is_as_new();
}

static void refresh(void) { assert_true(hp_model_refresh(&model, fixture_open(NULL), false)); }

static int tear_down(void **state)
{
    hp_arena_release(&kept);
    hp_arena_release(&passing);
    return fixture_tear_down(state);
}

/* --------------------------------------------------------------------------------------------------- numbers */

static void more_calls(void **state)
{
    (void)state;
    begin();
    const struct hp_profile *const profile = model.profile;
    builder_call(&builder, thread, leaf, 7000, 0);
    builder_call(&builder, thread, leaf, 3, 0);
    refresh();
    assert_ptr_equal(model.profile, profile); /* the shape was kept */
    check_is_as_new();
    assert_non_null(strstr(new_way.bytes, "\"calls\": 3"));
}

static void zones_open_and_end(void **state)
{
    (void)state;
    begin();
    builder_open(&builder, thread, main_node, 500, 0);
    builder_open(&builder, thread, leaf, 600, 0);
    refresh();
    check_is_as_new();
    assert_non_null(strstr(new_way.bytes, "\"open\": 1"));
    struct hp_thread *record = builder_at(&builder, thread);
    memset(builder_at(&builder, record->frames + (uint32_t)sizeof(struct hotpath_frame_)), 0,
           2 * sizeof(struct hotpath_frame_));
    refresh();
    check_is_as_new();
    assert_null(strstr(new_way.bytes, "\"open\": 1"));
}

static void calls_that_are_not_timed(void **state)
{
    (void)state;
    begin();
    builder_abandoned_call(&builder, leaf);
    refresh();
    check_is_as_new();
}

/* ----------------------------------------------------------------------------------------------------- shapes */

static void another_path(void **state)
{
    (void)state;
    begin();
    builder_call(&builder, thread, builder_node(&builder, thread, 0, leaf_site), 70, 0);
    refresh();
    check_is_as_new();
}

static void second_site_with_the_same_name(void **state)
{
    (void)state;
    begin();
    const uint32_t twin = builder_node(&builder, thread, main_node, builder_site(&builder, "leaf", "other.c", 2));
    refresh(); /* not called yet: nothing of it is seen */
    check_is_as_new();
    assert_null(strstr(new_way.bytes, "other:leaf"));
    builder_call(&builder, thread, twin, 5, 0);
    refresh();
    check_is_as_new();
    assert_non_null(strstr(new_way.bytes, "\"other:leaf\"")); /* and now both need longer names */
    assert_non_null(strstr(new_way.bytes, "\"m:leaf\""));
}

static void another_thread(void **state)
{
    (void)state;
    begin();
    const uint32_t second = builder_thread(&builder);
    builder_call(&builder, second, builder_node(&builder, second, 0, leaf_site), 60, 0);
    refresh();
    check_is_as_new();
}

static void another_session(void **state)
{
    (void)state;
    begin();
    struct session_builder *other = fixture_add_session();
    const uint32_t site = builder_site(other, "leaf", "m.c", 9), record = builder_thread(other);
    const uint32_t node = builder_node(other, record, 0, site);
    builder_call(other, record, node, 11, 0);
    builder_elapse(other, 500, 1);
    refresh();
    check_is_as_new();
    builder_call(other, record, node, 12, 0);
    refresh();
    check_is_as_new();
    assert_non_null(strstr(new_way.bytes, "\"calls\": 3"));
}

/* ------------------------------------------------------------------------------------------- said before */

/* Rows of a function are not mixed up with those of one of its threads. */
static void rows_by_thread_after_others(void **state)
{
    (void)state;
    struct hp_floors floors = {0};
    begin();
    struct hp_snapshots snapshots = *fixture_open(NULL);
    snapshots.floors = &floors;
    assert_true(hp_model_refresh(&model, &snapshots, false));
    settings.show.by = HP_BY_THREAD;
    check_is_as_new();
    hp_floors_release(&floors);
}

/* ----------------------------------------------------------------------------------------------------- for long */

static void memory_does_not_grow(void **state)
{
    (void)state;
    size_t mapped = 0;
    begin();
    for (unsigned round = 0; round < 10000; round++) {
        builder_call(&builder, thread, leaf, 40 + round % 7, 0);
        refresh();
        const struct hp_report_target target = into(&new_way);
        if (round % 100 == 0)
            assert_int_equal(hp_report_render_model(&model, &settings, &target), HOTPATH_OK);
        if (round == 200)
            mapped = kept.mapped + passing.mapped;
    }
    assert_int_equal(kept.mapped + passing.mapped, mapped);
    check_is_as_new();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(more_calls, fixture_set_up, tear_down),
        cmocka_unit_test_setup_teardown(zones_open_and_end, fixture_set_up, tear_down),
        cmocka_unit_test_setup_teardown(calls_that_are_not_timed, fixture_set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_path, fixture_set_up, tear_down),
        cmocka_unit_test_setup_teardown(second_site_with_the_same_name, fixture_set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_thread, fixture_set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_session, fixture_set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_by_thread_after_others, fixture_set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory_does_not_grow, fixture_set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
