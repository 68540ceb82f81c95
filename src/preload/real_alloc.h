/*
 * The real allocator: the C library's, or the next one in the process. Every pointer can be called at any time, by
 * any thread: before the lookup it points to a function that does the lookup. So the fast path needs no check.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_PRELOAD_REAL_ALLOC_H
#define HP_PRELOAD_REAL_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef size_t hp_real_usable_size(void *block);

struct hp_real_alloc {
    /* One cache line: what nearly all calls need. */
    void *(*malloc)(size_t size);
    void (*free)(void *block);
    hp_real_usable_size *usable_size;
    void (*allocated)(const void *block, size_t asked, size_t usable, uintptr_t stack);
    void (*freed)(const void *block, size_t usable, uintptr_t stack);
    uint32_t has_heads; /* sizes are in glibc's chunk headers: see hp_chunk_size */
    uint32_t passes_on; /* allocations are not counted: just forward the call */
    void *(*calloc)(size_t count, size_t size);
    void *(*realloc)(void *block, size_t size);
    /* The rest. */
    void (*reallocated)(int was_foreign, size_t old_usable, const void *block, size_t asked, size_t usable,
                        uintptr_t stack);
    void (*failed)(void);
    int (*posix_memalign)(void **ret_block, size_t alignment, size_t size);
    void *(*aligned_alloc)(size_t alignment, size_t size);
    void *(*memalign)(size_t alignment, size_t size);
    void *(*valloc)(size_t size);
    void *(*pvalloc)(size_t size);
    uint32_t foreign_allocator; /* bits HP_NEXT_...: which functions belong to another allocator than malloc */
} __attribute__((aligned(64)));

#define HP_NEXT_POSIX_MEMALIGN 1u
#define HP_NEXT_ALIGNED_ALLOC 2u
#define HP_NEXT_MEMALIGN 4u
#define HP_NEXT_VALLOC 8u
#define HP_NEXT_PVALLOC 16u

extern struct hp_real_alloc hp_real_alloc __attribute__((visibility("hidden")));

/* A function of the table. Other threads may write it, but always the same value. */
#define HP_NEXT(function) __atomic_load_n(&hp_real_alloc.function, __ATOMIC_RELAXED)

/*
 * Set, while the allocator works for one of our functions, to that function's stack address: allocation functions
 * that it calls meanwhile are internal, and lie below. UINTPTR_MAX: we are allocating ourselves. An address rather
 * than a flag, since longjmp or an exception may leave the function.
 */
extern __thread uintptr_t hp_inside __attribute__((tls_model("initial-exec"), visibility("hidden")));

#define HP_INSIDE_OURSELVES UINTPTR_MAX

/* Whether calls are only forwarded. After the lookup; used as callback of hotpath_v1_alloc_switch. */
void hp_pass_on(int is_on);

/* ---------------------------------------------------------------------------------------------- sizes of blocks */

/*
 * glibc keeps the size of a block in the word before it. malloc_usable_size takes as long as all other counting,
 * since it also reads the following block. So the word is read here, after a test on some blocks that it agrees
 * with malloc_usable_size (resolve.c).
 */

/* The three lowest bits of the word are flags; blocks that were mapped individually have a second word in front. */
#define HP_CHUNK_FLAGS ((size_t)7)
#define HP_CHUNK_IS_MAPPED ((size_t)2)

static inline __attribute__((always_inline)) size_t hp_chunk_size(void *block)
{
    const size_t header = ((const size_t *)block)[-1];
    return (header & ~HP_CHUNK_FLAGS) - sizeof header -
           (header & HP_CHUNK_IS_MAPPED) * (sizeof header / HP_CHUNK_IS_MAPPED);
}

static inline __attribute__((always_inline)) size_t hp_usable_size(void *block)
{
    return __builtin_expect(HP_NEXT(has_heads) != 0, 1) ? hp_chunk_size(block) : HP_NEXT(usable_size)(block);
}

/* ------------------------------------------------------------------------------------------------ the boot heap */

/* Memory for allocations made while we look up the allocator: a few blocks, never reused. */

#define HP_EARLY_BYTES 16384u

extern unsigned char hp_boot_heap_room[HP_EARLY_BYTES] __attribute__((visibility("hidden")));

static inline bool hp_boot_heap_has(const void *block)
{
    return (uintptr_t)block - (uintptr_t)hp_boot_heap_room < HP_EARLY_BYTES;
}

/* Zeroed; NULL and ENOMEM if exhausted. Alignment 0: as malloc. */
void *hp_boot_heap_allocate(size_t size, size_t alignment);

size_t hp_boot_heap_size(const void *block);

#endif
