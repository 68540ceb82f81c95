/*
 * A session file, read into memory. It is copied first, so that a process that still writes, or a file that shrinks,
 * cannot disturb the reading. That of a live process stays open: see read_anew in snapshot.h. SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_SESSION_FILE_H
#define HP_CLI_SESSION_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "process.h"
#include "snapshot.h"

struct hp_session_file {
    void *bytes;
    size_t size;
    int fd;              /* -1: closed */
    uint64_t disk_bytes; /* what it takes on its disk */
    enum hp_life life;   /* of its process */
    struct hp_snapshot snapshot;
    char problem[320]; /* why it could not be opened */
};

/* False: `problem` says why. Close it in either case. */
bool hp_session_file_open(struct hp_session_file *file, const char *path);

/* Only the beginning, of a file in an open folder, where links are not followed: enough for the header and its texts. */
bool hp_session_file_peek(struct hp_session_file *file, int folder, const char *name);

void hp_session_file_close(struct hp_session_file *file);

#endif
