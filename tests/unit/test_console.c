/*
 * The console under keys and time, on a session of this process and with a fake clock: when rows may move, what Esc
 * undoes, how time is navigated, and that an interval does not affect what is read after it.
 * SPDX-License-Identifier: MIT
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "axis_writer.h"
#include "console.h"
#include "hotpath.h"
#include "profile.h"
#include "scratch_folder.h"
#include "session_dirs.h"
#include "stack_file.h"

#define SECOND UINT64_C(1000000000)

/* --------------------------------------------------------------------------------------------- the session */

static void spin(unsigned steps)
{
    while (steps-- > 0)
        __asm__ volatile("" ::: "memory");
}

static void often(void)
{
    HOTPATH_MEASURE();
    spin(2000);
}

static void seldom(void)
{
    HOTPATH_MEASURE();
    spin(200000);
}

static char session_path[256];

static bool list(void *context, struct hp_sessions *ret_programs)
{
    struct hp_stored_session *program = hp_sessions_add(ret_programs);
    (void)context;
    if (program == NULL)
        return false;
    snprintf(program->path, sizeof program->path, "%s", session_path);
    snprintf(program->command, sizeof program->command, "test_console");
    program->pid = 1;
    program->processes = 1;
    return true;
}

static bool parts(struct hp_sessions *ret_parts, const char *path)
{
    struct hp_stored_session *program = hp_sessions_add(ret_parts);
    const bool is_run = hp_text_has_suffix(path, HP_RUN_SUFFIX);
    if (program != NULL)
        snprintf(program->path, sizeof program->path, "%s", is_run ? session_path : path);
    return program != NULL;
}

static const struct hp_program_source source = {.list = list, .parts = parts};
static struct hp_settings settings;
static struct hp_console console;
static struct hp_screen screen;
static char printed[100000];

static const char *none(const char *name, void *context)
{
    (void)name;
    (void)context;
    return NULL;
}

static int begin(void **state)
{
    if (make_scratch_folder(state) != 0)
        return 1;
    setenv("XDG_CONFIG_HOME", scratch_folder, 1);
    setenv("HOTPATH_DIR", scratch_folder, 1);
    setenv("HOTPATH_OUTPUT_FORMAT", "none", 1);
    setenv("HOTPATH", "1", 1);
    hp_settings_resolve(&settings, NULL, none, NULL, NULL, NULL);
    if (hotpath_start(NULL) != HOTPATH_OK || !hp_screen_resize(&screen, 100, 30))
        return 1;
    seldom();
    for (unsigned call = 0; call < 100; call++)
        often();
    snprintf(session_path, sizeof session_path, "%s", hotpath_session_path());
    return 0;
}

static int end(void **state)
{
    hotpath_stop();
    hp_screen_free(&screen);
    return remove_scratch_folder(state);
}

static void press(const char *name, uint64_t now)
{
    struct hp_key key;
    assert_true(hp_key_read(name, &key));
    hp_console_key(&console, &key, now);
}

static const char *draw(void)
{
    struct hp_text text;
    hp_console_draw(&console, &screen);
    hp_text_init(&text, printed, sizeof printed);
    hp_screen_print(&screen, &text);
    return hp_text_end(&text);
}

static void open_console(uint64_t now)
{
    hp_console_init(&console, &settings, &source);
    assert_true(hp_console_choose(&console, session_path));
    hp_console_tick(&console, now);
    assert_true(console.watched.has_data);
}

static const char *name_at(size_t line) { return console.shown.all[line]->cells[0].text; }

/* ----------------------------------------------------------------------------------------------------- time */

static void rows_are_reordered_seldom(void **state)
{
    uint64_t now = 100 * SECOND;
    (void)state;
    open_console(now);
    press("2", now);
    assert_int_equal(console.shown.count, 2);
    const bool is_seldom_first = strcmp(name_at(0), "seldom") == 0;
    void (*const other)(void) = is_seldom_first ? often : seldom;
    /* The other one has much more from now on: for three seconds, and two after a key, it stays where it is. */
    for (unsigned call = 0; call < (is_seldom_first ? 5000 : 100); call++)
        other();
    hp_console_tick(&console, now + 2 * SECOND);
    assert_string_equal(name_at(0), is_seldom_first ? "seldom" : "often");
    press("Down", now + 2 * SECOND);
    hp_console_tick(&console, now + 3 * SECOND + SECOND / 2);
    assert_string_equal(name_at(0), is_seldom_first ? "seldom" : "often");
    hp_console_tick(&console, now + 6 * SECOND);
    assert_string_equal(name_at(0), is_seldom_first ? "often" : "seldom");
    /* The cursor was on it, and is. */
    assert_int_equal(console.view->line, 0);
    assert_non_null(strstr(draw(), is_seldom_first ? " › often" : " › seldom"));
    hp_console_free(&console);
}

