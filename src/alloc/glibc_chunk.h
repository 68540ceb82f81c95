/*
 * Block sizes from glibc's chunk headers. glibc keeps the size of a block in the word before it. malloc_usable_size
 * takes as long as all other counting, since it also reads the following block. So the word is read here, after a
 * test on some blocks that it agrees with malloc_usable_size (resolve.c). SPDX-License-Identifier: MIT
 */
#ifndef HP_ALLOC_GLIBC_CHUNK_H
#define HP_ALLOC_GLIBC_CHUNK_H

#include <stddef.h>

#include "real_alloc.h"

/* The three lowest bits of the word are flags; blocks that were mapped individually have a second word in front. */
#define HP_HEAD_FLAGS ((size_t)7)
#define HP_HEAD_IS_MAPPED ((size_t)2)

static inline __attribute__((always_inline)) size_t hp_context_size(void *block)
{
    const size_t context = ((const size_t *)block)[-1];
    return (context & ~HP_HEAD_FLAGS) - sizeof context -
           (context & HP_HEAD_IS_MAPPED) * (sizeof context / HP_HEAD_IS_MAPPED);
}

static inline __attribute__((always_inline)) size_t hp_usable_size(void *block)
{
    return __builtin_expect(HP_NEXT(has_heads) != 0, 1) ? hp_context_size(block) : HP_NEXT(usable_size)(block);
}

#endif
