/* Streams of opened files. SPDX-License-Identifier: MIT */
#ifndef HP_OS_FILE_STREAM_H
#define HP_OS_FILE_STREAM_H

#include <stdio.h>
#include <unistd.h>

/* A stream that owns the descriptor, which may be -1. NULL: none, and the descriptor is closed. */
static inline FILE *hp_file_stream(int fd, const char *mode)
{
    FILE *stream = fd >= 0 ? fdopen(fd, mode) : NULL;
    if (stream == NULL && fd >= 0)
        close(fd);
    return stream;
}

#endif
