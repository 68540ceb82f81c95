/*
 * Names of C++ as people write them, by the demangler of the C++ library, if there is one on this machine: it is looked for
 * when the first such name comes up. SPDX-License-Identifier: MIT
 */
#ifndef HP_SYMBOLS_DEMANGLE_H
#define HP_SYMBOLS_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

/* An hp_read_name: the signature of a function. False: no demangler, no such name, or one that would become too long. */
bool hp_demangle(const char *linked, char *signature, size_t size);

/* The library that it is done with; NULL when there is none. */
const char *hp_demangle_library(void);

#endif
