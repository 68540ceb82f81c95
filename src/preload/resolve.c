/*
 * The first call of any function in the table looks up all of them. Threads that do so at once find the same
 * functions and do not wait for each other: one may hold a lock of the dynamic linker that the other needs.
 *
 * The dynamic linker may allocate during the lookup (older glibc does, and all do for the text of an error). Such
 * calls come back to us on the same thread, and get memory from the boot heap. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "resolve.h"

#include <dlfcn.h>
#include <errno.h>

#include "hook_entries.h"
#include "loaded_function.h"
#include "loaded_image.h"
#include "preload.h"
#include "real_alloc.h"

__thread uintptr_t hp_inside __attribute__((tls_model("initial-exec")));

/* ---------------------------------------------------------------------------- substitutes for missing functions */

static size_t unknown_size(void *block)
{
    (void)block;
    return 0;
}

static void *no_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

static int no_posix_memalign(void **ret_block, size_t alignment, size_t size)
{
    (void)ret_block, (void)alignment, (void)size;
    return ENOMEM;
}

static void *no_aligned(size_t alignment, size_t size)
{
    (void)alignment, (void)size;
    return no_memory();
}

static void *no_sized(size_t size)
{
    (void)size;
    return no_memory();
}

/* -------------------------------------------------------------------------------------------- before the lookup */

static void *first_malloc(size_t size)
{
    return hp_resolve_next() ? HP_NEXT(malloc)(size) : hp_boot_heap_allocate(size, 0);
}

static void first_free(void *block)
{
    if (hp_resolve_next())
        HP_NEXT(free)(block);
}

static size_t first_usable_size(void *block) { return hp_resolve_next() ? HP_NEXT(usable_size)(block) : 0; }

static void *first_calloc(size_t count, size_t size)
{
    size_t bytes;
    if (hp_resolve_next())
        return HP_NEXT(calloc)(count, size);
    return __builtin_mul_overflow(count, size, &bytes) ? no_memory() : hp_boot_heap_allocate(bytes, 0);
}

/* Blocks of the boot heap do not come here, and there are no others yet. */
static void *first_realloc(void *block, size_t size)
{
    if (hp_resolve_next())
        return HP_NEXT(realloc)(block, size);
    return block == NULL ? hp_boot_heap_allocate(size, 0) : no_memory();
}

static int first_posix_memalign(void **ret_block, size_t alignment, size_t size)
{
    if (hp_resolve_next())
        return HP_NEXT(posix_memalign)(ret_block, alignment, size);
    *ret_block = hp_boot_heap_allocate(size, alignment);
    return *ret_block != NULL ? 0 : ENOMEM;
}

static void *first_aligned_alloc(size_t alignment, size_t size)
{
    return hp_resolve_next() ? HP_NEXT(aligned_alloc)(alignment, size) : hp_boot_heap_allocate(size, alignment);
}

static void *first_memalign(size_t alignment, size_t size)
{
    return hp_resolve_next() ? HP_NEXT(memalign)(alignment, size) : hp_boot_heap_allocate(size, alignment);
}

static void *first_valloc(size_t size) { return hp_resolve_next() ? HP_NEXT(valloc)(size) : no_memory(); }
static void *first_pvalloc(size_t size) { return hp_resolve_next() ? HP_NEXT(pvalloc)(size) : no_memory(); }

struct hp_real_alloc hp_real_alloc = {.malloc = first_malloc,
                                      .free = first_free,
                                      .usable_size = first_usable_size,
                                      .allocated = hotpath_v1_allocated,
                                      .freed = hotpath_v1_freed,
                                      .calloc = first_calloc,
                                      .realloc = first_realloc,
                                      .reallocated = hotpath_v1_reallocated,
                                      .failed = hotpath_v1_alloc_failed,
                                      .posix_memalign = first_posix_memalign,
                                      .aligned_alloc = first_aligned_alloc,
                                      .memalign = first_memalign,
                                      .valloc = first_valloc,
                                      .pvalloc = first_pvalloc};

/* --------------------------------------------------------------------------------------------------- the lookup */

/* RTLD_NEXT depends on the return address of the caller, so this must not become a tail call. */
__attribute__((noinline)) void *hp_resolve_symbol(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    __asm__ volatile("" : "+r"(function));
    return function;
}

struct place {
    uintptr_t address;
    const void *image;
};

