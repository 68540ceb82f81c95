/* Checks paths that only we and root can change. SPDX-License-Identifier: MIT */
#include "trusted_path.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Many systems give each user a group of the same name with no other members, and a umask that lets it write. */
static bool is_own_group(gid_t group)
{
    const struct passwd *user = getpwuid(geteuid());
    const struct group *entry = getgrgid(group);
    if (user == NULL || entry == NULL || user->pw_gid != group || strcmp(user->pw_name, entry->gr_name) != 0)
        return false;
    for (char **member = entry->gr_mem; *member != NULL; member++)
        if (strcmp(*member, user->pw_name) != 0)
            return false;
    return true;
}

static bool others_can_write(const struct stat *status)
{
    if (S_ISDIR(status->st_mode) && (status->st_mode & S_ISVTX))
        return false;
    return (status->st_mode & S_IWOTH) || ((status->st_mode & S_IWGRP) && !is_own_group(status->st_gid));
}

/* What is wrong with one of them, or NULL. */
static const char *flaw_of(const char *path, bool is_file)
{
    struct stat status;
    if (lstat(path, &status) != 0)
        return strerror(errno);
    if (is_file ? !S_ISREG(status.st_mode) : !S_ISDIR(status.st_mode))
        return is_file ? "it is not a regular file" : "it is not a directory";
    if (status.st_uid != 0 && status.st_uid != geteuid())
        return "it belongs to another user";
    return others_can_write(&status) ? "others can write to it" : NULL;
}

bool hp_path_is_trusted(const char *path, char *problem, size_t size)
{
    char part[PATH_MAX];
    const size_t length = strlen(path);
    const char *flaw = NULL;
    if (path[0] != '/' || length >= sizeof part) {
        snprintf(problem, size, "'%s' is not an absolute path", path);
        return false;
    }
    for (size_t end = 1; flaw == NULL && end <= length; end++) {
        if (end > 1 && end < length && path[end] != '/')
            continue;
        memcpy(part, path, end);
        part[end] = '\0';
        flaw = flaw_of(part, end == length);
        if (flaw != NULL)
            snprintf(problem, size, "'%s' cannot be trusted: %s", part, flaw);
    }
    return flaw == NULL;
}
