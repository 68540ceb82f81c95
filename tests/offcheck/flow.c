/* Every way through and out of a measured scope: loops, goto, switch, return, recursion, early exits. */
#include <hotpath.h>
#include <stdlib.h>

int flow_loops(const int *values, int count);
int flow_goto(int tries);
int flow_switch(int kind);
int flow_returns(int n);
unsigned flow_recursion(unsigned n);
void flow_begin_end(int *out, int n);
int flow_notes(const char *command, int n);
HOTPATH_NO_MEASURE int flow_skipped(int n);

int flow_loops(const int *values, int count)
{
    HOTPATH_MEASURE();
    int sum = 0;
    for (int i = 0; i < count; i++) {
        HOTPATH_BLOCK("for");
        if (values[i] < 0)
            continue;
        if (values[i] == 0)
            break;
        sum += values[i];
    }
    int left = count;
    while (left > 0) {
        HOTPATH_BLOCK("while");
        left--;
        if (left == 7)
            break;
        { HOTPATH_BLOCK("inner"); if (left & 1) continue; sum++; }
    }
    do {
        HOTPATH_BLOCK("do");
        sum += left;
        if (sum > 1000)
            continue;
        sum *= 2;
    } while (sum < 100 && sum > 0);
    return sum;
}

int flow_goto(int tries)
{
    HOTPATH_MEASURE_AS("goto");
    int result = -1;
again:
    {
        HOTPATH_BLOCK("attempt");
        if (tries-- <= 0)
            goto out;
        if (tries % 3)
            goto again;
    }
    result = tries;
out:
    return result;
}

int flow_switch(int kind)
{
    HOTPATH_MEASURE();
    switch (kind) {
    case 0: {
        HOTPATH_BLOCK("zero");
        return 10;
    }
    case 1: {
        HOTPATH_BLOCK("one");
        kind += 5;
        break;
    }
    case 2: {
        HOTPATH_BLOCK("two");
        kind--;
    } /* fallthrough */
    case 3:
        kind *= 3;
        break;
    default:
        for (;;) {
            HOTPATH_BLOCK("default");
            if (kind++ > 100)
                break;
        }
    }
    return kind;
}

int flow_returns(int n)
{
    HOTPATH_MEASURE(); HOTPATH_BLOCK("two on one line");
    if (n < 0)
        return -1;
    if (n == 0)
        exit(3);
    { HOTPATH_BLOCK("last"); return n / 2; }
}

unsigned flow_recursion(unsigned n)
{
    HOTPATH_MEASURE();
    return n < 2 ? n : flow_recursion(n - 1) + flow_recursion(n - 2);
}

void flow_begin_end(int *out, int n)
{
    HOTPATH_BEGIN(whole, "whole");
    for (int i = 0; i < n; i++) {
        HOTPATH_BEGIN(step, "step");
        out[i] = i * n;
        if (i == 3)
            HOTPATH_END(step);
        else
            HOTPATH_END(step);
    }
    HOTPATH_END(whole);
}

/* What notes and keys are made of is not evaluated either. */
static int evaluate(int *n)
{
    return ++*n;
}

int flow_notes(const char *command, int n)
{
    HOTPATH_MEASURE(.log = 1);
    HOTPATH_NOTE("%s %d", command, evaluate(&n));
    {
        HOTPATH_BLOCK("logged", .log = 1);
        n *= 3;
        if (n > 5)
            HOTPATH_NOTE("large");
        else
            HOTPATH_NOTE("small: %d", n);
    }
    for (int i = 0; i < n; i++) {
        HOTPATH_BLOCK_KEY("command", evaluate(&n) > 2 ? command : "none");
        if (command[i] == 0)
            return i + evaluate(&n);
    }
    return n;
}

HOTPATH_NO_MEASURE int flow_skipped(int n)
{
    return n + 1;
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN(.limit = 20,
                 .focus = "flow");
    int values[8] = {argc, 2, -3, 4};
    (void)argv;
    flow_begin_end(values, 8);
    {
        HOTPATH_SESSION(.format = "none");
        values[0] += flow_returns(argc);
    }
    return flow_loops(values, 8) + flow_goto(argc) + flow_switch(argc) + (int)flow_recursion(5) + flow_skipped(1) +
           flow_notes("set", argc);
}
