/*
 * Called and uncalled functions of every kind: static, global, inlined, copied for an argument; here
 * (compiled with -finstrument-functions), in cold_library.c (likewise, a library), and in cold_plain.c (without).
 * Uncalled functions have "never" in their names if they are instrumented, and "unmeasured" if they are not.
 */
#include <stdio.h>

#define NOINLINE __attribute__((noinline))
#define UNMEASURED __attribute__((no_instrument_function))

int library_called(int n);
int library_never(int n);
int plain_called(int n);
int plain_unmeasured(int n);
int never_global(int n);
int unmeasured_with_inlined(int n);

static volatile int keeper; /* read when the program runs, and never true */

static NOINLINE int never_static(int n) { return n * keeper; }

static inline __attribute__((always_inline)) int never_inlined(int n) { return n + keeper; }

/* The compiler may make a copy of this for the one argument it is called with. */
static NOINLINE int called_with_constant(int n, int constant)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += constant * i ^ keeper;
    return sum;
}

static NOINLINE int called_static(int n) { return n - keeper; }

/* Only its address is taken. */
static int never_by_pointer(int n) { return n << keeper; }

NOINLINE int never_global(int n) { return never_inlined(n) + never_static(n); }

/* Calls the hook for the inlined function, not for itself. */
NOINLINE UNMEASURED int unmeasured_with_inlined(int n) { return never_inlined(n) * 3; }

int main(void)
{
    int (*volatile pointer)(int) = never_by_pointer;
    int sum = called_static(1) + called_with_constant(10, 7) + library_called(2) + plain_called(3);
    if (keeper)
        sum += pointer(sum) + never_global(1) + unmeasured_with_inlined(2) + library_never(3) + plain_unmeasured(4);
    printf("sum %d\n", sum);
    return 0;
}
