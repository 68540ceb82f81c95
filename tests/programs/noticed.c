/*
 * What a program could notice of a profiler: each case uses the system in a way in which profilers interfere, and
 * prints what it saw. The output is the same with and without hotpath.
 *
 *     noticed CASE [ARGUMENT...]
 *     noticed list             the names of all cases
 */
#include "support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined __x86_64__ && defined __GLIBC__
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#define HAS_FILTERS 1
#endif

extern char **environ;

static void say(const char *what, long value)
{
    printf("%s %ld\n", what, value);
    fflush(stdout);
}

static void __attribute__((noinline)) work(void)
{
    HOTPATH_MEASURE();
    free(malloc(37));
}

static void __attribute__((noinline)) work_for_ms(uint64_t ms)
{
    HOTPATH_MEASURE();
    for (const uint64_t end = now_ns() + ms * 1000000; now_ns() < end;)
        work();
}

#define MOST_THREADS 8

static pthread_barrier_t line;

/* Runs the function on several threads, which can meet at `line`. */
static void on_threads(unsigned count, void *(*run)(void *), void *with)
{
    pthread_t threads[MOST_THREADS];
    MUST(pthread_barrier_init(&line, NULL, count) == 0);
    for (unsigned i = 0; i < count; i++)
        MUST(pthread_create(&threads[i], NULL, run, with) == 0);
    for (unsigned i = 0; i < count; i++)
        MUST(pthread_join(threads[i], NULL) == 0);
    pthread_barrier_destroy(&line);
}

