/* Reports as text and as JSON, compared byte by byte. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report_fixture.h"
#include "utf8.h"

/* The session of the examples: main, a sleep, some work, some allocation. */
static void build_overview(void)
{
    static const struct {
        const char *name;
        uint64_t calls, ticks;
    } functions[] = {{"async_sleep", 1000, 11770000}, {"sync_work", 1000, 3140000}, {"sync_alloc", 1000, 1230}};
    const uint32_t thread = builder_thread(&builder);
    const uint32_t main_site = builder_site(&builder, "main", "overview.c", 40);
    const uint32_t main_node = builder_node(&builder, thread, 0, main_site);
    builder_header(&builder)->main_site = main_site;
    uint64_t inside = 0;
    for (size_t at = 0; at < 3; at++) {
        const uint32_t site = builder_site(&builder, functions[at].name, "overview.c", 10 + (uint32_t)at);
        const uint32_t node = builder_node(&builder, thread, main_node, site);
        for (uint64_t call = 0; call < functions[at].calls; call++)
            builder_call(&builder, thread, node, functions[at].ticks, 0);
        inside += functions[at].calls * functions[at].ticks;
    }
    builder_call(&builder, thread, main_node, UINT64_C(15610000000), inside);
    builder_elapse(&builder, UINT64_C(15612000000), 1);
    builder_header(&builder)->zone_cost_ps = 46000;
    builder_header(&builder)->zone_inner_ps = 20000;
}

static void rendered_table(void **state)
{
    (void)state;
    build_overview();
    assert_string_equal(fixture_render(0, false),
                        "[hotpath] 15.61 s | timing\n"
                        "\n"
                        "timing - Function execution time.\n"
                        "+-------------+-------+----------+----------+---------+---------+\n"
                        "| Function    | Calls |      Avg |      P95 |   Total | % Total |\n"
                        "+-------------+-------+----------+----------+---------+---------+\n"
                        "| main        |     1 |  15.61 s |  15.61 s | 15.61 s | 100.00% |\n"
                        "| async_sleep |  1000 | 11.77 ms | 11.77 ms | 11.77 s |  75.40% |\n"
                        "| sync_work   |  1000 |  3.14 ms |  3.14 ms |  3.14 s |  20.12% |\n"
                        "| sync_alloc  |  1000 |  1.23 µs |  1.23 µs | 1.23 ms |   0.01% |\n"
                        "+-------------+-------+----------+----------+---------+---------+\n"
                        "\n"
                        "clock monotonic; one zone costs 46.0 ns; measuring took less than 0.1 % of the "
                        "run; nothing was lost\n");
}

static void marks_rows_and_explains_the_marks(void **state)
{
    (void)state;
    const uint32_t thread = builder_thread(&builder);
    const uint32_t node = builder_node(&builder, thread, 0, builder_site(&builder, "spin", "s.c", 1));
    builder_call(&builder, thread, node, 100, 0);
    builder_open(&builder, thread, node, 600, 0);
    builder_elapse(&builder, 1000, 1);
    builder_header(&builder)->zone_cost_ps = 90000;
    builder_header(&builder)->zone_inner_ps = 80000;
    builder_header(&builder)->metadata = builder_text(&builder, "branch=main,rev=\x1b[31mred");
    builder_header(&builder)->label = builder_text(&builder, "nightly");
    assert_string_equal(
        fixture_render(0, false),
        "[hotpath] 1.00 µs | timing | nightly\n"
        "metadata: branch=main, rev=\\x1b[31mred\n"
        "\n"
        "timing - Function execution time.\n"
        "+----------+-------+-----------+-----------+------------+---------+\n"
        "| Function | Calls |       Avg |       P95 |      Total | % Total |\n"
        "+----------+-------+-----------+-----------+------------+---------+\n"
        "| spin*    |     2 | 250.00 ns | 400.00 ns | ~500.00 ns |  50.00% |\n"
        "+----------+-------+-----------+-----------+------------+---------+\n"
        "* still running at the time of the report: counted up to then\n"
        "~ more than 10 % of this time may be measuring overhead\n"
        "% Total is the share of the session time, because there was no HOTPATH_MAIN()\n"
        "\n"
        "clock monotonic; one zone costs 90.0 ns; measuring took about 18.0 % of the run; nothing was lost\n");
}

