/*
 * The stored sessions: single ones, and runs, which are folders with the sessions of all processes of one `hotpath
 * run`. Only folders that we own and that other users cannot write to are read, and links are not followed: files
 * elsewhere could be forged. SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_SESSIONS_H
#define HP_CLI_SESSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"

enum hp_session_state {
    HP_SESSION_LIVE,
    HP_SESSION_ELSEWHERE, /* in another pid namespace: whether it lives cannot be told from here */
    HP_SESSION_FINISHED,
    HP_SESSION_CRASHED
};

struct hp_stored_session {
    char path[2048];
    char command[256];
    uint64_t began_ns;   /* CLOCK_REALTIME */
    uint64_t disk_bytes; /* of a run: of all its sessions */
    uint32_t pid;        /* of a run: of the process that began first */
    uint32_t processes;  /* of a run; 1 for a single session */
    uint32_t parent_pid; /* of a single session */
    uint64_t process_start;
    uint32_t counted; /* of one that was written from outside: processes that count in it */
    bool is_outside;
    enum hp_session_state state;
    bool is_of_this_namespace; /* pids of it mean something here */
    bool is_run;
    bool is_paused; /* switched off by `hotpath off` */
};

struct hp_sessions {
    struct hp_stored_session *all;
    size_t count, capacity;
};

/* Processes that live. One that has executed other programs has a session for each. */
size_t hp_sessions_alive(const struct hp_sessions *sessions);

/* The last part of its path: the name in `hotpath ls` and for `hotpath report`. */
const char *hp_session_name(const struct hp_stored_session *session);

/* The word for a state: live, elsewhere, finished, crashed. */
const char *hp_session_state_name(enum hp_session_state state);

/*
 * Adds the sessions in the session folders, newest first; those inside runs too if `with_parts`. An unsafe folder
 * costs one line on stderr. False: the list is incomplete, for want of memory or descriptors.
 */
bool hp_sessions_find(struct hp_sessions *sessions, const struct hp_record_settings *settings, bool with_parts);

/*
 * Adds leftovers that cannot be read (truncated, of another version, never finished): our own files in these
 * folders that have the name of a session, whose process has ended and that have not changed for an hour. False as
 * above.
 */
bool hp_sessions_find_leftovers(struct hp_sessions *sessions, const struct hp_record_settings *settings);

/* Adds the sessions of one folder, oldest first. False, with one line on stderr: it cannot be read. */
bool hp_sessions_in(struct hp_sessions *sessions, const char *folder);

void hp_sessions_free(struct hp_sessions *sessions);

/* Removes all but the newest `keep` runs next to the run in `folder`, which does not count; live runs stay. */
void hp_runs_forget(const char *folder, uint32_t keep);

/*
 * Removes a run with all its sessions. False: see errno. Files that are not sessions stay, and then so does the
 * folder.
 */
bool hp_run_remove(const char *folder);

/* Removes a session, or a run with all its sessions. False, with one line on stderr: it still exists. */
bool hp_session_remove(const struct hp_stored_session *session);

#endif
