/*
 * Uses CPU time in known functions and reads the thread's CPU clock around each piece of work: the truth, printed
 * as lines "key nanoseconds". `all` is what the process used while the session ran.
 *     cpu
 *     split|calls|modes|rounds|asleep|inlined|recursion|longjmp|short|even|before|plugin|restarts|phases|for_ever
 *     [N] [PLUGIN|PHASE]
 */
#include "support.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/resource.h>
#include <unistd.h>

#define WORKERS 4
#define EVEN 8

static uint64_t clock_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t thread_ns(void) { return clock_of(CLOCK_THREAD_CPUTIME_ID); }

/* Some 10 us for 10000 rounds, without a system call. */
static inline __attribute__((always_inline)) uint64_t compute(uint64_t rounds)
{
    uint64_t x = rounds;
    for (uint64_t i = 0; i < rounds; i++) {
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
        __asm__ volatile("" : "+r"(x));
    }
    return x;
}

static __thread uint64_t spent[4];

/* Adds what a statement uses to a sum. */
#define SPEND(sum, statement)                                                                                      \
    do {                                                                                                           \
        const uint64_t from_ = thread_ns();                                                                        \
        statement;                                                                                                 \
        (sum) += thread_ns() - from_;                                                                              \
    } while (0)

static void __attribute__((noinline)) heavy(uint64_t rounds)
{
    HOTPATH_MEASURE();
    compute(rounds * 7);
}

static void __attribute__((noinline)) light(uint64_t rounds)
{
    HOTPATH_MEASURE();
    compute(rounds * 2);
}

/* Pieces of different lengths, so that they are in step with nothing. */
static void split(unsigned long ms)
{
    HOTPATH_MEASURE();
    const uint64_t end = thread_ns() + ms * 1000000u;
    for (uint64_t turn = 0; thread_ns() < end; turn++) {
        const uint64_t rounds = 20000 + turn * 7919 % 60000;
        SPEND(spent[0], heavy(rounds));
        SPEND(spent[1], light(rounds));
    }
    tell("heavy", spent[0]);
    tell("light", spent[1]);
}

/* Hardly anything in user mode. */
static void calls(unsigned long ms)
{
    HOTPATH_MEASURE();
    static char bytes[1 << 16];
    const int zero = open("/dev/zero", O_RDONLY);
    MUST(zero >= 0);
    const uint64_t from = thread_ns(), end = from + ms * 1000000u;
    while (thread_ns() < end)
        MUST(read(zero, bytes, sizeof bytes) > 0);
    tell("calls", thread_ns() - from);
    close(zero);
}

static void __attribute__((noinline)) enters(int zero, uint64_t times)
{
    HOTPATH_MEASURE();
    static char bytes[1 << 14];
    while (times-- > 0)
        MUST(read(zero, bytes, sizeof bytes) > 0);
}

static void __attribute__((noinline)) thinks(uint64_t rounds)
{
    HOTPATH_MEASURE();
    compute(rounds);
}

/*
 * One function that is in the kernel nearly all the time, and one that never is, both for a while before it is the
 * other's turn.
 */
static void modes(unsigned long ms)
{
    const int zero = open("/dev/zero", O_RDONLY);
    MUST(zero >= 0);
    const uint64_t end = thread_ns() + ms * 1000000u;
    for (uint64_t turn = 0; thread_ns() < end; turn++) {
        SPEND(spent[0], enters(zero, 1500 + turn * 7919 % 3000));
        SPEND(spent[1], thinks(200000 + turn * 7919 % 400000));
    }
    tell("enters", spent[0]);
    tell("thinks", spent[1]);
    close(zero);
}

static void __attribute__((noinline)) computes(uint64_t us)
{
    HOTPATH_MEASURE();
    const uint64_t end = thread_ns() + us * 1000u;
    while (thread_ns() < end)
        compute(20000);
}

static void __attribute__((noinline)) reads(int zero, uint64_t us)
{
    HOTPATH_MEASURE();
    static char bytes[1 << 17];
    const uint64_t end = thread_ns() + us * 1000u;
    while (thread_ns() < end)
        MUST(read(zero, bytes, sizeof bytes) > 0);
}

/*
 * Of ten milliseconds, nine compute and one is in the kernel: in step with round sampling periods. The kernel's
 * ticks may be in step with it, too: the first round begins so many microseconds after an even millisecond.
 */
