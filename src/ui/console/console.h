/*
 * The console: keys change its state (state.h), the caller tells it the time, and it draws into a grid; it never
 * touches a terminal.
 *
 *     hp_console_init(&console, &settings, &source);
 *     hp_console_choose(&console, path) or none: then it shows the list of programs
 *     hp_console_tick(&console, now_ns);         reads again if it is due
 *     hp_console_key(&console, '2', now_ns);
 *     hp_console_draw(&console, &screen);
 *     hp_console_free(&console);
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_CONSOLE_CONSOLE_H
#define HP_CONSOLE_CONSOLE_H

#include "keys.h"
#include "state.h"

void hp_console_init(struct hp_console *console, const struct hp_settings *settings,
                     const struct hp_program_source *source);
/* A session file, or the folder of a run. False: `watched.problem` says why. */
bool hp_console_choose(struct hp_console *console, const char *path);
/* When the next reading is due. */
uint64_t hp_console_due_ns(const struct hp_console *console);
void hp_console_tick(struct hp_console *console, uint64_t now_ns);
void hp_console_key(struct hp_console *console, const struct hp_key *key, uint64_t now_ns);
void hp_console_draw(struct hp_console *console, struct hp_screen *screen);
void hp_console_free(struct hp_console *console);

#endif
