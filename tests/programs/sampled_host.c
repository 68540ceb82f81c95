/*
 * Programs that use signals, threads and stacks themselves, and use CPU time in zones at the same time, so that
 * samples arrive at the highest rate. Their output is the same with and without hotpath.
 *
 *     sampled_host CASE [ARGUMENT...]
 *
 * One program: a case is one function, and all share the busy loops.
 */
#include "busy.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#ifdef __GLIBC__
#include <ucontext.h>
#endif
#include <unistd.h>

static pthread_t start(void *(*run)(void *), void *with)
{
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, run, with) == 0);
    return thread;
}

/* --------------------------------------------------------------------------------------- visible effects */

static int is_over;

static void *be_busy(void *unused)
{
    while (!is_raised(&is_over))
        busy(1);
    return unused;
}

/* Every bit, not only those that sigfillset has. */
static sigset_t every_signal(void)
{
    sigset_t all;
    memset(&all, 0xff, sizeof all);
    return all;
}

static long pending_signals(void)
{
    sigset_t pending;
    uint64_t bits;
    sigpending(&pending);
    memcpy(&bits, &pending, sizeof bits);
    return __builtin_popcountll(bits);
}

static void see_nothing(void)
{
    sigset_t all = every_signal(), usual;
    const struct timespec short_time = {0, 2000000};
    pthread_t threads[2];
    sigfillset(&usual);
    const int fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
    MUST(fd >= 0 && pthread_sigmask(SIG_BLOCK, &usual, NULL) == 0);
    for (size_t i = 0; i < 2; i++)
        threads[i] = start(be_busy, NULL);
    long seen = 0;
    for (int i = 0; i < 60; i++) {
        struct signalfd_siginfo message;
        busy(2);
        seen += pending_signals();
        seen += read(fd, &message, sizeof message) > 0;
        seen += sigtimedwait(&usual, NULL, &short_time) > 0;
        seen += poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 1) > 0;
    }
    say("seen", seen);
    raise_flag(&is_over);
    for (size_t i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

/* What the kernel says of the process: masks as they are in truth. */
static void tell_status(void)
{
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    MUST(status != NULL);
    while (fgets(line, sizeof line, status))
        if (strncmp(line, "SigBlk", 6) == 0 || strncmp(line, "SigIgn", 6) == 0 || strncmp(line, "SigPnd", 6) == 0)
            fputs(line, stdout);
    fclose(status);
    fflush(stdout);
}

static const char *self;

static int end_of(pid_t child)
{
    int status = -1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

/* Blocked and ignored signals are inherited through exec, and nothing else. */
static void masks_through_exec(void)
{
    sigset_t some;
    sigemptyset(&some);
    sigaddset(&some, SIGURG);
    sigaddset(&some, SIGUSR1);
    sigaddset(&some, SIGIO);
    busy(20);
    MUST(sigprocmask(SIG_BLOCK, &some, NULL) == 0);
    signal(SIGUSR2, SIG_IGN);
    busy(20);
    const pid_t child = fork();
    if (child == 0) {
        busy(5);
        execl(self, self, "tell_status", (char *)NULL);
        _exit(99);
    }
    say("status", end_of(child));
}

/* The handlers known to the kernel: without zones there are none of ours. */
static void tell_handlers(void)
{
    char line[256];
    for (uint64_t end = thread_ns() + 30000000u; thread_ns() < end;)
        free(malloc(40));
    FILE *status = fopen("/proc/self/status", "r");
    MUST(status != NULL);
    while (fgets(line, sizeof line, status))
        if (strncmp(line, "SigCgt", 6) == 0)
            fputs(line, stdout);
    fclose(status);
}

/* -------------------------------------------------------------------------------------------- signals of others */

static void shoot(int number)
{
    const pid_t parent = getpid(), child = fork();
    if (child == 0) {
        usleep(10000);
        for (int i = 0; i < 3; i++) {
            kill(parent, number);
            usleep(5000);
        }
        _exit(0);
    }
}

static void tell_call(const char *name, long result)
{
    const int problem = errno;
    printf("%s %ld %s\n", name, result, result < 0 ? strerror(problem) : "-");
    fflush(stdout);
    MUST(wait(NULL) > 0);
}

/* A signal that is ignored interrupts nothing. */
static void ignored_ones(void)
{
    static const int numbers[] = {SIGURG, SIGWINCH};
    for (size_t i = 0; i < 2; i++) {
        struct timespec moment = {0, 40000000};
        struct timeval little = {0, 40000};
        struct epoll_event event;
        sem_t never;
        sem_init(&never, 0, 0);
        busy(10);
        shoot(numbers[i]);
        tell_call("poll", poll(NULL, 0, 40));
        shoot(numbers[i]);
        tell_call("nanosleep", nanosleep(&moment, NULL));
        shoot(numbers[i]);
        tell_call("epoll", epoll_wait(epoll_create1(EPOLL_CLOEXEC), &event, 1, 40));
        shoot(numbers[i]);
        tell_call("select", select(0, NULL, NULL, NULL, &little));
        clock_gettime(CLOCK_REALTIME, &moment);
        moment.tv_nsec += 40000000;
        if (moment.tv_nsec >= 1000000000) {
            moment.tv_sec++;
            moment.tv_nsec -= 1000000000;
        }
        shoot(numbers[i]);
        tell_call("sem_timedwait", sem_timedwait(&never, &moment));
        shoot(numbers[i]);
        tell_call("usleep", usleep(40000));
    }
}

static int begun, ended;

static void on_urgent(int number)
{
    (void)number;
    __atomic_fetch_add(&begun, 1, __ATOMIC_SEQ_CST);
    const uint64_t end = thread_ns() + 2000000u;
    while (thread_ns() < end)
        ;
    __atomic_fetch_add(&ended, 1, __ATOMIC_SEQ_CST);
}

static void wait_for(const int *number, int value)
{
    while (__atomic_load_n(number, __ATOMIC_SEQ_CST) < value)
        sched_yield();
}

/* To one thread, while the handler of the one before runs: each arrives. */
static void directed_ones(void)
{
    const struct sigaction action = {.sa_handler = on_urgent, .sa_flags = SA_RESTART};
    MUST(sigaction(SIGURG, &action, NULL) == 0);
    const pthread_t thread = start(be_busy, NULL);
    for (int i = 0; i < 40; i++) {
        pthread_kill(thread, SIGURG);
        wait_for(&begun, 2 * i + 1);
        pthread_kill(thread, SIGURG);
        wait_for(&ended, 2 * i + 2);
    }
    raise_flag(&is_over);
    pthread_join(thread, NULL);
    say("handled", ended);
}

static void on_usr1(int number) { (void)number; }

/* An interposer in front of these sees them. */
static void interposed(void)
{
    sigset_t none;
    sigemptyset(&none);
    busy(5);
    const struct sigaction action = {.sa_handler = on_usr1};
    MUST(sigaction(SIGUSR1, &action, NULL) == 0);
    MUST(pthread_sigmask(SIG_BLOCK, &none, NULL) == 0);
    busy(5);
    say("end", 1);
}

/* ------------------------------------------------------------------------------------------------- cancellation */

static int cleaned;

static void clean(void *unused)
{
    (void)unused;
    crunch();
    __atomic_fetch_add(&cleaned, 1, __ATOMIC_SEQ_CST);
}

static void *wait_to_be_cancelled(void *ends)
{
    char byte;
    pthread_cleanup_push(clean, NULL);
    busy_us(200);
    while (read(*(const int *)ends, &byte, 1) <= 0)
        crunch();
    pthread_cleanup_pop(0);
    return NULL;
}

static void *be_cancelled_anywhere(void *unused)
{
    pthread_cleanup_push(clean, NULL);
    busy_us(200);
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (volatile uint64_t i = 0;; i++)
        ;
    pthread_cleanup_pop(0);
    return unused;
}

/* The first of them has the C library set its handler; others begin at the same time. */
static void cancel(void)
{
    int ends[2];
    long cancelled = 0;
    MUST(pipe(ends) == 0);
    for (int i = 0; i < 150; i++) {
        pthread_t threads[4];
        for (int k = 0; k < 4; k++)
            threads[k] = k % 2 ? start(be_cancelled_anywhere, NULL) : start(wait_to_be_cancelled, &ends[0]);
        busy_us((uint64_t)i * 10);
        for (int k = 0; k < 4; k++)
            pthread_cancel(threads[k]);
        for (int k = 0; k < 4; k++) {
            void *result = NULL;
            pthread_join(threads[k], &result);
            cancelled += result == PTHREAD_CANCELED;
        }
    }
    say("cancelled", cancelled);
    say("cleaned", cleaned);
}

/* A signal that the C library never sent ends the process, as it would without us. */
static void killed_by_private(void)
{
    busy(20);
    syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), 32);
    busy(20);
    say("alive", 1);
}

