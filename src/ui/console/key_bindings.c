/*
 * Keys: one table says what each does, how the help explains it, and its hint in the last line.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "console.h"
#include "frame.h"
#include "growing_array.h"

#define LAST_NS UINT64_C(10000000000)
#define SECOND_NS UINT64_C(1000000000)

/* ---------------------------------------------------------------------------------------------- moving */

static void move_to(struct hp_console *console, size_t line)
{
    struct hp_table_view *view = console->view;
    console->flame.cursor = 0;
    if (console->shown.count == 0)
        return;
    view->line = line < console->shown.count ? line : console->shown.count - 1;
    view->cursor = console->shown.all[view->line]->id;
}

static void move_by(struct hp_console *console, int lines)
{
    const size_t line = console->view->line;
    const size_t up = (size_t)(lines < 0 ? -lines : 0);
    move_to(console, lines < 0 ? (line > up ? line - up : 0) : line + (size_t)lines);
}

static void move_by_pages(struct hp_console *console, int pages)
{
    move_by(console, pages * (int)(console->area.rows > 2 ? console->area.rows - 2 : 1));
}

static void move_to_first(struct hp_console *console) { move_to(console, 0); }
static void move_to_last(struct hp_console *console) { move_to(console, SIZE_MAX); }

/* Makes a pattern that matches exactly this name. */
static void find_slowest_pattern(struct hp_console *console)
{
    const struct hp_watched_function *function = hp_console_function(console);
    console->slowest[0] = '\0';
    if (function != NULL && strlen(function->name) < 200)
        snprintf(console->slowest, sizeof console->slowest, "%.200s", function->name);
}

/* ---------------------------------------------------------------------------------------------- actions */

static void say(struct hp_console *console, const char *text)
{
    snprintf(console->message, sizeof console->message, "%s", text);
}

static void choose_tab(struct hp_console *console, unsigned tab)
{
    if (tab == (unsigned)console->tab && console->sub_count > 1)
        console->sub[tab] = (console->sub[tab] + 1) % console->sub_count;
    else if (tab == (unsigned)console->tab && console->sub_count == 1 && console->overlay == HP_OVERLAY_NONE)
        say(console, "This tab has one view");
    console->tab = (enum hp_tab)tab;
    console->overlay = HP_OVERLAY_NONE;
    console->is_due = console->sorts_anew = true;
    hp_console_prepare(console);
}

static void choose_tab_of(struct hp_console *console, int tab) { choose_tab(console, (unsigned)tab); }

static void step_tab(struct hp_console *console, int step)
{
    choose_tab_of(console, (int)(((unsigned)console->tab + (unsigned)step + HP_CONSOLE_TABS) % HP_CONSOLE_TABS));
}

/* Sorts the rows at once: they are others. */
static void order_anew(struct hp_console *console)
{
    console->view->order_count = 0;
    hp_console_prepare(console);
}

static void remember_order(struct hp_console *console)
{
    const struct hp_table_view *view = console->view;
    hp_choice_clear(&console->choices, "sort", view->table);
    hp_choice_clear(&console->choices, "reverse", view->table);
    if (view->sort[0] != '\0')
        hp_choice_set(&console->choices, "sort", view->table, view->sort, true);
    if (view->is_reversed)
        hp_choice_set(&console->choices, "reverse", view->table, "yes", true);
}

/* Bars and histories have no order. */
static bool is_sortable(const struct hp_console *console, size_t column)
{
    const enum hp_column_kind kind = console->table.columns[column].kind;
    return (kind == HP_CELL_NAME || kind == HP_CELL_TEXT || kind == HP_CELL_FIGURE) &&
           console->columns >= console->table.columns[column].from && !(console->view->hidden >> column & 1);
}

static void sort_by(struct hp_console *console, const char *key)
{
    struct hp_table_view *view = console->view;
    const char *current = view->sort[0] != '\0' ? view->sort : console->table.sort;
    if (!is_sortable(console, hp_table_find(&console->table, key)))
        return;
    if (current != NULL && strcmp(current, key) == 0)
        view->is_reversed = !view->is_reversed;
    else
        view->is_reversed = false;
    snprintf(view->sort, sizeof view->sort, "%s", key);
    remember_order(console);
    order_anew(console);
}

static bool is_overview(const struct hp_console *console)
{
    return console->is_watching && console->tab == HP_TAB_OVERVIEW;
}

/* The list there has neither another order nor columns. */
#define FIXED_ORDER "The overview is sorted by own time: 2 has the functions in any order"

static void sort_by_next(struct hp_console *console)
{
    const struct hp_table *table = &console->table;
    struct hp_table_view *view = console->view;
    const char *current = view->sort[0] != '\0' ? view->sort : table->sort;
    size_t at = current != NULL ? hp_table_find(table, current) : table->column_count - 1;
    for (size_t step = 0; step < table->column_count; step++) {
        at = at + 1 < table->column_count ? at + 1 : 0;
        if (is_sortable(console, at))
            break;
    }
    view->is_reversed = false;
    snprintf(view->sort, sizeof view->sort, "%s", table->columns[at].key);
    remember_order(console);
    order_anew(console);
}

static void reverse(struct hp_console *console)
{
    console->view->is_reversed = !console->view->is_reversed;
    remember_order(console);
    order_anew(console);
}

static void choose_window(struct hp_console *console, int kind)
{
    console->window = (struct hp_window){
        .kind = (enum hp_window_kind)kind, .length_ns = LAST_NS, .from_ns = console->watched.elapsed_ns};
    console->is_due = console->sorts_anew = true;
}

