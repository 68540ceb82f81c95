/*
 * How much stack each function takes that the library preloaded by `hotpath run` interposes. Each is called once,
 * on a painted stack:
 *
 *     hook_stack thread NAME...    by a thread that has called nothing else before, with new descriptors
 *     hook_stack handler NAME...   the same in a signal handler, on an alternate stack
 *     hook_stack child NAME...     by a child made by a system call: the first hooked call begins its session
 *     hook_stack fork NAME...      by a child made by fork, whose session begins at its first transfer
 *
 * Prints the name and the bytes; -1: not called. Without names: those that it knows. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <fcntl.h>
#include <grp.h>
#include <malloc.h>
#include <mqueue.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <ucontext.h>
#include <unistd.h>
#include <wordexp.h>

/* ------------------------------------------------------------------------------------------ what calls need */

static struct {
    int pipe[2];  /* with a line in it */
    int other[2]; /* empty */
    int pair[2];
    int alone, network; /* sockets */
    struct addrinfo *addresses;
    int events, epoll, file;
    mqd_t queue;
    FILE *out, *in, *process; /* streams without buffer: on `other`, on `pipe` */
    void *block, *library;
    char *line;
    size_t size;
    char bytes[8192];
    struct iovec piece;
    struct msghdr message;
    struct mmsghdr messages[1];
    struct pollfd poll;
    eventfd_t count;
    pthread_t thread;
    pthread_attr_t detached;
    thrd_t thrd;
    stack_t stack;
    wordexp_t words;
    pthread_mutex_t open, mutex, busy, awaited, checking, room;
    pthread_rwlock_t shelf, full, lent;
    pthread_spinlock_t spin;
    pthread_cond_t bell, quiet;
    sem_t tickets, none;
    pthread_barrier_t barrier;
    union {
        pthread_mutex_t mutex;
        mtx_t mtx;
        pthread_rwlock_t rwlock;
        pthread_spinlock_t spin;
        pthread_cond_t condition;
        cnd_t cnd;
        sem_t semaphore;
        pthread_barrier_t barrier;
    } made;
} its;

static const struct timespec long_ago = {.tv_sec = 1};
static const struct timespec at_once, later = {.tv_sec = (time_t)1 << 32};
static char no_word[] = "none", *const no_words[] = {no_word, NULL};

static void *do_nothing(void *unused) { return unused; }
static int do_nothing_else(void *unused) { return unused != NULL; }

/* Another thread, which has what a call waits for, or waits for what a call gives up. */
static struct {
    pthread_t thread;
    bool is_there;
    int is_ready, is_done; /* atomic */
} helper;

/* The thread that calls, from just before it does; 0: none yet. */
static int caller; /* atomic */

/* It sleeps in the call: else it would not have to wait, which takes less stack. */
static bool is_caller_asleep(void)
{
    char path[64], line[256] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", __atomic_load_n(&caller, __ATOMIC_SEQ_CST));
    const int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY);
    if (file < 0)
        return false;
    syscall(SYS_read, file, line, sizeof line - 1);
    syscall(SYS_close, file);
    const char *end = strrchr(line, ')');
    return end != NULL && end[1] == ' ' && end[2] == 'S';
}