static int look_at(struct dl_phdr_info *image, size_t size, void *context)
{
    struct place *place = context;
    (void)size;
    if (hp_loaded_segment(image, PT_LOAD, place->address) != NULL)
        place->image = image->dlpi_phdr;
    return place->image != NULL;
}

static bool has_sanitizer;

/*
 * An address unique to the image that contains the function; NULL: none. dladdr would scan all of its symbols. But
 * sanitizers interpose the other function, and may not be initialised yet.
 */
static const void *image_of(const void *function)
{
    struct place place = {(uintptr_t)function, NULL};
    Dl_info info;
    if (function == NULL)
        return NULL;
    if (has_sanitizer)
        return dladdr(function, &info) != 0 ? info.dli_fbase : NULL;
    dl_iterate_phdr(look_at, &place);
    return place.image;
}

/* Casts to the type of the pointer, by way of an integer, the only way in ISO C. */
#define FUNCTION(pointer, address) ((__typeof__(pointer))(uintptr_t)(address))
#define STORE(pointer, address) __atomic_store_n(&(pointer), FUNCTION(pointer, address), __ATOMIC_RELAXED)
#define STORE_OR(pointer, address, otherwise)                                                                      \
    __atomic_store_n(&(pointer), (address) != NULL ? FUNCTION(pointer, address) : (otherwise), __ATOMIC_RELAXED)

/*
 * An allocator may replace malloc and leave the rest to the C library. Only the allocator that handed out a block
 * can tell its size, so it must have all of these.
 */
static bool is_complete(const void *image, void *const *functions, size_t count)
{
    for (size_t at = 0; at < count; at++)
        if (image_of(functions[at]) != image)
            return false;
    return true;
}

/*
 * All sanitizers with a malloc of their own have this function. It is bound when this library is loaded: dlsym
 * would allocate the text of its error where there is none, with a malloc of the program that may not be ready, and
 * free it at the next error.
 */
extern char __sanitizer_get_heap_size[] __attribute__((weak));

static void look_for_sanitizer(void) { has_sanitizer = __sanitizer_get_heap_size != NULL; }

bool hp_resolve_has_sanitizer(void) { return has_sanitizer; }

static void find_heart(hp_real_usable_size *of_copy_behind)
{
    void *const allocate = hp_resolve_symbol("malloc"), *const release = hp_resolve_symbol("free"),
                *const size = hp_resolve_symbol("malloc_usable_size");
    void *const zeroed = hp_resolve_symbol("calloc"), *const resize = hp_resolve_symbol("realloc");
    void *const all[] = {release, size, zeroed, resize};
    const bool knows_sizes = is_complete(image_of(allocate), all, sizeof all / sizeof all[0]);
    if (of_copy_behind != NULL)
        __atomic_store_n(&hp_real_alloc.usable_size, of_copy_behind, __ATOMIC_RELAXED);
    else
        STORE_OR(hp_real_alloc.usable_size, knows_sizes && !has_sanitizer ? size : NULL, unknown_size);
    STORE(hp_real_alloc.calloc, zeroed);
    STORE(hp_real_alloc.realloc, resize);
    STORE(hp_real_alloc.free, release);
    STORE(hp_real_alloc.malloc, allocate);
}

/* The image with malloc; NULL: it is another copy of our library, and the allocator behind that is unknown. */
static const void *image_of_malloc;

static void find_aligned(const void *image)
{
    void *const posix = hp_resolve_symbol("posix_memalign"), *const aligned = hp_resolve_symbol("aligned_alloc");
    void *const older = hp_resolve_symbol("memalign"), *const page = hp_resolve_symbol("valloc"),
                *const pages = hp_resolve_symbol("pvalloc");
    const uint32_t foreign_allocator = (image_of(posix) != image ? HP_NEXT_POSIX_MEMALIGN : 0) |
                                       (image_of(aligned) != image ? HP_NEXT_ALIGNED_ALLOC : 0) |
                                       (image_of(older) != image ? HP_NEXT_MEMALIGN : 0) |
                                       (image_of(page) != image ? HP_NEXT_VALLOC : 0) |
                                       (image_of(pages) != image ? HP_NEXT_PVALLOC : 0);
    __atomic_store_n(&hp_real_alloc.foreign_allocator, foreign_allocator, __ATOMIC_RELAXED);
    STORE_OR(hp_real_alloc.posix_memalign, posix, no_posix_memalign);
    STORE_OR(hp_real_alloc.aligned_alloc, aligned, no_aligned);
    STORE_OR(hp_real_alloc.memalign, older, no_aligned);
    STORE_OR(hp_real_alloc.valloc, page, no_sized);
    STORE_OR(hp_real_alloc.pvalloc, pages, no_sized);
}

