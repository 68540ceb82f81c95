/* Loads libmicrohttpd. SPDX-License-Identifier: MIT */
#include "microhttpd.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

#define LIBRARY "libmicrohttpd.so.12"

static bool find_all(struct hp_microhttpd *library)
{
    void *handle = dlopen(LIBRARY, RTLD_LAZY | RTLD_LOCAL);
    if (handle == NULL)
        return false;
#define HP_MICROHTTPD_FIND(name)                                                                                   \
    *(void **)&library->name = dlsym(handle, #name);                                                               \
    if (library->name == NULL)                                                                                     \
        return false;
    HP_MICROHTTPD_FUNCTIONS(HP_MICROHTTPD_FIND)
#undef HP_MICROHTTPD_FIND
    return true;
}

const struct hp_microhttpd *hp_microhttpd_get(void)
{
    static struct hp_microhttpd library;
    static bool is_tried, is_found;
    if (!is_tried)
        is_found = find_all(&library);
    is_tried = true;
    return is_found ? &library : NULL;
}
