/*
 * Block sizes from glibc's chunk headers. glibc keeps the size of a block in the word before it. malloc_usable_size
 * takes as long as all other counting, since it also reads the following block. So the word is read here, after a
 * test on some blocks that it agrees with malloc_usable_size (find.c). SPDX-License-Identifier: MIT
 */
#ifndef HP_ALLOC_HEADS_H
#define HP_ALLOC_HEADS_H

#include <stddef.h>

#include "next.h"

/* The three lowest bits of the word are flags; blocks that were mapped individually have a second word in front. */
#define HP_HEAD_FLAGS ((size_t)7)
#define HP_HEAD_IS_MAPPED ((size_t)2)

static inline __attribute__((always_inline)) size_t hp_head_size(void *block)
{
    const size_t head = ((const size_t *)block)[-1];
    return (head & ~HP_HEAD_FLAGS) - sizeof head - (head & HP_HEAD_IS_MAPPED) * (sizeof head / HP_HEAD_IS_MAPPED);
}

static inline __attribute__((always_inline)) size_t hp_usable_size(void *block)
{
    return __builtin_expect(HP_NEXT(has_heads) != 0, 1) ? hp_head_size(block) : HP_NEXT(usable_size)(block);
}

#endif