static void table_says_how_many_rows_were_cut(void **state)
{
    (void)state;
    settings.show.functions_limit = 3;
    build_overview();
    assert_non_null(strstr(fixture_render(0, false), "timing - Function execution time. (3/4)\n"));
}

static void indents_trees(void **state)
{
    (void)state;
    strcpy(settings.show.report, "calltree");
    build_overview();
    assert_non_null(strstr(fixture_render(0, false),
                           "calltree - Who called whom.\n"
                           "+---------------+-------+---------+-----------+---------+\n"
                           "| Function      | Calls |   Total |      Self | % Total |\n"
                           "+---------------+-------+---------+-----------+---------+\n"
                           "| main          |     1 | 15.61 s | 698.77 ms | 100.00% |\n"
                           "|   async_sleep |  1000 | 11.77 s |   11.77 s |  75.40% |\n"
                           "|   sync_work   |  1000 |  3.14 s |    3.14 s |  20.12% |\n"
                           "|   sync_alloc  |  1000 | 1.23 ms |   1.23 ms |   0.01% |\n"
                           "+---------------+-------+---------+-----------+---------+\n"));
}

static void nothing_measured_names_the_macro(void **state)
{
    (void)state;
    const char *report = fixture_render(0, false);
    assert_non_null(
        strstr(report, "nothing was measured. Compile with -DHOTPATH and put HOTPATH_MEASURE() into functions"));
    assert_null(strstr(report, "+--"));
}

static void warns_in_the_report(void **state)
{
    (void)state;
    strcpy(settings.show.report, "timing,sql");
    build_overview();
    char expected[1024] = "\n"
                          "warning: unknown section 'sql': known sections are short, auto, all, tree";
    for (size_t at = 0; at < hp_section_type_count; at++) {
        strcat(expected, ", ");
        strcat(expected, hp_section_types[at]->name);
    }
    strcat(expected, "\n");
    assert_non_null(strstr(fixture_render(0, false), expected));
}

static void report_says_if_the_file_is_truncated_or_the_process_died(void **state)
{
    (void)state;
    build_overview();
    builder_header(&builder)->used += 1000;
    char expected[128];
    snprintf(expected, sizeof expected, "warning: the session file is truncated: %zu of %zu bytes\n",
             builder_size(&builder), builder_size(&builder) + 1000);
    assert_non_null(strstr(fixture_render(0, false), expected));
    builder_header(&builder)->used -= 1000;
    builder_header(&builder)->state = HP_STATE_LIVE;
    assert_null(strstr(fixture_render(0, false), "measured calls"));
    const uint32_t thread = builder_thread(&builder);
    const uint32_t site = builder_site(&builder, "open", "open.c", 1);
    builder_open(&builder, thread, builder_node(&builder, thread, 0, site), 100, 0);
    assert_non_null(strstr(
        fixture_render(0, false),
        "\nthe process was killed, or ended by _exit, in the middle of measured calls, which are counted up to "
        "their last recorded time\n"));
}

/* -------------------------------------------------------------------------------------------- width */

/* The widest line, in columns; escape sequences take none. */
static size_t widest_line(const char *report)
{
    size_t widest = 0;
    while (*report != '\0') {
        const size_t length = strcspn(report, "\n");
        const size_t columns = hp_utf8_columns(report, length);
        widest = columns > widest ? columns : widest;
        report += length + (report[length] == '\n');
    }
    return widest;
}

/* All lines of a table are equally wide; another table may have another width. */
static void assert_aligned(const char *report)
{
    size_t width = 0, tables = 0;
    while (*report != '\0') {
        const size_t length = strcspn(report, "\n");
        if (*report == '+' || *report == '|') {
            const size_t columns = hp_utf8_columns(report, length);
            assert_true(width == 0 || width == columns);
            tables += width == 0;
            width = columns;
        } else {
            width = 0;
        }
        report += length + (report[length] == '\n');
    }
    assert_true(tables > 0);
}

