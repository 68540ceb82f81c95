/* Looks up programs in PATH. SPDX-License-Identifier: MIT */
#include "in_path.h"

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
