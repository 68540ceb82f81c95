/*
 * Several copies of the library in one process: this program has one, each plugin another. Zones nest across them
 * and on several threads; there is one session with all rows and the right parents.
 *     copies PLUGIN PLUGIN_TWO
 */
#include "support.h"

#include <dlfcn.h>
#include <pthread.h>

typedef int call(int (*back)(int), int n);

static call *first, *second;

static int innermost(int n)
{
    HOTPATH_MEASURE();
    return n + 1;
}

static int between(int n)
{
    HOTPATH_MEASURE();
    return second(innermost, n);
}

static void *across(void *unused)
{
    HOTPATH_MEASURE();
    long sum = 0;
    for (int i = 0; i < 1000; i++)
        sum += first(between, i);
    MUST(sum == 500500);
    return unused;
}

static call *load(const char *path, const char *name)
{
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL)
        printf("dlopen: %s\n", dlerror());
    MUST(plugin != NULL);
    union {
        void *object;
        call *function;
    } symbol = {dlsym(plugin, name)};
    MUST(symbol.object != NULL);
    return symbol.function;
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    pthread_t threads[3];
    MUST(argc > 2);
    first = load(argv[1], "plugin_call");
    second = load(argv[2], "second_call");
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3; i++)
            MUST(pthread_create(&threads[i], NULL, across, NULL) == 0);
        across(NULL);
        for (int i = 0; i < 3; i++)
            pthread_join(threads[i], NULL);
    }
    printf("done\n");
    return 0;
}
