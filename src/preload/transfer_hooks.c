/*
 * Interposed functions that move data through descriptors, in the library that `hotpath run` preloads. They report
 * calls on channels (descriptors.h) to the recorder, and with --io all calls (io_calls.h), and forward them
 * unchanged: results, errno, signals and cancellation are those of the C library. Also the functions that close or
 * replace descriptors. SPDX-License-Identifier: MIT
 */
#undef _FORTIFY_SOURCE /* it has its own read */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "descriptors.h"
#include "io_calls.h"
#include "real_functions.h"

/* Missing in some headers, ... */
HP_PUBLIC ssize_t __read_chk(int fd, void *bytes, size_t size, size_t room);
HP_PUBLIC ssize_t __recv_chk(int fd, void *bytes, size_t size, size_t room, int flags);
HP_PUBLIC ssize_t __recvfrom_chk(int fd, void *bytes, size_t size, size_t room, int flags, void *from,
                                 socklen_t *from_size);
HP_PUBLIC int close_numbers(unsigned first, unsigned last, int flags) __asm__("close_range");
HP_PUBLIC void close_from(int first) __asm__("closefrom");
/* With one argument behind, which some commands do not have: as the C library itself passes it on. */
HP_PUBLIC int control_file(int fd, int command, void *argument) __asm__("fcntl");
HP_PUBLIC int control_large_file(int fd, int command, void *argument) __asm__("fcntl64");
HP_PUBLIC int control_device(int fd, unsigned long request, void *argument) __asm__("ioctl");
HP_PUBLIC ssize_t sendfile(int out, int in, void *offset, size_t size);
HP_PUBLIC ssize_t sendfile64(int out, int in, void *offset, size_t size);
/* ... which declare these with other types. */
HP_PUBLIC ssize_t send_to(int fd, const void *bytes, size_t size, int flags, const void *to,
                          socklen_t to_size) __asm__("sendto");
HP_PUBLIC ssize_t receive_from(int fd, void *bytes, size_t size, int flags, void *from,
                               socklen_t *from_size) __asm__("recvfrom");
HP_PUBLIC int send_many(int fd, struct mmsghdr *messages, unsigned count, unsigned flags) __asm__("sendmmsg");
HP_PUBLIC int receive_many(int fd, struct mmsghdr *messages, unsigned count, unsigned flags,
                           struct timespec *timeout) __asm__("recvmmsg");

/* clang-format off */
#ifdef __GLIBC__
#define FORTIFIED(DO) DO(__read_chk) DO(__recv_chk) DO(__recvfrom_chk)
#else
#define FORTIFIED(DO)
#endif
#define EACH(DO, AS)                                                                                               \
    DO(read) DO(write) DO(readv) DO(writev) DO(eventfd_read) DO(eventfd_write) DO(splice) DO(sendfile)             \
    DO(sendfile64) DO(send) DO(recv) AS(sendto, send_to) AS(recvfrom, receive_from) DO(sendmsg) DO(recvmsg)        \
    AS(sendmmsg, send_many) AS(recvmmsg, receive_many) FORTIFIED(DO) DO(close) AS(close_range, close_numbers)      \
    AS(closefrom, close_from) AS(fcntl, control_file) AS(fcntl64, control_large_file) AS(ioctl, control_device)    \
    DO(dup2) DO(dup3) DO(socketpair) DO(pipe) DO(pipe2) DO(eventfd)
/* clang-format on */
HP_REAL_FUNCTIONS(EACH)

__attribute__((constructor)) static void find_next(void) { hp_resolve_all(find_each); }

/* ------------------------------------------------------------------------------------------------- a call */

static bool is_refused(const struct hotpath_transfer_ *transfer, ssize_t result)
{
    return result < 0 && transfer->is_sending && (errno == EAGAIN || errno == EWOULDBLOCK);
}

/* An eventfd transfers a number; all others the bytes that the call returns. */
static void end(const struct hotpath_transfer_ *transfer, ssize_t result, const void *bytes)
{
    uint64_t items = result > 0, moved = result > 0 ? (uint64_t)result : 0;
    if (transfer->kind == HOTPATH_MESSAGES_) {
        items = 0;
        if (moved == sizeof items && bytes != NULL)
            memcpy(&items, bytes, sizeof items);
        moved = 0;
    }
    hotpath_v1_transferred(transfer, items, moved, is_refused(transfer, result));
}

