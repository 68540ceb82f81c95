/*
 * Does I/O of which it knows all numbers, and prints them: "NAME OP OPS BYTES ERRORS" for rows that end with that
 * name, in functions of the same name as the file. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__clang__)
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noinline, noclone))
#endif
#define THREADS 4
#define ROUNDS 500

static char folder[] = "/tmp/io_truth.XXXXXX", path[300];

static const char *in_folder(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void check(int is_good)
{
    if (!is_good)
        _exit(3);
}

static void told(const char *name, const char *op, long ops, long bytes, long errors)
{
    printf("%s %s %ld %ld %ld\n", name, op, ops, bytes, errors);
}

/* A byte at a time. */
static APART void write_bytes(int fd)
{
    for (int at = 0; at < 3000; at++)
        check(write(fd, "x", 1) == 1);
}

static APART void read_blocks(int fd)
{
    char block[512];
    for (int at = 0; at < 5; at++)
        check(pread(fd, block, sizeof block, at * 512) == 512);
}

static APART void fail(int fd)
{
    char byte;
    for (int at = 0; at < 7; at++)
        check(read(fd, &byte, 1) < 0 && errno == EBADF);
}

/* What is written through a stream reaches the kernel in one piece; a stream without a buffer writes each byte. */
static APART void print(FILE *stream, int is_buffered)
{
    if (!is_buffered)
        setvbuf(stream, NULL, _IONBF, 0);
    for (int at = 0; at < 100; at++)
        fputc('x', stream);
    fflush(stream);
}

/* The same number is another file each time, and other threads close and open at the same time. */
static char shared_paths[THREADS][300];

static void *reuse(void *context)
{
    const char *mine = shared_paths[(size_t)context];
    for (int round = 0; round < ROUNDS; round++) {
        const int fd = open(mine, O_WRONLY);
        check(fd >= 0 && write(fd, "abc", 3) == 3);
        close(fd);
    }
    return NULL;
}

static void reuse_in_threads(void)
{
    pthread_t threads[THREADS];
    for (size_t at = 0; at < THREADS; at++) {
        snprintf(shared_paths[at], sizeof shared_paths[at], "%s/thread%zu", folder, at);
        close(open(shared_paths[at], O_CREAT | O_WRONLY, 0600));
    }
    for (size_t at = 0; at < THREADS; at++)
        check(pthread_create(&threads[at], NULL, reuse, (void *)at) == 0);
    for (size_t at = 0; at < THREADS; at++)
        pthread_join(threads[at], NULL);
    for (size_t at = 0; at < THREADS; at++) {
        char name[20];
        snprintf(name, sizeof name, "thread%zu", at);
        told(name, "write", ROUNDS, 3L * ROUNDS, 0);
        told(name, "open", ROUNDS + 1, 0, 0);
    }
}

/* A copy of a descriptor, and one from another process, lead to the same file. */
static int pass_on(int fd)
{
    int ends[2], received = -1;
    char space[CMSG_SPACE(sizeof fd)] = {0}, byte = 'x';
    struct iovec piece = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
    check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(head), &fd, sizeof fd);
    check(sendmsg(ends[0], &message, 0) == 1 && recvmsg(ends[1], &message, 0) == 1);
    memcpy(&received, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof received);
    close(ends[0]);
    close(ends[1]);
    return received;
}

static void use_copies(void)
{
    const int fd = open(in_folder("copied"), O_CREAT | O_WRONLY, 0600), copy = dup(fd), third = dup2(fd, 200);
    const int passed = pass_on(fd);
    check(write(fd, "1", 1) == 1 && write(copy, "22", 2) == 2 && write(third, "333", 3) == 3 &&
          write(passed, "4444", 4) == 4);
    close(fd);
    check(write(copy, "55555", 5) == 5);
    told("copied", "write", 5, 15, 0);
}

/* A child counts for itself, and so does what it executes. */
static void use_child(const char *program)
{
    const int fd = open(in_folder("of_child"), O_CREAT | O_WRONLY | O_APPEND, 0600);
    check(write(fd, "parent", 6) == 6);
    const pid_t child = fork();
    if (child == 0) {
        char number[20];
        check(write(fd, "child", 5) == 5);
        snprintf(number, sizeof number, "%d", fd);
        execl(program, program, "write", number, (char *)NULL);
        _exit(3);
    }
    int status;
    check(waitpid(child, &status, 0) == child && status == 0);
    told("of_child", "write", 3, 15, 0);
}

/* A handler that interrupts counting counts, too. */
static int handled_fd;
static volatile int handled;
static void on_signal(int number)
{
    (void)number;
    const int saved = errno;
    if (write(handled_fd, "h", 1) == 1)
        handled++;
    errno = saved;
}

static void use_handler(void)
{
    struct itimerspec often = {.it_interval = {.tv_nsec = 50000}, .it_value = {.tv_nsec = 50000}};
    timer_t timer;
    signal(SIGALRM, on_signal);
    handled_fd = open(in_folder("handled"), O_CREAT | O_WRONLY, 0600);
    check(timer_create(CLOCK_MONOTONIC, NULL, &timer) == 0);
    timer_settime(timer, 0, &often, NULL);
    for (int at = 0; at < 100000; at++)
        check(write(handled_fd, "m", 1) == 1);
    timer_delete(timer);
    signal(SIGALRM, SIG_IGN);
    told("handled", "write", 100000 + handled, 100000 + handled, 0);
}

int main(int count, char **arguments)
{
    int fd;
    if (count == 3)
        return write(atoi(arguments[2]), "exec", 4) == 4 ? 0 : 3;
    check(mkdtemp(folder) != NULL);
    fd = open(in_folder("write_bytes"), O_CREAT | O_RDWR, 0600);
    write_bytes(fd);
    told("write_bytes", "write", 3000, 3000, 0);
    read_blocks(fd);
    told("write_bytes", "read", 5, 2560, 0);
    fsync(fd);
    told("write_bytes", "sync", 1, 0, 0);
    close(fd);
    fd = open(in_folder("fail"), O_CREAT | O_WRONLY, 0600);
    fail(fd);
    told("fail", "read", 7, 0, 7);
    close(fd);
    FILE *stream = fopen(in_folder("buffered"), "w");
    print(stream, 1);
    fclose(stream);
    told("buffered", "write", 1, 100, 0);
    stream = fopen(in_folder("unbuffered"), "w");
    print(stream, 0);
    fclose(stream);
    told("unbuffered", "write", 100, 100, 0);
    told("unbuffered", "open", 1, 0, 0);
    reuse_in_threads();
    use_copies();
    use_child(arguments[0]);
    use_handler();
    return 0;
}
