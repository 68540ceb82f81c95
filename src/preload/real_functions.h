/*
 * Interposed functions of the C library: a table of the real ones, by name, and how they are found and called.
 *
 *     static struct { HP_BEHIND_US(read); } next;
 *     static void find_next(void) { HP_FIND(read); }
 *     ... HP_IS_THERE(read) ? next.read(fd, bytes, size) : ...
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_PRELOAD_REAL_FUNCTIONS_H
#define HP_PRELOAD_REAL_FUNCTIONS_H

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>

#include "loaded_function.h"
#include "resolve.h"

#define HP_PUBLIC __attribute__((visibility("default")))

typedef void hp_any_function(void);

/* As dlsym(RTLD_NEXT), which costs more: the library is loaded into every process of a run. */
static inline void hp_resolve_one(hp_any_function **function, const char *name)
{
    const uintptr_t known = hp_resolve_has_sanitizer() ? 0 : hp_loaded_next(name);
    const uintptr_t found = known != 0 ? known : (uintptr_t)hp_resolve_symbol(name);
    __atomic_store_n(function, (hp_any_function *)found, __ATOMIC_RELAXED);
}

#define HP_BEHIND_US(name) __typeof__(name) *name
#define HP_FIND(name) hp_resolve_one((hp_any_function **)(void *)&next.name, #name)
#define HP_IS_THERE(name) (__atomic_load_n(&next.name, __ATOMIC_RELAXED) != NULL)

/*
 * Calls `find`, which looks them up. Done once, by a constructor or by a hook that is called before: a handler must
 * not ask the dynamic linker, nor may a hook on a small stack, and a forked child would wait forever for a lock
 * that another thread held. What the dynamic linker allocates for the text of an error is not the program's.
 */
static inline void hp_resolve_all(void (*find)(void))
{
    static uint32_t is_done; /* one for each file that includes this */
    if (__atomic_load_n(&is_done, __ATOMIC_ACQUIRE) != 0)
        return;
    const int saved = errno;
    hp_resolve_next(); /* tells whether there is a sanitizer */
    const uintptr_t around = hp_inside;
    hp_inside = HP_INSIDE_OURSELVES;
    find();
    dlerror();
    hp_inside = around;
    errno = saved;
    __atomic_store_n(&is_done, 1, __ATOMIC_RELEASE);
}

static inline int hp_no_such_function(void)
{
    errno = ENOSYS;
    return -1;
}

#endif
