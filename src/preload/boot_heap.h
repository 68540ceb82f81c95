/*
 * Memory for allocations made while we look up the allocator: a few blocks, never reused. SPDX-License-Identifier:
 * MIT
 */
#ifndef HP_PRELOAD_BOOT_HEAP_H
#define HP_PRELOAD_BOOT_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
