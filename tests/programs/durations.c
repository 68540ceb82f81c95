/*
 * Durations from 2 microseconds to 2 milliseconds, evenly spread by magnitude, each timed by the program itself
 * just inside the zone and around it, so that the zone's duration lies in between even if the program is preempted.
 * Prints them all: "d INSIDE
 * AROUND".
 */
#include "support.h"

#define COUNT 1500

static uint64_t inside[COUNT], around[COUNT];

static void time_one(int i, uint64_t ns)
{
    const uint64_t from = now_ns();
    {
        HOTPATH_BLOCK("work");
        const uint64_t begin = now_ns();
        spin_ns(ns);
        inside[i] = now_ns() - begin;
    }
    around[i] = now_ns() - from;
}

int main(void)
{
    HOTPATH_MAIN();
    double ns = 2000;
    for (int i = 0; i < COUNT; i++) {
        time_one(i, (uint64_t)ns);
        ns *= 1.0046; /* 1.0046 to the 1500th is 1000 */
    }
    for (int i = 0; i < COUNT; i++)
        printf("d %llu %llu\n", (unsigned long long)inside[i], (unsigned long long)around[i]);
    return 0;
}
