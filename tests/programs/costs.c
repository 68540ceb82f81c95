/*
 * Programs in which the cost of measuring is not that of timed zones.
 *     costs pairs N    N pairs of malloc and free in one zone
 *     costs calls N    N calls with a pair in each
 */
#include "support.h"

static void *volatile block;

static void pair(void)
{
    block = malloc(16);
    free(block);
}

static void pairs(unsigned long count)
{
    HOTPATH_MEASURE();
    while (count-- > 0)
        pair();
}

static void call(void)
{
    HOTPATH_MEASURE();
    pair();
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    unsigned long count = number(argc, argv, 2, 1000);
    if (is_case(argc, argv, "pairs"))
        pairs(count);
    else
        while (count-- > 0)
            call();
    return 0;
}