static void toggle_totals(struct hp_console *console)
{
    choose_window(console, console->window.kind == HP_WINDOW_TOTALS ? HP_WINDOW_LAST : HP_WINDOW_TOTALS);
}

/* One slot of the time axis, but at least a second. */
static void step_in_time(struct hp_console *console, int is_back)
{
    struct hp_watched *watched = &console->watched;
    const uint64_t slot = hp_history_slot_ns(&watched->history);
    const uint64_t step = slot > SECOND_NS ? slot : SECOND_NS;
    const uint64_t length = watched->is_whole ? LAST_NS : watched->to_ns - watched->from_ns;
    uint64_t to = console->window.kind == HP_WINDOW_PAST ? console->window.to_ns : watched->to_ns;
    to = is_back ? (to > step + step ? to - step : step) : to + step;
    if (to >= watched->elapsed_ns) {
        choose_window(console, HP_WINDOW_LAST);
        return;
    }
    console->window = (struct hp_window){
        .kind = HP_WINDOW_PAST, .length_ns = LAST_NS, .from_ns = to > length ? to - length : 0, .to_ns = to};
    console->is_due = console->sorts_anew = true;
}

static void toggle_pause(struct hp_console *console)
{
    console->is_paused = !console->is_paused;
    console->is_due = !console->is_paused;
}

static void toggle_idle(struct hp_console *console)
{
    const struct hp_watched_function *function = hp_console_function(console);
    if (function == NULL)
        return;
    const bool is_idle = hp_console_is_idle(console, function);
    hp_choice_set(&console->choices, "idle", "", function->name, !is_idle && !function->is_idle);
    hp_choice_set(&console->choices, "busy", "", function->name, is_idle && function->is_idle);
    order_anew(console);
}

static void change_interval(struct hp_console *console, int is_faster)
{
    static const uint32_t steps[] = {100, 200, 500, 1000, 2000, 5000, 10000};
    const size_t count = sizeof steps / sizeof steps[0];
    size_t at = 0;
    while (at + 1 < count && steps[at] < console->choices.refresh_ms)
        at++;
    at = is_faster ? (at > 0 ? at - 1 : 0) : (at + 1 < count ? at + 1 : at);
    console->choices.refresh_ms = steps[at];
    console->choices.has_changed = true;
}

static void fold(struct hp_console *console, const struct hp_table_row *row, bool is_folded)
{
    struct hp_table_view *view = console->view;
    const bool is_changed = is_folded != row->begins_folded;
    size_t at = 0;
    while (at < view->folded_count && view->folded[at] != row->id)
        at++;
    if (!is_changed && at < view->folded_count)
        view->folded[at] = view->folded[--view->folded_count];
    if (!is_changed || at < view->folded_count)
        return;
    if (!HP_MAKE_ROOM(view->folded, view->folded_count + 1, view->folded_room))
        return;
    view->folded[view->folded_count++] = row->id;
}

static void fold_all(struct hp_console *console, int is_folded)
{
    bool is_changed = false;
    for (size_t at = 0; at < console->table.row_count; at++)
        if (console->table.rows[at].has_children && console->table.rows[at].is_folded != is_folded) {
            fold(console, &console->table.rows[at], is_folded);
            is_changed = true;
        }
    if (!is_changed)
        say(console, is_folded ? "All rows are folded already" : "All rows are unfolded already");
    hp_console_prepare(console);
}

/* To the parent row in a tree. */
static void move_up_tree(struct hp_console *console)
{
    size_t line = console->view->line;
    const unsigned depth = console->shown.all[line]->depth;
    if (depth == 0) {
        say(console, "There is nothing above this row");
        return;
    }
    while (line > 0 && console->shown.all[line]->depth >= depth)
        line--;
    move_to(console, line);
}

/* Moves the cursor of the list to a frame's function. */
static void follow_frame(struct hp_console *console, uint32_t frame)
{
    const uint64_t id = hp_flame_name(&console->flame, frame)->id;
    for (size_t at = 0; at < console->shown.count; at++)
        if (console->shown.all[at]->subject == id) {
            move_to(console, at);
            return;
        }
}

static void choose_frame(struct hp_console *console, uint32_t frame)
{
    if (frame == 0) {
        say(console, "There is no further frame");
        return;
    }
    follow_frame(console, frame);
    console->flame.cursor = frame;
}

static void step_in_flame(struct hp_console *console, int is_back)
{
    const struct hp_flame *flame = &console->flame;
    const uint64_t whole = flame->nodes[hp_flame_root(flame)].now[console->measure];
    choose_frame(console,
                 hp_flame_neighbour(flame, flame->cursor, console->measure, whole / console->columns + 1, is_back));
}

static void turn_left_or_right(struct hp_console *console, int is_left)
{
    struct hp_table_view *view = console->view;
    if (hp_shows_flame(console)) {
        step_in_flame(console, is_left);
        return;
    }
    if (!console->table.is_tree) {
        if (!hp_table_scroll(&console->table, view, &console->shown, &console->area, is_left))
            say(console, is_left ? "These are the first columns" : "There are no more columns");
        return;
    }
    if (view->line >= console->shown.count)
        return;
    const struct hp_table_row *row = console->shown.all[view->line];
    if (is_left && (!row->has_children || row->is_folded))
        move_up_tree(console);
    else if (!row->has_children)
        say(console, "There is nothing below this row");
    else if (!is_left && !row->is_folded)
        move_by(console, 1);
    else {
        view->cursor = row->id;
        fold(console, row, is_left);
        hp_console_prepare(console);
    }
}

