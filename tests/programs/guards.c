/*
 * Guards with unusual ends.
 *     guards jump        goto skips the initialiser; the guard still has the contents of an earlier one
 *     guards twice       HOTPATH_END is reached twice
 *     guards unclosed    HOTPATH_END is missing, twice
 *     guards elsewhere   HOTPATH_END is reached on another thread, while the zone is open on the first
 */
#include "support.h"

#include <pthread.h>

static void work(void) { HOTPATH_MEASURE(); }

#ifndef __clang__ /* which refuses such jumps */
static int jump(void)
{
    int passes = 0;
    for (int round = 0; round < 10; round++) {
        if (round > 0)
            goto inside;
        {
            HOTPATH_BLOCK("jumped over");
        inside:
            passes++;
            work();
        }
    }
    return passes;
}
#else
static int jump(void)
{
    {
        HOTPATH_BLOCK("jumped over");
    }
    for (int round = 0; round < 10; round++)
        work();
    return 10;
}
#endif

static int twice(void)
{
    HOTPATH_BEGIN(zone, "ended twice");
    work();
    HOTPATH_END(zone);
    HOTPATH_END(zone);
    return 2;
}

static int unclosed(void)
{
    HOTPATH_BEGIN(first, "unclosed");
    work();
    HOTPATH_BEGIN(second, "unclosed, too");
    work();
    (void)first;
    (void)second;
    return 2;
}

static void *end_it(void *zone)
{
    work(); /* the thread is known from now on */
    HOTPATH_END(*(struct hotpath_zone *)zone);
    return NULL;
}

static int elsewhere(void)
{
    HOTPATH_BEGIN(zone, "ended elsewhere");
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, end_it, &zone) == 0);
    MUST(pthread_join(thread, NULL) == 0);
    HOTPATH_END(zone);
    return 1;
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    const int passes = is_case(argc, argv, "jump")       ? jump()
                       : is_case(argc, argv, "twice")    ? twice()
                       : is_case(argc, argv, "unclosed") ? unclosed()
                                                         : elsewhere();
    printf("%d\n", passes);
    return 0;
}
