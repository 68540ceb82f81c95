/*
 * A mapping of a file that grows in place. Only what is in use is mapped, so an address space limit (RLIMIT_AS) and
 * mlockall see no more than that. It starts far below the place where the kernel puts other mappings, so that
 * nothing comes near it soon. With 32-bit addresses the whole range is mapped at once, unless there is such a
 * limit.
 *
 *     struct hp_range range;
 *     hp_range_map(&range, fd, 128 << 10, 64 << 20, 0);
 *     hp_range_grow(&range, 256 << 10);       the file may be shorter; then do not touch what is beyond its end
 *     hp_range_fill(&range, 128 << 10, 256 << 10);
 *
 * One thread at a time. SPDX-License-Identifier: MIT
 */
#ifndef HP_OS_RANGE_H
#define HP_OS_RANGE_H

#include <stdbool.h>
#include <stdint.h>

struct hp_range {
    char *base;      /* NULL: none */
    uint64_t mapped; /* bytes of it */
    uint64_t page;   /* page size of the kernel */
};

/*
 * Maps the first bytes of `fd` (or anonymous shared memory for -1, all of it at once, since that cannot grow) with
 * room for `most`. Ranges with different `place` do not collide. False: no addresses.
 */
bool hp_range_map(struct hp_range *range, int fd, uint64_t first, uint64_t most, uint32_t place);

/*
 * Grows to at least this many bytes, at the same address. False: another mapping is in the way, or there is a
 * limit.
 */
bool hp_range_grow(struct hp_range *range, uint64_t to);

/*
 * Allocates bytes [from, to), as a write to each page would, so that touching them cannot fail later. Needs neither
 * path nor descriptor. All or nothing.
 */
enum hp_fill { HP_FILL_DONE, HP_FILL_NO_SPACE, HP_FILL_UNKNOWN /* before Linux 5.14: not supported */ };
enum hp_fill hp_range_fill(const struct hp_range *range, uint64_t from, uint64_t to);

/* Unmaps all of it except the first page, which is zeroed. */
void hp_range_empty(struct hp_range *range);

void hp_range_unmap(struct hp_range *range);

#endif
