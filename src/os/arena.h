/*
 * An arena: memory that is allocated piece by piece and freed all at once. It comes straight from the kernel, so it
 * may be used in a signal handler and when the host's heap is broken.
 *
 *     struct hp_arena arena = {0};
 *     struct row *rows = hp_arena_take_array(&arena, count, sizeof *rows);   NULL without memory
 *     hp_arena_release(&arena);
 *
 * One thread at a time. SPDX-License-Identifier: MIT
 */
#ifndef HP_OS_ARENA_H
#define HP_OS_ARENA_H

#include <stddef.h>

struct hp_arena_chunk;

struct hp_arena {
    struct hp_arena_chunk *chunks;  /* in order of use */
    struct hp_arena_chunk *current; /* the chunk to allocate from */
    char *free;                     /* its next free byte */
    char *end;
    size_t mapped;
    size_t taken;
    size_t limit; /* total bytes it may allocate; 0: no limit */
};

/* Zeroed, aligned for any type. NULL: no memory; earlier allocations stay valid. */
void *hp_arena_take(struct hp_arena *arena, size_t size);
void *hp_arena_take_array(struct hp_arena *arena, size_t count, size_t size);

/* A copy of `length` bytes, with a zero at the end. */
char *hp_arena_copy(struct hp_arena *arena, const char *bytes, size_t length);

/* Frees all allocations but keeps the memory for the next ones, in work that repeats. */
void hp_arena_reset(struct hp_arena *arena);

/* Returns all memory to the kernel; the arena is empty and can be used again. */
void hp_arena_release(struct hp_arena *arena);

#endif