static void *give_soon(void *name)
{
    pthread_rwlock_wrlock(&its.shelf);
    __atomic_store_n(&helper.is_ready, 1, __ATOMIC_SEQ_CST);
    while (!is_caller_asleep())
        usleep(100);
    if (strstr(name, "rwlock") != NULL)
        pthread_rwlock_unlock(&its.shelf);
    else if (strstr(name, "sem") != NULL)
        sem_post(&its.tickets);
    else
        pthread_mutex_unlock(&its.mutex);
    __atomic_store_n(&helper.is_done, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

static void *await(void *name)
{
    __atomic_store_n(&helper.is_ready, 1, __ATOMIC_SEQ_CST);
    if (strstr(name, "mutex") != NULL || strstr(name, "mtx") != NULL) {
        pthread_mutex_lock(&its.awaited);
    } else if (strstr(name, "rwlock") != NULL) {
        pthread_rwlock_wrlock(&its.lent);
    } else if (strstr(name, "sem") != NULL) {
        sem_wait(&its.none);
    } else {
        pthread_mutex_lock(&its.room);
        pthread_cond_wait(&its.bell, &its.room);
    }
    __atomic_store_n(&helper.is_done, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

/* The call may have come before the other thread waited for a signal. */
static void end_helper(void)
{
    while (helper.is_there && __atomic_load_n(&helper.is_done, __ATOMIC_SEQ_CST) == 0) {
        pthread_cond_broadcast(&its.bell);
        usleep(1000);
    }
    if (helper.is_there)
        pthread_join(helper.thread, NULL);
    helper.is_there = helper.is_ready = helper.is_done = false;
}

static void begin_helper(void *routine(void *), const char *name)
{
    if (pthread_create(&helper.thread, NULL, routine, (void *)name) != 0)
        exit(3);
    helper.is_there = true;
    while (__atomic_load_n(&helper.is_ready, __ATOMIC_SEQ_CST) == 0)
        usleep(100);
    usleep(routine == await ? 3000 : 0);
}

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names != NULL && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

/* Some locks are busy, and given up soon, or awaited; but not in children, which have no other threads. */
static void prepare_locks(const char *name, bool has_threads)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&its.checking, &attributes);
    pthread_spin_init(&its.spin, 0);
    sem_init(&its.tickets, 0, !has_threads);
    sem_init(&its.none, 0, 0);
    pthread_barrier_init(&its.barrier, NULL, 1);
    pthread_mutex_lock(&its.busy);
    pthread_mutex_lock(&its.awaited);
    pthread_rwlock_wrlock(&its.full);
    pthread_rwlock_rdlock(&its.lent);
    static const char *const waiting[] = {"pthread_mutex_lock",    "mtx_lock", "pthread_rwlock_rdlock",
                                          "pthread_rwlock_wrlock", "sem_wait", NULL};
    static const char *const giving[] = {"pthread_mutex_unlock",   "mtx_unlock", "pthread_rwlock_unlock",
                                         "pthread_cond_signal",    "cnd_signal", "cnd_broadcast",
                                         "pthread_cond_broadcast", "sem_post",   NULL};
    if (has_threads && is_one_of(name, waiting)) {
        pthread_mutex_lock(&its.mutex);
        begin_helper(give_soon, name);
    }
    if (has_threads && is_one_of(name, giving))
        begin_helper(await, name);
}

/* New descriptors, which nothing hooked has seen. */
static void prepare(const char *name)
{
    static unsigned number;
    char path[32];
    memset(&its, 0, sizeof its);
    snprintf(path, sizeof path, "/hook_stack.%d.%u", getpid(), number++);
    if (syscall(SYS_pipe2, its.pipe, 0) != 0 || syscall(SYS_pipe2, its.other, 0) != 0 ||
        syscall(SYS_socketpair, AF_UNIX, SOCK_DGRAM, 0, its.pair) != 0 ||
        syscall(SYS_write, its.pipe[1], "1 x\n", 4) != 4)
        exit(3);
    syscall(SYS_sendto, its.pair[0], "x", 1, 0, NULL, 0);
    its.alone = socket(AF_UNIX, SOCK_DGRAM, 0);
    its.network = (int)syscall(SYS_socket, AF_INET, SOCK_DGRAM, 0);
    its.events = (int)syscall(SYS_eventfd2, 1, 0);
    its.epoll = epoll_create1(0);
    its.file = open("/proc/self/exe", O_RDONLY);
    struct mq_attr room = {.mq_maxmsg = 4, .mq_msgsize = 8};
    its.queue = strncmp(name, "mq_", 3) == 0 ? mq_open(path, O_RDWR | O_CREAT, 0600, &room) : -1;
    if (its.queue >= 0) {
        mq_unlink(path);
        syscall(SYS_mq_timedsend, its.queue, "x", 1, 0, NULL);
    }
    its.out = fdopen(dup(its.other[1]), "w");
    its.in = fdopen(dup(its.pipe[0]), "r");
    setvbuf(its.out, NULL, _IONBF, 0);
    setvbuf(its.in, NULL, _IONBF, 0);
    its.process = strcmp(name, "pclose") == 0 ? popen("exec true", "r") : NULL;
    its.block = malloc(100);
    its.library = dlopen("libdl.so.2", RTLD_NOW);
    its.piece = (struct iovec){its.bytes, 1};
    its.message = its.messages[0].msg_hdr = (struct msghdr){.msg_iov = &its.piece, .msg_iovlen = 1};
    its.poll = (struct pollfd){.fd = its.pipe[0], .events = POLLIN};
    pthread_attr_init(&its.detached);
    pthread_attr_setdetachstate(&its.detached, PTHREAD_CREATE_DETACHED);
}

/* ---------------------------------------------------------------------------------------------- the calls */

/* Missing in some headers. */
extern ssize_t __read_chk(int, void *, size_t, size_t);
extern ssize_t __recv_chk(int, void *, size_t, size_t, int);
extern ssize_t __recvfrom_chk(int, void *, size_t, size_t, int, void *, socklen_t *);
extern int __poll_chk(struct pollfd *, nfds_t, int, size_t);
extern int __ppoll_chk(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t);
/* Of libraries: hook_stack_library.c. */
extern int uv_run(void *, int), event_base_loop(void *, int), event_base_dispatch(void *), ev_run(void *, int);
extern void g_main_loop_run(void *);
extern int g_main_context_iteration(void *, int);
extern int __io_uring_get_cqe(void *, void **, unsigned, unsigned, sigset_t *);
extern int io_uring_wait_cqes(void *, void **, unsigned, void *, sigset_t *);
extern int io_uring_wait_cqe_timeout(void *, void **, void *);
extern int io_uring_submit_and_wait(void *, unsigned);
extern int io_uring_submit_and_wait_timeout(void *, void **, unsigned, void *, sigset_t *);
typedef int compare(const void *, const void *, void *);
extern void g_async_queue_push(void *, void *), g_async_queue_push_unlocked(void *, void *);
extern void g_async_queue_push_front(void *, void *), g_async_queue_push_front_unlocked(void *, void *);
extern void g_async_queue_push_sorted(void *, void *, compare *, void *);
extern void g_async_queue_push_sorted_unlocked(void *, void *, compare *, void *);
extern void *g_async_queue_pop(void *), *g_async_queue_pop_unlocked(void *);
extern void *g_async_queue_try_pop(void *), *g_async_queue_try_pop_unlocked(void *);
extern void *g_async_queue_timeout_pop(void *, uint64_t), *g_async_queue_timeout_pop_unlocked(void *, uint64_t);

/* Not in every C library; 64-bit machines. */
#define WEAK extern __attribute__((weak))
WEAK void free_sized(void *, size_t), free_aligned_sized(void *, size_t, size_t);
#define NEW(name) WEAK void *name(size_t, size_t, size_t);
#define DELETE(name) WEAK void name(void *, size_t, size_t);
/* clang-format off */
#define CXX(NEW, DELETE)                                                                                           \
    NEW(_Znwm) NEW(_Znam) NEW(_ZnwmRKSt9nothrow_t) NEW(_ZnamRKSt9nothrow_t) NEW(_ZnwmSt11align_val_t)              \
    NEW(_ZnamSt11align_val_t) NEW(_ZnwmSt11align_val_tRKSt9nothrow_t) NEW(_ZnamSt11align_val_tRKSt9nothrow_t)      \
    DELETE(_ZdlPv) DELETE(_ZdaPv) DELETE(_ZdlPvm) DELETE(_ZdaPvm) DELETE(_ZdlPvRKSt9nothrow_t)                     \
    DELETE(_ZdaPvRKSt9nothrow_t) DELETE(_ZdlPvSt11align_val_t) DELETE(_ZdaPvSt11align_val_t)                       \
    DELETE(_ZdlPvmSt11align_val_t) DELETE(_ZdaPvmSt11align_val_t) DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t)      \
    DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t)
