/* Runs the console on the terminal. SPDX-License-Identifier: MIT */
#include "show_console.h"

#include <unistd.h>

#include "command.h"
#include "terminal_screen.h"

int hp_show_console(struct hp_console *console, const struct hp_settings *settings, int *ret_signal)
{
    const char *problem;
    *ret_signal = 0;
    if (hp_terminal_screen_is_there() && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)))
        return hp_fail("the console needs a terminal; --once prints one screen without it");
    const int told = hp_terminal_screen_run(console, !settings->output.no_color, &problem);
    if (told < 0)
        return hp_fail("%s", problem);
    hp_choices_write(&console->choices);
    *ret_signal = told;
    return EXIT_DONE;
}
