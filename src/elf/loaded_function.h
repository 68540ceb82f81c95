/*
 * Functions of all loaded libraries: a library that another one loaded as a dependency in dlopen is not found by a
 * search of the dynamic linker that starts with us. No heap. SPDX-License-Identifier: MIT
 */
#ifndef HP_ELF_LOADED_FUNCTION_H
#define HP_ELF_LOADED_FUNCTION_H

#include <stdbool.h>
#include <stdint.h>

struct hp_loaded_function {
    uintptr_t address;
    uintptr_t from, size; /* the code of its library */
};

/* The first function of this name in the images loaded after us. False: none. */
bool hp_loaded_find(const char *name, struct hp_loaded_function *ret_function);

#endif
