/*
 * A bottleneck that computes: nearly all the time goes into add_up, and a processor is busy with it. The verdict is
 * `cpu-bound`: a better algorithm would help, or more threads.
 *
 *     hotpath run -- build/release/examples/bottleneck_cpu
 */
#include <hotpath.h>

#include <stdint.h>
#include <stdio.h>

static uint64_t add_up(uint64_t from, uint64_t to)
{
    HOTPATH_MEASURE();
    uint64_t sum = 0;
    for (uint64_t number = from; number < to; number++)
        for (uint64_t divisor = 1; divisor < 600; divisor++)
            sum += number % divisor == 0 ? divisor : 0;
    return sum;
}

static uint64_t read_input(void)
{
    HOTPATH_MEASURE();
    return 1000;
}

int main(void)
{
    HOTPATH_MAIN(.cpu = 1);
    uint64_t sum = 0;
    for (int i = 0; i < 100; i++) {
        const uint64_t from = read_input();
        sum += add_up(from, from + 3000);
    }
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