/* clang-format on */
CXX(NEW, DELETE)

WEAK int _IO_getc(FILE *), _IO_putc(int, FILE *), __overflow(FILE *, int), __uflow(FILE *), __underflow(FILE *);
WEAK int __printf_chk(int, const char *, ...), __fprintf_chk(FILE *, int, const char *, ...);
WEAK int __dprintf_chk(int, int, const char *, ...), __vprintf_chk(int, const char *, va_list);
WEAK int __vfprintf_chk(FILE *, int, const char *, va_list), __vdprintf_chk(int, int, const char *, va_list);
WEAK char *__fgets_chk(char *, size_t, int, FILE *), *__fgets_unlocked_chk(char *, size_t, int, FILE *);
WEAK size_t __fread_chk(void *, size_t, size_t, size_t, FILE *);
WEAK size_t __fread_unlocked_chk(void *, size_t, size_t, size_t, FILE *);
WEAK ssize_t __getdelim(char **, size_t *, int, FILE *);
#define SCANF(prefix)                                                                                              \
    WEAK int prefix##scanf(const char *, ...), prefix##fscanf(FILE *, const char *, ...);                          \
    WEAK int prefix##vscanf(const char *, va_list), prefix##vfscanf(FILE *, const char *, va_list);
SCANF(__isoc99_)
SCANF(__isoc23_)
SCANF()

WEAK int __open_2(const char *, int), __open64_2(const char *, int);
WEAK int __openat_2(int, const char *, int), __openat64_2(int, const char *, int);
WEAK ssize_t __pread_chk(int, void *, size_t, off_t, size_t), __pread64_chk(int, void *, size_t, off64_t, size_t);
WEAK ssize_t preadv64v2(int, const struct iovec *, int, off64_t, int);
WEAK ssize_t pwritev64v2(int, const struct iovec *, int, off64_t, int);
extern int SSL_read(void *, void *, int), SSL_write(void *, const void *, int);
extern int SSL_read_ex(void *, void *, size_t, size_t *), SSL_write_ex(void *, const void *, size_t, size_t *);

static const char path[] = "/proc/self/exe";
static const struct addrinfo numeric = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
static const struct sockaddr_in local = {.sin_family = AF_INET, .sin_port = 0x3930, .sin_addr = {0x0100007f}};

static va_list list;
static void fill_list(int unused, ...) { va_start(list, unused); }

