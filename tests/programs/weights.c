/* Measured functions that compute, wait and allocate, one of them called from two places: data for every export. */
#include "busy.h"

static void *held;

/* So that the compiler does not see that nothing is done with it. */
static void take(size_t bytes)
{
    void *block = malloc(bytes);
    MUST(block != NULL);
    __atomic_store_n(&held, block, __ATOMIC_RELAXED);
    free(block);
}

static void rest(void)
{
    HOTPATH_MEASURE();
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

static void shared(void)
{
    HOTPATH_MEASURE();
    take(100);
    busy(3);
}

static void one(void)
{
    HOTPATH_MEASURE();
    take(1000);
    shared();
}

static void two(void)
{
    HOTPATH_MEASURE();
    shared();
    rest();
}

int main(void)
{
    HOTPATH_MAIN();
    for (int at = 0; at < 10; at++) {
        one();
        two();
    }
    return 0;
}
