/*
 * Waits in a known function for a known thing, and prints the duration by its own clock. `inside` is measured
 * within the zone, `around` is everything from the moment it is watched to the end; `cpu` and `ready` are what the
 * kernel says of the main thread for all of that: time on a CPU, and ready for one.
 *
 * Before and after, it waits for a probe of the observer, so that the whole wait lies between two probes.
 */
#include "rivals.h"
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#ifdef HOTPATH
#include "layout.h"
#endif

#define ROUNDS 8
#define STEP_US 60000u

static uint64_t inside_ns;

static uint64_t thread_cpu_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Number of voluntary context switches. */
static uint64_t given_up(void)
{
    struct rusage usage;
    MUST(getrusage(RUSAGE_THREAD, &usage) == 0);
    return (uint64_t)usage.ru_nvcsw;
}

static uint64_t ready_ns(void)
{
    unsigned long long ran = 0, ready = 0;
    FILE *file = fopen("/proc/thread-self/schedstat", "r");
    MUST(file != NULL && fscanf(file, "%llu %llu", &ran, &ready) == 2);
    fclose(file);
    return ready;
}

/* -------------------------------------------------------------------------------------------- watchers */

#ifdef HOTPATH
/* Number of samples taken of this process; UINT64_MAX: none are expected. */
static uint64_t probes(void)
{
    struct hp_header header;
    struct hp_waits waits;
    const int fd = open(hotpath_session_path(), O_RDONLY);
    if (fd < 0)
        return UINT64_MAX;
    const int is_there = pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header && header.waits != 0 &&
                         pread(fd, &waits, sizeof waits, (off_t)header.waits) == (ssize_t)sizeof waits;
    close(fd);
    return is_there ? waits.probes : UINT64_MAX;
}

/* Works until the observer has begun a sample after this call, and has finished it. */
static void be_seen(void)
{
    HOTPATH_MEASURE();
    const uint64_t before = probes();
    const uint64_t until = now_ns() + UINT64_C(20000000000);
    while (before != UINT64_MAX && probes() < before + 3 && now_ns() < until)
        spin_us(500);
}
#else
static void be_seen(void) {}
#endif

/* ----------------------------------------------------------------------------------------------- cases */

static void begin(uint64_t *start) { *start = now_ns(); }
static void end(const uint64_t *start) { inside_ns += now_ns() - *start; }

static void in_sleep(void)
{
    HOTPATH_MEASURE();
    uint64_t start;
    begin(&start);
    sleep_us(STEP_US);
    end(&start);
}

static void in_poll(void)
{
    HOTPATH_MEASURE();
    uint64_t start;
    begin(&start);
    poll(NULL, 0, (int)(STEP_US / 1000));
    end(&start);
}

static void in_signal(void)
{
    HOTPATH_MEASURE();
    const struct timespec limit = {0, STEP_US * 1000};
    uint64_t start;
    sigset_t usr;
    sigemptyset(&usr);
    sigaddset(&usr, SIGUSR1);
    begin(&start);
    sigtimedwait(&usr, NULL, &limit);
    end(&start);
}

/* A child without measured functions: it sleeps, obeys, and exits. */
static pid_t child_after(unsigned us, int write_to)
{
    const pid_t pid = fork();
    MUST(pid >= 0);
    if (pid > 0)
        return pid;
    const struct timespec pause = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};
    nanosleep(&pause, NULL);
    if (write_to >= 0 && write(write_to, "x", 1) != 1)
        _exit(1);
    _exit(0);
}

static void in_child(void)
{
    HOTPATH_MEASURE();
    uint64_t start;
    const pid_t pid = child_after(STEP_US, -1);
    begin(&start);
    MUST(waitpid(pid, NULL, 0) == pid);
    end(&start);
}

