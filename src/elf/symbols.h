/*
 * Names of functions, from the ELF symbol tables of the program and its loaded libraries. Each table is read and
 * sorted once. No heap, and no lock of the dynamic linker. One thread at a time. SPDX-License-Identifier: MIT
 */
#ifndef HP_ELF_SYMBOLS_H
#define HP_ELF_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

struct hp_symbol {
    const char *name;  /* as in the symbol table */
    const char *file;  /* the source of a static function, as passed to the compiler; "" if unknown */
    const char *image; /* the path of the program or library; NULL if unknown */
    uint64_t address;  /* linked address of the address that was asked for */
};

/*
 * The function that contains `address`. False: its image cannot be read, or has no such symbol. Texts stay valid.
 */
bool hp_symbol_find(uintptr_t address, struct hp_symbol *ret_symbol);

/* Forgets where images were that are not loaded any more: others may take their places. */
struct hp_image_ranges;
void hp_symbols_forget(const struct hp_image_ranges *loaded);

/* The file mapped at an address, and the offset in it. False: none. The path is valid until the next call. */
bool hp_symbol_image(uintptr_t address, const char **ret_path, uint64_t *ret_offset);

#endif
