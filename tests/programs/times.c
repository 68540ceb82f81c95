/*
 * Zones of a few milliseconds, timed by the program itself in the same run with CLOCK_MONOTONIC around each zone.
 * Prints its own sums in nanoseconds; the report's totals must agree, and self must be total without the zones
 * inside.
 */
#include "support.h"

static uint64_t inner_ns, outer_ns, brief_ns, whole_ns;

static void inner(void)
{
    const uint64_t from = now_ns();
    {
        HOTPATH_BLOCK("inner");
        spin_us(2000);
    }
    inner_ns += now_ns() - from;
}

static void outer(void)
{
    const uint64_t from = now_ns();
    {
        HOTPATH_BLOCK("outer");
        spin_us(3000);
        inner();
        inner();
    }
    outer_ns += now_ns() - from;
}

/* Sleeping is wall time as well. */
static void brief(void)
{
    const uint64_t from = now_ns();
    {
        HOTPATH_BLOCK("asleep");
        sleep_us(4000);
    }
    brief_ns += now_ns() - from;
}

static void run(void)
{
    HOTPATH_MAIN();
    const uint64_t from = now_ns();
    for (int i = 0; i < 15; i++)
        outer();
    for (int i = 0; i < 10; i++)
        brief();
    whole_ns = now_ns() - from;
}

int main(void)
{
    run();
    tell("inner", inner_ns);
    tell("outer", outer_ns);
    tell("asleep", brief_ns);
    tell("run", whole_ns);
    return 0;
}
