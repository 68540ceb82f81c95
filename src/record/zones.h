/* Entering and leaving zones out of line: see zones.c. SPDX-License-Identifier: MIT */
#ifndef HP_RECORD_ZONES_H
#define HP_RECORD_ZONES_H

#include <stdbool.h>
#include <stdint.h>

struct hotpath_zone;

/* Ends a zone, whatever there is to mind. */
void hp_zone_leave(struct hotpath_zone *zone, uint64_t now);
/* Ends the innermost zone of a site, and what is still open inside it. */
void hp_zone_leave_site(uint32_t site, uint64_t now);
/* Remembers a call that is not recorded, and tells whether the end that comes now is that of such a call. */
void hp_zone_skip(void);
bool hp_zone_was_skipped(void);

#endif
