/*
 * Pipes, sockets, eventfds and message queues of a program without hotpath. It measures the traffic and its own
 * waiting, and prints them. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <mqueue.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NEED(condition)                                                                                            \
    do {                                                                                                           \
        if (!(condition)) {                                                                                        \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, strerror(errno));                           \
            _exit(99);                                                                                             \
        }                                                                                                          \
    } while (0)

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void pause_ms(long ms) { nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL); }

static void tell(const char *key, uint64_t value)
{
    printf("%s %" PRIu64 "\n", key, value);
    fflush(stdout);
}

static void await_child(void)
{
    int status;
    NEED(wait(&status) > 0 && status == 0);
}

/* ------------------------------------------------------------------------------------------------- cases */

/* Each message is answered. */
static void pairs(void)
{
    int ends[2];
    char message[48] = "ping";
    NEED(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
    if (fork() == 0) {
        for (int at = 0; at < 1000; at++)
            NEED(recv(ends[1], message, sizeof message, 0) == 48 && send(ends[1], message, 48, 0) == 48);
        _exit(0);
    }
    for (int at = 0; at < 1000; at++)
        NEED(write(ends[0], message, 48) == 48 && read(ends[0], message, sizeof message) == 48);
    await_child();
    tell("messages", 2000);
}

/* Half by write and read, half by the functions for eventfds. */
static void counts(void)
{
    const int file = eventfd(0, 0);
    uint64_t sum = 0, all = 0;
    if (fork() == 0) {
        for (uint64_t at = 1; at <= 200; at++) {
            const uint64_t value = at % 7 + 1;
            NEED(at % 2 ? write(file, &value, sizeof value) == sizeof value : eventfd_write(file, value) == 0);
        }
        _exit(0);
    }
    for (uint64_t at = 1; at <= 200; at++)
        all += at % 7 + 1;
    while (sum < all) {
        eventfd_t value;
        NEED(sum % 2 ? read(file, &value, sizeof value) == sizeof value : eventfd_read(file, &value) == 0);
        sum += value;
    }
    await_child();
    tell("sum", sum);
}

/* The consumer takes a message every 5 ms, and there is room for four. */
static void queue(void)
{
    struct mq_attr room = {.mq_maxmsg = 4, .mq_msgsize = 32};
    char name[64], message[32] = "job";
    uint64_t blocked = 0;
    snprintf(name, sizeof name, "/hotpath-test-%d", (int)getpid());
    const mqd_t jobs = mq_open(name, O_RDWR | O_CREAT, 0600, &room);
    NEED(jobs >= 0 && mq_unlink(name) == 0);
    if (fork() == 0) {
        for (int at = 0; at < 60; at++) {
            NEED(mq_receive(jobs, message, sizeof message, NULL) == 32);
            pause_ms(5);
        }
        _exit(0);
    }
    for (int at = 0; at < 60; at++) {
        const uint64_t before = now();
        NEED(mq_send(jobs, message, sizeof message, 0) == 0);
        blocked += now() - before;
    }
    await_child();
    tell("blocked_ns", blocked);
}

/* A pipe has room for 64 KB; the consumer takes that much every 5 ms. */
static void slow(void)
{
    static char bytes[65536];
    int ends[2];
    uint64_t blocked = 0;
    NEED(pipe(ends) == 0);
    if (fork() == 0) {
        close(ends[1]);
        while (read(ends[0], bytes, sizeof bytes) > 0)
            pause_ms(5);
        _exit(0);
    }
    close(ends[0]);
    for (int at = 0; at < 40; at++) {
        const uint64_t before = now();
        NEED(write(ends[1], bytes, sizeof bytes) == sizeof bytes);
        blocked += now() - before;
    }
    close(ends[1]);
    await_child();
    tell("blocked_ns", blocked);
}

/* By streams of the C library, and by popen. */
static void streams(void)
{
    int ends[2];
    uint64_t sent = 0;
    char line[100];
    NEED(pipe(ends) == 0);
    if (fork() == 0) {
        FILE *in = fdopen(ends[0], "r");
        close(ends[1]);
        while (fgets(line, sizeof line, in) != NULL)
            ;
        fclose(in);
        _exit(0);
    }
    close(ends[0]);
    FILE *out = fdopen(ends[1], "w");
    for (int at = 0; at < 5000; at++)
        sent += (uint64_t)fprintf(out, "line %d\n", at);
    fclose(out);
    await_child();
    FILE *child = popen("cat > /dev/null", "w");
    for (int at = 0; at < 5000; at++)
        fprintf(child, "line %d\n", at);
    pclose(child);
    tell("bytes", sent);
}

/* By other functions that move bytes; peeking moves nothing. */
static void ways(void)
{
    int ends[2], pair[2], second[2];
    char bytes[100] = {0}, more[100];
    struct iovec pieces[2] = {{bytes, 60}, {more, 40}};
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 2};
    NEED(pipe(ends) == 0 && pipe(second) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    memset(more, 0, sizeof more);
    NEED(writev(ends[1], pieces, 2) == 100);
    NEED(splice(ends[0], NULL, second[1], NULL, 100, 0) == 100);
    NEED(readv(second[0], pieces, 2) == 100);
    NEED(sendmsg(pair[0], &message, 0) == 100 && sendto(pair[0], bytes, 50, 0, NULL, 0) == 50);
    NEED(recv(pair[1], bytes, 100, MSG_PEEK) > 0);
    NEED(recvmsg(pair[1], &message, 0) == 100 && recvfrom(pair[1], bytes, 100, 0, NULL, NULL) == 50);
}

/* Numbers of descriptors go from one thing to the next: a pipe, a file, another pipe, in every way there is. */
static void reuse(void)
{
    char bytes[1000] = {0};
    int first[2], second[2];
    NEED(pipe(first) == 0);
    NEED(write(first[1], bytes, 10) == 10 && read(first[0], bytes, 10) == 10);
    const int number = first[1], file = open("/dev/null", O_WRONLY);
    NEED(dup2(file, number) == number && write(number, bytes, 1000) == 1000);
    NEED(pipe(second) == 0 && dup2(second[1], number) == number && write(number, bytes, 20) == 20);
    NEED(close(number) == 0 && open("/dev/null", O_WRONLY) == number && write(number, bytes, 1000) == 1000);
    NEED(close(number) == 0 && dup(second[1]) == number);
    FILE *stream = fdopen(number, "w");
    NEED(fwrite(bytes, 1, 30, stream) == 30 && fclose(stream) == 0);
    NEED((stream = fopen("/dev/null", "w")) != NULL && fileno(stream) == number);
    NEED(fwrite(bytes, 1, 1000, stream) == 1000 && fflush(stream) == 0 && fclose(stream) == 0);
    NEED(read(second[0], bytes, 1000) == 50);
}

/* A number that is used before it is open. */
static void too_early(void)
{
    char bytes[10] = {0};
    int ends[2];
    NEED(pipe(ends) == 0);
    const int number = ends[1] + 1;
    NEED(write(number, bytes, 10) == -1 && errno == EBADF);
    NEED(dup(ends[1]) == number && write(number, bytes, 10) == 10 && read(ends[0], bytes, 10) == 10);
}

/* A vfork child closes its descriptors of a pipe; the parent keeps that, and closes another. */
static void closed_by_child(void)
{
    char bytes[10] = {0};
    int kept[2], closed[2];
    NEED(pipe(kept) == 0 && write(kept[1], bytes, 10) == 10);
    const pid_t child = vfork();
    if (child == 0) {
        close(kept[0]);
        close(kept[1]);
        _exit(0);
    }
    await_child();
    NEED(pipe(closed) == 0 && write(closed[1], bytes, 10) == 10 && read(closed[0], bytes, 10) == 10);
    NEED(close(closed[0]) == 0 && close(closed[1]) == 0);
}

/* Threads take over each other's numbers: of pipes, of files, of pipes again. */
static void *open_and_close(void *bytes_)
{
    uint64_t *bytes = bytes_;
    char buffer[100] = {0};
    for (int at = 0; at < 3000; at++) {
        int ends[2];
        const size_t size = 1 + (size_t)at % sizeof buffer;
        NEED(pipe(ends) == 0);
        NEED(write(ends[1], buffer, size) == (ssize_t)size && read(ends[0], buffer, size) == (ssize_t)size);
        *bytes += size;
        const int file = open("/dev/null", O_WRONLY);
        NEED(write(file, buffer, sizeof buffer) == sizeof buffer);
        NEED(at % 3 ? close(file) == 0 && dup2(1, ends[0]) == ends[0] : dup2(file, ends[0]) == ends[0]);
        if (at % 3 == 0)
            NEED(close(file) == 0 && write(ends[0], buffer, 1) == 1);
        NEED(close(ends[0]) == 0 && close(ends[1]) == 0);
    }
    return NULL;
}

static void churn(void)
{
    pthread_t threads[4];
    uint64_t bytes[4] = {0};
    for (int at = 0; at < 4; at++)
        NEED(pthread_create(&threads[at], NULL, open_and_close, &bytes[at]) == 0);
    for (int at = 0; at < 4; at++)
        NEED(pthread_join(threads[at], NULL) == 0);
    tell("bytes", bytes[0] + bytes[1] + bytes[2] + bytes[3]);
}

#ifdef __GLIBC__
/* --- a number that is replaced by another thread while hotpath asks what it is */

static int raced = -1, replacement = -1;

static void *replace_number(void *unused)
{
    NEED(dup2(replacement, raced) == raced);
    return unused;
}

/* In front of the C library's: what it found is returned after another thread has replaced the descriptor. */
int fstat64(int number, struct stat64 *ret_file);
int fstat64(int number, struct stat64 *ret_file)
{
    const int result = fstatat64(number, "", ret_file, AT_EMPTY_PATH);
    if (number == raced && replacement >= 0) {
        pthread_t thread;
        NEED(pthread_create(&thread, NULL, replace_number, NULL) == 0 && pthread_join(thread, NULL) == 0);
        replacement = -1;
    }
    return result;
}

static void replaced(void)
{
    int first[2], second[2];
    char bytes[100] = {0};
    NEED(pipe(first) == 0 && pipe2(second, O_NONBLOCK) == 0);
    raced = dup(first[1]);
    replacement = second[1];
    NEED(write(raced, bytes, 30) == 30);
    NEED(replacement < 0);
    NEED(write(raced, bytes, 10) == 10 && write(raced, bytes, 10) == 10);
    NEED(read(second[0], bytes, sizeof bytes) == 50);
}

#endif

/* Another program has the other end. */
static void handed_on(void)
{
    int ends[2];
    char answer[20];
    NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    if (fork() == 0) {
        dup2(ends[1], 0);
        dup2(ends[1], 1);
        close(ends[0]);
        close(ends[1]);
        execlp("tr", "tr", "a-z", "A-Z", (char *)NULL);
        _exit(98);
    }
    close(ends[1]);
    NEED(write(ends[0], "a message", 9) == 9 && shutdown(ends[0], SHUT_WR) == 0);
    NEED(read(ends[0], answer, sizeof answer) == 9 && memcmp(answer, "A MESSAGE", 9) == 0);
    await_child();
}

/* Large pieces, so that many calls take as long as a short wait would. */
static void move_much(int from, int to, int flags)
{
    static char bytes[60000];
    for (int at = 0; at < 1000; at++) {
        if (flags == 0)
            NEED(write(to, bytes, sizeof bytes) > 0 && read(from, bytes, sizeof bytes) > 0);
        else
            NEED(send(to, bytes, sizeof bytes, flags) > 0 && recv(from, bytes, sizeof bytes, flags) > 0);
        NEED(flags == 0 ? read(from, bytes, 1) < 0 && errno == EAGAIN
                        : recv(from, bytes, 1, flags) < 0 && errno == EAGAIN);
    }
}

/* No call waits: each way to say so. */
static void never_waits(void)
{
    int pipes[3][2], sockets[3][2], on = 1;
    NEED(pipe2(pipes[0], O_NONBLOCK) == 0 && pipe(pipes[1]) == 0 && pipe(pipes[2]) == 0);
    for (int end = 0; end < 2; end++) {
        NEED(fcntl(pipes[1][end], F_SETFL, O_NONBLOCK) == 0);
        NEED(syscall(SYS_fcntl, pipes[2][end], F_SETFL, O_NONBLOCK) == 0);
        NEED((pipes[2][end] = dup(pipes[2][end])) >= 0); /* a new number, about which nothing is known */
    }
    NEED(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets[0]) == 0);
    NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets[1]) == 0 &&
         socketpair(AF_UNIX, SOCK_STREAM, 0, sockets[2]) == 0);
    NEED(ioctl(sockets[1][0], FIONBIO, &on) == 0 && ioctl(sockets[1][1], FIONBIO, &on) == 0);
    for (int at = 0; at < 3; at++) {
        move_much(pipes[at][0], pipes[at][1], 0);
        move_much(sockets[at][0], sockets[at][1], at == 2 ? MSG_DONTWAIT : 0);
    }
}

