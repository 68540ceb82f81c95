/*
 * Zones that are left without their end: by longjmp over several of them, 100,000 times in a row with nothing
 * measured around it, and by siglongjmp out of a signal handler that interrupted a zone. The host is not affected.
 */
#include "support.h"

#include <setjmp.h>
#include <signal.h>

static jmp_buf back;
static sigjmp_buf back_from_handler;
static volatile unsigned long jumps;
static volatile int is_kind; /* never */

static void third(int way)
{
    HOTPATH_MEASURE();
    HOTPATH_BLOCK("in third");
    longjmp(back, way);
}

static void second(int way)
{
    HOTPATH_MEASURE();
    third(way);
}

static int first(int way)
{
    HOTPATH_MEASURE();
    const int came = setjmp(back);
    if (came == 0)
        second(way);
    return came;
}

static void after(void) { HOTPATH_MEASURE(); }

static void over(void)
{
    HOTPATH_BLOCK("around");
    int sum = 0;
    for (int i = 1; i <= 1000; i++) {
        sum += first(i);
        after();
    }
    printf("sum %d\n", sum);
}

/* Depths differ from round to round, so that guards left behind lie above and below the new ones. */
static void dive(int depth)
{
    HOTPATH_MEASURE();
    volatile char pad[64];
    pad[0] = (char)depth;
    if (depth > 0)
        dive(depth - 1);
    else if (!is_kind)
        longjmp(back, 1);
    pad[1] = pad[0];
}

static void loop(unsigned long count)
{
    for (jumps = 0; jumps < count; jumps++) {
        if (setjmp(back) == 0)
            dive((int)(jumps % 7));
    }
    after();
    printf("jumps %lu\n", jumps);
}

static void on_signal(int number)
{
    HOTPATH_MEASURE();
    siglongjmp(back_from_handler, number);
}

static void raises(void)
{
    HOTPATH_MEASURE();
    raise(SIGUSR1);
}

static void from_handler(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigaction(SIGUSR1, &action, NULL);
    for (jumps = 0; jumps < 5000; jumps++) {
        if (sigsetjmp(back_from_handler, 1) == 0)
            raises();
        after();
    }
    printf("jumps %lu\n", jumps);
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    if (is_case(argc, argv, "over"))
        over();
    else if (is_case(argc, argv, "handler"))
        from_handler();
    else
        loop(number(argc, argv, 2, 100000));
    return 5;
}