/* One that is busy all the time. */
static void in_busy(void)
{
    HOTPATH_MEASURE();
    uint64_t start;
    const pid_t pid = fork();
    MUST(pid >= 0);
    if (pid == 0) {
        spin_us(STEP_US);
        _exit(0);
    }
    begin(&start);
    MUST(waitpid(pid, NULL, 0) == pid);
    end(&start);
}

static void read_from(int from, int to)
{
    char byte;
    uint64_t start;
    child_after(STEP_US, to); /* its exit is not waited for: that can take long, too */
    begin(&start);
    MUST(read(from, &byte, 1) == 1);
    end(&start);
}

static int ends[2];

/* What the ends are of is for prepare() to say; rows bear the names of functions. */
#define READS(name)                                                                                                \
    static void name(void)                                                                                         \
    {                                                                                                              \
        HOTPATH_MEASURE();                                                                                         \
        read_from(ends[0], ends[1]);                                                                               \
    }
READS(in_pipe)
READS(in_socket)
READS(in_tcp)
READS(in_udp)
READS(in_terminal)

static char fifo[64];

/* Opens a FIFO, which nobody writes to before a child has slept. */
static void in_fifo(void)
{
    HOTPATH_MEASURE();
    uint64_t start;
    char byte;
    const pid_t pid = fork();
    MUST(pid >= 0);
    if (pid == 0) {
        sleep_us(STEP_US);
        _exit(open(fifo, O_WRONLY) < 0);
    }
    begin(&start);
    const int fd = open(fifo, O_RDONLY);
    end(&start);
    MUST(fd >= 0 && read(fd, &byte, 1) == 0 && close(fd) == 0); /* the child is gone: the next one is met anew */
}

/* Two ends of a connection through the network of this machine. */
static void connect_ends(int type)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr *to = (struct sockaddr *)(void *)&address;
    socklen_t length = sizeof address;
    const int first = socket(AF_INET, type, 0);
    ends[1] = socket(AF_INET, type, 0);
    MUST(bind(first, to, length) == 0 && getsockname(first, to, &length) == 0);
    MUST(type == SOCK_DGRAM || listen(first, 1) == 0);
    MUST(connect(ends[1], to, length) == 0);
    ends[0] = type == SOCK_DGRAM ? first : accept(first, NULL, NULL);
    MUST(ends[0] >= 0);
}

/* Reads from a terminal while something is typed there. */
static void open_terminal(void)
{
    struct termios modes;
    ends[1] = posix_openpt(O_RDWR | O_NOCTTY);
    MUST(ends[1] >= 0 && grantpt(ends[1]) == 0 && unlockpt(ends[1]) == 0);
    ends[0] = open(ptsname(ends[1]), O_RDWR | O_NOCTTY);
    MUST(ends[0] >= 0 && tcgetattr(ends[0], &modes) == 0);
    modes.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    MUST(tcsetattr(ends[0], TCSANOW, &modes) == 0);
}

/* --- a page that comes late: another thread has to bring it */

static int faults = -1;
static char *pages;
static size_t page_bytes;
static int page;

/* Without ioctl(), whose requests are of another type in each C library. */
static int ask(unsigned long request, void *about) { return (int)syscall(SYS_ioctl, faults, request, about); }

/* Not 0, and errno: not all kernels allow it. */
static int watch_faults(void)
{
    struct uffdio_api api = {.api = UFFD_API};
    page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    pages = mmap(NULL, ROUNDS * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(pages != MAP_FAILED);
    faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | 1 /* UFFD_USER_MODE_ONLY */);
    struct uffdio_register all = {.range = {(uintptr_t)pages, ROUNDS * page_bytes},
                                  .mode = UFFDIO_REGISTER_MODE_MISSING};
    const int is_watched = faults >= 0 && ask(UFFDIO_API, &api) == 0 && ask(UFFDIO_REGISTER, &all) == 0;
    return is_watched ? 0 : -1;
}

static void *bring_page(void *unused)
{
    struct uffdio_zeropage zero = {.range = {(uintptr_t)pages + (size_t)page * page_bytes, page_bytes}};
    sleep_us(STEP_US);
    MUST(ask(UFFDIO_ZEROPAGE, &zero) == 0);
    return unused;
}

