/*
 * At process start: finds out whether the program's allocations reach us, and whether anyone wants them counted. If
 * not, calls are only forwarded. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hook_entries.h"
#include "preload.h"
#include "real_alloc.h"
#include "resolve.h"

/* ------------------------------------------------------------------------------------------------ not reporting */

static void no_allocated(const void *block, size_t asked, size_t usable, uintptr_t stack)
{
    (void)block, (void)asked, (void)usable, (void)stack;
}

static void no_freed(const void *block, size_t usable, uintptr_t stack) { (void)block, (void)usable, (void)stack; }

static void no_reallocated(int was_foreign, size_t old_usable, const void *block, size_t asked, size_t usable,
                           uintptr_t stack)
{
    (void)was_foreign, (void)old_usable, (void)block, (void)asked, (void)usable, (void)stack;
}

static void no_failed(void) {}

static size_t no_size(void *block)
{
    (void)block;
    return 0;
}

static uint32_t is_aside;
static uint32_t is_asked; /* a request that came during the lookup */
static hp_real_usable_size *real_size;

static size_t size_later(void *block)
{
    hp_real_usable_size *const size = __atomic_load_n(&real_size, __ATOMIC_RELAXED);
    return size != NULL ? size(block) : 0;
}

void hp_yield_if_asked(void)
{
    if (__atomic_load_n(&is_asked, __ATOMIC_RELAXED) != 0)
        hotpath_v1_alloc_yield();
}

/*
 * The dynamic linker allocates for us during the lookup, through the copy in front of us, which asks us to step
 * aside in the middle of it.
 */
hp_real_usable_size *hotpath_v1_alloc_yield(void)
{
    if (!hp_resolve_next()) {
        __atomic_store_n(&is_asked, 1, __ATOMIC_RELAXED);
        return size_later;
    }
    if (__atomic_exchange_n(&is_aside, 1, __ATOMIC_RELAXED) != 0)
        return __atomic_load_n(&real_size, __ATOMIC_RELAXED);
    __atomic_store_n(&real_size, HP_NEXT(usable_size), __ATOMIC_RELAXED);
    __atomic_store_n(&hp_real_alloc.allocated, no_allocated, __ATOMIC_RELAXED);
    __atomic_store_n(&hp_real_alloc.freed, no_freed, __ATOMIC_RELAXED);
    __atomic_store_n(&hp_real_alloc.reallocated, no_reallocated, __ATOMIC_RELAXED);
    __atomic_store_n(&hp_real_alloc.failed, no_failed, __ATOMIC_RELAXED);
    __atomic_store_n(&hp_real_alloc.has_heads, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&hp_real_alloc.usable_size, no_size, __ATOMIC_RELAXED);
    hp_pass_on(1);
    return __atomic_load_n(&real_size, __ATOMIC_RELAXED);
}

/* -------------------------------------------------------------------------------------------- do calls reach us */

static __typeof__(hp_real_alloc.malloc) real_malloc;
static bool was_called;

static void *note_the_call(size_t size)
{
    if (hp_inside == HP_INSIDE_OURSELVES) /* else it is another thread's call */
        was_called = true;
    return real_malloc(size);
}

/*
 * A program with its own malloc, or a library in front of us, may never call ours. What the C library calls is what
 * everyone calls, so make it allocate: strdup allocates through the dynamic linker. A few bytes of another malloc
 * are left: before main it may not be ready to free them.
 */
static bool is_called(void)
{
    char *(*volatile copy)(const char *) = strdup;
    void (*volatile release)(void *) = free; /* the process-wide one, which need not be ours */
    const uintptr_t around = hp_inside;
    real_malloc = HP_NEXT(malloc);
    __atomic_store_n(&hp_real_alloc.malloc, note_the_call, __ATOMIC_RELEASE);
    hp_inside = HP_INSIDE_OURSELVES;
    char *const block = copy("a few bytes");
    if (was_called)
        release(block);
    hp_inside = around; /* NOLINT(clang-analyzer-unix.Malloc): what is another's is left */
    __atomic_store_n(&hp_real_alloc.malloc, real_malloc, __ATOMIC_RELAXED);
    return was_called;
}

/* ------------------------------------------------------------------------------------------------- the decision */

static const char *reason_to_keep_out(void)
{
    if (hp_resolve_has_sanitizer())
        return HOTPATH_ALLOC_SANITIZED_;
    if (!is_called())
        return "hotpath: the program or one of its libraries has its own malloc; allocations are not counted";
    return NULL;
}

static void decide(void)
{
    if (hp_preload_is_for_children())
        hp_preload_note();
    else
        hp_preload_end_here();
    if (__atomic_load_n(&is_aside, __ATOMIC_RELAXED) != 0 && !hp_resolve_has_sanitizer())
        return;
    const char *reason = reason_to_keep_out();
    if (reason == NULL) {
        hotpath_v1_alloc_is_watched();
        hotpath_v1_alloc_switch(hp_pass_on);
        return;
    }
    hotpath_v1_alloc_yield();
    hotpath_v1_alloc_is_not_watched(reason, hp_preload_is_asked_for());
}

/* After the recorder's constructor, which is 101. */
__attribute__((constructor(102))) static void begin_to_watch(void)
{
    const int saved = errno;
    hp_resolve_next();
    const uintptr_t around = hp_inside;
    hp_inside = HP_INSIDE_OURSELVES; /* what the dynamic linker allocates for us is not the program's */
    decide();
    dlerror(); /* clears the error of the lookup */
    hp_inside = around;
    errno = saved;
}
