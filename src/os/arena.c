/* A bump arena over mapped chunks, each twice as large as the one before. SPDX-License-Identifier: MIT */
#include "arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "memory.h"

#define ALIGNMENT 16u
#define FIRST_CHUNK ((size_t)256 << 10)
#define LARGEST_CHUNK ((size_t)16 << 20)

struct hp_arena_chunk {
    struct hp_arena_chunk *next;
    size_t size;
    char *dirty; /* memory up to here was used before and is not zero */
};

#define HEAD_BYTES ((sizeof(struct hp_arena_chunk) + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1))

static size_t chunk_size(const struct hp_arena *arena, size_t at_least)
{
    size_t size = arena->mapped < FIRST_CHUNK ? FIRST_CHUNK : arena->mapped;
    size = size < LARGEST_CHUNK ? size : LARGEST_CHUNK;
    return size < at_least ? (at_least + 4095) & ~(size_t)4095 : size;
}

static void use_chunk(struct hp_arena *arena, struct hp_arena_chunk *chunk)
{
    arena->current = chunk;
    arena->free = (char *)chunk + HEAD_BYTES;
    arena->end = (char *)chunk + chunk->size;
}

static bool add_chunk(struct hp_arena *arena, size_t size)
{
    const size_t bytes = chunk_size(arena, size + HEAD_BYTES);
    struct hp_arena_chunk *chunk = hp_memory_map(bytes);
    if (chunk == NULL)
        return false;
    struct hp_arena_chunk **place = arena->current != NULL ? &arena->current->next : &arena->chunks;
    chunk->next = *place;
    chunk->size = bytes;
    chunk->dirty = (char *)chunk + HEAD_BYTES;
    *place = chunk;
    arena->mapped += bytes;
    use_chunk(arena, chunk);
    return true;
}

/* Finds room for `size` bytes: in an earlier chunk, or a new one. Skips chunks that are too small. */
static bool find_chunk(struct hp_arena *arena, size_t size)
{
    struct hp_arena_chunk *chunk = arena->current != NULL ? arena->current->next : arena->chunks;
    while (chunk != NULL && chunk->size - HEAD_BYTES < size) {
        arena->current = chunk;
        chunk = chunk->next;
    }
    if (chunk == NULL)
        return add_chunk(arena, size);
    use_chunk(arena, chunk);
    return true;
}

/* Zeroes memory that was used before. */
static void clean(struct hp_arena_chunk *chunk, char *from, char *to)
{
    if (from < chunk->dirty)
        memset(from, 0, (size_t)((to < chunk->dirty ? to : chunk->dirty) - from));
    if (to > chunk->dirty)
        chunk->dirty = to;
}

void *hp_arena_take(struct hp_arena *arena, size_t size)
{
    if (size > SIZE_MAX / 4)
        return NULL;
    size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if (arena->limit != 0 && size > arena->limit - arena->taken)
        return NULL;
    if ((arena->free == NULL || size > (size_t)(arena->end - arena->free)) && !find_chunk(arena, size))
        return NULL;
    char *piece = arena->free;
    arena->free += size;
    arena->taken += size;
    clean(arena->current, piece, arena->free);
    return piece;
}

void hp_arena_reset(struct hp_arena *arena)
{
    arena->current = NULL;
    arena->free = arena->end = NULL;
    arena->taken = 0;
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
