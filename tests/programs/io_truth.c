/*
 * Does I/O of which it knows all numbers, and prints them: "NAME OP OPS BYTES ERRORS AGAIN" for rows that end with
 * that name, in functions of the same name as the file; and "waits", with what bounds the times of calls that wait.
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
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

static void told_again(const char *name, const char *op, long ops, long bytes, long errors, long again)
{
    printf("%s %s %ld %ld %ld %ld\n", name, op, ops, bytes, errors, again);
}

static void told(const char *name, const char *op, long ops, long bytes, long errors)
{
    told_again(name, op, ops, bytes, errors, 0);
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

/* Calls that would have to wait: one that fills the pipe goes through. */
static int open_fifo(const char *name, int flags)
{
    check(mkfifo(in_folder(name), 0600) == 0);
    const int fd = open(path, O_RDWR | flags);
    check(fd >= 0 && fcntl(fd, F_SETPIPE_SZ, 4096) == 4096);
    return fd;
}

static void try_again(void)
{
    char page[4096] = "";
    const int fd = open_fifo("again", O_NONBLOCK);
    for (int at = 0; at < 5; at++)
        check(read(fd, page, 1) < 0 && errno == EAGAIN);
    check(write(fd, page, sizeof page) == sizeof page);
    for (int at = 0; at < 3; at++)
        check(write(fd, page, sizeof page) < 0 && errno == EAGAIN);
    told_again("again", "read", 5, 0, 0, 5);
    told_again("again", "write", 4, sizeof page, 0, 3);
    close(fd);
}

/*
 * Reads that wait. Each is at least as long as the writer sleeps after it has seen that the reader does, and not
 * longer than the reader's clock says.
 */
#define WAITS 10
static struct {
    _Atomic int turn;
    int fd, tid;
    uint64_t least_ns[WAITS], most_ns[WAITS], since_ns[WAITS], until_ns[WAITS];
} slow;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* By calls that are not seen. */
static int sleeps(int tid)
{
    char text[512] = "";
    snprintf(text, sizeof text, "/proc/self/task/%d/stat", tid);
    const long fd = syscall(SYS_openat, AT_FDCWD, text, O_RDONLY);
    check(fd >= 0 && syscall(SYS_read, fd, text, sizeof text - 1) > 0);
    syscall(SYS_close, fd);
    return strstr(text, ") S") != NULL;
}

static void *write_slowly(void *unused)
{
    static const char bytes[1000];
    for (int at = 0; at < WAITS; at++) {
        while (slow.turn != at + 1 || !sleeps(slow.tid))
            sched_yield();
        slow.since_ns[at] = now_ns();
        nanosleep(&(struct timespec){.tv_nsec = 1000000 * (at + 1)}, NULL);
        slow.until_ns[at] = now_ns();
        check(syscall(SYS_write, slow.fd, bytes, sizeof bytes) == sizeof bytes);
    }
    return unused;
}

static void read_slowly(void)
{
    pthread_t writer;
    char bytes[1000];
    slow.fd = open_fifo("slow", 0);
    slow.tid = (int)syscall(SYS_gettid);
    check(pthread_create(&writer, NULL, write_slowly, NULL) == 0);
    const uint64_t begin = now_ns();
    for (int at = 0; at < WAITS; at++) {
        const uint64_t since = now_ns();
        slow.turn = at + 1;
        check(read(slow.fd, bytes, sizeof bytes) == sizeof bytes);
        slow.most_ns[at] = now_ns() - since;
    }
    const uint64_t end = now_ns();
    pthread_join(writer, NULL);
    told("slow", "read", WAITS, 1000 * WAITS, 0);
    printf("waits %llu %llu", (unsigned long long)(slow.until_ns[WAITS - 1] - slow.since_ns[0]),
           (unsigned long long)(end - begin));
    for (int at = 0; at < WAITS; at++)
        printf(" %llu %llu", (unsigned long long)(slow.until_ns[at] - slow.since_ns[at]),
               (unsigned long long)slow.most_ns[at]);
    printf("\n");
    close(slow.fd);
}

static void use_pieces(void)
{
    char bytes[30] = "";
    struct iovec pieces[] = {{bytes, 10}, {bytes + 10, 5}, {bytes + 15, 2}};
    const int fd = open(in_folder("pieces"), O_CREAT | O_RDWR, 0600);
    check(writev(fd, pieces, 3) == 17);
    for (int at = 0; at < 4; at++)
        check(pwritev(fd, pieces, 3, 17 * at) == 17);
    for (int at = 0; at < 3; at++)
        check(preadv(fd, pieces, 2, 50) == 15);
    check(lseek(fd, 0, SEEK_SET) == 0 && readv(fd, pieces, 1) == 10 && pwrite(fd, bytes, 7, 3) == 7);
    told("pieces", "write", 6, 5 * 17 + 7, 0);
    told("pieces", "read", 4, 3 * 15 + 10, 0);
    close(fd);
}

