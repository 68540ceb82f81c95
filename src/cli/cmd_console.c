/* hotpath console: a program on the screen while it runs, or after it has ended. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arguments.h"
#include "clock.h"
#include "cold.h"
#include "command.h"
#include "console.h"
#include "instrumented.h"
#include "report_output.h"
#include "run_console.h"
#include "script.h"
#include "sessions.h"
#include "timestamp.h"

#define COLUMNS 100u
#define ROWS 30u

/* ---------------------------------------------------------------------------------------------- options */

/* "100x30" */
static bool read_size(const struct hp_arguments *arguments, unsigned *ret_columns, unsigned *ret_rows)
{
    const char *text = hp_arguments_flag(arguments, "size");
    char end;
    *ret_columns = COLUMNS;
    *ret_rows = ROWS;
    if (text == NULL)
        return true;
    if (sscanf(text, "%ux%u%c", ret_columns, ret_rows, &end) == 2 && *ret_columns > 0 && *ret_rows > 0 &&
        *ret_columns <= HP_SCREEN_MOST && *ret_rows <= HP_SCREEN_MOST)
        return true;
    hp_misuse(arguments->command, "--size '%s' is not a size such as 100x30", text);
    return false;
}

static bool read_interval(const struct hp_arguments *arguments, struct hp_console *console)
{
    const char *text = hp_arguments_flag(arguments, "every");
    char *end;
    if (text == NULL)
        return true;
    const double seconds = strtod(text, &end);
    if (end != text && *end == '\0' && seconds >= 0.1 && seconds <= 10) {
        console->choices.refresh_ms = (uint32_t)(seconds * 1000 + 0.5);
        return true;
    }
    hp_misuse(arguments->command, "--every '%s' is not between 0.1 and 10 seconds", text);
    return false;
}

/* Reads which part of the run is shown at first. */
static bool read_window(const struct hp_arguments *arguments, struct hp_console *console)
{
    struct hp_timestamp begin = {0}, end = {0};
    if (!hp_arguments_timestamp(arguments, "from", &begin) || !hp_arguments_timestamp(arguments, "to", &end))
        return false;
    if (!begin.is_given && !end.is_given)
        return true;
    hp_console_tick(console, hp_clock_monotonic_ns());
    const uint64_t elapsed = console->watched.elapsed_ns;
    console->window = (struct hp_window){.kind = HP_WINDOW_PAST,
                                         .length_ns = console->window.length_ns,
                                         .from_ns = begin.is_given ? hp_timestamp_in(&begin, elapsed) : 0,
                                         .to_ns = end.is_given ? hp_timestamp_in(&end, elapsed) : elapsed};
    if (console->window.from_ns >= console->window.to_ns) {
        hp_fail("the time range is empty: --from must be before --to, and within the run");
        return false;
    }
    console->is_due = true;
    return true;
}

/* ---------------------------------------------------------------------------------------------- program */

/* The process belongs to another user, whose sessions we may not read. */
static bool explain_owner(const char *name)
{
    char path[64];
    struct stat status;
    if (name[strspn(name, "0123456789")] != '\0' || strlen(name) > 10)
        return false;
    snprintf(path, sizeof path, "/proc/%s", name);
    if (stat(path, &status) != 0 || status.st_uid == getuid())
        return false;
    const struct passwd *owner = getpwuid(status.st_uid);
    if (owner != NULL)
        hp_fail("cannot read process %s: it belongs to %s; use 'sudo -u %s hotpath console %s'", name,
                owner->pw_name, owner->pw_name, name);
    else
        hp_fail("cannot read process %s: it belongs to user %u", name, (unsigned)status.st_uid);
    return true;
}

static int choose(struct hp_console *console, const struct hp_settings *settings, const char *name)
{
    struct hp_stored_session session;
    if (name == NULL)
        return EXIT_DONE;
    if (!hp_session_find(&session, settings, name))
        return explain_owner(name) ? EXIT_FAILED
                                   : hp_fail("no session, process or program '%s'; see 'hotpath ls -a'", name);
    if (hp_console_choose(console, session.path))
        return EXIT_DONE;
    return hp_fail("%s", console->message);
}

/* ------------------------------------------------------------------------------------------------- work */

static int print_once(struct hp_console *console, struct hp_screen *screen)
{
    hp_console_tick(console, hp_clock_monotonic_ns());
    return hp_console_print(console, screen, stdout) ? EXIT_DONE
                                                     : hp_fail("cannot write the screen: %s", strerror(errno));
}

