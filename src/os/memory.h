/* Private memory straight from the kernel: zeroed, never from the host's heap. SPDX-License-Identifier: MIT */
#ifndef HP_OS_MEMORY_H
#define HP_OS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include "raw_call.h"

void *hp_memory_map(size_t size); /* NULL without memory */
void hp_memory_unmap(void *memory, size_t size);

/*
 * How many bytes of addresses may be taken for what can be left out: hardly any of a limited address space
 * (RLIMIT_AS), which the program may need to the end. UINT64_MAX: it is not limited. In handlers, too.
 */
static inline uint64_t hp_memory_allowance(void)
{
    const uint64_t limit = hp_raw_limit(RLIMIT_AS);
    return limit == UINT64_MAX ? limit : limit / 256;
}

/* In a forked child these pages read as zero. False: the kernel cannot do it (before Linux 4.14). */
bool hp_memory_wipe_on_fork(void *memory, size_t size);

/* Returns when every running thread of the process has executed a full memory barrier. False: not possible. */
bool hp_memory_barrier_everywhere(void);

#endif
