/*
 * Replaces src/os/memory.c by the heap: allocates exactly the requested size, so that a sanitizer sees the first
 * byte read beyond it. Large blocks still come from the kernel, since most of their pages are never touched.
 * SPDX-License-Identifier: MIT
 */
#include "exact_memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "check.h"
#include "memory.h"

#define LARGE ((size_t)1 << 20)
#define MOST_PIECES 1024u

static struct piece {
    void *memory;
    size_t size;
} pieces[MOST_PIECES];
static size_t piece_count;

static void *take(size_t size)
{
    void *memory = NULL;
    if (size < LARGE) {
        if (posix_memalign(&memory, 4096, size) == 0)
            memset(memory, 0, size);
        return memory;
    }
    memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void give_back(void *memory, size_t size)
{
    if (size < LARGE)
        free(memory);
    else
        munmap(memory, size);
}

void *hp_memory_map(size_t size)
{
    void *memory = size > 0 ? take(size) : NULL;
    REQUIRE(piece_count < MOST_PIECES);
    if (memory != NULL)
        pieces[piece_count++] = (struct piece){memory, size};
    return memory;
}

/* Only whole blocks may be unmapped, with their size. */
void hp_memory_unmap(void *memory, size_t size)
{
    size_t at = piece_count;
    if (memory == NULL)
        return;
    while (at > 0 && pieces[at - 1].memory != memory)
        at--;
    REQUIRE(at > 0 && pieces[at - 1].size == size);
    memmove(&pieces[at - 1], &pieces[at], (piece_count - at) * sizeof pieces[0]);
    piece_count--;
    give_back(memory, size);
}

size_t fuzz_memory_pieces(void) { return piece_count; }

void fuzz_memory_forget(size_t count)
{
    while (piece_count > count)
        hp_memory_unmap(pieces[piece_count - 1].memory, pieces[piece_count - 1].size);
}

bool hp_memory_wipe_on_fork(void *memory, size_t size)
{
    (void)memory;
    (void)size;
    return false;
}

bool hp_memory_barrier_everywhere(void) { return false; }
