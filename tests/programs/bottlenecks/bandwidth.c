/* Two threads add large arrays, which are in no cache: add_arrays runs on both CPUs and waits for memory, which
 * a profiler sees as CPU time. */
#include "bottleneck.h"

enum { ITEMS = 4 << 20, TURNS = 90 };
static double *arrays[2][3];

static APART void fill_arrays(double **of)
{
    HOTPATH_MEASURE();
    for (int which = 0; which < 3; which++) {
        of[which] = malloc(ITEMS * sizeof(double));
        must(of[which] != NULL, "malloc");
        for (int at = 0; at < ITEMS; at++)
            of[which][at] = at;
    }
}

static APART void add_arrays(double *restrict sum, const double *restrict a, const double *restrict b)
{
    HOTPATH_MEASURE();
    for (int at = 0; at < ITEMS; at++)
        sum[at] = a[at] + 3 * b[at];
    __asm__ volatile("" ::: "memory");
}

static void *adder(void *which)
{
    double **of = arrays[(intptr_t)which];
    fill_arrays(of);
    for (int turn = 0; turn < TURNS; turn++)
        add_arrays(of[0], of[1], of[2]);
    return NULL;
}

int main(void)
{
    HOTPATH_MAIN();
    run_threads(2, adder);
    return 0;
}
