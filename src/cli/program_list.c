/* Lists the sessions by program. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* mkostemps */
#include "program_list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "options.h"
#include "report_output.h"
#include "run_facts.h"
#include "session_dirs.h"
#include "sessions.h"
#include "text.h"

/* ------------------------------------------------------------------------------------------------- console page */

/*
 * Writes the report that the console shows as one HTML file.
 *
 * Writes the console's report as a page.
 */

static bool find_sessions(struct hp_sessions *sessions, const char *path)
{
    struct stat status;
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        return hp_sessions_in(sessions, path) && sessions->count > 0;
    sessions->all = calloc(1, sizeof *sessions->all);
    if (sessions->all == NULL)
        return false;
    sessions->count = sessions->capacity = 1;
    snprintf(sessions->all->path, sizeof sessions->all->path, "%s", path);
    return true;
}

static FILE *make_file(const char *program, char *name, size_t size)
{
    static const char end[] = ".html";
    const char *folder = getenv("TMPDIR");
    const int length = snprintf(name, size, "%s/hotpath-%.60s-XXXXXX%s",
                                folder != NULL && folder[0] == '/' ? folder : "/tmp", program, end);
    const int fd = length < (int)size ? mkostemps(name, (int)sizeof end - 1, O_CLOEXEC) : -1;
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (fd >= 0 && file == NULL)
        close(fd);
    return file;
}

/*
 * Writes the page of a session, or of a run, into a new file in the temporary folder. `text` receives the path of
 * the file; on failure (false), the reason.
 */
static bool console_page(const struct hp_settings *settings, const char *path, const char *program, char *text,
                         size_t size)
{
    static struct hp_settings page;
    struct hp_sessions sessions = {0};
    hp_settings_copy(&page, settings);
    page.output.format = HP_FORMAT_HTML;
    page.output.output_path[0] = '\0';
    FILE *file = make_file(program, text, size);
    if (file == NULL) {
        snprintf(text, size, "Cannot create a file for the page: %s", strerror(errno));
        return false;
    }
    bool is_written = find_sessions(&sessions, path) && hp_show(&sessions, &page, file, false) == EXIT_DONE;
    is_written = fclose(file) == 0 && is_written;
    hp_sessions_free(&sessions);
    if (!is_written) {
        unlink(text);
        snprintf(text, size, "Cannot write the page; 'hotpath report --format html' shows why");
    }
    return is_written;
}

/* ------------------------------------------------------------------------------------------------- program list */

static enum hp_program_state state_of(const struct hp_stored_session *session)
{
    if (session->is_paused)
        return HP_PROGRAM_OFF;
    switch (session->state) {
    case HP_SESSION_LIVE:
        return HP_PROGRAM_LIVE;
    case HP_SESSION_FINISHED:
        return HP_PROGRAM_FINISHED;
    case HP_SESSION_CRASHED:
        return HP_PROGRAM_CRASHED;
    case HP_SESSION_ELSEWHERE:
        break;
    }
    return HP_PROGRAM_ELSEWHERE;
}

static void add(struct hp_programs *programs, const struct hp_stored_session *session)
{
    struct hp_program *program = hp_programs_add(programs);
    if (program == NULL)
        return;
    memcpy(program->path, session->path, sizeof program->path);
    hp_copy_printable(program->command, sizeof program->command, session->command);
    program->began_unix_ns = session->began_ns;
    program->disk_bytes = session->disk_bytes;
    program->pid = session->pid;
    program->processes = session->processes;
    program->is_run = session->is_run;
    program->state = state_of(session);
}

static void add_all(struct hp_programs *programs, const struct hp_sessions *sessions)
{
    for (size_t at = 0; at < sessions->count; at++)
        if (sessions->all[at].processes > 0)
            add(programs, &sessions->all[at]);
}

static bool list(void *context, struct hp_programs *ret_programs)
{
    const struct hp_settings *settings = context;
    struct hp_sessions sessions = {0};
    const bool is_complete = hp_sessions_find(&sessions, &settings->record, false);
    add_all(ret_programs, &sessions);
    hp_sessions_free(&sessions);
    return is_complete;
}

static bool parts(void *context, const char *path, struct hp_programs *ret_parts)
{
    struct hp_sessions sessions = {0};
    struct stat status;
    (void)context;
    if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode)) {
        struct hp_program *program = hp_programs_add(ret_parts);
        if (program != NULL)
            snprintf(program->path, sizeof program->path, "%s", path);
        return program != NULL;
    }
    const bool is_read = hp_sessions_in(&sessions, path);
    add_all(ret_parts, &sessions);
    hp_sessions_free(&sessions);
    return is_read;
}

static bool ending(void *context, const char *path, char *text, size_t size)
{
    (void)context;
    return hp_text_has_suffix(path, HP_RUN_SUFFIX) && hp_run_ending_read(path, text, size);
}

static bool write_page(void *context, const char *path, const char *program, char *text, size_t size)
{
    return console_page(context, path, program, text, size);
}

struct hp_program_source hp_program_source_of(const struct hp_settings *settings)
{
    return (struct hp_program_source){.list = list,
                                      .parts = parts,
                                      .ending = ending,
                                      .write_page = write_page,
                                      .context = (void *)(uintptr_t)settings};
}

/* Whether the program of a command has this name. */
static bool is_called(const char *command, const char *name)
{
    char program[256];
    snprintf(program, sizeof program, "%.*s", (int)strcspn(command, " "), command);
    return strcmp(hp_text_base_name(program), name) == 0;
}

bool hp_program_find(struct hp_stored_session *ret_session, const struct hp_settings *settings, const char *name)
{
    struct hp_sessions sessions = {0};
    const struct hp_stored_session *best = NULL;
    hp_sessions_find(&sessions, &settings->record, false);
    for (size_t at = 0; at < sessions.count; at++) {
        const struct hp_stored_session *session = &sessions.all[at];
        if (session->processes == 0 || !is_called(session->command, name))
            continue;
        if (best == NULL || (session->state == HP_SESSION_LIVE && best->state != HP_SESSION_LIVE))
            best = session;
    }
    if (best != NULL)
        *ret_session = *best;
    hp_sessions_free(&sessions);
    return best != NULL;
}
