/* Opens output files that users name. SPDX-License-Identifier: MIT */
#include "output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "files.h"

static FILE *open_output(const char *path)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
    const int flags = fd >= 0 ? fcntl(fd, F_GETFL) : -1;
    if (flags >= 0)
        fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
    FILE *stream = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (stream == NULL && fd >= 0)
        close(fd);
    return stream;
}

FILE *hp_output_open(const char *path)
{
    hp_file_make_parents(path);
    FILE *stream = open_output(path);
    if (stream == NULL)
        hp_fail("cannot write '%s': %s", path, errno == ENXIO ? "it has no reader" : strerror(errno));
    return stream;
}
