/* hotpath ls and hotpath clean: list sessions, remove sessions. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "arguments.h"
#include "command.h"
#include "json.h"
#include "process.h"
#include "session_words.h"
#include "sessions.h"
#include "text.h"
#include "timestamp.h"
#include "units.h"
#include "utf8.h"

/* ------------------------------------------------------------------------------------------------ a table */

static void put_size(char text[16], uint64_t bytes)
{
    struct hp_text size;
    hp_text_init(&size, text, 16);
    hp_units_bytes(&size, bytes);
    hp_text_end(&size);
}

static void print_line(const char *line, size_t columns)
{
    char buffer[1024];
    struct hp_text text;
    hp_text_init(&text, buffer, sizeof buffer);
    hp_utf8_put_fitted(&text, line, strlen(line), columns > 0 ? columns : sizeof buffer);
    puts(hp_text_end(&text));
}

enum { NAME, STATE, STARTED, DISK, PROCESSES, COMMAND, FIELDS };

/* What a line has, in columns of their own; the command is the last and may be long. */
struct line {
    char name[64], state[32], started[24], disk[16], processes[HP_SESSION_PROCESSES_BYTES];
    const char *command;
};

static const char *field_of(const struct line *line, int field)
{
    const char *const fields[FIELDS] = {line->name, line->state,     line->started,
                                        line->disk, line->processes, line->command};
    return fields[field];
}

static void describe(struct line *line, const struct hp_stored_session *session)
{
    hp_session_put_name(line->name, session);
    hp_session_put_state(line->state, session);
    hp_put_age(line->started, sizeof line->started, session->began_ns);
    put_size(line->disk, session->disk_bytes);
    hp_session_put_processes(line->processes, session);
    line->command = session->command;
}

static void widen(int widths[FIELDS], const struct line *line)
{
    for (int field = 0; field < COMMAND; field++)
        if ((int)strlen(field_of(line, field)) > widths[field])
            widths[field] = (int)strlen(field_of(line, field));
}

/* Sizes stand at the right, everything else at the left. */
static void print_fields(const int widths[FIELDS], const struct line *line, size_t columns)
{
    char text[700];
    int used = 0;
    for (int field = 0; field < COMMAND; field++) {
        const char *bytes = field_of(line, field);
        used += snprintf(text + used, sizeof text - (size_t)used, field == DISK ? "%*s  " : "%-*s  ", widths[field],
                         bytes);
    }
    snprintf(text + used, sizeof text - (size_t)used, "%s", line->command);
    print_line(text, columns);
}

static void print_table(const struct hp_sessions *sessions)
{
    static const struct line heading = {"NAME", "STATE", "STARTED", "DISK", "PROCESSES", "COMMAND"};
    struct line line;
    int widths[FIELDS] = {0};
    const size_t columns = hp_terminal_of(1).columns;
    widen(widths, &heading);
    for (size_t at = 0; at < sessions->count; at++) {
        describe(&line, &sessions->all[at]);
        widen(widths, &line);
    }
    print_fields(widths, &heading, columns);
    for (size_t at = 0; at < sessions->count; at++) {
        describe(&line, &sessions->all[at]);
        print_fields(widths, &line, columns);
    }
}

/* --------------------------------------------------------------------------------------------------- JSON */

static void put_json_session(struct hp_json *json, const struct hp_stored_session *session)
{
    hp_json_begin_object(json);
    hp_json_put_string(json, "path", session->path);
    hp_json_put_string(json, "kind", session->is_run ? "run" : "session");
    hp_json_put_string(json, "state", hp_session_state_name(session->state));
    hp_json_key(json, "recording");
    hp_json_bool(json, session->state == HP_SESSION_LIVE && !session->is_paused);
    hp_json_put_u64(json, "pid", session->pid);
    hp_json_put_u64(json, "processes", session->processes);
    hp_json_put_u64(json, "began_unix_ns", session->began_ns);
    hp_json_put_u64(json, "size_bytes", session->disk_bytes);
    hp_json_put_string(json, "command", session->command);
    hp_json_put_string(json, "program", session->program);
    hp_json_end_object(json);
}

static void print_json(const struct hp_sessions *sessions)
{
    char buffer[4096];
    struct hp_text text;
    struct hp_json json;
    hp_text_init_stream(&text, buffer, sizeof buffer, hp_write_to_stream, stdout);
    hp_json_init(&json, &text, true);
    hp_json_begin_array(&json);
    for (size_t at = 0; at < sessions->count; at++)
        put_json_session(&json, &sessions->all[at]);
    hp_json_end_array(&json);
    hp_text_char(&text, '\n');
    hp_text_finish(&text);
}

/* ----------------------------------------------------------------------------------------------------- ls */

static int list(const struct hp_arguments *arguments)
{
    static struct hp_settings settings;
    struct hp_sessions sessions = {0};
    hp_arguments_settle(arguments, &settings);
    const bool is_complete =
        hp_sessions_find(&sessions, &settings.record, hp_arguments_flag(arguments, "all") != NULL);
    if (hp_arguments_flag(arguments, "json") != NULL)
        print_json(&sessions);
    else if (sessions.count == 0)
        fputs("no sessions\n", stderr);
    else
        print_table(&sessions);
    hp_sessions_free(&sessions);
    return is_complete ? EXIT_DONE : EXIT_FAILED;
}