static void build_wide_names(void)
{
    static const char *const names[] = {
        "解析する",
        "größenänderung",
        "e\xcc\x81l\xc3\xa8ve",
        "hot🔥path",
        "bad\xff\xfe_utf8",
        "line\nbreak",
        "a_function_with_a_really_very_long_name_that_somebody_generated",
        "namespace::Class::method_with_a_name",
        "파싱_함수_이름이_매우_길다_정말로",
    };
    const uint32_t thread = builder_thread(&builder);
    for (uint32_t at = 0; at < sizeof names / sizeof names[0]; at++) {
        const uint32_t node = builder_node(&builder, thread, 0, builder_site(&builder, names[at], "f.c", at + 1));
        builder_call(&builder, thread, node, 1000 + 100 * at, 0);
        if (at % 3 == 0)
            builder_open(&builder, thread, node, 10 * at, 0);
    }
}

static void wide_characters_are_aligned(void **state)
{
    (void)state;
    build_wide_names();
    strcpy(settings.show.columns, "all");
    const char *report = fixture_render(0, false);
    assert_aligned(report);
    assert_non_null(strstr(report, "bad\xef\xbf\xbd\xef\xbf\xbd_utf8"));
    assert_non_null(strstr(report, "line\\nbreak"));
}

/* A name that becomes four times as long when it is made safe. */
static void long_thread_names_are_shortened(void **state)
{
    (void)state;
    const uint32_t thread = builder_thread(&builder);
    memset(((struct hp_thread *)builder_at(&builder, thread))->name, 0x1b, 15);
    builder_call(&builder, thread, builder_node(&builder, thread, 0, builder_site(&builder, "parse", "f.c", 1)), 9,
                 0);
    settings.show.by = HP_BY_THREAD;
    strcpy(settings.show.report, "timing");
    for (uint32_t width = 40; width < 120; width++)
        assert_true(widest_line(fixture_render(width, false)) <= width);
    assert_non_null(strstr(fixture_render(60, false), "| parse "));
}

static void no_line_is_wider_than_the_terminal(void **state)
{
    (void)state;
    build_wide_names();
    strcpy(settings.show.report, "all");
    for (int all_columns = 0; all_columns < 2; all_columns++) {
        strcpy(settings.show.columns, all_columns ? "all" : "");
        for (uint32_t width = 40; width < 260; width++) {
            const char *report = fixture_render(width, false);
            assert_true(widest_line(report) <= width);
            assert_non_null(strstr(report, " Calls "));
            assert_non_null(strstr(report, " Total "));
            assert_non_null(strstr(report, "| Function "));
        }
    }
    assert_aligned(fixture_render(61, false));
}

static void names_are_shortened_before_columns_are_dropped(void **state)
{
    (void)state;
    build_wide_names();
    const char *report = fixture_render(90, false);
    assert_non_null(strstr(report, "% Total"));
    assert_non_null(strstr(report, "…"));
    assert_non_null(strstr(report, "generated"));
    report = fixture_render(50, false);
    assert_null(strstr(report, "P95 |"));
    assert_non_null(strstr(report, "% Total |")); /* the share goes last */
    report = fixture_render(34, false);
    assert_null(strstr(report, "% Total |"));
    assert_non_null(strstr(report, "| Calls "));
}

static void colour_is_for_terminals_only(void **state)
{
    (void)state;
    build_overview();
    assert_null(strchr(fixture_render(0, false), '\033'));
    const char *report = fixture_render(0, true);
    assert_non_null(strstr(report, "| \033[1mFunction   \033[0m | "));
    assert_non_null(strstr(report, "\033[2mclock monotonic"));
}

/* --------------------------------------------------------------------------------------------- other */

static bool give_up(void *context, const char *bytes, size_t length)
{
    (void)context, (void)bytes, (void)length;
    return false;
}

