/*
 * The sessions there are: single ones, and runs, which are folders with the sessions of all processes of one `hotpath
 * run`. Only folders that are ours and that nobody else can write to are looked into, and links are not followed:
 * what lies elsewhere could pretend to be ours. SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_SESSIONS_H
#define HP_CLI_SESSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"

enum hp_session_state {
    HP_SESSION_LIVE,
    HP_SESSION_ELSEWHERE, /* of another pid namespace: whether it lives cannot be told from here */
    HP_SESSION_FINISHED,
    HP_SESSION_CRASHED
};

struct hp_session {
    char path[2048];
    char command[256];
    uint64_t began_ns;   /* CLOCK_REALTIME */
    uint64_t disk_bytes; /* of a run: of all its sessions */
    uint32_t pid;        /* of a run: of the process that began first */
    uint32_t processes;  /* of a run: its sessions; 1 for a single session */
    enum hp_session_state state;
    bool is_run;
    bool is_paused; /* `hotpath off` */
};

struct hp_sessions {
    struct hp_session *all;
    size_t count, capacity;
};

/* The last part of its path, by which `hotpath ls` shows it and `hotpath report` finds it. */
const char *hp_session_name(const struct hp_session *session);

/* The word for a state: live, elsewhere, finished, crashed. */
const char *hp_session_state_name(enum hp_session_state state);

/*
 * Adds what is in the folders where sessions are, the newest first; those within runs too when `with_parts`. A folder that
 * must not be trusted costs one line on stderr. False: something is missing, for want of memory or descriptors.
 */
bool hp_sessions_find(struct hp_sessions *sessions, const struct hp_record_settings *settings, bool with_parts);

/*
 * Adds what is left of sessions that nobody can read (cut off, of another version, never finished): files of ours in these folders
 * with the name of a session whose process has ended, unchanged for an hour. False as above.
 */
bool hp_sessions_find_leftovers(struct hp_sessions *sessions, const struct hp_record_settings *settings);

/* Adds the sessions of one folder, the oldest first. False, with one line on stderr: it cannot be looked into. */
bool hp_sessions_in(struct hp_sessions *sessions, const char *folder);

void hp_sessions_free(struct hp_sessions *sessions);

/* Removes all but the newest `keep` runs beside the run in `folder`, which is not one of them; live ones stay. */
void hp_runs_forget(const char *folder, uint32_t keep);

/* Removes a run with all its sessions. False: errno says why; what is no session stays, and then so does the folder. */
bool hp_run_remove(const char *folder);

/* Removes a session, or a run with all its sessions. False, with one line on stderr: it is still there. */
bool hp_session_remove(const struct hp_session *session);

#endif
