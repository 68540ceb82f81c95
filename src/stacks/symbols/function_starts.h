/*
 * Finds where functions without a name begin: by the linker's index for exceptions (.eh_frame_hdr), which remains
 * in stripped files; and the address range of the function at a place. SPDX-License-Identifier: MIT
 */
#ifndef HP_SYMBOLS_FUNCTION_STARTS_H
#define HP_SYMBOLS_FUNCTION_STARTS_H

#include <stdbool.h>
#include <stdint.h>

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

/* -------------------------------------------------------------------------------------- the range of a function */

struct hp_code_range {
    uint64_t start, end; /* link-time addresses */
};

enum hp_code_range_result {
    HP_CODE_FOUND,
    HP_CODE_NO_FILE,   /* errno says why */
    HP_CODE_OTHER_FILE /* it was replaced since: its build-id differs */
};

/* `build_id` is that of the wanted file, in hexadecimal; "": it has none. `place` is a link-time address. */
enum hp_code_range_result hp_code_range_find(const char *path, const char *build_id, uint64_t place,
                                             struct hp_code_range *ret_range);

#endif
