/* Finds the session of a process in its mappings. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* getline */
#include "process_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session_dirs.h"
#include "text.h"

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

bool hp_process_session(const char *pid, char *path, size_t size)
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
