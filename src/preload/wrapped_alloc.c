/*
 * The real allocator if the linker interposes us by --wrap: for static executables, in which two functions cannot
 * have the same name. The linker then calls malloc `__real_malloc`. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <malloc.h>

#include "hook_entries.h"
#include "real_alloc.h"

void *__real_malloc(size_t size);
void __real_free(void *block);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
int __real_posix_memalign(void **ret_block, size_t alignment, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__real_memalign(size_t alignment, size_t size);
void *__real_valloc(size_t size);
#ifdef __GLIBC__
void *__real_pvalloc(size_t size);
#endif

__thread uintptr_t hp_inside __attribute__((tls_model("initial-exec")));

struct hp_real_alloc hp_real_alloc = {.malloc = __real_malloc,
                                      .free = __real_free,
                                      .usable_size = malloc_usable_size,
                                      .allocated = hotpath_v1_allocated,
                                      .freed = hotpath_v1_freed,
                                      .calloc = __real_calloc,
                                      .realloc = __real_realloc,
                                      .reallocated = hotpath_v1_reallocated,
                                      .failed = hotpath_v1_alloc_failed,
                                      .posix_memalign = __real_posix_memalign,
                                      .aligned_alloc = __real_aligned_alloc,
                                      .memalign = __real_memalign,
#ifdef __GLIBC__
                                      .pvalloc = __real_pvalloc,
#endif
                                      .valloc = __real_valloc};

/* After the recorder's constructor, which is 101. */
__attribute__((constructor(102))) static void begin_to_watch(void)
{
    hotpath_v1_alloc_is_watched();
    hotpath_v1_alloc_switch(hp_pass_on);
}
