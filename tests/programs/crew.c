/*
 * Threads that use known amounts of everything, and print them by their own clocks: lines "name.what value".
 *
 * burner and kernel use CPU time, in user mode and in system calls; sleeper gives up its CPU forty times or more;
 * allocator allocates and frees; stranger is in no measured function and allocates nothing, so the session has no
 * record of it; brief ones come one after the other. Each waits until the observer has seen it, sleeper until it
 * has been found asleep, so that nothing depends on the rate of probes.
 */
#include "support.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef HOTPATH
#include "thread_usage.h"
#endif

#define SLEEPS 40
#define BRIEF_ONES 300

struct worker {
    const char *name;
    void (*work)(void);
    pthread_t thread;
    uint64_t tid, worked_ns, cpu_ns, kernel_ns, voluntary, involuntary;
};

static uint64_t cpu_ns(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static uint64_t kernel_ns(const struct rusage *usage)
{
    return (uint64_t)usage->ru_stime.tv_sec * 1000000000u + (uint64_t)usage->ru_stime.tv_usec * 1000u;
}

static uint64_t own_id(void) { return (uint64_t)syscall(SYS_gettid); }

/* ------------------------------------------------------------------------------------------- watchers */

enum seen { SEEN, WITH_ITS_RECORD, ASLEEP };

#ifdef HOTPATH
/* Whether an observer is expected. */
static int is_watched(int fd)
{
    struct hp_header header;
    return fd >= 0 && pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header && header.thread_usage != 0;
}

/* What the session says of this thread; false: nothing yet. */
static int find_row(int fd, struct hp_thread_usage *ret_usage, struct hp_thread_usage_row *ret_row)
{
    struct hp_header header;
    if (pread(fd, &header, sizeof header, 0) != (ssize_t)sizeof header || header.thread_usage == 0 ||
        pread(fd, ret_usage, sizeof *ret_usage, (off_t)header.thread_usage) != (ssize_t)sizeof *ret_usage)
        return 0;
    for (uint32_t at = 0; at < ret_usage->used; at++) {
        const off_t offset = (off_t)(header.thread_usage + sizeof *ret_usage + at * sizeof *ret_row);
        if (pread(fd, ret_row, sizeof *ret_row, offset) == (ssize_t)sizeof *ret_row && ret_row->living > 0 &&
            ret_row->tid == own_id())
            return 1;
    }
    return 0;
}

/*
 * Sleeps until this thread has been sampled with all of its work so far, and until its record is known, or it has
 * been found asleep.
 */
static void be_seen(enum seen how)
{
    struct hp_thread_usage crew;
    struct hp_thread_usage_row row;
    const uint64_t since = now_ns(), until = since + UINT64_C(20000000000);
    const int fd = hotpath_session_path() != NULL ? open(hotpath_session_path(), O_RDONLY | O_CLOEXEC) : -1;
    while (is_watched(fd) && now_ns() < until &&
           (!find_row(fd, &crew, &row) || crew.sampled_ns < since || (how == WITH_ITS_RECORD && row.record == 0) ||
            (how == ASLEEP && row.waited_ns[HP_WAIT_SLEEP] == 0)))
        sleep_us(5000);
    if (fd >= 0)
        close(fd);
}
#else
static void be_seen(enum seen how) { (void)how; }
#endif

/* ------------------------------------------------------------------------------------------------ work */

static void use_cpu(uint64_t ms)
{
    const uint64_t until = cpu_ns(CLOCK_THREAD_CPUTIME_ID) + ms * 1000000u;
    while (cpu_ns(CLOCK_THREAD_CPUTIME_ID) < until)
        for (volatile int step = 0; step < 20000; step++)
            ;
}

static void burn(void)
{
    HOTPATH_MEASURE();
    use_cpu(400);
}

static void call_kernel(void)
{
    HOTPATH_MEASURE();
    struct stat status;
    const uint64_t until = cpu_ns(CLOCK_THREAD_CPUTIME_ID) + 400 * 1000000u;
    while (cpu_ns(CLOCK_THREAD_CPUTIME_ID) < until)
        for (int step = 0; step < 500; step++)
            stat("/proc/self/status/none", &status);
}

static void doze(void)
{
    HOTPATH_MEASURE();
    for (int step = 0; step < SLEEPS; step++)
        sleep_us(2000);
    be_seen(ASLEEP);
}

static void allocate(void)
{
    HOTPATH_MEASURE();
    static void *volatile blocks[1000];
    for (int at = 0; at < 1000; at++)
        blocks[at] = malloc(1000);
    for (int at = 0; at < 400; at++)
        free(blocks[at]);
}

static void be_strange(void) { use_cpu(200); }

static void be_brief(void)
{
    HOTPATH_MEASURE();
    use_cpu(1);
}

static void *work(void *context)
{
    struct worker *self = context;
    struct rusage usage;
    prctl(PR_SET_NAME, self->name, 0, 0, 0);
    self->tid = own_id();
    self->work();
    self->worked_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    if (self->work != be_brief)
        be_seen(self->work != be_strange ? WITH_ITS_RECORD : SEEN);
    getrusage(RUSAGE_THREAD, &usage);
    self->cpu_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    self->kernel_ns = kernel_ns(&usage);
    self->voluntary = (uint64_t)usage.ru_nvcsw;
    self->involuntary = (uint64_t)usage.ru_nivcsw;
    return NULL;
}

static void tell_of(const char *name, const char *what, uint64_t value)
{
    printf("%s.%s %llu\n", name, what, (unsigned long long)value);
}

static void tell_worker(const struct worker *worker)
{
    tell_of(worker->name, "tid", worker->tid);
    tell_of(worker->name, "worked_ns", worker->worked_ns);
    tell_of(worker->name, "cpu_ns", worker->cpu_ns);
    tell_of(worker->name, "kernel_ns", worker->kernel_ns);
    tell_of(worker->name, "voluntary", worker->voluntary);
    tell_of(worker->name, "involuntary", worker->involuntary);
}

static void start(struct worker *worker) { MUST(pthread_create(&worker->thread, NULL, work, worker) == 0); }

static void run_all(struct worker *workers, int count)
{
    for (int at = 0; at < count; at++)
        start(&workers[at]);
    for (int at = 0; at < count; at++)
        pthread_join(workers[at].thread, NULL);
    for (int at = 0; at < count; at++)
        tell_worker(&workers[at]);
}

static void run_brief_ones(void)
{
    uint64_t all_ns = 0;
    for (int at = 0; at < BRIEF_ONES; at++) {
        struct worker brief = {.name = "brief", .work = be_brief};
        start(&brief);
        pthread_join(brief.thread, NULL);
        all_ns += brief.cpu_ns;
    }
    tell_of("brief", "cpu_ns", all_ns);
}

static void tell_process(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    tell_of("process", "cpu_ns", cpu_ns(CLOCK_PROCESS_CPUTIME_ID));
    tell_of("process", "kernel_ns", kernel_ns(&usage));
    fflush(stdout);
}

/* 64 MB that were there, and 16 that are. */
static void use_memory(void)
{
    char *much = malloc(64u << 20);
    MUST(much != NULL);
    for (size_t at = 0; at < 64u << 20; at += 4096)
        ((volatile char *)much)[at] = 1;
    be_seen(SEEN);
    free(much);
    char *some = malloc(16u << 20);
    MUST(some != NULL);
    for (size_t at = 0; at < 16u << 20; at += 4096)
        ((volatile char *)some)[at] = 1;
    be_seen(SEEN);
}

static void *stay_in(void *context)
{
    HOTPATH_MEASURE();
    char byte;
    prctl(PR_SET_NAME, "stayer", 0, 0, 0);
    MUST(read(*(int *)context, &byte, 1) == 0);
    return NULL;
}

/* A thread that stays in its function until the input ends. */
static void stay(void)
{
    pthread_t thread;
    int input = 0;
    MUST(pthread_create(&thread, NULL, stay_in, &input) == 0);
    tell("pid", (uint64_t)getpid());
    fflush(stdout);
    pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    struct worker workers[] = {{.name = "burner", .work = burn},
                               {.name = "kernel", .work = call_kernel},
                               {.name = "sleeper", .work = doze},
                               {.name = "allocator", .work = allocate},
                               {.name = "stranger", .work = be_strange}};
    if (is_case(argc, argv, "stay")) {
        stay();
        return 0;
    }
    if (is_case(argc, argv, "memory")) {
        use_memory();
        return 0;
    }
    run_all(workers, sizeof workers / sizeof workers[0]);
    be_seen(SEEN); /* before others take their records over, again and again */
    if (is_case(argc, argv, "brief"))
        run_brief_ones();
    be_seen(SEEN);
    tell_process();
    if (is_case(argc, argv, "killed"))
        raise(SIGKILL);
    return 0;
}