/* "exit 3" is 3, a signal is its number negated. */
static long end_of(pid_t child)
{
    int status = 0;
    MUST(child > 0);
    while (waitpid(child, &status, 0) < 0)
        MUST(errno == EINTR);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* ------------------------------------------------------------------------------------------------------ streams */

static long closed_well;

static void *open_and_close_pipes(void *unused)
{
    pthread_barrier_wait(&line);
    for (int i = 0; i < 4; i++) {
        char text[16] = "";
        FILE *stream;
        do /* musl fails if another thread closes such a stream meanwhile */
            stream = popen("echo text; exit 3", "r");
        while (stream == NULL && errno == EBADF);
        MUST(stream != NULL && fgets(text, sizeof text, stream) != NULL);
        const int status = pclose(stream);
        if (strcmp(text, "text\n") == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 3)
            __atomic_fetch_add(&closed_well, 1, __ATOMIC_RELAXED);
    }
    return unused;
}

static void popen_on_threads(void)
{
    on_threads(4, open_and_close_pipes, NULL);
    say("closed well", closed_well);
}

static void *open_and_close_files(void *unused)
{
    for (;;) {
        FILE *stream = fopen("/dev/null", "w");
        if (stream != NULL) {
            fputc('x', stream);
            fclose(stream);
        }
    }
    return unused;
}

/* exit() flushes streams, while other threads open and close theirs. */
static void exit_beside_streams(void)
{
    pthread_t thread;
    for (int i = 0; i < 3; i++)
        MUST(pthread_create(&thread, NULL, open_and_close_files, NULL) == 0);
    work_for_ms(5);
    printf("not flushed by the program");
    exit(5);
}

/* Through pipes, by characters and by lines, with unread input left and output that fails. */
static void streams_on_pipes(void)
{
    int ends[2];
    char text[64];
    MUST(pipe(ends) == 0);
    FILE *in = fdopen(ends[0], "r"), *out = fdopen(ends[1], "w");
    MUST(in != NULL && out != NULL);
    for (char letter = 'a'; letter < 'e'; letter++)
        putc(letter, out);
    fputs("\nsecond\nthird\n", out);
    say("buffered", fflush(out));
    say("first", getc(in));
    say("again", ungetc('z', in));
    MUST(fgets(text, sizeof text, in) != NULL);
    fputs(text, stdout);
    MUST(fgets(text, sizeof text, in) != NULL);
    fputs(text, stdout);
    signal(SIGPIPE, SIG_IGN);
    fclose(in);
    fputs("nobody reads it", out);
    errno = 0;
    const int status = fflush(out), problem = errno;
    printf("flush %d %s error %d\n", status, strerror(problem), ferror(out));
    say("close", fclose(out));
}

/* ------------------------------------------------------------------------------------------------- descriptors */

/* A descriptor has the lowest free number: hotpath keeps none open. */
static void numbers_of_descriptors(void)
{
    int ends[2];
    work_for_ms(5);
    const int first = open("/dev/null", O_RDONLY);
    MUST(pipe(ends) == 0);
    printf("%d %d %d %d\n", first, ends[0], ends[1], dup(first));
    fflush(stdout);
    for (int fd = 3; fd < 64; fd++)
        close(fd);
    work_for_ms(5);
    say("after all were closed", open("/dev/null", O_RDONLY));
}

/* A number is closed and used again by another thread, for something else, all the time. */
static void *reuse_numbers(void *unused)
{
    char byte = 'x';
    pthread_barrier_wait(&line);
    for (int i = 0; i < 300; i++) {
        int ends[2];
        const int count = eventfd(0, EFD_NONBLOCK);
        const uint64_t two = 2;
        uint64_t value = 0;
        MUST(count >= 0 && write(count, &two, sizeof two) == sizeof two);
        MUST(read(count, &value, sizeof value) == sizeof value && value == 2 && close(count) == 0);
        MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
        MUST(send(ends[0], &byte, 1, 0) == 1 && recv(ends[1], &byte, 1, 0) == 1);
        MUST(close(ends[0]) == 0 && close(ends[1]) == 0);
        MUST(pipe(ends) == 0 && write(ends[1], &byte, 1) == 1 && read(ends[0], &byte, 1) == 1);
        MUST(close(ends[0]) == 0 && close(ends[1]) == 0);
    }
    return unused;
}

static void reused_descriptors(void)
{
    on_threads(4, reuse_numbers, NULL);
    say("lowest", open("/dev/null", O_RDONLY));
}

/* Neither end ever waits. */
static void nonblocking_pipe(void)
{
    static char block[60000];
    int ends[2];
    long moved = 0;
    MUST(pipe2(ends, O_NONBLOCK) == 0);
    for (int i = 0; i < 200; i++) {
        moved += write(ends[1], block, sizeof block);
        moved += read(ends[0], block, sizeof block);
    }
    say("moved", moved);
    errno = 0;
    say("empty", read(ends[0], block, 1));
    say("because", errno == EAGAIN);
}

#define RECORD_BYTES 3000u /* at most PIPE_BUF: all of it at once, or nothing */
#define RECORDS 100

static pid_t start_writer(int fd, int letter)
{
    static char record[RECORD_BYTES];
    const pid_t child = fork();
    if (child != 0)
        return child;
    memset(record, letter, sizeof record);
    for (int i = 0; i < RECORDS; i++)
        if (write(fd, record, sizeof record) != (ssize_t)sizeof record)
            _exit(1);
    _exit(0);
}

/* Bytes that are not in a record of one letter. */
static long count_torn(const char *bytes, size_t count)
{
    long torn = 0;
    for (size_t at = 0; at < count; at++)
        torn += bytes[at] != bytes[at - at % RECORD_BYTES];
    return torn;
}

/* Two processes write to a pipe that has less room than a record. */
static void writers_of_a_full_pipe(void)
{
    static char block[1 << 16], bytes[2 * RECORDS * RECORD_BYTES];
    int ends[2], status;
    size_t count = 0;
    MUST(pipe2(ends, O_NONBLOCK) == 0 && fcntl(ends[1], F_SETPIPE_SZ, sizeof block) == sizeof block);
    const ssize_t filled = write(ends[1], block, sizeof block - 100);
    say("filled", filled);
    say("a record", write(ends[1], block, RECORD_BYTES));
    say("because", errno == EAGAIN);
    MUST(fcntl(ends[0], F_SETFL, 0) == 0 && fcntl(ends[1], F_SETFL, 0) == 0);
    const pid_t writers[] = {start_writer(ends[1], 'a'), start_writer(ends[1], 'b')};
    MUST(close(ends[1]) == 0 && filled > 0 && read(ends[0], block, (size_t)filled) == filled);
    for (ssize_t got; (got = read(ends[0], bytes + count, sizeof bytes - count)) > 0;)
        count += (size_t)got;
    say("bytes", (long)count);
    say("torn", count_torn(bytes, count));
    for (int i = 0; i < 2; i++)
        say("written", waitpid(writers[i], &status, 0) == writers[i] ? status : -1);
}

static int there[2], back[2];

static void *answer(void *unused)
{
    char byte;
    for (int i = 0; i < 2000; i++)
        MUST(read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1);
    return unused;
}

static void ping_pong(void)
{
    pthread_t thread;
    char byte = 'x';
    MUST(pipe(there) == 0 && pipe(back) == 0 && pthread_create(&thread, NULL, answer, NULL) == 0);
    for (int i = 0; i < 2000; i++)
        MUST(write(there[1], &byte, 1) == 1 && read(back[0], &byte, 1) == 1);
    MUST(pthread_join(thread, NULL) == 0);
    say("answered", byte);
}

/* ------------------------------------------------------------------------------------------------ small stacks */

static int logged[2], told_by[2];

/* What handlers of crashes do: a line to a log, and a look at what else there is. */
static void on_small_stack(int signal)
{
    char bytes[8] = "crash\n";
    struct pollfd ready = {.fd = logged[0], .events = POLLIN};
    (void)signal;
    if (write(logged[1], bytes, 6) != 6 || poll(&ready, 1, 0) != 1 || read(logged[0], bytes, 6) != 6 ||
        send(told_by[0], bytes, 1, 0) != 1 || recv(told_by[1], bytes, 1, 0) != 1)
        _exit(98);
}

/*
 * An alternate stack for a handler with 1.5 KB besides the kernel's frame. In front of it are bytes that must not
 * change. With LD_BIND_NOW: looking a function up at its first call takes more than that.
 */
static void handler_on_small_stack(void)
{
    enum { BEFORE = 32768, PATTERN = 0x5a };
    const unsigned long frame = getauxval(51); /* AT_MINSIGSTKSZ */
    const size_t bytes = (frame > 2048 ? frame : 2048) + 1536;
    unsigned char *memory = malloc(BEFORE + bytes);
    struct sigaction action = {.sa_handler = on_small_stack, .sa_flags = SA_ONSTACK};
    MUST(memory != NULL && pipe(logged) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, told_by) == 0);
    memset(memory, PATTERN, BEFORE + bytes);
    const stack_t stack = {.ss_sp = memory + BEFORE, .ss_size = bytes};
    MUST(sigaltstack(&stack, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0 && raise(SIGUSR1) == 0);
    long changed = 0;
    for (size_t i = 0; i < BEFORE; i++)
        changed += memory[i] != PATTERN;
    say("changed below it", changed);
}

/* ---------------------------------------------------------------------------------------------------- processes */

static int is_over;

static void *keep_working(void *unused)
{
    while (!is_raised(&is_over))
        work();
    return unused;
}

static void *end_the_child(void *unused)
{
    work_for_ms(1);
    _exit(7);
    return unused;
}

static void be_child(int way)
{
    pthread_t thread;
    work();
    if (way == 0)
        _exit(5);
    if (way == 1) {
        fflush(stdout);
        exit(6);
    }
    MUST(pthread_create(&thread, NULL, end_the_child, NULL) == 0);
    pthread_join(thread, NULL);
}

static void fork_beside_threads(void)
{
    pthread_t threads[3];
    long ends[3] = {0, 0, 0};
    for (int i = 0; i < 3; i++)
        MUST(pthread_create(&threads[i], NULL, keep_working, NULL) == 0);
    for (int i = 0; i < 30; i++) {
        const pid_t child = fork();
        if (child == 0)
            be_child(i % 3);
        ends[i % 3] += end_of(child);
    }
    raise_flag(&is_over);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    printf("%ld %ld %ld\n", ends[0], ends[1], ends[2]);
}

static void many_children(void)
{
    long good = 0;
    int status;
    for (int i = 0; i < 60; i++)
        if (fork() == 0) {
            work_for_ms(1);
            _exit(i);
        }
    while (wait(&status) > 0)
        good += WEXITSTATUS(status);
    say("sum", good);
}

/* A child that is killed while its parent goes on. */
static void killed_child(void)
{
    work();
    const pid_t child = fork();
    if (child == 0) {
        kill(getpid(), SIGTERM);
        for (;;)
            pause();
    }
    say("child", end_of(child));
    work_for_ms(2);
}

static void spawned_children(void)
{
    long ends = 0;
    for (int i = 0; i < 10; i++) {
        char *arguments[] = {(char[]){"sh"}, (char[]){"-c"}, (char[]){"exit 4"}, NULL};
        pid_t child;
        MUST(posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ) == 0);
        ends += end_of(child);
        work();
    }
    say("ends", ends);
    say("system", WEXITSTATUS(system("exit 9")));
    errno = 0;
    say("nothing there", execl("/nonexistent", "nonexistent", (char *)NULL));
    say("because", errno == ENOENT);
}

