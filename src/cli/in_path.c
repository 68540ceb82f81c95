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

bool hp_is_in_path(const char *name)
{
    const char *path = getenv("PATH");
    char file[4096];
    for (path = path != NULL ? path : "/bin:/usr/bin";; path++) {
        const size_t length = strcspn(path, ":");
        if (snprintf(file, sizeof file, "%.*s/%s", length > 0 ? (int)length : 1, length > 0 ? path : ".", name) <
                (int)sizeof file &&
            is_program(file))
            return true;
        path += length;
        if (*path == '\0')
            return false;
    }
}