/* A function without arguments for each, with the name of what it calls. */
#define CALLS(CALL)                                                                                                \
    CALL(malloc, its.block = malloc(64 << 20))                                                                     \
    CALL(free_sized, free_sized(its.block, 100))                                                                   \
    CALL(free_aligned_sized, free_aligned_sized(its.block, 16, 100))                                               \
    CALL(free, free(its.block))                                                                                    \
    CALL(calloc, its.block = calloc(3, 100))                                                                       \
    CALL(realloc, its.block = realloc(its.block, 64 << 20))                                                        \
    CALL(reallocarray, its.block = reallocarray(its.block, 3, 100))                                                \
    CALL(posix_memalign, (void)!posix_memalign(&its.block, 64, 100))                                               \
    CALL(aligned_alloc, its.block = aligned_alloc(64, 128))                                                        \
    CALL(memalign, its.block = memalign(64, 100))                                                                  \
    CALL(valloc, its.block = valloc(100))                                                                          \
    CALL(pvalloc, its.block = pvalloc(100))                                                                        \
    CALL(prctl, prctl(PR_GET_DUMPABLE))                                                                            \
    CALL(syscall, syscall(SYS_getppid))                                                                            \
    CALL(pthread_create, pthread_create(&its.thread, &its.detached, do_nothing, NULL))                             \
    CALL(thrd_create, thrd_create(&its.thrd, do_nothing_else, NULL))                                               \
    CALL(pthread_join, pthread_join(pthread_self(), NULL)) /* refused */                                           \
    CALL(thrd_join, thrd_join(thrd_current(), NULL))                                                               \
    CALL(sigaltstack, sigaltstack(NULL, &its.stack))                                                               \
    CALL(chroot, (void)!chroot("/"))                                                                               \
    CALL(initgroups, (void)!initgroups("root", getgid()))                                                          \
    CALL(setgroups, (void)!setgroups(0, NULL))                                                                     \
    CALL(setuid, (void)!setuid(getuid()))                                                                          \
    CALL(setgid, (void)!setgid(getgid()))                                                                          \
    CALL(seteuid, (void)!seteuid(geteuid()))                                                                       \
    CALL(setegid, (void)!setegid(getegid()))                                                                       \
    CALL(setreuid, (void)!setreuid(getuid(), geteuid()))                                                           \
    CALL(setregid, (void)!setregid(getgid(), getegid()))                                                           \
    CALL(setresuid, (void)!setresuid(getuid(), geteuid(), geteuid()))                                              \
    CALL(setresgid, (void)!setresgid(getgid(), getegid(), getegid()))                                              \
    CALL(setns, setns(-1, 0))                                                                                      \
    CALL(unshare, unshare(0))                                                                                      \
    CALL(dlclose, dlclose(its.library))                                                                            \
    CALL(epoll_wait, epoll_wait(its.epoll, (void *)its.bytes, 1, 0))                                               \
    CALL(epoll_pwait, epoll_pwait(its.epoll, (void *)its.bytes, 1, 0, NULL))                                       \
    CALL(epoll_pwait2, epoll_pwait2(its.epoll, (void *)its.bytes, 1, &at_once, NULL))                              \
    CALL(poll, poll(&its.poll, 1, 0))                                                                              \
    CALL(ppoll, ppoll(&its.poll, 1, &at_once, NULL))                                                               \
    CALL(__poll_chk, __poll_chk(&its.poll, 1, 0, sizeof its.poll))                                                 \
    CALL(__ppoll_chk, __ppoll_chk(&its.poll, 1, &at_once, NULL, sizeof its.poll))                                  \
    CALL(select, select(0, NULL, NULL, NULL, (void *)its.bytes))                                                   \
    CALL(pselect, pselect(0, NULL, NULL, NULL, &at_once, NULL))                                                    \
    CALL(read, (void)!read(its.pipe[0], its.bytes, 1))                                                             \
    CALL(__read_chk, __read_chk(its.pipe[0], its.bytes, 1, sizeof its.bytes))                                      \
    CALL(write, (void)!write(its.other[1], "x", 1))                                                                \
    CALL(readv, (void)!readv(its.pipe[0], &its.piece, 1))                                                          \
    CALL(writev, (void)!writev(its.other[1], &its.piece, 1))                                                       \
    CALL(splice, splice(its.pipe[0], NULL, its.other[1], NULL, 1, 0))                                              \
    CALL(sendfile, sendfile(its.other[1], its.file, NULL, 1))                                                      \
    CALL(sendfile64, sendfile64(its.other[1], its.file, NULL, 1))                                                  \
    CALL(eventfd_read, eventfd_read(its.events, &its.count))                                                       \
    CALL(eventfd_write, eventfd_write(its.events, 1))                                                              \
    CALL(send, send(its.alone, "x", 1, MSG_NOSIGNAL))                                                              \
    CALL(sendto, sendto(its.pair[0], "x", 1, 0, NULL, 0))                                                          \
    CALL(sendmsg, sendmsg(its.pair[0], &its.message, 0))                                                           \
    CALL(sendmmsg, sendmmsg(its.pair[0], its.messages, 1, 0))                                                      \
    CALL(recv, recv(its.pair[1], its.bytes, 1, 0))                                                                 \
    CALL(recvfrom, recvfrom(its.pair[1], its.bytes, 1, 0, NULL, NULL))                                             \
    CALL(recvmsg, recvmsg(its.pair[1], &its.message, 0))                                                           \
    CALL(recvmmsg, recvmmsg(its.pair[1], its.messages, 1, 0, NULL))                                                \
    CALL(__recv_chk, __recv_chk(its.pair[1], its.bytes, 1, sizeof its.bytes, 0))                                   \
    CALL(__recvfrom_chk, __recvfrom_chk(its.pair[1], its.bytes, 1, sizeof its.bytes, 0, NULL, NULL))               \
    CALL(close, close(its.pipe[1]))                                                                                \
    CALL(close_range, close_range((unsigned)its.pipe[1], (unsigned)its.pipe[1], 0))                                \
    CALL(closefrom, closefrom(its.file + 1))                                                                       \
    CALL(dup2, dup2(its.file, its.pipe[1]))                                                                        \
    CALL(fcntl, fcntl(its.pipe[0], F_SETFL, O_NONBLOCK))                                                           \
    CALL(fcntl64, fcntl64(its.pipe[0], F_SETFL, O_NONBLOCK))                                                       \
    CALL(ioctl, ioctl(its.pipe[0], FIONBIO, &(int){1}))                                                            \
    CALL(dup3, dup3(its.file, its.pipe[1], 0))                                                                     \
    CALL(socketpair, socketpair(AF_UNIX, SOCK_STREAM, 0, its.pair))                                                \
    CALL(pipe, pipe(its.pair))                                                                                     \
    CALL(pipe2, pipe2(its.pair, 0))                                                                                \
    CALL(eventfd, its.events = eventfd(0, 0))                                                                      \
    CALL(execve, execve("/nonexistent", no_words, environ))                                                        \
    CALL(execv, execv("/nonexistent", no_words))                                                                   \
    CALL(execvp, execvp("/nonexistent", no_words))                                                                 \
    CALL(execvpe, execvpe("/nonexistent", no_words, environ))                                                      \
    CALL(fexecve, fexecve(-1, no_words, environ))                                                                  \
    CALL(execveat, execveat(-1, "nonexistent", no_words, environ, 0))                                              \
    CALL(execl, execl("/nonexistent", no_word, NULL))                                                              \
    CALL(execle, execle("/nonexistent", no_word, NULL, environ))                                                   \
    CALL(execlp, execlp("/nonexistent", no_word, NULL))                                                            \
    CALL(posix_spawn, posix_spawn(NULL, "/nonexistent", NULL, NULL, no_words, environ))                            \
    CALL(posix_spawnp, posix_spawnp(NULL, "/nonexistent", NULL, NULL, no_words, environ))                          \
    CALL(wordexp, wordexp("word", &its.words, 0))                                                                  \
    CALL(system, (void)!system("exec true"))                                                                       \
    CALL(fclose, fclose(its.out))                                                                                  \
    CALL(popen, its.process = popen("exec true", "r"))                                                             \
    CALL(pclose, pclose(its.process))                                                                              \
    CALL(freopen, its.out = freopen("/dev/null", "w", its.out))                                                    \
    CALL(freopen64, its.out = freopen64("/dev/null", "w", its.out))                                                \
    CALL(mq_send, mq_send(its.queue, "x", 1, 0))                                                                   \
    CALL(mq_timedsend, mq_timedsend(its.queue, "x", 1, 0, &later))                                                 \
    CALL(mq_receive, mq_receive(its.queue, its.bytes, 8, NULL))                                                    \
    CALL(mq_timedreceive, mq_timedreceive(its.queue, its.bytes, 8, NULL, &later))                                  \
    CALL(mq_close, mq_close(its.queue))                                                                            \
    CALL(uv_run, uv_run(&its, 0))                                                                                  \
    CALL(event_base_loop, event_base_loop(&its, 0))                                                                \
    CALL(event_base_dispatch, event_base_dispatch(&its))                                                           \
    CALL(ev_run, ev_run(&its, 0))                                                                                  \
    CALL(g_main_loop_run, g_main_loop_run(&its))                                                                   \
    CALL(g_main_context_iteration, g_main_context_iteration(&its, 0))                                              \
    CALL(__io_uring_get_cqe, __io_uring_get_cqe(&its, NULL, 0, 1, NULL))                                           \
    CALL(io_uring_wait_cqes, io_uring_wait_cqes(&its, NULL, 1, NULL, NULL))                                        \
    CALL(io_uring_wait_cqe_timeout, io_uring_wait_cqe_timeout(&its, NULL, NULL))                                   \
    CALL(io_uring_submit_and_wait, io_uring_submit_and_wait(&its, 1))                                              \
    CALL(io_uring_submit_and_wait_timeout, io_uring_submit_and_wait_timeout(&its, NULL, 1, NULL, NULL))            \
    CALL(g_async_queue_push, g_async_queue_push(&its, &its))                                                       \
    CALL(g_async_queue_push_unlocked, g_async_queue_push_unlocked(&its, &its))                                     \
    CALL(g_async_queue_push_front, g_async_queue_push_front(&its, &its))                                           \
    CALL(g_async_queue_push_front_unlocked, g_async_queue_push_front_unlocked(&its, &its))                         \
    CALL(g_async_queue_push_sorted, g_async_queue_push_sorted(&its, &its, NULL, NULL))                             \
    CALL(g_async_queue_push_sorted_unlocked, g_async_queue_push_sorted_unlocked(&its, &its, NULL, NULL))           \
    CALL(g_async_queue_pop, g_async_queue_pop(&its))                                                               \
    CALL(g_async_queue_pop_unlocked, g_async_queue_pop_unlocked(&its))                                             \
    CALL(g_async_queue_try_pop, g_async_queue_try_pop(&its))                                                       \
    CALL(g_async_queue_try_pop_unlocked, g_async_queue_try_pop_unlocked(&its))                                     \
    CALL(g_async_queue_timeout_pop, g_async_queue_timeout_pop(&its, 0))                                            \
    CALL(g_async_queue_timeout_pop_unlocked, g_async_queue_timeout_pop_unlocked(&its, 0))