/* Leaves its terminal and its parent, and closes everything it has. */
static void daemon_without_descriptors(void)
{
    int ends[2];
    char text[32] = "";
    MUST(pipe(ends) == 0);
    const pid_t child = fork();
    if (child == 0) {
        setsid();
        if (fork() != 0)
            _exit(0);
        const int kept = dup2(ends[1], 9);
        for (int fd = 0; fd < 64; fd++)
            if (fd != kept)
                close(fd);
        work_for_ms(5);
        dprintf(9, "first free %d", open("/dev/null", O_RDONLY));
        exit(0);
    }
    close(ends[1]);
    say("child", end_of(child));
    size_t length = 0;
    for (ssize_t got = 1; got > 0; length += (size_t)got)
        got = read(ends[0], text + length, sizeof text - 1 - length);
    puts(text);
}

static void __attribute__((noinline)) touch(void) { HOTPATH_MEASURE(); }

/* Its memory is that of its parent, and so is its thread-local storage; both have zones at the same time. */
static int in_clone(void *unused)
{
    (void)unused;
    for (int i = 0; i < 20000; i++)
        touch();
    syscall(SYS_exit, 7);
    return 0;
}

static void clone_with_memory(void)
{
    enum { STACK = 1 << 18 };
    char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    long ends = 0;
    MUST(stack != MAP_FAILED);
    for (int i = 0; i < 20; i++) {
        const pid_t child = clone(in_clone, stack + STACK, CLONE_VM | SIGCHLD, NULL);
        for (int k = 0; k < 20000; k++)
            touch();
        ends += end_of(child);
    }
    say("ends", ends);
}

