/* Functions that were never called, from made-up files. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cold.h"
#include "report_fixture.h"

#define PROGRAM "/opt/demo/program"
#define LIBRARY "/opt/demo/library.so"

static struct hp_function of_program[] = {
    {"main", "", 0x1000, 100, true},       {"plain", "", 0x1100, 900, false},
    {"cold_small", "", 0x1500, 20, true},  {"parse", "lexer.c", 0x1600, 50, true},
    {"parse", "json.c", 0x1700, 60, true}, {"cold_large", "json.c", 0x1800, 300, true},
    {"init", "", 0x100001900, 10, true},
};
static struct hp_function of_library[] = {{"init", "", 0x500, 40, true}, {"library_cold", "", 0x600, 30, true}};
static const char *library_problem;
static unsigned reads;

static const char *read_functions(struct hp_arena *arena, const char *path, struct hp_functions *ret_functions)
{
    (void)arena;
    reads++;
    if (strcmp(path, PROGRAM) == 0)
        *ret_functions = (struct hp_functions){of_program, sizeof of_program / sizeof of_program[0]};
    else if (strcmp(path, LIBRARY) == 0 && library_problem == NULL)
        *ret_functions = (struct hp_functions){of_library, sizeof of_library / sizeof of_library[0]};
    else
        return library_problem != NULL ? library_problem : "no longer exists";
    return NULL;
}

static int set_up(void **state)
{
    hp_cold_reader = read_functions;
    library_problem = NULL;
    reads = 0;
    fixture_set_up(state);
    strcpy(settings.show.report, "cold");
    return 0;
}

/* A function that a session knows; with calls, or from an earlier session of the process. */
static void know(struct session_builder *session, uint32_t thread, const char *name, const char *source,
                 const char *image, uint64_t address, unsigned calls)
{
    const uint32_t id = builder_site(session, name, source, 0);
    const uint32_t text = builder_text(session, image);
    struct hp_site *site =
        (struct hp_site *)builder_at(session, builder_header(session)->site_chunks[id / HP_SITES_PER_CHUNK]) +
        id % HP_SITES_PER_CHUNK;
    site->image = text;
    site->address_low = (uint32_t)address;
    site->address_high = (uint32_t)(address >> 32);
    if (calls == 0)
        return;
    const uint32_t node = builder_node(session, thread, 0, id);
    for (unsigned call = 0; call < calls; call++)
        builder_call(session, thread, node, 10, 0);
}

static uint32_t build_session(void)
{
    const uint32_t thread = builder_thread(&builder);
    know(&builder, thread, "main", "", PROGRAM, 0x1000, 1);
    know(&builder, thread, "parse", "json.c", PROGRAM, 0x1700, 3);
    know(&builder, thread, "init", "", PROGRAM, UINT64_C(0x100001900), 1);
    return thread;
}

static const char *names(void)
{
    static char text[512];
    const hotpath_section *cold = section_named("cold");
    text[0] = '\0';
    for (size_t row = 0; row < hotpath_section_rows(cold); row++) {
        strcat(text, row > 0 ? " " : "");
        strcat(text, cell_of(cold, row, "name").text);
    }
    return text;
}

static void uncalled_functions_are_listed_by_size(void **state)
{
    (void)state;
    build_session();
    fixture_build();
    const hotpath_section *cold = section_named("cold");
    assert_string_equal(names(), "cold_large parse cold_small");
    assert_int_equal(cell_of(cold, 0, "size_bytes").count, 300);
    assert_string_equal(cell_of(cold, 1, "source").text, "lexer.c");
    assert_false(cell_of(cold, 2, "source").has_value);
    assert_string_equal(cell_of(cold, 0, "image").text, "program");
    assert_string_equal(cell_of(cold, 0, "path").text, PROGRAM);
    assert_int_equal(results->warning_count, 0);
    assert_int_equal(cold->note_count, 0);
    settings.show.functions_limit = 1;
    fixture_build();
    assert_string_equal(names(), "cold_large");
    assert_int_equal(hotpath_section_total_rows(section_named("cold")), 3);
    strcpy(settings.show.sort, "-name");
    strcpy(settings.show.focus, "a");
    settings.show.functions_limit = 0;
    fixture_build();
    assert_string_equal(names(), "parse cold_small cold_large");
}

/* Known from before, and not called in this session. */
static void function_called_in_an_earlier_session_only_is_listed(void **state)
{
    (void)state;
    know(&builder, build_session(), "cold_small", "", PROGRAM, 0x1500, 0);
    fixture_build();
    assert_string_equal(names(), "cold_large parse cold_small");
}

