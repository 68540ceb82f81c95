/* Actions of keys. SPDX-License-Identifier: MIT */
#include "actions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "console.h"
#include "frame.h"

#define LAST_NS UINT64_C(10000000000)
#define SECOND_NS UINT64_C(1000000000)

/* ---------------------------------------------------------------------------------------------- moving */

void hp_act_move_to(struct hp_console *console, size_t line)
{
    struct hp_table_view *view = console->view;
    if (console->shown.count == 0)
        return;
    view->line = line < console->shown.count ? line : console->shown.count - 1;
    view->cursor = console->shown.all[view->line]->id;
}

void hp_act_move_by(struct hp_console *console, int lines)
{
    const size_t line = console->view->line;
    const size_t up = (size_t)(lines < 0 ? -lines : 0);
    hp_act_move_to(console, lines < 0 ? (line > up ? line - up : 0) : line + (size_t)lines);
}

size_t hp_act_page(const struct hp_console *console) { return console->area.rows > 2 ? console->area.rows - 2 : 1; }

/* Makes a pattern that matches exactly this name. */
static void find_slowest_pattern(struct hp_console *console)
{
    const struct hp_watched_function *function = hp_console_function(console);
    console->slowest[0] = '\0';
    if (function != NULL && strlen(function->name) < 200)
        snprintf(console->slowest, sizeof console->slowest, "%.200s", function->name);
}

/* ---------------------------------------------------------------------------------------------- actions */

void hp_act_say(struct hp_console *console, const char *text)
{
    snprintf(console->message, sizeof console->message, "%s", text);
}

void hp_act_choose_tab(struct hp_console *console, unsigned tab)
{
    if (tab == (unsigned)console->tab && console->sub_count > 0)
        console->sub[tab] = (console->sub[tab] + 1) % console->sub_count;
    console->tab = (enum hp_tab)tab;
    console->overlay = HP_OVERLAY_NONE;
    console->is_due = console->sorts_anew = true;
    hp_console_prepare(console);
}

void hp_act_order_anew(struct hp_console *console)
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
    return kind != HP_CELL_BAR && kind != HP_CELL_SPARK &&
           console->columns >= console->table.columns[column].from && !(console->view->hidden >> column & 1);
}

void hp_act_sort_by(struct hp_console *console, const char *key)
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
    hp_act_order_anew(console);
}

void hp_act_sort_by_next(struct hp_console *console)
{
    const struct hp_table *table = &console->table;
    struct hp_table_view *view = console->view;
    const char *current = view->sort[0] != '\0' ? view->sort : table->sort;
    size_t at = current != NULL ? hp_table_find(table, current) : table->column_count - 1;
    if (table->is_tree || table->column_count == 0) {
        hp_act_say(console, "A tree is always sorted by time");
        return;
    }
    for (size_t step = 0; step < table->column_count; step++) {
        at = at + 1 < table->column_count ? at + 1 : 0;
        if (is_sortable(console, at))
            break;
    }
    view->is_reversed = false;
    snprintf(view->sort, sizeof view->sort, "%s", table->columns[at].key);
    remember_order(console);
    hp_act_order_anew(console);
}

void hp_act_reverse(struct hp_console *console)
{
    console->view->is_reversed = !console->view->is_reversed;
    remember_order(console);
    hp_act_order_anew(console);
}

void hp_act_choose_window(struct hp_console *console, enum hp_window_kind kind)
{
    console->window =
        (struct hp_window){.kind = kind, .length_ns = LAST_NS, .from_ns = console->watched.elapsed_ns};
    console->is_due = console->sorts_anew = true;
    if (console->is_watching && !console->watched.has_history && kind != HP_WINDOW_TOTALS)
        hp_act_say(console, "This session has no history, so totals are shown: use 'hotpath run'");
}

/* One slot of the time axis, but at least a second. */
void hp_act_step_in_time(struct hp_console *console, bool is_back)
{
    struct hp_watched *watched = &console->watched;
    const uint64_t slot = hp_history_slot_ns(&watched->history);
    const uint64_t step = slot > SECOND_NS ? slot : SECOND_NS;
    const uint64_t length = watched->is_whole ? LAST_NS : watched->to_ns - watched->from_ns;
    if (!watched->has_history) {
        hp_act_say(console, "This session has no history: use 'hotpath run'");
        return;
    }
    uint64_t to = console->window.kind == HP_WINDOW_PAST ? console->window.to_ns : watched->to_ns;
    to = is_back ? (to > step + step ? to - step : step) : to + step;
    if (to >= watched->elapsed_ns) {
        hp_act_choose_window(console, HP_WINDOW_LAST);
        return;
    }
    console->window = (struct hp_window){
        .kind = HP_WINDOW_PAST, .length_ns = LAST_NS, .from_ns = to > length ? to - length : 0, .to_ns = to};
    console->is_due = console->sorts_anew = true;
}

void hp_act_pause(struct hp_console *console)
{
    console->is_paused = !console->is_paused;
    console->is_due = !console->is_paused;
}

void hp_act_toggle_idle(struct hp_console *console)
{
    const struct hp_watched_function *function = hp_console_function(console);
    if (function == NULL)
        return;
    const bool is_idle = hp_console_is_idle(console, function);
    hp_choice_set(&console->choices, "idle", "", function->name, !is_idle && !function->is_idle);
    hp_choice_set(&console->choices, "busy", "", function->name, is_idle && function->is_idle);
    hp_act_order_anew(console);
}