/* `bytes`: the call's data if contiguous, else NULL. */
#define MOVE_IF(is_wanted, how, fd, bytes, name, ...)                                                              \
    struct hotpath_transfer_ transfer;                                                                             \
    HP_NEED(name);                                                                                                 \
    const bool is_known = (is_wanted) && hp_transfer_begin(fd, how, &transfer);                                    \
    const ssize_t result = HP_CALL(name, __VA_ARGS__);                                                             \
    if (__builtin_expect(is_known, 0))                                                                             \
        end(&transfer, result, bytes);                                                                             \
    return result
#define RECEIVE(fd, bytes, name, ...) MOVE_IF(true, HP_RECEIVING, fd, bytes, name, __VA_ARGS__)
#define SEND(fd, bytes, name, ...) MOVE_IF(true, HP_SENDING, fd, bytes, name, __VA_ARGS__)
#define WITH(flags) ((flags)&MSG_DONTWAIT ? HP_AT_ONCE : 0)
#define SEND_BY(flags, fd, name, ...) MOVE_IF(true, HP_SENDING | WITH(flags), fd, NULL, name, __VA_ARGS__)
/* Data that is only peeked at stays in the channel, and is read again. */
#define RECEIVE_BY(flags, fd, name, ...)                                                                           \
    MOVE_IF(!((flags)&MSG_PEEK), HP_RECEIVING | WITH(flags), fd, NULL, name, __VA_ARGS__)
#define UNLESS_PEEKED(flags, moved) (((flags)&MSG_PEEK) && (moved) > 0 ? 0 : (moved))

HP_PLAIN ssize_t plain_read(int fd, void *bytes, size_t size) { RECEIVE(fd, bytes, read, fd, bytes, size); }
HP_IO_HOOK(read, plain_read, ssize_t, HP_IO_READ, fd, (int fd, void *bytes, size_t size), (fd, bytes, size), result)

HP_PLAIN ssize_t plain_write(int fd, const void *bytes, size_t size) { SEND(fd, bytes, write, fd, bytes, size); }
HP_IO_HOOK(write, plain_write, ssize_t, HP_IO_WRITE, fd, (int fd, const void *bytes, size_t size),
           (fd, bytes, size), result)

HP_PLAIN ssize_t plain_readv(int fd, const struct iovec *pieces, int count)
{
    RECEIVE(fd, NULL, readv, fd, pieces, count);
}
HP_IO_HOOK(readv, plain_readv, ssize_t, HP_IO_READ, fd, (int fd, const struct iovec *pieces, int count),
           (fd, pieces, count), result)

HP_PLAIN ssize_t plain_writev(int fd, const struct iovec *pieces, int count)
{
    SEND(fd, NULL, writev, fd, pieces, count);
}
HP_IO_HOOK(writev, plain_writev, ssize_t, HP_IO_WRITE, fd, (int fd, const struct iovec *pieces, int count),
           (fd, pieces, count), result)

HP_PLAIN ssize_t plain_sendfile(int out, int in, void *offset, size_t size)
{
    SEND(out, NULL, sendfile, out, in, offset, size);
}
HP_IO_HOOK(sendfile, plain_sendfile, ssize_t, HP_IO_SENDFILE, out, (int out, int in, void *offset, size_t size),
           (out, in, offset, size), result)

HP_PLAIN ssize_t plain_sendfile64(int out, int in, void *offset, size_t size)
{
    SEND(out, NULL, sendfile64, out, in, offset, size);
}
HP_IO_HOOK(sendfile64, plain_sendfile64, ssize_t, HP_IO_SENDFILE, out, (int out, int in, void *offset, size_t size),
           (out, in, offset, size), result)

/* Both ends may be channels. Which one it waited for is unknown, so the wait counts for both. */
HP_PLAIN ssize_t plain_splice(int from, off_t *from_offset, int to, off_t *to_offset, size_t size, unsigned flags)
{
    struct hotpath_transfer_ out;
    const unsigned at_once = flags & SPLICE_F_NONBLOCK ? HP_AT_ONCE : 0;
    const bool has_out = hp_transfer_begin(from, HP_RECEIVING | at_once, &out);
    HP_NEED(splice);
    struct hotpath_transfer_ in;
    const bool has_in = hp_transfer_begin(to, HP_SENDING | at_once, &in);
    const ssize_t result = HP_CALL(splice, from, from_offset, to, to_offset, size, flags);
    if (has_out)
        end(&out, result, NULL);
    if (has_in)
        end(&in, result, NULL);
    return result;
}

/* A call that has begun at `since` and is over. */
HP_PLAIN void tell_after(int number, unsigned how, uint64_t since, ssize_t result)
{
    struct hotpath_transfer_ transfer;
    if (!hp_transfer_begin(number, how, &transfer))
        return;
    if (since != 0)
        transfer.since = since;
    end(&transfer, result, NULL);
}

