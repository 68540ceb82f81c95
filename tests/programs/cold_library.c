/*
 * An instrumented library for cold.c. With HOOKS it contains the compiler's hooks, like a statically linked
 * program.
 */
#define NOINLINE __attribute__((noinline))
#define UNMEASURED __attribute__((no_instrument_function))

int library_called(int n);
int library_never(int n);
int library_unmeasured(int n);
int library_never_hidden(int n);

#ifdef HOOKS
void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);

/* The compiler must not see that they do nothing. */
NOINLINE UNMEASURED void __cyg_profile_func_enter(void *function, void *caller)
{
    __asm__ volatile("" : : "r"(function), "r"(caller) : "memory");
}

NOINLINE UNMEASURED void __cyg_profile_func_exit(void *function, void *caller)
{
    __asm__ volatile("" : : "r"(function), "r"(caller) : "memory");
}
#endif

static volatile int keeper;
static int (*volatile library_itself)(int);

static NOINLINE int library_never_static(int n) { return n * 2 + keeper; }

static NOINLINE int library_called_static(int n) { return n * 5 + keeper; }

__attribute__((visibility("hidden"))) NOINLINE int library_never_hidden(int n) { return n * 3 + keeper; }

NOINLINE int library_called(int n) { return library_called_static(n) + 1; }

NOINLINE int library_never(int n) { return library_never_static(n) + library_never_hidden(n); }

/* Has its own address, as measured functions do, and calls no hook. */
NOINLINE UNMEASURED int library_unmeasured(int n) { return n + keeper + (library_itself == library_unmeasured); }
