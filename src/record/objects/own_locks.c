/*
 * HOTPATH_LOCK_NAME and its siblings: names of locks, and locks that a program makes itself. They are counted by
 * the hooks of `hotpath run --locks`, which are in another library than a program with libhotpath.a; so all copies
 * find them in the state that they share. SPDX-License-Identifier: MIT
 */
#include "hook_entries.h"
#include "runtime.h"

/* Of the function that calls this macro. */
#define CALLER()                                                                                                   \
    ((struct hotpath_lock_caller_){(uintptr_t)__builtin_return_address(0), (uintptr_t)__builtin_dwarf_cfa(),       \
                                   *(const uintptr_t *)__builtin_frame_address(0)})
#define PLAIN(lock) ((const void *)(uintptr_t)(lock))

static inline const struct hotpath_lock_hooks_ *find_hooks(void)
{
    return __atomic_load_n(&hp_runtime->lock_hooks, __ATOMIC_ACQUIRE);
}

void hotpath_v1_lock_name(const volatile void *lock, const char *name)
{
    const struct hotpath_lock_hooks_ *hooks = find_hooks();
    if (hooks != NULL)
        hooks->name(PLAIN(lock), name);
}

void hotpath_v1_lock_wait(const volatile void *lock, const char *name)
{
    const struct hotpath_lock_hooks_ *hooks = find_hooks();
    const struct hotpath_lock_caller_ caller = CALLER();
    if (hooks != NULL)
        hooks->wait(PLAIN(lock), name, &caller);
}

void hotpath_v1_lock_taken(const volatile void *lock)
{
    const struct hotpath_lock_hooks_ *hooks = find_hooks();
    const struct hotpath_lock_caller_ caller = CALLER();
    if (hooks != NULL)
        hooks->taken(PLAIN(lock), &caller);
}

void hotpath_v1_lock_released(const volatile void *lock)
{
    const struct hotpath_lock_hooks_ *hooks = find_hooks();
    const struct hotpath_lock_caller_ caller = CALLER();
    if (hooks != NULL)
        hooks->released(PLAIN(lock), &caller);
}
