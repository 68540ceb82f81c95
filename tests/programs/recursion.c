/*
 * Recursion: each call is counted, but its time once, so that a total is never more than the wall time around the
 * outermost call, which the program takes itself.
 */
#include "support.h"

static uint64_t calls_of_fib, calls_of_ping, calls_of_pong, calls_of_deep;

static unsigned fib(unsigned n)
{
    HOTPATH_MEASURE();
    calls_of_fib++;
    if (n < 2) {
        spin_us(20);
        return n;
    }
    return fib(n - 1) + fib(n - 2);
}

static void pong(int n);

static void ping(int n)
{
    HOTPATH_MEASURE();
    calls_of_ping++;
    spin_us(500);
    if (n > 0)
        pong(n - 1);
}

static void pong(int n)
{
    HOTPATH_MEASURE();
    calls_of_pong++;
    spin_us(300);
    if (n > 0)
        ping(n - 1);
}

static void deep(int level)
{
    HOTPATH_MEASURE();
    calls_of_deep++;
    if (level > 1)
        deep(level - 1);
    else
        spin_us(20000);
}

static uint64_t around(void (*run)(void))
{
    const uint64_t from = now_ns();
    run();
    return now_ns() - from;
}

static void run_fib(void) { fib(15); }

static void run_ping(void) { ping(49); }

static void run_deep(void) { deep(10000); }

int main(void)
{
    HOTPATH_MAIN();
    tell("fib_ns", around(run_fib));
    tell("ping_ns", around(run_ping));
    tell("deep_ns", around(run_deep));
    tell("fib", calls_of_fib);
    tell("ping", calls_of_ping);
    tell("pong", calls_of_pong);
    tell("deep", calls_of_deep);
    return 0;
}