static const struct hp_flag list_flags[] = {
    {"all", 'a', NULL, "Also list the sessions within runs."},
    {"json", 0, NULL, "Print JSON, with paths and exact numbers."},
};

const struct hp_command hp_command_ls = {
    .name = "ls",
    .group = HP_GROUP_CONTROL,
    .operands = "",
    .summary = "Lists sessions: name, state, start, size on disk, processes, command.",
    .details = "The newest comes first; 'hotpath report NAME' shows one. A run with all its processes\n"
               "is one line. The states are:\n"
               "  running\n"
               "  paused                   running, but 'hotpath off' has paused recording\n"
               "  finished\n"
               "  exit N, killed: SIGNAL   how the program of a run ended\n"
               "  unfinished               the process was killed, or ended by _exit or exec, or\n"
               "                           'hotpath record' was killed\n"
               "  elsewhere                in another pid namespace, such as a container: it is not\n"
               "                           known whether the process is running\n",
    .flags = list_flags,
    .flag_count = sizeof list_flags / sizeof list_flags[0],
    .scopes = HP_SCOPE_FOLDER,
    .run = list,
};

/* -------------------------------------------------------------------------------------------------- clean */

struct cleaning {
    size_t kept, removed, live, elsewhere, failed;
    uint64_t bytes;
};

/* Printed as in the table: a name may contain control characters. */
static void print_path(const char *path)
{
    char safe[2 * sizeof((struct hp_stored_session *)NULL)->path];
    hp_copy_printable(safe, sizeof safe, path);
    puts(safe);
}

static void consider(struct cleaning *cleaning, const struct hp_stored_session *session, size_t keep, bool is_dry,
                     bool is_bold)
{
    if (session->state == HP_SESSION_ELSEWHERE && !is_bold) {
        cleaning->elsewhere++;
        return;
    }
    if (session->state == HP_SESSION_LIVE) {
        cleaning->live++;
        return;
    }
    if (cleaning->kept < keep) {
        cleaning->kept++;
        return;
    }
    if (is_dry)
        print_path(session->path);
    else if (!hp_session_remove(session)) {
        cleaning->failed++;
        return;
    }
    cleaning->removed++;
    cleaning->bytes += session->disk_bytes;
}

static void print_cleaning(const struct cleaning *cleaning, bool is_dry)
{
    char size[16];
    put_size(size, cleaning->bytes);
    printf("%s %zu session%s, %s", is_dry ? "would remove" : "removed", cleaning->removed,
           cleaning->removed == 1 ? "" : "s", size);
    if (cleaning->live > 0)
        printf("; %zu live skipped", cleaning->live);
    if (cleaning->elsewhere > 0)
        printf("; %zu of other pid namespaces skipped, which may be live (--elsewhere removes them)",
               cleaning->elsewhere);
    putchar('\n');
}

static int clean(const struct hp_arguments *arguments)
{
    static struct hp_settings settings;
    struct hp_sessions sessions = {0};
    struct cleaning cleaning = {0};
    const bool is_dry = hp_arguments_flag(arguments, "dry-run") != NULL;
    const bool is_bold = hp_arguments_flag(arguments, "elsewhere") != NULL;
    hp_arguments_settle(arguments, &settings);
    const char *kept = hp_arguments_flag(arguments, "keep");
    uint64_t keep = 0;
    if (kept != NULL && !hp_number_unsigned(kept, strlen(kept), UINT32_MAX, &keep))
        return hp_misuse(arguments->command, "--keep '%s' is not a number", kept);
    if (!hp_sessions_find(&sessions, &settings.record, false))
        cleaning.failed++;
    for (size_t at = 0; at < sessions.count; at++)
        consider(&cleaning, &sessions.all[at], (size_t)keep, is_dry, is_bold);
    hp_sessions_free(&sessions);
    if (!hp_sessions_find_leftovers(&sessions, &settings.record))
        cleaning.failed++;
    for (size_t at = 0; at < sessions.count; at++)
        consider(&cleaning, &sessions.all[at], 0, is_dry, is_bold);
    hp_sessions_free(&sessions);
    print_cleaning(&cleaning, is_dry);
    return cleaning.failed > 0 ? EXIT_FAILED : EXIT_DONE;
}

static const struct hp_flag clean_flags[] = {
    {"keep", 0, "N", "Keep the newest N sessions."},
    {"dry-run", 'n', NULL, "Only print what would be removed."},
    {"elsewhere", 0, NULL, "Also remove sessions of other pid namespaces (containers), which may be live."},
};

const struct hp_command hp_command_clean = {
    .name = "clean",
    .group = HP_GROUP_CONTROL,
    .operands = "",
    .summary = "Removes the sessions of processes that have ended.",
    .details = "Live sessions are kept. Only this user's directories are searched. Unreadable\n"
               "session files are removed if they have not changed for an hour and their process\n"
               "has ended.\n",
    .flags = clean_flags,
    .flag_count = sizeof clean_flags / sizeof clean_flags[0],
    .scopes = HP_SCOPE_FOLDER,
    .run = clean,
};