/* The next row whose name contains the filter. */
static void find_match(struct hp_console *console, int is_back)
{
    const size_t count = console->shown.count;
    for (size_t step = 1; step < count; step++) {
        const size_t line = (console->view->line + (is_back ? count - step : step)) % count;
        const char *name = console->shown.all[line]->cells[0].text;
        if (name != NULL && strstr(name, console->view->filter) != NULL) {
            move_to(console, line);
            return;
        }
    }
    snprintf(console->message, sizeof console->message, "No other row has %.100s in its name",
             console->view->filter);
}

static void copy_name(struct hp_console *console)
{
    const struct hp_table_view *view = console->view;
    if (view->line >= console->shown.count || console->shown.all[view->line]->cells[0].text == NULL)
        return;
    snprintf(console->copied, sizeof console->copied, "%s", console->shown.all[view->line]->cells[0].text);
    snprintf(console->message, sizeof console->message, "Copied: %.200s", console->copied);
}

/* As line 3 offers. */
static bool follow_restarted(struct hp_console *console)
{
    char path[sizeof console->restarted];
    memcpy(path, console->restarted, sizeof path);
    if (path[0] == '\0' || console->overlay != HP_OVERLAY_NONE)
        return false;
    hp_console_choose(console, path);
    return true;
}

/* Opens the row at the cursor, or the details of its function. */
static void enter(struct hp_console *console)
{
    if (!console->is_watching) {
        if (console->view->line < console->shown.count) {
            const size_t at = console->shown.all[console->view->line]->index;
            char path[sizeof console->path];
            snprintf(path, sizeof path, "%s", console->programs.all[at].path);
            hp_console_choose(console, path);
        }
        return;
    }
    if (console->shown.count == 0)
        return;
    console->view->cursor = console->shown.all[console->view->line]->id;
    console->overlay = HP_OVERLAY_INSPECT;
    console->inspected = HP_INSPECTED_PAGE;
    console->is_due |= console->tab == HP_TAB_FLOW; /* for the log of the row */
}

static void inspect(struct hp_console *console, int what)
{
    if (hp_console_function(console) == NULL)
        return;
    find_slowest_pattern(console);
    enter(console);
    console->inspected = (enum hp_inspected)what;
    console->is_due = true;
}

/* ---------------------------------------------------------------------------------------------- elsewhere */

/* Opens the source of the function at the cursor in the user's editor. */
static void edit(struct hp_console *console)
{
    const struct hp_watched_function *function = hp_console_function(console);
    if (access(function->file, R_OK) != 0 || strlen(function->file) >= sizeof console->edited) {
        snprintf(console->message, sizeof console->message, "Cannot read %.200s: %s", function->file,
                 strerror(errno));
        return;
    }
    snprintf(console->edited, sizeof console->edited, "%s", function->file);
    console->edited_line = function->line > 0 ? function->line : 1;
}

/* Writes the report as an HTML page. Its address has the same window as the console. */
static void write_page(struct hp_console *console)
{
    char text[200], range[64] = "";
    const struct hp_program_source *source = console->source;
    const struct hp_watched *watched = &console->watched;
    const bool is_written = source->write_page(source->context, console->path, watched->program, text, sizeof text);
    if (is_written && !watched->is_whole)
        snprintf(range, sizeof range, "#t=%llu-%llu", (unsigned long long)(watched->from_ns / 1000000),
                 (unsigned long long)(watched->to_ns / 1000000));
    snprintf(console->message, sizeof console->message, "%s%s%s", is_written ? "Page: file://" : "", text, range);
}

/* All stacks of a function, from any caller; 0: those of all functions. */
static void show_only(struct hp_console *console, uint64_t only)
{
    const struct hp_found *found = &console->watched.found;
    const struct hp_found_part *before = found->has_window ? &found->before : NULL;
    if (hp_flame_make_only(&console->flame, hp_found_shown(found), before, only) &&
        (only == 0 || console->flame.nodes[0].now[console->measure] > 0))
        return;
    hp_flame_make_only(&console->flame, hp_found_shown(found), before, 0);
    say(console, "No stacks of this function have this measure; m changes it");
}

/* Zooms into the chosen frame or, if none is, into all frames of the function at the cursor. */
static void zoom_in(struct hp_console *console)
{
    struct hp_flame *flame = &console->flame;
    if (flame->cursor != 0)
        flame->zoomed = flame->cursor;
    else if (console->view->line < console->shown.count) {
        console->view->cursor = console->shown.all[console->view->line]->id;
        show_only(console, console->shown.all[console->view->line]->subject);
    }
}

/* Undoes one of these. False: there is nothing to undo. */
static bool zoom_out(struct hp_console *console)
{
    struct hp_flame *flame = &console->flame;
    if (!hp_shows_flame(console) || hp_flame_root(flame) == 0)
        return false;
    if (flame->zoomed != 0)
        flame->zoomed = 0;
    else
        show_only(console, 0);
    return true;
}

static void zoom_out_once(struct hp_console *console) { zoom_out(console); }

static void zoom_in_or_enter(struct hp_console *console)
{
    if (hp_shows_flame(console))
        zoom_in(console);
    else
        enter(console);
}

static void show_changes(struct hp_console *console) { console->shows_changes = !console->shows_changes; }

/* ---------------------------------------------------------------------------------- choices of the view */

