/*
 * The same loop for every other profiler: calls of an empty measured function, compared with the floor. How it is
 * measured depends on how it is built and run (run.py): -pg, -finstrument-functions, -DLTTNG. Prints nanoseconds
 * per call, and the ratio to the floor of the same rounds. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include <hotpath.h> /* only for hotpath_ticks_: the library is not linked */

#include "../timing.h"

#ifdef LTTNG
#define TRACEPOINT_CREATE_PROBES
#define TRACEPOINT_DEFINE
#include "tracepoints.h"
#define EVENT(name) tracepoint(hotpath_bench, name)
#else
#define EVENT(name) ((void)0)
#endif

#define NOINLINE __attribute__((noinline))
#define UNSEEN __attribute__((noinline, no_instrument_function))

static UNSEEN uint64_t floor_call(void)
{
    const uint64_t start = hotpath_ticks_();
    __asm__ volatile("" ::: "memory");
    return hotpath_ticks_() - start;
}

static NOINLINE void call(void)
{
    EVENT(enter);
    __asm__ volatile("" ::: "memory");
    EVENT(leave);
}

static UNSEEN void run_floor(uint32_t passes)
{
    while (passes-- > 0)
        floor_call();
}

static UNSEEN void run_calls(uint32_t passes)
{
    while (passes-- > 0)
        call();
}

int main(void)
{
    enum { ROUNDS = 300 };
    struct bench_case cases[] = {{.name = "floor", .run = run_floor, .zones = 1},
                                 {.name = "call", .run = run_calls, .zones = 1}};
    bench_rounds(cases, 2, ROUNDS);
    const struct bench_spread ns = bench_ratio(&cases[1], NULL, ROUNDS);
    const struct bench_spread ratio = bench_ratio(&cases[1], &cases[0], ROUNDS);
    printf("call %.2f ns %.3f (%.3f .. %.3f)\n", ns.median, ratio.median, ratio.low, ratio.high);
    return 0;
}
