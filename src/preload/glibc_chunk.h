/*
 * Block sizes from glibc's chunk headers. glibc keeps the size of a block in the word before it. malloc_usable_size
 * takes as long as all other counting, since it also reads the following block. So the word is read here, after a
 * test on some blocks that it agrees with malloc_usable_size (resolve.c). SPDX-License-Identifier: MIT
 */
#ifndef HP_PRELOAD_GLIBC_CHUNK_H
#define HP_PRELOAD_GLIBC_CHUNK_H

#include <stddef.h>

#include "real_alloc.h"

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

#endif
