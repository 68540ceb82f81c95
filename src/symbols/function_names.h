/*
 * The functions of a file by address, from its table of symbols: all of them, or the exported ones of a file that was
 * stripped. SPDX-License-Identifier: MIT
 */
#ifndef HP_SYMBOLS_FUNCTION_NAMES_H
#define HP_SYMBOLS_FUNCTION_NAMES_H

#include "image_file.h"
#include "range_index.h"

struct hp_function_names {
    struct hp_range_index index; /* of places in elf->sorted */
};

/* The file has to stay. False: no memory. */
bool hp_function_names_make(struct hp_function_names *names, const struct hp_image_file *file);
void hp_function_names_free(struct hp_function_names *names);

/* The function that an address, as linked, lies in: its number in elf->sorted, or HP_RANGE_NONE. */
uint32_t hp_function_names_find(const struct hp_function_names *names, uint64_t linked);

#endif
