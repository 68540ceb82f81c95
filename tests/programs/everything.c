/*
 * Every function is compiler-instrumented; the source does not mention hotpath. Prints how often each function was
 * called, by its own counters.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define COUNTED __attribute__((no_instrument_function))

enum { LEAF, SMALL, WORK, FIB, JUMPER, EVEN, ODD, THREAD, TABLED, KINDS };
static const char *const names[KINDS] = {"leaf", "small", "work",   "fib",   "jumper",
                                         "even", "odd",   "thread", "tabled"};
static uint64_t counts[KINDS];
static jmp_buf back;

static inline COUNTED void count(int kind) { __atomic_fetch_add(&counts[kind], 1, __ATOMIC_RELAXED); }

static int leaf(int n)
{
    count(LEAF);
    return n + 1;
}

/* Inlined by optimisers, but still counted. */
static inline int small(int n)
{
    count(SMALL);
    return leaf(n) * 2;
}

static __attribute__((noinline)) int work(int n)
{
    int sum = n;
    count(WORK);
    for (int i = 0; i < 10; i++)
        sum += small(i);
    return sum;
}

static int fib(int n)
{
    count(FIB);
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static __attribute__((noinline)) void jumper(int depth)
{
    count(JUMPER);
    if (depth == 0)
        longjmp(back, 1);
    jumper(depth - 1);
}

/* Tail calls, where the compiler makes them. */
static __attribute__((noinline)) int odd(unsigned n);

static __attribute__((noinline)) int even(unsigned n)
{
    count(EVEN);
    return n == 0 ? 1 : odd(n - 1);
}

static int odd(unsigned n)
{
    count(ODD);
    return n == 0 ? 0 : even(n - 1);
}

static int tabled(int n)
{
    count(TABLED);
    return n ^ 5;
}

static void *thread(void *unused)
{
    count(THREAD);
    for (int i = 0; i < 200; i++)
        work(i);
    return unused;
}

static void jump(void)
{
    if (setjmp(back) == 0)
        jumper(3);
}

int main(void)
{
    int (*volatile table[2])(int) = {tabled, leaf};
    pthread_t threads[4];
    int sum = 0;
    for (int i = 0; i < 100; i++)
        sum += work(i) + table[i % 2](i);
    sum += fib(15) + even(1001);
    for (int i = 0; i < 100; i++)
        jump();
    for (int i = 0; i < 4; i++)
        if (pthread_create(&threads[i], NULL, thread, NULL) != 0)
            return 1;
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int kind = 0; kind < KINDS; kind++)
        printf("%s %llu\n", names[kind], (unsigned long long)counts[kind]);
    return sum == 42;
}