/* Two functions instead of one more argument: each register that is saved takes stack. */
#define TELL_BOTH(name, at_once)                                                                                   \
    static __attribute__((noinline)) ssize_t name(int from, int to, uint64_t since, ssize_t result)                \
    {                                                                                                              \
        tell_after(from, HP_RECEIVING | (at_once), since, result);                                                 \
        tell_after(to, HP_SENDING | (at_once), since, result);                                                     \
        return result;                                                                                             \
    }
TELL_BOTH(tell_both, 0)
TELL_BOTH(tell_both_at_once, HP_AT_ONCE)

/*
 * The channels are told afterwards, by a function that it ends with: for both together, and --io, there is too
 * little stack.
 */
static __attribute__((noinline)) ssize_t counted_splice(int from, off_t *from_offset, int to, off_t *to_offset,
                                                        size_t size, unsigned flags)
{
    ssize_t result;
    uint64_t since;
    {
        struct hp_io_call call;
        HP_NEED(splice);
        hp_io_begin(&call, HP_IO_SPLICE, to);
        result = HP_CALL(splice, from, from_offset, to, to_offset, size, flags);
        const struct hp_caller caller = HP_CALLER();
        hp_io_end(&call, &caller, result);
        since = hp_io_began(&call);
    }
    return flags & SPLICE_F_NONBLOCK ? tell_both_at_once(from, to, since, result)
                                     : tell_both(from, to, since, result);
}
HP_IO_EITHER(splice, plain_splice, ssize_t,
             (int from, off_t *from_offset, int to, off_t *to_offset, size_t size, unsigned flags),
             (from, from_offset, to, to_offset, size, flags))

/* --- eventfds: these return 0 */

#define COUNT(how, name, value)                                                                                    \
    struct hotpath_transfer_ transfer;                                                                             \
    HP_NEED(name);                                                                                                 \
    const bool is_known = hp_transfer_begin(fd, how, &transfer);                                                   \
    const int result = HP_CALL(name, fd, value);                                                                   \
    if (is_known)                                                                                                  \
        end(&transfer, result == 0 ? (ssize_t)sizeof(eventfd_t) : -1, counted);                                    \
    return result

HP_PLAIN int plain_eventfd_read(int fd, eventfd_t *counted) { COUNT(HP_RECEIVING, eventfd_read, counted); }
HP_IO_HOOK(eventfd_read, plain_eventfd_read, int, HP_IO_READ, fd, (int fd, eventfd_t *counted), (fd, counted),
           result == 0 ? (int64_t)sizeof(eventfd_t) : -1)

HP_PLAIN int plain_eventfd_write(int fd, eventfd_t value)
{
    const eventfd_t *counted = &value;
    COUNT(HP_SENDING, eventfd_write, value);
}
HP_IO_HOOK(eventfd_write, plain_eventfd_write, int, HP_IO_WRITE, fd, (int fd, eventfd_t value), (fd, value),
           result == 0 ? (int64_t)sizeof(eventfd_t) : -1)

/* ------------------------------------------------------------------------------------------------- sockets */

HP_PLAIN ssize_t plain_send(int fd, const void *bytes, size_t size, int flags)
{
    SEND_BY(flags, fd, send, fd, bytes, size, flags);
}
HP_IO_HOOK(send, plain_send, ssize_t, HP_IO_SEND, fd, (int fd, const void *bytes, size_t size, int flags),
           (fd, bytes, size, flags), result)

HP_PLAIN ssize_t plain_send_to(int fd, const void *bytes, size_t size, int flags, const void *to, socklen_t to_size)
{
    SEND_BY(flags, fd, sendto, fd, bytes, size, flags, to, to_size);
}
HP_IO_HOOK(send_to, plain_send_to, ssize_t, HP_IO_SEND, fd,
           (int fd, const void *bytes, size_t size, int flags, const void *to, socklen_t to_size),
           (fd, bytes, size, flags, to, to_size), result)

HP_PLAIN ssize_t plain_sendmsg(int fd, const struct msghdr *message, int flags)
{
    SEND_BY(flags, fd, sendmsg, fd, message, flags);
}
HP_IO_HOOK(sendmsg, plain_sendmsg, ssize_t, HP_IO_SEND, fd, (int fd, const struct msghdr *message, int flags),
           (fd, message, flags), result)

HP_PLAIN ssize_t plain_recv(int fd, void *bytes, size_t size, int flags)
{
    RECEIVE_BY(flags, fd, recv, fd, bytes, size, flags);
}
HP_IO_HOOK(recv, plain_recv, ssize_t, HP_IO_RECV, fd, (int fd, void *bytes, size_t size, int flags),
           (fd, bytes, size, flags), UNLESS_PEEKED(flags, result))

