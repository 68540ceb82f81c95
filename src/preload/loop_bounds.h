/*
 * The event loop that a thread runs through a function of a library (loop_hooks.c): waits called by that library
 * meanwhile belong to this loop (wait_hooks.c). SPDX-License-Identifier: MIT
 */
#ifndef HP_PRELOAD_LOOP_BOUNDS_H
#define HP_PRELOAD_LOOP_BOUNDS_H

#include <stdbool.h>
#include <stdint.h>

#include "hook_entries.h"
#include "loaded_function.h"

struct hp_loop_bounds {
    struct hotpath_loop_ loop;      /* without a site: no loop */
    uintptr_t stack;                /* stack address of the call: a jump may have left it */
    struct hp_loaded_range library; /* its code */
};

extern __thread struct hp_loop_bounds hp_loop_bounds
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Whether a wait called from there belongs to the loop. */
static inline bool hp_loop_has(const struct hp_loop_bounds *bounds, const void *caller, uintptr_t stack)
{
    return bounds->loop.site != NULL && hp_loaded_has(&bounds->library, (uintptr_t)caller) && stack < bounds->stack;
}

#endif
