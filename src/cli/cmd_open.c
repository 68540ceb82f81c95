/* hotpath open: the page of a session, in the browser. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arguments.h"
#include "browser.h"
#include "command.h"
#include "report_output.h"
#include "session_dirs.h"
#include "sessions.h"

/* It is not removed, since the browser reads it after we have ended. False, with one line on stderr: no file. */
static bool make_temporary(char *path, size_t size)
{
    FILE *file = hp_output_temporary("", path, size);
    if (file == NULL)
        hp_fail("cannot create '%s': %s; name a file with --output", path, strerror(errno));
    return file != NULL && fclose(file) == 0;
}

/* Chooses the path of the page. */
static bool choose_path(const struct hp_arguments *arguments, const struct hp_sessions *parts,
                        struct hp_settings *settings)
{
    char *path = settings->output.output_path;
    const char *output = hp_arguments_flag(arguments, "output");
    if (output == NULL)
        return make_temporary(path, sizeof settings->output.output_path);
    if (hp_session_dir_of_report(output, parts->all[0].pid, path, sizeof settings->output.output_path))
        return true;
    hp_fail("the output path is empty or too long: '%s'", output);
    return false;
}

static int open_page(const struct hp_arguments *arguments, const char *path)
{
    char whole[PATH_MAX];
    const char *shown = realpath(path, whole) != NULL ? whole : path;
    puts(shown);
    fflush(stdout);
    if (hp_arguments_flag(arguments, "no-open") == NULL && !hp_browser_open(shown))
        fputs("hotpath: no browser was found (BROWSER, xdg-open); open the file yourself\n", stderr);
    return EXIT_DONE;
}

static int show(const struct hp_arguments *arguments, const struct hp_show_page *page)
{
    static struct hp_settings settings;
    struct hp_sessions parts = {0};
    int status = EXIT_FAILED;
    hp_arguments_settle(arguments, &settings);
    settings.output.format = HP_FORMAT_HTML;
    if (hp_session_choose(&parts, &settings, arguments->operand_count > 0 ? arguments->operands[0] : NULL) &&
        choose_path(arguments, &parts, &settings)) {
        status = hp_show_page(&parts, &settings, stdout, page);
        if (status == EXIT_DONE)
            status = open_page(arguments, settings.output.output_path);
        else if (hp_arguments_flag(arguments, "output") == NULL)
            unlink(settings.output.output_path);
    }
    hp_sessions_free(&parts);
    return status;
}

static int run(const struct hp_arguments *arguments)
{
    const char *view = hp_arguments_flag(arguments, "view");
    const bool is_flame = view != NULL && strcmp(view, "flame") == 0;
    if (arguments->operand_count > 1)
        return hp_misuse(arguments->command,
                         "unexpected argument '%s': only one session can be shown; --against compares two",
                         arguments->operands[1]);
    if (view != NULL && !is_flame && strcmp(view, "report") != 0)
        return hp_misuse(arguments->command, "--view '%s' is not report or flame", view);
    return show(arguments, &(struct hp_show_page){.is_flame = is_flame,
                                                  .is_by_zone = hp_arguments_flag(arguments, "by-zone") != NULL,
                                                  .against = hp_arguments_flag(arguments, "against"),
                                                  .has_sources = hp_arguments_flag(arguments, "source") != NULL});
}

static const struct hp_flag flags[] = {
    {"view", 0, "report|flame", "What the page begins with: the report (default), or the flame graph."},
    {"output", 'o', "PATH", "Output file; %p is the process id. Default: a new file in $TMPDIR or /tmp."},
    {"source", 0, NULL, "Include the source code of measured functions (default: no source code)."},
    {"against", 0, "SESSION", "Compare with that session or run in the flame graph."},
    {"by-zone", 0, NULL, "Begin each stack with the measured function it was in: [zone: NAME]."},
    {"no-open", 0, NULL, "Do not open the page in a browser."},
};

const struct hp_command hp_command_open = {
    .name = "open",
    .group = HP_GROUP_LOOK,
    .operands = "[SESSION|PID|PROGRAM|FILE]",
    .operand = HP_OPERAND_SESSION,
    .summary = "Writes the HTML page of a session and opens it in the browser.",
    .details = "The page is that of 'hotpath report --format html'. The command prints its path and\n"
               "opens it with $BROWSER or xdg-open. The session is chosen as in 'hotpath report'.\n"
               "For a live page of a running program use 'hotpath serve'.\n",
    .flags = flags,
    .flag_count = sizeof flags / sizeof flags[0],
    .scopes = HP_SCOPE_FOLDER,
    .run = run,
};
