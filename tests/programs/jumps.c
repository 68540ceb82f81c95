/*
 * goto and switch into the scope of a zone skip its start: its end then sees an uninitialised guard. Whatever byte
 * the memory is filled with, the guard must never be trusted.
 */
#include "support.h"

/* Leaves `fill` all over the stack where the next call puts its guard. */
__attribute__((noinline)) static void stain(int fill)
{
    volatile unsigned char stack[2048];
    for (size_t i = 0; i < sizeof stack; i++)
        stack[i] = (unsigned char)fill;
}

#ifndef __clang__ /* which refuses such jumps */
__attribute__((noinline)) static int skips(int n)
{
    if (n % 2)
        goto inside;
    {
        HOTPATH_BLOCK("jumped over");
    inside:
        n += 3;
    }
    return n;
}

__attribute__((noinline)) static int chooses(int n)
{
    switch (n % 4) {
    case 0:;
        HOTPATH_BLOCK("in a switch");
        return 1;
    case 1:
        return 2;
    case 2:
        n++; /* falls through */
    default:
        return n;
    }
}
#else
static int skips(int n) { return n + 3; }

static int chooses(int n)
{
    const int values[] = {1, 2, n + 1, n};
    return values[n % 4];
}
#endif

/* goto out of nested zones, and backwards over one: these are plain C, and counted. */
static int leaves(int n)
{
    int rounds = 0;
again : {
    HOTPATH_BLOCK("again");
    for (;;) {
        HOTPATH_BLOCK("left by goto");
        if (n > 0)
            goto out;
    }
}
out:
    rounds++;
    if (rounds < 3)
        goto again;
    return rounds;
}

int main(void)
{
    HOTPATH_MAIN();
    long sum = 0;
    for (int i = 0; i < 20000; i++) {
        stain(i);
        sum += skips(i);
        stain(i);
        sum += chooses(i);
    }
    for (int i = 0; i < 10; i++)
        sum += leaves(1);
    for (int i = 0; i < 100; i++) {
        HOTPATH_BLOCK("after");
        sum++;
    }
    printf("sum %ld\n", sum);
    return 0;
}