/* Without copying through this program; each counts for where the bytes go. */
static void move_between(int from)
{
    const int copy = open(in_folder("copied_range"), O_CREAT | O_WRONLY, 0600), pipe_ = open_fifo("spliced", 0);
    off_t at = 0;
    long calls = 0;
    for (; at < 3000; calls++)
        check(copy_file_range(from, &at, copy, NULL, 3000 - (size_t)at, 0) > 0);
    told("copied_range", "copy", calls, 3000, 0);
    at = 0;
    for (calls = 0; at < 3000; calls++)
        check(splice(from, &at, pipe_, NULL, 3000 - (size_t)at, 0) > 0);
    told("spliced", "splice", calls, 3000, 0);
    close(pipe_);
    close(copy);
}

/* A socket on a port that the kernel chooses. */
static int on_some_port(int type, struct sockaddr_in *address)
{
    socklen_t size = sizeof *address;
    const int fd = socket(AF_INET, type, 0);
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    check(bind(fd, (void *)address, size) == 0 && getsockname(fd, (void *)address, &size) == 0);
    return fd;
}

static const char *port_of(const char *before, const struct sockaddr_in *address)
{
    static char name[40];
    snprintf(name, sizeof name, "%s%d", before, ntohs(address->sin_port));
    return name;
}

static void send_many(void)
{
    struct sockaddr_in there;
    char bytes[60] = "";
    struct iovec pieces[3] = {{bytes, 10}, {bytes + 10, 20}, {bytes + 30, 30}};
    struct mmsghdr messages[3] = {{.msg_hdr = {.msg_iov = &pieces[0], .msg_iovlen = 1}},
                                  {.msg_hdr = {.msg_iov = &pieces[1], .msg_iovlen = 1}},
                                  {.msg_hdr = {.msg_iov = &pieces[2], .msg_iovlen = 1}}};
    const int to = on_some_port(SOCK_DGRAM, &there), from = socket(AF_INET, SOCK_DGRAM, 0);
    check(connect(from, (void *)&there, sizeof there) == 0);
    for (int round = 0; round < 4; round++)
        check(sendmmsg(from, messages, 3, 0) == 3 && recvmmsg(to, messages, 3, 0, NULL) == 3);
    told(port_of("127.0.0.1:", &there), "connect", 1, 0, 0);
    told(port_of("127.0.0.1:", &there), "send", 4, 240, 0);
    told(port_of("port ", &there), "recv", 4, 240, 0);
    close(from);
    close(to);
}

/* Which may be there at once, or not yet. */
static long connect_at_once(const struct sockaddr_in *there)
{
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0),
              result = connect(fd, (const void *)there, sizeof *there);
    check(result == 0 || errno == EINPROGRESS);
    close(fd);
    return result < 0;
}

static void connect_each(void)
{
    struct sockaddr_in there, closed;
    const int listening = on_some_port(SOCK_STREAM, &there);
    long again = 0;
    close(on_some_port(SOCK_STREAM, &closed));
    check(listen(listening, 10) == 0);
    for (int at = 0; at < 3; at++) {
        const int fd = socket(AF_INET, SOCK_STREAM, 0);
        check(connect(fd, (void *)&there, sizeof there) == 0);
        const int other = accept(listening, NULL, NULL);
        check(other >= 0 && send(fd, "hello", 5, 0) == 5 && recv(other, path, 100, MSG_PEEK) == 5);
        check(recv(other, path, 100, 0) == 5);
        close(other);
        close(fd);
        again += connect_at_once(&there);
        close(accept(listening, NULL, NULL));
    }
    const int refused = socket(AF_INET, SOCK_STREAM, 0);
    check(connect(refused, (void *)&closed, sizeof closed) < 0 && errno == ECONNREFUSED);
    close(refused);
    told_again(port_of("127.0.0.1:", &there), "connect", 6, 0, 0, again);
    told(port_of("127.0.0.1:", &there), "send", 3, 15, 0);
    told(port_of("127.0.0.1 to port ", &there), "recv", 6, 15, 0); /* what is peeked at has not moved */
    told(port_of("port ", &there), "accept", 6, 0, 0);
    told(port_of("127.0.0.1:", &closed), "connect", 1, 0, 1);
    close(listening);
}

/* What is still in the buffer is written when the pipe is closed. */
static void write_to_command(void)
{
    FILE *command = popen("cat > /dev/null", "w");
    check(command != NULL && fputs("ten bytes\n", command) >= 0 && pclose(command) == 0);
}

static void look_up(void)
{
    struct addrinfo *found, numeric = {.ai_flags = AI_NUMERICHOST};
    for (int at = 0; at < 2; at++) {
        check(getaddrinfo("localhost", NULL, NULL, &found) == 0);
        freeaddrinfo(found);
    }
    check(getaddrinfo("no.address", NULL, &numeric, &found) != 0);
    told("localhost", "lookup", 2, 0, 0);
    told("no.address", "lookup", 1, 0, 1);
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
    move_between(fd);
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
    try_again();
    read_slowly();
    use_pieces();
    send_many();
    connect_each();
    look_up();
    write_to_command();
    return 0;
}
