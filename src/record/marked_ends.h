/* The end of a zone that has allocated, in the usual case: see marked_ends.c. SPDX-License-Identifier: MIT */
#ifndef HP_RECORD_MARKED_ENDS_H
#define HP_RECORD_MARKED_ENDS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Ends the innermost zone, if it is of this site. False: it is not the usual case, and nothing was done. (Zones that have a guard end by
 * hotpath_v1_leave.)
 */
bool hp_alloc_leave_site(uint32_t site, uint64_t now);

#endif
