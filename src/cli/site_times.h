/*
 * Calls, times, processor time and bytes of the sites of a session that goes on, added up over all threads and by offset: whoever watches maps nothing. Nearly
 * what a report says of them (src/model/profile.h), for less. SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_SITE_TIMES_H
#define HP_CLI_SITE_TIMES_H

#include <stdbool.h>
#include <stdint.h>

/* By the ids of sites. */
struct hp_site_times {
    uint32_t count;
    uint64_t *calls;  /* that have ended */
    uint64_t *ticks;  /* of these and of those that are open, up to now; recursive ones count once */
    uint64_t *self;   /* of that, not in zones inside; wraps, read it with hp_site_times_self */
    uint64_t *cpu_ns; /* on a processor, as samples found them there; not in zones inside */
    uint64_t *bytes;  /* that calls which have ended asked for; not in zones inside */
};

static inline uint64_t hp_site_times_self(const struct hp_site_times *times, uint32_t site)
{
    return (int64_t)times->self[site] < 0 ? 0 : times->self[site];
}

/* `session` is a descriptor. False: it cannot be read, or there is no memory. To be freed in either case. */
bool hp_site_times_read(struct hp_site_times *times, int session);
void hp_site_times_free(struct hp_site_times *times);

#endif
