/* The functions of one unit of debug information, and the calls inlined into them. SPDX-License-Identifier: MIT */
#ifndef HP_SYMBOLS_INLINE_CALLS_H
#define HP_SYMBOLS_INLINE_CALLS_H

#include <stdint.h>

#include "libdw.h"
#include "range_index.h"

/* A function, or an inlined call. */
struct hp_inline_call {
    Dwarf_Die entry;
    const char *name;      /* NULL: not read yet */
    const char *from_file; /* its call site; NULL: not read yet */
    uint32_t from_line;
    uint32_t around; /* the call it is inlined into; HP_RANGE_NONE: it is a function */
};

struct hp_inline_calls {
    struct hp_inline_call *all;
    size_t count, room;
    struct hp_range_index index; /* the innermost by address */
};

/* Reads a unit. False: no memory. */
bool hp_inline_calls_read(struct hp_inline_calls *calls, Dwarf_Die *unit);
void hp_inline_calls_free(struct hp_inline_calls *calls);

/* The linkage name, or the name in the source; "": none. */
const char *hp_inline_call_name(struct hp_inline_call *call);

/* Reads its call site, if not done yet; `files` is the unit's list of files. */
void hp_inline_call_find_from(struct hp_inline_call *call, Dwarf_Files *files);

#endif
