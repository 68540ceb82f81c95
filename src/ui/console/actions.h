/* Actions of keys in the console. SPDX-License-Identifier: MIT */
#ifndef HP_CONSOLE_ACTIONS_H
#define HP_CONSOLE_ACTIONS_H

#include "state.h"

void hp_act_move_to(struct hp_console *console, size_t line);
void hp_act_move_by(struct hp_console *console, int lines);
/* Lines of a page. */
size_t hp_act_page(const struct hp_console *console);
void hp_act_say(struct hp_console *console, const char *text);

void hp_act_choose_tab(struct hp_console *console, unsigned tab);
/* Sorts the rows at once: they are others. */
void hp_act_order_anew(struct hp_console *console);
void hp_act_sort_by(struct hp_console *console, const char *key);
void hp_act_sort_by_next(struct hp_console *console);
void hp_act_reverse(struct hp_console *console);
void hp_act_choose_window(struct hp_console *console, enum hp_window_kind kind);
void hp_act_step_in_time(struct hp_console *console, bool is_back);
void hp_act_pause(struct hp_console *console);
void hp_act_toggle_idle(struct hp_console *console);
void hp_act_change_interval(struct hp_console *console, bool is_faster);
void hp_act_fold_all(struct hp_console *console, bool is_folded);
void hp_act_turn_left_or_right(struct hp_console *console, bool is_left);
void hp_act_find_match(struct hp_console *console, bool is_back);
void hp_act_copy_name(struct hp_console *console);
/* Opens the row at the cursor, or the details of its function. */
void hp_act_enter(struct hp_console *console);
void hp_act_inspect(struct hp_console *console, enum hp_inspected what);
/* Opens the source of the function at the cursor in the user's editor. */
void hp_act_edit(struct hp_console *console);
/* Writes the report as an HTML page. */
void hp_act_write_page(struct hp_console *console);
/* Zooms into the stacks of the function at the cursor, or out again. */
void hp_act_zoom(struct hp_console *console, bool is_in);
/* Writes the visible table to the current folder, as CSV or as JSON. */
void hp_console_write_table(struct hp_console *console, bool is_json);

#endif
