/*
 * The console's drawing: the grid, figures, tables that fit any width, rows that stay in place, choices.
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arena.h"
#include "choices.h"
#include "figures.h"
#include "keys.h"
#include "recent_durations.h"
#include "scratch_folder.h"
#include "screen.h"
#include "screen_table.h"

static char printed[200000];

static const char *print(const struct hp_screen *screen)
{
    struct hp_text text;
    hp_text_init(&text, printed, sizeof printed);
    hp_screen_print(screen, &text);
    return hp_text_end(&text);
}

/* ------------------------------------------------------------------------------------------------ the grid */

static void text_outside_the_screen_is_clipped(void **state)
{
    struct hp_screen screen = {0};
    (void)state;
    assert_true(hp_screen_resize(&screen, 5, 2));
    assert_int_equal(hp_screen_put(&screen, 0, 3, HP_INK_PLAIN, "abcd"), 7);
    hp_screen_put(&screen, 7, 0, HP_INK_PLAIN, "never");
    hp_screen_put_right(&screen, 1, 5, HP_INK_PLAIN, "12");
    hp_screen_look(&screen, 9, 0, 100, HP_LOOK_BOLD);
    hp_screen_blank(&screen, 0, 90, 100);
    assert_string_equal(print(&screen), "   ab\n   12\n");
    hp_screen_free(&screen);
}

/* Names come from others. */
static void control_characters_are_replaced(void **state)
{
    struct hp_screen screen = {0};
    (void)state;
    assert_true(hp_screen_resize(&screen, 12, 2));
    hp_screen_put(&screen, 0, 0, HP_INK_PLAIN, "a\x1b[2J\n\xff|");
    assert_string_equal(print(&screen), "a\xef\xbf\xbd[2J\xef\xbf\xbd\xef\xbf\xbd|\n\n");
    screen.is_ascii = true;
    hp_screen_put(&screen, 1, 0, HP_INK_PLAIN, "µs▒·–ж");
    assert_string_equal(strchr(print(&screen), '\n') + 1, "us=.-?\n");
    hp_screen_free(&screen);
}

static void wide_characters_are_not_split(void **state)
{
    struct hp_screen screen = {0};
    (void)state;
    assert_true(hp_screen_resize(&screen, 5, 3));
    hp_screen_put(&screen, 0, 0, HP_INK_PLAIN, "日本語"); /* the third has one column left */
    hp_screen_put(&screen, 1, 0, HP_INK_PLAIN, "日本");
    hp_screen_put(&screen, 1, 1, HP_INK_PLAIN, "x");          /* over half of one */
    hp_screen_put(&screen, 2, 0, HP_INK_PLAIN, "e\xcc\x81|"); /* with an accent of its own */
    assert_string_equal(print(&screen), "日本\n x本\ne|\n");
    hp_screen_free(&screen);
}

/* ------------------------------------------------------------------------------------------------- figures */

static void figures_have_three_digits(void **state)
{
    static const struct {
        enum hp_figure figure;
        double number;
        const char *text;
    } known[] = {
        {HP_FIGURE_NS, 0, "0 ns"},
        {HP_FIGURE_NS, 917000, "917 µs"},
        {HP_FIGURE_NS, 2513000, "2.51 ms"},
        {HP_FIGURE_NS, 999.6, "1.00 µs"},
        {HP_FIGURE_NS, 9.996e6, "10.0 ms"},
        {HP_FIGURE_NS, 75e9, "1.25 m"},
        {HP_FIGURE_BYTES_, 12, "12 B"},
        {HP_FIGURE_BYTES_, 1536, "1.50 KB"},
        {HP_FIGURE_BYTES_, 1023e3, "999 KB"},
        {HP_FIGURE_PERCENT, 65.2, "65 %"},
        {HP_FIGURE_PERCENT, 2.74, "2.7 %"},
        {HP_FIGURE_PERCENT, 99.97, "100 %"},
        {HP_FIGURE_THREADS, 4.556, "4.56"},
        {HP_FIGURE_THREADS, 123.4, "123"},
        {HP_FIGURE_COUNT, 4289, "4,289"},
        {HP_FIGURE_COUNT, 75934, "75.9 k"},
        {HP_FIGURE_RATE, 8.13, "8.1"},
        {HP_FIGURE_RATE, 0.25, "0.25"},
        {HP_FIGURE_RATE, 0, "0"},
        {HP_FIGURE_BYTES_, -2048, "-2.00 KB"},
    };
    char bytes[HP_FIGURE_BYTES];
    (void)state;
    for (size_t at = 0; at < sizeof known / sizeof known[0]; at++)
        assert_string_equal(hp_figure(bytes, known[at].figure, known[at].number), known[at].text);
    assert_string_equal(hp_figure_clock(bytes, 72.9), "1:12");
    assert_string_equal(hp_figure_clock(bytes, 7384), "2:03:04");
}