static void begin_filter(struct hp_console *console)
{
    console->is_filtering = console->overlay == HP_OVERLAY_NONE;
}

static void open_help(struct hp_console *console)
{
    console->overlay = HP_OVERLAY_HELP;
    console->help_top = 0;
}

static void open_columns(struct hp_console *console)
{
    console->overlay = HP_OVERLAY_COLUMNS;
    console->chosen_column = 0;
}

static void other_view(struct hp_console *console) { console->is_other_view = !console->is_other_view; }

static void turn(struct hp_console *console)
{
    console->is_turned[console->tab] = !console->is_turned[console->tab];
    hp_console_prepare(console);
}

static void group_threads(struct hp_console *console)
{
    console->groups_threads = !console->groups_threads;
    order_anew(console);
}

static void show_ended(struct hp_console *console)
{
    console->has_ended = !console->has_ended;
    order_anew(console);
}

static void write_table(struct hp_console *console, int is_json) { hp_console_write_table(console, is_json); }

static void close_or_quit(struct hp_console *console)
{
    console->is_over = console->overlay == HP_OVERLAY_NONE;
    console->overlay = HP_OVERLAY_NONE;
}

/* Each Esc undoes one thing. */
static void escape(struct hp_console *console)
{
    if (console->overlay == HP_OVERLAY_INSPECT && console->inspected != HP_INSPECTED_PAGE)
        console->inspected = HP_INSPECTED_PAGE;
    else if (console->overlay != HP_OVERLAY_NONE)
        console->overlay = HP_OVERLAY_NONE;
    else if (console->view->filter[0] != '\0') {
        console->view->filter[0] = '\0';
        hp_console_prepare(console);
    } else if (!zoom_out(console) && console->window.kind == HP_WINDOW_PAST)
        choose_window(console, HP_WINDOW_LAST);
}

/* ---------------------------------------------------------------------------------- why a key does nothing here */

/* Each returns NULL if the key acts, and else a sentence that says why it does not. */

static const char *no_rows(const struct hp_console *console)
{
    return console->shown.count > 0 ? NULL : "There are no rows here";
}

static const char *no_columns(const struct hp_console *console)
{
    return is_overview(console) ? FIXED_ORDER : no_rows(console);
}

static const char *no_order(const struct hp_console *console)
{
    return is_overview(console)        ? FIXED_ORDER
           : console->table.is_tree    ? "A tree is always sorted by time"
           : console->shown.of > 1     ? NULL
           : console->shown.count == 0 ? "There are no rows here"
                                       : "There is one row: it has no order";
}

static const char *no_order_to_reverse(const struct hp_console *console)
{
    bool is_ascending;
    const char *reason = no_order(console);
    const bool is_sorted =
        hp_table_sort_column(&console->table, console->view, &is_ascending) < console->table.column_count;
    return reason != NULL || is_sorted ? reason : "These rows are in an order of their own: s sorts them";
}

static const char *no_views(const struct hp_console *console)
{
    return console->sub_count > 1 ? NULL : "This tab has one view";
}

static const char *not_watching(const struct hp_console *console)
{
    return console->is_watching ? NULL : "No program is shown yet: Enter watches the one at the cursor";
}

static const char *no_history(const struct hp_console *console)
{
    return !console->is_watching          ? not_watching(console)
           : console->watched.has_history ? NULL
                                          : "This session has no history, so totals are shown: use 'hotpath run'";
}

/* Not in a past time range. */
static const char *no_later(const struct hp_console *console)
{
    return console->is_watching && console->window.kind == HP_WINDOW_LAST ? "This is the latest already"
                                                                          : no_history(console);
}

static const char *not_running(const struct hp_console *console)
{
    return !console->is_watching                            ? not_watching(console)
           : console->watched.is_live || console->is_paused ? NULL
                                                            : "The program has ended: nothing changes any more";
}

static const char *no_function(const struct hp_console *console)
{
    const bool is_listed = console->tab == HP_TAB_OVERVIEW || console->tab == HP_TAB_FUNCTIONS;
    return !console->is_watching                               ? not_watching(console)
           : is_listed && hp_console_function(console) != NULL ? NULL
                                                               : "Functions are marked as idle in 2 Functions";
}

static const char *no_calls(const struct hp_console *console)
{
    const struct hp_watched_function *function = hp_console_function(console);
    return function != NULL && function->site != NULL ? NULL
           : !console->is_watching                    ? not_watching(console)
           : function == NULL ? "This row is not a function: single calls are known of measured functions"
                              : "Single calls are known of measured functions only, not of sampled ones";
}

static const char *no_source(const struct hp_console *console)
{
    const struct hp_watched_function *function = hp_console_function(console);
    return function != NULL && function->file[0] != '\0' ? NULL : "The source of this row is unknown";
}

static const char *no_branches(const struct hp_console *console)
{
    for (size_t at = 0; console->table.is_tree && at < console->table.row_count; at++)
        if (console->table.rows[at].has_children)
            return NULL;
    return console->table.is_tree ? "Nothing here can be folded" : "Only trees are unfolded: 3 has one";
}

static const char *no_tree_or_flame(const struct hp_console *console)
{
    const bool can_turn = hp_shows_flame(console) || (console->tab == HP_TAB_TREE && console->table.row_count > 0);
    return can_turn ? NULL : "Only trees and flame graphs are turned round: 3 and 4 have them";
}

static const char *no_flame(const struct hp_console *console)
{
    return hp_shows_flame(console) ? NULL : "There is no flame graph here: 4 has it, if stacks were taken";
}

