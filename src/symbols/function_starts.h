/*
 * Where functions begin that have no name: by the index that linkers make for exceptions (.eh_frame_hdr), which stays in files from
 * which all symbols were stripped. SPDX-License-Identifier: MIT
 */
#ifndef HP_SYMBOLS_FUNCTION_STARTS_H
#define HP_SYMBOLS_FUNCTION_STARTS_H

#include "image_file.h"

struct hp_function_starts {
    uint8_t *index; /* the section; NULL: there is none, or it is of another kind */
    size_t index_bytes;
    uint64_t index_linked;   /* where the linker has put it, ... */
    ElfW(Shdr) descriptions; /* ... and what it leads to */
    size_t count;
};

/* Into a zeroed struct. */
void hp_function_starts_read(struct hp_function_starts *starts, const struct hp_image_file *file);
void hp_function_starts_free(struct hp_function_starts *starts);

/* The beginning of the function that an address, as linked, lies in; the address itself where it is in none that is known. */
uint64_t hp_function_starts_find(const struct hp_function_starts *starts, const struct hp_image_file *file,
                                 uint64_t linked);

#endif
