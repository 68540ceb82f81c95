/* What the environment of this process wants of us. SPDX-License-Identifier: MIT */
#ifndef HP_ALLOC_PRELOAD_H
#define HP_ALLOC_PRELOAD_H

#include <stdbool.h>

/* Whether programs that this process starts are to have the library, too: as `hotpath run --preload-children` says. */
bool hp_preload_is_for_children(void);

/* Whether HOTPATH asks for allocations to be recorded. */
bool hp_preload_is_asked_for(void);

/* Takes libhotpath_alloc.so out of LD_PRELOAD, so that programs that this process starts do without. */
void hp_preload_end_here(void);

/* Whether the program runs under valgrind, whose malloc takes the place of the C library's and looks like it. */
bool hp_preload_has_valgrind(void);

#endif