static void refreshed_when_due(void **state)
{
    const uint64_t now = 100 * SECOND;
    (void)state;
    open_console(now);
    console.spent_ns = 0;
    hp_console_tick(&console, now + SECOND / 2);
    assert_int_equal(console.refreshed_ns, now);
    hp_console_tick(&console, now + SECOND);
    assert_int_equal(console.refreshed_ns, now + SECOND);
    /* One that takes long is read less often. */
    console.spent_ns = SECOND / 2;
    assert_int_equal(hp_console_due_ns(&console), now + 6 * SECOND);
    press("space", now + 2 * SECOND);
    console.spent_ns = 0;
    hp_console_tick(&console, now + 20 * SECOND);
    assert_int_equal(console.refreshed_ns, now + SECOND);
    assert_non_null(strstr(draw(), "paused, 19 s behind"));
    press("space", now + 20 * SECOND);
    assert_int_equal(console.refreshed_ns, now + 20 * SECOND);
    press("+", now + 21 * SECOND);
    assert_int_equal(console.choices.refresh_ms, 500);
    for (unsigned at = 0; at < 20; at++)
        press("+", now + 21 * SECOND);
    assert_int_equal(console.choices.refresh_ms, 100);
    for (unsigned at = 0; at < 20; at++)
        press("-", now + 21 * SECOND);
    assert_int_equal(console.choices.refresh_ms, 10000);
    hp_console_free(&console);
    unlink(console.choices.path);
}

/* Rows stay where they are while they are read, not while another view is shown. */
static void rows_of_another_view_are_ordered_at_once(void **state)
{
    uint64_t now = 100 * SECOND;
    (void)state;
    open_console(now);
    press("2", now);
    const bool is_seldom_first = strcmp(name_at(0), "seldom") == 0;
    void (*const other)(void) = is_seldom_first ? often : seldom;
    for (unsigned call = 0; call < (is_seldom_first ? 50000 : 1000); call++)
        other();
    press("7", now + SECOND);
    press("2", now + SECOND);
    assert_string_equal(name_at(0), is_seldom_first ? "often" : "seldom");
    /* Bars have no order: a click on their heading changes none. */
    draw();
    const size_t bars = hp_table_find(&console.table, "what");
    assert_true(bars < console.table.column_count);
    unsigned column = 0;
    const char *heading = NULL;
    for (; column < console.columns && (heading == NULL || strcmp(heading, "what") != 0); column++)
        heading = hp_table_heading_at(&console.table, console.view, &console.shown, &console.area, column);
    assert_string_equal(heading, "what");
    char click[32];
    snprintf(click, sizeof click, "click:%u,%u", console.area.row, column - 1);
    press(click, now + SECOND);
    assert_string_equal(console.view->sort, "");
    hp_console_free(&console);
}

/* ----------------------------------------------------------------------------------------------------- keys */

static void each_escape_undoes_one_thing(void **state)
{
    const uint64_t now = 100 * SECOND;
    (void)state;
    open_console(now);
    press("2", now);
    press("/", now);
    for (const char *letter = "often"; *letter != '\0'; letter++)
        press((char[]){*letter, '\0'}, now);
    assert_int_equal(console.shown.count, 1);
    press("Enter", now);
    press("Enter", now);
    assert_int_equal(console.overlay, HP_OVERLAY_INSPECT);
    press("w", now);
    assert_int_equal(console.inspected, HP_INSPECTED_SLOWEST);
    press("Esc", now);
    assert_int_equal(console.inspected, HP_INSPECTED_PAGE);
    press("Esc", now);
    assert_int_equal(console.overlay, HP_OVERLAY_NONE);
    assert_int_equal(console.shown.count, 1);
    press("Esc", now);
    assert_int_equal(console.shown.count, 2);
    press("Esc", now);
    assert_false(console.is_over);
    press("q", now);
    assert_true(console.is_over);
    hp_console_free(&console);
}

