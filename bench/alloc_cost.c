/*
 * What counting adds to malloc and free: a pair of calls as the program makes them, compared with the same pair
 * that goes directly to the C library (__libc_malloc), in the same rounds. A pair frees one of 512 blocks, chosen
 * at random, and allocates 16 to 271 bytes in its place. run.py puts the library to be measured in front of malloc.
 *
 *   alloc_cost              everything below, on the only thread of the process
 *   alloc_cost --threads    the same, while a second thread does the same
 *   alloc_cost --pairs      only pairs, on one thread, and nobody reads the counts: for other profilers, and for
 *                           hotpath while it is off
 *
 * Time is the thread's CPU time (CLOCK_THREAD_CPUTIME_ID): another process that takes the CPU is not in it, but one
 * that shares its caches is, and makes a pair twice as slow for seconds. So the lower quartile of the rounds
 * counts. Prints one line per case. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include <hotpath.h>

#include <pthread.h>
#include <string.h>

#define BENCH_CLOCK CLOCK_THREAD_CPUTIME_ID
#define BENCH_RUN_NS 300000u /* long enough for the caches to forget the previous case */
#include "timing.h"

#define NOINLINE __attribute__((noinline))
#define INLINED static inline __attribute__((always_inline))
#define ROUNDS 200u

void *__libc_malloc(size_t size) __attribute__((weak)); /* in glibc */
void __libc_free(void *block) __attribute__((weak));

/* ---------------------------------------------------------------------------------------------------- one pair */

#define BLOCKS 512u
struct blocks {
    void *blocks[BLOCKS];
    uint32_t random;
};

/* One per allocator, since blocks are freed where they were allocated. */
static __thread struct blocks of_program, of_c_library;

INLINED uint32_t next_random(struct blocks *own)
{
    uint32_t state = own->random != 0 ? own->random : 2463534242u;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return own->random = state;
}

INLINED void replace(struct blocks *own, void *(*allocate)(size_t), void (*release)(void *))
{
    const uint32_t random = next_random(own);
    void **block = &own->blocks[random % BLOCKS];
    release(*block);
    *block = allocate(16 + random / BLOCKS % 256);
    if (*block == NULL)
        abort();
}

INLINED void replace_past_all(void) { replace(&of_c_library, __libc_malloc, __libc_free); }

INLINED void replace_as_program(void) { replace(&of_program, malloc, free); }

/* ------------------------------------------------------------------------------------------------------- cases */

static NOINLINE void run_base(uint32_t passes)
{
    while (passes-- > 0)
        replace_past_all();
}

static NOINLINE void run_pair(uint32_t passes)
{
    while (passes-- > 0)
        replace_as_program();
}

/* One zone around all of them. */
static NOINLINE void run_base_in_zone(uint32_t passes)
{
    HOTPATH_MEASURE();
    while (passes-- > 0)
        replace_past_all();
}

static NOINLINE void run_pair_in_zone(uint32_t passes)
{
    HOTPATH_MEASURE();
    while (passes-- > 0)
        replace_as_program();
}

/* One zone around each. */
static NOINLINE void zone_around_nothing(void)
{
    HOTPATH_MEASURE();
    __asm__ volatile("" ::: "memory");
}

static NOINLINE void zone_around_base(void)
{
    HOTPATH_MEASURE();
    replace_past_all();
}

static NOINLINE void zone_around_pair(void)
{
    HOTPATH_MEASURE();
    replace_as_program();
}

static void run_zone(uint32_t passes)
{
    while (passes-- > 0)
        zone_around_nothing();
}

static void run_zone_base(uint32_t passes)
{
    while (passes-- > 0)
        zone_around_base();
}

static void run_zone_pair(uint32_t passes)
{
    while (passes-- > 0)
        zone_around_pair();
}

/* ----------------------------------------------------------------------------------------- two threads at once */

static struct {
    void (*run)(uint32_t passes); /* atomic; NULL: wait */
    uint32_t progress;            /* atomic: hundreds of passes made */
    uint32_t progress_before;
} beside;