static void figures_fit_seven_columns(void **state)
{
    char bytes[HP_FIGURE_BYTES];
    (void)state;
    for (enum hp_figure figure = HP_FIGURE_NS; figure <= HP_FIGURE_NUMBER; figure++)
        for (double number = 0.001; number < 1e17; number *= 1.0371)
            if (figure != HP_FIGURE_PERCENT || number < 1e5)
                assert_in_range(hp_screen_width(hp_figure(bytes, figure, number)), 1, 7);
}

/* -------------------------------------------------------------------------------------------------- tables */

static struct hp_arena arena;

static const char *const names[] = {"reserve_stock", "a_function_with_a_rather_long_name", "lex", "f"};

/* As that of functions: what leaves first has the highest rank. */
static void show(struct hp_table_fields *to, size_t at)
{
    HP_SHOW(to, names[at % 4], "name", "Function", HP_CELL_NAME, HP_FIGURE_TEXT, 16);
    HP_SHOW(to, at + 1, "own", "Own", HP_CELL_FIGURE, HP_FIGURE_THREADS, 5);
    HP_SHOW(to, 12.5, "share", "Share", HP_CELL_FIGURE, HP_FIGURE_PERCENT, 7, 2);
    HP_SHOW(to, "lock 79 %", "mostly", "Mostly", HP_CELL_TEXT, HP_FIGURE_TEXT, 12);
    HP_SHOW(to, 917000, "p50", "P50", HP_CELL_FIGURE, HP_FIGURE_NS, 7, 3);
    HP_SHOW_LATER(to, "alloc", "Alloc/s", HP_CELL_FIGURE, HP_FIGURE_BYTES_, 7, 4);
}

static void make_table(struct hp_table *table, size_t count)
{
    *table = (struct hp_table){.key = "test", .sort = "own"};
    show(&(struct hp_table_fields){.table = table}, 0);
    struct hp_table_row *rows = hp_table_make_rows(table, &arena, count);
    for (size_t at = 0; at < count; at++) {
        rows[at].id = at + 1;
        show(&(struct hp_table_fields){.table = table, .row = &rows[at]}, at);
    }
}

static void draw(const struct hp_table *table, struct hp_table_view *view, struct hp_screen *screen,
                 struct hp_hidden_columns *hidden)
{
    struct hp_shown_rows rows;
    const struct hp_area area = {0, screen->rows, 0, screen->columns};
    hp_screen_clear(screen);
    assert_true(hp_table_arrange(table, view, &arena, true, &rows));
    hp_table_draw(screen, table, view, &rows, &area, true, hidden);
}

static void columns_are_dropped_in_order(void **state)
{
    struct hp_screen screen = {0};
    struct hp_table table;
    struct hp_table_view view = {.table = "test"};
    size_t before = 6;
    (void)state;
    make_table(&table, 4);
    for (unsigned columns = 200; columns >= 40; columns--) {
        struct hp_hidden_columns hidden;
        size_t shown = 0;
        assert_true(hp_screen_resize(&screen, columns, 8));
        draw(&table, &view, &screen, &hidden);
        const char *text = print(&screen);
        for (size_t at = 0; at < table.column_count; at++)
            shown += strstr(text, table.columns[at].title) != NULL;
        assert_true(shown <= before); /* dropped columns stay dropped */
        before = shown;
        /* Names and what never leaves are there, whole or with a sign; values are never cut. */
        assert_non_null(strstr(text, "lex"));
        assert_non_null(strstr(text, "4.00"));
        assert_non_null(strstr(text, "lock 79 %"));
        if (columns >= 80)
            assert_non_null(strstr(text, "reserve_stock"));
        if (strstr(text, "P50") != NULL)
            assert_non_null(strstr(text, "917 µs"));
        else
            assert_non_null(strstr(hidden.names, "P50"));
        assert_true(strstr(text, "P50") == NULL || strstr(text, "Share") != NULL);
        assert_true(strstr(text, "Alloc/s") == NULL || strstr(text, "P50") != NULL);
    }
    assert_int_equal(before, 3);
    hp_table_view_free(&view);
    hp_screen_free(&screen);
}

