/*
 * Opens a file only if it is a regular one. Opening anything else can block forever (a FIFO) or have effects (a
 * device), so it is examined first through an O_PATH descriptor. SPDX-License-Identifier: MIT
 */
#ifndef HP_OS_REGULAR_FILE_H
#define HP_OS_REGULAR_FILE_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef O_PATH /* if the source has not requested it */
#define O_PATH 010000000
#endif

static inline int hp_regular_problem(mode_t mode)
{
    return S_ISREG(mode) ? 0 : S_ISDIR(mode) ? EISDIR : S_ISLNK(mode) ? ELOOP : EINVAL;
}

/* Reopens the same file, not one that has replaced it; without /proc by its name, checked again. */
static inline int hp_regular_reopen(int seen, int folder, const char *path, int flags)
{
    char same[64];
    struct stat first, now;
    snprintf(same, sizeof same, "/proc/self/fd/%d", seen);
    int fd = open(same, flags & ~O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT)
        fd = openat(folder, path, flags);
    if (fd >= 0 && (fstat(seen, &first) != 0 || fstat(fd, &now) != 0 || first.st_ino != now.st_ino ||
                    first.st_dev != now.st_dev)) {
        close(fd);
        errno = EINVAL;
        return -1;
    }
    return fd;
}

/*
 * As openat, without becoming a controlling terminal, blocking, or being inherited. -1: see errno; EINVAL: neither
 * a file nor a directory (EISDIR) nor a link that must not be followed (ELOOP).
 */
static inline int hp_regular_open(int folder, const char *path, int flags)
{
    struct stat status;
    const int seen = openat(folder, path, O_PATH | O_CLOEXEC | (flags & O_NOFOLLOW));
    if (seen < 0)
        return -1;
    int fd = -1, problem = fstat(seen, &status) != 0 ? errno : hp_regular_problem(status.st_mode);
    if (problem == 0) {
        fd = hp_regular_reopen(seen, folder, path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        problem = errno;
    }
    close(seen);
    errno = problem;
    return fd;
}

#endif
