/*
 * malloc and its kin, as the program calls them: each passes the call on to the allocator (next.h) and tells the recorder what
 * became of it. With HOTPATH_ALLOC_WRAP they have the names that the linker's --wrap gives them.
 *
 * errno is what the allocator left there. A block's size is what the allocator says (malloc_usable_size), read while
 * the block is there: after an allocation, before a free. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "allocations.h"
#include "early.h"
#include "heads.h"
#include "hotpath.h"
#include "next.h"

#ifdef HOTPATH_ALLOC_WRAP
#define HP_FAMILY(name) __wrap_##name
void *__wrap_malloc(size_t size);
void __wrap_free(void *block);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_reallocarray(void *block, size_t count, size_t size);
int __wrap_posix_memalign(void **ret_block, size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void *__wrap_memalign(size_t alignment, size_t size);
void *__wrap_valloc(size_t size);
void *__wrap_pvalloc(size_t size);
#else
#define HP_FAMILY(name) name
#endif

/* C23; headers may not have them yet. */
void HP_FAMILY(free_sized)(void *block, size_t size);
void HP_FAMILY(free_aligned_sized)(void *block, size_t alignment, size_t size);

#define EXPORTED __attribute__((visibility("default"), noinline))
#define INLINED inline __attribute__((always_inline))
#define RARELY(condition) __builtin_expect(!!(condition), 0)

/* Whether the allocator that works for one of our functions calls another one. */
static INLINED bool is_nested(uintptr_t stack) { return stack < hp_inside; }

/* Calls the allocator with what it calls meanwhile left out. */
#define CALL_ALONE(stack, result, call)                                                                            \
    do {                                                                                                           \
        const uintptr_t around_it = hp_inside;                                                                     \
        hp_inside = (stack);                                                                                       \
        (result) = (call);                                                                                         \
        hp_inside = around_it;                                                                                     \
    } while (0)

/* ------------------------------------------------------------------------------------------------ what is told */

static INLINED void *tell_allocated(void *block, size_t asked, uintptr_t stack)
{
    if (RARELY(block == NULL)) {
        if (asked != 0)
            HP_NEXT(failed)();
        return NULL;
    }
    HP_NEXT(allocated)(block, asked, hp_usable_size(block), stack);
    return block;
}

/* A block of another allocator than malloc's cannot be asked for its size, and is not malloc's. */
static INLINED void *tell_aligned(void *block, size_t asked, uint32_t function, uintptr_t stack)
{
    return HP_NEXT(strangers) & function ? block : tell_allocated(block, asked, stack);
}

/* ------------------------------------------------------------------------------------------------------ malloc */

EXPORTED void *HP_FAMILY(malloc)(size_t size)
{
    const uintptr_t stack = HP_STACK_PLACE();
    void *block = HP_NEXT(malloc)(size);
    return RARELY(is_nested(stack)) ? block : tell_allocated(block, size, stack);
}

EXPORTED void *HP_FAMILY(calloc)(size_t count, size_t size)
{
    const uintptr_t stack = HP_STACK_PLACE();
    void *block;
    if (RARELY(is_nested(stack)))
        return HP_NEXT(calloc)(count, size);
    CALL_ALONE(stack, block, HP_NEXT(calloc)(count, size));
    return tell_allocated(block, block != NULL ? count * size : 1, stack);
}

/* -------------------------------------------------------------------------------------------------------- free */

static INLINED void release(void *block, uintptr_t stack)
{
    if (RARELY(block == NULL || hp_early_has(block)))
        return;
    if (!RARELY(is_nested(stack)))
        HP_NEXT(freed)(block, hp_usable_size(block), stack);
    HP_NEXT(free)(block);
}

EXPORTED void HP_FAMILY(free)(void *block) { release(block, HP_STACK_PLACE()); }

/*
 * Those that another one does the work of call it by its name, as the C library does: an allocator in front of us that has
 * not got these gets what is its own.
 */
EXPORTED void HP_FAMILY(free_sized)(void *block, size_t size)
{
    (void)size;
    HP_FAMILY(free)(block);
}

EXPORTED void HP_FAMILY(free_aligned_sized)(void *block, size_t alignment, size_t size)
{
    (void)alignment, (void)size;
    HP_FAMILY(free)(block);
}

/* ----------------------------------------------------------------------------------------------------- realloc */

static void *move_early(const void *block, size_t size, uintptr_t stack)
{
    const size_t old_size = hp_early_size(block);
    void *moved = HP_NEXT(malloc)(size);
    if (moved != NULL)
        memcpy(moved, block, old_size < size ? old_size : size);
    return is_nested(stack) ? moved : tell_allocated(moved, size, stack);
}

