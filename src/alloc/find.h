/* Finding the allocator behind us, for the table of next.h. SPDX-License-Identifier: MIT */
#ifndef HP_ALLOC_FIND_H
#define HP_ALLOC_FIND_H

#include <stdbool.h>

/* If that has not been done. False: this thread is just doing so. */
bool hp_find_next(void);

#endif
