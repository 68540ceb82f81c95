/* All functions are compiler-instrumented; the program knows the CPU time of two of them. See cpu.c. */
#include "support.h"

__attribute__((no_instrument_function)) static uint64_t thread_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void __attribute__((noinline)) burn(uint64_t rounds)
{
    for (uint64_t i = 0; i < rounds; i++)
        __asm__ volatile("" : "+r"(i));
}

static void __attribute__((noinline)) lighter(uint64_t rounds)
{
    for (uint64_t i = 0; i < rounds; i++)
        __asm__ volatile("" : "+r"(i));
}

__attribute__((no_instrument_function)) int main(void)
{
    uint64_t burnt = 0, rest = 0;
    const uint64_t end = thread_ns() + 400000000u;
    for (uint64_t turn = 0; thread_ns() < end; turn++) {
        const uint64_t from = thread_ns();
        burn(300000 + turn * 7919 % 60000);
        const uint64_t half = thread_ns();
        lighter(100000);
        burnt += half - from;
        rest += thread_ns() - half;
    }
    tell("burn", burnt);
    tell("lighter", rest);
    return 0;
}
