/* Files. SPDX-License-Identifier: MIT */
#include "files.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "clock.h"
#include "raw_call.h"
#include "signals.h"
#include "text.h"

/* On 64-bit machines the C libraries' struct is the kernel's. */
static bool look_at(int fd, struct stat *status)
{
#if defined __LP64__ && defined SYS_fstat
    return hp_raw(SYS_fstat, fd, status) == 0;
#else
    return fstat(fd, status) == 0;
#endif
}

struct hp_file_identity hp_file_identify(int fd)
{
    struct stat status;
    struct hp_file_identity identity = {0, 0, false};
    if (look_at(fd, &status)) {
        identity.device = status.st_dev;
        identity.inode = status.st_ino;
        identity.is_known = true;
    }
    return identity;
}

bool hp_file_is(int fd, const struct hp_file_identity *identity)
{
    const struct hp_file_identity now = hp_file_identify(fd);
    return identity->is_known && now.is_known && now.device == identity->device && now.inode == identity->inode;
}

static int problem_of_kind(mode_t mode)
{
    return S_ISREG(mode) ? 0 : S_ISDIR(mode) ? EISDIR : S_ISLNK(mode) ? ELOOP : EINVAL;
}

/* Reopens the same file, not one that has replaced it; without /proc by its name, checked again. */
static int reopen(int seen, int folder, const char *path, int flags)
{
    char same[64];
    struct stat first, now;
    snprintf(same, sizeof same, "/proc/self/fd/%d", seen);
    int fd = hp_sys_open(same, flags & ~O_NOFOLLOW, 0);
    if (fd < 0 && errno == ENOENT)
        fd = hp_sys_openat(folder, path, flags, 0);
    if (fd >= 0 && (fstat(seen, &first) != 0 || fstat(fd, &now) != 0 || first.st_ino != now.st_ino ||
                    first.st_dev != now.st_dev)) {
        hp_sys_close(fd);
        errno = EINVAL;
        return -1;
    }
    return fd;
}

int hp_regular_open(int folder, const char *path, int flags)
{
    struct stat status;
    const int seen = hp_sys_openat(folder, path, O_PATH | (flags & O_NOFOLLOW), 0);
    if (seen < 0)
        return -1;
    int fd = -1, problem = fstat(seen, &status) != 0 ? errno : problem_of_kind(status.st_mode);
    if (problem == 0) {
        fd = reopen(seen, folder, path, flags | O_NOCTTY | O_NONBLOCK);
        problem = errno;
    }
    hp_sys_close(seen);
    errno = problem;
    return fd;
}

