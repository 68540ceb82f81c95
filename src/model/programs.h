/*
 * The sessions and runs that can be watched, as a list that the caller provides: only the commands know where
 * sessions are. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_PROGRAMS_H
#define HP_MODEL_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "growing_array.h"

enum hp_program_state {
    HP_PROGRAM_LIVE,
    HP_PROGRAM_OFF,
    HP_PROGRAM_FINISHED,
    HP_PROGRAM_CRASHED,
    HP_PROGRAM_ELSEWHERE
};

struct hp_program {
    char path[2048]; /* of its session, or of the folder of its run */
    char command[256];
    uint64_t began_unix_ns;
    uint64_t disk_bytes;
    uint32_t pid;
    uint32_t processes;
    bool is_run;
    enum hp_program_state state;
};

struct hp_programs {
    struct hp_program *all; /* the newest first */
    size_t count, capacity;
};

struct hp_program_source {
    /* Fills in what there is, into an empty list. False: something is missing. */
    bool (*list)(void *context, struct hp_programs *ret_programs);
    /* The session files of a run's folder, the oldest first; or the one session itself. */
    bool (*parts)(void *context, const char *path, struct hp_programs *ret_parts);
    /* How the program of a run ended: "exit 0", "SIGSEGV". False: unknown; NULL: always unknown. */
    bool (*ending)(void *context, const char *path, char *text, size_t size);
    /* Writes its report as a page: `text` is the path, or why there is none (false). NULL: not supported. */
    bool (*write_page)(void *context, const char *path, const char *program, char *text, size_t size);
    void *context;
};

/* A new one at the end, zeroed; NULL: no memory. */
static inline struct hp_program *hp_programs_add(struct hp_programs *programs)
{
    if (!HP_MAKE_ROOM(programs->all, programs->count + 1, programs->capacity))
        return NULL;
    struct hp_program *program = &programs->all[programs->count++];
    *program = (struct hp_program){0};
    return program;
}

static inline void hp_programs_free(struct hp_programs *programs)
{
    free(programs->all);
    *programs = (struct hp_programs){0};
}

#endif
