/*
 * What a zone costs, as ratios to the floor: two reads of the CPU's counter in a function of its own, the minimum
 * for any profiler that times every call.
 *
 *   zone_cost [ROUNDS]          everything below
 *   HOTPATH=0 zone_cost --off   recording switched off: what is left of a zone
 *   zone_cost --short           only plain zones, for runs under other conditions
 *
 * Prints one line per case: name, nanoseconds per zone, then the ratio to its base with the middle half of all
 * rounds. One file, so that all cases run in one process, in the same rounds. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include <hotpath.h>

#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/resource.h>

#include "everything.h"
#include "sites.h"
#include "timing.h"

#define NOINLINE __attribute__((noinline))
/* Keeps the compiler from dropping calls of functions that do nothing. */
#define HERE() __asm__ volatile("" ::: "memory")

/* ------------------------------------------------------------------------- the floor, and a call of nothing */

static NOINLINE uint64_t floor_call(void)
{
    const uint64_t start = hotpath_ticks_();
    HERE();
    return hotpath_ticks_() - start;
}

static NOINLINE void empty_call(void) { HERE(); }

static NOINLINE void zone_call(void)
{
    HOTPATH_MEASURE();
    HERE();
}

static void run_floor(uint32_t passes)
{
    while (passes-- > 0)
        floor_call();
}

static void run_empty(uint32_t passes)
{
    while (passes-- > 0)
        empty_call();
}

static void run_zone(uint32_t passes)
{
    while (passes-- > 0)
        zone_call();
}

/* ----------------------------------------------------------------------------------------- two threads at once */

static NOINLINE void zone_beside(void)
{
    HOTPATH_MEASURE();
    HERE();
}

static struct {
    sem_t go;
    void (*call)(void);
    uint32_t is_wanted; /* atomic */
    uint32_t progress;  /* atomic: hundreds of calls made */
    uint32_t progress_before;
    long switches_before;
} beside;

/* How often the calling thread was switched off its CPU. */
static long switches(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nivcsw + usage.ru_nvcsw;
}

static void *run_beside(void *context)
{
    (void)context;
    for (;;) {
        while (sem_wait(&beside.go) != 0)
            ;
        while (__atomic_load_n(&beside.is_wanted, __ATOMIC_ACQUIRE)) {
            for (int calls = 0; calls < 100; calls++)
                beside.call();
            __atomic_add_fetch(&beside.progress, 1, __ATOMIC_RELAXED);
        }
    }
    return NULL;
}

static void start_beside(void (*call)(void))
{
    beside.call = call;
    beside.progress_before = __atomic_load_n(&beside.progress, __ATOMIC_RELAXED);
    __atomic_store_n(&beside.is_wanted, 1, __ATOMIC_RELEASE);
    sem_post(&beside.go);
    const uint64_t limit = bench_ns() + 2000000;
    while (__atomic_load_n(&beside.progress, __ATOMIC_RELAXED) == beside.progress_before && bench_ns() < limit)
        ;
    beside.progress_before = __atomic_load_n(&beside.progress, __ATOMIC_RELAXED);
    beside.switches_before = switches();
}

static void floor_beside(void) { floor_call(); }

/* Both threads use one label: they share everything but their parts of it. */
static NOINLINE void task_call(void)
{
    hotpath_task task;
    HOTPATH_TASK(&task, "short");
    HOTPATH_TASK_READY(&task);
}

static void start_floor_beside(void) { start_beside(floor_beside); }

static void start_zones_beside(void) { start_beside(zone_beside); }

static void start_tasks_beside(void) { start_beside(task_call); }

/* Rounds in which the two took turns, or the other hardly ran, do not count as two threads at once. */
static bool stop_beside(void)
{
    const uint32_t hundreds = __atomic_load_n(&beside.progress, __ATOMIC_RELAXED) - beside.progress_before;
    __atomic_store_n(&beside.is_wanted, 0, __ATOMIC_RELEASE);
    return hundreds >= 5 && switches() == beside.switches_before;
}

