/* Names of Rust as people write them, from those that the linker knows. SPDX-License-Identifier: MIT */
#ifndef HP_SYMBOLS_RUST_NAME_H
#define HP_SYMBOLS_RUST_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* Of the form _ZN...17h<16 digits>E, without the digits. False: it is of another form, or would become too long. */
bool hp_rust_name(const char *linked, char *name, size_t size);

#endif
