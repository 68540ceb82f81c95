/* Finding the allocator behind us, for the table of next.h. SPDX-License-Identifier: MIT */
#ifndef HP_ALLOC_FIND_H
#define HP_ALLOC_FIND_H

#include <stdbool.h>

/* If that has not been done. False: this thread is just doing so. */
bool hp_find_next(void);

/* A function of this name behind us; NULL: there is none. */
void *hp_find_symbol(const char *name);

/* Whether that function is in the same image as malloc behind us, and that is not another copy of ours. */
bool hp_find_is_of_allocator(const void *function);

#endif
