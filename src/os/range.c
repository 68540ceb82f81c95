/* Growable file mappings. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* mremap */
#include "range.h"

#include <errno.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "raw_call.h"

/* Missing in older headers; the numbers are the same on every machine. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define GRANULE UINT64_C(65536) /* the largest page size of all supported platforms */

static uint64_t round_up(uint64_t size, uint64_t step) { return (size + step - 1) & ~(step - 1); }

static char *map(char *hint, int fd, uint64_t bytes)
{
    const int flags = MAP_SHARED | MAP_NORESERVE | (fd < 0 ? MAP_ANONYMOUS : 0);
    void *fresh = mmap(hint, (size_t)bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    return fresh != MAP_FAILED ? fresh : NULL;
}

#if UINTPTR_MAX > UINT32_MAX
/* Distance from the kernel's usual place, best first, and distance between ranges: no session is larger. */
static const uint64_t distances[] = {UINT64_C(1) << 40, UINT64_C(1) << 36};
#define STEP (UINT64_C(1) << 32)
#define PLACES 8u

/* The address is a hint; if it is not granted, nothing stays mapped. */
static char *map_there(char *wish, int fd, uint64_t bytes)
{
    char *fresh = map(wish, fd, bytes);
    if (fresh == wish)
        return fresh;
    if (fresh != NULL)
        munmap(fresh, (size_t)bytes);
    return NULL;
}

static char *map_far_from(const char *usual, int fd, uint64_t bytes, uint32_t place)
{
    const uint64_t here = (uint64_t)(uintptr_t)usual & ~(GRANULE - 1);
    char *fresh = NULL;
    for (size_t at = 0; fresh == NULL && at < sizeof distances / sizeof distances[0]; at++) {
        const uint64_t distance = distances[at] + (place % PLACES) * STEP;
        if (here > 2 * distance)
            fresh = map_there((char *)(uintptr_t)(here - distance), fd, bytes);
    }
    return fresh;
}
#else
/* A 32-bit address space has no far-away place. */
static char *map_far_from(const char *usual, int fd, uint64_t bytes, uint32_t place)
{
    (void)usual, (void)fd, (void)bytes, (void)place;
    return NULL;
}
#endif

static bool has_limit(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

bool hp_range_map(struct hp_range *range, int fd, uint64_t first, uint64_t most, uint32_t place)
{
    const uint64_t bytes = fd < 0 ? most : first;
    char *usual = map(NULL, fd, bytes);
    *range = (struct hp_range){usual, bytes, getauxval(AT_PAGESZ)};
    if (usual == NULL || fd < 0)
        return usual != NULL;
    char *fresh = map_far_from(usual, fd, bytes, place);
    if (fresh != NULL) {
        munmap(usual, (size_t)bytes);
        range->base = fresh;
        return true;
    }
    /*
     * Near other mappings it would soon have a neighbour, so all addresses are reserved at once if that is allowed.
     */
    fresh = !has_limit() ? map(NULL, fd, most) : NULL;
    if (fresh != NULL) {
        munmap(usual, (size_t)bytes);
        range->base = fresh;
        range->mapped = most;
    }
    return true;
}

/* From here to hp_range_fill also called by the sampling signal handler: nothing of the C library's. */
bool hp_range_grow(struct hp_range *range, uint64_t to)
{
    const uint64_t wanted = round_up(to, GRANULE);
    if (wanted <= range->mapped)
        return true;
    if (hp_raw(SYS_mremap, range->base, range->mapped, wanted, 0) != (long)(uintptr_t)range->base)
        return false;
    range->mapped = wanted;
    return true;
}

/* Some emulators accept advice without following it. */
static bool is_real(char *page)
{
    unsigned char is_resident = 0;
    return hp_raw(SYS_mincore, page, 1, &is_resident) == 0 && (is_resident & 1);
}

enum hp_fill hp_range_fill(const struct hp_range *range, uint64_t from, uint64_t to)
{
    const uint64_t begin = round_up(from, range->page), end = round_up(to, range->page);
    if (begin >= end)
        return HP_FILL_DONE;
    long result;
    do
        result = hp_raw(SYS_madvise, range->base + begin, end - begin, MADV_POPULATE_WRITE);
    while (result == -EINTR || result == -EAGAIN);
    if (result == 0)
        return is_real(range->base + end - range->page) ? HP_FILL_DONE : HP_FILL_UNKNOWN;
    if (result == -EINVAL)
        return HP_FILL_UNKNOWN;
    hp_raw(SYS_madvise, range->base + begin, end - begin, MADV_REMOVE);
    return HP_FILL_NO_SPACE;
}

/*
 * Replaces it by zeroed memory. By raw system call: threads may be reading it, which is harmless before and after,
 * but a sanitizer that saw this would take it for a write of ours.
 */
static void map_over(char *page, size_t bytes)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    hp_raw(HP_SYS_MMAP, page, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
}

void hp_range_empty(struct hp_range *range)
{
    if (range->base == NULL)
        return;
    map_over(range->base, (size_t)range->page);
    /* Clear the struct first: a child forked in between must not unmap what others have mapped there by then. */
    const uint64_t mapped = range->mapped;
    range->mapped = range->page;
    if (mapped > range->page)
        munmap(range->base + range->page, (size_t)(mapped - range->page));
}

void hp_range_unmap(struct hp_range *range)
{
    const struct hp_range was = *range;
    *range = (struct hp_range){NULL, 0, 0};
    if (was.base != NULL)
        munmap(was.base, (size_t)was.mapped);
}
