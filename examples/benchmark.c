/*
 * A million calls of a function that does nothing: what is left is what measuring costs.
 *
 *     hyperfine --warmup 3 -N build/release/examples/benchmark build/release/examples/benchmark_off
 *
 * Both contain the same code, the second with hotpath compiled out. ./dev bench measures the same without a process
 * around it, and more.
 */
#include <hotpath.h>

static __attribute__((noinline)) void nothing(void)
{
    HOTPATH_MEASURE();
    __asm__ volatile(""); /* keeps the call */
}

int main(void)
{
    HOTPATH_MAIN();
    for (int i = 0; i < 1000000; i++)
        nothing();
    return 0;
}