/* Streams: each call reads or writes, since they have no buffer. */
#define STREAM_CALLS(CALL)                                                                                         \
    CALL(fputc, fputc('x', its.out))                                                                               \
    CALL(putc, (putc)('x', its.out))                                                                               \
    CALL(_IO_putc, _IO_putc('x', its.out))                                                                         \
    CALL(fputc_unlocked, fputc_unlocked('x', its.out))                                                             \
    CALL(putc_unlocked, (putc_unlocked)('x', its.out))                                                             \
    CALL(putchar, (putchar)('x'))                                                                                  \
    CALL(putchar_unlocked, (putchar_unlocked)('x'))                                                                \
    CALL(__overflow, __overflow(its.out, 'x'))                                                                     \
    CALL(puts, puts("x"))                                                                                          \
    CALL(fputs, fputs("x", its.out))                                                                               \
    CALL(fputs_unlocked, fputs_unlocked("x", its.out))                                                             \
    CALL(fwrite, fwrite("x", 1, 1, its.out))                                                                       \
    CALL(fwrite_unlocked, (fwrite_unlocked)("x", 1, 1, its.out))                                                   \
    CALL(fflush, fflush(its.out))                                                                                  \
    CALL(fflush_unlocked, fflush_unlocked(its.out))                                                                \
    CALL(printf, printf("%s", "x"))                                                                                \
    CALL(fprintf, fprintf(its.out, "%s", "x"))                                                                     \
    CALL(dprintf, dprintf(its.other[1], "%s", "x"))                                                                \
    CALL(vprintf, vprintf("x", list))                                                                              \
    CALL(vfprintf, vfprintf(its.out, "x", list))                                                                   \
    CALL(vdprintf, vdprintf(its.other[1], "x", list))                                                              \
    CALL(__printf_chk, __printf_chk(1, "%s", "x"))                                                                 \
    CALL(__fprintf_chk, __fprintf_chk(its.out, 1, "%s", "x"))                                                      \
    CALL(__dprintf_chk, __dprintf_chk(its.other[1], 1, "%s", "x"))                                                 \
    CALL(__vprintf_chk, __vprintf_chk(1, "x", list))                                                               \
    CALL(__vfprintf_chk, __vfprintf_chk(its.out, 1, "x", list))                                                    \
    CALL(__vdprintf_chk, __vdprintf_chk(its.other[1], 1, "x", list))                                               \
    CALL(fgetc, fgetc(its.in))                                                                                     \
    CALL(getc, (getc)(its.in))                                                                                     \
    CALL(_IO_getc, _IO_getc(its.in))                                                                               \
    CALL(fgetc_unlocked, fgetc_unlocked(its.in))                                                                   \
    CALL(getc_unlocked, (getc_unlocked)(its.in))                                                                   \
    CALL(getchar, (getchar)())                                                                                     \
    CALL(getchar_unlocked, (getchar_unlocked)())                                                                   \
    CALL(__uflow, __uflow(its.in))                                                                                 \
    CALL(__underflow, __underflow(its.in))                                                                         \
    CALL(fgets, (void)!fgets(its.bytes, 8, its.in))                                                                \
    CALL(fgets_unlocked, (void)!fgets_unlocked(its.bytes, 8, its.in))                                              \
    CALL(__fgets_chk, __fgets_chk(its.bytes, 64, 8, its.in))                                                       \
    CALL(__fgets_unlocked_chk, __fgets_unlocked_chk(its.bytes, 64, 8, its.in))                                     \
    CALL(fread, (void)!fread(its.bytes, 1, 4, its.in))                                                             \
    CALL(fread_unlocked, (void)!(fread_unlocked)(its.bytes, 1, 4, its.in))                                         \
    CALL(__fread_chk, __fread_chk(its.bytes, 64, 1, 4, its.in))                                                    \
    CALL(__fread_unlocked_chk, __fread_unlocked_chk(its.bytes, 64, 1, 4, its.in))                                  \
    CALL(getline, (void)!getline(&its.line, &its.size, its.in))                                                    \
    CALL(getdelim, (void)!getdelim(&its.line, &its.size, '\n', its.in))                                            \
    CALL(__getdelim, (void)!__getdelim(&its.line, &its.size, '\n', its.in))                                        \
    CALL(scanf, (void)!scanf("1"))                                                                                 \
    CALL(fscanf, (void)!fscanf(its.in, "1"))                                                                       \
    CALL(vscanf, (void)!vscanf("1", list))                                                                         \
    CALL(vfscanf, (void)!vfscanf(its.in, "1", list))                                                               \
    CALL(__isoc99_scanf, __isoc99_scanf("1"))                                                                      \
    CALL(__isoc99_fscanf, __isoc99_fscanf(its.in, "1"))                                                            \
    CALL(__isoc99_vscanf, __isoc99_vscanf("1", list))                                                              \
    CALL(__isoc99_vfscanf, __isoc99_vfscanf(its.in, "1", list))                                                    \
    CALL(__isoc23_scanf, __isoc23_scanf("1"))                                                                      \
    CALL(__isoc23_fscanf, __isoc23_fscanf(its.in, "1"))                                                            \
    CALL(__isoc23_vscanf, __isoc23_vscanf("1", list))                                                              \
    CALL(__isoc23_vfscanf, __isoc23_vfscanf(its.in, "1", list))