/* To no bytes: some allocators free the block and have nothing to return, for others that is a failure. */
static void *resize_to_nothing(void *block, uintptr_t stack)
{
    const int saved = errno;
    const size_t old_usable = hp_usable_size(block);
    const int was_foreign = hotpath_v1_is_foreign(block);
    void *resized;
    errno = 0;
    CALL_ALONE(stack, resized, HP_NEXT(realloc)(block, 0));
    if (resized != NULL)
        HP_NEXT(reallocated)(was_foreign, old_usable, resized, 0, hp_usable_size(resized), stack);
    else if (errno == ENOMEM)
        HP_NEXT(failed)();
    else
        HP_NEXT(freed)(block, old_usable, stack);
    if (errno == 0)
        errno = saved;
    return resized;
}

static INLINED void *resize(void *block, size_t size, uintptr_t stack)
{
    void *resized;
    if (RARELY(hp_early_has(block)))
        return move_early(block, size, stack);
    if (RARELY(is_nested(stack)))
        return HP_NEXT(realloc)(block, size);
    if (block == NULL) {
        CALL_ALONE(stack, resized, HP_NEXT(realloc)(NULL, size));
        return tell_allocated(resized, size, stack);
    }
    if (RARELY(size == 0))
        return resize_to_nothing(block, stack);
    const size_t old_usable = hp_usable_size(block);
    const int was_foreign = hotpath_v1_is_foreign(block);
    CALL_ALONE(stack, resized, HP_NEXT(realloc)(block, size));
    if (RARELY(resized == NULL)) {
        HP_NEXT(failed)();
        return NULL;
    }
    HP_NEXT(reallocated)(was_foreign, old_usable, resized, size, hp_usable_size(resized), stack);
    return resized;
}

EXPORTED void *HP_FAMILY(realloc)(void *block, size_t size) { return resize(block, size, HP_STACK_PLACE()); }

EXPORTED void *HP_FAMILY(reallocarray)(void *block, size_t count, size_t size)
{
    size_t bytes;
    if (RARELY(__builtin_mul_overflow(count, size, &bytes))) {
        HP_NEXT(failed)();
        errno = ENOMEM;
        return NULL;
    }
    return HP_FAMILY(realloc)(block, bytes);
}

/* ---------------------------------------------------------------------------------------------------- alignment */

EXPORTED int HP_FAMILY(posix_memalign)(void **ret_block, size_t alignment, size_t size)
{
    const uintptr_t stack = HP_STACK_PLACE();
    int status;
    if (RARELY(is_nested(stack)))
        return HP_NEXT(posix_memalign)(ret_block, alignment, size);
    CALL_ALONE(stack, status, HP_NEXT(posix_memalign)(ret_block, alignment, size));
    tell_aligned(status == 0 ? *ret_block : NULL, size, HP_NEXT_POSIX_MEMALIGN, stack);
    return status;
}

EXPORTED void *HP_FAMILY(aligned_alloc)(size_t alignment, size_t size)
{
    const uintptr_t stack = HP_STACK_PLACE();
    void *block;
    if (RARELY(is_nested(stack)))
        return HP_NEXT(aligned_alloc)(alignment, size);
    CALL_ALONE(stack, block, HP_NEXT(aligned_alloc)(alignment, size));
    return tell_aligned(block, size, HP_NEXT_ALIGNED_ALLOC, stack);
}

EXPORTED void *HP_FAMILY(memalign)(size_t alignment, size_t size)
{
    const uintptr_t stack = HP_STACK_PLACE();
    void *block;
    if (RARELY(is_nested(stack)))
        return HP_NEXT(memalign)(alignment, size);
    CALL_ALONE(stack, block, HP_NEXT(memalign)(alignment, size));
    return tell_aligned(block, size, HP_NEXT_MEMALIGN, stack);
}

EXPORTED void *HP_FAMILY(valloc)(size_t size)
{
    const uintptr_t stack = HP_STACK_PLACE();
    void *block;
    if (RARELY(is_nested(stack)))
        return HP_NEXT(valloc)(size);
    CALL_ALONE(stack, block, HP_NEXT(valloc)(size));
    return tell_aligned(block, size, HP_NEXT_VALLOC, stack);
}

#ifdef __GLIBC__ /* others do not have it, and programs may ask */
EXPORTED void *HP_FAMILY(pvalloc)(size_t size)
{
    const uintptr_t stack = HP_STACK_PLACE();
    void *block;
    if (RARELY(is_nested(stack)))
        return HP_NEXT(pvalloc)(size);
    CALL_ALONE(stack, block, HP_NEXT(pvalloc)(size));
    return tell_aligned(block, size, HP_NEXT_PVALLOC, stack);
}
#endif