static void failing_sink_is_reported(void **state)
{
    (void)state;
    const struct hp_report_target target = {.sink = give_up};
    build_overview();
    const struct hp_snapshots *snapshots = fixture_open(NULL);
    assert_int_equal(hp_report_render(snapshots, &settings, &target), HOTPATH_E_OUTPUT);
    settings.output.format = HP_FORMAT_JSON;
    assert_int_equal(hp_report_render(snapshots, &settings, &target), HOTPATH_E_OUTPUT);
    settings.output.format = HP_FORMAT_NONE;
    assert_int_equal(hp_report_render(snapshots, &settings, &target), HOTPATH_OK);
}

static void remember(const hotpath_results *given, void *context)
{
    *(size_t *)context = hotpath_section_rows(hotpath_results_section(given, 0));
}

static void rows_are_passed_to_reporters(void **state)
{
    (void)state;
    size_t rows = 0;
    build_overview();
    const struct hp_snapshots *snapshots = fixture_open(NULL);
    assert_int_equal(hp_report_hand_over(snapshots, &settings, remember, &rows), HOTPATH_OK);
    assert_int_equal(rows, 4);
}

/* ---------------------------------------------------------------------------------------------- JSON */

static void json_is_raw_and_complete(void **state)
{
    (void)state;
    settings.output.format = HP_FORMAT_JSON;
    strcpy(settings.record.metadata, "branch=main,rev=a=b,branch=dev,flag");
    strcpy(settings.record.label, "quo\"te");
    const uint32_t thread = builder_thread(&builder);
    const uint32_t main_site = builder_site(&builder, "main", "m.c", 7);
    const uint32_t node = builder_node(&builder, thread, 0, main_site);
    builder_header(&builder)->main_site = main_site;
    builder_call(&builder, thread, node, 40, 0);
    builder_call(&builder, thread, node, 45, 0);
    builder_elapse(&builder, 5000000, 1);
    builder_header(&builder)->zone_cost_ps = 46500;
    builder_header(&builder)->zone_inner_ps = 2000;
    assert_string_equal(
        fixture_render(80, true),
        "{\"type\":\"hotpath_report\",\"version\":2,\"hotpath\":\"" HOTPATH_VERSION "\",\"meta\":{\"created_at\":"
        "\"2026-10-02T08:00:00.005Z\",\"command\":\"./demo --fast\",\"executable\":\"/usr/bin/demo\",\"pid\":4242,"
        "\"parent_pid\":1,\"host\":\"box\",\"system\":\"Linux 6.1 x86_64\",\"cores\":2,\"threads\":1,\"library\":"
        "\"hotpath 0.1.0, gcc "
        "12\",\"clock\":{\"kind\":\"monotonic\",\"hz\":1000000000},\"processes\":1,\"headline\":null,\"headline_"
        "functions\":[]},\"label\":"
        "\"quo\\\"te\","
        "\"user_metadata\":{\"rev\":\"a=b\",\"branch\":\"dev\",\"flag\":\"\"},\"state\":\"finished\","
        "\"time\":\"inclusive\",\"by\":\"function\",\"elapsed_ns\":5000000,\"sections\":{\"timing\":{"
        "\"description\":"
        "\"Function execution time.\",\"main\":\"main\",\"percent_of\":\"main\",\"order\":{\"column\":"
        "\"total_ns\",\"direction\":\"descending\"},\"total_rows\":1,\"shown_rows\":1,"
        "\"rows\":[{\"id\":\"025e18c3e47c4d01\",\"name\":\"main\",\"calls\":2,\"polls\":null,\"avg_ns\":42.5,\"p95_"
        "ns\":45,"
        "\"total_ns\":85,\"percent_total\":"
        "100,"
        "\"self_ns\":85,\"min_ns\":40,\"max_ns\":45,\"typical_ns\":40,\"quarter_ns\":40,\"histogram_ns\":[[32,48,2]"
        "],\"threads\":1,\"location\":{"
        "\"file\":\"m.c\",\"line\":7,"
        "\"function\":\"main\"},\"open\":0,\"overhead_max_ns\":4,\"timed\":2,"
        "\"sampling\":\"none\",\"scaled\":\"none\"}]}},\"warnings\":[],\"trust\":{\"zone_cost_ns\":"
        "46.5,"
        "\"zone_inner_ns\":2,\"overhead_share_percent\":0.00186,\"overhead_least_percent\":0.00186,"
        "\"overhead_cpu_ns\":93,\"overhead_of\":\"run\",\"lost\":{"
        "\"zones\":0,\"nodes\":0,\"buckets\":0,"
        "\"sites\":0,\"abandoned\":0,\"foreign\":0,\"depth\":0,\"clock\":0,\"children\":0,\"calls\":0,"
        "\"allocations\":0,\"samples\":0,\"stacks\":0,\"ended\":0,\"sealed\":0,\"processes\":0,\"lanes\":0,"
        "\"values\":0,\"closed\":0}}}\n");
}

