/*
 * The allocation counts of this thread, also in programs without hotpath: its libraries are preloaded, and the
 * function is looked up there. Static programs contain it (ALLOC_COUNTS_LINKED). With the variable
 * ALLOC_COUNTS_UNREAD they do not read: then nothing is counted without a session.
 */
#ifndef ALLOC_COUNTS_H
#define ALLOC_COUNTS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* As struct hotpath_alloc_counts. */
struct counts {
    uint64_t count, bytes, freed_count, freed_usable, session;
};

#ifdef ALLOC_COUNTS_LINKED
#ifdef __cplusplus
extern "C"
#endif
    int
    hotpath_read_allocs(struct counts *ret_counts);
#endif

/* Zeros where nothing is counted. */
static inline struct counts read_counts(void)
{
    struct counts counts = {0, 0, 0, 0, 0};
    if (getenv("ALLOC_COUNTS_UNREAD") != NULL)
        return counts;
#ifdef ALLOC_COUNTS_LINKED
    hotpath_read_allocs(&counts);
#else
    static int (*read_allocs)(struct counts *);
    static int has_looked; /* once: in vain it allocates */
    if (!has_looked) {
        has_looked = 1;
        void *found = dlsym(RTLD_DEFAULT, "hotpath_read_allocs");
        read_allocs = (int (*)(struct counts *))(uintptr_t)found;
    }
    if (read_allocs != NULL)
        read_allocs(&counts);
#endif
    return counts;
}

/* One line on stderr: the counts since then. */
static inline void tell_counts(const char *what, struct counts since)
{
    const struct counts now = read_counts();
    fprintf(stderr, "counted %s %llu %llu %llu %llu\n", what, (unsigned long long)(now.count - since.count),
            (unsigned long long)(now.bytes - since.bytes),
            (unsigned long long)(now.freed_count - since.freed_count),
            (unsigned long long)(now.freed_usable - since.freed_usable));
}

#endif
