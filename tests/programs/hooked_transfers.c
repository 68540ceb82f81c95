/* Functions that move data through a descriptor: see hooked.c. */
#include "hooked.h"

#include <sys/sendfile.h>
#include <sys/uio.h>

/* ---------------------------------------------------------------------------------------- one form for them all */

typedef long transfer(int fd, char *bytes, size_t count);

/* Kinds of channels; a function works with some of them. */
enum { PIPE = 1, STREAM = 2, PACKETS = 4, ALL = PIPE | STREAM | PACKETS, SOCKETS = STREAM | PACKETS };

struct function {
    const char *name;
    transfer *run;
    int kinds;
    bool has_address; /* of the program, which can be a bad one */
};

static long by_read(int fd, char *bytes, size_t count) { return read(fd, bytes, count); }

static long by_readv(int fd, char *bytes, size_t count)
{
    const struct iovec parts[] = {{bytes, count / 2}, {bytes + count / 2, count - count / 2}};
    return readv(fd, parts, 2);
}

static long by_recv(int fd, char *bytes, size_t count) { return recv(fd, bytes, count, 0); }

static long by_recvfrom(int fd, char *bytes, size_t count) { return recvfrom(fd, bytes, count, 0, NULL, NULL); }

static long by_recvmsg(int fd, char *bytes, size_t count)
{
    struct iovec part = {bytes, count};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    return recvmsg(fd, &message, 0);
}

static long by_recvmmsg(int fd, char *bytes, size_t count)
{
    struct iovec part = {bytes, count};
    struct mmsghdr messages[2] = {{.msg_hdr = {.msg_iov = &part, .msg_iovlen = 1}}};
    const long received = recvmmsg(fd, messages, 1, 0, NULL);
    return received == 1 ? (long)messages[0].msg_len : received;
}

/* Between two pipes. */
static long by_splice(int fd, char *bytes, size_t count)
{
    int aside[2];
    MUST(pipe(aside) == 0);
    errno = UNTOUCHED;
    const long moved = splice(fd, NULL, aside[1], NULL, count, 0);
    const int saved = errno;
    if (moved > 0)
        MUST(syscall(SYS_read, aside[0], bytes, count) == moved);
    close(aside[0]);
    close(aside[1]);
    errno = saved;
    return moved;
}

#ifdef __GLIBC__
extern ssize_t __read_chk(int fd, void *bytes, size_t count, size_t room);
extern ssize_t __recv_chk(int fd, void *bytes, size_t count, size_t room, int flags);
extern ssize_t __recvfrom_chk(int fd, void *bytes, size_t count, size_t room, int flags, struct sockaddr *from,
                              socklen_t *length);

static long by_read_chk(int fd, char *bytes, size_t count) { return __read_chk(fd, bytes, count, count); }
static long by_recv_chk(int fd, char *bytes, size_t count) { return __recv_chk(fd, bytes, count, count, 0); }
static long by_recvfrom_chk(int fd, char *bytes, size_t count)
{
    return __recvfrom_chk(fd, bytes, count, count, 0, NULL, NULL);
}
#endif

static const struct function readers[] = {
    {"read", by_read, ALL, true},
    {"readv", by_readv, ALL, true},
    {"recv", by_recv, SOCKETS, true},
    {"recvfrom", by_recvfrom, SOCKETS, true},
    {"recvmsg", by_recvmsg, SOCKETS, true},
    {"recvmmsg", by_recvmmsg, SOCKETS, true},
    {"splice", by_splice, PIPE | STREAM, false},
#ifdef __GLIBC__
    {"__read_chk", by_read_chk, ALL, true},
    {"__recv_chk", by_recv_chk, SOCKETS, true},
    {"__recvfrom_chk", by_recvfrom_chk, SOCKETS, true},
#endif
};

static long by_write(int fd, char *bytes, size_t count) { return write(fd, bytes, count); }

static long by_writev(int fd, char *bytes, size_t count)
{
    const struct iovec parts[] = {{bytes, count / 2}, {bytes + count / 2, count - count / 2}};
    return writev(fd, parts, 2);
}

static long by_send(int fd, char *bytes, size_t count) { return send(fd, bytes, count, 0); }
static long by_quiet_send(int fd, char *bytes, size_t count) { return send(fd, bytes, count, MSG_NOSIGNAL); }
static long by_sendto(int fd, char *bytes, size_t count) { return sendto(fd, bytes, count, 0, NULL, 0); }

