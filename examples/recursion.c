/*
 * Recursion, and the call tree. Every call is counted, but time is counted once: the total of a recursive function
 * is that of its outermost calls, so it cannot be more than the time that passed. In the call tree a function that
 * calls itself, directly or through others, stays one line.
 */
#include <hotpath.h>

#include <stdbool.h>
#include <stdio.h>

static unsigned fibonacci(unsigned n)
{
    HOTPATH_MEASURE();
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

/* Two functions that call each other. */
static bool is_odd(unsigned n);

static bool is_even(unsigned n)
{
    HOTPATH_MEASURE();
    return n == 0 ? true : is_odd(n - 1);
}

static bool is_odd(unsigned n)
{
    HOTPATH_MEASURE();
    return n == 0 ? false : is_even(n - 1);
}

int main(void)
{
    HOTPATH_MAIN(.report = "timing,calltree", .columns = "self");
    unsigned sum = 0;
    for (unsigned n = 0; n < 20; n++) {
        HOTPATH_BLOCK("round");
        sum += is_even(n) ? fibonacci(n) : 0;
    }
    printf("%u\n", sum);
    return 0;
}
