/*
 * An arena: memory that is handed out piece by piece and given back all at once. It comes straight from the kernel,
 * so it may be used in a signal handler and when the host's heap is broken.
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
    struct hp_arena_chunk *chunks;  /* in the order in which they are used */
    struct hp_arena_chunk *current; /* the one that is handed out from */
    char *free;                     /* its next free byte */
    char *end;
    size_t mapped;
    size_t taken;
    size_t limit; /* bytes it may hand out in all; 0: as many as the kernel gives */
};

/* Zeroed, aligned for anything. NULL without memory; what was taken before stays valid. */
void *hp_arena_take(struct hp_arena *arena, size_t size);
void *hp_arena_take_array(struct hp_arena *arena, size_t count, size_t size);

/* A copy of `length` bytes, ended by a zero. */
char *hp_arena_copy(struct hp_arena *arena, const char *bytes, size_t length);

/* Everything that was taken is free again; the memory is kept for what is taken next, in work that is done again and again. */
void hp_arena_reset(struct hp_arena *arena);

/* Gives everything back; the arena is empty and can be used again. */
void hp_arena_release(struct hp_arena *arena);

#endif
