/*
 * Files, without descriptors that stay open and without signals that the host did not ask for.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_OS_FILES_H
#define HP_OS_FILES_H

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifndef O_PATH /* if the source has not requested it */
#define O_PATH 010000000
#endif

/* The identity of a file, to notice a reused path or descriptor. */
struct hp_file_identity {
    uint64_t device, inode;
    bool is_known;
};

struct hp_file_identity hp_file_identify(int fd);
bool hp_file_is(int fd, const struct hp_file_identity *identity);

/*
 * Opens a file only if it is a regular one. Opening anything else can block forever (a FIFO) or have effects (a
 * device), so it is examined first through an O_PATH descriptor. As openat, without becoming a controlling
 * terminal, blocking, or being inherited. -1: see errno; EINVAL: neither a file nor a directory (EISDIR) nor a link
 * that must not be followed (ELOOP).
 */
int hp_regular_open(int folder, const char *path, int flags);

/* Reads a small file and adds a zero; a longer one is cut. False: cannot be read. */
bool hp_file_read_text(const char *path, char *text, size_t size);
/* The same for bytes; returns how many, or 0. */
size_t hp_file_read_bytes(const char *path, void *bytes, size_t size);

/*
 * Reads up to `size` bytes of a regular file; anything else is refused, since it could block. Returns how many, or
 * -1 with errno; EINVAL: not a regular file.
 */
ssize_t hp_file_read_regular(const char *path, void *bytes, size_t size);

/*
 * Allocates bytes [from, to) of an open file on its disk, so that touching a mapping of them cannot fail. Respects
 * RLIMIT_FSIZE instead of causing SIGXFSZ.
 */
bool hp_file_reserve(int fd, uint64_t from, uint64_t to);

/* Whether RLIMIT_FSIZE lets a file be that long. */
bool hp_file_size_is_allowed(uint64_t size);

/*
 * Writes all of it; if the descriptor is non-blocking, waits for a limited time. Returns false, and causes no
 * signal, if the reader is gone or the file may not grow.
 */
bool hp_file_write(int fd, const char *bytes, size_t length);

/* Whether a line can be written without waiting for a reader for more than a second. */
bool hp_file_takes_line(int fd);

/* The path of a file in a folder. False, with ENAMETOOLONG: it does not fit. */
bool hp_file_path_in(const char *folder, const char *name, char *path, size_t size);

/* Makes `path` a directory of ours that no other user can write to; its parents must exist. False: see errno. */
bool hp_file_make_private_folder(const char *path);

/* Makes the missing directories above `path`. */
void hp_file_make_parents(const char *path);

/*
 * Free bytes on the file system of `path`, minus a twentieth of its size, which is left for others: the many
 * processes of a host must not fill it up. 0: unknown.
 */
uint64_t hp_file_free_bytes(const char *path);

/* Whether a directory is locked (flock). Also true if unknown. */
bool hp_file_is_locked(const char *folder);

/* Calls `visit` with each name in a directory, without allocating. */
typedef void hp_file_visit(const char *name, void *context);
void hp_file_each(const char *folder, hp_file_visit *visit, void *context);

/* The text for an errno; strerror is not async-signal-safe. */
const char *hp_file_error(int number);

#endif