static const char *no_stacks(const struct hp_console *console)
{
    return console->flame.node_count > 0 ? NULL : no_flame(console);
}

static const char *no_measures(const struct hp_console *console)
{
    return !hp_shows_flame(console)           ? no_flame(console)
           : hp_console_measures(console) > 1 ? NULL
                                              : "Stacks have one measure here: nothing else was recorded";
}

static const char *no_changes(const struct hp_console *console)
{
    return !hp_shows_flame(console) ? no_flame(console)
           : console->flame.has_before || console->shows_changes
               ? NULL
               : "There are no stacks of a window before this one";
}

static const char *not_zoomed(const struct hp_console *console)
{
    return hp_shows_flame(console) && hp_flame_root(&console->flame) != 0 ? NULL : "Nothing is zoomed";
}

static const char *no_threads(const struct hp_console *console)
{
    return strcmp(console->table.key, "threads") != 0 ? "Only threads are grouped: the first view of 6 has them"
           : console->shown.of > 1 || console->groups_threads ? NULL
                                                              : "There is one row: nothing to group";
}

static const char *no_ended_threads(const struct hp_console *console)
{
    return console->tab != HP_TAB_THREADS || !console->is_watching ? "Threads that ended are in 6 Threads"
           : console->ended_threads > 0 || console->has_ended      ? NULL
                                                                   : "No thread has ended";
}

static const char *no_page(const struct hp_console *console)
{
    return !console->is_watching                                              ? not_watching(console)
           : console->watched.has_data && console->source->write_page != NULL ? NULL
                                                                              : "There is no report to write yet";
}

/* In a tree all rows stay, so the next match is somewhere below. */
static const char *no_next_match(const struct hp_console *console)
{
    return !console->table.is_tree            ? "/ shows matching rows alone here; n is for trees"
           : console->view->filter[0] == '\0' ? "There is nothing to look for: / and a name come first"
                                              : NULL;
}

static const char *no_filter(const struct hp_console *console)
{
    return console->overlay == HP_OVERLAY_NONE ? NULL : "Rows are filtered in the list: Esc goes back to it";
}

static const char *nothing_to_undo(const struct hp_console *console)
{
    const bool can_zoom_out = hp_shows_flame(console) && hp_flame_root(&console->flame) != 0;
    return console->overlay != HP_OVERLAY_NONE || console->view->filter[0] != '\0' || can_zoom_out ||
                   console->window.kind == HP_WINDOW_PAST
               ? NULL
               : "There is nothing to go back to; q quits";
}

static const char *is_list(const struct hp_console *console)
{
    return console->is_watching ? NULL : "These are all programs";
}

/* Columns of the table, or frames of the flame graph. */
static const char *no_way_aside(const struct hp_console *console)
{
    return is_overview(console) ? FIXED_ORDER : hp_shows_flame(console) ? NULL : no_rows(console);
}

/* -------------------------------------------------------------------------------------------- the table */

/* Where keys are pressed: a tab, the page about a row, the list of programs. */
enum place { PAGE = HP_CONSOLE_TABS, LIST, PLACES };

struct binding {
    uint32_t codes[2];
    void (*act)(struct hp_console *console);
    void (*act_by)(struct hp_console *console, int by);       /* instead of it, with `by` */
    const char *(*why_not)(const struct hp_console *console); /* what it says instead; NULL: it always acts */
    const char *hint;                                         /* in the last line, if it acts */
    int by;
    uint32_t only;           /* bits of the places where it takes precedence over others of this key; 0: none */
    const char *keys, *help; /* a line of the help, about the bindings after it */
};

#define DO(action) .act = action
#define UNLESS(reason) .why_not = reason
#define BY(action, argument) .act_by = action, .by = argument
/* clang-format off */
#define HELP(keys_, help_) {.keys = keys_, .help = help_}
/* clang-format on */

