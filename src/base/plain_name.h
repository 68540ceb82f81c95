/*
 * Names of functions as their authors know them: symbols carry what compilers and linkers append, the C library has
 * a variant of some functions for each kind of CPU, and rows by key have their key. SPDX-License-Identifier: MIT
 */
#ifndef HP_BASE_PLAIN_NAME_H
#define HP_BASE_PLAIN_NAME_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Without what is appended: a version ("@@GLIBC_2.2.5"), and what the compiler made of parts and clones
 * (".part.0", ".constprop.0", ".isra.0", ".cold"). In the C library also without the kind of CPU, and the
 * underscores that go with it: "memmove" of "__memmove_avx_unaligned_erms". Names of C++ stay as they are. False:
 * it is plain already, or too long.
 */
bool hp_plain_name(const char *linked, bool is_of_c_library, char *name, size_t size);

/*
 * The name of a row of HOTPATH_BLOCK_KEY and the like without the text that was its key: "query[text]" of
 * "query[SELECT 1]". `plain` is where it is written if that is needed. Returns it, or the name as it is.
 */
const char *hp_without_key(const char *name, char *plain, size_t size);

#endif
