/*
 * The event loop that a thread is in, by a function of a library that runs one (loop_hooks.c): what that library waits for meanwhile is this
 * loop's (wait_hooks.c). SPDX-License-Identifier: MIT
 */
#ifndef HP_ALLOC_LOOP_BOUNDS_H
#define HP_ALLOC_LOOP_BOUNDS_H

#include <stdbool.h>
#include <stdint.h>

#include "hotpath.h"

struct hp_loop_bounds {
    struct hotpath_loop_ loop; /* without a site: none */
    uintptr_t stack;           /* where it was called: a jump may have left it */
    uintptr_t from, size;      /* the code of the library */
};

extern __thread struct hp_loop_bounds hp_loop_bounds
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Whether a wait that is called from there is that of the loop. */
static inline bool hp_loop_has(const struct hp_loop_bounds *bounds, const void *caller, uintptr_t stack)
{
    return bounds->loop.site != NULL && (uintptr_t)caller - bounds->from < bounds->size && stack < bounds->stack;
}

#endif