static void missing_history_is_shown(void **state)
{
    const uint64_t now = 100 * SECOND;
    (void)state;
    open_console(now);
    assert_non_null(strstr(draw(), "(no history)"));
    press("[", now);
    assert_non_null(strstr(draw(), "This session has no history"));
    press("z", now);
    assert_true(console.watched.is_whole);
    hp_console_free(&console);
}

/* Where a click is, something is chosen. */
static void clicks_select(void **state)
{
    const uint64_t now = 100 * SECOND;
    (void)state;
    open_console(now);
    draw();
    press("click:1,17", now);
    assert_int_equal(console.tab, HP_TAB_FUNCTIONS);
    draw();
    press("click:6,10", now);
    assert_int_equal(console.view->line, 1);
    press("click:4,5", now); /* the heading of the names */
    assert_string_equal(console.view->sort, "name");
    assert_string_equal(name_at(0), "often");
    press("click:4,5", now);
    assert_string_equal(name_at(0), "seldom");
    press("click:99,500", now);
    draw();
    press("doubleclick:5,10", now);
    assert_int_equal(console.overlay, HP_OVERLAY_INSPECT);
    assert_non_null(strstr(draw(), "┌ seldom"));
    press("click:6,10", now); /* below the page */
    assert_int_equal(console.view->line, 0);
    press("Esc", now);
    hp_console_free(&console);
    unlink(console.choices.path);
}

/* --------------------------------------------------------------------------------------------------- stacks */

/* main calls hot at two places, and other, which calls hot, which calls itself. */
static const struct hp_named_stacks *example_stacks(void)
{
    static char texts[] = "\0test\0main\0hot\0other";
    static struct hp_named_image image = {texts + 1, texts, texts};
    static struct hp_named_function functions[] = {
        {texts + 6, texts, 0}, {texts + 11, texts, 0}, {texts + 15, texts, 0}};
    static struct hp_named_frame frames[] = {{0, 0}, {1, 0}, {2, 0}};
    static struct hp_named_node nodes[] = {
        {0, 0, 0, 0, 0, 0, {0}},
        {0, 0, 1, 0, 1, 0, {0}},
        {1, 0, 2, 1, 1, 0, {[HP_STACK_USER_NS] = 30}},
        {1, 0, 3, 1, 1, 0, {[HP_STACK_USER_NS] = 30}},
        {1, 0, 4, 2, 1, 0, {[HP_STACK_USER_NS] = 10}},
        {4, 0, 5, 1, 1, 0, {[HP_STACK_USER_NS] = 20}},
        {5, 0, 6, 1, 1, 0, {[HP_STACK_USER_NS] = 10}},
    };
    static struct hp_named_stacks stacks = {.counts.period_ns = 1,
                                            .counts.samples = 100,
                                            .counts.whole = 100,
                                            .images = &image,
                                            .image_count = 1,
                                            .functions = functions,
                                            .function_count = 3,
                                            .frames = frames,
                                            .frame_count = 3,
                                            .nodes = nodes,
                                            .node_count = 7,
                                            .texts = texts,
                                            .text_bytes = sizeof texts};
    return &stacks;
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at++)
        count++;
    return count;
}

/* A run writes its stacks after the console has seen the end of the program. */
static void stacks_come_after_the_end(void **state)
{
    const uint64_t now = 100 * SECOND;
    char folder[300], path[400];
    (void)state;
    snprintf(folder, sizeof folder, "%s/stacks%s", scratch_folder, HP_RUN_SUFFIX);
    assert_int_equal(mkdir(folder, 0700), 0);
    hp_console_init(&console, &settings, &source);
    assert_true(hp_console_choose(&console, folder));
    hp_console_tick(&console, now);
    console.watched.is_live = false;
    console.is_due = true;
    hp_console_tick(&console, now + SECOND);
    assert_false(console.watched.found.whole.is_known);
    assert_true(hp_stack_file_write(folder, example_stacks()));
    console.is_due = true;
    hp_console_tick(&console, now + 2 * SECOND);
    assert_true(console.watched.found.whole.is_known);
    press("4", now + 2 * SECOND);
    /* All addresses of a function below one caller are one frame, and so are its direct calls of itself. */
    const char *text = draw();
    assert_int_equal(count_of(text, "▏hot"), 2);
    assert_non_null(strstr(text, "▏hot  60 %"));
    assert_non_null(strstr(text, "▏other  40 %"));
    assert_non_null(strstr(text, "▏hot  30 %"));
    /* The first frame, main, then its callees by name: hot, other. The zoomed one is all of the width. */
    press("Right", now + 2 * SECOND);
    assert_non_null(strstr(draw(), "main in test: 100 % of all CPU time"));
    press("Right", now + 2 * SECOND);
    press("Right", now + 2 * SECOND);
    assert_non_null(strstr(draw(), "other in test: 40 % of all CPU time"));
    press("Enter", now + 2 * SECOND);
    text = draw();
    assert_non_null(strstr(text, "[cpu]  other: 40 % of all CPU time"));
    assert_non_null(strstr(text, "▏other  100 %"));
    assert_non_null(strstr(text, "▏hot  75 %"));
    assert_null(strstr(text, "▏main"));
    press("Backspace", now + 2 * SECOND);
    assert_non_null(strstr(draw(), "▏hot  60 %"));
    /* Of the function at the cursor of the list: all its stacks, from every caller. */
    press("g", now + 2 * SECOND);
    press("Enter", now + 2 * SECOND);
    text = draw();
    assert_non_null(strstr(text, "[cpu]  hot: 90 % of all CPU time"));
    assert_int_equal(count_of(text, "▏hot  100 %"), 1);
    press("Esc", now + 2 * SECOND);
    assert_non_null(strstr(draw(), "▏hot  60 %"));
    hp_console_free(&console);
    snprintf(path, sizeof path, "rm -r %s", folder);
    assert_int_equal(system(path), 0);
}

