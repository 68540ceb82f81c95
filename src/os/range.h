/*
 * A range of addresses that shows a file and grows where it is. Only what is in use is mapped, so a limit of the address
 * space (RLIMIT_AS) and mlockall see no more than that. It begins where nothing else comes near soon: far below the place where the
 * kernel puts what it may put anywhere. With 32-bit addresses all are taken at once, unless there is such a limit.
 *
 *     struct hp_range range;
 *     hp_range_map(&range, fd, 128 << 10, 64 << 20, 0);
 *     hp_range_grow(&range, 256 << 10);       the file may be shorter; then what is beyond its end must not be touched
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
    uint64_t page;   /* what the kernel maps at least */
};

/*
 * Maps the first bytes of `fd` (or plain shared memory for -1, all of it at once, since that cannot grow) with room for `most`.
 * Ranges with different `place` do not stand in one another's way. False: no addresses.
 */
bool hp_range_map(struct hp_range *range, int fd, uint64_t first, uint64_t most, uint32_t place);

/* At least so many bytes, at the same address. False: there is a neighbour, or a limit. */
bool hp_range_grow(struct hp_range *range, uint64_t to);

/*
 * Makes bytes [from, to) real, as a write to each page would, so that touching them cannot fail later. Takes neither path nor
 * descriptor. Without space for all of it, none is taken.
 */
enum hp_fill { HP_FILL_DONE, HP_FILL_NO_SPACE, HP_FILL_UNKNOWN /* the kernel cannot: before Linux 5.14 */ };
enum hp_fill hp_range_fill(const struct hp_range *range, uint64_t from, uint64_t to);

/* Gives all of it back but the first page, which is empty from then on. */
void hp_range_empty(struct hp_range *range);

void hp_range_unmap(struct hp_range *range);

#endif
