/*
 * Interposed functions that only I/O is interested in, in the library that `hotpath run --io` preloads: those that
 * open and connect, and those that move data in ways that channels do not see (transfer_hooks.c has the others).
 * All calls are forwarded unchanged. A descriptor that is new, or leads elsewhere now, is forgotten first: what
 * closed the one before may have been inside the C library. SPDX-License-Identifier: MIT
 */
#undef _FORTIFY_SOURCE /* it has its own versions of some */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "descriptors.h"
#include "io_calls.h"
#include "real_functions.h"

/* Macros with musl, whose functions of both names are the same. */
#undef open64
#undef openat64
#undef creat64
#undef pread64
#undef pwrite64
#undef preadv64
#undef pwritev64
#undef fopen64

/* With the last argument of variable ones, as the C library itself passes it on; and with plain types. */
/* NOLINTBEGIN(readability-redundant-declaration) */
HP_PUBLIC int open_file(const char *path, int flags, mode_t mode) __asm__("open");
HP_PUBLIC int open_large(const char *path, int flags, mode_t mode) __asm__("open64");
HP_PUBLIC int open_at(int folder, const char *path, int flags, mode_t mode) __asm__("openat");
HP_PUBLIC int open_at_large(int folder, const char *path, int flags, mode_t mode) __asm__("openat64");
HP_PUBLIC int create_file(const char *path, mode_t mode) __asm__("creat");
HP_PUBLIC int create_large(const char *path, mode_t mode) __asm__("creat64");
HP_PUBLIC ssize_t read_at(int fd, void *bytes, size_t size, off_t offset) __asm__("pread");
HP_PUBLIC ssize_t read_at_large(int fd, void *bytes, size_t size, int64_t offset) __asm__("pread64");
HP_PUBLIC ssize_t write_at(int fd, const void *bytes, size_t size, off_t offset) __asm__("pwrite");
HP_PUBLIC ssize_t write_at_large(int fd, const void *bytes, size_t size, int64_t offset) __asm__("pwrite64");
HP_PUBLIC ssize_t read_pieces_at(int fd, const struct iovec *pieces, int count, off_t offset) __asm__("preadv");
HP_PUBLIC ssize_t read_pieces_at_large(int fd, const struct iovec *pieces, int count,
                                       int64_t offset) __asm__("preadv64");
HP_PUBLIC ssize_t write_pieces_at(int fd, const struct iovec *pieces, int count, off_t offset) __asm__("pwritev");
HP_PUBLIC ssize_t write_pieces_at_large(int fd, const struct iovec *pieces, int count,
                                        int64_t offset) __asm__("pwritev64");
HP_PUBLIC ssize_t copy_range(int in, void *in_offset, int out, void *out_offset, size_t size,
                             unsigned flags) __asm__("copy_file_range");
HP_PUBLIC int connect_to(int fd, const void *address, socklen_t size) __asm__("connect");
HP_PUBLIC int accept_one(int fd, void *address, socklen_t *size) __asm__("accept");
HP_PUBLIC int accept_one_with(int fd, void *address, socklen_t *size, int flags) __asm__("accept4");
HP_PUBLIC int look_up(const char *host, const char *service, const struct addrinfo *hints,
                      struct addrinfo **found) __asm__("getaddrinfo");
HP_PUBLIC FILE *open_stream(const char *path, const char *mode) __asm__("fopen");
HP_PUBLIC FILE *open_large_stream(const char *path, const char *mode) __asm__("fopen64");
/* NOLINTEND(readability-redundant-declaration) */
#ifdef __GLIBC__
HP_PUBLIC ssize_t __pread_chk(int fd, void *bytes, size_t size, off_t offset, size_t room);
HP_PUBLIC ssize_t __pread64_chk(int fd, void *bytes, size_t size, int64_t offset, size_t room);
HP_PUBLIC int __open_2(const char *path, int flags);
HP_PUBLIC int __open64_2(const char *path, int flags);
HP_PUBLIC int __openat_2(int folder, const char *path, int flags);
HP_PUBLIC int __openat64_2(int folder, const char *path, int flags);
HP_PUBLIC ssize_t read_pieces_by(int fd, const struct iovec *pieces, int count, off_t offset,
                                 int flags) __asm__("preadv2");
HP_PUBLIC ssize_t read_pieces_by_large(int fd, const struct iovec *pieces, int count, int64_t offset,
                                       int flags) __asm__("preadv64v2");
HP_PUBLIC ssize_t write_pieces_by(int fd, const struct iovec *pieces, int count, off_t offset,
                                  int flags) __asm__("pwritev2");
