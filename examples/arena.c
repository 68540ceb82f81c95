/*
 * An allocator of the program's own. malloc sees one large block; what is handed out of it, only the program knows.
 * It tells, and the report has a table of its own for it: alloc-pools.
 */
#include <hotpath.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arena {
    char *bytes;
    size_t used, size;
};

static void *arena_get(struct arena *arena, size_t size)
{
    const size_t rounded = (size + 15) / 16 * 16;
    if (arena->size - arena->used < rounded)
        return NULL;
    void *block = arena->bytes + arena->used;
    arena->used += rounded;
    hotpath_alloc_event("request arena", block, size);
    return block;
}

static void arena_reset(struct arena *arena)
{
    arena->used = 0;
    hotpath_free_all_event("request arena");
}

static size_t handle_request(struct arena *arena, int number)
{
    HOTPATH_MEASURE();
    size_t bytes = 0;
    for (int part = 0; part <= number % 10; part++) {
        char *text = arena_get(arena, 100);
        if (text == NULL)
            return 0;
        snprintf(text, 100, "part %d of request %d", part, number);
        bytes += strlen(text);
    }
    arena_reset(arena);
    return bytes;
}

int main(void)
{
    HOTPATH_MAIN();
    struct arena arena = {.bytes = malloc(4096), .size = 4096};
    size_t bytes = 0;
    for (int number = 0; arena.bytes != NULL && number < 100; number++)
        bytes += handle_request(&arena, number);
    printf("%zu bytes\n", bytes);
    free(arena.bytes);
    return 0;
}