/* A history as text keeps its start, its end and its peaks, however narrow its column is. */
static void charts_are_not_cut(void **state)
{
    static const struct hp_table_column name = {.key = "name", .title = "Name", .kind = HP_CELL_NAME, .width = 16},
                                        line = {.key = "line",
                                                .title = "Over Time",
                                                .kind = HP_CELL_TEXT,
                                                .width = 40,
                                                .rank = 1,
                                                .is_chart = true};
    struct hp_table table = {.key = "test"};
    struct hp_table_view view = {0};
    struct hp_hidden_columns hidden;
    struct hp_screen screen = {0};
    (void)state;
    hp_table_add(&table, &name);
    hp_table_add(&table, &line);
    struct hp_table_row *row = hp_table_make_rows(&table, &arena, 1);
    assert_non_null(row);
    row->cells[0] = hp_table_text("process");
    row->cells[1] = hp_table_text("▃··▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁█▁▁▁▁▁▁▁▁▁▁▁▁▅");
    for (unsigned width = 60; width >= 40; width -= 20) {
        assert_true(hp_screen_resize(&screen, width, 3));
        draw(&table, &view, &screen, &hidden);
        assert_null(strstr(print(&screen), "…"));
        assert_non_null(strstr(printed, "█"));
        assert_non_null(strstr(printed, "▅\n"));
        assert_non_null(strstr(printed, " ▃"));
    }
    hp_table_view_free(&view);
    hp_screen_free(&screen);
}

static void unknown_is_not_shown_as_zero(void **state)
{
    struct hp_screen screen = {0};
    struct hp_table table;
    struct hp_table_view view = {.table = "test"};
    (void)state;
    make_table(&table, 1);
    assert_true(hp_screen_resize(&screen, 100, 3));
    draw(&table, &view, &screen, NULL);
    assert_non_null(strstr(print(&screen), "917 µs        –"));
    hp_table_view_free(&view);
    hp_screen_free(&screen);
}

static void assert_order(const struct hp_shown_rows *rows, const uint64_t *ids, size_t count)
{
    assert_int_equal(rows->count, count);
    for (size_t at = 0; at < count; at++)
        assert_int_equal(rows->all[at]->id, ids[at]);
}

static void rows_keep_their_order_until_they_may_move(void **state)
{
    struct hp_table table;
    struct hp_table_view view = {.table = "test"};
    struct hp_shown_rows rows;
    (void)state;
    make_table(&table, 3);
    assert_true(hp_table_arrange(&table, &view, &arena, true, &rows));
    assert_order(&rows, (const uint64_t[]){3, 2, 1}, 3);
    view.cursor = 2;
    /* The last row now has the largest number, and a new row has more: nothing moves. */
    make_table(&table, 4);
    table.rows[0].cells[1].number = 100;
    assert_true(hp_table_arrange(&table, &view, &arena, false, &rows));
    assert_order(&rows, (const uint64_t[]){3, 2, 1, 4}, 4);
    assert_int_equal(view.line, 1);
    /* Until they may: then the cursor goes with its row. */
    assert_true(hp_table_arrange(&table, &view, &arena, true, &rows));
    assert_order(&rows, (const uint64_t[]){1, 4, 3, 2}, 4);
    assert_int_equal(view.line, 3);
    /* A row that is gone leaves the cursor on its line, within the table. */
    make_table(&table, 1);
    assert_true(hp_table_arrange(&table, &view, &arena, false, &rows));
    assert_order(&rows, (const uint64_t[]){1}, 1);
    assert_int_equal(view.line, 0);
    hp_table_view_free(&view);
}