/* ------------------------------------------------------------------------------------------------- many sites */

#define FLOOR_SITE(name)                                                                                           \
    static NOINLINE uint64_t name(void)                                                                            \
    {                                                                                                              \
        const uint64_t start = hotpath_ticks_();                                                                   \
        HERE();                                                                                                    \
        return hotpath_ticks_() - start;                                                                           \
    }
#define ZONE_SITE(name)                                                                                            \
    static NOINLINE void name(void)                                                                                \
    {                                                                                                              \
        HOTPATH_MEASURE();                                                                                         \
        HERE();                                                                                                    \
    }
#define CALL(name) name();

BENCH_64(ZONE_SITE, sibling_)
BENCH_1024(ZONE_SITE, site_)
BENCH_1024(FLOOR_SITE, floor_)

static void run_64(uint32_t passes)
{
    while (passes-- > 0) {
        BENCH_64(CALL, sibling_)
    }
}

static void run_1024(uint32_t passes)
{
    while (passes-- > 0) {
        BENCH_1024(CALL, site_)
    }
}

static void run_1024_floor(uint32_t passes)
{
    while (passes-- > 0) {
        BENCH_1024(CALL, floor_)
    }
}

/* ---------------------------------------------------------------------------------------- shapes of call trees */

static NOINLINE void shared_child(void)
{
    HOTPATH_MEASURE();
    HERE();
}

static NOINLINE void first_parent(void)
{
    HOTPATH_MEASURE();
    shared_child();
    HERE();
}

static NOINLINE void second_parent(void)
{
    HOTPATH_MEASURE();
    shared_child();
    HERE();
}

static void run_shared(uint32_t passes)
{
    while (passes-- > 0) {
        first_parent();
        second_parent();
    }
}

static NOINLINE void recurse(uint32_t depth)
{
    HOTPATH_MEASURE();
    if (depth > 1)
        recurse(depth - 1);
    HERE();
}

static void run_recursion(uint32_t passes)
{
    while (passes-- > 0)
        recurse(8);
}

#define LEVEL(name, inner)                                                                                         \
    static NOINLINE void name(void)                                                                                \
    {                                                                                                              \
        HOTPATH_MEASURE();                                                                                         \
        inner();                                                                                                   \
        HERE();                                                                                                    \
    }
LEVEL(level_8, empty_call)
LEVEL(level_7, level_8)
LEVEL(level_6, level_7)
LEVEL(level_5, level_6)
LEVEL(level_4, level_5)
LEVEL(level_3, level_4)
LEVEL(level_2, level_3)
LEVEL(level_1, level_2)

static void run_nested(uint32_t passes)
{
    while (passes-- > 0)
        level_1();
}

/* ----------------------------------------------------------------------------------- logs, keys and notes */

static NOINLINE void keyed_call(const char *key)
{
    HOTPATH_BLOCK_KEY("command", key);
    HERE();
}

static void run_keys(uint32_t passes)
{
    while (passes-- > 0) {
        keyed_call("GET");
        keyed_call("SET");
        keyed_call("DEL");
        keyed_call("INCR");
    }
}

/* A function whose calls are not logged: the cost of an unused note. */
static NOINLINE void noted_call(uint32_t number)
{
    HOTPATH_MEASURE();
    HOTPATH_NOTE("call %u", number);
    HERE();
}

static void run_noted(uint32_t passes)
{
    while (passes-- > 0)
        noted_call(passes);
}

static NOINLINE void logged_call(void)
{
    HOTPATH_MEASURE(.log = 1);
    HERE();
}

static void run_logged(uint32_t passes)
{
    while (passes-- > 0)
        logged_call();
}

/* ------------------------------------------------------------------------------ functions that do some work */

static uint64_t work_steps_100ns, work_steps_1us;

