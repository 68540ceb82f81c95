/*
 * Opens and closes a measured plugin 100 times, calling into it each time: counts are exact, one row per function.
 * Compiled with hotpath it has HOTPATH_MAIN (host), without it is an unmeasured program that loads a measured
 * library (host_off).
 */
#include "support.h"

#include <dlfcn.h>

typedef int work(int n);

static int use(const char *path, int n)
{
    HOTPATH_MEASURE();
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL)
        printf("dlopen: %s\n", dlerror());
    MUST(plugin != NULL);
    union {
        void *object;
        work *function;
    } symbol = {dlsym(plugin, "plugin_work")};
    MUST(symbol.object != NULL);
    const int result = symbol.function(n) + symbol.function(n);
    dlclose(plugin);
    return result;
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    int sum = 0;
    MUST(argc > 1);
    for (int i = 0; i < 100; i++)
        sum += use(argv[1], i);
    printf("sum %d\n", sum);
    return 0;
}
