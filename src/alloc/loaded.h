/*
 * Functions of libraries that the process has loaded, from whatever place: a library that another one brought along when that was opened
 * is found by no search of the dynamic linker that begins with us. No heap. SPDX-License-Identifier: MIT
 */
#ifndef HP_ALLOC_LOADED_H
#define HP_ALLOC_LOADED_H

#include <stdbool.h>
#include <stdint.h>

struct hp_loaded_function {
    uintptr_t address;
    uintptr_t from, size; /* the code of its library */
};

/* The first function of this name in what was loaded after us. False: there is none. */
bool hp_loaded_find(const char *name, struct hp_loaded_function *ret_function);

#endif
