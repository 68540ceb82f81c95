/*
 * Timing small things on a machine that is never quiet.
 *
 * All cases are measured in one run: many short rounds, each runs every case once, in a new random order, a
 * fraction of a millisecond each. The result is the ratio of two cases in the same round, as the median over all
 * rounds: another process that takes the CPU, a change of the clock rate or a migration spoils a few rounds, not
 * the result. SPDX-License-Identifier: MIT
 */
#ifndef BENCH_TIMING_H
#define BENCH_TIMING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifndef BENCH_RUN_NS
#define BENCH_RUN_NS 60000u /* approximate time of a case in a round */
#endif
#ifndef BENCH_CLOCK
#define BENCH_CLOCK CLOCK_MONOTONIC /* or the thread's clock, which other processes do not disturb */
#endif

struct bench_case {
    const char *name;
    void (*run)(uint32_t passes);
    uint32_t zones;       /* zones (or calls) in one pass: times are given per zone */
    const char *base;     /* the case to compare with */
    void (*before)(void); /* or NULL */
    bool (*after)(void);  /* or NULL; false: this round of this case does not count */
    uint32_t passes;      /* filled in by bench_rounds from here on */
    uint64_t total_passes;
    double *ns; /* per zone, by round; negative: does not count */
};

/* The median of many values and their middle half. */
struct bench_spread {
    double low, median, high;
    uint32_t count;
};

static inline uint64_t bench_ns(void)
{
    struct timespec now;
    clock_gettime(BENCH_CLOCK, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static inline uint32_t bench_random(void)
{
    static uint32_t state = 2463534242u;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

static inline int bench_compare(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static inline struct bench_spread bench_spread(double *values, uint32_t count)
{
    if (count == 0)
        return (struct bench_spread){0, 0, 0, 0};
    qsort(values, count, sizeof *values, bench_compare);
    return (struct bench_spread){values[count / 4], values[count / 2], values[count - 1 - count / 4], count};
}

static inline uint64_t bench_time(struct bench_case *one, uint32_t passes)
{
    const uint64_t from = bench_ns();
    one->run(passes);
    one->total_passes += passes;
    return bench_ns() - from;
}

/* Passes for about BENCH_RUN_NS, by the best of a few tries. */
static inline void bench_fit(struct bench_case *one)
{
    one->passes = 1;
    for (;;) {
        uint64_t best = UINT64_MAX;
        for (int tries = 0; tries < 5; tries++) {
            const uint64_t ns = bench_time(one, one->passes);
            best = ns < best ? ns : best;
        }
        if (best >= BENCH_RUN_NS / 2 || one->passes > (1u << 24))
            return;
        one->passes *= 2;
    }
}

/* Runs with another stack address each time: one that conflicts with hot data in a page costs up to 7 %. */
static __attribute__((noinline)) void bench_round(struct bench_case *one, uint32_t round)
{
    volatile char *room = __builtin_alloca(16 + bench_random() % 256 * 16);
    room[0] = 0;
    if (one->before != NULL)
        one->before();
    bench_time(one, one->passes / 4 + 1); /* warm up: the previous case used the caches too */
    const uint64_t ns = bench_time(one, one->passes);
    const bool counts = one->after == NULL || one->after();
    one->ns[round] = counts ? (double)ns / one->passes / one->zones : -1;
}

static inline void bench_rounds(struct bench_case *cases, uint32_t count, uint32_t rounds)
{
    uint32_t order[64];
    for (uint32_t i = 0; i < count; i++) {
        order[i] = i;
        cases[i].ns = malloc(rounds * sizeof(double));
        if (cases[i].ns == NULL || count > 64)
            abort();
        bench_fit(&cases[i]);
    }
    for (uint32_t round = 0; round < rounds; round++) {
        for (uint32_t i = count - 1; i > 0; i--) {
            const uint32_t other = bench_random() % (i + 1), swapped = order[i];
            order[i] = order[other];
            order[other] = swapped;
        }
        for (uint32_t i = 0; i < count; i++)
            bench_round(&cases[order[i]], round);
    }
}

/* Ratios of two cases, round by round (base NULL: nanoseconds of the case itself). */
static inline struct bench_spread bench_ratio(const struct bench_case *one, const struct bench_case *base,
                                              uint32_t rounds)
{
    double *values = malloc(rounds * sizeof *values);
    uint32_t count = 0;
    if (values == NULL)
        abort();
    for (uint32_t round = 0; round < rounds; round++)
        if (one->ns[round] >= 0 && (base == NULL || base->ns[round] > 0))
            values[count++] = base == NULL ? one->ns[round] : one->ns[round] / base->ns[round];
    const struct bench_spread spread = bench_spread(values, count);
    free(values);
    return spread;
}

/* Differences of two cases in nanoseconds, round by round. */
static inline struct bench_spread bench_difference(const struct bench_case *one, const struct bench_case *base,
                                                   uint32_t rounds)
{
    double *values = malloc(rounds * sizeof *values);
    uint32_t count = 0;
    if (values == NULL)
        abort();
    for (uint32_t round = 0; round < rounds; round++)
        if (one->ns[round] >= 0 && base->ns[round] >= 0)
            values[count++] = one->ns[round] - base->ns[round];
    const struct bench_spread spread = bench_spread(values, count);
    free(values);
    return spread;
}

#endif
