/* A bump arena over mapped chunks, each twice as large as the one before. SPDX-License-Identifier: MIT */
#include "arena.h"

#include <stdint.h>
#include <string.h>

#include "memory.h"

#define ALIGNMENT 16u
#define FIRST_CHUNK ((size_t)256 << 10)
#define LARGEST_CHUNK ((size_t)16 << 20)

struct hp_arena_chunk {
    struct hp_arena_chunk *next;
    size_t size;
};

_Static_assert(sizeof(struct hp_arena_chunk) <= ALIGNMENT, "the first piece of a chunk must be aligned");

static size_t chunk_size(const struct hp_arena *arena, size_t at_least)
{
    size_t size = arena->mapped < FIRST_CHUNK ? FIRST_CHUNK : arena->mapped;
    size = size < LARGEST_CHUNK ? size : LARGEST_CHUNK;
    return size < at_least ? (at_least + 4095) & ~(size_t)4095 : size;
}

static void *add_chunk(struct hp_arena *arena, size_t size)
{
    const size_t bytes = chunk_size(arena, size + ALIGNMENT);
    struct hp_arena_chunk *chunk = hp_memory_map(bytes);
    if (chunk == NULL)
        return NULL;
    chunk->next = arena->chunks;
    chunk->size = bytes;
    arena->chunks = chunk;
    arena->mapped += bytes;
    arena->free = (char *)chunk + ALIGNMENT;
    arena->end = (char *)chunk + bytes;
    return chunk;
}

void *hp_arena_take(struct hp_arena *arena, size_t size)
{
    if (size > SIZE_MAX / 4)
        return NULL;
    size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if (arena->limit != 0 && size > arena->limit - arena->taken)
        return NULL;
    if (arena->free == NULL || size > (size_t)(arena->end - arena->free))
        if (add_chunk(arena, size) == NULL)
            return NULL;
    void *piece = arena->free;
    arena->free += size;
    arena->taken += size;
    return piece;
}

void *hp_arena_take_array(struct hp_arena *arena, size_t count, size_t size)
{
    size_t bytes;
    return __builtin_mul_overflow(count, size, &bytes) ? NULL : hp_arena_take(arena, bytes);
}

char *hp_arena_copy(struct hp_arena *arena, const char *bytes, size_t length)
{
    char *copy = hp_arena_take(arena, length + 1);
    if (copy != NULL)
        memcpy(copy, bytes, length);
    return copy;
}

void hp_arena_release(struct hp_arena *arena)
{
    struct hp_arena_chunk *chunk = arena->chunks;
    while (chunk != NULL) {
        struct hp_arena_chunk *const next = chunk->next;
        hp_memory_unmap(chunk, chunk->size);
        chunk = next;
    }
    *arena = (struct hp_arena){.limit = arena->limit};
}
