/* hotpath report: a session, or all sessions of a run, as a report. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "arguments.h"
#include "command.h"
#include "sessions.h"
#include "show.h"

/* ------------------------------------------------------------------------------------------ which session */

static bool is_number(const char *text) { return text[0] != '\0' && text[strspn(text, "0123456789")] == '\0'; }

/* A name as `hotpath ls` shows it, or a path. */
static bool is_called(const struct hp_session *session, const char *name)
{
    const char *file = hp_session_name(session);
    const size_t length = strlen(name);
    return strncmp(file, name, length) == 0 && (file[length] == '\0' || file[length] == '.');
}

/* The newest that fits: sessions come newest first, and of a process one that lives is preferred. */
static const struct hp_session *choose(const struct hp_sessions *sessions, const char *name)
{
    const struct hp_session *best = NULL;
    const bool is_pid = name != NULL && is_number(name);
    for (size_t at = 0; at < sessions->count; at++) {
        const struct hp_session *session = &sessions->all[at];
        if (name == NULL && session->processes == 0)
            continue; /* a run in which nothing is measured */
        if (is_pid ? session->is_run || strtoul(name, NULL, 10) != session->pid
                   : name != NULL && !is_called(session, name))
            continue;
        if (best == NULL || (session->state == HP_SESSION_LIVE && best->state != HP_SESSION_LIVE && name != NULL))
            best = session;
    }
    return best;
}

/* Whatever lies at a path: a folder of sessions, or one, of which it will be seen when it is read. */
static bool add_path(struct hp_sessions *parts, const char *path, bool is_folder)
{
    if (is_folder)
        return hp_sessions_in(parts, path);
    parts->all = calloc(1, sizeof *parts->all);
    if (parts->all == NULL || strlen(path) >= sizeof parts->all->path)
        return false;
    memcpy(parts->all->path, path, strlen(path) + 1);
    parts->count = parts->capacity = 1;
    return true;
}

static bool add_newest(struct hp_sessions *parts, const struct hp_settings *settings, const char *name)
{
    struct hp_sessions found = {0};
    const bool has_found = hp_sessions_find(&found, &settings->record, name != NULL);
    const struct hp_session *chosen = has_found ? choose(&found, name) : NULL;
    const bool is_there = chosen != NULL && add_path(parts, chosen->path, chosen->is_run);
    hp_sessions_free(&found);
    return is_there;
}

/* False, with one line on stderr: there is nothing of that name. */
static bool find(struct hp_sessions *parts, const struct hp_settings *settings, const char *name)
{
    struct stat status;
    const bool is_path =
        name != NULL && (strchr(name, '/') != NULL || !is_number(name)) && stat(name, &status) == 0;
    if (is_path ? add_path(parts, name, S_ISDIR(status.st_mode)) : add_newest(parts, settings, name)) {
        if (parts->count > 0)
            return true;
        hp_fail("there is no session in '%s'", name != NULL ? name : "the newest run");
    } else if (name == NULL) {
        hp_fail("there is no session yet: run a program built with -DHOTPATH, best with 'hotpath run'");
    } else if (is_number(name)) {
        hp_fail("there is no session of a process %s; see 'hotpath ls -a'", name);
    } else if (!is_path) {
        hp_fail("there is no session, process or file '%s'; see 'hotpath ls'", name);
    }
    return false;
}

/* ------------------------------------------------------------------------------------------------ settings */

/*
 * The environment says how a report looks, here as in the program. Not where it goes: that is for the program, whose
 * output file would be overwritten, and a format of none would make this command pointless.
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

/* False: it is given, and no moment; then one line says so. */
static bool read_moment(const struct hp_arguments *arguments, const char *flag, struct hp_moment *ret_moment)
{
    const char *text = hp_arguments_flag(arguments, flag);
    if (text == NULL || hp_moment_read(text, ret_moment))
        return true;
    hp_misuse(arguments->command, "--%s '%s' is no moment of a run, as 2s, 1m30s, 80%% or -10s are", flag, text);
    return false;
}

static int show(const struct hp_sessions *parts, struct hp_settings *settings,
                const struct hp_show_stretch *stretch)
{
    if (!stretch->from.is_given && !stretch->to.is_given)
        return hp_show(parts, settings, stdout, true);
    if (settings->show.by == HP_BY_THREAD) {
        hp_fail("there is no history of functions by thread: rows are those of all threads");
        settings->show.by = HP_BY_FUNCTION;
    }
    return hp_show_stretch(parts, settings, stdout, stretch);
}

static int run(const struct hp_arguments *arguments)
{
    static struct hp_settings settings;
    struct hp_sessions parts = {0};
    struct hp_show_stretch stretch = {0};
    if (arguments->operand_count > 1)
        return hp_misuse(arguments->command, "one session at a time, not also '%s'", arguments->operands[1]);
    if (!read_moment(arguments, "from", &stretch.from) || !read_moment(arguments, "to", &stretch.to))
        return EXIT_USAGE;
    settle(arguments, &settings);
    const bool is_found = find(&parts, &settings, arguments->operand_count > 0 ? arguments->operands[0] : NULL);
    const int status = is_found ? show(&parts, &settings, &stretch) : EXIT_FAILED;
    hp_sessions_free(&parts);
    return status;
}

static const struct hp_flag flags[] = {
    {"tree", 't', NULL, "Show the call tree too."},
    {"cold", 0, NULL, "Show the functions that the compiler measures and nobody called, too."},
    {"from", 0, "TIME", "Report what came after that: 2s, 1m30s, 80%, or -10s before the end."},
    {"to", 0, "TIME", "Report what came before that, likewise."},
};

const struct hp_command hp_command_report = {
    .name = "report",
    .operands = "[SESSION|PID|FILE]",
    .operand = HP_OPERAND_SESSION,
    .summary = "Prints the report of a session, running, finished or killed.",
    .details = "Without an operand it is the newest session, or the newest run with all its\n"
               "processes. A session is named as 'hotpath ls' shows it, by the process id, or by\n"
               "the path of its file; the path of a folder stands for all sessions in it.\n"
               "What is shown is chosen by options here or by the same variables as in the\n"
               "program.\n"
               "With --from or --to it is about a stretch of the run, as far as its history goes.\n",
    .flags = flags,
    .flag_count = sizeof flags / sizeof flags[0],
    .scopes = HP_SCOPE_SHOW | HP_SCOPE_OUTPUT | HP_SCOPE_FOLDER,
    .run = run,
};
