/* Private memory. SPDX-License-Identifier: MIT */
#include "memory.h"

#include <sys/mman.h>

#include "raw_call.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

void *hp_memory_map(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void hp_memory_unmap(void *memory, size_t size)
{
    if (memory != NULL)
        munmap(memory, size);
}

bool hp_memory_wipe_on_fork(void *memory, size_t size) { return madvise(memory, size, MADV_WIPEONFORK) == 0; }

/* musl-gcc has no linux/membarrier.h; these numbers are kernel ABI. */
enum { MEMBARRIER_PRIVATE_EXPEDITED = 1 << 3, MEMBARRIER_REGISTER_PRIVATE_EXPEDITED = 1 << 4 };

bool hp_memory_barrier_everywhere(void)
{
#ifdef SYS_membarrier
    return syscall(SYS_membarrier, MEMBARRIER_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0 &&
           syscall(SYS_membarrier, MEMBARRIER_PRIVATE_EXPEDITED, 0, 0) == 0;
#else
    return false;
#endif
}