/* On locks that are free, busy, or awaited by other threads: prepare_locks. */
#define LOCK_CALLS(CALL)                                                                                           \
    CALL(pthread_mutex_trylock, pthread_mutex_trylock(&its.open))                                                  \
    CALL(pthread_mutex_lock, pthread_mutex_lock(&its.mutex))                                                       \
    CALL(pthread_mutex_timedlock, pthread_mutex_timedlock(&its.busy, &long_ago))                                   \
    CALL(pthread_mutex_clocklock, pthread_mutex_clocklock(&its.busy, CLOCK_REALTIME, &long_ago))                   \
    CALL(pthread_mutex_unlock, pthread_mutex_unlock(&its.awaited))                                                 \
    CALL(pthread_mutex_init, pthread_mutex_init(&its.made.mutex, NULL))                                            \
    CALL(pthread_mutex_destroy, pthread_mutex_destroy(&its.open))                                                  \
    CALL(mtx_trylock, mtx_trylock((mtx_t *)&its.open))                                                             \
    CALL(mtx_lock, mtx_lock((mtx_t *)&its.mutex))                                                                  \
    CALL(mtx_timedlock, mtx_timedlock((mtx_t *)&its.busy, &long_ago))                                              \
    CALL(mtx_unlock, mtx_unlock((mtx_t *)&its.awaited))                                                            \
    CALL(mtx_init, mtx_init(&its.made.mtx, mtx_plain))                                                             \
    CALL(mtx_destroy, mtx_destroy((mtx_t *)&its.open))                                                             \
    CALL(pthread_rwlock_tryrdlock, pthread_rwlock_tryrdlock(&its.shelf))                                           \
    CALL(pthread_rwlock_trywrlock, pthread_rwlock_trywrlock(&its.shelf))                                           \
    CALL(pthread_rwlock_rdlock, pthread_rwlock_rdlock(&its.shelf))                                                 \
    CALL(pthread_rwlock_wrlock, pthread_rwlock_wrlock(&its.shelf))                                                 \
    CALL(pthread_rwlock_timedrdlock, pthread_rwlock_timedrdlock(&its.full, &long_ago))                             \
    CALL(pthread_rwlock_timedwrlock, pthread_rwlock_timedwrlock(&its.full, &long_ago))                             \
    CALL(pthread_rwlock_clockrdlock, pthread_rwlock_clockrdlock(&its.full, CLOCK_REALTIME, &long_ago))             \
    CALL(pthread_rwlock_clockwrlock, pthread_rwlock_clockwrlock(&its.full, CLOCK_REALTIME, &long_ago))             \
    CALL(pthread_rwlock_unlock, pthread_rwlock_unlock(&its.lent))                                                  \
    CALL(pthread_rwlock_init, pthread_rwlock_init(&its.made.rwlock, NULL))                                         \
    CALL(pthread_rwlock_destroy, pthread_rwlock_destroy(&its.shelf))                                               \
    CALL(pthread_spin_trylock, pthread_spin_trylock(&its.spin))                                                    \
    CALL(pthread_spin_lock, pthread_spin_lock(&its.spin))                                                          \
    CALL(pthread_spin_unlock, pthread_spin_unlock(&its.spin))                                                      \
    CALL(pthread_spin_init, pthread_spin_init(&its.made.spin, 0))                                                  \
    CALL(pthread_spin_destroy, pthread_spin_destroy(&its.spin))                                                    \
    CALL(pthread_cond_wait, pthread_cond_wait(&its.bell, &its.checking))                                           \
    CALL(pthread_cond_timedwait, pthread_cond_timedwait(&its.bell, &its.busy, &long_ago))                          \
    CALL(pthread_cond_clockwait, pthread_cond_clockwait(&its.bell, &its.busy, CLOCK_REALTIME, &long_ago))          \
    CALL(pthread_cond_signal, pthread_cond_signal(&its.bell))                                                      \
    CALL(pthread_cond_broadcast, pthread_cond_broadcast(&its.bell))                                                \
    CALL(pthread_cond_init, pthread_cond_init(&its.made.condition, NULL))                                          \
    CALL(pthread_cond_destroy, pthread_cond_destroy(&its.quiet))                                                   \
    CALL(cnd_wait, cnd_wait((cnd_t *)&its.bell, (mtx_t *)&its.checking))                                           \
    CALL(cnd_timedwait, cnd_timedwait((cnd_t *)&its.bell, (mtx_t *)&its.busy, &long_ago))                          \
    CALL(cnd_signal, cnd_signal((cnd_t *)&its.bell))                                                               \
    CALL(cnd_broadcast, cnd_broadcast((cnd_t *)&its.bell))                                                         \
    CALL(cnd_init, cnd_init(&its.made.cnd))                                                                        \
    CALL(cnd_destroy, cnd_destroy((cnd_t *)&its.quiet))                                                            \
    CALL(sem_trywait, sem_trywait(&its.tickets))                                                                   \
    CALL(sem_wait, sem_wait(&its.tickets))                                                                         \
    CALL(sem_timedwait, sem_timedwait(&its.none, &long_ago))                                                       \
    CALL(sem_clockwait, sem_clockwait(&its.none, CLOCK_REALTIME, &long_ago))                                       \
    CALL(sem_post, sem_post(&its.none))                                                                            \
    CALL(sem_init, sem_init(&its.made.semaphore, 0, 0))                                                            \
    CALL(sem_destroy, sem_destroy(&its.tickets))                                                                   \
    CALL(pthread_barrier_wait, pthread_barrier_wait(&its.barrier))                                                 \
    CALL(pthread_barrier_init, pthread_barrier_init(&its.made.barrier, NULL, 1))                                   \
    CALL(pthread_barrier_destroy, pthread_barrier_destroy(&its.barrier))