/* Arithmetic that depends on itself, and on the previous call, so that calls cannot overlap. */
static inline __attribute__((always_inline)) void work(uint64_t steps)
{
    static uint64_t kept = 1;
    uint64_t value = kept;
    while (steps-- > 0) {
        value = value * UINT64_C(6364136223846793005) + 1;
        __asm__ volatile("" : "+r"(value));
    }
    kept = value;
}

static NOINLINE void plain_body(uint64_t steps) { work(steps); }

/* The least that timing this body can cost: a read of the counter also limits out-of-order execution. */
static NOINLINE uint64_t floor_body(uint64_t steps)
{
    const uint64_t start = hotpath_ticks_();
    work(steps);
    return hotpath_ticks_() - start;
}

static NOINLINE void zone_body(uint64_t steps)
{
    HOTPATH_MEASURE();
    work(steps);
}

static void run_100ns(uint32_t passes)
{
    while (passes-- > 0)
        plain_body(work_steps_100ns);
}

static void run_100ns_floor(uint32_t passes)
{
    while (passes-- > 0)
        floor_body(work_steps_100ns);
}

static void run_100ns_zone(uint32_t passes)
{
    while (passes-- > 0)
        zone_body(work_steps_100ns);
}

static void run_1us(uint32_t passes)
{
    while (passes-- > 0)
        plain_body(work_steps_1us);
}

static void run_1us_floor(uint32_t passes)
{
    while (passes-- > 0)
        floor_body(work_steps_1us);
}

static void run_1us_zone(uint32_t passes)
{
    while (passes-- > 0)
        zone_body(work_steps_1us);
}

static void fit_work(void)
{
    uint64_t best = UINT64_MAX;
    for (int tries = 0; tries < 1000; tries++) {
        const uint64_t from = bench_ns();
        plain_body(5000);
        const uint64_t ns = bench_ns() - from;
        best = ns < best ? ns : best;
    }
    work_steps_100ns = 100 * 5000 / best;
    work_steps_1us = 1000 * 5000 / best;
}

/* ------------------------------------------------------------------------------------------------- values */

static NOINLINE void value_call(uint32_t number) { HOTPATH_VALUE("value", number & 1023); }

static NOINLINE void real_call(double number) { HOTPATH_VALUE("real", number); }

static NOINLINE void gauge_set_call(uint32_t number) { HOTPATH_GAUGE_SET("gauge", number & 1023); }

static NOINLINE void gauge_add_call(int number) { HOTPATH_GAUGE_ADD("level", number); }

static NOINLINE void channel_call(uint32_t number)
{
    static const char channels[8];
    HOTPATH_CHANNEL_SENT("channel", &channels[number & 7], 1, 8, number & 63);
}

/* Two clock readings, as in a zone. */
static NOINLINE void channel_pair_call(uint32_t number)
{
    static const char channel;
    HOTPATH_CHANNEL_SENT("pair", &channel, 1, 8, number & 63);
    HOTPATH_CHANNEL_RECEIVED("pair", &channel, 1, 8, number & 63);
}

static NOINLINE void channel_ids_call(uint32_t number)
{
    static const char channel;
    HOTPATH_CHANNEL_SENT("ids", &channel, 1, 8, number & 63, number + 1);
    HOTPATH_CHANNEL_RECEIVED("ids", &channel, 1, 8, number & 63, number + 1);
}

static NOINLINE void stream_call(uint32_t number)
{
    static const char stream;
    HOTPATH_STREAM_NEXT("stream", &stream);
    HOTPATH_STREAM_ITEM("stream", &stream, 1, number & 63);
}

static hotpath_task polled;

static NOINLINE void poll_call(void)
{
    HOTPATH_TASK_POLL(&polled);
    __asm__ volatile("");
}

static void run_value(uint32_t passes)
{
    while (passes-- > 0)
        value_call(passes);
}

static void run_real(uint32_t passes)
{
    while (passes-- > 0)
        real_call(passes * 0.125);
}