static const struct binding bindings[] = {
    HELP("1-8, Tab, click", "select a tab; same digit again: next view"),
    {{'1'}, BY(choose_tab_of, HP_TAB_OVERVIEW), UNLESS(not_watching), .hint = "1-8 tabs"},
    {{'2'}, BY(choose_tab_of, HP_TAB_FUNCTIONS), UNLESS(not_watching), .hint = "2 next view"},
    {{'3'}, BY(choose_tab_of, HP_TAB_TREE), UNLESS(not_watching), .hint = "3 next view"},
    {{'4'}, BY(choose_tab_of, HP_TAB_STACKS), UNLESS(not_watching), .hint = "4 next view"},
    {{'5'}, BY(choose_tab_of, HP_TAB_FLOW), UNLESS(not_watching), .hint = "5 next view"},
    {{'6'}, BY(choose_tab_of, HP_TAB_THREADS), UNLESS(not_watching), .hint = "6 next view"},
    {{'7'}, BY(choose_tab_of, HP_TAB_WAITS), UNLESS(not_watching), .hint = "7 next view"},
    {{'8'}, BY(choose_tab_of, HP_TAB_CALLS), UNLESS(not_watching), .hint = "8 next view"},
    {{HP_KEY_TAB}, BY(step_tab, 1), UNLESS(not_watching)},
    {{HP_KEY_BACK_TAB}, BY(step_tab, -1), UNLESS(not_watching)},
    HELP("↑↓ j k PgUp PgDn g G", "move"),
    {{HP_KEY_UP, 'k'}, BY(move_by, -1), UNLESS(no_rows), .hint = "↑↓ next row"},
    {{HP_KEY_DOWN, 'j'}, BY(move_by, 1), UNLESS(no_rows)},
    {{HP_KEY_WHEEL_UP}, BY(move_by, -3), UNLESS(no_rows)},
    {{HP_KEY_WHEEL_DOWN}, BY(move_by, 3), UNLESS(no_rows)},
    {{HP_KEY_PAGE_UP}, BY(move_by_pages, -1), UNLESS(no_rows)},
    {{HP_KEY_PAGE_DOWN}, BY(move_by_pages, 1), UNLESS(no_rows)},
    {{HP_KEY_HOME, 'g'}, DO(move_to_first), UNLESS(no_rows)},
    {{'G'}, DO(move_to_last), UNLESS(no_rows)},
    HELP("Enter, i", "details of a row; PgDn scrolls, Esc goes back"),
    {{HP_KEY_ENTER, 'i'}, DO(enter), UNLESS(no_rows), .hint = "Enter inspect"},
    {{HP_KEY_ENTER}, DO(enter), UNLESS(no_rows), .hint = "Enter watch it", .only = 1u << LIST},
    {{HP_KEY_ESCAPE}, DO(escape), UNLESS(nothing_to_undo), .hint = "Esc close"},
    HELP("← → h l", "fold, unfold; scroll to hidden columns"),
    {{HP_KEY_LEFT, 'h'}, BY(turn_left_or_right, true), UNLESS(no_way_aside)},
    {{HP_KEY_LEFT, 'h'},
     BY(turn_left_or_right, true),
     UNLESS(no_branches),
     .hint = "←→ fold",
     .only = 1u << HP_TAB_TREE},
    {{HP_KEY_RIGHT, 'l'}, BY(turn_left_or_right, false), UNLESS(no_way_aside)},
    {{'*'}, BY(fold_all, false), UNLESS(no_branches), .hint = "* all", .only = 1u << HP_TAB_TREE},
    HELP("/ n N", "filter by name, Esc clears; next match, in trees"),
    {{'/'}, DO(begin_filter), UNLESS(no_filter), .hint = "/ filter"},
    {{'n'}, BY(find_match, false), UNLESS(no_next_match), .hint = "n next"},
    {{'N'}, BY(find_match, true), UNLESS(no_next_match)},
    HELP("s S c", "next sort column; reverse; choose columns"),
    {{'s'}, DO(sort_by_next), UNLESS(no_order), .hint = "s sort"},
    {{'S'}, DO(reverse), UNLESS(no_order_to_reverse), .hint = "S reverse"},
    {{'c'}, DO(open_columns), UNLESS(no_columns), .hint = "c columns"},
    HELP("t z", "last 10 s or since the start; reset: since now"),
    {{'t'}, DO(toggle_totals), UNLESS(no_history), .hint = "t totals"},
    {{'z'}, BY(choose_window, HP_WINDOW_SINCE), UNLESS(no_history), .hint = "z reset"},
    HELP("space, p", "pause the display; the program keeps running"),
    {{' ', 'p'}, DO(toggle_pause), UNLESS(not_running), .hint = "space pause"},
    HELP("[ ] End", "back and forward in time; live again"),
    {{'['}, BY(step_in_time, true), UNLESS(no_history), .hint = "[ ] time"},
    {{']'}, BY(step_in_time, false), UNLESS(no_later)},
    {{HP_KEY_END}, BY(choose_window, HP_WINDOW_LAST), UNLESS(no_later)},
    HELP("x", "mark a function as idle or not idle"),
    {{'x'}, DO(toggle_idle), UNLESS(no_function), .hint = "x idle"},
    HELP("w o", "the slowest call; recent calls"),
    {{'w'}, BY(inspect, HP_INSPECTED_SLOWEST), UNLESS(no_calls), .hint = "w slowest call"},
    {{'o'}, BY(inspect, HP_INSPECTED_CALLS), UNLESS(no_calls), .hint = "o recent calls"},
    HELP("v", "open source in $EDITOR; stacks: flame or list"),
    {{'v'}, DO(edit), UNLESS(no_source), .hint = "v source"},
    {{'v'}, DO(edit), UNLESS(no_source), .hint = "v source in editor", .only = 1u << PAGE},
    {{'v'}, DO(other_view), UNLESS(no_stacks), .hint = "v list or flame", .only = 1u << HP_TAB_STACKS},
    HELP("m, Enter, Backspace", "stacks: change measure; zoom in; zoom out"),
    {{'m'}, DO(hp_console_next_measure), UNLESS(no_measures), .hint = "m measure"},
    {{HP_KEY_LEFT, 'h'},
     BY(turn_left_or_right, true),
     UNLESS(no_flame),
     .hint = "←→ frame",
     .only = 1u << HP_TAB_STACKS},
    {{HP_KEY_ENTER}, DO(zoom_in_or_enter), UNLESS(no_rows), .hint = "Enter zoom in", .only = 1u << HP_TAB_STACKS},
    {{HP_KEY_BACKSPACE}, DO(zoom_out_once), UNLESS(not_zoomed), .hint = "Backspace out"},
    HELP("d", "stacks: changes since the window before"),
    {{'d'}, DO(show_changes), UNLESS(no_changes), .hint = "d changes"},
    HELP("u", "tree: callers below functions; flame: upside down"),
    {{'u'}, DO(turn), UNLESS(no_tree_or_flame), .hint = "u callers"},
    {{'u'}, DO(turn), UNLESS(no_tree_or_flame), .hint = "u upside down", .only = 1u << HP_TAB_STACKS},
    HELP("b a", "group threads by name; show ended ones"),
    {{'b'}, DO(group_threads), UNLESS(no_threads), .hint = "b group by name"},
    {{'a'}, DO(show_ended), UNLESS(no_ended_threads), .hint = "a show ended"},
    HELP("f", "write the report as an HTML page"),
    {{'f'}, DO(write_page), UNLESS(no_page), .hint = "f page"},
    HELP("y e E", "copy a name; save this table as CSV, as JSON"),
    {{'y'}, DO(copy_name), UNLESS(no_rows), .hint = "y copy name"},
    {{'e'}, BY(write_table, false), UNLESS(no_rows)},
    {{'E'}, BY(write_table, true), UNLESS(no_rows)},
    HELP("+ -", "refresh more or less often"),
    {{'+'}, BY(change_interval, true)},
    {{'-'}, BY(change_interval, false)},
    {{'-'}, BY(fold_all, true), UNLESS(no_branches), .hint = "- none", .only = 1u << HP_TAB_TREE},
    HELP("L ? q", "list of programs; help; quit"),
    {{'L'}, DO(hp_console_open_list), UNLESS(is_list)},
    {{'?'}, DO(open_help), .hint = "? help  q quit"}, /* always shown */
    {{'q'}, DO(close_or_quit)},
};

