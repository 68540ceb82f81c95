/*
 * An allocator to be preloaded: it uses a fixed area, and its n-th call fails once the program says so. Its
 * functions call each other, as in some C libraries.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Alignas(16) unsigned char area[64 << 20];
static size_t used;
static long calls, failing;

void inject_failure(long n);
long inject_calls(void);

void inject_failure(long n)
{
    calls = 0;
    failing = n;
}

long inject_calls(void) { return calls; }

/* Fails when it is its turn. */
static int is_refused(size_t size)
{
    const long call = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    if (call != __atomic_load_n(&failing, __ATOMIC_RELAXED) && size < sizeof area / 2)
        return 0;
    errno = ENOMEM;
    return 1;
}

static void *take(size_t alignment, size_t size)
{
    const size_t room = size + alignment + 32;
    const size_t from = __atomic_fetch_add(&used, room, __ATOMIC_RELAXED);
    if (from + room > sizeof area)
        abort();
    unsigned char *block = area + from + 16;
    block += (alignment - (uintptr_t)block % alignment) % alignment;
    memcpy(block - sizeof size, &size, sizeof size);
    return block;
}

size_t malloc_usable_size(void *block)
{
    size_t size = 0;
    if (block != NULL)
        memcpy(&size, (unsigned char *)block - sizeof size, sizeof size);
    return size;
}

void *malloc(size_t size) { return is_refused(size) ? NULL : take(16, size); }

void free(void *block)
{
    if (block != NULL)
        memset(block, 0xdd, malloc_usable_size(block));
}

void *calloc(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        bytes = SIZE_MAX;
    void *(*volatile call_malloc)(size_t) = malloc;
    void *block = call_malloc(bytes);
    if (block != NULL)
        memset(block, 0, bytes);
    return block;
}

void *realloc(void *block, size_t size)
{
    void *larger = malloc(size);
    if (larger != NULL && block != NULL) {
        const size_t old = malloc_usable_size(block);
        memcpy(larger, block, old < size ? old : size);
        free(block);
    }
    return larger;
}

void *memalign(size_t alignment, size_t size) { return is_refused(size) ? NULL : take(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
void *valloc(size_t size) { return memalign(4096, size); }
void *pvalloc(size_t size) { return memalign(4096, (size + 4095) & ~(size_t)4095); }

int posix_memalign(void **ret_block, size_t alignment, size_t size)
{
    if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0)
        return EINVAL;
    void *block = memalign(alignment, size);
    if (block == NULL)
        return ENOMEM;
    *ret_block = block;
    return 0;
}
