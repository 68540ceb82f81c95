/*
 * A program with a malloc of its own, as Lisp systems have: nothing can be freed before main has prepared it.
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Alignas(64) char heap[4u << 20];
static size_t used;
static bool is_prepared;

/* The size is in front of each block. */
void *malloc(size_t size)
{
    const size_t bytes = (size + 31) & ~(size_t)15;
    if (bytes > sizeof heap - used) {
        errno = ENOMEM;
        return NULL;
    }
    char *const block = heap + used + 16;
    used += bytes;
    memcpy(block - 16, &size, sizeof size);
    return block;
}

void free(void *block)
{
    if (block != NULL && !is_prepared)
        abort();
}

void *calloc(size_t count, size_t size)
{
    size_t bytes;
    /* Memory is used once, so it is zero. */
    return __builtin_mul_overflow(count, size, &bytes) ? NULL : malloc(bytes);
}

void *realloc(void *block, size_t size)
{
    size_t before = 0;
    void *const moved = malloc(size);
    if (block != NULL)
        memcpy(&before, (char *)block - 16, sizeof before);
    if (moved != NULL && block != NULL)
        memcpy(moved, block, before < size ? before : size);
    return moved;
}

int main(void)
{
    is_prepared = true;
    char *text = malloc(100);
    if (text == NULL)
        return 1;
    snprintf(text, 100, "%s", "prepared");
    puts(text);
    free(text);
    return 0;
}
