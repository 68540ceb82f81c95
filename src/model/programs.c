/* Stored sessions. SPDX-License-Identifier: MIT */
#include "programs.h"

#include <string.h>

#include "text.h"

/* How well commands agree: 2 as a whole, as far as it is stored, 1 in the first word, 0 not at all. */
static unsigned likeness(const struct hp_stored_session *session, const char *command)
{
    const size_t length = strcspn(command, " ");
    if (command[0] == '\0')
        return 0;
    if (strncmp(session->command, command, sizeof session->command - 1) == 0)
        return 2;
    return strcspn(session->command, " ") == length && memcmp(session->command, command, length) == 0;
}

const struct hp_stored_session *hp_sessions_restarted(const struct hp_sessions *sessions, const char *path,
                                                      const char *command, uint64_t began_ns)
{
    const struct hp_stored_session *found = NULL;
    unsigned best = 0;
    for (size_t at = 0; at < sessions->count; at++) {
        const struct hp_stored_session *one = &sessions->all[at];
        const unsigned like = likeness(one, command);
        if (one->state != HP_SESSION_LIVE || one->is_paused || one->began_ns <= began_ns || like == 0 ||
            like < best || strcmp(one->path, path) == 0)
            continue;
        if (found == NULL || like > best || one->began_ns > found->began_ns)
            found = one;
        best = like;
    }
    return found;
}

bool hp_session_is_called(const char *path, const char *name)
{
    const char *base = hp_text_base_name(path);
    const size_t stem = strcspn(base, ".");
    return name[0] != '\0' && (strcmp(base, name) == 0 || (strlen(name) == stem && memcmp(base, name, stem) == 0));
}
