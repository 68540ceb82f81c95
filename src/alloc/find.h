/* Finding the allocator behind us, for the table of next.h. SPDX-License-Identifier: MIT */
#ifndef HP_ALLOC_FIND_H
#define HP_ALLOC_FIND_H

#include <stdbool.h>

#include "hotpath.h"
#include "next.h"

/* If that has not been done. False: this thread is just doing so. */
bool hp_find_next(void);

/* A function of this name behind us; NULL: there is none. */
void *hp_find_symbol(const char *name);

/* Whether that function is in the same image as malloc behind us, and that is not another copy of ours. */
bool hp_find_is_of_allocator(const void *function);

/*
 * Whether a sanitizer is in this process, which has malloc for itself. It allocates before it has begun, but cannot be asked then
 * how large a block is. Known once the allocator is found.
 */
bool hp_find_has_sanitizer(void);

/*
 * Another copy of these functions is in front of this one and counts, or this one has reason to keep out: calls are passed on, and
 * nothing is counted. Yields the function that knows how large a block is.
 */
HOTPATH_API_ hp_next_usable_size *hotpath_v1_alloc_yield(void);

/* Does what was asked for while the functions behind us were being found. */
void hp_yield_if_asked(void);

#endif