/* Most often there is none, and then dlsym would allocate: see look_for_sanitizer. */
static uintptr_t copy_behind(void)
{
    static const char name[] = "hotpath_v1_alloc_yield";
#ifndef HP_PRIVATE          /* in libraries, not in the two files */
#pragma weak hp_loaded_next /* not in programs that contain only these functions */
    if (hp_loaded_next != NULL)
        return hp_loaded_next(name);
#endif
    return (uintptr_t)hp_resolve_symbol(name);
}

/*
 * A program may contain these functions and get those of libhotpath_alloc.so, too. Then the ones behind us would
 * count a second time. They know how to get sizes.
 */
static hp_real_usable_size *silence_copy_behind(void)
{
    hp_real_usable_size *(*const yield)(void) = FUNCTION(yield, copy_behind());
    return yield != NULL ? yield() : NULL;
}

/* --- sizes from glibc's chunk headers: see real_alloc.h */

#ifdef __GLIBC__
static bool has_head(void *block)
{
    const bool is_right = block != NULL && hp_chunk_size(block) == HP_NEXT(usable_size)(block);
    HP_NEXT(free)(block);
    return is_right;
}

/*
 * More than glibc's DEFAULT_MMAP_THRESHOLD_MAX. After a smaller mapped block is freed, glibc maps only larger ones,
 * and returns memory of the heap to the kernel only from twice its size on: the program would have fewer page
 * faults than without us. It is never touched.
 */
#define MAPPED_BLOCK (4u * 1024u * 1024u * sizeof(long) + 1)

/* Tries blocks from all places of glibc: caches, the heap, mapped ones. Few, so that the heap stays as it is. */
static bool are_heads_right(void)
{
    return has_head(HP_NEXT(malloc)(1)) && has_head(HP_NEXT(malloc)(100)) && has_head(HP_NEXT(malloc)(5000)) &&
           has_head(HP_NEXT(malloc)(MAPPED_BLOCK));
}

/* For glibc's malloc only: with others there may be nothing readable in front of a block. */
static void look_for_heads(void)
{
    const void *const glibc = image_of(hp_resolve_symbol("gnu_get_libc_version"));
    const bool is_glibc = glibc != NULL && glibc == image_of((const void *)(uintptr_t)HP_NEXT(malloc)) &&
                          glibc == image_of((const void *)(uintptr_t)HP_NEXT(usable_size));
    const bool has_heads = is_glibc && !hp_preload_has_valgrind() && are_heads_right();
    __atomic_store_n(&hp_real_alloc.has_heads, has_heads, __ATOMIC_RELAXED);
}
#else
static void look_for_heads(void) {}
#endif

bool hp_resolve_next(void)
{
    static uint32_t is_found;
    if (__atomic_load_n(&is_found, __ATOMIC_ACQUIRE) != 0)
        return true;
    if (hp_inside == HP_INSIDE_OURSELVES)
        return false;
    const int saved = errno;
    const uintptr_t around = hp_inside;
    hp_inside = HP_INSIDE_OURSELVES;
    look_for_sanitizer();
    const void *const image = image_of(hp_resolve_symbol("malloc"));
    hp_real_usable_size *const of_copy_behind = silence_copy_behind();
    __atomic_store_n(&image_of_malloc, of_copy_behind == NULL ? image : NULL, __ATOMIC_RELAXED);
    find_aligned(image);
    find_heart(of_copy_behind);
    HP_NEXT(usable_size)(NULL); /* tcmalloc allocates in its first call */
    if (!has_sanitizer)
        look_for_heads();
    hp_inside = around;
    errno = saved;
    __atomic_store_n(&is_found, 1, __ATOMIC_RELEASE);
    if (has_sanitizer)
        hotpath_v1_alloc_yield();
    hp_yield_if_asked();
    return true;
}

bool hp_resolve_is_of_allocator(const void *function)
{
    hp_resolve_next(); /* or the image is known already, while this thread looks up the rest */
    return image_of(function) == __atomic_load_n(&image_of_malloc, __ATOMIC_RELAXED);
}
