/*
 * Interposed functions of OpenSSL that read and write, in the library that `hotpath run --io` preloads: what the
 * program itself moves, before it is encrypted. Each call goes on to the copy of OpenSSL that its image is bound
 * to.
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "io_calls.h"
#include "real_functions.h"

static struct hp_bound_function get_fd = HP_BOUND("SSL_get_fd");

/*
 * By its descriptor, which the same copy of OpenSSL is asked for. A connection that reads and writes memory, or by
 * functions of the program, has none.
 */
static __attribute__((noinline)) void begin_tls(struct hp_io_call *call, enum hp_io_op op, uintptr_t function,
                                                void *connection)
{
    struct hp_loaded_function found;
    const bool is_there = hp_bound_beside(&get_fd, function, &found);
    const int fd = is_there ? ((int (*)(void *))found.address)(connection) : -1;
    if (fd >= 0)
        hp_io_begin(call, op, fd);
    else
        hp_io_begin_named(call, op, HP_IO_OTHER, "TLS");
}

/* OpenSSL sets errno only if the system has failed. */
static void end_tls(const struct hp_io_call *call, const struct hp_caller *caller, int64_t moved, int before)
{
    if (moved > 0)
        hp_io_end(call, caller, moved);
    else
        hp_io_end(call, caller, errno != 0 ? -1 : HP_IO_FAILED_OTHERWISE);
    if (errno == 0)
        errno = before;
}

/* As in its headers, which are not needed to build us. Without OpenSSL the caller would not have found it. */
#define HOOK(name, op, parameters, moved, version, ...)                                                            \
    static struct hp_bound_function hooked_##name = HP_BOUND(#name);                                               \
    HP_LIBRARY_HOOK(int, name, parameters);                                                                        \
    int hook_##name parameters                                                                                     \
    {                                                                                                              \
        const struct hp_caller caller = HP_CALLER();                                                               \
        struct hp_loaded_function found;                                                                           \
        struct hp_io_call call;                                                                                    \
        if (!hp_bound_find(&hooked_##name, (const void *)caller.pc, connection, &found))                           \
            return -1;                                                                                             \
        __typeof__(hook_##name) *const function = (__typeof__(hook_##name) *)found.address;                        \
        if (!hp_io_is_counted)                                                                                     \
            return function(__VA_ARGS__);                                                                          \
        begin_tls(&call, op, found.address, connection);                                                           \
        const int before = errno;                                                                                  \
        errno = 0;                                                                                                 \
        const int result = function(__VA_ARGS__);                                                                  \
        end_tls(&call, &caller, moved, before);                                                                    \
        return result;                                                                                             \
    }                                                                                                              \
    HP_LIBRARY_HOOK_TOO(name, version)

HOOK(SSL_read, HP_IO_TLS_READ, (void *connection, void *bytes, int size), result, "OPENSSL_3.0.0", connection,
     bytes, size);
HOOK(SSL_write, HP_IO_TLS_WRITE, (void *connection, const void *bytes, int size), result, "OPENSSL_3.0.0",
     connection, bytes, size);
HOOK(SSL_read_ex, HP_IO_TLS_READ, (void *connection, void *bytes, size_t size, size_t *ret_size),
     result > 0 ? (int64_t)*ret_size : -1, "OPENSSL_3.0.0", connection, bytes, size, ret_size);
HOOK(SSL_write_ex, HP_IO_TLS_WRITE, (void *connection, const void *bytes, size_t size, size_t *ret_size),
     result > 0 ? (int64_t)*ret_size : -1, "OPENSSL_3.0.0", connection, bytes, size, ret_size);