/* Those that only --io counts. Open ones are left open: there are few. */
#define IO_CALLS(CALL)                                                                                             \
    CALL(open, open(path, O_RDONLY))                                                                               \
    CALL(open64, open64(path, O_RDONLY))                                                                           \
    CALL(openat, openat(AT_FDCWD, path, O_RDONLY))                                                                 \
    CALL(openat64, openat64(AT_FDCWD, path, O_RDONLY))                                                             \
    CALL(__open_2, __open_2(path, O_RDONLY))                                                                       \
    CALL(__open64_2, __open64_2(path, O_RDONLY))                                                                   \
    CALL(__openat_2, __openat_2(AT_FDCWD, path, O_RDONLY))                                                         \
    CALL(__openat64_2, __openat64_2(AT_FDCWD, path, O_RDONLY))                                                     \
    CALL(creat, creat("/dev/null", 0600))                                                                          \
    CALL(creat64, creat64("/dev/null", 0600))                                                                      \
    CALL(fopen, fopen(path, "r"))                                                                                  \
    CALL(fopen64, fopen64(path, "r"))                                                                              \
    CALL(pread, (void)!pread(its.file, its.bytes, 1, 0))                                                           \
    CALL(pread64, (void)!pread64(its.file, its.bytes, 1, 0))                                                       \
    CALL(__pread_chk, __pread_chk(its.file, its.bytes, 1, 0, sizeof its.bytes))                                    \
    CALL(__pread64_chk, __pread64_chk(its.file, its.bytes, 1, 0, sizeof its.bytes))                                \
    CALL(pwrite, (void)!pwrite(its.file, "x", 1, 0))                                                               \
    CALL(pwrite64, (void)!pwrite64(its.file, "x", 1, 0))                                                           \
    CALL(preadv, (void)!preadv(its.file, &its.piece, 1, 0))                                                        \
    CALL(preadv64, (void)!preadv64(its.file, &its.piece, 1, 0))                                                    \
    CALL(preadv2, (void)!preadv2(its.file, &its.piece, 1, 0, 0))                                                   \
    CALL(preadv64v2, (void)!preadv64v2(its.file, &its.piece, 1, 0, 0))                                             \
    CALL(pwritev, (void)!pwritev(its.file, &its.piece, 1, 0))                                                      \
    CALL(pwritev64, (void)!pwritev64(its.file, &its.piece, 1, 0))                                                  \
    CALL(pwritev2, (void)!pwritev2(its.file, &its.piece, 1, 0, 0))                                                 \
    CALL(pwritev64v2, (void)!pwritev64v2(its.file, &its.piece, 1, 0, 0))                                           \
    CALL(copy_file_range, copy_file_range(its.file, NULL, its.other[1], NULL, 1, 0))                               \
    CALL(fsync, fsync(its.file))                                                                                   \
    CALL(fdatasync, fdatasync(its.file))                                                                           \
    CALL(sync_file_range, sync_file_range(its.file, 0, 1, 0))                                                      \
    CALL(syncfs, syncfs(-1)) /* not all of the disk */                                                             \
    CALL(connect, connect(its.network, (void *)&local, sizeof local))                                              \
    CALL(accept, accept(its.network, NULL, NULL))                                                                  \
    CALL(accept4, accept4(its.network, NULL, NULL, 0))                                                             \
    CALL(socket, socket(AF_UNIX, SOCK_DGRAM, 0))                                                                   \
    CALL(dup, dup(its.file))                                                                                       \
    CALL(getaddrinfo, getaddrinfo("127.0.0.1", NULL, &numeric, &its.addresses))                                    \
    CALL(SSL_read, SSL_read(its.bytes, its.bytes, 1))                                                              \
    CALL(SSL_write, SSL_write(its.bytes, its.bytes, 1))                                                            \
    CALL(SSL_read_ex, SSL_read_ex(its.bytes, its.bytes, 1, &its.size))                                             \
    CALL(SSL_write_ex, SSL_write_ex(its.bytes, its.bytes, 1, &its.size))

