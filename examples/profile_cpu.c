/*
 * CPU-bound work: an expensive function and a cheap one. The shares in the report are the ones a sampling profiler
 * shows for the same program, since nothing here ever waits. The argument says how many times to do all of it.
 */
#include <hotpath.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Yields its argument, in a way the compiler cannot see through. */
static uint64_t black_box(uint64_t value)
{
    __asm__ volatile("" : "+r"(value));
    return value;
}

static uint64_t heavy_work(uint32_t iterations)
{
    HOTPATH_MEASURE();
    uint64_t result = 1;
    for (uint32_t i = 0; i < iterations; i++) {
        result *= black_box(i) + 7;
        result ^= result >> 3;
    }
    return result;
}

static uint64_t light_work(uint32_t iterations)
{
    HOTPATH_MEASURE();
    uint64_t result = 0;
    for (uint32_t i = 0; i < iterations; i++)
        result += black_box(i);
    return result;
}

int main(int count, char **words)
{
    HOTPATH_MAIN();
    const int times = count > 1 ? atoi(words[1]) : 1;
    uint64_t total = 0;
    for (int round = 0; round < 1000 * times; round++) {
        total += heavy_work(500000);
        total += light_work(100000);
    }
    printf("%llu\n", (unsigned long long)total);
    return 0;
}
