/*
 * Some 5,000 nodes in a tree of stacks: eight functions that call each other, at random, to a fixed depth.
 * Argument: seconds. SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <time.h>

#define DEPTH 4u

static volatile unsigned long sink;
static unsigned long state = 1;

static void call(unsigned depth);

static inline __attribute__((always_inline)) void work(void)
{
    for (unsigned at = 0; at < 20000; at++)
        sink += at;
}

/* Not a tail call, which would leave no frame. */
#define FUNCTION(name)                                                                                             \
    __attribute__((noinline)) static void name(unsigned depth)                                                     \
    {                                                                                                              \
        if (depth == 0)                                                                                            \
            work();                                                                                                \
        else                                                                                                       \
            call(depth - 1);                                                                                       \
        sink++;                                                                                                    \
    }

FUNCTION(parse)
FUNCTION(check)
FUNCTION(plan)
FUNCTION(load)
FUNCTION(join)
FUNCTION(sort)
FUNCTION(pack)
FUNCTION(send)

static inline __attribute__((always_inline)) void call(unsigned depth)
{
    static void (*const all[])(unsigned) = {parse, check, plan, load, join, sort, pack, send};
    state = state * 6364136223846793005u + 1442695040888963407u;
    all[state >> 61](depth);
}

int main(int count, char **arguments)
{
    const time_t end = time(NULL) + (count > 1 ? atoi(arguments[1]) : 10);
    while (time(NULL) < end)
        call(DEPTH - 1);
    return 0;
}
