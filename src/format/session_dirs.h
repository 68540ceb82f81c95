/* Directories of sessions. SPDX-License-Identifier: MIT */
#ifndef HP_FORMAT_SESSION_DIRS_H
#define HP_FORMAT_SESSION_DIRS_H

#include <stdbool.h>
#include <stddef.h>

#include "options.h"

#define HP_SESSION_SUFFIX ".hotpath"
#define HP_RUN_SUFFIX ".run" /* of a directory with the sessions of one `hotpath run` */

/*
 * The n-th directory for sessions, best first: writers take the first usable one, readers search all. False: no
 * more. Empty: this one does not exist here.
 */
bool hp_session_dir(const struct hp_record_settings *settings, unsigned n, char *text, size_t size);

/* Makes the directory if needed and returns whether a session can live there. False: see errno. */
bool hp_session_dir_is_usable(const char *place);

/* Whether it is the directory of a `hotpath run`, and not one set by someone for a process within it. */
bool hp_session_dir_is_of_run(const char *folder);

/* The directory of a run: the path itself, or what it is in. False: `folder` is "", it is of no run. */
bool hp_session_dir_find_run(const char *path, char *folder, size_t size);

/*
 * Whether it is the directory of a run that has ended: it is not locked any more, or was removed. Unknown to a
 * process that cannot see it.
 */
bool hp_session_dir_is_of_past_run(const char *folder);

/* The path of a report: `pattern` with %p replaced by the process id. False: too long, or empty. */
bool hp_session_dir_of_report(const char *pattern, uint32_t pid, char *path, size_t size);

#endif