void hp_act_change_interval(struct hp_console *console, bool is_faster)
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

static void fold(struct hp_console *console, uint64_t id, bool is_folded)
{
    struct hp_table_view *view = console->view;
    size_t at = 0;
    while (at < view->folded_count && view->folded[at] != id)
        at++;
    if (!is_folded && at < view->folded_count)
        view->folded[at] = view->folded[--view->folded_count];
    if (!is_folded || at < view->folded_count)
        return;
    if (view->folded_count == view->folded_room) {
        const size_t room = 2 * view->folded_room + 16;
        uint64_t *folded = realloc(view->folded, room * sizeof *folded);
        if (folded == NULL)
            return;
        view->folded = folded;
        view->folded_room = room;
    }
    view->folded[view->folded_count++] = id;
}

void hp_act_fold_all(struct hp_console *console, bool is_folded)
{
    for (size_t at = 0; at < console->table.row_count; at++)
        if (console->table.rows[at].has_children)
            fold(console, console->table.rows[at].id, is_folded);
    hp_console_prepare(console);
}

/* To the parent row in a tree. */
static void move_up_tree(struct hp_console *console)
{
    size_t line = console->view->line;
    const unsigned depth = console->shown.all[line]->depth;
    while (line > 0 && console->shown.all[line]->depth >= depth)
        line--;
    hp_act_move_to(console, line);
}

void hp_act_turn_left_or_right(struct hp_console *console, bool is_left)
{
    struct hp_table_view *view = console->view;
    if (!console->table.is_tree) {
        if (is_left ? view->shift > 0 : view->shift + 2 < console->table.column_count)
            view->shift += is_left ? -1u : 1u;
        return;
    }
    if (view->line >= console->shown.count)
        return;
    const struct hp_table_row *row = console->shown.all[view->line];
    if (is_left && (!row->has_children || row->is_folded)) {
        move_up_tree(console);
        return;
    }
    view->cursor = row->id;
    if (row->has_children)
        fold(console, row->id, is_left);
    hp_console_prepare(console);
}

/* The next row whose name contains the filter. */
void hp_act_find_match(struct hp_console *console, bool is_back)
{
    const size_t count = console->shown.count;
    for (size_t step = 1; step <= count; step++) {
        const size_t line = (console->view->line + (is_back ? count - step % count : step)) % count;
        const char *name = console->shown.all[line]->cells[0].text;
        if (name != NULL && console->view->filter[0] != '\0' && strstr(name, console->view->filter) != NULL) {
            hp_act_move_to(console, line);
            return;
        }
    }
}

void hp_act_copy_name(struct hp_console *console)
{
    const struct hp_table_view *view = console->view;
    if (view->line >= console->shown.count || console->shown.all[view->line]->cells[0].text == NULL)
        return;
    snprintf(console->copied, sizeof console->copied, "%s", console->shown.all[view->line]->cells[0].text);
    snprintf(console->message, sizeof console->message, "Copied: %.200s", console->copied);
}

void hp_act_enter(struct hp_console *console)
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
}

void hp_act_inspect(struct hp_console *console, enum hp_inspected what)
{
    if (hp_console_function(console) == NULL)
        return;
    find_slowest_pattern(console);
    hp_act_enter(console);
    console->inspected = what;
    console->is_due = true;
}

/* ---------------------------------------------------------------------------------------------- elsewhere */

void hp_act_edit(struct hp_console *console)
{
    const struct hp_watched_function *function = hp_console_function(console);
    const struct hp_location *location = function != NULL ? &function->site->location : NULL;
    if (location == NULL || location->file == NULL || location->file[0] == '\0') {
        hp_act_say(console, "The source of this row is unknown");
        return;
    }
    if (access(location->file, R_OK) != 0 || strlen(location->file) >= sizeof console->edited) {
        snprintf(console->message, sizeof console->message, "Cannot read %.200s: %s", location->file,
                 strerror(errno));
        return;
    }
    snprintf(console->edited, sizeof console->edited, "%s", location->file);
    console->edited_line = location->line;
}

/* The page's address has the same window as the console. */
void hp_act_write_page(struct hp_console *console)
{
    char text[200], range[64] = "";
    const struct hp_program_source *source = console->source;
    const struct hp_watched *watched = &console->watched;
    if (!console->is_watching || !watched->has_data || source->write_page == NULL)
        return;
    const bool is_written = source->write_page(source->context, console->path, watched->program, text, sizeof text);
    if (is_written && !watched->is_whole)
        snprintf(range, sizeof range, "#t=%llu-%llu", (unsigned long long)(watched->from_ns / 1000000),
                 (unsigned long long)(watched->to_ns / 1000000));
    snprintf(console->message, sizeof console->message, "%s%s%s", is_written ? "Page: file://" : "", text, range);
}

void hp_act_zoom(struct hp_console *console, bool is_in)
{
    const struct hp_table_row *row =
        console->view->line < console->shown.count ? console->shown.all[console->view->line] : NULL;
    const uint64_t only = is_in && row != NULL ? row->id : 0;
    if (only != 0)
        console->view->cursor = only;
    const bool is_made = hp_flame_make(console, only);
    if (only == 0 || (is_made && console->flame.totals[0][console->measure] > 0))
        return;
    hp_flame_make(console, 0);
    hp_act_say(console, "No stacks for this measure; press m to change it");
}