#define DEFINE(name, ...)                                                                                          \
    static void call_##name(void) { __VA_ARGS__; }
#define DEFINE_NEW(name) DEFINE(name, its.block = name(100, 16, 16))
#define DEFINE_DELETE(name) DEFINE(name, name(its.block, 100, 16))
#define LIST(name, ...) {#name, call_##name, (uintptr_t)name},
CALLS(DEFINE)
STREAM_CALLS(DEFINE)
LOCK_CALLS(DEFINE)
IO_CALLS(DEFINE)
CXX(DEFINE_NEW, DEFINE_DELETE)
static const struct call {
    const char *name;
    void (*function)(void);
    uintptr_t called; /* 0: the C library has no such function */
} calls[] = {CALLS(LIST) STREAM_CALLS(LIST) LOCK_CALLS(LIST) IO_CALLS(LIST) CXX(LIST, LIST)};

/* ------------------------------------------------------------------------------------------- painted stacks */

#define STACK_BYTES (256u << 10)
#define PAINT 0xa5

static unsigned char *stack; /* shared with children */
static void (*function)(void);
static ucontext_t around, inside;

static long used(void)
{
    size_t at = 0;
    while (at < STACK_BYTES && stack[at] == PAINT)
        at++;
    return (long)(STACK_BYTES - at);
}

static void note_caller(void) { __atomic_store_n(&caller, (int)syscall(SYS_gettid), __ATOMIC_SEQ_CST); }

static void call_on_stack(void)
{
    memset(stack, PAINT, STACK_BYTES);
    note_caller();
    getcontext(&inside);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = STACK_BYTES;
    inside.uc_link = &around;
    makecontext(&inside, function, 0);
    swapcontext(&around, &inside);
}

static void *on_thread(void *unused)
{
    call_on_stack();
    return unused;
}

static void on_signal(int number)
{
    (void)number;
    function();
}

static void *in_handler(void *unused)
{
    const stack_t alternate = {.ss_sp = stack, .ss_size = STACK_BYTES};
    const stack_t none = {.ss_flags = SS_DISABLE};
    memset(stack, PAINT, STACK_BYTES);
    syscall(SYS_sigaltstack, &alternate, NULL);
    note_caller();
    raise(SIGUSR1);
    syscall(SYS_sigaltstack, &none, NULL);
    return unused;
}

static void run_thread(void *routine(void *))
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, routine, NULL) != 0 || pthread_join(thread, NULL) != 0)
        exit(4);
}

/* A system call that the C library does not notice: nothing has been done for the child before its call. */
static void run_child(bool is_forked)
{
    const uint64_t all = UINT64_MAX;
    int status;
    const pid_t child = is_forked ? fork() : (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        /* A signal would count as stack of the call; those of the C library are hotpath's, too. */
        syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, NULL, sizeof all);
        call_on_stack();
        syscall(SYS_exit_group, 0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        exit(5);
}

static long measure(const char *way, const struct call *call)
{
    FILE *const out = stdout, *const in = stdin;
    prepare(call->name);
    prepare_locks(call->name, strcmp(way, "thread") == 0 || strcmp(way, "handler") == 0);
    if (call->called == 0 || (its.queue < 0 && strncmp(call->name, "mq_", 3) == 0))
        return -1;
    function = call->function;
    stdout = its.out;
    stdin = its.in;
    if (strcmp(way, "child") == 0 || strcmp(way, "fork") == 0)
        run_child(strcmp(way, "fork") == 0);
    else
        run_thread(strcmp(way, "handler") == 0 ? in_handler : on_thread);
    stdout = out;
    stdin = in;
    __atomic_store_n(&caller, 0, __ATOMIC_SEQ_CST);
    end_helper();
    return used();
}

int main(int count, char **arguments)
{
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL);
    fill_list(0);
    stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (size_t at = 0; at < sizeof calls / sizeof calls[0]; at++) {
        if (count < 2)
            puts(calls[at].name);
        for (int wanted = 2; wanted < count; wanted++)
            if (strcmp(arguments[wanted], calls[at].name) == 0)
                printf("%s %ld\n", calls[at].name, measure(arguments[1], &calls[at]));
    }
    return 0;
}
