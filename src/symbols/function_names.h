/*
 * The functions of a file by address, from its symbol table: all of them, or the exported ones of a stripped file.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_SYMBOLS_FUNCTION_NAMES_H
#define HP_SYMBOLS_FUNCTION_NAMES_H

#include "elf_symbols.h"
#include "image_file.h"
#include "range_index.h"

struct hp_function_names {
    struct hp_elf_symbols symbols;
    struct hp_range_index index; /* of indexes in symbols.sorted */
};

/* Into a zeroed struct. False: no memory, or no symbols. */
bool hp_function_names_make(struct hp_function_names *names, const struct hp_image_file *file);
void hp_function_names_free(struct hp_function_names *names);

/* The name of the function at a link-time address; "": none. */
const char *hp_function_names_find(const struct hp_function_names *names, uint64_t linked);

#endif
