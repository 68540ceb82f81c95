/* Finds programs in PATH, and files that are installed with the program. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* readlink, realpath */
#include "find_file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_program(const char *file)
{
    struct stat status;
    return stat(file, &status) == 0 && S_ISREG(status.st_mode) && access(file, X_OK) == 0;
}

bool hp_find_in_path(const char *name, char *file, size_t size)
{
    const char *path = getenv("PATH");
    for (path = path != NULL ? path : "/bin:/usr/bin";; path++) {
        const size_t length = strcspn(path, ":");
        if ((size_t)snprintf(file, size, "%.*s/%s", length > 0 ? (int)length : 1, length > 0 ? path : ".", name) <
                size &&
            is_program(file))
            return true;
        path += length;
        if (*path == '\0')
            return false;
    }
}

bool hp_is_in_path(const char *name)
{
    char file[4096];
    return hp_find_in_path(name, file, sizeof file);
}

/* ---------------------------------------------------------------------------------------------------- installed */

#ifndef HOTPATH_LIBRARIES_FROM_PROGRAMS /* set by the build: path from the programs to the libraries */
#define HOTPATH_LIBRARIES_FROM_PROGRAMS "../lib"
#endif

static bool own_folder(char *folder, size_t size)
{
    const ssize_t length = readlink("/proc/self/exe", folder, size - 1);
    if (length <= 0)
        return false;
    folder[length] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash == NULL)
        return false;
    *slash = '\0';
    return true;
}

bool hp_installed_find(const char *name, char *path, size_t size)
{
    static const char *const places[] = {HOTPATH_LIBRARIES_FROM_PROGRAMS, "../lib"};
    char folder[PATH_MAX], file[2 * PATH_MAX], whole[PATH_MAX];
    if (!own_folder(folder, sizeof folder))
        return false;
    for (size_t at = 0; at < sizeof places / sizeof places[0]; at++) {
        if (places[at][0] == '/')
            snprintf(file, sizeof file, "%s/%s", places[at], name);
        else
            snprintf(file, sizeof file, "%s/%s/%s", folder, places[at], name);
        if (realpath(file, whole) == NULL || strlen(whole) >= size)
            continue;
        memcpy(path, whole, strlen(whole) + 1);
        return true;
    }
    return false;
}
