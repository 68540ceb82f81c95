/* The boot heap: see real_alloc.h. Each block is preceded by its size. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "real_alloc.h"

#define USUAL_ALIGNMENT 16u

unsigned char hp_boot_heap_room[HP_EARLY_BYTES] __attribute__((aligned(64)));
static size_t used;

void *hp_boot_heap_allocate(size_t size, size_t alignment)
{
    if (alignment < USUAL_ALIGNMENT)
        alignment = USUAL_ALIGNMENT;
    if (size < HP_EARLY_BYTES && alignment < HP_EARLY_BYTES) {
        const size_t bytes =
            alignment + USUAL_ALIGNMENT + (size + USUAL_ALIGNMENT - 1) / USUAL_ALIGNMENT * USUAL_ALIGNMENT;
        const size_t begin = __atomic_fetch_add(&used, bytes, __ATOMIC_RELAXED);
        if (begin < HP_EARLY_BYTES && bytes <= HP_EARLY_BYTES - begin) {
            const uintptr_t room = (uintptr_t)(hp_boot_heap_room + begin) + sizeof size;
            unsigned char *block =
                hp_boot_heap_room + begin + sizeof size + (alignment - room % alignment) % alignment;
            memcpy(block - sizeof size, &size, sizeof size);
            return block;
        }
    }
    errno = ENOMEM;
    return NULL;
}

size_t hp_boot_heap_size(const void *block)
{
    size_t size;
    memcpy(&size, (const unsigned char *)block - sizeof size, sizeof size);
    return size;
}