static void in_fault(void)
{
    HOTPATH_MEASURE();
    pthread_t thread;
    uint64_t start;
    MUST(pthread_create(&thread, NULL, bring_page, NULL) == 0);
    begin(&start);
    ((volatile char *)pages)[(size_t)page * page_bytes] = 1;
    end(&start);
    pthread_join(thread, NULL);
    page++;
}

static char *disk_path;

/* As often as needed: the speed of the disk is unknown. */
static void in_disk(void)
{
    HOTPATH_MEASURE();
    uint64_t start;
    char block[65536];
    memset(block, 'x', sizeof block);
    const int fd = open(disk_path, O_CREAT | O_RDWR, 0600);
    MUST(fd >= 0);
    for (const uint64_t until = inside_ns + STEP_US * 1000; inside_ns < until;) {
        MUST(pwrite(fd, block, sizeof block, 0) == (ssize_t)sizeof block);
        begin(&start);
        MUST(fsync(fd) == 0);
        end(&start);
    }
    close(fd);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int is_held;

static void *hold(void *unused)
{
    pthread_mutex_lock(&mutex);
    raise_flag(&is_held);
    sleep_us(STEP_US);
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void in_lock(void)
{
    HOTPATH_MEASURE();
    pthread_t thread;
    uint64_t start;
    is_held = 0;
    MUST(pthread_create(&thread, NULL, hold, NULL) == 0);
    while (!is_raised(&is_held))
        ;
    begin(&start);
    pthread_mutex_lock(&mutex);
    end(&start);
    pthread_mutex_unlock(&mutex);
    begin(&start);
    pthread_join(thread, NULL);
    end(&start);
}

/* Two threads on one CPU. The kernel's numbers count. */
static void in_queue(void)
{
    HOTPATH_MEASURE();
    const uint64_t before = ready_ns();
    const uint64_t until = thread_cpu_ns() + STEP_US * 1000;
    while (thread_cpu_ns() < until)
        ;
    inside_ns += ready_ns() - before;
}

static char state_of(pid_t pid)
{
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    const int fd = open(path, O_RDONLY);
    const ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    const char *after = length > 0 ? strrchr(text, ')') : NULL;
    return after != NULL ? after[2] : '?';
}

/* A child stops us, sees that we have, and lets us go on; in between is what counts. */
static void in_stop(void)
{
    HOTPATH_MEASURE();
    uint64_t *stopped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const pid_t us = getpid(), pid = fork();
    MUST(pid >= 0 && stopped != MAP_FAILED);
    if (pid == 0) {
        const struct timespec pause = {0, 400000000};
        kill(us, SIGSTOP);
        while (state_of(us) != 'T')
            ;
        const uint64_t from = now_ns();
        nanosleep(&pause, NULL);
        *stopped = now_ns() - from;
        kill(us, SIGCONT);
        _exit(0);
    }
    while (waitpid(pid, NULL, WNOHANG) == 0)
        ;
    inside_ns += *stopped;
}

static void in_work(void)
{
    HOTPATH_MEASURE();
    spin_us(STEP_US);
}

static void in_none(void) { HOTPATH_MEASURE(); }

static void in_kill(void)
{
    HOTPATH_MEASURE();
    uint64_t start;
    begin(&start);
    sleep_us(10 * STEP_US);
    end(&start);
    tell("inside", inside_ns);
    fflush(stdout);
    kill(getpid(), SIGKILL);
}

/* Until the other end of standard input is closed. */
static void in_crowd(void)
{
    HOTPATH_MEASURE();
    char byte;
    MUST(read(STDIN_FILENO, &byte, 1) == 0);
}

/* From now on only processes that may trace us, such as root's, can see our system calls. */
static void in_hiding(void)
{
    HOTPATH_MEASURE();
    MUST(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0);
    in_sleep();
}

/* Another program in the same process, which is not measured. */
static void in_exec(void)
{
    HOTPATH_MEASURE();
    execlp("sleep", "sleep", "0.5", (char *)NULL);
    MUST(0); /* exec has failed */
}

/* ------------------------------------------------------------------------------------------------- main */

static const struct {
    const char *name;
    void (*run)(void);
    int rounds;
} cases[] = {{"sleep", in_sleep, ROUNDS},   {"poll", in_poll, ROUNDS},
             {"signal", in_signal, ROUNDS}, {"child", in_child, ROUNDS},
             {"pipe", in_pipe, ROUNDS},     {"socket", in_socket, ROUNDS},
             {"fifo", in_fifo, ROUNDS},     {"tcp", in_tcp, ROUNDS},
             {"udp", in_udp, ROUNDS},       {"terminal", in_terminal, ROUNDS},
             {"fault", in_fault, ROUNDS},   {"disk", in_disk, ROUNDS},
             {"lock", in_lock, ROUNDS},     {"queue", in_queue, ROUNDS},
             {"crowd", in_crowd, 1},        {"stop", in_stop, 1},
             {"work", in_work, ROUNDS},     {"none", in_none, 1},
             {"kill", in_kill, 1},          {"exec", in_exec, 1},
             {"hiding", in_hiding, ROUNDS}, {"busy", in_busy, ROUNDS}};

static void prepare(const char *name)
{
    sigset_t usr;
    sigemptyset(&usr);
    sigaddset(&usr, SIGUSR1);
    sigprocmask(SIG_BLOCK, &usr, NULL);
    static const char *const readers[] = {"pipe", "fifo", "socket", "tcp", "udp", "terminal"};
    for (size_t at = 0; at < sizeof readers / sizeof readers[0]; at++)
        if (strcmp(name, readers[at]) == 0)
            signal(SIGCHLD, SIG_IGN);
    if (strcmp(name, "pipe") == 0)
        MUST(pipe(ends) == 0);
    if (strcmp(name, "fifo") == 0) {
        snprintf(fifo, sizeof fifo, "/tmp/hotpath-waits-%d", (int)getpid());
        MUST(mkfifo(fifo, 0600) == 0);
    }
    if (strcmp(name, "socket") == 0)
        MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    if (strcmp(name, "tcp") == 0)
        connect_ends(SOCK_STREAM);
    if (strcmp(name, "udp") == 0)
        connect_ends(SOCK_DGRAM);
    if (strcmp(name, "terminal") == 0)
        open_terminal();
    if (strcmp(name, "fault") == 0 && watch_faults() != 0) {
        tell_aside("refused", (uint64_t)errno);
        exit(0);
    }
    if (strcmp(name, "queue") == 0)
        bring_rivals(2);
}

static void run(const char *name)
{
    for (size_t at = 0; at < sizeof cases / sizeof cases[0]; at++)
        for (int round = 0; strcmp(cases[at].name, name) == 0 && round < cases[at].rounds; round++)
            cases[at].run();
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    const char *name = argc > 1 ? argv[1] : "none";
    disk_path = argc > 2 ? argv[2] : NULL;
    const int is_watched = strcmp(name, "none") != 0 && (argc < 3 || strcmp(argv[2], "unwatched") != 0);
    prepare(name);
    const uint64_t start = now_ns(), cpu = thread_cpu_ns(), ready = ready_ns();
    if (is_watched)
        be_seen();
    run(name);
    if (is_watched)
        be_seen();
    if (fifo[0] != '\0')
        unlink(fifo);
    tell_aside("inside", inside_ns);
    tell_aside("around", now_ns() - start);
    tell_aside("cpu", thread_cpu_ns() - cpu);
    tell_aside("ready", ready_ns() - ready);
    tell_aside("waits", given_up());
    end_rivals();
    printf("done %s\n", name);
    return strcmp(name, "work") == 0 ? 3 : 0;
}