static void run_gauge_set(uint32_t passes)
{
    while (passes-- > 0)
        gauge_set_call(passes);
}

static void run_gauge_add(uint32_t passes)
{
    while (passes-- > 0)
        gauge_add_call(passes & 1 ? 1 : -1);
}

static void run_channel(uint32_t passes)
{
    while (passes-- > 0)
        channel_call(passes);
}

static void run_channel_pair(uint32_t passes)
{
    while (passes-- > 0)
        channel_pair_call(passes);
}

static void run_channel_ids(uint32_t passes)
{
    while (passes-- > 0)
        channel_ids_call(passes);
}

static void run_stream(uint32_t passes)
{
    while (passes-- > 0)
        stream_call(passes);
}

static void run_poll(uint32_t passes)
{
    if (polled.id_ == 0)
        HOTPATH_TASK(&polled, "polled");
    while (passes-- > 0)
        poll_call();
}

static void run_task(uint32_t passes)
{
    while (passes-- > 0)
        task_call();
}

/* ------------------------------------------------------------------------------------------------- the run */

static struct bench_case all_cases[] = {
    {.name = "floor", .run = run_floor, .zones = 1, .base = "floor"},
    {.name = "empty_call", .run = run_empty, .zones = 1, .base = "floor"},
    {.name = "zone", .run = run_zone, .zones = 1, .base = "floor"},
    {.name = "by_compiler", .run = run_measured_by_compiler, .zones = 1, .base = "floor"},
    {.name = "by_key", .run = run_keys, .zones = 4, .base = "floor"},
    {.name = "note_not_kept", .run = run_noted, .zones = 1, .base = "floor"},
    {.name = "logged", .run = run_logged, .zones = 1, .base = "floor"},
    {.name = "value", .run = run_value, .zones = 1, .base = "floor"},
    {.name = "value_real", .run = run_real, .zones = 1, .base = "floor"},
    {.name = "gauge_set", .run = run_gauge_set, .zones = 1, .base = "floor"},
    {.name = "gauge_add", .run = run_gauge_add, .zones = 1, .base = "floor"},
    {.name = "channel", .run = run_channel, .zones = 1, .base = "floor"},
    {.name = "channel_pair", .run = run_channel_pair, .zones = 1, .base = "floor"},
    {.name = "channel_ids", .run = run_channel_ids, .zones = 1, .base = "floor"},
    {.name = "stream", .run = run_stream, .zones = 1, .base = "floor"},
    {.name = "poll", .run = run_poll, .zones = 1, .base = "floor"},
    {.name = "task", .run = run_task, .zones = 1, .base = "floor"},
    {.name = "siblings_64", .run = run_64, .zones = 64, .base = "floor"},
    {.name = "sites_1024", .run = run_1024, .zones = 1024, .base = "floor"},
    {.name = "floor_1024", .run = run_1024_floor, .zones = 1024, .base = "floor"},
    {.name = "shared_child", .run = run_shared, .zones = 4, .base = "floor"},
    {.name = "recursion_8", .run = run_recursion, .zones = 8, .base = "floor"},
    {.name = "nested_8", .run = run_nested, .zones = 8, .base = "floor"},
    {.name = "floor_2_threads",
     .run = run_floor,
     .zones = 1,
     .base = "floor",
     .before = start_floor_beside,
     .after = stop_beside},
    {.name = "zone_2_threads",
     .run = run_zone,
     .zones = 1,
     .base = "zone",
     .before = start_zones_beside,
     .after = stop_beside},
    {.name = "task_2_threads",
     .run = run_task,
     .zones = 1,
     .base = "task",
     .before = start_tasks_beside,
     .after = stop_beside},
    {.name = "body_100ns", .run = run_100ns, .zones = 1, .base = "body_100ns"},
    {.name = "body_100ns_floor", .run = run_100ns_floor, .zones = 1, .base = "body_100ns"},
    {.name = "body_100ns_zone", .run = run_100ns_zone, .zones = 1, .base = "body_100ns"},
    {.name = "body_1us", .run = run_1us, .zones = 1, .base = "body_1us"},
    {.name = "body_1us_floor", .run = run_1us_floor, .zones = 1, .base = "body_1us"},
    {.name = "body_1us_zone", .run = run_1us_zone, .zones = 1, .base = "body_1us"},
};
#define ALL_CASES (sizeof all_cases / sizeof all_cases[0])
#define SHORT_CASES 4

