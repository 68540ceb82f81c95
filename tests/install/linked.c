/*
 * A program that is linked to two measured libraries, those of tests/programs/plugin.c and plugin_two.c: zones nest
 * across them and the program, on four threads. Compiled with hotpath and without.
 */
#include <hotpath.h>
#include <pthread.h>
#include <stddef.h>

int plugin_call(int (*back)(int), int n);
int second_call(int (*back)(int), int n);

static int innermost(int n)
{
    HOTPATH_MEASURE();
    return n + 1;
}

static int between(int n)
{
    HOTPATH_MEASURE();
    return second_call(innermost, n);
}

static void *across(void *wrong)
{
    HOTPATH_MEASURE();
    long sum = 0;
    for (int i = 0; i < 1000; i++)
        sum += plugin_call(between, i);
    return sum == 500500 ? NULL : wrong;
}

int main(void)
{
    HOTPATH_MAIN();
    pthread_t threads[3];
    void *result;
    int wrong = across(&wrong) != NULL;
    for (int i = 0; i < 3; i++)
        if (pthread_create(&threads[i], NULL, across, &wrong) != 0)
            return 2;
    for (int i = 0; i < 3; i++)
        if (pthread_join(threads[i], &result) != 0 || result != NULL)
            return 3;
    return wrong;
}