#define BINDINGS (sizeof bindings / sizeof bindings[0])

/* The keys whose hints a place shows, from the most useful to the least: what does not fit is left out. */
static const char *const hints[PLACES] = {
    [HP_TAB_OVERVIEW] = "1\n/[ tz",
    [HP_TAB_FUNCTIONS] = "\n2sSctzx/v",
    [HP_TAB_TREE] = "3h*-u\n/nf",
    [HP_TAB_STACKS] = "4mh\n\177dvu/", /* 177: Backspace */
    [HP_TAB_FLOW] = "5\nsSc/[",
    [HP_TAB_THREADS] = "6ba\nsSc/ ",
    [HP_TAB_WAITS] = "7\nsSctz/",
    [HP_TAB_CALLS] = "8\nsSc/",
    [PAGE] = "\33kwovy", /* 33: Esc */
    [LIST] = "\n/s",
};

static unsigned place_of(const struct hp_console *console)
{
    return console->overlay == HP_OVERLAY_INSPECT ? PAGE : console->is_watching ? (unsigned)console->tab : LIST;
}

/* NULL: none. */
static const struct binding *binding_of(uint32_t code, unsigned place)
{
    const struct binding *found = NULL;
    for (size_t at = 0; code != HP_KEY_NONE && at < BINDINGS; at++) {
        const struct binding *binding = &bindings[at];
        if (code != binding->codes[0] && code != binding->codes[1])
            continue;
        if (binding->only >> place & 1)
            return binding;
        if (binding->only == 0)
            found = binding;
    }
    return found;
}

static const char *why_not(const struct binding *binding, const struct hp_console *console)
{
    return binding->why_not != NULL ? binding->why_not(console) : NULL;
}

/* -------------------------------------------------------------------------------------------- last line */

static void draw_filter(const struct hp_console *console, struct hp_screen *screen)
{
    char text[160];
    snprintf(text, sizeof text, "/ %s▏   %zu of %zu   Esc clears, Enter keeps", console->view->filter,
             console->shown.count, console->shown.of);
    hp_screen_put(screen, screen->rows - 1, 1, HP_INK_PLAIN, text);
}

void hp_draw_keys(const struct hp_console *console, struct hp_screen *screen)
{
    const unsigned place = place_of(console), row = screen->rows - 1;
    const char *last = binding_of('?', place)->hint;
    const unsigned after = hp_screen_width(last) + 2;
    unsigned at = 1;
    if (console->is_filtering) {
        draw_filter(console, screen);
        return;
    }
    for (const char *key = hints[place]; *key != '\0'; key++) {
        const struct binding *binding = binding_of((unsigned char)*key, place);
        const char *hint = binding->hint;
        const bool is_tab = *key >= '2' && *key <= '8';
        if ((is_tab ? no_views(console) : why_not(binding, console)) != NULL)
            continue;
        if (at + hp_screen_width(hint) + after > screen->columns)
            break;
        at = hp_screen_put(screen, row, at, HP_INK_PLAIN, hint) + 2;
    }
    hp_screen_put(screen, row, at, HP_INK_PLAIN, last);
}

/* ------------------------------------------------------------------------------------------------- help */

bool hp_key_help(size_t at, const char **ret_keys, const char **ret_help)
{
    if (at >= BINDINGS)
        return false;
    *ret_keys = bindings[at].keys;
    *ret_help = bindings[at].help;
    return true;
}

/* False: the key does not scroll. */
static bool scroll_help(struct hp_console *console, uint32_t code)
{
    const unsigned page = console->rows > 8 ? console->rows - 8 : 1;
    const int by = code == HP_KEY_DOWN || code == 'j'        ? 1
                   : code == HP_KEY_UP || code == 'k'        ? -1
                   : code == HP_KEY_PAGE_DOWN || code == ' ' ? (int)page
                   : code == HP_KEY_PAGE_UP                  ? -(int)page
                   : code == HP_KEY_WHEEL_DOWN               ? 3
                   : code == HP_KEY_WHEEL_UP                 ? -3
                   : code == HP_KEY_HOME || code == 'g'      ? -(int)console->help_top
                   : code == 'G' || code == HP_KEY_END       ? 1000
                                                             : 0;
    if (by == 0 && code != HP_KEY_HOME && code != 'g')
        return false;
    console->help_top = by < 0 && console->help_top < (unsigned)-by ? 0 : console->help_top + (unsigned)by;
    return true;
}