static void rows_are_filtered_and_sorted(void **state)
{
    struct hp_table table;
    struct hp_table_view view = {.table = "test", .filter = "LONG"};
    struct hp_shown_rows rows;
    (void)state;
    make_table(&table, 4);
    assert_true(hp_table_arrange(&table, &view, &arena, true, &rows));
    assert_order(&rows, (const uint64_t[]){2}, 1);
    assert_int_equal(rows.of, 4);
    view.filter[0] = '\0';
    snprintf(view.sort, sizeof view.sort, "name");
    assert_true(hp_table_arrange(&table, &view, &arena, true, &rows));
    assert_order(&rows, (const uint64_t[]){2, 4, 3, 1}, 4);
    view.is_reversed = true;
    assert_true(hp_table_arrange(&table, &view, &arena, true, &rows));
    assert_order(&rows, (const uint64_t[]){1, 3, 4, 2}, 4);
    /* Texts that are numbers of processes and threads. */
    static const char *const tids[] = {"999", "10000", "2", "30"};
    for (size_t at = 0; at < 4; at++)
        table.rows[at].cells[3] =
            (struct hp_table_cell){.has_value = true, .text = tids[at], .number = atof(tids[at])};
    snprintf(view.sort, sizeof view.sort, "mostly");
    assert_true(hp_table_arrange(&table, &view, &arena, true, &rows));
    assert_order(&rows, (const uint64_t[]){2, 1, 4, 3}, 4);
    /* Idle and unknown rows are last in any order. */
    snprintf(view.sort, sizeof view.sort, "own");
    table.rows[3].is_last = true;
    table.rows[1].cells[1].has_value = false;
    assert_true(hp_table_arrange(&table, &view, &arena, true, &rows));
    assert_order(&rows, (const uint64_t[]){1, 3, 2, 4}, 4);
    hp_table_view_free(&view);
}

static void trees_fold(void **state)
{
    static const unsigned depths[] = {0, 1, 2, 1, 0};
    struct hp_table table;
    struct hp_table_view view = {.table = "test"};
    struct hp_shown_rows rows;
    (void)state;
    make_table(&table, 5);
    table.is_tree = true;
    for (size_t at = 0; at < 5; at++)
        table.rows[at].depth = depths[at];
    assert_true(hp_table_arrange(&table, &view, &arena, true, &rows));
    assert_order(&rows, (const uint64_t[]){1, 2, 3, 4, 5}, 5);
    table.rows[1].is_folded = true;
    assert_true(hp_table_arrange(&table, &view, &arena, true, &rows));
    assert_order(&rows, (const uint64_t[]){1, 2, 4, 5}, 4);
    /* Parents of a match stay, and nothing is folded then: only row 3 is called lex. */
    snprintf(view.filter, sizeof view.filter, "lex");
    assert_true(hp_table_arrange(&table, &view, &arena, true, &rows));
    assert_order(&rows, (const uint64_t[]){1, 2, 3}, 3);
    hp_table_view_free(&view);
}

/* --------------------------------------------------------------------------------------- keys and choices */

static void keys_have_names(void **state)
{
    struct hp_key key;
    (void)state;
    assert_true(hp_key_read("Enter", &key) && key.code == HP_KEY_ENTER);
    assert_true(hp_key_read("q", &key) && key.code == 'q');
    assert_true(hp_key_read("space", &key) && key.code == ' ');
    assert_true(hp_key_read("click:5,10", &key) && key.code == HP_KEY_CLICK && key.row == 5 && key.column == 10);
    assert_false(hp_key_read("Entre", &key));
    assert_false(hp_key_read("", &key));
}

static void choices_are_remembered(void **state)
{
    static struct hp_choices choices;
    (void)state;
    setenv("XDG_CONFIG_HOME", scratch_folder, 1);
    hp_choices_read(&choices);
    assert_int_equal(choices.refresh_ms, 1000);
    hp_choice_set(&choices, "idle", "", "wait for work", true);
    hp_choice_set(&choices, "sort", "timing", "p99", true);
    hp_choice_set(&choices, "hide", "timing", "a\tb", true); /* would be two */
    choices.refresh_ms = 200;
    hp_choices_write(&choices);
    hp_choices_read(&choices);
    assert_int_equal(choices.refresh_ms, 200);
    assert_int_equal(choices.count, 2);
    assert_true(hp_choice_has(&choices, "idle", "", "wait for work"));
    assert_string_equal(hp_choice_find(&choices, "sort", "timing"), "p99");
    hp_choice_set(&choices, "idle", "", "wait for work", false);
    assert_true(choices.has_changed);
    assert_false(hp_choice_has(&choices, "idle", "", "wait for work"));
}