static void json_nests_the_tree(void **state)
{
    (void)state;
    settings.output.format = HP_FORMAT_JSON;
    strcpy(settings.show.report, "calltree");
    const uint32_t thread = builder_thread(&builder);
    const uint32_t a = builder_node(&builder, thread, 0, builder_site(&builder, "a", "f.c", 1));
    const uint32_t b = builder_node(&builder, thread, a, builder_site(&builder, "b", "f.c", 2));
    const uint32_t c = builder_node(&builder, thread, b, builder_site(&builder, "c", "f.c", 3));
    const uint32_t d = builder_node(&builder, thread, 0, builder_site(&builder, "d", "f.c", 4));
    builder_call(&builder, thread, a, 100, 90);
    builder_call(&builder, thread, b, 90, 80);
    builder_call(&builder, thread, c, 80, 0);
    builder_call(&builder, thread, d, 70, 0);
    const char *report = fixture_render(0, false);
    const char *rows = strstr(report, "\"rows\":");
    assert_non_null(rows);
    /* Only the shape: names, children and brackets. */
    char shape[256];
    size_t length = 0;
    for (const char *at = rows; *at != '\0' && strncmp(at, "\"warnings\"", 10) != 0; at++) {
        if (strchr("[]{}", *at) != NULL)
            shape[length++] = *at;
        if (strncmp(at, "\"name\":\"", 8) == 0)
            shape[length++] = at[8];
    }
    shape[length] = '\0';
    assert_string_equal(shape, "[{a[{b[{c[]}]}]}{d[]}]}}");
}

static void pretty_json_differs_in_blanks_only(void **state)
{
    (void)state;
    static char plain[1 << 16];
    build_overview();
    strcpy(settings.show.report, "all");
    settings.output.format = HP_FORMAT_JSON;
    strcpy(plain, fixture_render(0, false));
    settings.output.format = HP_FORMAT_JSON_PRETTY;
    const char *const report = fixture_render(0, false), *pretty = report;
    bool is_in_string = false;
    size_t at = 0;
    for (; *pretty != '\0'; pretty++) {
        if (*pretty == '"')
            is_in_string = !is_in_string;
        if (!is_in_string && (*pretty == ' ' || *pretty == '\n'))
            continue;
        assert_int_equal(*pretty, plain[at]);
        at++;
    }
    assert_string_equal(plain + at, "\n");
    assert_non_null(strstr(report, "\n  \"type\": \"hotpath_report\",\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rendered_table, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(marks_rows_and_explains_the_marks, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(table_says_how_many_rows_were_cut, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(indents_trees, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(nothing_measured_names_the_macro, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(warns_in_the_report, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(report_says_if_the_file_is_truncated_or_the_process_died, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(wide_characters_are_aligned, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(long_thread_names_are_shortened, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(no_line_is_wider_than_the_terminal, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(names_are_shortened_before_columns_are_dropped, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(colour_is_for_terminals_only, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(failing_sink_is_reported, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(rows_are_passed_to_reporters, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(json_is_raw_and_complete, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(json_nests_the_tree, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(pretty_json_differs_in_blanks_only, fixture_set_up, fixture_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