static long by_sendmsg(int fd, char *bytes, size_t count)
{
    struct iovec part = {bytes, count};
    const struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    return sendmsg(fd, &message, 0);
}

static long by_sendmmsg(int fd, char *bytes, size_t count)
{
    struct iovec part = {bytes, count};
    struct mmsghdr messages[1] = {{.msg_hdr = {.msg_iov = &part, .msg_iovlen = 1}}};
    const long sent = sendmmsg(fd, messages, 1, 0);
    return sent == 1 ? (long)messages[0].msg_len : sent;
}

/* From a file of zeros that has been read up to its middle. */
static int zeros = -1;
#define ZEROS 300000

static long by_sendfile(int fd, char *bytes, size_t count)
{
    off_t from = ZEROS / 2;
    (void)bytes;
    const long sent = sendfile(fd, zeros, &from, count);
    return sent < 0 || from == ZEROS / 2 + sent ? sent : -100;
}

static long by_splice_out(int fd, char *bytes, size_t count)
{
    loff_t from = 0;
    (void)bytes;
    const long moved = splice(zeros, &from, fd, NULL, count, 0);
    return moved < 0 || from == moved ? moved : -100;
}

#ifdef __GLIBC__
static long by_sendfile64(int fd, char *bytes, size_t count)
{
    off64_t from = ZEROS / 2;
    (void)bytes;
    return sendfile64(fd, zeros, &from, count);
}
#endif

static const struct function writers[] = {
    {"write", by_write, ALL, true},
    {"writev", by_writev, ALL, true},
    {"send", by_send, SOCKETS, true},
    {"send", by_quiet_send, STREAM, true},
    {"sendto", by_sendto, SOCKETS, true},
    {"sendmsg", by_sendmsg, SOCKETS, true},
    {"sendmmsg", by_sendmmsg, SOCKETS, true},
    {"sendfile", by_sendfile, PIPE | STREAM, false},
    {"splice", by_splice_out, PIPE, false},
#ifdef __GLIBC__
    {"sendfile64", by_sendfile64, PIPE | STREAM, false},
#endif
};

/* ----------------------------------------------------------------------------------------------------- channels */

struct channel {
    int kind, from, to;
};

static struct channel open_channel(int kind)
{
    int ends[2];
    if (kind == PIPE)
        MUST(pipe(ends) == 0);
    else
        MUST(socketpair(AF_UNIX, kind == STREAM ? SOCK_STREAM : SOCK_DGRAM, 0, ends) == 0);
    return (struct channel){kind, ends[0], ends[1]};
}

static void close_channel(const struct channel *channel)
{
    close(channel->from);
    close(channel->to);
}

static void set_nonblocking(int fd) { MUST(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0); }

/* By the kernel alone, as hooks may not see it. */
static void put(int fd, const char *bytes, size_t count)
{
    MUST(syscall(SYS_write, fd, bytes, count) == (long)count);
}

static void fill(int fd)
{
    static char bytes[4096];
    const int flags = fcntl(fd, F_GETFL);
    set_nonblocking(fd);
    while (syscall(SYS_write, fd, bytes, sizeof bytes) > 0)
        ;
    MUST(fcntl(fd, F_SETFL, flags) == 0);
}

static const char *name_of(const struct function *function, int kind, const char *situation)
{
    static char text[160];
    snprintf(text, sizeof text, "%s%s%s", function->run == by_quiet_send ? "quietly, " : "",
             kind == PIPE     ? "pipe, "
             : kind == STREAM ? "stream socket, "
                              : "packet socket, ",
             situation);
    return text;
}

#define TELL_OF(situation, ...) TELL(function->name, name_of(function, kind, situation), __VA_ARGS__)

/* Some are no cancellation points. */
static void tell_cancelled(const struct function *function, const struct hooked_call *call)
{
#ifdef __GLIBC__
    const bool is_splice_too = true;
#else
    const bool is_splice_too = false;
#endif
    if (strncmp(function->name, "sendfile", 8) != 0 && (strcmp(function->name, "splice") != 0 || is_splice_too))
        hooked_tell_cancelled(function->name, call);
}

/* ------------------------------------------------------------------------------------------------------ reading */

