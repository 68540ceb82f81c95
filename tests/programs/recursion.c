/*
 * Recursion: each call is counted, but its time once, so that a total is never more than the wall time around the
 * outermost call, which the program measures itself.
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

/*
 * cross -> bridge -> target -> cross -> target: the second cross goes on at the place of the first, where target
 * has no call yet, so target is open at two places of the tree at once.
 */
static uint64_t target_ns, calls_of_target;
static void cross(int is_outer);

static void target(int is_outer)
{
    HOTPATH_MEASURE();
    calls_of_target++;
    spin_us(500);
    if (is_outer)
        cross(0);
}

static void bridge(void)
{
    HOTPATH_MEASURE();
    spin_us(100);
    const uint64_t from = now_ns();
    target(1);
    target_ns += now_ns() - from;
}

static void cross(int is_outer)
{
    HOTPATH_MEASURE();
    spin_us(100);
    if (is_outer)
        bridge();
    else
        target(0);
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
    for (int i = 0; i < 10; i++)
        cross(1);
    tell("target_ns", target_ns);
    tell("target", calls_of_target);
    tell("fib", calls_of_fib);
    tell("ping", calls_of_ping);
    tell("pong", calls_of_pong);
    tell("deep", calls_of_deep);
    return 0;
}
