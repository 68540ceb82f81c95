/*
 * Calls, times, CPU time and bytes of the sites of a live session, added up over all threads. It reads by offset
 * and maps nothing. Nearly what a report says (src/model/profile.h), at less cost. SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_SITE_TIMES_H
#define HP_CLI_SITE_TIMES_H

#include <stdbool.h>
#include <stdint.h>

/* Indexed by site id. */
struct hp_site_times {
    uint32_t count;
    uint64_t *calls;     /* calls that have ended */
    uint64_t *ticks;     /* of ended and open calls, up to now; recursive calls count once */
    uint64_t *self;      /* of that, not in inner zones; may wrap: read it with hp_site_times_self */
    uint64_t *cpu_ns;    /* CPU time from samples; not in inner zones */
    uint64_t *kernel_ns; /* of that, in the kernel */
    uint64_t *bytes;     /* allocated by calls that have ended; not in inner zones */
};

static inline uint64_t hp_site_times_self(const struct hp_site_times *times, uint32_t site)
{
    return (int64_t)times->self[site] < 0 ? 0 : times->self[site];
}

/* `session` is a file descriptor. False: it cannot be read, or no memory. Free it in either case. */
bool hp_site_times_read(struct hp_site_times *times, int session);
void hp_site_times_free(struct hp_site_times *times);

/* Live bytes of the process. False: its allocations are not recorded. */
bool hp_live_bytes_read(int session, uint64_t *ret_bytes);

#endif
