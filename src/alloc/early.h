/*
 * Memory for allocations made while we look up the allocator: a few blocks, never reused. SPDX-License-Identifier:
 * MIT
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

/* Zeroed; NULL and ENOMEM if exhausted. Alignment 0: as malloc. */
void *hp_early_allocate(size_t size, size_t alignment);

size_t hp_early_size(const void *block);

#endif
