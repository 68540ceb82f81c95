/* Used in builds without ncurses. SPDX-License-Identifier: MIT */
#include "terminal_screen.h"

bool hp_terminal_screen_is_there(void) { return false; }

int hp_terminal_screen_run(struct hp_console *console, bool has_color, const char **ret_problem)
{
    (void)console;
    (void)has_color;
    *ret_problem = "this hotpath was built without ncurses: install libncurses-dev and rebuild it; --once prints a "
                   "screen without it";
    return -1;
}