/* --------------------------------------------------------------------------------------- recent durations */

static void percentiles_of_a_range(void **state)
{
    static struct hp_recent_durations recent;
    static struct hp_durations durations;
    const uint64_t second = 1000000000u;
    double ticks;
    (void)state;
    /* A thousand calls of 100 ticks before, then ten calls of 50 a second. */
    for (uint64_t at = 1; at <= 30; at++) {
        memset(&durations, 0, sizeof durations);
        for (unsigned call = 0; call < 1000; call++)
            hp_durations_add(&durations, 100);
        for (uint64_t call = 0; call < 10 * at; call++)
            hp_durations_add(&durations, 50);
        durations.min = 50;
        durations.max = 100;
        const bool is_known = hp_recent_cut(&recent, 7, at * second, at > 10 ? (at - 10) * second : 0, &durations);
        assert_int_equal(is_known, at > 1);
        if (!is_known)
            continue;
        assert_int_equal(durations.counted, 10 * (at > 10 ? 10 : at - 1));
        assert_true(hp_durations_percentile(&durations, 99, &ticks) && ticks == 50);
        assert_int_equal(durations.max, 50);
    }
    /* There is room for some, and not for more. */
    for (uint64_t id = 100; id < 1000; id++)
        hp_recent_cut(&recent, id, 40 * second + id, 30 * second, &durations);
    assert_false(hp_recent_cut(&recent, 7, 50 * second, 40 * second, &durations));
    hp_recent_free(&recent);
}

/* The row of the cursor keeps the colours of bars, and text breaks at blanks but not before a percent sign. */
static void marks_and_lines(void **state)
{
    struct hp_screen screen = {0};
    (void)state;
    assert_true(hp_screen_resize(&screen, 20, 4));
    hp_screen_put(&screen, 0, 0, HP_INK_PLAIN, "ab");
    hp_screen_glyph(&screen, 0, 2, HP_INK_LOCK, 0x2592);
    hp_screen_mark(&screen, 0, 0, 20);
    assert_int_equal(screen.spots[1].look, HP_LOOK_REVERSE);
    assert_int_equal(screen.spots[2].look, 0);
    assert_int_equal(screen.spots[3].look, HP_LOOK_REVERSE);
    assert_int_equal(hp_screen_lines("one two", 20), 1);
    assert_int_equal(hp_screen_lines("it takes all of 48 % here", 18), 2);
    assert_int_equal(hp_screen_put_wrapped(&screen, 1, 0, 18, 2, "it takes all of 48 % here"), 2);
    assert_int_equal(screen.spots[2 * 20].glyph, '4'); /* not the percent sign alone */
    assert_int_equal(hp_screen_put_wrapped(&screen, 1, 0, 4, 2, "a long sentence"), 2);
    assert_int_equal(screen.spots[2 * 20 + 3].glyph, 0x2026);
    hp_screen_free(&screen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_and_lines),
        cmocka_unit_test(text_outside_the_screen_is_clipped),
        cmocka_unit_test(control_characters_are_replaced),
        cmocka_unit_test(wide_characters_are_not_split),
        cmocka_unit_test(figures_have_three_digits),
        cmocka_unit_test(figures_fit_seven_columns),
        cmocka_unit_test(columns_are_dropped_in_order),
        cmocka_unit_test(charts_are_not_cut),
        cmocka_unit_test(unknown_is_not_shown_as_zero),
        cmocka_unit_test(rows_keep_their_order_until_they_may_move),
        cmocka_unit_test(rows_are_filtered_and_sorted),
        cmocka_unit_test(trees_fold),
        cmocka_unit_test(keys_have_names),
        cmocka_unit_test(choices_are_remembered),
        cmocka_unit_test(percentiles_of_a_range),
    };
    return cmocka_run_group_tests(tests, make_scratch_folder, remove_scratch_folder);
}
