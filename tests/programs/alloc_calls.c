/*
 * Every function of the malloc family, also where it fails. Visible results go to stdout, the counts to stderr.
 * With an argument N, the N-th of them fails: by inject.so, if that is preloaded. With another argument pvalloc
 * is left out, for allocators that lack it and cannot free blocks of the C library's.
 */
#include "alloc_counts.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_ERRNO 77

static void *volatile hold;
static volatile size_t huge = SIZE_MAX / 2, half_of_all = SIZE_MAX / 2 + 1, odd_alignment = 3;

static int is_filled(const void *block, unsigned char with, size_t size)
{
    for (size_t at = 0; at < size; at++)
        if (((const unsigned char *)block)[at] != with)
            return 0;
    return 1;
}

/* A step: its result, whether memory is usable, whether errno was changed. */
static struct counts begin(void)
{
    errno = KEPT_ERRNO;
    return read_counts();
}

static void end(const char *what, struct counts since, const void *block)
{
    const int error = errno;
    tell_counts(what, since);
    printf("%s: %s, errno %s\n", what, block != NULL ? "memory" : "none",
           error == KEPT_ERRNO ? "kept"
           : error == ENOMEM   ? "ENOMEM"
                               : "other");
}

static void *made(const char *what, struct counts since, void *block, size_t size)
{
    end(what, since, block);
    if (block != NULL) {
        memset(block, 'x', size);
        printf("%s: %s\n", what,
               malloc_usable_size(block) >= size && is_filled(block, 'x', size) ? "usable" : "damaged");
    }
    return block;
}

static void release(void *block)
{
    const size_t usable = block != NULL ? malloc_usable_size(block) : 0;
    const struct counts since = begin();
    free(block);
    const int error = errno;
    tell_counts("free", since);
    fprintf(stderr, "usable %zu\n", usable);
    printf("free: errno %s\n", error == KEPT_ERRNO ? "kept" : "changed");
}

static void plain(void)
{
    struct counts since = begin();
    release(made("malloc", since, hold = malloc(100), 100));
    since = begin();
    release(made("malloc_none", since, hold = malloc(0), 0));
    since = begin();
    release(made("malloc_large", since, hold = malloc(3000000), 3000000));
    since = begin();
    char *zeros = hold = calloc(7, 30);
    printf("calloc: %s\n", zeros == NULL || is_filled(zeros, 0, 210) ? "zeros" : "damaged");
    release(made("calloc", since, zeros, 210));
    since = begin();
    release(made("strdup", since, hold = strdup("twenty letters and 0"), 20));
    release(NULL);
}

static void resized(void)
{
    struct counts since = begin();
    void *block = made("realloc_null", since, hold = realloc(NULL, 50), 50);
    since = begin();
    void *larger = hold = realloc(block, 5000);
    end("realloc", since, larger);
    printf("realloc: %s\n", larger == NULL || is_filled(larger, 'x', 50) ? "kept" : "damaged");
    block = larger != NULL ? larger : block;
    since = begin();
    larger = hold = realloc(block, huge);
    end("realloc_huge", since, larger);
    since = begin();
    end("reallocarray_huge", since, hold = reallocarray(NULL, half_of_all, 4));
    since = begin();
    larger = hold = reallocarray(block, 90, 100);
    end("reallocarray", since, larger);
    block = larger != NULL ? larger : block;
    since = begin();
    larger = hold = realloc(block, 0);
    end("realloc_none", since, larger);
    if (larger != NULL)
        free(larger);
}

static void aligned(int with_pvalloc)
{
    void *block = NULL;
    struct counts since = begin();
    if (posix_memalign(&block, 256, 70) != 0)
        block = NULL;
    release(made("posix_memalign", since, block, 70));
    since = begin();
    block = NULL;
    printf("posix_memalign: %s\n", posix_memalign(&block, odd_alignment, 70) == EINVAL ? "EINVAL" : "other");
    since = begin();
    release(made("aligned_alloc", since, hold = aligned_alloc(64, 640), 640));
    since = begin();
    release(made("memalign", since, hold = memalign(512, 80), 80));
    since = begin();
    release(made("valloc", since, hold = valloc(90), 90));
    (void)with_pvalloc;
#ifdef __GLIBC__
    if (with_pvalloc) {
        since = begin();
        release(made("pvalloc", since, hold = pvalloc(91), 91));
    }
#endif
}

static void refused(void)
{
    struct counts since = begin();
    end("malloc_huge", since, hold = malloc(huge));
    since = begin();
    end("calloc_huge", since, hold = calloc(half_of_all, 4));
}

int main(int argc, char **argv)
{
    static char out[BUFSIZ];
    setvbuf(stdout, out, _IOFBF, sizeof out);
    setvbuf(stderr, NULL, _IONBF, 0);
    read_counts();
#ifndef ALLOC_CALLS_STATIC
    void *found = dlsym(RTLD_DEFAULT, "inject_failure");
    if (found != NULL)
        ((void (*)(long))(uintptr_t)found)(argc > 1 ? strtol(argv[1], NULL, 10) : 0);
#else
    (void)argv;
#endif
    plain();
    resized();
    aligned(argc < 3);
    refused();
#ifndef ALLOC_CALLS_STATIC
    found = dlsym(RTLD_DEFAULT, "inject_calls");
    if (found != NULL)
        printf("calls %ld\n", ((long (*)(void))(uintptr_t)found)());
#endif
    return 0;
}
