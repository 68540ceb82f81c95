/*
 * Every way to measure less, or something else, than a whole function.
 */
#include <hotpath.h>

#include <stdint.h>
#include <stdio.h>

static uint32_t data[4096];

static void fill(uint32_t seed)
{
    HOTPATH_MEASURE_AS("fill with noise"); /* a function under another name */
    for (size_t i = 0; i < sizeof data / sizeof data[0]; i++)
        data[i] = seed = seed * 1664525u + 1013904223u;
}

static uint32_t add_up(void)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < sizeof data / sizeof data[0]; i++)
        sum += data[i];
    return sum;
}

static uint32_t digest(void)
{
    HOTPATH_MEASURE();
    uint32_t hash = 0;

    /* A block: from the macro to the closing brace. break, continue, return and goto leave it as usual. */
    for (size_t i = 0; i < sizeof data / sizeof data[0]; i += 1024) {
        HOTPATH_BLOCK("hash a page");
        for (size_t j = i; j < i + 1024; j++)
            hash = (hash ^ data[j]) * 16777619u;
    }

    /* A stretch that does not fit into braces: opened here, closed by name. */
    HOTPATH_BEGIN(folding, "fold");
    const uint32_t low = hash & 0xffff;
    const uint32_t high = hash >> 16;
    HOTPATH_END(folding);

    /* One expression; its value passes through. */
    return (low ^ high) + HOTPATH_EXPR("add up", add_up());
}

int main(void)
{
    HOTPATH_MAIN(.limit = 20);
    uint32_t total = 0;
    for (uint32_t round = 0; round < 50; round++) {
        fill(round);
        total += digest();
    }
    printf("%u\n", total);
    return 0;
}
