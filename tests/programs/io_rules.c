/*
 * Calls every function that hooks of I/O stand in front of, in many situations, and prints a line for each: what
 * it returned, errno, and what it left behind. With and without hotpath the lines must be the same. Functions are
 * called by the names that libraries export, so each hook is called, whatever the headers redirect.
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

typedef long anything(long, long, long, long, long, long);

static anything *find(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    anything *function;
    memcpy(&function, &found, sizeof function);
    return function;
}

/* --------------------------------------------------------------------------------------------------- situations */

enum {
    CLOSED,
    NEGATIVE,
    LARGE,
    FILE_READ,
    FILE_WRITE,
    FILE_BOTH,
    FOLDER,
    FULL,
    NOTHING,
    PIPE_EMPTY,
    PIPE_FULL,
    PIPE_BROKEN,
    PAIR,
    PAIR_EMPTY,
    LISTENER,
    DATAGRAM,
    EVENT,
    SITUATIONS
};
static const char *const situation_names[SITUATIONS] = {
    "closed",     "negative",  "large",       "file_read", "file_write", "file_both", "folder",   "full",   "null",
    "pipe_empty", "pipe_full", "pipe_broken", "pair",      "pair_empty", "listener",  "datagram", "eventfd"};

static char path[200];
static int other_end = -1;

static void refill(void)
{
    const int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    if (write(fd, "0123456789abcdefghijklmnopqrstuvwxyz", 36) != 36)
        exit(3);
    close(fd);
}

static int make_pipe(bool is_writing, bool is_full, bool is_broken)
{
    int ends[2];
    char block[4096] = {0};
    if (pipe2(ends, O_NONBLOCK) != 0)
        exit(3);
    while (is_full && write(ends[1], block, sizeof block) > 0)
        ;
    other_end = ends[!is_writing];
    if (is_broken) {
        close(other_end);
        other_end = -1;
    }
    return ends[is_writing];
}

static int make_pair(const char *said)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0)
        exit(3);
    other_end = ends[1];
    if (send(other_end, said, strlen(said), 0) != (ssize_t)strlen(said))
        exit(3);
    return ends[0];
}

static int make_inet(int type)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const int fd = socket(AF_INET, type | SOCK_NONBLOCK, 0);
    if (bind(fd, (void *)&address, sizeof address) == 0 && type == SOCK_STREAM)
        listen(fd, 5);
    return fd;
}

static int make(int situation)
{
    other_end = -1;
    switch (situation) {
    case CLOSED:
        return 77;
    case NEGATIVE:
        return -1;
    case LARGE:
        return 100000;
    case FILE_READ:
        return open(path, O_RDONLY);
    case FILE_WRITE:
        return open(path, O_WRONLY);
    case FILE_BOTH:
        return open(path, O_RDWR);
    case FOLDER:
        return open("/tmp", O_RDONLY | O_DIRECTORY);
    case FULL:
        return open("/dev/full", O_RDWR);
    case NOTHING:
        return open("/dev/null", O_RDWR);
    case PIPE_EMPTY:
        return make_pipe(false, false, false);
    case PIPE_FULL:
        return make_pipe(true, true, false);
    case PIPE_BROKEN:
        return make_pipe(true, false, true);
    case PAIR:
        return make_pair("some words");
    case PAIR_EMPTY:
        return make_pair("");
    case LISTENER:
        return make_inet(SOCK_STREAM);
    case DATAGRAM:
        return make_inet(SOCK_DGRAM);
    default:
        return eventfd(3, EFD_NONBLOCK);
    }
}

/* -------------------------------------------------------------------------------------------------------- lines */

static char bytes[64], more[64];
static struct iovec pieces[2] = {{bytes, 5}, {more, 7}};
static struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 2};
static struct mmsghdr messages[2];

static void line(const char *situation, const char *name, long result, int error)
{
    const unsigned first = (unsigned char)bytes[0], second = (unsigned char)more[0];
    dprintf(1, "%s: %s() = %ld, errno %d, bytes %u %u\n", situation, name, result, error, first, second);
}

/* The return type is int or ssize_t: 32 bits of an int are all that is defined. */
static long as_int(long result) { return (int)result; }