static void function_called_by_any_process_is_not_listed(void **state)
{
    (void)state;
    build_session();
    struct session_builder *other = fixture_add_session();
    const uint32_t thread = builder_thread(other);
    know(other, thread, "cold_large", "json.c", PROGRAM, 0x1800, 1);
    know(other, thread, "library_cold", "", LIBRARY, 0x600, 1);
    fixture_build();
    assert_int_equal(reads, 2);
    assert_string_equal(names(), "parse cold_small"); /* and init, which recording cannot tell from the other */
}

static void replaced_file_is_left_out(void **state)
{
    (void)state;
    static const struct {
        const char *name, *source;
        uint64_t address;
    } wrong[] = {
        {"cold_small", "", 0x1501}, {"other", "", 0x1500}, {"cold_small", "x.c", 0x1500}, {"gone", "", 0x9999}};
    for (size_t at = 0; at < sizeof wrong / sizeof wrong[0]; at++) {
        if (at > 0) {
            fixture_tear_down(state);
            set_up(state);
        }
        const uint32_t thread = build_session();
        know(&builder, thread, wrong[at].name, wrong[at].source, PROGRAM, wrong[at].address, 1);
        know(&builder, thread, "init", "", LIBRARY, 0x500, 1);
        fixture_build();
        assert_string_equal(names(), "library_cold");
        assert_int_equal(results->warning_count, 1);
        assert_string_equal(results->warnings[0],
                            "cold: '" PROGRAM "': its functions are not listed, because it was rebuilt after this "
                            "run, so its addresses no longer match");
    }
}

static void unreadable_file_is_left_out(void **state)
{
    (void)state;
    library_problem = "has no symbols: it was stripped";
    know(&builder, builder_thread(&builder), "init", "", LIBRARY, 0x500, 1);
    fixture_build();
    assert_string_equal(names(), "");
    assert_string_equal(results->warnings[0],
                        "cold: '" LIBRARY
                        "': its functions are not listed, because it has no symbols: it was stripped");
    assert_string_equal(section_named("cold")->if_empty, "no program or library could be read");
}

static void notes_if_nothing_is_instrumented(void **state)
{
    (void)state;
    const uint32_t thread = builder_thread(&builder);
    builder_call(&builder, thread, builder_node(&builder, thread, 0, builder_site(&builder, "main", "m.c", 3)), 5,
                 0);
    fixture_build();
    assert_int_equal(reads, 0);
    assert_non_null(strstr(fixture_render(0, false), "no function was instrumented by the compiler"));
}

static void unknown_functions_are_noted(void **state)
{
    (void)state;
    build_session();
    builder_header(&builder)->filter = builder_text(&builder, "/main|parse|init/");
    builder_header(&builder)->losses[HP_LOSS_SITES] = 1;
    of_program[0].is_instrumented = false; /* called, but not instrumented by its code */
    fixture_build();
    of_program[0].is_instrumented = true;
    const hotpath_section *cold = section_named("cold");
    assert_string_equal(names(), "parse");
    assert_int_equal(cold->note_count, 3);
    assert_non_null(strstr(cold->notes[0], "some of these may have been called"));
    assert_non_null(strstr(cold->notes[1], "HOTPATH_FILTER"));
    assert_non_null(strstr(cold->notes[2], "the list may be incomplete"));
}

/* As in a process that reports itself. */
static void no_section_without_a_reader_of_files(void **state)
{
    (void)state;
    hp_cold_reader = NULL;
    build_session();
    strcpy(settings.show.report, "timing,cold");
    fixture_build();
    assert_null(section_named("cold"));
    assert_non_null(section_named("timing"));
    assert_int_equal(results->warning_count, 1);
    assert_string_equal(
        results->warnings[0],
        "the section 'cold' is not part of reports that a process writes itself: 'hotpath report --cold' shows it");
    static const char *const silent[] = {"all", "auto", "-cold", "all,-cold"};
    for (size_t at = 0; at < sizeof silent / sizeof silent[0]; at++) {
        strcpy(settings.show.report, silent[at]);
        fixture_build();
        assert_null(section_named("cold"));
        assert_int_equal(results->warning_count, 0);
    }
}

static void shown_on_request_only(void **state)
{
    (void)state;
    build_session();
    strcpy(settings.show.report, "auto");
    fixture_build();
    assert_null(section_named("cold"));
    strcpy(settings.show.report, "all");
    fixture_build();
    assert_non_null(section_named("cold"));
}

static void running_out_of_memory_is_reported(void **state)
{
    (void)state;
    build_session();
    assert_true(fixture_builds_that_fail() > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(uncalled_functions_are_listed_by_size, set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(function_called_in_an_earlier_session_only_is_listed, set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(function_called_by_any_process_is_not_listed, set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(replaced_file_is_left_out, set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(unreadable_file_is_left_out, set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(notes_if_nothing_is_instrumented, set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(unknown_functions_are_noted, set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(no_section_without_a_reader_of_files, set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(shown_on_request_only, set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(running_out_of_memory_is_reported, set_up, fixture_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
