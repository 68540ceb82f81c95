/* A measured expression of every kind of type: alone, nested, and where only an expression may stand. */
#include <hotpath.h>
#include <string.h>

struct pair {
    long first, second;
};

int value_int(int n);
double value_double(double x);
struct pair value_struct(long n);
const char *value_pointer(const char *text);
void value_void(int *n);
_Bool value_bool(int n);
int value_everywhere(int n);

static int absolute(int n)
{
    HOTPATH_MEASURE();
    return n < 0 ? -n : n;
}

int value_int(int n)
{
    int product = HOTPATH_EXPR("product", n * 3);
    return product + HOTPATH_EXPR("call", absolute(n));
}

double value_double(double x)
{
    return HOTPATH_EXPR("double", x * 0.5 + HOTPATH_EXPR("inner", x / 3.0));
}

struct pair value_struct(long n)
{
    struct pair result = HOTPATH_EXPR("struct", (struct pair){n, n + 1});
    result.first += HOTPATH_EXPR("member", result).second;
    return result;
}

const char *value_pointer(const char *text)
{
    return HOTPATH_EXPR("pointer", strchr(text, ','));
}

void value_void(int *n)
{
    HOTPATH_EXPR("void", (void)(*n += 1));
    HOTPATH_EXPR("assignment", *n = absolute(*n));
}

_Bool value_bool(int n)
{
    return HOTPATH_EXPR("left", n > 3) && !HOTPATH_EXPR("right", n > 10);
}

int value_everywhere(int n)
{
    int i;
    for (i = HOTPATH_EXPR("init", n); HOTPATH_EXPR("condition", i > 0); HOTPATH_EXPR("step", i--)) {
        if (HOTPATH_EXPR("if", value_bool(i)))
            continue;
        switch (HOTPATH_EXPR("switch", i % 4)) {
        case 0:
            value_void(&n);
            break;
        default:
            n -= HOTPATH_EXPR("operand", value_int(i) + 1);
        }
    }
    while (HOTPATH_EXPR("while", n > 100))
        n /= 2;
    return HOTPATH_EXPR("comma", (value_void(&n), n)) ? HOTPATH_EXPR("yes", n) : HOTPATH_EXPR("no", i);
}