/* The page about a row, if it is longer than the screen. False: the key does not scroll it. */
static bool scroll_page(struct hp_console *console, uint32_t code)
{
    const unsigned page = console->rows > 8 ? console->rows - 8 : 1;
    const unsigned by = code == HP_KEY_PAGE_DOWN || code == HP_KEY_PAGE_UP ? page : 3;
    if (console->overlay != HP_OVERLAY_INSPECT || !console->page_has_more)
        return false;
    if (code == HP_KEY_PAGE_DOWN || code == HP_KEY_WHEEL_DOWN)
        console->page_top += by;
    else if (code == HP_KEY_PAGE_UP || code == HP_KEY_WHEEL_UP)
        console->page_top -= console->page_top < by ? console->page_top : by;
    else
        return false;
    return true;
}

/* ----------------------------------------------------------------------------------------------- input */

static void type_filter(struct hp_console *console, uint32_t code)
{
    char *filter = console->view->filter;
    const size_t length = strlen(filter);
    if (code == HP_KEY_ENTER)
        console->is_filtering = false;
    else if (code == HP_KEY_ESCAPE) {
        console->is_filtering = false;
        filter[0] = '\0';
    } else if (code == HP_KEY_BACKSPACE && length > 0)
        filter[length - 1] = '\0';
    else if (code >= ' ' && code < 127 && length + 1 < HP_TABLE_FILTER) {
        filter[length] = (char)code;
        filter[length + 1] = '\0';
    }
    hp_console_prepare(console);
}

static void choose_columns(struct hp_console *console, uint32_t code)
{
    const size_t count = console->table.column_count;
    if ((code == HP_KEY_DOWN || code == 'j') && console->chosen_column + 1 < count)
        console->chosen_column++;
    else if ((code == HP_KEY_UP || code == 'k') && console->chosen_column > 0)
        console->chosen_column--;
    else if ((code == ' ' || code == HP_KEY_ENTER) && console->chosen_column > 0 &&
             console->chosen_column < count) {
        const char *key = console->table.columns[console->chosen_column].key;
        const bool is_hidden = hp_choice_has(&console->choices, "hide", console->view->table, key);
        hp_choice_set(&console->choices, "hide", console->view->table, key, !is_hidden);
        hp_console_prepare(console);
    } else if (code == 'c' || code == HP_KEY_ESCAPE || code == 'q')
        console->overlay = HP_OVERLAY_NONE;
}

static bool is_on(const struct hp_area *area, const struct hp_key *key)
{
    return key->row >= area->row && key->row < area->row + area->rows;
}

static void click(struct hp_console *console, const struct hp_key *key)
{
    if (key->row == 1 && console->is_watching) {
        const unsigned tab = hp_tab_at(console->columns, key->column);
        if (tab < HP_CONSOLE_TABS)
            choose_tab(console, tab);
        return;
    }
    if (console->overlay != HP_OVERLAY_NONE)
        return; /* what is below it is not meant */
    if (hp_shows_flame(console) && hp_flame_at(console, key->row, key->column) != 0) {
        choose_frame(console, hp_flame_at(console, key->row, key->column));
        if (key->code == HP_KEY_DOUBLE_CLICK)
            zoom_in(console);
        return;
    }
    if (!is_on(&console->area, key))
        return;
    if (key->row == console->area.row) {
        const char *heading =
            hp_table_heading_at(&console->table, console->view, &console->shown, &console->area, key->column);
        if (heading != NULL && !console->table.is_tree)
            sort_by(console, heading);
        return;
    }
    const size_t line = console->view->top + (key->row - console->area.row - 1);
    if (line < console->shown.count)
        move_to(console, line);
    if (key->code == HP_KEY_DOUBLE_CLICK && line < console->shown.count)
        enter(console);
}

/* No key is silent: it acts, or says why it does not. */
static void press(struct hp_console *console, const struct binding *binding)
{
    const char *reason = why_not(binding, console);
    if (reason != NULL)
        say(console, reason);
    else if (binding->act != NULL)
        binding->act(console);
    else
        binding->act_by(console, binding->by);
}

void hp_console_key(struct hp_console *console, const struct hp_key *key, uint64_t now_ns)
{
    const struct binding *binding;
    console->now_ns = console->key_ns = now_ns;
    console->message[0] = '\0';
    if (console->is_filtering)
        type_filter(console, key->code);
    else if (console->overlay == HP_OVERLAY_HELP) {
        if (!scroll_help(console, key->code))
            console->overlay = HP_OVERLAY_NONE;
    } else if (console->overlay == HP_OVERLAY_COLUMNS)
        choose_columns(console, key->code);
    else if (key->code == HP_KEY_CLICK || key->code == HP_KEY_DOUBLE_CLICK)
        click(console, key);
    else if ((key->code == HP_KEY_ENTER && follow_restarted(console)) || scroll_page(console, key->code))
        ;
    else if ((binding = binding_of(key->code, place_of(console))) != NULL)
        press(console, binding);
    else if (key->code > ' ' && key->code < 127)
        snprintf(console->message, sizeof console->message, "%c is no key: ? lists the keys", (char)key->code);
    if (console->is_due)
        hp_console_refresh(console);
}
