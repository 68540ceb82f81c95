/* Files, without descriptors that stay open and without signals the host did not ask for. SPDX-License-Identifier: MIT */
#ifndef HP_OS_FILES_H
#define HP_OS_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Which file something is, so that a reused path or descriptor is noticed. */
struct hp_file_identity {
    uint64_t device, inode;
    bool is_known;
};

struct hp_file_identity hp_file_identify(int fd);
bool hp_file_is(int fd, const struct hp_file_identity *identity);

/* Reads a small file whole and ends it with a zero; a longer one is cut. False: cannot be read. */
bool hp_file_read_text(const char *path, char *text, size_t size);
/* The same for bytes; returns how many, or 0. */
size_t hp_file_read_bytes(const char *path, void *bytes, size_t size);

/*
 * Reads up to `size` bytes of a file that has to be a regular one, so that nothing can keep us waiting. Returns how many, or
 * -1 with errno; EINVAL: it is something else.
 */
ssize_t hp_file_read_regular(const char *path, void *bytes, size_t size);

/*
 * Makes sure that bytes [from, to) of an open file exist on its disk, so that touching a mapping of them cannot fail.
 * Honours RLIMIT_FSIZE instead of running into SIGXFSZ.
 */
bool hp_file_reserve(int fd, uint64_t from, uint64_t to);

/* Whether RLIMIT_FSIZE lets a file be that long. */
bool hp_file_size_is_allowed(uint64_t size);

/*
 * Writes all of it, waiting (bounded) where the descriptor does not block. A reader that went away or a file that may
 * not grow is a false, never a signal.
 */
bool hp_file_write(int fd, const char *bytes, size_t length);

/* Whether a line can be written without waiting for a reader for more than a second. */
bool hp_file_takes_line(int fd);

/* Makes `path` a folder of ours that nobody else can write to; its parents must exist. False: errno says why. */
bool hp_file_make_private_folder(const char *path);

/* Makes the folders above `path`, as far as they are missing. */
void hp_file_make_parents(const char *path);

/*
 * Bytes that are free on the file system of `path`, less a twentieth of it all, which is spared for others: a host's
 * many processes must not fill it up. 0 when that cannot be told.
 */
uint64_t hp_file_free_bytes(const char *path);

/*
 * Whether somebody holds a lock (flock) on a folder. Also true where that cannot be told.
 */
bool hp_file_is_locked(const char *folder);

/* Calls `visit` with each name in a folder, without allocating. */
typedef void hp_file_visit(const char *name, void *context);
void hp_file_each(const char *folder, hp_file_visit *visit, void *context);

/* The words for an errno; strerror is not for signal handlers. */
const char *hp_file_error(int number);

#endif
