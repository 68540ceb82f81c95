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

static struct hp_bound_function get_fd = HP_BOUND("SSL_get_fd"), want = HP_BOUND("SSL_want"),
                                get_shutdown = HP_BOUND("SSL_get_shutdown"), in_init = HP_BOUND("SSL_in_init");
#define RECEIVED_SHUTDOWN 2
#define WANTS_NOTHING 1

/* Asks the copy of OpenSSL that `function` is in. -1: it cannot be asked. */
static __attribute__((noinline)) int ask(struct hp_bound_function *question, uintptr_t function, void *connection)
{
    struct hp_loaded_function found;
    const bool is_there = hp_bound_beside(question, function, &found);
    return is_there ? ((int (*)(void *))found.address)(connection) : -1;
}

/* By its descriptor. A connection that reads and writes memory, or by functions of the program, has none. */
static __attribute__((noinline)) void begin_tls(struct hp_io_call *call, enum hp_io_op op, uintptr_t function,
                                                void *connection)
{
    const int fd = ask(&get_fd, function, connection);
    if (fd >= 0)
        hp_io_begin(call, op, fd);
    else
        hp_io_begin_named(call, op, HP_IO_OTHER, "TLS");
}

/*
 * What SSL_get_error would say, which looks at the thread's queue of errors and is not called: the other side has
 * closed the connection in order, which no error has done that leaves it in the middle of a handshake; or a
 * connection without a descriptor needs more bytes, or room for them, which errno tells of one that has one.
 */
static __attribute__((noinline)) int64_t outcome_of(uintptr_t function, void *connection)
{
    const int shutdown = ask(&get_shutdown, function, connection);
    if (shutdown >= 0 && (shutdown & RECEIVED_SHUTDOWN) && ask(&in_init, function, connection) == 0)
        return 0;
    if (errno == 0 && ask(&want, function, connection) > WANTS_NOTHING && ask(&get_fd, function, connection) < 0)
        return HP_IO_AGAIN;
    return errno != 0 ? -1 : HP_IO_FAILED_OTHERWISE;
}

/* OpenSSL sets errno only if the system has failed. */
static void end_tls(const struct hp_io_call *call, const struct hp_caller *caller, uintptr_t function,
                    void *connection, int64_t moved, int before)
{
    hp_io_end(call, caller, moved > 0 ? moved : outcome_of(function, connection));
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
        end_tls(&call, &caller, found.address, connection, moved, before);                                         \
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
