/*
 * Opens libraries for as long as there is room for thread-local storage (room.c), then a measured one, and calls it
 * on two threads.
 *
 *     crowded PLUGIN ROOM...
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

typedef int call(int n);

static void *thousand_times(void *function)
{
    union {
        void *object;
        call *function;
    } work = {function};
    for (int i = 0; i < 1000; i++)
        work.function(i);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    for (int i = 2; i < argc; i++)
        dlopen(argv[i], RTLD_NOW);
    void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (plugin == NULL) {
        printf("%s\n", dlerror());
        return 1;
    }
    void *function = dlsym(plugin, "plugin_work");
    if (function == NULL || pthread_create(&thread, NULL, thousand_times, function) != 0)
        return 2;
    thousand_times(function);
    pthread_join(thread, NULL);
    return 0;
}
