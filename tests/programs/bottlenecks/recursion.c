/* count_ways calls itself, up to thirty levels deep, and has nearly all of the CPU time. */
#include "bottleneck.h"

static APART long count_ways(int steps);

static APART long count_from(int steps)
{
    long ways = count_ways(steps - 1);
    __asm__ volatile("" : "+r"(ways));
    ways += count_ways(steps - 2);
    return ways;
}

static APART long count_ways(int steps)
{
    if (steps < 2)
        return 1;
    compute(40);
    return count_from(steps);
}

static APART long all_ways(int steps)
{
    HOTPATH_MEASURE();
    return count_ways(steps);
}

static APART void print_ways(long ways)
{
    HOTPATH_MEASURE();
    char text[32];
    for (int at = 0; at < 1000; at++)
        snprintf(text, sizeof(text), "%ld", ways + at);
}

int main(void)
{
    HOTPATH_MAIN();
    long ways = 0;
    for (int at = 0; at < 32; at++) {
        ways += all_ways(29);
        print_ways(ways);
    }
    return ways == 0;
}