/* ------------------------------------------------------------------------------------------------ time ranges */

/* A time range shows what happened in it; afterwards the totals are back. */
static void leaving_a_range_restores_the_totals(void **state)
{
    static struct hp_axis_writer writer;
    struct hp_snapshot *snapshot;
    char path[300];
    const uint64_t now = 100 * SECOND;
    (void)state;
    open_console(now);
    snapshot = &console.watched.reader.sessions[0]->file.snapshot;
    const struct hp_site_sums *site = console.watched.measured.all[0].site;
    const uint64_t began = snapshot->header.clock_start.ns, calls = site->sums.calls;
    assert_true(hp_axis_path(session_path, path, sizeof path));
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && hp_axis_begin(&writer, fd, snapshot->header.pid, snapshot->header.process_start, began));
    for (uint64_t slot = 1; slot <= 40; slot++) { /* ten calls in each */
        hp_axis_put_from_zero(&writer, HP_AXIS_SITE_CALLS, site->id, 10 * slot);
        hp_axis_put_from_zero(&writer, HP_AXIS_SITE_TICKS, site->id, 1000 * slot);
        hp_axis_put_from_zero(&writer, HP_AXIS_SITE_SELF, site->id, 1000 * slot);
        assert_true(hp_axis_write(&writer, began + slot * SECOND / 4));
    }
    const uint32_t id = site->id;
    /*
     * From 1 s to 3 s: eighty calls. The run is made to have lasted long enough by waiting for its clock, which is
     * the real one.
     */
    while (console.watched.elapsed_ns < 4 * SECOND) {
        usleep(50000);
        console.is_due = true;
        hp_console_tick(&console, now);
    }
    console.window = (struct hp_window){.kind = HP_WINDOW_PAST, .from_ns = SECOND, .to_ns = 3 * SECOND};
    console.is_due = true;
    hp_console_tick(&console, now);
    assert_false(console.watched.is_whole);
    assert_int_equal(console.watched.measured.count, 1);
    assert_int_equal(console.watched.measured.all[0].site->id, id);
    assert_int_equal(console.watched.measured.all[0].calls, 80);
    assert_true(console.watched.measured.all[0].calls_per_second == 40);
    assert_int_equal(console.watched.unknown, 1);
    press("t", now);
    assert_true(console.watched.is_whole);
    assert_int_equal(console.watched.measured.count, 2);
    for (size_t at = 0; at < 2; at++)
        if (console.watched.measured.all[at].site->id == id)
            assert_int_equal(console.watched.measured.all[at].calls, calls);
    close(fd);
    unlink(path);
    hp_console_free(&console);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_reordered_seldom), cmocka_unit_test(rows_of_another_view_are_ordered_at_once),
        cmocka_unit_test(refreshed_when_due),        cmocka_unit_test(each_escape_undoes_one_thing),
        cmocka_unit_test(missing_history_is_shown),  cmocka_unit_test(clicks_select),
        cmocka_unit_test(stacks_come_after_the_end), cmocka_unit_test(leaving_a_range_restores_the_totals),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
