/*
 * Opens each plugin (library_copy.c) and calls it, closes it again (CLOSE), or is linked with it (LINKED). Says
 * what dlsym finds, by the names that follow "names". SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 4 }; /* what the first one finds is remembered */

#ifdef LINKED
int run_it(void);
int wait_for_it(void);
#endif

typedef int function(void);

static int call(void *library, const char *name)
{
    function *const found = (function *)(uintptr_t)dlsym(library, name);
    return found != NULL ? found() : -1;
}

static void *call_plugin(const char *path)
{
    const int how = getenv("LAZY") != NULL ? RTLD_LAZY : RTLD_NOW;
    void *library = dlopen(path, how | RTLD_LOCAL);
    if (library == NULL) {
        printf("%s\n", dlerror());
        exit(1);
    }
    for (int round = 0; round < ROUNDS; round++)
        printf("%d %d\n", call(library, "run_it"), call(library, "wait_for_it"));
    return library;
}

int main(int count, char **arguments)
{
    if (count > 1 && strcmp(arguments[1], "names") == 0) {
        for (int at = 2; at < count; at++)
            printf("%s %d\n", arguments[at], dlsym(RTLD_DEFAULT, arguments[at]) != NULL);
        return 0;
    }
#ifdef LINKED
    for (int round = 0; round < ROUNDS; round++)
        printf("%d %d\n", run_it(), wait_for_it());
#endif
    for (int at = 1; at < count; at++) {
        void *library = call_plugin(arguments[at]);
        if (getenv("CLOSE") != NULL)
            dlclose(library);
    }
    return 0;
}
