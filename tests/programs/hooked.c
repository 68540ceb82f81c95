/*
 * Calls every function that the library preloaded by `hotpath run` interposes, in many situations, and prints one
 * line for each: result, errno and effects. The output is the same with and without that library.
 *
 *     hooked          calls them
 *     hooked crowd    calls them only on four threads at once
 *     hooked maps     shows what is mapped
 */
#include "hooked.h"

#include <dlfcn.h>
#include <grp.h>
#include <malloc.h>
#include <mqueue.h>
#include <sched.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <threads.h>
#include <wordexp.h>

void hooked_tell(const char *function, const char *situation, long result, int error)
{
    if (error == UNTOUCHED)
        printf("%s, %s: %ld -\n", function, situation, result);
    else
        printf("%s, %s: %ld %s\n", function, situation, result, strerror(error));
    fflush(stdout);
}

/* ------------------------------------------------------------------------------------------------------ signals */

static volatile sig_atomic_t signals;
static int feed = -1;

static void on_alarm(int number)
{
    (void)number;
    const int saved = errno;
    if (++signals == 5 && feed >= 0)
        MUST(syscall(SYS_write, feed, "x", 1) == 1);
    errno = saved;
}

static void set_timer(long us)
{
    const struct itimerval timer = {{0, us}, {0, us}};
    MUST(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

void hooked_disturb(int flags, int feed_fd)
{
    const struct sigaction action = {.sa_handler = on_alarm, .sa_flags = flags};
    signals = 0;
    feed = feed_fd;
    MUST(sigaction(SIGALRM, &action, NULL) == 0);
    set_timer(1000);
}

void hooked_calm(void) { set_timer(0); }

/* --------------------------------------------------------------------------------------------- around a call */

static int cleaned;

static void clean(void *unused)
{
    (void)unused;
    cleaned++;
}

static void *be_cancelled(void *call)
{
    pthread_cleanup_push(clean, NULL);
    for (;;)
        hooked_run(call);
    pthread_cleanup_pop(0);
    return NULL;
}

void hooked_tell_cancelled(const char *function, const struct hooked_call *call)
{
    struct hooked_call copy = *call;
    pthread_t thread;
    void *result = NULL;
    cleaned = 0;
    MUST(pthread_create(&thread, NULL, be_cancelled, &copy) == 0);
    usleep(2000);
    MUST(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0);
    TELL(function, "cancelled, and cleaned up", (result == PTHREAD_CANCELED) + 2 * cleaned);
}

void hooked_tell_forked(const char *function, const char *situation, const struct hooked_call *call)
{
    int status = 0;
    const pid_t child = fork();
    if (child == 0)
        _exit((int)hooked_run(call) & 127);
    MUST(child > 0 && waitpid(child, &status, 0) == child);
    TELL(function, situation, WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
}

struct together {
    struct hooked_call call;
    pthread_barrier_t line;
    long sum;
};

static void *join_in(void *context)
{
    struct together *together = context;
    long sum = 0;
    pthread_barrier_wait(&together->line);
    for (int i = 0; i < 50; i++)
        sum += hooked_run(&together->call);
    __atomic_fetch_add(&together->sum, sum, __ATOMIC_RELAXED);
    return NULL;
}

void hooked_tell_together(const char *function, const struct hooked_call *call)
{
    enum { THREADS = 4 };
    struct together together = {.call = *call};
    pthread_t threads[THREADS];
    MUST(pthread_barrier_init(&together.line, NULL, THREADS) == 0);
    for (int i = 0; i < THREADS; i++)
        MUST(pthread_create(&threads[i], NULL, join_in, &together) == 0);
    for (int i = 0; i < THREADS; i++)
        MUST(pthread_join(threads[i], NULL) == 0);
    TELL(function, "on four threads at once", together.sum);
}

/* ------------------------------------------------------------------------------------------------------- memory */

static bool is_aligned(const void *block, size_t alignment) { return (uintptr_t)block % alignment == 0; }

/* Whether there is a block, which is then freed. */
static long works(void *block)
{
    if (block == NULL)
        return 0;
    const int saved = errno;
    free(block);
    errno = saved;
    return 1;
}

static long allocate(const struct hooked_call *call)
{
    char *volatile block = malloc(100);
    (void)call;
    block = block != NULL ? realloc(block, 5000) : NULL;
    char *volatile other = calloc(10, 10);
    const long sum = block != NULL && other != NULL && other[99] == 0;
    free(block);
    free(other);
    return sum;
}

static void tell_memory(void)
{
    volatile size_t huge = (size_t)1 << (sizeof(size_t) > 4 ? 62 : 31); /* a 32-bit machine may have 1 GiB free */
    void *block = NULL;
    TELL("malloc", "some", works(malloc(100)));
    TELL("malloc", "nothing", works(malloc(0)));
    TELL("malloc", "far too much", malloc(huge) != NULL);
    TELL("calloc", "some", works(calloc(3, 100)));
    TELL("calloc", "an overflow", calloc(huge, 8) != NULL);
    TELL("realloc", "from nothing", works(realloc(NULL, 10)));
    char *kept = strcpy(malloc(10), "kept");
    TELL("realloc", "far too much", realloc(kept, huge) != NULL);
    TELL("realloc", "has kept the block", strcmp(kept, "kept") == 0);
    kept = realloc(kept, 100000);
    TELL("realloc", "moved", kept != NULL && strcmp(kept, "kept") == 0);
    TELL("free", "a block", (free(kept), 0));
    TELL("free", "nothing", (free(NULL), 0));
    TELL("reallocarray", "some", works(reallocarray(NULL, 10, 10)));
    TELL("reallocarray", "an overflow", reallocarray(NULL, huge, 8) != NULL);
    TELL("posix_memalign", "some", posix_memalign(&block, 256, 10));
    TELL("posix_memalign", "aligned", is_aligned(block, 256) + works(block));
    TELL("posix_memalign", "a bad alignment", posix_memalign(&block, 3, 10));
    TELL("posix_memalign", "far too much", posix_memalign(&block, 64, huge));
    TELL("aligned_alloc", "some", works(aligned_alloc(128, 256)));
    TELL("memalign", "some", works(memalign(512, 10)));
    TELL("memalign", "far too much", memalign(512, huge) != NULL);
    TELL("valloc", "some", works(valloc(10)));
#ifdef __GLIBC__
    const volatile size_t odd = 3; /* compilers warn if they know it */
    TELL("aligned_alloc", "a bad alignment", works(aligned_alloc(odd, 10)));
    TELL("pvalloc", "some", works(pvalloc(10)));
#endif
    const struct hooked_call call = {.run = allocate};
    hooked_tell_forked("malloc", "in a child", &call);
}

/* ------------------------------------------------------------------------------------------------- descriptors */

static int open_null(void) { return open("/dev/null", O_RDWR); }

static long open_and_close(const struct hooked_call *call)
{
    int ends[2];
    char byte = 0;
    (void)call;
    if (pipe(ends) != 0 || write(ends[1], "x", 1) != 1 || read(ends[0], &byte, 1) != 1)
        return 0;
    return (close(ends[0]) == 0) + (close(ends[1]) == 0) + (byte == 'x');
}

static void tell_closing(void)
{
    int ends[2];
    char byte;
    const int first = open_null(), second = open_null();
    TELL("close", "a descriptor", close(second));
    TELL("close", "the same again", close(second));
    TELL("close", "-1", close(-1));
    TELL("close", "its number is the next", open_null() == second);
    TELL("dup2", "over another", dup2(first, second) == second);
    TELL("dup2", "over itself", dup2(first, first) == first);
    TELL("dup2", "of none", dup2(-1, second));
    TELL("dup2", "to a number that is too high", dup2(first, 1 << 30));
    TELL("dup3", "over another", dup3(first, second, O_CLOEXEC) == second);
    TELL("dup3", "sets its flag", fcntl(second, F_GETFD));
    TELL("dup3", "over itself", dup3(first, first, 0));
    TELL("dup3", "with bad flags", dup3(first, second, 12345));
    MUST(pipe(ends) == 0);
    int flag = 1;
    TELL("fcntl", "of none", fcntl(-1, F_GETFL));
    TELL("fcntl", "a bad command", fcntl(ends[0], 12345, 1));
    TELL("fcntl", "sets O_NONBLOCK", fcntl(ends[0], F_SETFL, O_NONBLOCK));
    TELL("fcntl", "so a read does not wait", read(ends[0], &byte, 1));
    TELL("fcntl", "a structure", fcntl(ends[0], F_GETLK, &(struct flock){.l_type = F_RDLCK}));
    TELL("fcntl", "clears it", (fcntl(ends[0], F_SETFL, 0), fcntl(ends[0], F_GETFL)));
    TELL("ioctl", "of none", ioctl(-1, FIONBIO, &flag));
    TELL("ioctl", "a bad request", ioctl(ends[0], 12345, &flag));
    TELL("ioctl", "a bad address", ioctl(ends[0], FIONBIO, NULL));
    TELL("ioctl", "sets O_NONBLOCK", ioctl(ends[0], FIONBIO, &flag));
    TELL("ioctl", "so a read does not wait", read(ends[0], &byte, 1));
    TELL("ioctl", "bytes inside", (write(ends[1], "abc", 3), ioctl(ends[0], FIONREAD, &flag), flag));
    TELL("ioctl", "clears it", (flag = 0, ioctl(ends[0], FIONBIO, &flag), fcntl(ends[0], F_GETFL)));
    close(ends[0]), close(ends[1]);
#ifdef __GLIBC__
    TELL("fcntl64", "its flags", fcntl64(first, F_GETFL));
    TELL("fcntl64", "sets O_NONBLOCK", (fcntl64(first, F_SETFL, O_NONBLOCK), fcntl64(first, F_GETFL)));
    TELL("fcntl64", "of none", fcntl64(-1, F_GETFL));
#endif
    MUST(pipe(ends) == 0);
    TELL("dup2", "over the only writer", dup2(first, ends[1]) == ends[1]);
    TELL("dup2", "so there is no more to read", read(ends[0], &byte, 1));
    const int high = fcntl(first, F_DUPFD, 200);
#ifdef __GLIBC__
    TELL("close_range", "some", close_range(200, 210, 0));
    TELL("close_range", "which are closed", fcntl(high, F_GETFD));
    TELL("close_range", "a bad range", close_range(10, 5, 0));
    TELL("close_range", "bad flags", close_range(200, 210, 1 << 20));
    TELL("closefrom", "some", (closefrom(fcntl(first, F_DUPFD, 300)), fcntl(300, F_GETFD)));
#else
    close(high);
#endif
    TELL("socketpair", "a pair", socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    TELL("socketpair", "works", write(ends[0], "x", 1) + read(ends[1], &byte, 1));
    close(ends[0]);
    close(ends[1]);
    TELL("socketpair", "of a kind that has none", socketpair(AF_INET, SOCK_STREAM, 0, ends));
    TELL("socketpair", "of a bad type", socketpair(AF_UNIX, 99, 0, ends));
    TELL("pipe", "a pipe", pipe(ends));
    TELL("pipe", "works", write(ends[1], "x", 1) + read(ends[0], &byte, 1));
    close(ends[0]);
    close(ends[1]);
    TELL("pipe2", "with a flag", pipe2(ends, O_NONBLOCK));
    TELL("pipe2", "sets its flag", read(ends[0], &byte, 1));
    close(ends[0]);
    close(ends[1]);
    TELL("pipe2", "with bad flags", pipe2(ends, 12345));
    close(first);
    close(second);
    const struct hooked_call call = {.run = open_and_close};
    hooked_tell_forked("close", "in a child", &call);
}

/* ---------------------------------------------------------------------------------------------- other programs */

enum { EXECVE, EXECV, EXECVP, EXECVPE, EXECL, EXECLE, EXECLP, FEXECVE, EXECVEAT, BY_NUMBER };

/* A shell that ends with what its environment says. */
static char own_status[] = "STATUS=5", *const environment[] = {own_status, NULL}, shell[] = "sh", option[] = "-c",
            script[] = "exit ${STATUS:-6}", *const arguments[] = {shell, option, script, NULL};

static long execute(const struct hooked_call *call)
{
    MUST(setenv("STATUS", "7", 1) == 0);
    switch (call->fd) {
    case EXECVE:
        return execve("/bin/sh", arguments, environment);
    case EXECV:
        return execv("/bin/sh", arguments);
    case EXECVP:
        return execvp("sh", arguments);
    case EXECVPE:
        return execvpe("sh", arguments, environment);
    case EXECL:
        return execl("/bin/sh", shell, option, script, NULL);
    case EXECLE:
        return execle("/bin/sh", shell, option, script, NULL, environment);
    case EXECLP:
        return execlp("sh", shell, option, script, NULL);
    case FEXECVE:
        return fexecve(open("/bin/sh", O_RDONLY | O_CLOEXEC), arguments, environment);
    case EXECVEAT:
#ifdef __GLIBC__
        return execveat(AT_FDCWD, "/bin/sh", arguments, environment, 0);
#endif
    default:
        return syscall(SYS_execve, "/bin/sh", arguments, environment);
    }
}

/* The status of a shell that is the child of this process. */
static int ended(pid_t child)
{
    int status = 0;
    MUST(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static long spawn(const struct hooked_call *call)
{
    pid_t child = 0;
    const int error = call->fd == 0 ? posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environment)
                                    : posix_spawnp(&child, "sh", NULL, NULL, arguments, environment);
    return error == 0 ? ended(child) : 1000 + error;
}

static long call_shell(const struct hooked_call *call)
{
    char line[8] = "";
    if (call->fd == 0)
        return system("exit 3");
    FILE *const lines = popen("echo 123", "r");
    MUST(lines != NULL && fgets(line, sizeof line, lines) != NULL);
    return strtol(line, NULL, 10) + pclose(lines);
}

/* What becomes of the text, as a number, or the error below zero. */
static long expand(const char *text, int flags)
{
    wordexp_t words;
    const int error = wordexp(text, &words, flags);
    long number = 0;
    for (size_t at = 0; error == 0 && at < words.we_wordc; at++)
        number = 1000 * number + strtol(words.we_wordv[at], NULL, 10);
    if (error == 0)
        wordfree(&words);
    return error == 0 ? number : -error;
}

static long expand_command(const struct hooked_call *call)
{
    (void)call;
    return expand("1 $(echo 2 3; exit 4) $((2 + 2))", 0);
}

static void tell_expanding(void)
{
    const struct hooked_call call = {.run = expand_command};
    TELL("wordexp", "a command", expand_command(&call));
    hooked_tell_forked("wordexp", "in a child", &call);
    TELL("wordexp", "no command", expand("7 ~", 0));
    TELL("wordexp", "a command that is not allowed", expand("$(echo 2)", WRDE_NOCMD));
#ifdef __GLIBC__ /* others leave it to a shell, which complains */
    TELL("wordexp", "a bad text", expand("1 (", 0));
#endif
}

static void tell_spawning(void)
{
    static const char *const spawning[] = {"posix_spawn", "posix_spawnp"}, *const calling[] = {"system", "popen"};
    for (int way = 0; way < 2; way++) {
        const struct hooked_call spawned = {.run = spawn, .fd = way}, called = {.run = call_shell, .fd = way};
        TELL(spawning[way], "a shell", spawn(&spawned));
        hooked_tell_forked(spawning[way], "in a child", &spawned);
        TELL(calling[way], "a shell", call_shell(&called));
        hooked_tell_forked(calling[way], "in a child", &called);
    }
    TELL("posix_spawn", "no such program", posix_spawn(NULL, "/nonexistent", NULL, NULL, arguments, environment));
    TELL("posix_spawnp", "no such program",
         posix_spawnp(NULL, "a-program-that-nobody-has", NULL, NULL, arguments, environment));
    TELL("system", "is there a shell", system(NULL));
    TELL("popen", "a bad mode", popen("true", "q") == NULL);
    tell_expanding();
}

static void tell_executing(void)
{
    static const char *const names[] = {"execve", "execv",  "execvp",  "execvpe",  "execl",
                                        "execle", "execlp", "fexecve", "execveat", "syscall"};
    for (int way = EXECVE; way <= BY_NUMBER; way++) {
        const struct hooked_call call = {.run = execute, .fd = way};
        hooked_tell_forked(names[way], "a shell", &call);
    }
    TELL("execve", "no such program", execve("/nonexistent", arguments, environ));
    TELL("execve", "no environment, no such program", execve("/nonexistent", arguments, NULL));
    TELL("execv", "a folder", execv("/", arguments));
    TELL("execl", "a folder", execl("/", shell, NULL));
    TELL("execle", "no such program", execle("/nonexistent", shell, NULL, environ));
    TELL("execlp", "no such program", execlp("a-program-that-nobody-has", shell, NULL));
    TELL("execvp", "no such program", execvp("a-program-that-nobody-has", arguments));
    TELL("execvpe", "no such program", execvpe("a-program-that-nobody-has", arguments, environ));
    TELL("fexecve", "no descriptor", fexecve(-1, arguments, environ));
#ifdef __GLIBC__
    TELL("execveat", "bad flags", execveat(AT_FDCWD, "/bin/sh", arguments, environ, 1 << 30));
#endif
    tell_spawning();
}

/* ----------------------------------------------------------------------------------------------- event counters */

static long pass_count(const struct hooked_call *call)
{
    eventfd_t value = 0;
    const int fd = eventfd(3, 0);
    (void)call;
    const long sum = eventfd_write(fd, 4) + eventfd_read(fd, &value) + (long)value;
    close(fd);
    return sum;
}

static long read_count(const struct hooked_call *call)
{
    eventfd_t value;
    return eventfd_read(call->fd, &value);
}

static void tell_counts(void)
{
    eventfd_t value = 0;
    const int fd = eventfd(0, EFD_NONBLOCK), waiting = eventfd(0, 0);
    MUST(fd >= 0 && waiting >= 0);
    TELL("eventfd", "sets its flag", fcntl(fd, F_GETFL) & O_NONBLOCK);
    TELL("eventfd", "with bad flags", eventfd(0, 12345));
    TELL("eventfd_write", "a value", eventfd_write(fd, 5));
    TELL("eventfd_read", "a value", eventfd_read(fd, &value));
    TELL("eventfd_read", "the value", value);
    TELL("eventfd_read", "nothing there", eventfd_read(fd, &value));
    TELL("eventfd_read", "no descriptor", eventfd_read(-1, &value));
    TELL("eventfd_write", "no descriptor", eventfd_write(-1, 1));
    TELL("eventfd_write", "the highest value", eventfd_write(fd, UINT64_MAX - 1));
    TELL("eventfd_write", "one more", eventfd_write(fd, 1));
    TELL("eventfd_write", "not a value", eventfd_write(fd, UINT64_MAX));
    const struct hooked_call call = {.run = pass_count}, wait = {.run = read_count, .fd = waiting};
    hooked_tell_forked("eventfd_read", "in a child", &call);
    hooked_tell_cancelled("eventfd_read", &wait);
    hooked_disturb(0, -1);
    TELL("eventfd_read", "interrupted", eventfd_read(waiting, &value));
    hooked_calm();
    close(fd);
    close(waiting);
}

/* ------------------------------------------------------------------------------------------------------- queues */

static long receive_message(const struct hooked_call *call)
{
    char bytes[16];
    unsigned priority;
    return mq_receive((mqd_t)call->fd, bytes, sizeof bytes, &priority);
}

static struct timespec soon(void)
{
    struct timespec then;
    clock_gettime(CLOCK_REALTIME, &then);
    then.tv_nsec += 2000000;
    if (then.tv_nsec >= 1000000000) {
        then.tv_sec++;
        then.tv_nsec -= 1000000000;
    }
    return then;
}

static void tell_queues(void)
{
    char name[64], bytes[16] = "";
    unsigned priority = 0;
    struct mq_attr kind = {.mq_maxmsg = 2, .mq_msgsize = sizeof bytes};
    const struct timespec bad = {0, -1};
    snprintf(name, sizeof name, "/hotpath-hooked-%d", (int)getpid());
    const mqd_t queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &kind);
    if (queue == (mqd_t)-1)
        return;
    mq_unlink(name);
    TELL("mq_send", "a message", mq_send(queue, "one", 3, 5));
    TELL("mq_timedsend", "a message", mq_timedsend(queue, "three", 5, 9, &(struct timespec){0}));
    TELL("mq_timedsend", "no room", mq_timedsend(queue, "x", 1, 1, &(struct timespec){0}));
    TELL("mq_timedsend", "a bad time", mq_timedsend(queue, "x", 1, 1, &bad));
    TELL("mq_send", "too long", mq_send(queue, name, sizeof name, 1));
    TELL("mq_send", "no queue", mq_send((mqd_t)-1, "x", 1, 1));
    TELL("mq_receive", "the first", mq_receive(queue, bytes, sizeof bytes, &priority));
    TELL("mq_receive", "its priority", priority);
    TELL("mq_receive", "too small a buffer", mq_receive(queue, bytes, 1, NULL));
    TELL("mq_timedreceive", "the second", mq_timedreceive(queue, bytes, sizeof bytes, &priority, &bad));
    struct timespec then = soon();
    TELL("mq_timedreceive", "nothing in time", mq_timedreceive(queue, bytes, sizeof bytes, NULL, &then));
    const struct hooked_call wait = {.run = receive_message, .fd = (int)queue};
    hooked_tell_cancelled("mq_receive", &wait);
    hooked_disturb(0, -1);
    TELL("mq_receive", "interrupted", mq_receive(queue, bytes, sizeof bytes, NULL));
    hooked_calm();
    MUST(mq_send(queue, "child", 5, 1) == 0);
    hooked_tell_forked("mq_receive", "in a child", &wait);
    TELL("mq_close", "a queue", mq_close(queue));
    TELL("mq_close", "the same again", mq_close(queue));
}

/* ---------------------------------------------------------------------------------------------------- libraries */

static const char *const other_library =
#ifdef __GLIBC__
    "libm.so.6";
#else
    "libc.so";
#endif

static long open_library(const struct hooked_call *call)
{
    void *library = dlopen(other_library, RTLD_NOW | RTLD_LOCAL);
    (void)call;
    return library != NULL && dlsym(library, "cos") != NULL && dlclose(library) == 0;
}

static void tell_libraries(void)
{
    const struct hooked_call call = {.run = open_library};
    TELL("dlclose", "a library", open_library(&call));
    TELL("dlclose", "again", open_library(&call));
    TELL("dlopen", "no such library", dlopen("/nonexistent.so", RTLD_NOW) != NULL);
    TELL("dlopen", "says so", dlerror() != NULL);
    void *self = dlopen(NULL, RTLD_NOW);
    TELL("dlclose", "the program", self == NULL ? -1 : dlclose(self));
    hooked_tell_forked("dlclose", "in a child", &call);
}

/* ------------------------------------------------------------------------------------------------------ threads */

static void *give_back(void *value) { return value; }
static int give_back_number(void *value) { return *(int *)value; }

static long start_thread(const struct hooked_call *call)
{
    pthread_t thread;
    void *result = NULL;
    int there = 0;
    (void)call;
    if (pthread_create(&thread, NULL, give_back, &there) != 0 || pthread_join(thread, &result) != 0)
        return 0;
    return result == &there;
}

static void *sleep_long(void *unused)
{
    (void)unused;
    for (;;)
        pause();
    return NULL;
}

static pthread_t sleeper;
static long join_sleeper(const struct hooked_call *call)
{
    (void)call;
    return pthread_join(sleeper, NULL);
}

static void tell_joins(void)
{
    pthread_t thread, self = pthread_self();
    void *result = NULL;
    const struct hooked_call wait = {.run = join_sleeper};
#ifdef __GLIBC__ /* musl waits forever */
    TELL("pthread_join", "itself", pthread_join(pthread_self(), NULL));
#endif
    MUST(pthread_create(&thread, NULL, give_back, &self) == 0);
    TELL("pthread_join", "a thread", pthread_join(thread, &result));
    TELL("pthread_join", "its result", result == &self);
    MUST(pthread_create(&sleeper, NULL, sleep_long, NULL) == 0);
    hooked_tell_cancelled("pthread_join", &wait);
    MUST(pthread_cancel(sleeper) == 0);
    TELL("pthread_join", "a cancelled thread", pthread_join(sleeper, &result));
    TELL("pthread_join", "its result", result == PTHREAD_CANCELED);
}

static void tell_threads(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    thrd_t other;
    int value = 42, result = 0;
    const struct hooked_call call = {.run = start_thread};
    TELL("pthread_create", "a thread", start_thread(&call));
    MUST(pthread_attr_init(&attributes) == 0);
    MUST(pthread_attr_setstacksize(&attributes, (size_t)1 << (sizeof(size_t) > 4 ? 46 : 31)) == 0);
    TELL("pthread_create", "with far too much stack", pthread_create(&thread, &attributes, give_back, NULL));
    pthread_attr_destroy(&attributes);
    TELL("thrd_create", "a thread", thrd_create(&other, give_back_number, &value));
    TELL("thrd_join", "its end", thrd_join(other, &result));
    TELL("thrd_join", "its result", result);
    tell_joins();
    hooked_tell_forked("pthread_create", "in a child", &call);
}

static long change_in_handler_result;

static void change_in_handler(int number)
{
    static char memory[65536];
    const stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
    (void)number;
    errno = UNTOUCHED;
    change_in_handler_result = sigaltstack(&stack, NULL) * 1000 - errno;
}

static void tell_alternate_stacks(void)
{
    static char memory[65536];
    const stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory}, none = {.ss_flags = SS_DISABLE},
                  little = {.ss_sp = memory, .ss_size = 100}, odd = {.ss_sp = memory, .ss_flags = 12345};
    const struct sigaction action = {.sa_handler = change_in_handler, .sa_flags = SA_ONSTACK};
    stack_t before;
    TELL("sigaltstack", "nothing", sigaltstack(NULL, NULL));
    TELL("sigaltstack", "too small", sigaltstack(&little, NULL));
    TELL("sigaltstack", "bad flags", sigaltstack(&odd, NULL));
    TELL("sigaltstack", "a stack", sigaltstack(&stack, NULL));
    TELL("sigaltstack", "asked for it", sigaltstack(NULL, &before));
    TELL("sigaltstack", "which is there", before.ss_sp == memory && before.ss_size == sizeof memory);
    MUST(sigaction(SIGUSR2, &action, NULL) == 0 && raise(SIGUSR2) == 0);
    TELL("sigaltstack", "in a handler on it", change_in_handler_result);
    TELL("sigaltstack", "none", sigaltstack(&none, &before));
    TELL("sigaltstack", "the one before", before.ss_sp == memory);
}

static void tell_system(void)
{
    char name[16] = "";
    TELL("prctl", "sets a name", prctl(PR_SET_NAME, "renamed", 0, 0, 0));
    TELL("prctl", "gets it", prctl(PR_GET_NAME, name, 0, 0, 0) + strcmp(name, "renamed"));
    TELL("prctl", "no such option", prctl(123456, 0, 0, 0, 0));
    TELL("prctl", "seccomp without a filter", prctl(PR_SET_SECCOMP, 2, NULL, 0, 0));
    TELL("prctl", "dumpable", prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
    TELL("syscall", "getpid", syscall(SYS_getpid) == getpid());
    TELL("syscall", "no such call", syscall(99999));
    TELL("syscall", "no descriptor", syscall(SYS_close, -1));
#ifdef SYS_mmap2
    const long map = SYS_mmap2;
#else
    const long map = SYS_mmap;
#endif
    TELL("syscall", "six arguments", syscall(map, NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) > 0);
}

/* ------------------------------------------------------------------------------------------- users, namespaces */

/* 3 if it has changed its user, 4 if it may not. */
static long give_up_user(const struct hooked_call *call)
{
    const bool is_done = setgid(65534) == 0 && setuid(65534) == 0;
    (void)call;
    return is_done ? (getuid() == 65534 && setuid(0) != 0 ? 3 : 5) : 4;
}

static long give_up_for_a_while(const struct hooked_call *call)
{
    (void)call;
    return seteuid(65534) == 0 ? (geteuid() == 65534) + 2 * (seteuid(0) == 0) : 4;
}

static void tell_users(void)
{
    const uid_t same_user = (uid_t)-1;
    const gid_t same_group = (gid_t)-1;
    TELL("setuid", "the same", setuid(getuid()));
    TELL("setgid", "the same", setgid(getgid()));
    TELL("seteuid", "the same", seteuid(geteuid()));
    TELL("setegid", "the same", setegid(getegid()));
    TELL("setreuid", "the same", setreuid(same_user, same_user));
    TELL("setregid", "the same", setregid(same_group, same_group));
    TELL("setresuid", "the same", setresuid(same_user, same_user, same_user));
    TELL("setresgid", "the same", setresgid(same_group, same_group, same_group));
    TELL("setuid", "no user", setuid(same_user));
    TELL("setgid", "no group", setgid(same_group));
    TELL("seteuid", "no user", seteuid(same_user));
    TELL("setegid", "no group", setegid(same_group));
    TELL("setgroups", "too many", setgroups(1 << 20, NULL));
    TELL("initgroups", "those of root", initgroups("root", 0));
    TELL("chroot", "no folder", chroot("/nonexistent"));
    TELL("unshare", "nothing", unshare(0));
    TELL("unshare", "bad flags", unshare(1));
    TELL("setns", "no descriptor", setns(-1, 0));
    hooked_tell_forked("setuid", "in a child", &(struct hooked_call){.run = give_up_user});
    hooked_tell_forked("seteuid", "in a child", &(struct hooked_call){.run = give_up_for_a_while});
}

static void tell_single_functions(void)
{
    tell_memory();
    tell_closing();
    tell_executing();
    tell_counts();
    tell_queues();
    tell_libraries();
    tell_threads();
    tell_alternate_stacks();
    tell_system();
    tell_users();
}

static void tell_crowd(void)
{
    hooked_tell_together("malloc", &(struct hooked_call){.run = allocate});
    hooked_tell_together("close", &(struct hooked_call){.run = open_and_close});
    hooked_tell_together("eventfd_read", &(struct hooked_call){.run = pass_count});
    hooked_tell_together("dlclose", &(struct hooked_call){.run = open_library});
    hooked_tell_together("pthread_create", &(struct hooked_call){.run = start_thread});
}

static int show_maps(void)
{
    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
        fputs(line, stdout);
    return maps == NULL;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "maps") == 0)
        return show_maps();
    const bool is_crowd = argc > 1 && strcmp(argv[1], "crowd") == 0;
    signal(SIGPIPE, SIG_IGN);
    if (!is_crowd)
        tell_single_functions();
    tell_crowd();
    hooked_transfers(is_crowd);
    hooked_waits(is_crowd);
    hooked_streams(is_crowd);
    return 0;
}
