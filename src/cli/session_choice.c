/* Finds the session that the user named. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* getline */
#include "session_choice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"
#include "run_facts.h"
#include "session_dirs.h"
#include "text.h"

/* ---------------------------------------------------------------------------------------------- process session */

/*
 * Finds the session of a process in its mappings: also for a process in a container, whose folders are elsewhere.
 */

/*
 * The path of a session in a line of /proc/PID/maps, or NULL. The path of a mapped file is the last field and may
 * contain blanks.
 */
static const char *session_in(char *line)
{
    char *path = strchr(line, '/');
    if (path == NULL)
        return NULL;
    path[strcspn(path, "\n")] = '\0';
    return hp_text_has_suffix(path, HP_SESSION_SUFFIX) ? path : NULL;
}

/*
 * Its path as it can be opened from here. False: the process has no session, is gone, or belongs to another user.
 */
static bool process_session(const char *pid, char *path, size_t size)
{
    char maps[64], *line = NULL;
    size_t room = 0;
    bool is_found = false;
    snprintf(maps, sizeof maps, "/proc/%.20s/maps", pid);
    FILE *file = fopen(maps, "re");
    while (file != NULL && !is_found && getline(&line, &room, file) > 0) {
        const char *found = session_in(line);
        is_found = found != NULL && (size_t)snprintf(path, size, "/proc/%.20s/root%s", pid, found) < size;
    }
    free(line);
    if (file != NULL)
        fclose(file);
    return is_found;
}

/* ----------------------------------------------------------------------------------------------- session choice */

static bool is_number(const char *text) { return text[0] != '\0' && text[strspn(text, "0123456789")] == '\0'; }

/* A name as `hotpath ls` shows it, or a path. */
static bool is_called(const struct hp_stored_session *session, const char *name)
{
    const char *file = hp_session_name(session);
    const size_t length = strlen(name);
    return strncmp(file, name, length) == 0 && (file[length] == '\0' || file[length] == '.');
}

/* The newest match: sessions are sorted newest first; of one process, a live session is preferred. */
static const struct hp_stored_session *choose(const struct hp_sessions *sessions, const char *name)
{
    const struct hp_stored_session *best = NULL;
    const bool is_pid = name != NULL && is_number(name);
    for (size_t at = 0; at < sessions->count; at++) {
        const struct hp_stored_session *session = &sessions->all[at];
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

/* Adds whatever is at a path: a folder of sessions, or a file that is checked when it is read. */
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

/*
 * The session of a process that is not in our folders: the process has other folders, or another root, as in a
 * container.
 */
static bool find_elsewhere(struct hp_stored_session *ret_session, const char *pid)
{
    *ret_session = (struct hp_stored_session){.processes = 1};
    return process_session(pid, ret_session->path, sizeof ret_session->path);
}

/* Of a single session the process is asked, or its parent, as long as one of them lives. */
static bool is_of_this_terminal(const struct hp_stored_session *session)
{
    if (session->is_run)
        return hp_run_is_of_this_terminal(session->path);
    return session->is_of_this_namespace &&
           (hp_process_is_of_this_terminal(session->pid, session->process_start) ||
            hp_process_is_of_this_terminal(session->parent_pid, session->process_start));
}

/* The newest that was started in this terminal; the newest of all where none was. */
static const struct hp_stored_session *prefer_this_terminal(const struct hp_sessions *sessions,
                                                            const struct hp_stored_session *newest)
{
    for (size_t at = 0; at < sessions->count; at++) {
        const struct hp_stored_session *session = &sessions->all[at];
        if (session->processes > 0 && is_of_this_terminal(session))
            return session;
    }
    return newest;
}

static bool find_newest(struct hp_stored_session *ret_session, const struct hp_settings *settings, const char *name)
{
    struct hp_sessions found = {0};
    const bool has_found = hp_sessions_find(&found, &settings->record, name != NULL);
    const struct hp_stored_session *chosen = has_found ? choose(&found, name) : NULL;
    if (name == NULL && chosen != NULL)
        chosen = prefer_this_terminal(&found, chosen);
    if (chosen != NULL)
        *ret_session = *chosen;
    hp_sessions_free(&found);
    return chosen != NULL || (name != NULL && is_number(name) && find_elsewhere(ret_session, name));
}

static bool add_newest(struct hp_sessions *parts, const struct hp_settings *settings, const char *name)
{
    struct hp_stored_session session;
    return find_newest(&session, settings, name) && add_path(parts, session.path, session.is_run);
}

static bool is_path_of(const char *name, struct stat *ret_status)
{
    return name != NULL && (strchr(name, '/') != NULL || !is_number(name)) && stat(name, ret_status) == 0;
}

bool hp_session_find(struct hp_stored_session *ret_session, const struct hp_settings *settings, const char *name)
{
    struct stat status;
    if (!is_path_of(name, &status))
        return find_newest(ret_session, settings, name);
    *ret_session = (struct hp_stored_session){.is_run = S_ISDIR(status.st_mode), .processes = 1};
    if (strlen(name) >= sizeof ret_session->path)
        return false;
    memcpy(ret_session->path, name, strlen(name) + 1);
    return true;
}

bool hp_session_choose(struct hp_sessions *parts, const struct hp_settings *settings, const char *name)
{
    struct stat status;
    const bool is_path = is_path_of(name, &status);
    if (is_path ? add_path(parts, name, S_ISDIR(status.st_mode)) : add_newest(parts, settings, name)) {
        if (parts->count > 0)
            return true;
        hp_fail("no session in '%s'", name != NULL ? name : "the newest run");
    } else if (name == NULL) {
        hp_fail("no session yet: run a program with 'hotpath run', or one built with -DHOTPATH");
    } else if (is_number(name)) {
        hp_fail("no session of process %s; see 'hotpath ls -a'", name);
    } else if (!is_path) {
        hp_fail("no session, process or file '%s'; see 'hotpath ls'", name);
    }
    return false;
}