static const struct call {
    const char *name;
    char form; /* which arguments */
    bool is_int;
} calls[] = {
    {"read", 'r', false},
    {"__read_chk", 'r', false},
    {"write", 'w', false},
    {"readv", 'v', false},
    {"writev", 'v', false},
    {"pread", 'p', false},
    {"pread64", 'p', false},
    {"__pread_chk", 'p', false},
    {"__pread64_chk", 'p', false},
    {"pwrite", 'p', false},
    {"pwrite64", 'p', false},
    {"preadv", 'a', false},
    {"preadv64", 'a', false},
    {"pwritev", 'a', false},
    {"pwritev64", 'a', false},
    {"preadv2", 'a', false},
    {"preadv64v2", 'a', false},
    {"pwritev2", 'a', false},
    {"pwritev64v2", 'a', false},
    {"send", 's', false},
    {"recv", 's', false},
    {"__recv_chk", 'k', false},
    {"sendto", 't', false},
    {"recvfrom", 't', false},
    {"__recvfrom_chk", 'K', false},
    {"sendmsg", 'm', false},
    {"recvmsg", 'm', false},
    {"sendmmsg", 'M', true},
    {"recvmmsg", 'M', true},
    {"sendfile", 'f', false},
    {"sendfile64", 'f', false},
    {"splice", 'l', false},
    {"copy_file_range", 'c', false},
    {"fsync", '1', true},
    {"fdatasync", '1', true},
    {"syncfs", '1', true},
    {"sync_file_range", 'y', true},
    {"eventfd_read", 'e', true},
    {"eventfd_write", 'E', true},
    {"accept", 'A', true},
    {"accept4", 'A', true},
    {"connect", 'C', true},
    {"dup", 'd', true},
};

static long perform(anything *function, char form, int fd)
{
    const long address = (long)bytes;
    static struct sockaddr_in to = {.sin_family = AF_INET};
    long result, offset = 2;
    int source;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(1);
    switch (form) {
    case 'r':
        return function(fd, address, 6, sizeof bytes, 0, 0);
    case 'w':
        return function(fd, address, 6, 0, 0, 0);
    case 'v':
        return function(fd, (long)pieces, 2, 0, 0, 0);
    case 'p':
        return function(fd, address, 6, 3, sizeof bytes, 0);
    case 'a':
        return function(fd, (long)pieces, 2, 3, 0, 0);
    case 's':
        return function(fd, address, 6, MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0);
    case 'k':
        return function(fd, address, 6, sizeof bytes, MSG_DONTWAIT, 0);
    case 't':
        return function(fd, address, 6, MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0);
    case 'K':
        return ((ssize_t(*)(int, void *, size_t, size_t, int, void *, void *))(void (*)(void))function)(
            fd, bytes, 6, sizeof bytes, MSG_DONTWAIT, NULL, NULL);
    case 'm':
        return function(fd, (long)&message, MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0, 0);
    case 'M':
        messages[0].msg_hdr = messages[1].msg_hdr = message;
        return function(fd, (long)messages, 2, MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0);
    case 'f':
    case 'c':
    case 'l':
        source = open(path, O_RDONLY);
        result = form == 'f'   ? function(fd, source, (long)&offset, 9, 0, 0)
                 : form == 'c' ? function(source, (long)&offset, fd, 0, 9, 0)
                               : function(source, (long)&offset, fd, 0, 9, SPLICE_F_NONBLOCK);
        offset = errno;
        close(source);
        errno = (int)offset;
        return result;
    case '1':
        return function(fd, 0, 0, 0, 0, 0);
    case 'y':
        return function(fd, 0, 10, 0, 0, 0);
    case 'e':
        return function(fd, address, 0, 0, 0, 0);
    case 'E':
        return function(fd, 5, 0, 0, 0, 0);
    case 'A':
        return function(fd, 0, 0, SOCK_CLOEXEC, 0, 0);
    case 'C':
        return function(fd, (long)&to, sizeof to, 0, 0, 0);
    default:
        return function(fd, 0, 0, 0, 0, 0);
    }
}

static void try_all(void)
{
    for (size_t at = 0; at < sizeof calls / sizeof calls[0]; at++) {
        anything *function = find(calls[at].name);
        for (int situation = 0; situation < SITUATIONS && function != NULL; situation++) {
            refill();
            memset(bytes, 1, sizeof bytes);
            memset(more, 2, sizeof more);
            const int fd = make(situation);
            errno = 0;
            const long result = perform(function, calls[at].form, fd);
            const int error = errno;
            line(situation_names[situation], calls[at].name, calls[at].is_int ? as_int(result) : result, error);
            if (calls[at].form == 'd' && result >= 0)
                close((int)result);
            if (situation > LARGE)
                close(fd);
            if (other_end >= 0)
                close(other_end);
        }
    }
}

/* ------------------------------------------------------------------------------------------------------ opening */

static void try_open(const char *name, const char *what, long flags)
{
    anything *function = find(name);
    const bool has_folder = strstr(name, "openat") != NULL, is_creat = strncmp(name, "creat", 5) == 0;
    if (function == NULL)
        return;
    errno = 0;
    const long fd = as_int(has_folder ? function(AT_FDCWD, (long)what, flags, 0600, 0, 0)
                           : is_creat ? function((long)what, 0600, 0, 0, 0, 0)
                                      : function((long)what, flags, 0600, 0, 0, 0));
    line(strcmp(what, path) == 0 ? "file" : what, name, fd, errno);
    if (fd >= 0)
        close((int)fd);
}