static void *run_beside(void *context)
{
    (void)context;
    for (;;) {
        void (*run)(uint32_t passes) = __atomic_load_n(&beside.run, __ATOMIC_ACQUIRE);
        if (run == NULL)
            continue;
        run(100);
        __atomic_add_fetch(&beside.progress, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static uint32_t progress(void) { return __atomic_load_n(&beside.progress, __ATOMIC_RELAXED); }

static void start_beside(void (*run)(uint32_t passes))
{
    const uint64_t limit = bench_ns() + 2000000;
    beside.progress_before = progress();
    __atomic_store_n(&beside.run, run, __ATOMIC_RELEASE);
    while (progress() == beside.progress_before && bench_ns() < limit)
        ;
    beside.progress_before = progress();
}

/* Rounds in which the other thread hardly ran do not count as two threads at once. */
static bool stop_beside(void)
{
    const uint32_t hundreds = progress() - beside.progress_before;
    __atomic_store_n(&beside.run, NULL, __ATOMIC_RELEASE);
    return hundreds >= 2;
}

static void start_base(void) { start_beside(run_base); }
static void start_pair(void) { start_beside(run_pair); }
static void start_base_in_zone(void) { start_beside(run_base_in_zone); }
static void start_pair_in_zone(void) { start_beside(run_pair_in_zone); }
static void start_zone(void) { start_beside(run_zone); }
static void start_zone_base(void) { start_beside(run_zone_base); }
static void start_zone_pair(void) { start_beside(run_zone_pair); }

/* ------------------------------------------------------------------------------------------------- the run */

static struct bench_case cases[] = {
    {.name = "base", .run = run_base, .zones = 1, .base = "base", .before = start_base},
    {.name = "pair", .run = run_pair, .zones = 1, .base = "base", .before = start_pair},
    {.name = "base_in_zone", .run = run_base_in_zone, .zones = 1, .base = "base", .before = start_base_in_zone},
    {.name = "pair_in_zone", .run = run_pair_in_zone, .zones = 1, .base = "base", .before = start_pair_in_zone},
    {.name = "zone", .run = run_zone, .zones = 1, .base = "base", .before = start_zone},
    {.name = "zone_base", .run = run_zone_base, .zones = 1, .base = "base", .before = start_zone_base},
    {.name = "zone_pair", .run = run_zone_pair, .zones = 1, .base = "base", .before = start_zone_pair},
};
#define ALL_CASES (sizeof cases / sizeof cases[0])
#define PAIR_CASES 2u

static void print_cases(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct bench_spread ns = bench_ratio(&cases[i], NULL, ROUNDS);
        const struct bench_spread ratio = bench_ratio(&cases[i], &cases[0], ROUNDS);
        printf("%-16s %8.2f ns  %6.3f x %-10s (%.3f .. %.3f, %u rounds)\n", cases[i].name, ns.low, ratio.median,
               cases[i].base, ratio.low, ratio.high, ratio.count);
    }
}

/* A library that claims to count must have counted all pairs of this thread. */
static bool is_counted_rightly(const struct hotpath_alloc_counts *before, int status)
{
    struct hotpath_alloc_counts after = {0};
    uint64_t expected = 0;
    if (status != HOTPATH_OK || hotpath_read_allocs(&after) != HOTPATH_OK) {
        printf("pairs counted: nobody counts\n");
        return true;
    }
    for (size_t i = 0; i < ALL_CASES; i++)
        if (cases[i].run == run_pair || cases[i].run == run_pair_in_zone || cases[i].run == run_zone_pair)
            expected += cases[i].total_passes;
    const uint64_t counted = after.count - before->count, few = ALL_CASES + 1; /* allocations of timing.h itself */
    printf("pairs counted: %llu of %llu, %s\n", (unsigned long long)counted, (unsigned long long)expected,
           after.session != 0 ? "in a session" : "no session");
    return counted >= expected && counted <= expected + few;
}

static void leave_alone(bool is_beside)
{
    for (size_t i = 0; i < ALL_CASES; i++) {
        if (is_beside)
            cases[i].after = stop_beside;
        else
            cases[i].before = NULL;
    }
}

int main(int argc, char **argv)
{
    const bool is_beside = argc > 1 && strcmp(argv[1], "--threads") == 0;
    const bool is_pairs = argc > 1 && strcmp(argv[1], "--pairs") == 0;
    const uint32_t count = is_pairs ? PAIR_CASES : (uint32_t)ALL_CASES;
    struct hotpath_alloc_counts before = {0};
    pthread_t thread;
    if (__libc_malloc == NULL || __libc_free == NULL) {
        fprintf(stderr, "alloc_cost: this C library has no __libc_malloc, to compare with\n");
        return 77;
    }
    if (is_beside && pthread_create(&thread, NULL, run_beside, NULL) != 0)
        return 2;
    leave_alone(is_beside);
    setvbuf(stdout, NULL, _IONBF, 0);
    const int status = is_pairs ? HOTPATH_E_OFF : hotpath_read_allocs(&before);
    bench_rounds(cases, count, ROUNDS);
    const bool is_right = is_counted_rightly(&before, status);
    print_cases(count);
    return is_right ? 0 : 1;
}
