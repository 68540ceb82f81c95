/*
 * Interposed functions of the C library: a table of the real ones, by name, and how they are found and called.
 *
 *     static struct { HP_BEHIND_US(read); } next;
 *     static void find_next(void) { HP_FIND(read); }
 *     ... HP_IS_THERE(read) ? next.read(fd, bytes, size) : ...
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_ALLOC_REAL_FUNCTIONS_H
#define HP_ALLOC_REAL_FUNCTIONS_H

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>

#include "resolve.h"

#define HP_PUBLIC __attribute__((visibility("default")))

typedef void hp_any_function(void);

static inline void hp_resolve_one(hp_any_function **function, const char *name)
{
    hp_any_function *const found = (hp_any_function *)(uintptr_t)hp_resolve_symbol(name);
    __atomic_store_n(function, found, __ATOMIC_RELAXED);
}

#define HP_BEHIND_US(name) __typeof__(name) *name
#define HP_FIND(name) hp_resolve_one((hp_any_function **)(void *)&next.name, #name)
#define HP_IS_THERE(name) (__atomic_load_n(&next.name, __ATOMIC_RELAXED) != NULL)

/*
 * Calls `find`, which looks them up. Done early: the dynamic linker may hold a lock that a forked child would wait
 * for forever. What it allocates for the text of an error is not counted as the program's.
 */
static inline void hp_resolve_all(void (*find)(void))
{
    const int saved = errno;
    const uintptr_t around = hp_inside;
    hp_inside = HP_INSIDE_OURSELVES;
    find();
    dlerror();
    hp_inside = around;
    errno = saved;
}

static inline int hp_no_such_function(void)
{
    errno = ENOSYS;
    return -1;
}

#endif
