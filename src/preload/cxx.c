/*
 * C++ new and delete. Those of the C++ library call malloc and free, and reach us that way. But jemalloc, tcmalloc
 * and mimalloc have their own, which do not, or only one of the two does. So these are interposed, too: calls are
 * forwarded, and reported if malloc would not report them, which is if the function is in the same image as malloc.
 *
 * Nothing here is C++: the functions have their mangled names. An exception may pass through, so nothing may need
 * cleanup. They are weak: a program may have its own. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>

#include "hook_entries.h"
#include "real_alloc.h"
#include "resolve.h"

#if __SIZEOF_SIZE_T__ == 8
#define SIZE_NAME "m"
#else
#define SIZE_NAME "j"
#endif

/* Arguments beyond the first differ; functions ignore those they do not have. */
typedef void *new_function(size_t size, uintptr_t second, uintptr_t third);
typedef void delete_function(void *block, uintptr_t second, uintptr_t third);

/* One of the real functions. */
struct behind {
    const char *name;
    void *function; /* NULL: not looked up yet */
    bool is_told;   /* reported by us, since it does not call malloc or free */
};

/* ---------------------------------------------------------------------------------------------- fallbacks */

/* There is no C++ library that could throw an exception. */
static void *plain_new(size_t size, uintptr_t second, uintptr_t third)
{
    (void)second, (void)third;
    void *block = malloc(size != 0 ? size : 1);
    if (block == NULL)
        abort();
    return block;
}

static void *plain_new_nothrow(size_t size, uintptr_t second, uintptr_t third)
{
    (void)second, (void)third;
    return malloc(size != 0 ? size : 1);
}

static void *plain_new_aligned_nothrow(size_t size, uintptr_t alignment, uintptr_t third)
{
    (void)third;
    void *block = NULL;
    return posix_memalign(&block, alignment < sizeof block ? sizeof block : alignment, size) == 0 ? block : NULL;
}

static void *plain_new_aligned(size_t size, uintptr_t alignment, uintptr_t third)
{
    void *block = plain_new_aligned_nothrow(size, alignment, third);
    if (block == NULL)
        abort();
    return block;
}

static void plain_delete(void *block, uintptr_t second, uintptr_t third)
{
    (void)second, (void)third;
    free(block);
}

/* ------------------------------------------------------------------------------------------------- lookup */

/* The C++ library may be loaded by a plugin only, where the usual search does not find it. */
static void *look_among_hidden(const char *name)
{
    static const char *const libraries[] = {"libstdc++.so.6", "libc++.so.1", "libc++abi.so.1"};
    void *function = NULL;
    for (size_t at = 0; at < sizeof libraries / sizeof libraries[0] && function == NULL; at++) {
        /* Never closed: it must not be unloaded now. */
        void *library = dlopen(libraries[at], RTLD_LAZY | RTLD_NOLOAD);
        if (library != NULL)
            function = dlsym(library, name);
    }
    return function;
}

/* Converts between function and data pointers by way of an integer, the only way in ISO C. */
#define FUNCTION(type, address) ((type *)(uintptr_t)(address))
#define ADDRESS(function) ((void *)(uintptr_t)(function))

struct search {
    struct behind *behind;
    void *function; /* NULL: not found */
};

static void look(void *context)
{
    struct search *search = context;
    const uintptr_t around = hp_inside;
    hp_inside = HP_INSIDE_OURSELVES;
    search->function = hp_resolve_symbol(search->behind->name);
    const bool is_told = search->function != NULL && hp_resolve_is_of_allocator(search->function);
    if (search->function == NULL)
        search->function = look_among_hidden(search->behind->name);
    hp_inside = around;
    __atomic_store_n(&search->behind->is_told, is_told, __ATOMIC_RELAXED);
}

/* The dynamic linker takes more stack than a coroutine may have. */
static __attribute__((noinline)) void *find(struct behind *behind, void *otherwise)
{
    struct search search = {behind, NULL};
    if (!hotpath_v1_aside(look, &search))
        look(&search);
    void *const function = search.function != NULL ? search.function : otherwise;
    __atomic_store_n(&behind->function, function, __ATOMIC_RELEASE);
    return function;
}

static inline void *found(struct behind *behind, void *otherwise)
{
    void *function = __atomic_load_n(&behind->function, __ATOMIC_ACQUIRE);
    return __builtin_expect(function != NULL, 1) ? function : find(behind, otherwise);
}

/* ----------------------------------------------------------------------------------------------- new and delete */

