/* The slow path of entering and leaving zones: see zones.c. SPDX-License-Identifier: MIT */
#ifndef HP_ZONES_ZONES_H
#define HP_ZONES_ZONES_H

#include <stdbool.h>
#include <stdint.h>

struct hotpath_zone;

/* Whether the guard's zone is open on this thread. */
bool hp_zone_is_open(const struct hotpath_zone *zone);
/* Ends a zone; handles all cases. */
void hp_zone_leave(struct hotpath_zone *zone, uint64_t now);
/* Ends the innermost zone of a site, and everything still open inside it. */
void hp_zone_leave_site(uint32_t site, uint64_t now);
/* Notes a call that is not recorded; and tells whether the exit that comes now belongs to such a call. */
void hp_zone_skip(void);
bool hp_zone_was_skipped(void);

#endif
