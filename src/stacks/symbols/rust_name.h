/* Demangles Rust names of the legacy form. SPDX-License-Identifier: MIT */
#ifndef HP_SYMBOLS_RUST_NAME_H
#define HP_SYMBOLS_RUST_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* Of the form _ZN...17h<16 digits>E, without the digits. False: another form, or too long a result. */
bool hp_rust_name(const char *linked, char *name, size_t size);

#endif
