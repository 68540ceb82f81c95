/*
 * Hooked functions of libraries other than the C library. A process may have several copies of such a library, as
 * plugins with their own, and libraries come and go. A hook passes each call on to the function that the calling
 * image is bound to. SPDX-License-Identifier: MIT
 */
#ifndef HP_PRELOAD_BOUND_FUNCTION_H
#define HP_PRELOAD_BOUND_FUNCTION_H

#include <stdbool.h>
#include <stdint.h>

#include "loaded_function.h"

#define HP_BOUND_SLOTS 4u

/* What calls from one image are bound to. Written by one thread at a time, read by all. */
struct hp_bound_slot {
    uint32_t sequence; /* odd: being written */
    uint32_t closed;   /* libraries that had been closed by then; other numbers: out of date */
    struct hp_loaded_answer answer;
};

/* A hooked function. Static, with its name. */
struct hp_bound_function {
    const char *name;
    uint32_t next; /* the slot that is written next */
    struct hp_bound_slot slots[HP_BOUND_SLOTS];
};

#define HP_BOUND(function)                                                                                         \
    {                                                                                                              \
        .name = (function)                                                                                         \
    }

/*
 * The function for a call with this return address and first argument. False: there is none; without us the caller
 * would not have found one.
 */
bool hp_bound_find(struct hp_bound_function *hooked, const void *caller, const void *argument,
                   struct hp_loaded_function *ret_function);

/* How often dlclose was called. Addresses of code that were noted before may be another library's now. */
extern uint32_t hp_closed_libraries __attribute__((visibility("hidden")));

/*
 * Declares the hook of a library's function, to be defined as hook_NAME. It catches calls, but dlsym does not find
 * it: a program that asks whether it has libuv gets the same answer as without us. glibc binds a call without a
 * version to a hidden symbol if its version is the first of its image (hotpath_alloc.map); dlsym finds no hidden
 * symbol. Other C libraries have no such rule: there the hook has its plain name.
 */
#ifdef __GLIBC__
#define HP_LIBRARY_HOOK(type, name, parameters)                                                                    \
    __attribute__((visibility("default"))) type hook_##name parameters;                                            \
    __asm__(".symver hook_" #name ", " #name "@HOTPATH_HOOKS")
/* The same for calls with a version. After the definition. */
#define HP_LIBRARY_HOOK_TOO(name, version)                                                                         \
    extern __attribute__((visibility("default"), alias("hook_" #name))) __typeof__(hook_##name) hook_too_##name;   \
    __asm__(".symver hook_too_" #name ", " #name "@" version)
#else
#define HP_LIBRARY_HOOK(type, name, parameters)                                                                    \
    __attribute__((visibility("default"))) type hook_##name parameters __asm__(#name)
#define HP_LIBRARY_HOOK_TOO(name, version) _Static_assert(1, "")
#endif

#endif
