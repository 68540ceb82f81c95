/*
 * Work that only some calls do, in step with time sampling.
 *     rarely calls     every 16th call of `step` calls `rare`, and never one that is timed
 *     rarely long N    every 16th call of `put` is long, beginning with call N
 *     rarely misses    `fetch`, measured by the compiler, is much too short to be timed, 200000 times, and then is
 *                      not
 */
#include "support.h"

static __attribute__((noinline)) HOTPATH_NO_MEASURE void rare(void) { HOTPATH_MEASURE(); }

static __attribute__((noinline)) HOTPATH_NO_MEASURE void step(int number)
{
    HOTPATH_MEASURE();
    if (number % 16 == 5)
        rare();
}

static __attribute__((noinline)) HOTPATH_NO_MEASURE void put(int is_long)
{
    HOTPATH_MEASURE();
    if (is_long)
        spin_us(50);
}

static __attribute__((noinline)) void fetch(int is_miss)
{
    if (is_miss)
        spin_us(100);
}

HOTPATH_NO_MEASURE int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    if (is_case(argc, argv, "calls"))
        for (int i = 0; i < 16000; i++)
            step(i);
    if (is_case(argc, argv, "long"))
        for (unsigned long i = 0, first = number(argc, argv, 2, 0); i < 6400; i++)
            put(i % 16 == first);
    if (is_case(argc, argv, "misses"))
        for (int i = 0; i < 201000; i++)
            fetch(i >= 200000);
    return 0;
}