/* All threads take part in setuid, by another signal of the C library's. */
static void set_user(void)
{
    pthread_t threads[3];
    for (size_t i = 0; i < 3; i++)
        threads[i] = start(be_busy, NULL);
    long done = 0;
    for (int i = 0; i < 200; i++) {
        busy_us(300);
        done += setresuid(getuid(), getuid(), getuid()) == 0;
    }
    raise_flag(&is_over);
    for (size_t i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    say("done", done);
}

/* ------------------------------------------------------------------------------------------------------- stacks */

/* A stack with a guard area below it. */
static char *make_stack(size_t size)
{
    char *memory = mmap(NULL, 65536 + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(memory != MAP_FAILED && mprotect(memory, 65536, PROT_NONE) == 0);
    return memory + 65536;
}

static void on_fault(int number)
{
    (void)number;
    _Exit(3);
}

static void alternate(const char *size_text, bool is_before)
{
    const size_t size = strtoul(size_text, NULL, 10);
    stack_t stack = {.ss_sp = make_stack(4096) + 4096 - size, .ss_size = size};
    const struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK};
    if (!is_before)
        busy(20);
    say("set", sigaltstack(&stack, NULL));
    MUST(sigaction(SIGSEGV, &action, NULL) == 0);
    busy(200);
    say("end", 1);
}

/* Its memory has been reused by now. */
static void work_aside(int number)
{
    volatile char room[2048];
    (void)number;
    room[0] = room[sizeof room - 1] = 0;
    const uint64_t end = thread_ns() + 30000000;
    while (thread_ns() < end)
        ;
}

/* A handler that takes its time on a stack that is large enough for it, and holds all signals that it can. */
static void *work_on_alternate(void *with)
{
    stack_t stack = {.ss_sp = make_stack(8192), .ss_size = 8192};
    struct sigaction action = {.sa_handler = work_aside, .sa_flags = SA_ONSTACK};
    sigfillset(&action.sa_mask);
    MUST(sigaltstack(&stack, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0);
    busy(*(const unsigned *)with);
    for (int i = 0; i < 3; i++)
        raise(SIGUSR1);
    return NULL;
}

/*
 * It is there before the first zone of its thread. At once: no sample has come before the first one there is due.
 */
static void busy_alternate_after(unsigned ms)
{
    pthread_join(start(work_on_alternate, &ms), NULL);
    say("survived", 1);
}

static void busy_alternate(void) { busy_alternate_after(20); }
static void busy_alternate_at_once(void) { busy_alternate_after(1); }

static void spin_aside(int number)
{
    (void)number;
    const uint64_t end = thread_ns() + 30000000;
    while (thread_ns() < end)
        ;
}

/* A thread that is being sampled sets a stack with room for one signal frame, and runs a handler there at once. */
static void little_alternate(void)
{
    const unsigned long frame = getauxval(51); /* AT_MINSIGSTKSZ */
    const size_t bytes = (frame > 2048 ? frame : 2048) + 1024;
    const stack_t stack = {.ss_sp = make_stack(bytes), .ss_size = bytes};
    const struct sigaction action = {.sa_handler = spin_aside, .sa_flags = SA_ONSTACK};
    busy(20);
    MUST(sigaction(SIGUSR1, &action, NULL) == 0 && sigaltstack(&stack, NULL) == 0 && raise(SIGUSR1) == 0);
    say("survived", 1);
}

static void freed_alternate(void)
{
    char *memory = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const stack_t stack = {.ss_sp = memory, .ss_size = 65536};
    MUST(memory != MAP_FAILED);
    busy(5);
    say("set", sigaltstack(&stack, NULL));
    munmap(memory, 65536);
    busy(200);
    say("end", 1);
}

#ifdef __GLIBC__
/* Coroutines that change places all the time, on small stacks. */
#define COROUTINES 8

static ucontext_t back, places[COROUTINES];
static uint64_t rounds;

static void __attribute__((noinline)) small_work(void)
{
    HOTPATH_MEASURE();
    for (uint64_t i = 0; i < 2000; i++)
        __asm__ volatile("" : "+r"(i));
}

static void be_coroutine(void)
{
    for (;;) {
        small_work();
        rounds++;
        setcontext(&back);
    }
}

static void __attribute__((noinline)) prepare(ucontext_t *place, size_t stack_bytes)
{
    getcontext(place);
    place->uc_stack.ss_sp = make_stack((stack_bytes + 4095) & ~(size_t)4095);
    place->uc_stack.ss_size = stack_bytes;
    place->uc_link = NULL;
}

static void __attribute__((noinline)) go_there(ucontext_t *place)
{
    volatile bool has_been = false;
    makecontext(place, be_coroutine, 0);
    getcontext(&back);
    if (!has_been) {
        has_been = true;
        setcontext(place);
    }
}

static void go_round(size_t stack_bytes)
{
    for (int i = 0; i < COROUTINES; i++)
        prepare(&places[i], stack_bytes);
    const uint64_t end = thread_ns() + 100000000u;
    for (int i = 0; thread_ns() < end; i++)
        go_there(&places[i % COROUTINES]);
}

static size_t coroutine_bytes;

#define ALTERNATE_BYTES 65536

static void set_alternate(size_t bytes, int flags)
{
    static char memory[ALTERNATE_BYTES];
    const stack_t stack = {.ss_sp = memory, .ss_size = bytes, .ss_flags = flags};
    MUST(sigaltstack(&stack, NULL) == 0);
}

static size_t frame_bytes;

static void measure_frame(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info;
    const stack_t *set = &((const ucontext_t *)context)->uc_stack;
    frame_bytes = (size_t)((char *)set->ss_sp + set->ss_size - (char *)__builtin_frame_address(0));
}

/* Room for one frame of a signal and not for two. */
static size_t little_bytes(void)
{
    set_alternate(ALTERNATE_BYTES, 0);
    const struct sigaction action = {.sa_sigaction = measure_frame, .sa_flags = SA_ONSTACK | SA_SIGINFO};
    MUST(sigaction(SIGUSR1, &action, NULL) == 0 && pthread_kill(pthread_self(), SIGUSR1) == 0);
    return frame_bytes + 2000;
}

/*
 * The first zone of the thread is in a coroutine. `alternate`: when the program sets a stack for signals, or takes
 * it away.
 */
static void *go_round_in_thread(void *alternate)
{
    const char *const when = alternate;
    if (strcmp(when, "alternate") == 0)
        set_alternate(ALTERNATE_BYTES, 0);
    go_round(coroutine_bytes);
    if (strcmp(when, "later") == 0)
        set_alternate(little_bytes(), 0);
    if (strcmp(when, "away") == 0)
        set_alternate(0, SS_DISABLE);
    if (strcmp(when, "later") == 0 || strcmp(when, "away") == 0)
        go_round(coroutine_bytes);
    return NULL;
}

static void coroutines(size_t stack_bytes, char *alternate)
{
    coroutine_bytes = stack_bytes;
    for (int i = 0; i < 3; i++) {
        rounds = 0;
        pthread_join(start(go_round_in_thread, alternate), NULL);
        say("round", rounds > 0);
    }
    if (stack_bytes >= 16384) { /* where there is room for a sample on the way to the first zone there */
        go_round(stack_bytes);
        say("round", rounds > 0);
    }
}
#endif

/* ----------------------------------------------------------------------------------------------------- children */

/* After exec no pending sample kills the program. */
static void execs(int count, const char *program, bool is_blocked)
{
    long ends = 0;
    for (int i = 0; i < count; i++) {
        const pid_t child = fork();
        if (child == 0) {
            const uint64_t all = UINT64_MAX;
            busy_us(150);
            if (is_blocked)
                syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, NULL, sizeof all);
            busy_us(100 + (uint64_t)i * 37 % 100);
            execl(program, program, (char *)NULL);
            _exit(99);
        }
        ends += end_of(child) == 0;
    }
    say("ended well", ends);
}

/* The child has its parent's memory, and zones of its own in it. */
static int __attribute__((noinline)) vfork_once(void)
{
    const pid_t child = vfork();
    if (child == 0) {
        HOTPATH_BLOCK("in the child");
        crunch();
        execl("/bin/true", "true", (char *)NULL);
        _exit(99);
    }
    return end_of(child);
}

static void vforks(void)
{
    long ends = 0;
    for (int i = 0; i < 100; i++) {
        ends += vfork_once() == 0;
        busy_us(200);
    }
    say("ended well", ends);
}

/* ------------------------------------------------------------------------------------------------ few resources */

static void set_queue(rlim_t count)
{
    struct rlimit limit;
    MUST(getrlimit(RLIMIT_SIGPENDING, &limit) == 0);
    limit.rlim_cur = count < limit.rlim_max ? count : limit.rlim_max;
    MUST(setrlimit(RLIMIT_SIGPENDING, &limit) == 0);
}

static void __attribute__((noinline)) after(void)
{
    HOTPATH_MEASURE();
    const uint64_t end = thread_ns() + 900000000u;
    while (thread_ns() < end)
        for (uint64_t i = 0; i < 200000; i++)
            __asm__ volatile("" : "+r"(i));
}

/* No signal can be queued for a while. */
static void no_queue(void)
{
    busy(50);
    set_queue(0);
    busy(400);
    set_queue(RLIM_INFINITY);
    after();
    say("end", 1);
}

static volatile sig_atomic_t told_of_io;

static void on_io(int signal)
{
    (void)signal;
    told_of_io++;
}

/*
 * The same, and the program has a use for what the kernel would send instead: from the beginning, or from when perf
 * is there.
 */
static void no_queue_with_own_io(void)
{
    signal(SIGIO, on_io);
    busy(50);
    set_queue(0);
    busy(200);
    say("told of i/o", told_of_io);
}

static void no_queue_with_late_io(void)
{
    busy(50);
    signal(SIGIO, on_io);
    busy(200);
    set_queue(0);
    busy(200);
    say("told of i/o", told_of_io);
}

#define SMALL_QUEUE 40

static pthread_barrier_t all_are_sampled;

static void *be_sampled(void *unused)
{
    busy(1);
    pthread_barrier_wait(&all_are_sampled);
    pthread_barrier_wait(&all_are_sampled);
    return unused;
}

/* Of this process. */
static long count_timers(void)
{
    char line[256];
    long count = 0;
    FILE *list = fopen("/proc/self/timers", "r");
    while (list != NULL && fgets(line, sizeof line, list) != NULL)
        count += strncmp(line, "ID:", 3) == 0;
    if (list != NULL)
        fclose(list);
    return count;
}

/* Timers use up queue slots for signals: as many threads as slots do not take them all. */
static void small_queue(void)
{
    pthread_t threads[SMALL_QUEUE];
    MUST(pthread_barrier_init(&all_are_sampled, NULL, SMALL_QUEUE + 1) == 0);
    set_queue(SMALL_QUEUE);
    for (int i = 0; i < SMALL_QUEUE; i++)
        threads[i] = start(be_sampled, NULL);
    pthread_barrier_wait(&all_are_sampled);
    say("half is free", count_timers() <= SMALL_QUEUE / 2);
    pthread_barrier_wait(&all_are_sampled);
    for (int i = 0; i < SMALL_QUEUE; i++)
        pthread_join(threads[i], NULL);
    say("all are free", count_timers() <= 1);
}

static void *be_busy_in_real_time(void *unused)
{
    const struct sched_param first = {.sched_priority = 1};
    pthread_setschedparam(pthread_self(), SCHED_FIFO, &first);
    busy(50);
    return unused;
}

static void real_time(void)
{
    for (int i = 0; i < 4; i++) {
        pthread_join(start(be_busy_in_real_time, NULL), NULL);
        busy(5);
    }
    say("end", 1);
}

static int run(int argc, char **argv)
{
    const char *more = argc > 2 ? argv[2] : "";
    const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"see_nothing", see_nothing},
                 {"masks_through_exec", masks_through_exec},
                 {"ignored_ones", ignored_ones},
                 {"directed_ones", directed_ones},
                 {"interposed", interposed},
                 {"cancel", cancel},
                 {"killed_by_private", killed_by_private},
                 {"set_user", set_user},
                 {"freed_alternate", freed_alternate},
                 {"busy_alternate", busy_alternate},
                 {"little_alternate", little_alternate},
                 {"busy_alternate_at_once", busy_alternate_at_once},
                 {"vforks", vforks},
                 {"no_queue", no_queue},
                 {"small_queue", small_queue},
                 {"no_queue_with_own_io", no_queue_with_own_io},
                 {"no_queue_with_late_io", no_queue_with_late_io},
                 {"real_time", real_time}};
    HOTPATH_MAIN();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (is_case(argc, argv, cases[i].name)) {
            cases[i].run();
            return 0;
        }
    if (is_case(argc, argv, "alternate"))
        alternate(more, argc > 3);
#ifdef __GLIBC__
    else if (is_case(argc, argv, "coroutines"))
        coroutines(strtoul(more, NULL, 10), argc > 3 ? argv[3] : (char[]){""});
#endif
    else if (is_case(argc, argv, "execs"))
        execs(atoi(more), argv[3], argc > 4);
    else
        return 98;
    return 0;
}

int main(int argc, char **argv)
{
    self = argv[0];
    if (is_case(argc, argv, "tell_status"))
        tell_status();
    else if (is_case(argc, argv, "tell_handlers"))
        tell_handlers();
    else
        return run(argc, argv);
    return 0;
}
