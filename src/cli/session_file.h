/*
 * Sessions as files: finding them, and reading one into memory. The file is copied first, so that a process that
 * still writes, or a file that shrinks, cannot disturb the reading. SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_SESSION_FILE_H
#define HP_CLI_SESSION_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "options.h"
#include "snapshot.h"

struct hp_session_file {
    void *bytes;
    size_t size;
    struct hp_snapshot snapshot;
    char problem[256]; /* why it could not be opened */
};

/* False: `problem` says why. Close it in either case. */
bool hp_session_file_open(struct hp_session_file *file, const char *path);
void hp_session_file_close(struct hp_session_file *file);

/* The session that began last in the folders where sessions are. False: there is none. */
bool hp_session_file_newest(const struct hp_settings *settings, char *path, size_t size);

#endif
