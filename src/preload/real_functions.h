/*
 * Interposed functions of the C library: a table of the real ones, by name, and how they are found and called.
 * Those of other libraries: below.
 *
 *     #define EACH(DO, AS) DO(read) DO(write) AS(sendto, send_to)
 *     HP_REAL_FUNCTIONS(EACH)
 *     __attribute__((constructor)) static void find_next(void) { hp_resolve_all(find_each); }
 *     ... HP_NEED(read); ... HP_CALL(read, fd, bytes, size) ...
 *
 * AS is for those that headers declare with other types: the second name has that of the hook.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_PRELOAD_REAL_FUNCTIONS_H
#define HP_PRELOAD_REAL_FUNCTIONS_H

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "loaded_function.h"
#include "resolve.h"

#define HP_PUBLIC __attribute__((visibility("default")))

typedef void hp_any_function(void);

#ifdef HOTPATH_LOCKS_WRAP
/*
 * In static programs: the linker calls them __real_NAME, if it was told to wrap NAME. All of them are in the
 * archive of the C library, whatever the program calls itself. Other C libraries lack those that we declare; for
 * the others a weak reference would not do: it takes nothing out of an archive.
 */
#ifdef __GLIBC__
#define HP_REAL_IF_THERE_
#else
#define HP_REAL_IF_THERE_ __attribute__((weak))
#endif
#define HP_REAL_(name) extern __typeof__(name) __real_##name;
#define HP_REAL_AS_(name, hook) extern __typeof__(hook) __real_##name HP_REAL_IF_THERE_;
#define HP_BEHIND_US_(name) __typeof__(name) *name;
#define HP_BEHIND_US_AS_(name, hook) __typeof__(hook) *name;
#define HP_IS_(name) .name = __real_##name,
#define HP_IS_AS_(name, hook) HP_IS_(name)
#define HP_REAL_FUNCTIONS(each)                                                                                    \
    each(HP_REAL_, HP_REAL_AS_) static struct {                                                                    \
        each(HP_BEHIND_US_, HP_BEHIND_US_AS_)                                                                      \
    } next = {each(HP_IS_, HP_IS_AS_)};                                                                            \
    static void find_each(void) {}
static inline void hp_resolve_all(void (*find)(void)) { find(); }
#else
/* As dlsym(RTLD_NEXT), which costs more: the library is loaded into every process of a run. */
static inline void hp_resolve_one(hp_any_function **function, const char *name)
{
    const uintptr_t known = hp_resolve_has_sanitizer() ? 0 : hp_loaded_next(name);
    const uintptr_t found = known != 0 ? known : (uintptr_t)hp_resolve_symbol(name);
    __atomic_store_n(function, (hp_any_function *)found, __ATOMIC_RELAXED);
}

#define HP_BEHIND_US_(name) __typeof__(name) *name;
#define HP_BEHIND_US_AS_(name, hook) __typeof__(hook) *name;
#define HP_FIND_(name) hp_resolve_one((hp_any_function **)(void *)&next.name, #name);
#define HP_FIND_AS_(name, hook) HP_FIND_(name)
/* Defines `next`, the table, and `find_each`, which fills it. */
#define HP_REAL_FUNCTIONS(each)                                                                                    \
    static struct {                                                                                                \
        each(HP_BEHIND_US_, HP_BEHIND_US_AS_)                                                                      \
    } next;                                                                                                        \
    static void find_each(void) { each(HP_FIND_, HP_FIND_AS_) }
#endif

#define HP_IS_THERE(name) (__atomic_load_n(&next.name, __ATOMIC_RELAXED) != NULL)
#define HP_NEED(name)                                                                                              \
    if (__builtin_expect(!HP_IS_THERE(name), 0))                                                                   \
    find_next()
#define HP_CALL(name, ...) (HP_IS_THERE(name) ? next.name(__VA_ARGS__) : hp_no_such_function())

#ifndef HOTPATH_LOCKS_WRAP
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
#endif

static inline int hp_no_such_function(void)
{
    errno = ENOSYS;
    return -1;
}

/* --------------------------------------------------------------------------------- functions of other libraries */

/*
 * A process may have several copies of such a library, as
 * plugins with their own, and libraries come and go. A hook passes each call on to the function that the calling
 * image is bound to.
 */

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
/* The function of the library that another function of it is in. */
bool hp_bound_beside(struct hp_bound_function *wanted, uintptr_t other, struct hp_loaded_function *ret_function);

/*
 * Called before a process creates threads or changes its user, root or namespaces, in addition to hotpath_v1_begin:
 * for hooks that make a file of their own. Set by a constructor; NULL: nothing to do.
 */
extern void (*hp_begin_more)(void) __attribute__((visibility("hidden")));
static inline void hp_begin_early(void)
{
    if (hp_begin_more != NULL)
        hp_begin_more();
}

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
