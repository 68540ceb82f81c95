/*
 * What it costs to switch lanes, there and back, as ratios to two reads of the CPU's counter: every switch must
 * read it once. Stacks are not switched, so nothing else is included.
 *
 *   lane_cost [ROUNDS]
 *
 * With libhotpath_alloc.so preloaded, malloc is watched, and the case `allocating` has zones that have allocated.
 * Lines are as those of zone_cost. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include <hotpath.h>

#include <string.h>

#include "timing.h"

#define NOINLINE __attribute__((noinline))
#define HERE() __asm__ volatile("" ::: "memory")

static hotpath_lane bare, nested, allocating;

static NOINLINE uint64_t floor_call(void)
{
    const uint64_t start = hotpath_ticks_();
    HERE();
    return hotpath_ticks_() - start;
}

static void run_floor(uint32_t passes)
{
    while (passes-- > 0)
        floor_call();
}

/* Nothing is open in the lane, so nothing is suspended. */
static void run_bare(uint32_t passes)
{
    while (passes-- > 0) {
        hotpath_switch(bare);
        hotpath_switch(0);
    }
}

static NOINLINE void switch_inside(hotpath_lane lane, uint32_t passes, size_t bytes)
{
    HOTPATH_MEASURE();
    void *volatile block = bytes > 0 ? malloc(bytes) : NULL;
    while (passes-- > 0) {
        hotpath_switch(0);
        hotpath_switch(lane);
    }
    free(block);
}

static void run_inside(hotpath_lane lane, uint32_t passes, size_t bytes)
{
    hotpath_switch(lane);
    {
        HOTPATH_BLOCK("outer");
        HOTPATH_BLOCK("inner");
        switch_inside(lane, passes, bytes);
    }
    hotpath_switch(0);
}

static void run_nested(uint32_t passes) { run_inside(nested, passes, 0); }

static void run_allocating(uint32_t passes) { run_inside(allocating, passes, 100); }

static struct bench_case cases[] = {
    {.name = "floor", .run = run_floor, .zones = 1, .base = "floor"},
    {.name = "bare", .run = run_bare, .zones = 1, .base = "floor"},
    {.name = "suspended", .run = run_nested, .zones = 1, .base = "floor"},
    {.name = "allocating", .run = run_allocating, .zones = 1, .base = "floor"},
};
#define CASES (sizeof cases / sizeof cases[0])

static void say_nothing(const hotpath_results *results, void *context) { (void)results, (void)context; }

int main(int argc, char **argv)
{
    const uint32_t rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1000;
    hotpath_set_reporter(say_nothing, NULL);
    HOTPATH_MAIN(.report = "timing,alloc-bytes");
    bare = hotpath_lane_begin();
    nested = hotpath_lane_begin();
    allocating = hotpath_lane_begin();
    bench_rounds(cases, CASES, rounds);
    for (size_t i = 0; i < CASES; i++) {
        const struct bench_spread ns = bench_ratio(&cases[i], NULL, rounds);
        const struct bench_spread ratio = bench_ratio(&cases[i], &cases[0], rounds);
        printf("%-16s %8.2f ns  %6.3f x %-10s (%.3f .. %.3f, %u rounds)\n", cases[i].name, ns.median, ratio.median,
               cases[i].base, ratio.low, ratio.high, ratio.count);
    }
    return 0;
}
