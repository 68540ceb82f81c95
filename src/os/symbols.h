/*
 * Names of functions, from the ELF symbol tables of the program and the libraries it has loaded. The tables are read and
 * sorted once each; nothing is taken from the heap and no lock of the dynamic linker is asked for.
 * One thread at a time. SPDX-License-Identifier: MIT
 */
#ifndef HP_OS_SYMBOLS_H
#define HP_OS_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

struct hp_symbol {
    const char *name;  /* as the linker knows it */
    const char *file;  /* the source of a static function, as the compiler was told; "" where it is not known */
    const char *image; /* path of the program or library it is in */
};

/* The function that `address` lies in. False: its image cannot be read, or has no such symbol. Names stay valid. */
bool hp_symbol_find(uintptr_t address, struct hp_symbol *ret_symbol);

/* The file that is mapped at an address, and how far into it that is. False: none. The path is valid until the next call. */
bool hp_symbol_image(uintptr_t address, const char **ret_path, uint64_t *ret_offset);

#endif