static inline bool is_told(const struct behind *behind, uintptr_t stack)
{
    return __atomic_load_n(&behind->is_told, __ATOMIC_RELAXED) && HP_NEXT(passes_on) == 0 && stack >= hp_inside;
}

static inline void *call_new(struct behind *behind, new_function *otherwise, size_t size, uintptr_t second,
                             uintptr_t third, uintptr_t stack)
{
    void *block = FUNCTION(new_function, found(behind, ADDRESS(otherwise)))(size, second, third);
    if (!is_told(behind, stack))
        return block;
    if (block != NULL)
        HP_NEXT(allocated)(block, size, HP_NEXT(usable_size)(block), stack);
    else
        HP_NEXT(failed)();
    return block;
}

static inline void call_delete(struct behind *behind, void *block, uintptr_t second, uintptr_t third,
                               uintptr_t stack)
{
    delete_function *function = FUNCTION(delete_function, found(behind, ADDRESS(plain_delete)));
    if (block == NULL || !is_told(behind, stack)) {
        function(block, second, third);
        return;
    }
    const uintptr_t around = hp_inside;
    HP_NEXT(freed)(block, HP_NEXT(usable_size)(block), stack);
    hp_inside = stack; /* some call free; none throws */
    function(block, second, third);
    hp_inside = around;
}

#define WEAK __attribute__((visibility("default"), weak, noinline))

/* `symbol` is the mangled name, `name` ours. */
#define NEW(name, symbol, otherwise)                                                                               \
    WEAK void *hotpath_v1_##name(size_t size, uintptr_t second, uintptr_t third) __asm__(symbol);                  \
    void *hotpath_v1_##name(size_t size, uintptr_t second, uintptr_t third)                                        \
    {                                                                                                              \
        static struct behind behind = {symbol, NULL, false};                                                       \
        return call_new(&behind, otherwise, size, second, third, HP_STACK_PLACE());                                \
    }                                                                                                              \
    _Static_assert(1, "ends with a semicolon")

#define DELETE(name, symbol)                                                                                       \
    WEAK void hotpath_v1_##name(void *block, uintptr_t second, uintptr_t third) __asm__(symbol);                   \
    void hotpath_v1_##name(void *block, uintptr_t second, uintptr_t third)                                         \
    {                                                                                                              \
        static struct behind behind = {symbol, NULL, false};                                                       \
        call_delete(&behind, block, second, third, HP_STACK_PLACE());                                              \
    }                                                                                                              \
    _Static_assert(1, "ends with a semicolon")

#define NOTHROW "RKSt9nothrow_t"
#define ALIGNED "St11align_val_t"

NEW(new_one, "_Znw" SIZE_NAME, plain_new);
NEW(new_array, "_Zna" SIZE_NAME, plain_new);
NEW(new_one_nothrow, "_Znw" SIZE_NAME NOTHROW, plain_new_nothrow);
NEW(new_array_nothrow, "_Zna" SIZE_NAME NOTHROW, plain_new_nothrow);
NEW(new_one_aligned, "_Znw" SIZE_NAME ALIGNED, plain_new_aligned);
NEW(new_array_aligned, "_Zna" SIZE_NAME ALIGNED, plain_new_aligned);
NEW(new_one_aligned_nothrow, "_Znw" SIZE_NAME ALIGNED NOTHROW, plain_new_aligned_nothrow);
NEW(new_array_aligned_nothrow, "_Zna" SIZE_NAME ALIGNED NOTHROW, plain_new_aligned_nothrow);

DELETE(delete_one, "_ZdlPv");
DELETE(delete_array, "_ZdaPv");
DELETE(delete_one_sized, "_ZdlPv" SIZE_NAME);
DELETE(delete_array_sized, "_ZdaPv" SIZE_NAME);
DELETE(delete_one_nothrow, "_ZdlPv" NOTHROW);
DELETE(delete_array_nothrow, "_ZdaPv" NOTHROW);
DELETE(delete_one_aligned, "_ZdlPv" ALIGNED);
DELETE(delete_array_aligned, "_ZdaPv" ALIGNED);
DELETE(delete_one_sized_aligned, "_ZdlPv" SIZE_NAME ALIGNED);
DELETE(delete_array_sized_aligned, "_ZdaPv" SIZE_NAME ALIGNED);
DELETE(delete_one_aligned_nothrow, "_ZdlPv" ALIGNED NOTHROW);
DELETE(delete_array_aligned_nothrow, "_ZdaPv" ALIGNED NOTHROW);
