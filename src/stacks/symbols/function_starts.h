/*
 * Finds where functions without a name begin: by the linker's index for exceptions (.eh_frame_hdr), which remains
 * in stripped files. SPDX-License-Identifier: MIT
 */
#ifndef HP_SYMBOLS_FUNCTION_STARTS_H
#define HP_SYMBOLS_FUNCTION_STARTS_H

#include "image_file.h"

struct hp_function_starts {
    uint8_t *index; /* the section; NULL: none, or another encoding */
    size_t index_bytes;
    uint64_t index_linked;   /* its link-time address ... */
    ElfW(Shdr) descriptions; /* ... and the section that it refers to */
    size_t count;
};

/* Into a zeroed struct. */
void hp_function_starts_read(struct hp_function_starts *starts, const struct hp_image_file *file);
void hp_function_starts_free(struct hp_function_starts *starts);

/* The start of the function at a link-time address; the address itself if no function is known there. */
uint64_t hp_function_starts_find(const struct hp_function_starts *starts, const struct hp_image_file *file,
                                 uint64_t linked);

#endif
