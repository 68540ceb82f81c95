/*
 * More paths than a thread's tree holds: every subset of 17 blocks, one inside the other. Then recursion without
 * room in the tree: again -> via -> again -> ..., each level with work of its own.
 */
#include "support.h"

#define LEVELS 17
#define DEPTH 5

static uint64_t via_ns; /* of the outermost calls */

static void subsets(int level);

#define LEVEL(n)                                                                                                   \
    case n: {                                                                                                      \
        HOTPATH_BLOCK("level " #n);                                                                                \
        subsets(n + 1);                                                                                            \
    } break

static void within(int level)
{
    switch (level) {
        LEVEL(0);
        LEVEL(1);
        LEVEL(2);
        LEVEL(3);
        LEVEL(4);
        LEVEL(5);
        LEVEL(6);
        LEVEL(7);
        LEVEL(8);
        LEVEL(9);
        LEVEL(10);
        LEVEL(11);
        LEVEL(12);
        LEVEL(13);
        LEVEL(14);
        LEVEL(15);
        LEVEL(16);
    }
}

static void subsets(int level)
{
    if (level == LEVELS)
        return;
    within(level);
    subsets(level + 1);
}

static void again(int depth);

static void via(int depth)
{
    HOTPATH_MEASURE();
    spin_us(200);
    again(depth);
}

static void again(int depth)
{
    HOTPATH_MEASURE();
    spin_us(200);
    const uint64_t start = now_ns();
    if (depth > 1)
        via(depth - 1);
    if (depth == DEPTH)
        via_ns += now_ns() - start;
}

int main(void)
{
    HOTPATH_MAIN();
    subsets(0);
    const uint64_t start = now_ns();
    for (int i = 0; i < 10; i++)
        again(DEPTH);
    tell("again_ns", now_ns() - start);
    tell("via_ns", via_ns);
    return 0;
}