/* Gives up its user after it has forked. Needs root; others see the refusal. */
static void change_of_user(void)
{
    const pid_t child = fork();
    if (child == 0) {
        const int status = setgid(65534) | setuid(65534);
        work_for_ms(5);
        _exit(status == 0 ? 3 : 4);
    }
    const long end = end_of(child);
    say("as its rights allow", end == (geteuid() == 0 ? 3 : 4));
}

/* A process with one thread may; hotpath has none of its own. */
static void user_namespace(void)
{
    work();
    const pid_t child = fork();
    if (child == 0)
        _exit(unshare(CLONE_NEWUSER) == 0 ? 0 : errno);
    say("child", end_of(child));
    say("unshare", unshare(CLONE_NEWUSER));
}

/* ------------------------------------------------------------------------------------------------------- limits */

/* A signal kills whoever writes a longer file; SIGXFSZ is at its default. */
static void no_file_may_grow(void)
{
    const struct rlimit none = {0, 0};
    int ends[2];
    MUST(pipe(ends) == 0 && setrlimit(RLIMIT_FSIZE, &none) == 0);
    work_for_ms(5);
    const pid_t child = fork();
    if (child == 0) {
        work_for_ms(5);
        execl("/bin/sh", "sh", "-c", "exit 3", (char *)NULL);
        _exit(98);
    }
    say("child", end_of(child));
    say("pipe", write(ends[1], "x", 1));
}

static void little_stack(void)
{
    const struct rlimit little = {256 << 10, 256 << 10};
    MUST(setrlimit(RLIMIT_STACK, &little) == 0);
    const pid_t child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "exit 3", (char *)NULL);
        _exit(98);
    }
    say("child", end_of(child));
}

/* ---------------------------------------------------------------------------------------------------- sandboxes */

#ifdef HAS_FILTERS
#define ALLOW(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* What the dynamic linker and `ends_dynamic` need, and no more. */
static void exec_in_sandbox(const char *program)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_execve),
        ALLOW(SYS_brk),
        ALLOW(SYS_arch_prctl),
        ALLOW(SYS_mmap),
        ALLOW(SYS_munmap),
        ALLOW(SYS_access),
        ALLOW(SYS_openat),
        ALLOW(SYS_newfstatat),
        ALLOW(SYS_close),
        ALLOW(SYS_read),
        ALLOW(SYS_pread64),
        ALLOW(SYS_mprotect),
        ALLOW(SYS_set_tid_address),
        ALLOW(SYS_set_robust_list),
        ALLOW(SYS_rseq),
        ALLOW(SYS_prlimit64),
        ALLOW(SYS_getrandom),
        ALLOW(SYS_write),
        ALLOW(SYS_exit_group),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    const struct sock_fprog rules = {sizeof filter / sizeof filter[0], filter};
    char *arguments[] = {(char[]){"ends"}, NULL};
    work();
    MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &rules) == 0);
    execv(program, arguments);
    _exit(98);
}
#else
static void exec_in_sandbox(const char *program)
{
    (void)program;
    exit(77);
}
#endif

