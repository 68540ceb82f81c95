/* Key bindings. SPDX-License-Identifier: MIT */
#include <string.h>

#include "actions.h"
#include "console.h"
#include "frame.h"

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
            hp_act_choose_tab(console, tab);
        return;
    }
    if (!is_on(&console->area, key))
        return;
    if (key->row == console->area.row) {
        const char *heading =
            hp_table_heading_at(&console->table, console->view, &console->shown, &console->area, key->column);
        if (heading != NULL && !console->table.is_tree)
            hp_act_sort_by(console, heading);
        return;
    }
    const size_t line = console->view->top + (key->row - console->area.row - 1);
    if (line < console->shown.count)
        hp_act_move_to(console, line);
    if (key->code == HP_KEY_DOUBLE_CLICK)
        hp_act_enter(console);
}

static void move(struct hp_console *console, uint32_t code)
{
    const int page = (int)hp_act_page(console);
    switch (code) {
    case HP_KEY_UP:
    case 'k':
        hp_act_move_by(console, -1);
        break;
    case HP_KEY_DOWN:
    case 'j':
        hp_act_move_by(console, 1);
        break;
    case HP_KEY_WHEEL_UP:
        hp_act_move_by(console, -3);
        break;
    case HP_KEY_WHEEL_DOWN:
        hp_act_move_by(console, 3);
        break;
    case HP_KEY_PAGE_UP:
        hp_act_move_by(console, -page);
        break;
    case HP_KEY_PAGE_DOWN:
        hp_act_move_by(console, page);
        break;
    case HP_KEY_HOME:
    case 'g':
        hp_act_move_to(console, 0);
        break;
    case 'G':
        hp_act_move_to(console, SIZE_MAX);
        break;
    default:
        break;
    }
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
    } else if (console->window.kind == HP_WINDOW_PAST)
        hp_act_choose_window(console, HP_WINDOW_LAST);
}

static void act(struct hp_console *console, const struct hp_key *key)
{
    const uint32_t code = key->code;
    if (code >= '1' && code <= '8' && console->is_watching) {
        hp_act_choose_tab(console, code - '1');
        return;
    }
    switch (code) {
    case 'q':
        console->is_over = console->overlay == HP_OVERLAY_NONE;
        console->overlay = HP_OVERLAY_NONE;
        break;
    case HP_KEY_TAB:
    case HP_KEY_BACK_TAB:
        if (console->is_watching) {
            const unsigned step = code == HP_KEY_TAB ? 1 : HP_CONSOLE_TABS - 1;
            hp_act_choose_tab(console, ((unsigned)console->tab + step) % HP_CONSOLE_TABS);
        }
        break;
    case HP_KEY_ENTER:
    case 'i':
        if (code == HP_KEY_ENTER && hp_shows_flame(console) && console->overlay == HP_OVERLAY_NONE)
            hp_act_zoom(console, true);
        else
            hp_act_enter(console);
        break;
    case HP_KEY_ESCAPE:
        escape(console);
        break;
    case HP_KEY_LEFT:
    case 'h':
    case HP_KEY_RIGHT:
    case 'l':
        hp_act_turn_left_or_right(console, code == HP_KEY_LEFT || code == 'h');
        break;
    case '/':
        console->is_filtering = console->overlay == HP_OVERLAY_NONE;
        break;
    case 'n':
    case 'N':
        hp_act_find_match(console, code == 'N');
        break;
    case 's':
        hp_act_sort_by_next(console);
        break;
    case 'S':
        hp_act_reverse(console);
        break;
    case 'c':
        console->overlay = HP_OVERLAY_COLUMNS;
        console->chosen_column = 0;
        break;
    case 't':
        hp_act_choose_window(console, console->window.kind == HP_WINDOW_TOTALS ? HP_WINDOW_LAST : HP_WINDOW_TOTALS);
        break;
    case 'z':
        hp_act_choose_window(console, HP_WINDOW_SINCE);
        break;
    case ' ':
    case 'p':
        hp_act_pause(console);
        break;
    case '[':
    case ']':
        hp_act_step_in_time(console, code == '[');
        break;
    case HP_KEY_END:
        hp_act_choose_window(console, HP_WINDOW_LAST);
        break;
    case 'x':
        hp_act_toggle_idle(console);
        break;
    case 'w':
        hp_act_inspect(console, HP_INSPECTED_SLOWEST);
        break;
    case 'o':
        hp_act_inspect(console, HP_INSPECTED_CALLS);
        break;
    case '*':
        if (console->table.is_tree)
            hp_act_fold_all(console, false);
        break;
    case '+':
        hp_act_change_interval(console, true);
        break;
    case '-':
        if (console->table.is_tree)
            hp_act_fold_all(console, true);
        else
            hp_act_change_interval(console, false);
        break;
    case 'm':
        console->measure = (enum hp_measure)((console->measure + 1) % HP_MEASURES);
        break;
    case 'v':
        if (console->tab == HP_TAB_STACKS)
            console->is_other_view = !console->is_other_view;
        else
            hp_act_edit(console);
        break;
    case HP_KEY_BACKSPACE:
        hp_act_zoom(console, false);
        break;
    case 'u':
        console->is_turned[console->tab] = !console->is_turned[console->tab];
        hp_console_prepare(console);
        break;
    case 'b':
        console->groups_threads = !console->groups_threads;
        hp_act_order_anew(console);
        break;
    case 'a':
        console->has_ended = !console->has_ended;
        hp_act_order_anew(console);
        break;
    case 'f':
        hp_act_write_page(console);
        break;
    case 'y':
        hp_act_copy_name(console);
        break;
    case 'e':
    case 'E':
        hp_console_write_table(console, code == 'E');
        break;
    case 'L':
        hp_console_open_list(console);
        break;
    case 'F':
        if (console->restarted[0] != '\0') {
            char path[sizeof console->restarted];
            memcpy(path, console->restarted, sizeof path);
            hp_console_choose(console, path);
        }
        break;
    case '?':
        console->overlay = HP_OVERLAY_HELP;
        break;
    case HP_KEY_CLICK:
    case HP_KEY_DOUBLE_CLICK:
        click(console, key);
        break;
    default:
        move(console, code);
        break;
    }
}

void hp_console_key(struct hp_console *console, const struct hp_key *key, uint64_t now_ns)
{
    console->now_ns = console->key_ns = now_ns;
    console->message[0] = '\0';
    if (console->is_filtering)
        type_filter(console, key->code);
    else if (console->overlay == HP_OVERLAY_HELP)
        console->overlay = HP_OVERLAY_NONE;
    else if (console->overlay == HP_OVERLAY_COLUMNS)
        choose_columns(console, key->code);
    else
        act(console, key);
    if (console->is_due)
        hp_console_refresh(console);
}
