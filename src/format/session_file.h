/*
 * A session file, read into memory. It is copied, so that a process that still writes, or a file that shrinks,
 * cannot disturb the reading: a small one at once, a large one page by page, as its pages are read.
 * Large ones, and those of live processes, stay open; see also read_anew in snapshot.h.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_FORMAT_SESSION_FILE_H
#define HP_FORMAT_SESSION_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "process.h"
#include "snapshot.h"

struct hp_session_file {
    void *bytes;
    size_t size;
    size_t room;         /* how large it can become where it is */
    int fd;              /* -1: closed */
    void *numbers;       /* the file itself, mapped: see snapshot.h */
    size_t mapped;       /* how much of it */
    uint32_t *readings;  /* for each page, with which reading it was copied; NULL: all are there */
    uint32_t reading;    /* the present one, from 1 */
    uint64_t disk_bytes; /* what it takes on its disk */
    enum hp_life life;   /* of its process */
    struct hp_snapshot snapshot;
    char problem[320]; /* why it could not be opened */
};

/*
 * Opens a session. Its name may be a link only to memory that `hotpath run` has lent (os/lending.h). -1: see errno,
 * as for hp_regular_open.
 */
int hp_session_file_descriptor(int folder, const char *name, int flags);

/* False: `problem` says why. Close it in either case. */
bool hp_session_file_open(struct hp_session_file *file, const char *path);

/*
 * Only the beginning, of a file in an open folder, where links are not followed: enough for the header and its
 * texts.
 */
bool hp_session_file_peek(struct hp_session_file *file, int folder, const char *name);

/*
 * Reads it again, as it is now: what was copied before is void, though texts stay where they are unless
 * `ret_has_moved` says otherwise. False: `problem` says why.
 */
bool hp_session_file_refresh(struct hp_session_file *file, const char *path, bool *ret_has_moved);

void hp_session_file_close(struct hp_session_file *file);

/*
 * Whether a process has the session in its memory, as it has until it runs another program. Where that cannot be
 * seen, it is believed.
 */
bool hp_session_is_in_memory(uint32_t pid, const char *name);

/* -------------------------------------------------------------------------------------------------- mapped file */

/*
 * A file mapped to look at, which others may make shorter meanwhile. What is not there any more reads as zero,
 * instead of ending the program by SIGBUS. For the program alone: a library has no business with its host's
 * signals.
 */

/* NULL: it cannot be mapped, or too many are. */
void *hp_mapped_file_open(int fd, size_t size);
void hp_mapped_file_close(void *bytes, size_t size);

#endif
