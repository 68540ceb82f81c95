/*
 * Measured expressions are the same as unmeasured ones: value, type, and lifetime of temporaries. Compiled without
 * hotpath the program prints the same.
 */
#include <stdbool.h>
#include <string.h>

#include "support.h"

struct pair {
    int first, second;
};

struct row {
    char name[12];
    const int number;
};

#define TYPE_OF(expr)                                                                                              \
    _Generic((expr), _Bool                                                                                         \
             : "_Bool", char                                                                                       \
             : "char", short                                                                                       \
             : "short", int                                                                                        \
             : "int", unsigned                                                                                     \
             : "unsigned", float                                                                                   \
             : "float", double                                                                                     \
             : "double", long                                                                                      \
             : "long", char *                                                                                      \
             : "char *", const char *                                                                              \
             : "const char *", struct pair                                                                         \
             : "struct pair", default                                                                              \
             : "another")

static int evaluated;

static int once(int n)
{
    HOTPATH_MEASURE();
    evaluated++;
    return n;
}

static struct row row_of(int n)
{
    struct row row = {"row", n};
    evaluated++;
    return row;
}

static const struct pair *kept;

static void keep(const struct pair *pair)
{
    HOTPATH_MEASURE();
    kept = pair;
}

static __attribute__((noinline)) void clobber(void)
{
    volatile int values[64] __attribute__((unused));
    for (int i = 0; i < 64; i++)
        values[i] = 77;
}

/* A compound literal lives to the end of the block around it. */
static void literals(void)
{
    const struct pair *pair = HOTPATH_EXPR("literal", &(struct pair){1, 2});
    HOTPATH_EXPR("given away", keep(&(struct pair){3, 4}));
    const int *array = HOTPATH_EXPR("array literal", (int[]){5, 6, 7} + 1);
    clobber();
    struct pair other = {7, 8}; /* for which there is room, if that is thought to be free */
    __asm__ volatile("" : : "r"(&other) : "memory");
    printf("literals %d %d, %d %d, %d %d\n", pair->first, pair->second, kept->first, kept->second, array[0],
           array[1]);
}

static void types(void)
{
    const char letter = 'a';
    volatile short number = 3;
    const bool is_true = true;
    char text[] = "text";
    struct {
        unsigned bits : 3;
    } narrow = {5};
    printf("types %s %s %s %s %s %s %s\n", TYPE_OF(HOTPATH_EXPR("char", letter)),
           TYPE_OF(HOTPATH_EXPR("short", number)), TYPE_OF(HOTPATH_EXPR("bool", is_true)),
           TYPE_OF(HOTPATH_EXPR("float", 1.5f)), TYPE_OF(HOTPATH_EXPR("pointer", text + 1)),
           TYPE_OF(HOTPATH_EXPR("struct", ((struct pair){1, 2}))), TYPE_OF(HOTPATH_EXPR("promoted", +narrow.bits)));
    printf("sizes %zu %zu %zu\n", sizeof(HOTPATH_EXPR("size of char", letter)),
           sizeof(HOTPATH_EXPR("size of struct", row_of(1))), sizeof(HOTPATH_EXPR("size of pointer", &text)));
    printf("bits %d\n", HOTPATH_EXPR("bits", narrow.bits + 0) - 6 < 0);
}

static void values(int n)
{
    int sum = HOTPATH_EXPR("outer", once(1) + HOTPATH_EXPR("middle", once(2) * HOTPATH_EXPR("inner", once(3))));
    HOTPATH_EXPR("assignment", sum += once(4));
    HOTPATH_EXPR("comma", once(5), sum++);
    HOTPATH_EXPR("no value", (void)once(6));
    const struct row row = HOTPATH_EXPR("by value", row_of(sum));
    const size_t length = strlen(HOTPATH_EXPR("member", row_of(8)).name);
    int variable[n];
    for (int i = 0; i < n; i++)
        variable[i] = i;
    sum += HOTPATH_EXPR("element", variable[n - 1]) + *HOTPATH_EXPR("place", &variable[1]);
    sum += HOTPATH_EXPR("statements", ({
                            int twice = sum;
                            HOTPATH_BLOCK("inside");
                            twice * 2;
                        }));
#ifndef __clang__ /* which knows no values of such types */
    _Atomic int shared = 9;
    sum += HOTPATH_EXPR("atomic", shared);
#else
    sum += 9;
#endif
    printf("values %d %s %d %zu, evaluated %d\n", sum, row.name, row.number, length, evaluated);
}

int main(void)
{
    HOTPATH_MAIN();
    literals();
    types();
    for (int i = 0; i < 10; i++)
        values(i + 3);
    return 0;
}
