/* A fixed amount of work, by the thread's CPU time: for programs whose functions are found by stacks. */
#ifndef COMPUTING_H
#define COMPUTING_H

#include <stdint.h>
#include <time.h>

/* A function that keeps its place in stacks. */
#if defined(__clang__)
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noinline, noclone))
#endif

static inline uint64_t used_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline __attribute__((always_inline)) void compute(uint64_t rounds)
{
    uint64_t x = 1;
    for (uint64_t at = 0; at < rounds; at++) {
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
        __asm__ volatile("" : "+r"(x));
    }
}

#endif