HP_PUBLIC ssize_t write_pieces_by_large(int fd, const struct iovec *pieces, int count, int64_t offset,
                                        int flags) __asm__("pwritev64v2");
#endif

/* clang-format off */
#ifdef __GLIBC__
#define FORTIFIED(DO, AS)                                                                                          \
    DO(__pread_chk) DO(__pread64_chk) DO(__open_2) DO(__open64_2) DO(__openat_2) DO(__openat64_2)                  \
    AS(preadv2, read_pieces_by) AS(preadv64v2, read_pieces_by_large) AS(pwritev2, write_pieces_by)                 \
    AS(pwritev64v2, write_pieces_by_large)
#else
#define FORTIFIED(DO, AS)
#endif
#define EACH(DO, AS)                                                                                               \
    AS(open, open_file) AS(open64, open_large) AS(openat, open_at) AS(openat64, open_at_large)                     \
    AS(creat, create_file) AS(creat64, create_large) AS(pread, read_at) AS(pread64, read_at_large)                 \
    AS(pwrite, write_at) AS(pwrite64, write_at_large) AS(preadv, read_pieces_at)                                   \
    AS(preadv64, read_pieces_at_large) AS(pwritev, write_pieces_at) AS(pwritev64, write_pieces_at_large)           \
    AS(copy_file_range, copy_range) DO(fsync) DO(fdatasync) DO(sync_file_range) DO(syncfs) AS(connect, connect_to) \
    AS(fopen, open_stream) AS(fopen64, open_large_stream) AS(accept, accept_one) AS(accept4, accept_one_with)      \
    DO(socket) DO(dup) AS(getaddrinfo, look_up)                                                                    \
    FORTIFIED(DO, AS)
/* clang-format on */
HP_REAL_FUNCTIONS(EACH)

__attribute__((constructor)) static void find_next(void) { hp_resolve_all(find_each); }

/* --------------------------------------------------------------------------------------------- files that open */

/* A call whose result is a new descriptor. */
#define MADE(name, ...)                                                                                            \
    HP_NEED(name);                                                                                                 \
    const int result = HP_CALL(name, __VA_ARGS__);                                                                 \
    if (result >= 0)                                                                                               \
        hp_descriptor_forget(result);                                                                              \
    return result

