/*
 * Allocations in compiler-instrumented functions: called, inlined, left by longjmp. The counts are in the source.
 */
#include <setjmp.h>
#include <stdlib.h>

static void *volatile seen;
static jmp_buf back;

/*
 * Allocates in the frame of its caller: zones left by longjmp are recognised by their place on the stack, where
 * another frame may be by now.
 */
__attribute__((no_instrument_function, always_inline)) static inline void pass(size_t size)
{
    seen = malloc(size);
    free(seen);
}

__attribute__((noinline)) static void leaf(void) { pass(100); }

/* Inlined into one another with optimisation: zones that lie a byte apart. */
static inline void third(void) { pass(3); }
static inline void second(void)
{
    pass(2);
    third();
    pass(2);
}
static inline void first(void)
{
    pass(1);
    second();
    pass(1);
}

__attribute__((noinline)) static void outer(void)
{
    pass(1000);
    first();
    leaf();
    pass(3000);
}

__attribute__((noinline)) static void thrower(void)
{
    pass(20);
    longjmp(back, 1);
}

__attribute__((noinline)) static void catcher(void)
{
    if (setjmp(back) == 0)
        thrower();
    for (int at = 0; at < 7; at++)
        pass(5000);
}

int main(void)
{
    for (int at = 0; at < 10; at++)
        outer();
    for (int at = 0; at < 3; at++)
        catcher();
    return 0;
}
