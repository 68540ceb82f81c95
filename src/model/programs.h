/*
 * The stored sessions: single ones, and runs, which are folders with the sessions of all processes of one `hotpath
 * run`. Those who show them get the list from the caller: only the commands know where sessions are.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_PROGRAMS_H
#define HP_MODEL_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "growing_array.h"

enum hp_session_state {
    HP_SESSION_LIVE,
    HP_SESSION_ELSEWHERE, /* in another pid namespace: whether it lives cannot be told from here */
    HP_SESSION_FINISHED,
    HP_SESSION_CRASHED
};

/* The word for a state. */
static inline const char *hp_session_state_name(enum hp_session_state state)
{
    static const char *const names[] = {"live", "elsewhere", "finished", "crashed"};
    return names[state];
}

struct hp_stored_session {
    char path[2048]; /* of its file, or of the folder of the run */
    char command[256];
    char program[64]; /* its name as it was started; of a run: of the program that used most CPU time */
    uint64_t cpu_ns;
    uint64_t began_ns;   /* CLOCK_REALTIME */
    uint64_t disk_bytes; /* of a run: of all its sessions */
    uint32_t pid;        /* of a run: of the process that began first */
    uint32_t processes;  /* of a run: 0 if nothing is measured in it; 1 for a single session */
    uint32_t parent_pid; /* of a single session */
    uint64_t process_start;
    uint32_t counted; /* of one that was written from outside: processes that count in it */
    bool is_outside;
    enum hp_session_state state;
    bool is_of_this_namespace; /* pids of it mean something here */
    bool is_run;
    bool is_recorded; /* by `hotpath record`, from outside */
    bool is_paused;   /* switched off by `hotpath off` */
};

struct hp_sessions {
    struct hp_stored_session *all;
    size_t count, capacity;
};

/* A new one at the end, zeroed; NULL: no memory. */
static inline struct hp_stored_session *hp_sessions_add(struct hp_sessions *sessions)
{
    if (!HP_MAKE_ROOM(sessions->all, sessions->count + 1, sessions->capacity))
        return NULL;
    struct hp_stored_session *session = &sessions->all[sessions->count++];
    *session = (struct hp_stored_session){0};
    return session;
}

static inline void hp_sessions_free(struct hp_sessions *sessions)
{
    free(sessions->all);
    *sessions = (struct hp_sessions){0};
}

/*
 * The newest one that runs and began after `began_ns`, of the same command or, if there is none, of the same
 * program, which is the first word of the command: the session at `path` was started again. NULL: none.
 */
const struct hp_stored_session *hp_sessions_restarted(const struct hp_sessions *sessions, const char *path,
                                                      const char *command, uint64_t began_ns);

/* Whether `hotpath ls` calls the session at a path so: with what follows the dot of its file, or without. */
bool hp_session_is_called(const char *path, const char *name);

/* What the folder of a run says of it; the model keeps pointers into it. */
struct hp_program_facts {
    char ending[32];
    char source[600]; /* commit, branch and CI job */
    char natives[2500];
};

struct hp_model;

/* What can be shown. */
struct hp_program_source {
    /* Adds the measured programs, the newest first. False: something is missing. */
    bool (*list)(void *context, struct hp_sessions *sessions);
    /* Adds the sessions at a path: of a run, the oldest first; or the one session itself. */
    bool (*parts)(struct hp_sessions *sessions, const char *path);
    /* How the program of a run ended: "exit 0", "SIGSEGV". False: unknown; NULL: always unknown. */
    bool (*ending)(const char *path, char *text, size_t size);
    /* Tells the model what the folder of its run says. */
    void (*take_facts)(struct hp_model *model, const char *path, struct hp_program_facts *facts);
    /* Writes its report as a page: `text` is the path, or why there is none (false). NULL: not supported. */
    bool (*write_page)(void *context, const char *path, const char *program, char *text, size_t size);
    void *context;
};

#endif