/* Reads up to `size` bytes, or as many as there are before the first error. */
static size_t read_open(int fd, void *bytes, size_t size)
{
    size_t length = 0;
    while (length < size) {
        const ssize_t got = hp_sys_read(fd, (char *)bytes + length, size - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        length += (size_t)got;
    }
    return length;
}

size_t hp_file_read_bytes(const char *path, void *bytes, size_t size)
{
    const int fd = hp_sys_open(path, O_RDONLY | O_NOCTTY, 0);
    if (fd < 0)
        return 0;
    const size_t length = read_open(fd, bytes, size);
    hp_sys_close(fd);
    return length;
}

ssize_t hp_file_read_regular(const char *path, void *bytes, size_t size)
{
    struct stat status;
    const int fd = hp_sys_open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    ssize_t length = -1;
    if (fstat(fd, &status) == 0) {
        if (S_ISREG(status.st_mode))
            length = (ssize_t)read_open(fd, bytes, size);
        else
            errno = problem_of_kind(status.st_mode);
    }
    const int error = errno;
    hp_sys_close(fd);
    errno = error;
    return length;
}

bool hp_file_read_text(const char *path, char *text, size_t size)
{
    const size_t length = hp_file_read_bytes(path, text, size - 1);
    text[length] = '\0';
    return length > 0;
}

bool hp_file_size_is_allowed(uint64_t size) { return size <= hp_raw_limit(RLIMIT_FSIZE); }

static long end_of(int fd)
{
#ifdef __LP64__
    return hp_raw(SYS_lseek, fd, 0, SEEK_END);
#else
    const off_t end = lseek(fd, 0, SEEK_END);
    return end <= INT32_MAX ? (long)end : -1;
#endif
}

/* For file systems without fallocate: writing zeros is the only way to reserve space. */
static bool reserve_by_writing(int fd, uint64_t from, uint64_t to)
{
    static const char zeros[4096];
    /* Only ever at the end: another thread may be using what is there already. */
    if (hp_raw(HP_SYS_FCNTL, fd, F_SETFL, O_APPEND) != 0)
        return false;
    for (;;) {
        const long end = end_of(fd);
        if (end < 0)
            return false;
        from = (uint64_t)end;
        if (from >= to)
            return true;
        const size_t size = to - from < sizeof zeros ? (size_t)(to - from) : sizeof zeros;
        const long put = hp_raw(SYS_write, fd, zeros, size);
        if (put == -EINTR)
            continue;
        if (put <= 0)
            return false;
    }
}

/* Also called by the sampling signal handler: nothing here is the C library's. */
bool hp_file_reserve(int fd, uint64_t from, uint64_t to)
{
    if (!hp_file_size_is_allowed(to))
        return false;
    long result;
    do
        result = hp_raw_fallocate(fd, from, to - from);
    while (result == -EINTR);
    if (result == 0)
        return true;
    return (result == -EOPNOTSUPP || result == -ENOSYS) && reserve_by_writing(fd, from, to);
}

#define PATIENCE_NS UINT64_C(1000000000)
/* A pipe without a reader must not keep the process from ending. */
#define READER_PATIENCE_NS UINT64_C(10000000000)
#define PIECE 4096u /* if a pipe is writable, this much fits */

/* Waits so long at most. After a signal, only for the rest of it. */
static bool wait_until_writable(int fd, uint64_t patience)
{
    struct pollfd wait = {.fd = fd, .events = POLLOUT, .revents = 0};
    const uint64_t until = hp_clock_monotonic_ns() + patience;
    for (uint64_t now = hp_clock_monotonic_ns(); now < until; now = hp_clock_monotonic_ns()) {
        const struct timespec left = {(time_t)((until - now) / 1000000000u), (long)((until - now) % 1000000000u)};
        if (syscall(SYS_ppoll, &wait, 1, &left, NULL, (size_t)8) > 0)
            return true;
    }
    return false;
}

bool hp_file_takes_line(int fd) { return wait_until_writable(fd, PATIENCE_NS); }

/* Files take everything, and a terminal is held by a person. */
static bool has_reader(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

bool hp_file_write(int fd, const char *bytes, size_t length)
{
    struct hp_signals held;
    hp_signals_hold_write_errors(&held);
    const uint64_t pending = hp_signals_pending();
    const bool is_read = has_reader(fd);
    bool is_whole = true;
    while (length > 0 && is_whole) {
        if (is_read && !wait_until_writable(fd, READER_PATIENCE_NS))
            break;
        const ssize_t put = hp_sys_write(fd, bytes, is_read && length > PIECE ? PIECE : length);
        if (put > 0) {
            bytes += put;
            length -= (size_t)put;
        } else if (put < 0 && errno == EAGAIN) {
            is_whole = wait_until_writable(fd, PATIENCE_NS);
        } else if (put == 0 || errno != EINTR) {
            is_whole = false;
        }
    }
    const int error = errno;
    hp_signals_swallow_write_errors(pending);
    hp_signals_release(&held);
    errno = error;
    return is_whole && length == 0;
}

bool hp_file_path_in(const char *folder, const char *name, char *path, size_t size)
{
    struct hp_text text;
    hp_text_init(&text, path, size);
    hp_text_string(&text, folder);
    hp_text_char(&text, '/');
    hp_text_string(&text, name);
    hp_text_end(&text);
    if (text.is_cut)
        errno = ENAMETOOLONG;
    return !text.is_cut;
}

bool hp_file_make_private_folder(const char *path)
{
    struct stat status;
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return false;
    if (lstat(path, &status) != 0)
        return false;
    if (!S_ISDIR(status.st_mode))
        errno = ENOTDIR;
    else if (status.st_uid != geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        errno = EPERM;
    else
        return true;
    return false;
}

bool hp_file_is_locked(const char *folder)
{
    const int fd = hp_sys_open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (fd < 0)
        return true;
    const bool is_locked = syscall(SYS_flock, fd, LOCK_SH | LOCK_NB) != 0;
    hp_sys_close(fd);
    return is_locked;
}

void hp_file_make_parents(const char *path)
{
    char folder[1024];
    const size_t length = strlen(path);
    if (length >= sizeof folder)
        return;
    memcpy(folder, path, length + 1);
    for (size_t at = 1; at < length; at++) {
        if (folder[at] != '/')
            continue;
        folder[at] = '\0';
        mkdir(folder, 0777);
        folder[at] = '/';
    }
}

uint64_t hp_file_free_bytes(const char *path)
{
    struct statfs status;
    if (statfs(path, &status) != 0)
        return 0;
    const uint64_t free_blocks = (uint64_t)status.f_bavail, spared = (uint64_t)status.f_blocks / 20;
    return free_blocks > spared ? (free_blocks - spared) * (uint64_t)status.f_bsize : 0;
}

/* The kernel's directory entry; libc's readdir would allocate. */
struct entry {
    uint64_t inode;
    int64_t offset;
    uint16_t length;
    uint8_t type;
    char name[];
};

void hp_file_each(const char *folder, hp_file_visit *visit, void *context)
{
    const int fd = hp_sys_open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (fd < 0)
        return;
    _Alignas(8) char buffer[1024]; /* small: a forked child may be on a signal stack */
    long got;
    while ((got = syscall(SYS_getdents64, fd, buffer, sizeof buffer)) > 0) {
        for (long at = 0; at < got;) {
            const struct entry *entry = (const struct entry *)(const void *)(buffer + at);
            visit(entry->name, context);
            at += entry->length;
        }
    }
    hp_sys_close(fd);
}

const char *hp_file_error(int number)
{
    switch (number) {
    case ENOENT:
        return "no such file or directory";
    case EACCES:
    case EPERM:
        return "permission denied";
    case EROFS:
        return "read-only file system";
    case ENOSPC:
    case EDQUOT:
        return "no space left";
    case EFBIG:
        return "file too large";
    case EISDIR:
        return "is a directory";
    case EINVAL:
        return "not a regular file";
    case ENOTDIR:
        return "not a directory";
    case ELOOP:
        return "too many symbolic links";
    case ENXIO:
        return "no reader";
    case EPIPE:
        return "its reader has closed it";
    case EAGAIN:
        return "its reader has stopped reading";
    case ENAMETOOLONG:
        return "name too long";
    case ENOMEM:
        return "not enough memory";
    case EMFILE:
    case ENFILE:
        return "too many open files";
    default:
        return "input/output error";
    }
}