static int play(struct hp_console *console, struct hp_screen *screen, const char *path)
{
    char problem[200];
    FILE *script = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    if (script == NULL)
        return hp_fail("cannot read the script '%s': %s", path, strerror(errno));
    hp_console_tick(console, hp_clock_monotonic_ns());
    const bool is_played = hp_console_play(console, screen, script, stdout, problem, sizeof problem);
    if (script != stdin)
        fclose(script);
    return is_played ? EXIT_DONE : hp_fail("%s", problem);
}

static int show_on_terminal(struct hp_console *console, const struct hp_settings *settings)
{
    int told;
    const int status = hp_show_console(console, settings, &told);
    if (told > 0) {
        /* End as we would have ended without a handler. */
        signal(told, SIG_DFL);
        raise(told);
    }
    return status;
}

static int show(const struct hp_arguments *arguments, struct hp_console *console,
                const struct hp_settings *settings, struct hp_screen *screen)
{
    const char *script = hp_arguments_flag(arguments, "script");
    const char *tab = hp_arguments_flag(arguments, "tab");
    if (tab != NULL) {
        if (tab[0] < '1' || tab[0] > '8' || tab[1] != '\0')
            return hp_misuse(arguments->command, "--tab '%s' is not between 1 and 8", tab);
        console->tab = (enum hp_tab)(tab[0] - '1');
    }
    if (hp_arguments_flag(arguments, "totals") != NULL)
        console->window.kind = HP_WINDOW_TOTALS;
    if (!read_window(arguments, console))
        return EXIT_USAGE;
    if (hp_arguments_flag(arguments, "once") != NULL)
        return print_once(console, screen);
    return script != NULL ? play(console, screen, script) : show_on_terminal(console, settings);
}

static int run(const struct hp_arguments *arguments)
{
    static struct hp_settings settings;
    static struct hp_console console;
    struct hp_screen screen = {0};
    unsigned columns, rows;
    if (arguments->operand_count > 1)
        return hp_misuse(arguments->command, "unexpected argument '%s': only one session can be shown",
                         arguments->operands[1]);
    if (!read_size(arguments, &columns, &rows))
        return EXIT_USAGE;
    hp_arguments_settle(arguments, &settings);
    hp_cold_reader = hp_instrumented_read;
    setlocale(LC_CTYPE, "");
    screen.is_ascii = hp_arguments_flag(arguments, "ascii") != NULL || strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
    if (!hp_screen_resize(&screen, columns, rows))
        return hp_fail("not enough memory for the screen");
    const struct hp_program_source source = hp_program_source_of(&settings);
    hp_console_init(&console, &settings, &source);
    console.columns = columns;
    console.rows = rows;
    int status = read_interval(arguments, &console) ? EXIT_DONE : EXIT_USAGE;
    if (status == EXIT_DONE)
        status = choose(&console, &settings, arguments->operand_count > 0 ? arguments->operands[0] : NULL);
    if (status == EXIT_DONE)
        status = show(arguments, &console, &settings, &screen);
    hp_console_free(&console);
    hp_screen_free(&screen);
    return status;
}

static const struct hp_flag flags[] = {
    {"once", 0, NULL, "Print one screen as text and exit."},
    {"script", 0, "FILE", "Run a script of keys and commands; see SCRIPTS in hotpath-console(1)."},
    {"size", 0, "COLUMNSxROWS", "Size of printed screens (100x30)."},
    {"every", 0, "SECONDS", "Refresh interval, from 0.1 to 10 (1)."},
    {"tab", 0, "N", "The tab to show first, from 1 to 8 (1)."},
    {"totals", 0, NULL, "Show totals since the start instead of the last 10 s."},
    {"from", 0, "TIME", "Start of the time range: 2s, 1m30s, 80%, or -10s before the end."},
    {"to", 0, "TIME", "End of the time range, in the same form."},
    {"ascii", 0, NULL, "Draw with ASCII only. This is the default in locales that are not UTF-8."},
};

const struct hp_command hp_command_console = {
    .name = "console",
    .group = HP_GROUP_LOOK,
    .operands = "[SESSION|PID|PROGRAM]",
    .operand = HP_OPERAND_SESSION,
    .summary = "Shows a running program: where its time goes, now and in the last minute.",
    .details = "Without an argument it lists the programs being measured, and waits for one if\n"
               "there is none. A session is given by its name in 'hotpath ls', its process id, or\n"
               "its program name. A run with several processes is shown as one program. Finished\n"
               "and crashed sessions can also be shown. Press ? for the keys, q to quit.\n",
    .flags = flags,
    .flag_count = sizeof flags / sizeof flags[0],
    .scopes = HP_SCOPE_FOLDER,
    .run = run,
};
