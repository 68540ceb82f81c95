/*
 * Opens libraries one after the other and closes each before the next: PATH FUNCTION CALLS, and so on. Without
 * FUNCTION it is such a library, with a function WORK. SPDX-License-Identifier: MIT
 */
#ifdef WORK
int WORK(int count);
int WORK(int count)
{
    volatile int sum = 0;
    for (int at = 0; at < count; at++)
        sum = sum + at;
    return sum;
}
#else
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments)
{
    typedef int work(int count);
    uintptr_t first = 0;
    for (int at = 1; at + 2 < count; at += 3) {
        void *library = dlopen(arguments[at], RTLD_NOW);
        work *const function = library != NULL ? (work *)(uintptr_t)dlsym(library, arguments[at + 1]) : NULL;
        if (function == NULL) {
            puts(dlerror());
            return 1;
        }
        for (int left = atoi(arguments[at + 2]); left > 0; left--)
            function(2000);
        if (first == 0)
            first = (uintptr_t)function;
        printf("same_place %d\n", first == (uintptr_t)function);
        dlclose(library);
    }
    return 0;
}
#endif
