/*
 * Calls of which not all are timed. Their number is known, and their durations if a case needs them.
 */
#include "support.h"

#include <pthread.h>

/* --- how many: leaf is called by a 300 times, by b 500 times, directly 7 times */

static void leaf(void) { HOTPATH_MEASURE(); }

static void a(void)
{
    HOTPATH_MEASURE();
    for (int at = 0; at < 3; at++)
        leaf();
}

static void b(void)
{
    HOTPATH_MEASURE();
    for (int at = 0; at < 5; at++)
        leaf();
}

static void paths(void)
{
    for (int at = 0; at < 100; at++) {
        a();
        b();
    }
    for (int at = 0; at < 7; at++)
        leaf();
}

/*
 * --- how long: a parent with two children. The program reads its own clock just inside each zone and around it, so
 * that the zone's time lies between the two however the machine stops the program.
 */

static void tell_bounds(const char *name, uint64_t inside, uint64_t around)
{
    printf("%s %llu %llu\n", name, (unsigned long long)inside, (unsigned long long)around);
}

static void child(void)
{
    const uint64_t around = now_ns();
    uint64_t inside;
    {
        HOTPATH_BLOCK("child");
        const uint64_t begin = now_ns();
        spin_us(100);
        inside = now_ns() - begin;
    }
    tell_bounds("child", inside, now_ns() - around);
}

static uint64_t parent(void)
{
    HOTPATH_BLOCK("parent");
    const uint64_t begin = now_ns();
    child();
    spin_us(200);
    child();
    return now_ns() - begin;
}

static void durations(void)
{
    for (int at = 0; at < 320; at++) {
        const uint64_t around = now_ns(), inside = parent();
        tell_bounds("parent", inside, now_ns() - around);
    }
}

/* --- recursion */

#define OUTERMOST 12u

static unsigned long fib_calls;
static uint64_t inside_ns;

static unsigned fib(unsigned n)
{
    HOTPATH_MEASURE();
    const uint64_t begin = n == OUTERMOST ? now_ns() : 0;
    fib_calls++;
    spin_ns(500);
    const unsigned sum = n < 2 ? n : fib(n - 1) + fib(n - 2);
    if (n == OUTERMOST)
        inside_ns += now_ns() - begin;
    return sum;
}

static void recursion(void)
{
    const uint64_t begin = now_ns();
    for (int at = 0; at < 20; at++)
        fib(OUTERMOST);
    tell("around_ns", now_ns() - begin);
    tell("inside_ns", inside_ns);
    tell("fib", fib_calls);
}

/*  threads: each has its own countdown. One after another, so that it is known whose countdown each continues. */

static void *many_leaves(void *count)
{
    for (unsigned at = 0; at < *(unsigned *)count; at++)
        leaf();
    return NULL;
}

static void threads(void)
{
    static unsigned counts[] = {1000, 17, 1, 33};
    for (int at = 0; at < 4; at++) {
        pthread_t started;
        MUST(pthread_create(&started, NULL, many_leaves, &counts[at]) == 0);
        pthread_join(started, NULL);
    }
}

/* --- kept */

static void kept(unsigned number)
{
    HOTPATH_MEASURE(.log = 1);
    HOTPATH_NOTE("%u", number);
    leaf();
}

static void logged(void)
{
    for (unsigned number = 0; number < 40; number++)
        kept(number);
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN(.time_sampling_rate = argc > 2 ? argv[2] : NULL);
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"paths", paths},
                 {"durations", durations},
                 {"recursion", recursion},
                 {"threads", threads},
                 {"logged", logged}};
    for (size_t at = 0; at < sizeof cases / sizeof cases[0]; at++)
        if (is_case(argc, argv, cases[at].name))
            cases[at].run();
    return 0;
}