HP_PLAIN ssize_t plain_receive_from(int fd, void *bytes, size_t size, int flags, void *from, socklen_t *from_size)
{
    RECEIVE_BY(flags, fd, recvfrom, fd, bytes, size, flags, from, from_size);
}
HP_IO_HOOK(receive_from, plain_receive_from, ssize_t, HP_IO_RECV, fd,
           (int fd, void *bytes, size_t size, int flags, void *from, socklen_t *from_size),
           (fd, bytes, size, flags, from, from_size), UNLESS_PEEKED(flags, result))

HP_PLAIN ssize_t plain_recvmsg(int fd, struct msghdr *message, int flags)
{
    RECEIVE_BY(flags, fd, recvmsg, fd, message, flags);
}
HP_IO_HOOK(recvmsg, plain_recvmsg, ssize_t, HP_IO_RECV, fd, (int fd, struct msghdr *message, int flags),
           (fd, message, flags), UNLESS_PEEKED(flags, result))

/* Several messages in one call. -1: it failed. */
static int64_t bytes_of_many(const struct mmsghdr *messages, int result)
{
    int64_t bytes = 0;
    for (int at = 0; at < result; at++)
        bytes += messages[at].msg_len;
    return result >= 0 ? bytes : -1;
}

static void end_many(const struct hotpath_transfer_ *transfer, const struct mmsghdr *messages, int result)
{
    hotpath_v1_transferred(transfer, result > 0 ? (uint64_t)result : 0,
                           result > 0 ? (uint64_t)bytes_of_many(messages, result) : 0,
                           is_refused(transfer, result));
}

HP_PLAIN int plain_send_many(int fd, struct mmsghdr *messages, unsigned count, unsigned flags)
{
    struct hotpath_transfer_ transfer;
    HP_NEED(sendmmsg);
    const bool is_known = hp_transfer_begin(fd, HP_SENDING | WITH(flags), &transfer);
    const int result = HP_CALL(sendmmsg, fd, messages, count, flags);
    if (is_known)
        end_many(&transfer, messages, result);
    return result;
}
HP_IO_HOOK(send_many, plain_send_many, int, HP_IO_SEND, fd,
           (int fd, struct mmsghdr *messages, unsigned count, unsigned flags), (fd, messages, count, flags),
           bytes_of_many(messages, result))

HP_PLAIN int plain_receive_many(int fd, struct mmsghdr *messages, unsigned count, unsigned flags,
                                struct timespec *timeout)
{
    struct hotpath_transfer_ transfer;
    HP_NEED(recvmmsg);
    const bool is_known = !(flags & MSG_PEEK) && hp_transfer_begin(fd, HP_RECEIVING | WITH(flags), &transfer);
    const int result = HP_CALL(recvmmsg, fd, messages, count, flags, timeout);
    if (is_known)
        end_many(&transfer, messages, result);
    return result;
}
HP_IO_HOOK(receive_many, plain_receive_many, int, HP_IO_RECV, fd,
           (int fd, struct mmsghdr *messages, unsigned count, unsigned flags, struct timespec *timeout),
           (fd, messages, count, flags, timeout), UNLESS_PEEKED(flags, bytes_of_many(messages, result)))

#ifdef __GLIBC__
HP_PLAIN ssize_t plain___read_chk(int fd, void *bytes, size_t size, size_t room)
{
    RECEIVE(fd, bytes, __read_chk, fd, bytes, size, room);
}
HP_IO_HOOK(__read_chk, plain___read_chk, ssize_t, HP_IO_READ, fd, (int fd, void *bytes, size_t size, size_t room),
           (fd, bytes, size, room), result)

HP_PLAIN ssize_t plain___recv_chk(int fd, void *bytes, size_t size, size_t room, int flags)
{
    RECEIVE_BY(flags, fd, __recv_chk, fd, bytes, size, room, flags);
}
HP_IO_HOOK(__recv_chk, plain___recv_chk, ssize_t, HP_IO_RECV, fd,
           (int fd, void *bytes, size_t size, size_t room, int flags), (fd, bytes, size, room, flags),
           UNLESS_PEEKED(flags, result))

HP_PLAIN ssize_t plain___recvfrom_chk(int fd, void *bytes, size_t size, size_t room, int flags, void *from,
                                      socklen_t *from_size)
{
    RECEIVE_BY(flags, fd, __recvfrom_chk, fd, bytes, size, room, flags, from, from_size);
}
HP_IO_HOOK(__recvfrom_chk, plain___recvfrom_chk, ssize_t, HP_IO_RECV, fd,
           (int fd, void *bytes, size_t size, size_t room, int flags, void *from, socklen_t *from_size),
           (fd, bytes, size, room, flags, from, from_size), UNLESS_PEEKED(flags, result))

