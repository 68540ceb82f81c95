/* Two threads count, each in a variable of its own, but both variables are in one cache line: count_events runs
 * on both CPUs and is slow. */
#include "bottleneck.h"

#include <stdatomic.h>

static struct {
    _Alignas(64) atomic_long of[2];
} counters;

static APART void count_events(int who, long events)
{
    HOTPATH_MEASURE();
    for (long at = 0; at < events; at++)
        atomic_fetch_add_explicit(&counters.of[who], 1, memory_order_relaxed);
}

static void *counter(void *which)
{
    for (int at = 0; at < 40; at++)
        count_events((int)(intptr_t)which, 1000000);
    return NULL;
}

int main(void)
{
    HOTPATH_MAIN();
    run_threads(2, counter);
    return counters.of[0] + counters.of[1] != 80000000;
}