static unsigned long phase_us;

static void rounds(unsigned long ms)
{
    const int zero = open("/dev/zero", O_RDONLY);
    MUST(zero >= 0);
    while (clock_of(CLOCK_MONOTONIC) / 1000 % 2000 / 100 != phase_us / 100)
        continue;
    const uint64_t end = thread_ns() + ms * 1000000u;
    while (thread_ns() < end) {
        SPEND(spent[0], computes(9000));
        SPEND(spent[1], reads(zero, 1000));
    }
    tell("computes", spent[0]);
    tell("reads", spent[1]);
    close(zero);
}

static void sleeps(void)
{
    HOTPATH_MEASURE();
    sleep_us(1000);
}

static void asleep(unsigned long ms)
{
    for (unsigned long i = 0; i < ms / 2; i++) {
        sleeps();
        heavy(100000);
    }
}

static inline __attribute__((always_inline)) uint64_t tiny(uint64_t rounds)
{
    HOTPATH_MEASURE();
    return compute(rounds);
}

static void inlined(unsigned long ms)
{
    const uint64_t end = thread_ns() + ms * 1000000u;
    while (thread_ns() < end)
        SPEND(spent[0], tiny(500000));
    tell("tiny", spent[0]);
}

/*
 * A calls B calls A ...: most of the work is in the innermost call, which the tree has folded onto one further out.
 */
static void ping(int depth);

static void __attribute__((noinline)) pong(int depth)
{
    HOTPATH_MEASURE();
    compute(100000);
    if (depth > 0)
        ping(depth - 1);
    __asm__ volatile("");
}

static void __attribute__((noinline)) ping(int depth)
{
    HOTPATH_MEASURE();
    compute(200000);
    if (depth > 0)
        pong(depth - 1);
    __asm__ volatile("");
}

static void recursion(unsigned long ms)
{
    const uint64_t end = thread_ns() + ms * 1000000u;
    while (thread_ns() < end)
        SPEND(spent[0], ping(5));
    tell("ping", spent[0]);
}

static jmp_buf back;

static void __attribute__((noinline)) leaves(void)
{
    HOTPATH_MEASURE();
    longjmp(back, 1);
}

/* Nothing marks the end of the zone: later CPU time does not belong to it. */
static void __attribute__((noinline)) jumps(unsigned long ms)
{
    HOTPATH_MEASURE();
    if (setjmp(back) == 0)
        leaves();
    const uint64_t from = thread_ns();
    while (thread_ns() < from + ms * 1000000u)
        compute(100000);
    tell("jumps", thread_ns() - from);
}

/* ---------------------------------------------------------------------------------------------------- threads */

static void *live_shortly(void *sum)
{
    const uint64_t end = thread_ns() + 20000000u;
    HOTPATH_BLOCK("short life");
    while (thread_ns() < end)
        compute(20000);
    *(uint64_t *)sum += thread_ns();
    return NULL;
}

static void short_lives(unsigned long count)
{
    uint64_t sum = 0;
    for (unsigned long i = 0; i < count; i++) {
        pthread_t thread;
        MUST(pthread_create(&thread, NULL, live_shortly, &sum) == 0);
        pthread_join(thread, NULL);
    }
    tell("short", sum);
}

static uint64_t even_ns[EVEN];
static const char *const even_names[EVEN] = {"even-0", "even-1", "even-2", "even-3",
                                             "even-4", "even-5", "even-6", "even-7"};
static unsigned long even_ms;

static void *be_one_of_many(void *place)
{
    const size_t own = (size_t)((uint64_t *)place - even_ns);
    pthread_setname_np(pthread_self(), even_names[own]);
    HOTPATH_BLOCK("even");
    while (thread_ns() < even_ms * 1000000u)
        compute(50000);
    even_ns[own] = thread_ns();
    return NULL;
}

static void even(unsigned long ms)
{
    pthread_t threads[EVEN];
    even_ms = ms;
    for (size_t i = 0; i < EVEN; i++)
        MUST(pthread_create(&threads[i], NULL, be_one_of_many, &even_ns[i]) == 0);
    for (size_t i = 0; i < EVEN; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < EVEN; i++)
        tell(even_names[i], even_ns[i]);
}