/* What opening one file took; a path that could not be opened is in the row of all that could not. */
#define OPEN_HOOK(public_name, name, parameters, arguments, ...)                                                   \
    HP_PLAIN int plain_##public_name parameters { MADE(name, __VA_ARGS__); }                                       \
    static __attribute__((noinline)) int counted_##public_name parameters                                          \
    {                                                                                                              \
        const struct hp_caller caller = HP_CALLER();                                                               \
        struct hp_io_call call;                                                                                    \
        hp_io_begin_new(&call, HP_IO_OPEN);                                                                        \
        const int result = plain_##public_name arguments;                                                          \
        hp_io_end_new(&call, &caller, result, path);                                                               \
        return result;                                                                                             \
    }                                                                                                              \
    HP_IO_EITHER(public_name, plain_##public_name, int, parameters, arguments)

OPEN_HOOK(open_file, open, (const char *path, int flags, mode_t mode), (path, flags, mode), path, flags, mode)
OPEN_HOOK(open_large, open64, (const char *path, int flags, mode_t mode), (path, flags, mode), path, flags, mode)
OPEN_HOOK(open_at, openat, (int folder, const char *path, int flags, mode_t mode), (folder, path, flags, mode),
          folder, path, flags, mode)
OPEN_HOOK(open_at_large, openat64, (int folder, const char *path, int flags, mode_t mode),
          (folder, path, flags, mode), folder, path, flags, mode)
OPEN_HOOK(create_file, creat, (const char *path, mode_t mode), (path, mode), path, mode)
OPEN_HOOK(create_large, creat64, (const char *path, mode_t mode), (path, mode), path, mode)
#ifdef __GLIBC__
OPEN_HOOK(__open_2, __open_2, (const char *path, int flags), (path, flags), path, flags)
OPEN_HOOK(__open64_2, __open64_2, (const char *path, int flags), (path, flags), path, flags)
OPEN_HOOK(__openat_2, __openat_2, (int folder, const char *path, int flags), (folder, path, flags), folder, path,
          flags)
OPEN_HOOK(__openat64_2, __openat64_2, (int folder, const char *path, int flags), (folder, path, flags), folder,
          path, flags)
#endif

#define STREAM_HOOK(public_name, name)                                                                             \
    HP_PLAIN FILE *plain_##public_name(const char *path, const char *mode)                                         \
    {                                                                                                              \
        HP_NEED(name);                                                                                             \
        FILE *const result = HP_IS_THERE(name) ? next.name(path, mode) : NULL;                                     \
        if (result != NULL)                                                                                        \
            hp_descriptor_forget(fileno(result));                                                                  \
        return result;                                                                                             \
    }                                                                                                              \
    static __attribute__((noinline)) FILE *counted_##public_name(const char *path, const char *mode)               \
    {                                                                                                              \
        const struct hp_caller caller = HP_CALLER();                                                               \
        struct hp_io_call call;                                                                                    \
        hp_io_begin_new(&call, HP_IO_OPEN);                                                                        \
        FILE *const result = plain_##public_name(path, mode);                                                      \
        hp_io_end_new(&call, &caller, result != NULL ? fileno(result) : -1, path);                                 \
        return result;                                                                                             \
    }                                                                                                              \
    HP_IO_EITHER(public_name, plain_##public_name, FILE *, (const char *path, const char *mode), (path, mode))

STREAM_HOOK(open_stream, fopen)
STREAM_HOOK(open_large_stream, fopen64)

/* ---------------------------------------------------------------------------------------------- data at a place */

#define MOVE_HOOK(public_name, name, op, fd, parameters, arguments, ...)                                           \
    HP_PLAIN ssize_t plain_##public_name parameters                                                                \
    {                                                                                                              \
        HP_NEED(name);                                                                                             \
        return HP_CALL(name, __VA_ARGS__);                                                                         \
    }                                                                                                              \
    HP_IO_HOOK(public_name, plain_##public_name, ssize_t, op, fd, parameters, arguments, result)

MOVE_HOOK(read_at, pread, HP_IO_READ, fd, (int fd, void *bytes, size_t size, off_t offset),
          (fd, bytes, size, offset), fd, bytes, size, offset)
MOVE_HOOK(read_at_large, pread64, HP_IO_READ, fd, (int fd, void *bytes, size_t size, int64_t offset),
          (fd, bytes, size, offset), fd, bytes, size, offset)
MOVE_HOOK(write_at, pwrite, HP_IO_WRITE, fd, (int fd, const void *bytes, size_t size, off_t offset),
          (fd, bytes, size, offset), fd, bytes, size, offset)
MOVE_HOOK(write_at_large, pwrite64, HP_IO_WRITE, fd, (int fd, const void *bytes, size_t size, int64_t offset),
          (fd, bytes, size, offset), fd, bytes, size, offset)
MOVE_HOOK(read_pieces_at, preadv, HP_IO_READ, fd, (int fd, const struct iovec *pieces, int count, off_t offset),
          (fd, pieces, count, offset), fd, pieces, count, offset)
MOVE_HOOK(read_pieces_at_large, preadv64, HP_IO_READ, fd,
          (int fd, const struct iovec *pieces, int count, int64_t offset), (fd, pieces, count, offset), fd, pieces,
          count, offset)
MOVE_HOOK(write_pieces_at, pwritev, HP_IO_WRITE, fd, (int fd, const struct iovec *pieces, int count, off_t offset),
          (fd, pieces, count, offset), fd, pieces, count, offset)
MOVE_HOOK(write_pieces_at_large, pwritev64, HP_IO_WRITE, fd,
          (int fd, const struct iovec *pieces, int count, int64_t offset), (fd, pieces, count, offset), fd, pieces,
          count, offset)
MOVE_HOOK(copy_range, copy_file_range, HP_IO_COPY, out,
          (int in, void *in_offset, int out, void *out_offset, size_t size, unsigned flags),
          (in, in_offset, out, out_offset, size, flags), in, in_offset, out, out_offset, size, flags)
#ifdef __GLIBC__
MOVE_HOOK(__pread_chk, __pread_chk, HP_IO_READ, fd, (int fd, void *bytes, size_t size, off_t offset, size_t room),
          (fd, bytes, size, offset, room), fd, bytes, size, offset, room)
MOVE_HOOK(__pread64_chk, __pread64_chk, HP_IO_READ, fd,
          (int fd, void *bytes, size_t size, int64_t offset, size_t room), (fd, bytes, size, offset, room), fd,
          bytes, size, offset, room)
MOVE_HOOK(read_pieces_by, preadv2, HP_IO_READ, fd,
          (int fd, const struct iovec *pieces, int count, off_t offset, int flags),
          (fd, pieces, count, offset, flags), fd, pieces, count, offset, flags)
MOVE_HOOK(read_pieces_by_large, preadv64v2, HP_IO_READ, fd,
          (int fd, const struct iovec *pieces, int count, int64_t offset, int flags),
          (fd, pieces, count, offset, flags), fd, pieces, count, offset, flags)
MOVE_HOOK(write_pieces_by, pwritev2, HP_IO_WRITE, fd,
          (int fd, const struct iovec *pieces, int count, off_t offset, int flags),
          (fd, pieces, count, offset, flags), fd, pieces, count, offset, flags)
MOVE_HOOK(write_pieces_by_large, pwritev64v2, HP_IO_WRITE, fd,
          (int fd, const struct iovec *pieces, int count, int64_t offset, int flags),
          (fd, pieces, count, offset, flags), fd, pieces, count, offset, flags)
#endif

/* -------------------------------------------------------------------------------- calls that move no data */

#define CALL_HOOK(public_name, name, op, parameters, arguments, ...)                                               \
    HP_PLAIN int plain_##public_name parameters                                                                    \
    {                                                                                                              \
        HP_NEED(name);                                                                                             \
        return HP_CALL(name, __VA_ARGS__);                                                                         \
    }                                                                                                              \
    HP_IO_HOOK(public_name, plain_##public_name, int, op, fd, parameters, arguments, result >= 0 ? 0 : -1)

CALL_HOOK(fsync, fsync, HP_IO_SYNC, (int fd), (fd), fd)
CALL_HOOK(fdatasync, fdatasync, HP_IO_SYNC, (int fd), (fd), fd)
CALL_HOOK(syncfs, syncfs, HP_IO_SYNC, (int fd), (fd), fd)
CALL_HOOK(sync_file_range, sync_file_range, HP_IO_SYNC, (int fd, off_t offset, off_t size, unsigned flags),
          (fd, offset, size, flags), fd, offset, size, flags)

/* --- sockets. One that is connected has another name from then on, so the call counts for that. */

HP_PLAIN int plain_connect_to(int fd, const void *address, socklen_t size)
{
    HP_NEED(connect);
    return HP_CALL(connect, fd, address, size);
}

static __attribute__((noinline)) int counted_connect_to(int fd, const void *address, socklen_t size)
{
    const struct hp_caller caller = HP_CALLER();
    struct hp_io_call call;
    hp_io_begin_new(&call, HP_IO_CONNECT);
    const int result = plain_connect_to(fd, address, size);
    hp_io_end_connect(&call, &caller, result, &(struct hp_io_peer){fd, address, size});
    return result;
}

HP_IO_EITHER(connect_to, plain_connect_to, int, (int fd, const void *address, socklen_t size), (fd, address, size))

/* It counts for the socket that listens. */
#define NEW_HOOK(public_name, name, op, parameters, arguments, ...)                                                \
    HP_PLAIN int plain_##public_name parameters { MADE(name, __VA_ARGS__); }                                       \
    HP_IO_HOOK(public_name, plain_##public_name, int, op, fd, parameters, arguments, result >= 0 ? 0 : -1)

NEW_HOOK(accept_one, accept, HP_IO_ACCEPT, (int fd, void *address, socklen_t *size), (fd, address, size), fd,
         address, size)
NEW_HOOK(accept_one_with, accept4, HP_IO_ACCEPT, (int fd, void *address, socklen_t *size, int flags),
         (fd, address, size, flags), fd, address, size, flags)

/* --- new descriptors that are no operation */

HP_PUBLIC int socket(int domain, int type, int protocol) { MADE(socket, domain, type, protocol); }
HP_PUBLIC int dup(int fd) { MADE(dup, fd); }

/* ------------------------------------------------------------------------------------------------ host names */

HP_PLAIN int plain_look_up(const char *host, const char *service, const struct addrinfo *hints,
                           struct addrinfo **found)
{
    HP_NEED(getaddrinfo);
    return HP_IS_THERE(getaddrinfo) ? next.getaddrinfo(host, service, hints, found) : EAI_SYSTEM;
}

static __attribute__((noinline)) int counted_look_up(const char *host, const char *service,
                                                     const struct addrinfo *hints, struct addrinfo **found)
{
    const struct hp_caller caller = HP_CALLER();
    struct hp_io_call call;
    hp_io_begin_named(&call, HP_IO_LOOKUP, HP_IO_HOST, host != NULL ? host : "this host");
    const int result = plain_look_up(host, service, hints, found);
    hp_io_end(&call, &caller, result == 0 ? 0 : result == EAI_SYSTEM ? -1 : HP_IO_FAILED_OTHERWISE);
    return result;
}

HP_IO_EITHER(look_up, plain_look_up, int,
             (const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found),
             (host, service, hints, found))
