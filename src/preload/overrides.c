/*
 * Interposed malloc and its siblings: each forwards the call to the real allocator (real_alloc.h) and reports the
 * result to the recorder. With HOTPATH_ALLOC_WRAP they have the names that the linker's --wrap expects.
 *
 * errno is what the allocator left. A block's size is what the allocator says (malloc_usable_size), read while the
 * block exists: after an allocation, before a free. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "hook_entries.h"
#include "real_alloc.h"

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

/* C23; missing in older headers. */
void HP_FAMILY(free_sized)(void *block, size_t size);
void HP_FAMILY(free_aligned_sized)(void *block, size_t alignment, size_t size);

#define EXPORTED __attribute__((visibility("default"), noinline))
#define INLINED inline __attribute__((always_inline))
#define RARELY(condition) __builtin_expect(!!(condition), 0)

/* Whether this call comes from the allocator itself, inside another call. */
static INLINED bool is_nested(uintptr_t stack) { return stack < hp_inside; }

/* The same, or allocations are not counted. */
static INLINED bool is_left_out(uintptr_t stack) { return is_nested(stack) || HP_NEXT(passes_on) != 0; }

/* Calls the allocator; its nested calls are not counted. */
#define CALL_ALONE(stack, result, call)                                                                            \
    do {                                                                                                           \
        const uintptr_t around_it = hp_inside;                                                                     \
        hp_inside = (stack);                                                                                       \
        (result) = (call);                                                                                         \
        hp_inside = around_it;                                                                                     \
    } while (0)

/* ---------------------------------------------------------------------------------------------------- reporting */

static INLINED void *tell_allocated_of(void *block, size_t asked, hp_real_usable_size *usable_size, uintptr_t stack)
{
    if (RARELY(block == NULL)) {
        if (asked != 0)
            HP_NEXT(failed)();
        return NULL;
    }
    HP_NEXT(allocated)(block, asked, usable_size(block), stack);
    return block;
}

static INLINED void *tell_allocated(void *block, size_t asked, uintptr_t stack)
{
    return tell_allocated_of(block, asked, hp_usable_size, stack);
}

/* A block of an allocator other than malloc's has no known size, and does not count as malloc's. */
static INLINED void *tell_aligned(void *block, size_t asked, uint32_t function, uintptr_t stack)
{
    return HP_NEXT(foreign_allocator) & function ? block : tell_allocated(block, asked, stack);
}

/* -------------------------------------------------------------------------------------------- malloc and free */

static INLINED void *allocate(size_t size, hp_real_usable_size *usable_size, uintptr_t stack)
{
    void *block = HP_NEXT(malloc)(size);
    return RARELY(is_nested(stack)) ? block : tell_allocated_of(block, size, usable_size, stack);
}

static INLINED void release(void *block, hp_real_usable_size *usable_size, uintptr_t stack)
{
    if (RARELY(block == NULL || hp_boot_heap_has(block)))
        return;
    if (!RARELY(is_nested(stack)))
        HP_NEXT(freed)(block, usable_size(block), stack);
    HP_NEXT(free)(block);
}

static void *count_malloc(size_t size) { return allocate(size, hp_usable_size, HP_STACK_PLACE()); }
static void count_free(void *block) { release(block, hp_usable_size, HP_STACK_PLACE()); }
static void *count_malloc_with_head(size_t size) { return allocate(size, hp_chunk_size, HP_STACK_PLACE()); }
static void count_free_with_head(void *block) { release(block, hp_chunk_size, HP_STACK_PLACE()); }

static void only_free(void *block)
{
    if (!RARELY(hp_boot_heap_has(block)))
        HP_NEXT(free)(block);
}

/*
 * Current targets of these two. A jump costs less than a check, since compilers save registers for the slow path
 * before the check. The stack address is the same after the jump.
 */
static struct {
    void *(*malloc)(size_t size);
    void (*free)(void *block);
} front = {count_malloc, count_free};

EXPORTED void *HP_FAMILY(malloc)(size_t size) { return __atomic_load_n(&front.malloc, __ATOMIC_RELAXED)(size); }
EXPORTED void HP_FAMILY(free)(void *block) { __atomic_load_n(&front.free, __ATOMIC_RELAXED)(block); }

static void set_front(void *(*allocate_so)(size_t size), void (*release_so)(void *block))
{
    __atomic_store_n(&front.malloc, allocate_so, __ATOMIC_RELAXED);
    __atomic_store_n(&front.free, release_so, __ATOMIC_RELAXED);
}

void hp_pass_on(int is_on)
{
    __atomic_store_n(&hp_real_alloc.passes_on, is_on != 0, __ATOMIC_RELAXED);
    if (is_on)
        set_front(HP_NEXT(malloc), only_free);
    else if (HP_NEXT(has_heads))
        set_front(count_malloc_with_head, count_free_with_head);
    else
        set_front(count_malloc, count_free);
}

