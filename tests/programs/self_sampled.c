/*
 * A program without hotpath that is hard to interrupt with signals. Its function names tell where they ran; it
 * prints their CPU time, in nanoseconds.
 *     self_sampled CASE MS
 *         alternate     with an alternate stack of 2 KB, first by sigaltstack, then by `syscall`; then without one
 *         handler       in a handler on an alternate stack of 8 KB
 *         unmapped      with an alternate stack of 64 KB whose memory is unmapped
 *         reused        the same, freed, and allocated again for something else
 *         restored      after it has set an alternate stack and then the one before again
 *         kept          after a handler on its alternate stack has tried to change it, which the kernel refuses
 *         coroutine     on a stack of 4 KB with unmapped memory below and above it
 *         changes       not at all: changes its alternate stack, and prints how much stack that takes
 *         cancel        in threads that are cancelled
 *         thrd          in a C11 thread
 *         ended         in 100 threads, one after another; `timers` is how many are left then
 *         forked        in a child, beside its parent
 *         becoming      before exec of `stacked`, the next arguments
 *         killed        before it kills itself
 *         sandbox       in two threads, in a sandbox that allows next to nothing; then it says so
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__clang__)
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noinline, noclone))
#endif

#define MUST(condition)                                                                                            \
    do {                                                                                                           \
        if (!(condition)) {                                                                                        \
            fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, strerror(errno));                  \
            _exit(1);                                                                                              \
        }                                                                                                          \
    } while (0)

static uint64_t ms;

static uint64_t used_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void compute(uint64_t rounds)
{
    uint64_t x = 1;
    for (uint64_t at = 0; at < rounds; at++) {
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
        __asm__ volatile("" : "+r"(x));
    }
}

static void burn(uint64_t for_ms)
{
    const uint64_t end = used_ns() + for_ms * 1000000u;
    while (used_ns() < end)
        compute(100000);
}

/* With something of the line's own behind it: it is neither left by a jump nor the same as another function. */
#define BURN(for_ms)                                                                                               \
    do {                                                                                                           \
        burn(for_ms);                                                                                              \
        __asm__ volatile("# %0" : : "i"(__LINE__));                                                                \
    } while (0)

static void say(const char *name, uint64_t value)
{
    printf("%s %" PRIu64 "\n", name, value);
    fflush(stdout);
}

/* --------------------------------------------------------------------------------------------- alternate stacks */

static char small[2048], medium[8192];

APART static void with_small_one(void) { BURN(ms); }
APART static void with_small_one_by_syscall(void) { BURN(ms); }
APART static void without_one(void) { BURN(ms); }

static void alternate(void)
{
    const stack_t two_kb = {.ss_sp = small, .ss_size = sizeof small}, none = {.ss_flags = SS_DISABLE};
    stack_t now;
    memset(small, 7, sizeof small);
    MUST(sigaltstack(&two_kb, NULL) == 0 && sigaltstack(NULL, &now) == 0 && now.ss_sp == small);
    with_small_one();
    MUST(sigaltstack(&none, NULL) == 0);
    without_one();
    MUST(syscall(SYS_sigaltstack, &two_kb, NULL) == 0);
    with_small_one_by_syscall();
    for (size_t at = 0; at < sizeof small; at++)
        MUST(small[at] == 7);
}

APART static void on_signal(int signal)
{
    (void)signal;
    BURN(ms);
}