static long read_call(const struct hooked_call *call)
{
    const struct function *function = call->what;
    char bytes[64];
    return function->run(call->fd, bytes, sizeof bytes);
}

/* A byte through a channel of its own. */
static long pass_byte(const struct hooked_call *call)
{
    const struct function *function = call->what;
    const struct channel channel = open_channel(function->kinds & PIPE ? PIPE : STREAM);
    char bytes[64] = "";
    put(channel.to, "x", 1);
    const long result = function->run(channel.from, bytes, 1);
    close_channel(&channel);
    return result == 1 && bytes[0] == 'x';
}

static void read_usually(const struct function *function, int kind)
{
    const struct channel channel = open_channel(kind);
    char bytes[64] = "";
    put(channel.to, "abc", 3);
    TELL_OF("all of it", function->run(channel.from, bytes, 3));
    TELL_OF("what was there", memcmp(bytes, "abc", 3));
    put(channel.to, "abcdef", 6);
    TELL_OF("less than there is", function->run(channel.from, bytes, 4));
    if (kind != PACKETS)
        TELL_OF("less than wanted", function->run(channel.from, bytes, 64));
    if (function->has_address) {
        put(channel.to, "abc", 3);
        TELL_OF("to a bad address", function->run(channel.from, (char *)8, 3));
    }
    close_channel(&channel);
}

static void read_badly(const struct function *function, int kind)
{
    const struct channel channel = open_channel(kind);
    char bytes[64] = "";
    set_nonblocking(channel.from);
    TELL_OF("nothing there", function->run(channel.from, bytes, 3));
    TELL_OF("no descriptor", function->run(-1, bytes, 3));
    if (kind == PIPE)
        TELL_OF("the wrong end", function->run(channel.to, bytes, 3));
    put(channel.to, "abc", 3);
    TELL_OF("nothing wanted", function->run(channel.from, bytes, 0));
    close(channel.to);
    if (kind != PACKETS) {
        TELL_OF("the rest", function->run(channel.from, bytes, 64));
        TELL_OF("the end", function->run(channel.from, bytes, 64));
    }
    close(channel.from);
    TELL_OF("closed", function->run(channel.from, bytes, 64));
}

static void read_while_disturbed(const struct function *function, int kind)
{
    const struct channel channel = open_channel(kind);
    const struct hooked_call call = {.run = read_call, .what = function, .fd = channel.from};
    char bytes[64];
    hooked_disturb(0, -1);
    TELL_OF("interrupted", function->run(channel.from, bytes, 64));
    hooked_calm();
    hooked_disturb(SA_RESTART, channel.to);
    TELL_OF("restarted", function->run(channel.from, bytes, 64));
    hooked_calm();
    tell_cancelled(function, &call);
    close_channel(&channel);
}

/* A number that was a pipe, then a file, then a socket. */
static void read_reused(const struct function *function)
{
    const int kind = function->kinds & PIPE ? PIPE : STREAM;
    const struct channel first = open_channel(kind);
    char bytes[64] = "";
    put(first.to, "x", 1);
    TELL_OF("a number in first use", function->run(first.from, bytes, 1));
    close(first.from);
    const int file = open("/proc/self/comm", O_RDONLY);
    TELL_OF("used again for a file", file == first.from ? function->run(file, bytes, 3) : -50);
    close(file);
    const int folder = open("/", O_RDONLY | O_DIRECTORY);
    TELL_OF("used again for a folder", folder == first.from ? function->run(folder, bytes, 3) : -50);
    close(folder);
    close(first.to);
    const struct channel other = open_channel(STREAM);
    put(other.to, "yz", 2);
    TELL_OF("used again for a socket", other.from == first.from ? function->run(other.from, bytes, 2) : -50);
    close_channel(&other);
}

/* ------------------------------------------------------------------------------------------------------ writing */

static long write_call(const struct hooked_call *call)
{
    const struct function *function = call->what;
    static char bytes[4096];
    return function->run(call->fd, bytes, sizeof bytes);
}

/* A child that is not killed by SIGPIPE. */
static long write_with_default_signal(const struct hooked_call *call)
{
    signal(SIGPIPE, SIG_DFL);
    return write_call(call) < 0 ? 5 : 6;
}

