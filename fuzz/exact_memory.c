/*
 * Memory from the heap in place of src/os/memory.c: exactly as much as was asked for, so that a sanitizer sees the first byte
 * read too many. What is large comes from the kernel as ever, since most of it is never touched. SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "memory.h"

#define LARGE ((size_t)1 << 20)

void *hp_memory_map(size_t size)
{
    if (size < LARGE)
        return calloc(1, size);
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void hp_memory_unmap(void *memory, size_t size)
{
    if (size < LARGE)
        free(memory);
    else if (memory != NULL)
        munmap(memory, size);
}

bool hp_memory_wipe_on_fork(void *memory, size_t size)
{
    (void)memory;
    (void)size;
    return false;
}

bool hp_memory_barrier_everywhere(void) { return false; }
