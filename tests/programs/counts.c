/*
 * Every way into and out of a zone, each a known number of times: the counts in the report must be exactly these.
 * Labels carry the number of calls they must show.
 */
#include "support.h"

static int early(int n)
{
    HOTPATH_MEASURE();
    if (n % 3 == 0)
        return 0;
    for (int i = 0; i < n; i++)
        if (i == 5)
            return 1;
    return 2;
}

static void nothing(void) { HOTPATH_MEASURE_AS("no statement at all, 7"); }

static int add(int a, int b) { return a + b; }

static int blocks(int rounds)
{
    HOTPATH_MEASURE();
    int sum = 0;
    for (int i = 0; i < rounds; i++) {
        HOTPATH_BLOCK("loop body, 50");
        if (i % 2)
            continue;
        {
            HOTPATH_BLOCK("after continue, 25");
            sum += i;
        }
        if (i == 1000)
            break;
    }
    for (;;) {
        HOTPATH_BLOCK("left by break, 5");
        break;
    }
    switch (rounds) {
    case 10: {
        HOTPATH_BLOCK("in a case, 5");
        sum++;
        break;
    }
    default:
        sum--;
    }
    return sum;
}

static void pairs(void)
{
    for (int i = 0; i < 30; i++) {
        HOTPATH_BEGIN(outer, "begin and end, 30");
        if (i % 3 == 0) {
            HOTPATH_BEGIN(inner, "inner begin and end, 10");
            HOTPATH_END(inner);
        }
        HOTPATH_END(outer);
    }
}

static void two_in_one_function(void)
{
    HOTPATH_MEASURE();
    HOTPATH_BLOCK("second zone of a function, 4");
}

/* Two uses of one label on different lines are two places. */
static void same_label(void)
{
    {
        HOTPATH_BLOCK("twice");
    }
    {
        HOTPATH_BLOCK("twice");
    }
}

static void leaf(void) { HOTPATH_MEASURE(); }

static void middle(void)
{
    HOTPATH_MEASURE();
    for (int i = 0; i < 3; i++)
        leaf();
}

static void top(void)
{
    HOTPATH_MEASURE();
    middle();
    middle();
    leaf();
}

int main(void)
{
    HOTPATH_MAIN();
    int sum = 0;
    for (int i = 0; i < 100; i++)
        sum += early(i);
    for (int i = 0; i < 7; i++)
        nothing();
    for (int i = 0; i < 5; i++)
        sum += blocks(10);
    for (int i = 0; i < 12; i++) {
        sum += HOTPATH_EXPR("expression, 12", add(i, 1));
        HOTPATH_EXPR("expression without value, 12", (void)0);
    }
    pairs();
    for (int i = 0; i < 4; i++)
        two_in_one_function();
    for (int i = 0; i < 2; i++)
        same_label();
    for (int i = 0; i < 10; i++)
        top();
    tell("sum", (uint64_t)sum);
    return 0;
}
