/*
 * Loads a library twice that runs a loop through another one, which it loads as a private dependency.
 * SPDX-License-Identifier: MIT
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

int main(int count, char **arguments)
{
    for (int at = 0; at < 2; at++) {
        void *library = count > 1 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : NULL;
        typedef int main_function(int count, char **arguments);
        main_function *const run_loop =
            library != NULL ? (main_function *)(uintptr_t)dlsym(library, "run_loop") : NULL;
        if (run_loop == NULL) {
            puts(dlerror());
            return 1;
        }
        run_loop(1, arguments);
        dlclose(library);
    }
    return 0;
}
