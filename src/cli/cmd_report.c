/* hotpath report: a session, or all sessions of a run, as a report. SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "arguments.h"
#include "command.h"
#include "report_output.h"
#include "sessions.h"

/* ------------------------------------------------------------------------------------------------ settings */

/*
 * The environment says how a report looks, here as in the program. It does not say where the report goes: that is
 * meant for the program, whose output file would be overwritten; and a format of "none" would make this command
 * pointless.
 */
static void settle(const struct hp_arguments *arguments, struct hp_settings *settings)
{
    hp_arguments_settle(arguments, settings);
    if (hp_arguments_option(arguments, "HOTPATH_OUTPUT_PATH") == NULL)
        settings->output.output_path[0] = '\0';
    if (hp_arguments_option(arguments, "HOTPATH_OUTPUT_FORMAT") == NULL &&
        settings->output.format == HP_FORMAT_NONE)
        settings->output.format = HP_FORMAT_TABLE;
}

/* ---------------------------------------------------------------------------------------------------- work */

static int show(const struct hp_sessions *parts, struct hp_settings *settings, const struct hp_time_limits *range,
                const struct hp_show_page *page)
{
    if (page->against != NULL || page->has_sources)
        return hp_show_page(parts, settings, stdout, page);
    if (!hp_has_time_limits(range))
        return hp_show(parts, settings, stdout, true);
    if (settings->show.by == HP_BY_THREAD) {
        hp_fail("--by thread has no effect in a time range, because history is not kept per thread");
        settings->show.by = HP_BY_FUNCTION;
    }
    return hp_show_range(parts, settings, stdout, range);
}

static int run(const struct hp_arguments *arguments)
{
    static struct hp_settings settings;
    struct hp_sessions parts = {0};
    struct hp_time_limits range = {0};
    const struct hp_show_page page = {.against = hp_arguments_flag(arguments, "against"),
                                      .has_sources = hp_arguments_flag(arguments, "source") != NULL};
    if (arguments->operand_count > 1)
        return hp_misuse(arguments->command, "unexpected argument '%s': only one session can be shown",
                         arguments->operands[1]);
    if (!hp_arguments_timestamp(arguments, "from", &range.from) ||
        !hp_arguments_timestamp(arguments, "to", &range.to))
        return EXIT_USAGE;
    settle(arguments, &settings);
    const bool is_of_page = page.against != NULL || page.has_sources;
    if (is_of_page && settings.output.format != HP_FORMAT_HTML)
        return hp_misuse(arguments->command, "--against and --source require --format html");
    if (is_of_page && (hp_has_time_limits(&range)))
        return hp_misuse(arguments->command, "--against and --source cannot be combined with --from and --to");
    const bool is_found =
        hp_session_choose(&parts, &settings, arguments->operand_count > 0 ? arguments->operands[0] : NULL);
    const int status = is_found ? show(&parts, &settings, &range, &page) : EXIT_FAILED;
    hp_sessions_free(&parts);
    return status;
}

static const struct hp_flag flags[] = {
    {"verbose", 'v', NULL, "Show all sections that have data, with all notes, instead of the short report."},
    {"tree", 't', NULL, "Also show the call tree."},
    {"cold", 0, NULL, "Also show compiler-instrumented functions that were never called."},
    {"from", 0, "TIME", "Start of the time range: 2s, 1m30s, 80%, or -10s before the end."},
    {"to", 0, "TIME", "End of the time range, in the same form."},
    {"source", 0, NULL, "With --format html: include the source code of measured functions."},
    {"against", 0, "SESSION", "With --format html: compare with that session or run in the flame graph."},
};

const struct hp_command hp_command_report = {
    .name = "report",
    .group = HP_GROUP_LOOK,
    .operands = "[SESSION|PID|PROGRAM|FILE]",
    .operand = HP_OPERAND_SESSION,
    .summary = "Prints the report of a running, finished or killed session.",
    .details = "Without an argument it shows the newest session or run started in this terminal,\n"
               "or else the newest one of this user; the first line says which. The report of a\n"
               "run includes all its processes. SESSION is a name that 'hotpath ls' shows; PROGRAM is\n"
               "the name of a program, for its latest run; FILE is the path of a session file, or of\n"
               "a directory, for all sessions in it. With --from or --to the report covers only that\n"
               "time range, if the run has a history.\n",
    .flags = flags,
    .flag_count = sizeof flags / sizeof flags[0],
    .scopes = HP_SCOPE_SHOW | HP_SCOPE_OUTPUT | HP_SCOPE_FOLDER,
    .ignored_variable = "HOTPATH_OUTPUT_PATH",
    .run = run,
};