/* Half of it before the first zone. */
static void before(unsigned long ms)
{
    const uint64_t from = thread_ns();
    while (thread_ns() < from + ms * 500000u)
        compute(100000);
    tell("nobody", thread_ns() - from);
    SPEND(spent[0], {
        const uint64_t half = thread_ns();
        while (thread_ns() < half + ms * 500000u)
            heavy(5000);
    });
    tell("heavy", spent[0]);
}

/* A thread whose zones are all in a library that may have a copy of hotpath of its own. */
typedef int call_back(int (*back)(int), int n);
static const char *plugin_path;
static unsigned long plugin_ms;

static int work_inside(int n)
{
    compute(200000);
    return n;
}

static void *live_in_plugin(void *sum)
{
    void *plugin = dlopen(plugin_path, RTLD_NOW | RTLD_LOCAL);
    MUST(plugin != NULL);
    call_back *call;
    *(void **)&call = dlsym(plugin, "plugin_call");
    MUST(call != NULL);
    const uint64_t from = thread_ns();
    while (thread_ns() < from + plugin_ms * 1000000u)
        call(work_inside, 1);
    *(uint64_t *)sum = thread_ns() - from;
    return NULL;
}

static void in_plugin(unsigned long ms)
{
    pthread_t thread;
    uint64_t sum = 0;
    plugin_ms = ms;
    MUST(pthread_create(&thread, NULL, live_in_plugin, &sum) == 0);
    pthread_join(thread, NULL);
    tell("plugin_call", sum);
}

static int is_over;

static void *work_on(void *unused)
{
    while (!is_raised(&is_over))
        heavy(300);
    return unused;
}

/* Sessions begin and end while threads are in zones and in the handler. */
static void restarts(unsigned long count)
{
    pthread_t threads[WORKERS];
    for (size_t i = 0; i < WORKERS; i++)
        MUST(pthread_create(&threads[i], NULL, work_on, NULL) == 0);
    for (unsigned long i = 0; i < count; i++) {
        const struct hotpath_options options = {.size = sizeof options, .cpu = 1, .cpu_rate = 10000};
        MUST(hotpath_start(&options) == HOTPATH_OK);
        light(i % 8 == 0 ? 3000000 : 20000); /* some last long enough for perf to join */
        MUST(hotpath_stop() == HOTPATH_OK);
    }
    raise_flag(&is_over);
    for (size_t i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    tell("sessions", count);
}

/* Works for each input line, and prints the CPU time of that. */
static void phases(unsigned long ms)
{
    char line[16];
    printf("ready\n");
    while (fflush(stdout) == 0 && fgets(line, sizeof line, stdin) != NULL) {
        const uint64_t from = thread_ns();
        while (thread_ns() < from + ms * 1000000u)
            heavy(5000);
        tell("phase", thread_ns() - from);
    }
}

static void for_ever(unsigned long unused)
{
    (void)unused;
    printf("ready\n");
    fflush(stdout);
    for (;;) {
        heavy(20000);
        light(20000);
    }
}

static uint64_t switches(void)
{
    struct rusage used;
    MUST(getrusage(RUSAGE_SELF, &used) == 0);
    return (uint64_t)(used.ru_nvcsw + used.ru_nivcsw);
}

static const struct {
    const char *name;
    void (*run)(unsigned long number);
} cases[] = {{"split", split},         {"calls", calls},      {"asleep", asleep},     {"inlined", inlined},
             {"recursion", recursion}, {"longjmp", jumps},    {"short", short_lives}, {"even", even},
             {"before", before},       {"plugin", in_plugin}, {"phases", phases},     {"for_ever", for_ever},
             {"modes", modes},         {"rounds", rounds}};

int main(int argc, char **argv)
{
    const unsigned long n = number(argc, argv, 2, 400);
    plugin_path = argc > 3 ? argv[3] : "";
    if (is_case(argc, argv, "rounds"))
        phase_us = number(argc, argv, 3, 0);
    if (is_case(argc, argv, "restarts")) {
        restarts(n);
        return 0;
    }
    MUST(hotpath_start(NULL) == HOTPATH_OK);
    const uint64_t from = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (is_case(argc, argv, cases[i].name))
            cases[i].run(n);
    const uint64_t all = clock_of(CLOCK_PROCESS_CPUTIME_ID) - from;
    const uint64_t switched = switches();
    MUST(hotpath_stop() == HOTPATH_OK);
    tell("all", all);
    tell("switches", switched);
    return 0;
}