/* ----------------------------------------------------------------------------------------- their close siblings */

EXPORTED void *HP_FAMILY(calloc)(size_t count, size_t size)
{
    const uintptr_t stack = HP_STACK_PLACE();
    void *block;
    if (RARELY(is_left_out(stack)))
        return HP_NEXT(calloc)(count, size);
    CALL_ALONE(stack, block, HP_NEXT(calloc)(count, size));
    return tell_allocated(block, block != NULL ? count * size : 1, stack);
}

/*
 * Functions implemented by another one call it by name, as in the C library: an allocator in front of us that lacks
 * these gets its own blocks back.
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
    const size_t old_size = hp_boot_heap_size(block);
    void *moved = HP_NEXT(malloc)(size);
    if (moved != NULL)
        memcpy(moved, block, old_size < size ? old_size : size);
    return is_nested(stack) ? moved : tell_allocated(moved, size, stack);
}

/* To size 0: some allocators free the block and return NULL, for others NULL means failure. */
static void *resize_to_nothing(void *block, uintptr_t stack)
{
    const int saved = errno;
    const size_t old_usable = hp_usable_size(block);
    const int was_foreign = hotpath_v1_reallocating(block);
    void *resized;
    errno = 0;
    CALL_ALONE(stack, resized, HP_NEXT(realloc)(block, 0));
    const size_t usable = resized != NULL ? hp_usable_size(resized) : 0;
    if (resized == NULL && errno == ENOMEM)
        HP_NEXT(failed)();
    else /* its owner is the one before the call: another thread may have the same address by now */
        HP_NEXT(reallocated)(was_foreign, old_usable, resized, 0, usable, stack);
    if (errno == 0)
        errno = saved;
    return resized;
}

static INLINED void *resize(void *block, size_t size, uintptr_t stack)
{
    void *resized;
    if (RARELY(hp_boot_heap_has(block)))
        return move_early(block, size, stack);
    if (RARELY(is_left_out(stack)))
        return HP_NEXT(realloc)(block, size);
    if (block == NULL) {
        CALL_ALONE(stack, resized, HP_NEXT(realloc)(NULL, size));
        return tell_allocated(resized, size, stack);
    }
    if (RARELY(size == 0))
        return resize_to_nothing(block, stack);
    const size_t old_usable = hp_usable_size(block);
    const int was_foreign = hotpath_v1_reallocating(block);
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
    if (RARELY(is_left_out(stack)))
        return HP_NEXT(posix_memalign)(ret_block, alignment, size);
    CALL_ALONE(stack, status, HP_NEXT(posix_memalign)(ret_block, alignment, size));
    tell_aligned(status == 0 ? *ret_block : NULL, size, HP_NEXT_POSIX_MEMALIGN, stack);
    return status;
}

EXPORTED void *HP_FAMILY(aligned_alloc)(size_t alignment, size_t size)
{
    const uintptr_t stack = HP_STACK_PLACE();
    void *block;
    if (RARELY(is_left_out(stack)))
        return HP_NEXT(aligned_alloc)(alignment, size);
    CALL_ALONE(stack, block, HP_NEXT(aligned_alloc)(alignment, size));
    return tell_aligned(block, size, HP_NEXT_ALIGNED_ALLOC, stack);
}

EXPORTED void *HP_FAMILY(memalign)(size_t alignment, size_t size)
{
    const uintptr_t stack = HP_STACK_PLACE();
    void *block;
    if (RARELY(is_left_out(stack)))
        return HP_NEXT(memalign)(alignment, size);
    CALL_ALONE(stack, block, HP_NEXT(memalign)(alignment, size));
    return tell_aligned(block, size, HP_NEXT_MEMALIGN, stack);
}

EXPORTED void *HP_FAMILY(valloc)(size_t size)
{
    const uintptr_t stack = HP_STACK_PLACE();
    void *block;
    if (RARELY(is_left_out(stack)))
        return HP_NEXT(valloc)(size);
    CALL_ALONE(stack, block, HP_NEXT(valloc)(size));
    return tell_aligned(block, size, HP_NEXT_VALLOC, stack);
}

#ifdef __GLIBC__ /* other libcs lack it, and programs may test for it */
EXPORTED void *HP_FAMILY(pvalloc)(size_t size)
{
    const uintptr_t stack = HP_STACK_PLACE();
    void *block;
    if (RARELY(is_left_out(stack)))
        return HP_NEXT(pvalloc)(size);
    CALL_ALONE(stack, block, HP_NEXT(pvalloc)(size));
    return tell_aligned(block, size, HP_NEXT_PVALLOC, stack);
}
#endif