static void in_handler(void)
{
    const stack_t eight_kb = {.ss_sp = medium, .ss_size = sizeof medium};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    MUST(sigaltstack(&eight_kb, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0 && raise(SIGUSR1) == 0);
}

enum { LARGE = 65536 };

static void use_alternate(void *memory)
{
    const stack_t large = {.ss_sp = memory, .ss_size = LARGE};
    MUST(sigaltstack(&large, NULL) == 0);
}

APART static void with_unmapped_one(void) { BURN(ms); }

static void unmapped(void)
{
    void *memory = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(memory != MAP_FAILED);
    use_alternate(memory);
    MUST(munmap(memory, LARGE) == 0);
    with_unmapped_one();
}

APART static void with_reused_one(void) { BURN(ms); }

static void reused(void)
{
    char *memory = malloc(LARGE);
    char *volatile place = memory; /* volatile: a compiler may take two blocks for two places */
    MUST(memory != NULL);
    use_alternate(memory);
    free(memory);
    char *again = malloc(LARGE);
    MUST(again == place);
    memset(again, 7, LARGE);
    with_reused_one();
    for (size_t at = 0; at < LARGE; at++)
        MUST(again[at] == 7);
    free(again);
}

APART static void with_former_one(void) { BURN(ms); }
static void on_nothing(int signal) { (void)signal; }

static void restored(void)
{
    const stack_t eight_kb = {.ss_sp = medium, .ss_size = sizeof medium};
    const struct sigaction action = {.sa_handler = on_nothing, .sa_flags = SA_ONSTACK};
    stack_t before;
    MUST(sigaltstack(NULL, &before) == 0);
    char *lowest = before.ss_flags & SS_DISABLE ? medium : before.ss_sp;
    *lowest = 7;
    MUST(sigaltstack(&eight_kb, NULL) == 0 && sigaltstack(&before, NULL) == 0 && *lowest == 7);
    MUST(sigaction(SIGUSR1, &action, NULL) == 0 && raise(SIGUSR1) == 0);
    with_former_one();
}

static void change_in_handler(int signal)
{
    const stack_t eight_kb = {.ss_sp = medium, .ss_size = sizeof medium};
    stack_t now;
    MUST(sigaltstack(NULL, &now) == 0);
    const int status = sigaltstack(&eight_kb, NULL);
    MUST(now.ss_flags & SS_ONSTACK ? status == -1 && errno == EPERM : status == 0);
    (void)signal;
}

APART static void with_kept_one(void) { BURN(ms); }

static void kept(void)
{
    const struct sigaction action = {.sa_handler = change_in_handler, .sa_flags = SA_ONSTACK};
    MUST(sigaction(SIGUSR1, &action, NULL) == 0 && raise(SIGUSR1) == 0);
    with_kept_one();
}

/* --------------------------------------------------------------------------------------------------- coroutines */

static ucontext_t caller, callee;

APART static void on_small_stack(void) { BURN(ms); }

static void coroutine(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(memory != MAP_FAILED && mprotect(memory + page, page, PROT_READ | PROT_WRITE) == 0);
    MUST(getcontext(&callee) == 0);
    callee.uc_stack = (stack_t){.ss_sp = memory + page, .ss_size = page};
    callee.uc_link = &caller;
    makecontext(&callee, on_small_stack, 0);
    MUST(swapcontext(&caller, &callee) == 0);
}

static char painted[65536];
static bool is_set;

static void change_alternate(void)
{
    const stack_t some = {.ss_sp = medium, .ss_size = sizeof medium}, none = {.ss_flags = SS_DISABLE};
    MUST(sigaltstack(is_set ? &none : &some, NULL) == 0);
    is_set = !is_set;
}

static uint64_t measure_change(void)
{
    size_t at = 0;
    memset(painted, 0x5a, sizeof painted);
    MUST(getcontext(&callee) == 0);
    callee.uc_stack = (stack_t){.ss_sp = painted, .ss_size = sizeof painted};
    callee.uc_link = &caller;
    makecontext(&callee, change_alternate, 0);
    MUST(swapcontext(&caller, &callee) == 0);
    while (painted[at] == 0x5a)
        at++;
    return sizeof painted - at;
}

static void changes(void)
{
    say("first", measure_change());
    say("second", measure_change());
    say("third", measure_change());
}

/* ------------------------------------------------------------------------------------------------------ threads */

APART static void *until_cancelled(void *unused)
{
    for (;;) {
        BURN(1);
        pthread_testcancel();
    }
    return unused;
}

static void cancel(void)
{
    for (int turn = 0; turn < 10; turn++) {
        pthread_t thread;
        void *result;
        MUST(pthread_create(&thread, NULL, until_cancelled, NULL) == 0);
        usleep((useconds_t)(ms * 200));
        MUST(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
    }
}

APART static int in_thrd(void *unused)
{
    (void)unused;
    BURN(ms);
    return 42;
}

static void by_thrd(void)
{
    thrd_t thread;
    int result;
    MUST(thrd_create(&thread, in_thrd, NULL) == thrd_success && thrd_join(thread, &result) == thrd_success);
    MUST(result == 42);
}

APART static void *in_short_thread(void *unused)
{
    BURN(10);
    return unused;
}

static uint64_t count_timers(void)
{
    char line[200];
    uint64_t count = 0;
    FILE *file = fopen("/proc/self/timers", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        count += strncmp(line, "ID:", 3) == 0;
    if (file != NULL)
        fclose(file);
    return count;
}

static void ended(void)
{
    for (int turn = 0; turn < 100; turn++) {
        pthread_t thread;
        MUST(pthread_create(&thread, NULL, in_short_thread, NULL) == 0 && pthread_join(thread, NULL) == 0);
    }
    say("timers", count_timers());
}

/* ---------------------------------------------------------------------------------------------------- processes */

APART static void in_parent(void) { BURN(ms); }
APART static void in_child(void) { BURN(ms); }

static void forked(void)
{
    const pid_t child = fork();
    int status;
    if (child == 0) {
        in_child();
        _exit(0);
    }
    in_parent();
    MUST(waitpid(child, &status, 0) == child && status == 0);
}

APART static void before_exec(void) { BURN(ms); }

static void become(char **arguments)
{
    before_exec();
    execv(arguments[0], arguments);
    MUST(errno == 0);
}

APART static void before_kill(void) { BURN(ms); }

/* ---------------------------------------------------------------------------------------------------- a sandbox */

static uint64_t rounds;

APART static void *in_sandbox(void *unused)
{
    compute(rounds);
    __asm__ volatile("");
    return unused;
}

static void *hold_out(void *barrier)
{
    pthread_barrier_wait(barrier);
    for (;;) /* to end would take system calls */
        in_sandbox(NULL);
}

#define ALLOW(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static void sandboxed(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_write),
        ALLOW(SYS_exit),
        ALLOW(SYS_exit_group),
        ALLOW(SYS_futex),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    const struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    /* For all threads, so that the one that computes already is in it, too. */
    MUST(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0);
}

static void sandbox(void)
{
    pthread_barrier_t barrier;
    pthread_t thread;
    const uint64_t from = used_ns();
    compute(10000000);
    rounds = 10000000 * (ms * 1000000) / (used_ns() - from);
    MUST(pthread_barrier_init(&barrier, NULL, 2) == 0);
    MUST(pthread_create(&thread, NULL, hold_out, &barrier) == 0);
    pthread_barrier_wait(&barrier);
    sandboxed();
    in_sandbox(NULL);
    MUST(write(1, "survived\n", 9) == 9);
    syscall(SYS_exit_group, 0);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"alternate", alternate}, {"handler", in_handler}, {"unmapped", unmapped},   {"reused", reused},
                 {"restored", restored},   {"kept", kept},          {"coroutine", coroutine}, {"changes", changes},
                 {"cancel", cancel},       {"thrd", by_thrd},       {"ended", ended},         {"forked", forked},
                 {"sandbox", sandbox}};
    MUST(argc > 2);
    ms = strtoull(argv[2], NULL, 10);
    for (size_t at = 0; at < sizeof cases / sizeof cases[0]; at++)
        if (strcmp(argv[1], cases[at].name) == 0) {
            cases[at].run();
            return 0;
        }
    if (strcmp(argv[1], "becoming") == 0)
        become(argv + 3);
    MUST(strcmp(argv[1], "killed") == 0);
    before_kill();
    raise(SIGKILL);
}