static long pass_block(const struct hooked_call *call)
{
    const struct function *function = call->what;
    const struct channel channel = open_channel(function->kinds & PIPE ? PIPE : STREAM);
    static char bytes[100];
    const long result = function->run(channel.to, bytes, sizeof bytes);
    close_channel(&channel);
    return result == sizeof bytes;
}

static void write_usually(const struct function *function, int kind)
{
    const struct channel channel = open_channel(kind);
    char bytes[64] = "abcdef", back[64] = "";
    TELL_OF("a little", function->run(channel.to, bytes, 6));
    TELL_OF("that much arrived", syscall(SYS_read, channel.from, back, sizeof back));
    TELL_OF("nothing", function->run(channel.to, bytes, 0));
    if (function->has_address)
        TELL_OF("from a bad address", function->run(channel.to, (char *)8, 3));
    TELL_OF("no descriptor", function->run(-1, bytes, 3));
    if (kind == PIPE)
        TELL_OF("to the wrong end", function->run(channel.from, bytes, 3));
    close_channel(&channel);
    TELL_OF("closed", function->run(channel.to, bytes, 3));
}

static void write_to_full(const struct function *function, int kind)
{
    static char bytes[ZEROS];
    const struct channel channel = open_channel(kind);
    const struct hooked_call call = {.run = write_call, .what = function, .fd = channel.to};
    set_nonblocking(channel.to);
    if (kind == PIPE)
        TELL_OF("as much as there is room for", function->run(channel.to, bytes, 100000));
    fill(channel.to);
    TELL_OF("no room", function->run(channel.to, bytes, 4096));
    MUST(fcntl(channel.to, F_SETFL, fcntl(channel.to, F_GETFL) & ~O_NONBLOCK) == 0);
    hooked_disturb(0, -1);
    TELL_OF("interrupted", function->run(channel.to, bytes, 4096));
    hooked_calm();
    tell_cancelled(function, &call);
    close_channel(&channel);
    if (kind == PACKETS)
        return;
    const struct channel empty = open_channel(kind);
    hooked_disturb(0, -1);
    const long part = function->run(empty.to, bytes, kind == PIPE ? 100000 : ZEROS / 2);
    hooked_calm();
    TELL_OF("interrupted in the middle", kind == PIPE ? part : part > 0);
    close_channel(&empty);
}

static void write_to_nobody(const struct function *function, int kind)
{
    const struct channel channel = open_channel(kind);
    const struct hooked_call call = {.run = write_with_default_signal, .what = function, .fd = channel.to};
    char bytes[64] = "abcdef";
    close(channel.from);
    TELL_OF("nobody reads it", function->run(channel.to, bytes, 6));
    hooked_tell_forked(function->name, name_of(function, kind, "nobody reads it, in a child"), &call);
    close(channel.to);
}

/* ---------------------------------------------------------------------------------------------------------- all */

static int make_zeros(void)
{
    char path[] = "/tmp/hotpath-hooked-XXXXXX";
    const int fd = mkstemp(path);
    MUST(fd >= 0 && unlink(path) == 0 && ftruncate(fd, ZEROS) == 0);
    return fd;
}

void hooked_transfers(bool is_crowd)
{
    zeros = make_zeros();
    for (size_t at = 0; at < sizeof readers / sizeof readers[0]; at++) {
        const struct function *function = &readers[at];
        const struct hooked_call call = {.run = pass_byte, .what = function};
        for (int kind = PIPE; kind <= PACKETS && !is_crowd; kind *= 2)
            if (function->kinds & kind) {
                read_usually(function, kind);
                read_badly(function, kind);
                read_while_disturbed(function, kind);
            }
        if (!is_crowd) {
            read_reused(function);
            hooked_tell_forked(function->name, "in a child", &call);
        }
        hooked_tell_together(function->name, &call);
    }
    for (size_t at = 0; at < sizeof writers / sizeof writers[0]; at++) {
        const struct function *function = &writers[at];
        const struct hooked_call call = {.run = pass_block, .what = function};
        for (int kind = PIPE; kind <= PACKETS && !is_crowd; kind *= 2)
            if (function->kinds & kind) {
                write_usually(function, kind);
                write_to_full(function, kind);
                write_to_nobody(function, kind);
            }
        if (!is_crowd)
            hooked_tell_forked(function->name, "in a child", &call);
        hooked_tell_together(function->name, &call);
    }
    close(zeros);
}
