/* Names of Rust in the newer form, which begin with _R, as people write them. SPDX-License-Identifier: MIT */
#ifndef HP_SYMBOLS_RUST_V0_H
#define HP_SYMBOLS_RUST_V0_H

#include <stdbool.h>
#include <stddef.h>

/* Without hashes of crates. False: it is of another form, has what is not known here, or would become too long. */
bool hp_rust_v0_name(const char *linked, char *name, size_t size);

#endif
