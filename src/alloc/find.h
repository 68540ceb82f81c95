/* Looks up the real allocator, for the table of next.h. SPDX-License-Identifier: MIT */
#ifndef HP_ALLOC_FIND_H
#define HP_ALLOC_FIND_H

#include <stdbool.h>

#include "hotpath.h"
#include "next.h"

/* Does the lookup, unless it is done. False: this thread is in the middle of it. */
bool hp_find_next(void);

/* The next function of this name; NULL: none. */
void *hp_find_symbol(const char *name);

/* Whether that function is in the same image as the real malloc, and that is not another copy of our library. */
bool hp_find_is_of_allocator(const void *function);

/*
 * Whether a sanitizer that owns malloc is in this process. It allocates before it is initialised, but cannot be
 * asked for the size of a block then. Known after the lookup.
 */
bool hp_find_has_sanitizer(void);

/*
 * Called by another copy of these functions in front of this one, which counts, or if this one must keep out: from
 * now on calls are only forwarded. Returns the function that gives the size of a block.
 */
HOTPATH_API_ hp_next_usable_size *hotpath_v1_alloc_yield(void);

/* Carries out such a request that arrived during the lookup. */
void hp_yield_if_asked(void);

#endif
