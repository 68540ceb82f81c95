/*
 * Memory for those who allocate while we look for the allocator: a few blocks, given out once and never again.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_ALLOC_EARLY_H
#define HP_ALLOC_EARLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HP_EARLY_BYTES 16384u

extern unsigned char hp_early_room[HP_EARLY_BYTES] __attribute__((visibility("hidden")));

static inline bool hp_early_has(const void *block)
{
    return (uintptr_t)block - (uintptr_t)hp_early_room < HP_EARLY_BYTES;
}

/* Zeros; NULL and ENOMEM when there is no more. Alignment 0: as malloc does. */
void *hp_early_allocate(size_t size, size_t alignment);

size_t hp_early_size(const void *block);

#endif