static void try_opens(void)
{
    static const char *const names[] = {"open",    "open64",   "openat",     "openat64",   "creat",
                                        "creat64", "__open_2", "__open64_2", "__openat_2", "__openat64_2"};
    for (size_t at = 0; at < sizeof names / sizeof names[0]; at++) {
        try_open(names[at], path, O_RDONLY);
        try_open(names[at], path, O_RDWR);
        try_open(names[at], "/nonexistent/file", O_RDONLY);
        try_open(names[at], "/tmp", O_WRONLY);
        try_open(names[at], "", O_RDONLY);
    }
    static const char *const streams[] = {"fopen", "fopen64"};
    for (size_t at = 0; at < 2; at++) {
        FILE *(*function)(const char *, const char *) =
            (FILE * (*)(const char *, const char *))(void (*)(void))find(streams[at]);
        errno = 0;
        FILE *stream = function(path, "r");
        line("file", streams[at], stream != NULL ? fileno(stream) : -1, errno);
        fclose(stream);
        errno = 0;
        line("missing", streams[at], function("/nonexistent/file", "r") == NULL, errno);
        errno = 0;
        line("mode", streams[at], function(path, "?") == NULL, errno);
    }
    const char *volatile nowhere[] = {NULL, (const char *)8};
    for (size_t at = 0; at < 2; at++) {
        errno = 0;
        line("bad path", "open", open(nowhere[at], O_RDONLY), errno);
        errno = 0;
        line("bad path", "openat", openat(AT_FDCWD, nowhere[at], O_RDONLY), errno);
        errno = 0;
        line("bad path", "fopen", fopen(nowhere[at], "r") == NULL, errno);
        errno = 0;
        line("bad address", "connect", connect(make_inet(SOCK_DGRAM), (const void *)nowhere[at], 16), errno);
    }
    errno = 0;
    line("bad", "socket", socket(AF_INET, 999, 0), errno);
    struct addrinfo *found = NULL, hints = {.ai_flags = AI_NUMERICHOST};
    line("number", "getaddrinfo", getaddrinfo("127.0.0.1", "80", &hints, &found), 0);
    freeaddrinfo(found);
    line("name", "getaddrinfo", getaddrinfo("no number", "80", &hints, &found), 0);
}

/* ------------------------------------------------------------------------------------------------- cancellation */

static int waiting_on;
static volatile int cleaned;
static void note(void *context) { cleaned = *(int *)context; }

static void *wait_in(void *name_)
{
    const char *name = name_;
    struct iovec piece = {more, 1};
    struct msghdr one = {.msg_iov = &piece, .msg_iovlen = 1};
    int number = 42;
    long result = 0;
    pthread_cleanup_push(note, &number);
    if (strcmp(name, "read") == 0)
        result = read(waiting_on, bytes, 1);
    else if (strcmp(name, "readv") == 0)
        result = readv(waiting_on, &piece, 1);
    else if (strcmp(name, "recv") == 0)
        result = recv(waiting_on, bytes, 1, 0);
    else if (strcmp(name, "recvmsg") == 0)
        result = recvmsg(waiting_on, &one, 0);
    else
        result = accept(waiting_on, NULL, NULL);
    pthread_cleanup_pop(0);
    return (void *)result;
}

static void try_cancel(const char *name)
{
    pthread_t thread;
    void *result;
    int ends[2] = {-1, -1};
    cleaned = 0;
    if (strcmp(name, "accept") == 0) {
        waiting_on = make_inet(SOCK_STREAM);
        fcntl(waiting_on, F_SETFL, 0);
    } else {
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
            exit(3);
        waiting_on = ends[0];
    }
    pthread_create(&thread, NULL, wait_in, (void *)(uintptr_t)name);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    line(cleaned == 42 ? "cancelled" : "not cleaned", name, result == PTHREAD_CANCELED, 0);
    close(waiting_on);
    close(ends[1]);
}

static void on_signal(int number) { (void)number; }

/* A signal ends the wait. */
static void try_interrupted(void)
{
    int ends[2];
    struct sigaction action = {.sa_handler = on_signal};
    struct itimerspec soon = {.it_value = {.tv_nsec = 20000000}};
    timer_t timer;
    sigaction(SIGALRM, &action, NULL);
    if (pipe(ends) != 0 || timer_create(CLOCK_MONOTONIC, NULL, &timer) != 0)
        exit(3);
    timer_settime(timer, 0, &soon, NULL);
    errno = 0;
    line("interrupted", "read", read(ends[0], bytes, 1), errno);
    timer_delete(timer);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    snprintf(path, sizeof path, "/tmp/io_rules.%ld", (long)getpid());
    refill();
    try_opens();
    try_all();
    static const char *const waits[] = {"read", "readv", "recv", "recvmsg", "accept"};
    for (size_t at = 0; at < sizeof waits / sizeof waits[0]; at++)
        try_cancel(waits[at]);
    try_interrupted();
    unlink(path);
    return 0;
}
