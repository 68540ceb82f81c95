/*
 * Descriptors that we opened have close-on-exec set. Inherited ones do not: otherwise we would not have them.
 * SPDX-License-Identifier: MIT
 */
#include "inherited.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "task_files.h"

#define BLIND 256 /* descriptors tried where /proc is not mounted */

static void each(void (*visit)(int fd, const void *context), const void *context)
{
    DIR *all = opendir("/proc/self/fd");
    for (int fd = 0; all == NULL && fd < BLIND; fd++)
        visit(fd, context);
    if (all == NULL)
        return;
    for (const struct dirent *entry; (entry = readdir(all)) != NULL;) {
        const int fd = entry->d_name[0] != '.' ? atoi(entry->d_name) : dirfd(all);
        if (fd != dirfd(all))
            visit(fd, context);
    }
    closedir(all);
}

static bool is_inherited(int fd)
{
    const int flags = fcntl(fd, F_GETFD);
    return flags >= 0 && !(flags & FD_CLOEXEC);
}

static bool is_file(int fd, const char *path)
{
    struct stat one, other;
    return path[0] != '\0' && fstat(fd, &one) == 0 && stat(path, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

/* fcntl locks belong to us alone: the program has not inherited them, and closing the file would release them. */
static bool has_lock(int fd)
{
    char name[32], text[1024];
    snprintf(name, sizeof name, "fdinfo/%d", fd);
    return hp_task_read(0, 0, name, text, sizeof text) && strstr(text, "POSIX") != NULL;
}

/* Standard input and output are replaced by /dev/null, so that no other file gets their numbers. */
static void let_go(int fd, const void *context)
{
    if (fd == STDERR_FILENO || !is_inherited(fd) || is_file(fd, context) || has_lock(fd))
        return;
    const int nothing = fd < STDERR_FILENO ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;
    if (nothing < 0 || dup2(nothing, fd) < 0)
        close(fd);
    if (nothing >= 0)
        close(nothing);
}

void hp_inherited_let_go(const char *output) { each(let_go, output); }

static void close_unless(int fd, const void *context)
{
    if (fd != *(const int *)context)
        close(fd);
}

void hp_inherited_keep_only(int fd) { each(close_unless, &fd); }