/* ------------------------------------------------------------------------------------------ locks and memory */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long jobs, done;

static void *do_jobs(void *unused)
{
    pthread_mutex_lock(&lock);
    while (done < 200) {
        while (jobs == 0 && done < 200)
            pthread_cond_wait(&changed, &lock);
        if (jobs > 0) {
            jobs--;
            done++;
        }
        if (done == 200)
            pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *make_jobs(void *unused)
{
    for (int i = 0; i < 50; i++) {
        pthread_mutex_lock(&lock);
        jobs += 4;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
        work();
    }
    return do_jobs(unused);
}

static void locks_and_conditions(void)
{
    pthread_t maker;
    MUST(pthread_create(&maker, NULL, make_jobs, NULL) == 0);
    on_threads(4, do_jobs, NULL);
    pthread_join(maker, NULL);
    say("done", done);
}

static void *resize_to_zero(void *unused)
{
    for (int i = 0; i < 5000; i++) {
        char *volatile block = malloc(2000);
        MUST(block != NULL);
        block[0] = 1;
        void *volatile rest = realloc(block, 0);
        free(rest);
    }
    return unused;
}

static void realloc_to_zero(void)
{
    on_threads(4, resize_to_zero, NULL);
    say("end", 1);
}

/* errno is left alone by what succeeds, and set by what fails. */
static void errors_of_malloc(void)
{
    size_t volatile huge = SIZE_MAX / 2;
    errno = 77;
    free(malloc(10));
    say("kept", errno);
    errno = 0;
    void *volatile none = malloc(huge);
    say("refused", none == NULL && errno == ENOMEM);
    void *aligned = NULL;
    say("bad alignment", posix_memalign(&aligned, 3, 10) == EINVAL);
}

/* -------------------------------------------------------------------------------------------------------- calls */

/* Each call with a measured zone inside is a tail call; the frames of all of them are there at once. */
static long __attribute__((noinline)) count_down(long left, long sum)
{
    HOTPATH_MEASURE();
    return left == 0 ? sum : count_down(left - 1, sum + left);
}

static void deep_calls(void) { say("sum", count_down(10000, 0)); }

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {{"popen_on_threads", popen_on_threads},
             {"exit_beside_streams", exit_beside_streams},
             {"streams_on_pipes", streams_on_pipes},
             {"numbers_of_descriptors", numbers_of_descriptors},
             {"reused_descriptors", reused_descriptors},
             {"nonblocking_pipe", nonblocking_pipe},
             {"writers_of_a_full_pipe", writers_of_a_full_pipe},
             {"ping_pong", ping_pong},
             {"handler_on_small_stack", handler_on_small_stack},
             {"fork_beside_threads", fork_beside_threads},
             {"many_children", many_children},
             {"killed_child", killed_child},
             {"spawned_children", spawned_children},
             {"daemon_without_descriptors", daemon_without_descriptors},
             {"clone_with_memory", clone_with_memory},
             {"change_of_user", change_of_user},
             {"user_namespace", user_namespace},
             {"no_file_may_grow", no_file_may_grow},
             {"little_stack", little_stack},
             {"locks_and_conditions", locks_and_conditions},
             {"realloc_to_zero", realloc_to_zero},
             {"errors_of_malloc", errors_of_malloc},
             {"deep_calls", deep_calls}};

static int list_cases(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        puts(cases[i].name);
    return 0;
}

int main(int argc, char **argv)
{
    if (is_case(argc, argv, "list"))
        return list_cases();
    HOTPATH_MAIN();
    if (is_case(argc, argv, "exec_in_sandbox") && argc > 2)
        exec_in_sandbox(argv[2]);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (is_case(argc, argv, cases[i].name)) {
            cases[i].run();
            return 0;
        }
    return 97;
}