static struct bench_case *find_case(const char *name)
{
    for (size_t i = 0; i < ALL_CASES; i++)
        if (strcmp(all_cases[i].name, name) == 0)
            return &all_cases[i];
    abort();
}

static void print_cases(uint32_t count, uint32_t rounds)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct bench_case *one = &all_cases[i];
        const struct bench_spread ns = bench_ratio(one, NULL, rounds);
        const struct bench_spread ratio = bench_ratio(one, find_case(one->base), rounds);
        printf("%-16s %8.2f ns  %6.3f x %-10s (%.3f .. %.3f, %u rounds)\n", one->name, ns.median, ratio.median,
               one->base, ratio.low, ratio.high, ratio.count);
    }
}

static void print_difference(const char *name, const char *base, uint32_t rounds)
{
    const struct bench_spread ns = bench_difference(find_case(name), find_case(base), rounds);
    printf("%s minus %s: %.2f ns (%.2f .. %.2f)\n", name, base, ns.median, ns.low, ns.high);
}

/* The session must have counted exactly the zones that were run. */
static void check_count(const hotpath_results *results, void *context)
{
    const hotpath_section *timing = hotpath_results_section(results, 0);
    for (size_t row = 0; row < hotpath_section_rows(timing); row++) {
        struct hotpath_cell name, calls;
        hotpath_section_cell(timing, row, 0, &name);
        hotpath_section_cell(timing, row, 1, &calls);
        if (name.text != NULL && strcmp(name.text, "zone_call") == 0)
            *(uint64_t *)context = calls.count;
    }
}

static int measure(uint32_t count, uint32_t rounds)
{
    uint64_t counted = 0;
    const struct hotpath_options options = {.size = sizeof options, .report = "timing", .limit = HOTPATH_NO_LIMIT};
    hotpath_set_reporter(check_count, &counted);
    const int status = hotpath_start(&options);
    if (status != HOTPATH_OK) {
        fprintf(stderr, "zone_cost: no session: %s\n", hotpath_strerror(status));
        return 1;
    }
    bench_rounds(all_cases, count, rounds);
    print_cases(count, rounds);
    uint64_t expected = 0;
    for (uint32_t i = 0; i < count; i++)
        if (all_cases[i].run == run_zone)
            expected += all_cases[i].total_passes;
    hotpath_stop();
    printf("zones counted: %llu of %llu\n", (unsigned long long)counted, (unsigned long long)expected);
    return counted == expected ? 0 : 1;
}

static int measure_off(uint32_t rounds)
{
    if (hotpath_start(NULL) == HOTPATH_OK) {
        fprintf(stderr, "zone_cost: --off is for HOTPATH=0\n");
        return 1;
    }
    bench_rounds(all_cases, SHORT_CASES, rounds);
    print_cases(SHORT_CASES, rounds);
    print_difference("zone", "empty_call", rounds);
    return 0;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    const uint32_t rounds = argc > 1 && mode[0] != '-' ? (uint32_t)strtoul(mode, NULL, 10) : 1500;
    pthread_t thread;
    if (rounds == 0 || rounds > 1000000 || sem_init(&beside.go, 0, 0) != 0 ||
        pthread_create(&thread, NULL, run_beside, NULL) != 0)
        return 2;
    fit_work();
    if (strcmp(mode, "--off") == 0)
        return measure_off(rounds);
    return measure(strcmp(mode, "--short") == 0 ? SHORT_CASES : ALL_CASES, rounds);
}
