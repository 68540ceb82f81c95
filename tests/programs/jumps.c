/*
 * goto, computed goto and switch into the scope of a guard skip its start: its end then sees an uninitialised
 * guard. Whatever byte the memory is filled with, the guard must never be trusted.
 */
#include "support.h"

static hotpath_task polled, run;

/* Allocations are not counted in this program, so each scope that began complains. */
static void count_complaint(const struct hotpath_unexpected *unexpected, void *context)
{
    MUST(unexpected->line > 0);
    ++*(int *)context;
}

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

/* One call in four begins; the others jump into the scope by goto, by a case label, and by a computed goto. */
#pragma GCC diagnostic ignored "-Wpedantic" /* labels as values */
#define JUMPS(name, macro)                                                                                         \
    __attribute__((noinline)) static int name(int n)                                                               \
    {                                                                                                              \
        static void *const label[] = {&&inside};                                                                   \
        if (n % 4 == 1)                                                                                            \
            goto inside;                                                                                           \
        if (n % 4 == 3)                                                                                            \
            goto *label[n / 1000000];                                                                              \
        switch (n % 4) {                                                                                           \
        case 0: {                                                                                                  \
            macro;                                                                                                 \
        inside:                                                                                                    \
        case 2:                                                                                                    \
            n += 3;                                                                                                \
        }                                                                                                          \
        }                                                                                                          \
        return n;                                                                                                  \
    }
#else
#define JUMPS(name, macro)                                                                                         \
    static int name(int n)                                                                                         \
    {                                                                                                              \
        if (n % 4 == 0) {                                                                                          \
            macro;                                                                                                 \
        }                                                                                                          \
        return n + 3;                                                                                              \
    }

static int skips(int n) { return n + 3; }

static int chooses(int n)
{
    const int values[] = {1, 2, n + 1, n};
    return values[n % 4];
}
#endif

JUMPS(over_block, HOTPATH_BLOCK("block"))
JUMPS(over_key, HOTPATH_BLOCK_KEY("keyed", "key"))
JUMPS(over_poll, HOTPATH_TASK_POLL(&polled))
JUMPS(over_run, HOTPATH_TASK_RUN(&run))
JUMPS(over_next, HOTPATH_STREAM_NEXT("stream", &polled))
JUMPS(over_full, HOTPATH_CHANNEL_FULL("channel", &polled))
JUMPS(over_empty, HOTPATH_CHANNEL_EMPTY("channel", &polled))
JUMPS(over_loop, HOTPATH_LOOP_WAIT("loop"))
JUMPS(over_expected, HOTPATH_EXPECT_ALLOCS(1000000))
JUMPS(over_calls, HOTPATH_EXPECT_CALLS("block", 1000000))
JUMPS(over_instructions, HOTPATH_EXPECT_INSTRUCTIONS(1000000))

static int (*const jumps[])(int n) = {over_block, over_key,  over_poll,     over_run,   over_next,        over_full,
                                      over_empty, over_loop, over_expected, over_calls, over_instructions};

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
    int complaints = 0;
    hotpath_set_on_unexpected(count_complaint, &complaints);
    HOTPATH_TASK(&polled, "polled");
    for (int i = 0; i < 20000; i++) {
        if (i % 4 == 0)
            HOTPATH_TASK(&run, "run");
        stain(i);
        sum += skips(i);
        stain(i);
        sum += chooses(i);
        for (size_t at = 0; at < sizeof jumps / sizeof jumps[0]; at++) {
            stain(i);
            sum += jumps[at](i);
        }
    }
    HOTPATH_TASK_CANCEL(&polled);
    for (int i = 0; i < 10; i++)
        sum += leaves(1);
    for (int i = 0; i < 100; i++) {
        HOTPATH_BLOCK("after");
        sum++;
    }
    MUST(complaints == 0 || complaints == 5000 || complaints == 10000); /* of each kind that is not counted */
    printf("sum %ld\n", sum);
    return 0;
}
