/*
 * Durations from 2 microseconds to 2 milliseconds, evenly spread by magnitude, each timed by the program itself with
 * the clock read directly outside the zone. Prints them all ("d NS"), and what one pair of clock reads plus an empty
 * zone takes at least ("slack NS"): by so much its own numbers may be larger.
 */
#include "support.h"

#define COUNT 1500

static uint64_t durations[COUNT];

static uint64_t timed(uint64_t ns)
{
    const uint64_t from = now_ns();
    {
        HOTPATH_BLOCK("work");
        spin_ns(ns);
    }
    return now_ns() - from;
}

static uint64_t slack(void)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 2000; i++) {
        const uint64_t from = now_ns();
        {
            HOTPATH_BLOCK("empty");
        }
        const uint64_t took = now_ns() - from;
        least = took < least ? took : least;
    }
    return least;
}

int main(void)
{
    HOTPATH_MAIN();
    const uint64_t least = slack();
    double ns = 2000;
    for (int i = 0; i < COUNT; i++) {
        durations[i] = timed((uint64_t)ns);
        ns *= 1.0046; /* 1.0046 to the 1500th is 1000 */
    }
    for (int i = 0; i < COUNT; i++)
        tell("d", durations[i]);
    tell("slack", least);
    return 0;
}
