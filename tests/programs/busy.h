/* Work measured in CPU time, for hosts that are sampled. */
#ifndef BUSY_H
#define BUSY_H

#include "support.h"

static inline uint64_t thread_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static __attribute__((noinline, unused)) void crunch(void)
{
    HOTPATH_MEASURE();
    for (uint64_t i = 0; i < 20000; i++)
        __asm__ volatile("" : "+r"(i));
}

static inline void busy_us(uint64_t us)
{
    const uint64_t end = thread_ns() + us * 1000u;
    while (thread_ns() < end)
        crunch();
}

static inline void busy(unsigned ms) { busy_us(ms * UINT64_C(1000)); }

static inline void say(const char *what, long value)
{
    printf("%s %ld\n", what, value);
    fflush(stdout);
}

#endif
