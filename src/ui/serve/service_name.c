/* The service that a process belongs to. SPDX-License-Identifier: MIT */
#include "service_name.h"

#include <string.h>
#include <unistd.h>

#include "files.h"
#include "task_path.h"
#include "text.h"

#define LONGEST 8192u /* of the file; the hierarchies of a system are few */

static int digit_of(char digit)
{
    return digit >= '0' && digit <= '9' ? digit - '0' : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* systemd writes "\x2d" for a hyphen that is part of a name. */
static bool put_name(const char *escaped, size_t length, char *name, size_t size)
{
    struct hp_text text;
    hp_text_init(&text, name, size);
    for (size_t at = 0; at < length; at++) {
        const bool is_escape = at + 3 < length && escaped[at] == '\\' && escaped[at + 1] == 'x' &&
                               digit_of(escaped[at + 2]) >= 0 && digit_of(escaped[at + 3]) >= 0;
        hp_text_char(&text,
                     is_escape ? (char)(16 * digit_of(escaped[at + 2]) + digit_of(escaped[at + 3])) : escaped[at]);
        at += is_escape ? 3 : 0;
    }
    hp_text_end(&text);
    return name[0] != '\0';
}

static bool begins(const char *part, size_t length, const char *prefix)
{
    return length > strlen(prefix) && strncmp(part, prefix, strlen(prefix)) == 0;
}

static bool ends(const char *part, size_t length, const char *suffix)
{
    return length > strlen(suffix) && strncmp(part + length - strlen(suffix), suffix, strlen(suffix)) == 0;
}

/* A folder of a cgroup's path. Instances of a template are one service: "worker@3.service" is "worker". */
static bool name_of_part(const char *part, size_t length, bool is_in_lxc, char *name, size_t size)
{
    if (ends(part, length, ".service") && !begins(part, length, "user@")) {
        const char *at = memchr(part, '@', length);
        return put_name(part, at != NULL ? (size_t)(at - part) : length - strlen(".service"), name, size);
    }
    if (begins(part, length, "machine-") && ends(part, length, ".scope"))
        return put_name(part + 8, length - 8 - strlen(".scope"), name, size);
    if (begins(part, length, "lxc.payload."))
        return put_name(part + 12, length - 12, name, size);
    return is_in_lxc && put_name(part, length, name, size);
}

/* The innermost folder that names a service. */
static bool name_of_path(const char *path, size_t length, char *name, size_t size)
{
    bool is_found = false, is_in_lxc = false;
    for (size_t at = 0; at < length;) {
        const char *part = path + at, *slash = memchr(part, '/', length - at);
        const size_t part_length = slash != NULL ? (size_t)(slash - part) : length - at;
        is_found |= name_of_part(part, part_length, is_in_lxc, name, size);
        is_in_lxc = part_length == 3 && memcmp(part, "lxc", 3) == 0;
        at += part_length + 1;
    }
    return is_found;
}

/* That of cgroup 2, or the one that systemd keeps of cgroup 1. */
bool hp_service_name_in(const char *cgroups, char *ret_name, size_t size)
{
    for (const char *line = cgroups; *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        const char *path = memchr(line, '/', length);
        const bool is_systemd = begins(line, length, "0::") || begins(line, length, "1:name=systemd:");
        if (is_systemd && path != NULL && name_of_path(path, (size_t)(line + length - path), ret_name, size))
            return true;
        line += length + (line[length] == '\n');
    }
    return false;
}

static bool read_cgroups(uint32_t pid, char *cgroups, size_t size)
{
    char path[HP_TASK_PATH];
    return hp_file_read_text(hp_task_path(path, pid, 0, "cgroup"), cgroups, size);
}

bool hp_service_name_of(uint32_t pid, char *ret_name, size_t size)
{
    char theirs[LONGEST], ours[LONGEST];
    if (!read_cgroups(pid, theirs, sizeof theirs))
        return false;
    return (!read_cgroups((uint32_t)getpid(), ours, sizeof ours) || strcmp(theirs, ours) != 0) &&
           hp_service_name_in(theirs, ret_name, size);
}
