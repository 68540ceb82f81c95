/* The common end of a zone that has allocated: see marked_ends.c. SPDX-License-Identifier: MIT */
#ifndef HP_ALLOC_MARKED_ENDS_H
#define HP_ALLOC_MARKED_ENDS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Ends the innermost zone if it belongs to this site. False: not the common case, nothing was done. (Zones with a
 * guard end by hotpath_v1_leave.)
 */
bool hp_alloc_leave_site(uint32_t site, uint64_t now);

#endif
