/* What the environment requests from this library. SPDX-License-Identifier: MIT */
#ifndef HP_ALLOC_PRELOAD_H
#define HP_ALLOC_PRELOAD_H

#include <stdbool.h>

/* Whether child programs get the library, too: `hotpath run` without --no-children. */
bool hp_preload_is_for_children(void);

/* Whether HOTPATH requests that allocations are recorded. */
bool hp_preload_is_asked_for(void);

/* Removes libhotpath_alloc.so from LD_PRELOAD, so that child programs run without it. */
void hp_preload_end_here(void);

/* Whether the program runs under valgrind, whose malloc replaces the C library's and looks like it. */
bool hp_preload_has_valgrind(void);

#endif
