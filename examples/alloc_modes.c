/*
 * Four questions about memory, one run that answers all of them. Each function here comes first by another measure:
 *
 *     HOTPATH_ALLOC_METRIC=bytes-total ./alloc_modes     who asks for most bytes in all?       copy_pages
 *     HOTPATH_ALLOC_METRIC=bytes-max ./alloc_modes       whose call holds most bytes at once?  load_image
 *     HOTPATH_ALLOC_METRIC=count-total ./alloc_modes     who allocates most often?             join_words
 *     HOTPATH_ALLOC_METRIC=count-max ./alloc_modes       whose call holds most blocks at once? build_list
 */
#include <hotpath.h>

#include <stdlib.h>
#include <string.h>

static void *volatile kept; /* a store the compiler has to make, so that no allocation is optimised away */

static char *get(size_t size)
{
    char *block = malloc(size);
    if (block == NULL)
        exit(1);
    kept = block;
    return block;
}

/* 4 MB in all, 4 KB at a time. */
static void copy_pages(void)
{
    HOTPATH_MEASURE();
    for (int page = 0; page < 1024; page++) {
        char *copy = get(4096);
        memset(copy, page, 4096);
        free(copy);
    }
}

/* One large block. */
static void load_image(void)
{
    HOTPATH_MEASURE();
    char *image = get(1500000);
    memset(image, 0, 1500000);
    free(image);
}

/* A block for every step of the way, each soon gone. */
static void join_words(void)
{
    HOTPATH_MEASURE();
    char *text = get(1);
    for (size_t words = 1; words <= 3000; words++) {
        char *longer = get(words % 100 + 1);
        free(text);
        text = longer;
    }
    free(text);
}

struct item {
    struct item *next;
    int value;
};

/* Many small blocks that all live until the end of the call. */
static void build_list(void)
{
    HOTPATH_MEASURE();
    struct item *first = NULL;
    for (int value = 0; value < 2000; value++) {
        struct item *item = (struct item *)(void *)get(sizeof *item);
        *item = (struct item){first, value};
        first = item;
    }
    while (first != NULL) {
        struct item *item = first;
        first = item->next;
        free(item);
    }
}

int main(void)
{
    HOTPATH_MAIN();
    copy_pages();
    load_image();
    join_words();
    build_list();
    return 0;
}
