/*
 * Demangles C++ names with the demangler of the C++ library, if this machine has one: it is looked up for the first
 * such name. Demangles Rust names of the legacy form. SPDX-License-Identifier: MIT
 */
#ifndef HP_SYMBOLS_DEMANGLE_H
#define HP_SYMBOLS_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

/* An hp_read_name: the signature of a function. False: no demangler, not such a name, or too long a result. */
bool hp_demangle(const char *linked, char *signature, size_t size);

/* The library that has the demangler; NULL: none. */
const char *hp_demangle_library(void);

/* Of the form _ZN...17h<16 digits>E, without the digits. False: another form, or too long a result. */
bool hp_rust_name(const char *linked, char *name, size_t size);

#endif
