/* Looks up the real allocator, for the table of real_alloc.h. SPDX-License-Identifier: MIT */
#ifndef HP_PRELOAD_RESOLVE_H
#define HP_PRELOAD_RESOLVE_H

#include <stdbool.h>

#include "hotpath.h"
#include "real_alloc.h"

/* Does the lookup, unless it is done. False: this thread is in the middle of it. */
bool hp_resolve_next(void);

/* The next function of this name; NULL: none. */
void *hp_resolve_symbol(const char *name);

/* Whether that function is in the same image as the real malloc, and that is not another copy of our library. */
bool hp_resolve_is_of_allocator(const void *function);

/*
 * Whether a sanitizer that owns malloc is in this process. It allocates before it is initialised, but cannot be
 * asked for the size of a block then. Known after the lookup.
 */
bool hp_resolve_has_sanitizer(void);

/*
 * Called by another copy of these functions in front of this one, which counts, or if this one must keep out: from
 * now on calls are only forwarded. Returns the function that gives the size of a block.
 */
HOTPATH_API_ hp_real_usable_size *hotpath_v1_alloc_yield(void);

/* Carries out such a request that arrived during the lookup. */
void hp_yield_if_asked(void);

#endif
