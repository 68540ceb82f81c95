/* Loads libdw, the debug information reader of elfutils. SPDX-License-Identifier: MIT */
#include "libdw.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

#define LIBRARY "libdw.so.1"

static bool find_all(struct hp_libdw *libdw)
{
    void *handle = dlopen(LIBRARY, RTLD_LAZY | RTLD_LOCAL);
    if (handle == NULL)
        return false;
#define HP_LIBDW_FIND(name)                                                                                        \
    *(void **)&libdw->name = dlsym(handle, #name);                                                                 \
    if (libdw->name == NULL)                                                                                       \
        return false;
    HP_LIBDW_FUNCTIONS(HP_LIBDW_FIND)
#undef HP_LIBDW_FIND
    return true;
}

const struct hp_libdw *hp_libdw_get(void)
{
    static struct hp_libdw libdw;
    static bool is_tried, is_found;
    if (!is_tried)
        is_found = find_all(&libdw);
    is_tried = true;
    return is_found ? &libdw : NULL;
}
