/* Every macro of the header, in every place it is meant for. */
#include <hotpath.h>

int one_line(int n);
int early_return(int n);
int expressions(int n);
int begin_end(int n);
int logged(const char *key, int n);
int scoped_session(void);
HOTPATH_NO_MEASURE int skipped(int n);
static inline int in_a_header(int n);

int one_line(int n)
{
    HOTPATH_MEASURE(); HOTPATH_BLOCK("first"); HOTPATH_BLOCK("second");
    { HOTPATH_BLOCK("first"); n++; } { HOTPATH_BLOCK("first"); n++; }
    return HOTPATH_EXPR("left", n + 1) * HOTPATH_EXPR("right", n + 2);
}

int early_return(int n)
{
    HOTPATH_MEASURE_AS("another name");
    for (int i = 0; i < n; i++) {
        HOTPATH_BLOCK("loop");
        if (i == 3)
            continue;
        if (i == 5)
            break;
        if (i == 7)
            return i;
    }
    switch (n) {
    case 1: {
        HOTPATH_BLOCK("case");
        return 2;
    }
    default:
        break;
    }
    return n;
}

static void nothing(void)
{
    HOTPATH_MEASURE();
}

static inline int in_a_header(int n)
{
    HOTPATH_MEASURE();
    return n;
}

int expressions(int n)
{
    HOTPATH_EXPR("void", nothing());
    const double half = HOTPATH_EXPR("double", n * 0.5);
    int values[2] = {HOTPATH_EXPR("nested", HOTPATH_EXPR("inner", in_a_header(n)) + 1), 2};
    if (HOTPATH_EXPR("condition", half > 3.0))
        return HOTPATH_EXPR("commas", values[0] > 1 ? early_return(values[1]) : one_line(n));
    return 0;
}

int begin_end(int n)
{
    HOTPATH_BEGIN(whole, "whole");
    HOTPATH_BEGIN(part, "part");
    n *= 2;
    HOTPATH_END(part);
    if (n > 10)
        HOTPATH_END(whole);
    else
        HOTPATH_END(whole);
    return n;
}

int logged(const char *key, int n)
{
    HOTPATH_MEASURE(.log = 1); HOTPATH_NOTE("no arguments"); HOTPATH_NOTE("%s: %d", key, n);
    if (n > 3)
        HOTPATH_NOTE("large");
    else
        HOTPATH_NOTE("%d", n), n++;
    { HOTPATH_MEASURE_AS("other", .log = 1); HOTPATH_BLOCK("block", .log = 1); n++; }
    { HOTPATH_BLOCK_KEY("key", key); HOTPATH_BLOCK_KEY("key", n > 3 ? "many" : "few"); n++; }
    for (int i = 0; i < n; i++, HOTPATH_NOTE("%d", i)) {
        HOTPATH_BLOCK_KEY("literal", "key");
        if (i == 3)
            return i;
    }
    return n;
}

int scoped_session(void)
{
    HOTPATH_SESSION(.format = "none", .limit = HOTPATH_NO_LIMIT);
    return begin_end(3);
}

HOTPATH_NO_MEASURE int skipped(int n)
{
    return n;
}

int main(void)
{
    HOTPATH_MAIN(.percentiles = "50,95,99.9", .limit = 20);
    {
        HOTPATH_SESSION();
        nothing();
    }
    return one_line(1) + early_return(2) + expressions(3) + begin_end(4) + scoped_session() + skipped(5) +
           logged("key", 6);
}