/* It waits again when it is not O_NONBLOCK any more. */
static void waits_again(void)
{
    int ends[2], on = 1, off = 0;
    char byte;
    NEED(pipe2(ends, O_NONBLOCK) == 0 && read(ends[0], &byte, 1) < 0);
    NEED(fcntl(ends[0], F_SETFL, 0) == 0);
    NEED(ioctl(ends[0], FIONBIO, &on) == 0 && ioctl(ends[0], FIONBIO, &off) == 0);
    if (fork() == 0) {
        pause_ms(30);
        NEED(write(ends[1], "x", 1) == 1);
        _exit(0);
    }
    NEED(read(ends[0], &byte, 1) == 1);
    await_child();
}

/* Nothing is written before the process ends. */
static void at_the_end(void)
{
    for (int at = 0; at < 100; at++)
        printf("line %d\n", at);
}

/* --- what the program would notice */

static void on_signal(int number) { (void)number; }

static void *wait_for_byte(void *file)
{
    char byte;
    return read(*(int *)file, &byte, 1) == 1 ? file : NULL;
}

static void outcomes(void)
{
    int ends[2];
    char byte;
    void *result;
    pthread_t thread;
    NEED(pipe(ends) == 0);
    NEED(pthread_create(&thread, NULL, wait_for_byte, &ends[0]) == 0);
    pause_ms(50);
    NEED(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0);
    tell("cancelled", result == PTHREAD_CANCELED);
    struct sigaction action = {.sa_handler = on_signal};
    NEED(sigaction(SIGALRM, &action, NULL) == 0);
    alarm(1);
    tell("interrupted", read(ends[0], &byte, 1) == -1 && errno == EINTR);
    NEED(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
    tell("nothing", read(ends[0], &byte, 1) == -1 && errno == EAGAIN);
    tell("closed", read(12345, &byte, 1) == -1 && errno == EBADF && write(-1, &byte, 1) == -1 && errno == EBADF);
    errno = E2BIG;
    NEED(write(ends[1], "x", 1) == 1 && read(ends[0], &byte, 1) == 1);
    tell("errno", errno == E2BIG);
    signal(SIGPIPE, SIG_IGN);
    close(ends[0]);
    tell("broken", write(ends[1], "x", 1) == -1 && errno == EPIPE);
    tell("number", (uint64_t)open("/dev/null", O_RDONLY)); /* the lowest that is free */
    const pid_t child = vfork();
    if (child == 0) {
        dup2(ends[1], 1); /* of the child alone: the parent's is still there */
        close(ends[1]);
        execl("/bin/true", "true", (char *)NULL);
        _exit(98);
    }
    await_child();
    tell("end", 1);
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"pairs", pairs},
                 {"counts", counts},
                 {"queue", queue},
                 {"slow", slow},
                 {"streams", streams},
                 {"ways", ways},
                 {"reuse", reuse},
                 {"churn", churn},
                 {"too_early", too_early},
                 {"closed_by_child", closed_by_child},
#ifdef __GLIBC__
                 {"replaced", replaced},
#endif
                 {"handed_on", handed_on},
                 {"at_the_end", at_the_end},
                 {"outcomes", outcomes},
                 {"never_waits", never_waits},
                 {"waits_again", waits_again}};
    for (size_t at = 0; count > 1 && at < sizeof cases / sizeof cases[0]; at++)
        if (strcmp(arguments[1], cases[at].name) == 0) {
            cases[at].run();
            return 0;
        }
    return 2;
}
