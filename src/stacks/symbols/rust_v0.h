/* Demangles Rust names of the v0 form, which begin with _R. SPDX-License-Identifier: MIT */
#ifndef HP_SYMBOLS_RUST_V0_H
#define HP_SYMBOLS_RUST_V0_H

#include <stdbool.h>
#include <stddef.h>

/* Without hashes of crates. False: another form, an unsupported feature, or too long a result. */
bool hp_rust_v0_name(const char *linked, char *name, size_t size);

#endif