#endif

/* --------------------------------------------------------------------------------- descriptors that change */

HP_PUBLIC int close(int fd)
{
    HP_NEED(close);
    const uint64_t was = hp_descriptor_forget(fd);
    const int result = HP_CALL(close, fd);
    hp_descriptor_forget(fd);
    hp_descriptor_closed(was);
    return result;
}

#define ONLY_AT_EXEC 4 /* CLOSE_RANGE_CLOEXEC */

HP_PUBLIC int close_numbers(unsigned first, unsigned last, int flags)
{
    HP_NEED(close_range);
    if (!(flags & ONLY_AT_EXEC))
        hp_descriptor_close_range(first, last);
    const int result = HP_CALL(close_range, first, last, flags);
    if (!(flags & ONLY_AT_EXEC))
        hp_descriptor_forget_range(first, last);
    return result;
}

HP_PUBLIC void close_from(int first)
{
    HP_NEED(closefrom);
    hp_descriptor_close_range(first > 0 ? (unsigned)first : 0, HP_DESCRIPTORS);
    if (HP_IS_THERE(closefrom))
        next.closefrom(first);
    else /* an older C library lacks it; without us the caller would have found nothing */
        for (long fd = first, end = sysconf(_SC_OPEN_MAX); fd < end && HP_IS_THERE(close); fd++)
            next.close((int)fd);
    hp_descriptor_forget_range(first > 0 ? (unsigned)first : 0, HP_DESCRIPTORS);
}

#define REPLACE(name, ...)                                                                                         \
    HP_NEED(name);                                                                                                 \
    const uint64_t was = from != to ? hp_descriptor_forget(to) : HP_UNKNOWN;                                       \
    const int result = HP_CALL(name, __VA_ARGS__);                                                                 \
    if (from != to)                                                                                                \
        hp_descriptor_forget(to);                                                                                  \
    hp_descriptor_closed(result >= 0 ? was : HP_UNKNOWN);                                                          \
    return result

HP_PUBLIC int dup2(int from, int to) { REPLACE(dup2, from, to); }
HP_PUBLIC int dup3(int from, int to, int flags) { REPLACE(dup3, from, to, flags); }

/* --- whether calls on it wait */

#define CONTROL_FILE(name)                                                                                         \
    HP_NEED(name);                                                                                                 \
    const int result = HP_CALL(name, fd, command, argument);                                                       \
    if (__builtin_expect(command == F_SETFL && result == 0, 0))                                                    \
        hp_descriptor_set_nonblocking(fd, (uintptr_t)argument &O_NONBLOCK);                                        \
    return result

HP_PUBLIC int control_file(int fd, int command, void *argument) { CONTROL_FILE(fcntl); }
HP_PUBLIC int control_large_file(int fd, int command, void *argument) { CONTROL_FILE(fcntl64); }

HP_PUBLIC int control_device(int fd, unsigned long request, void *argument)
{
    HP_NEED(ioctl);
    const int result = HP_CALL(ioctl, fd, request, argument);
    if (__builtin_expect((uint32_t)request == FIONBIO && result == 0, 0))
        hp_descriptor_set_nonblocking(fd, *(const int *)argument != 0);
    return result;
}

HP_PUBLIC int socketpair(int domain, int type, int protocol, int ends[2])
{
    HP_NEED(socketpair);
    const int result = HP_CALL(socketpair, domain, type, protocol, ends);
    if (result == 0 && domain == AF_UNIX)
        hp_descriptor_socket_pair(ends, type & SOCK_NONBLOCK);
    return result;
}

#define MAKE_PIPE(flags, name, ...)                                                                                \
    HP_NEED(name);                                                                                                 \
    const int result = HP_CALL(name, __VA_ARGS__);                                                                 \
    if (result == 0)                                                                                               \
        hp_descriptor_pipe(ends, (flags)&O_NONBLOCK);                                                              \
    return result

HP_PUBLIC int pipe(int ends[2]) { MAKE_PIPE(0, pipe, ends); }
HP_PUBLIC int pipe2(int ends[2], int flags) { MAKE_PIPE(flags, pipe2, ends, flags); }

HP_PUBLIC int eventfd(unsigned first, int flags)
{
    HP_NEED(eventfd);
    const int result = HP_CALL(eventfd, first, flags);
    if (result >= 0)
        hp_descriptor_prepare(result);
    return result;
}
