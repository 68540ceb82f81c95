/* Opens output files that users name. SPDX-License-Identifier: MIT */
#include "output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "files.h"

static FILE *open_output(const char *path)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
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

/* What was written is all that the file has, unless nothing was. */
static bool cut(FILE *stream, int status)
{
    struct stat about;
    const off_t end = ftello(stream);
    if (fstat(fileno(stream), &about) != 0 || !S_ISREG(about.st_mode) || (end <= 0 && status != EXIT_DONE))
        return true;
    return ftruncate(fileno(stream), end) == 0;
}

int hp_output_close(FILE *stream, const char *path, int status)
{
    const bool is_flushed = fflush(stream) == 0, is_cut = cut(stream, status);
    if ((fclose(stream) != 0 || !is_flushed || !is_cut) && status == EXIT_DONE)
        return hp_fail("cannot write all of '%s': %s", path, strerror(errno));
    return status;
}
