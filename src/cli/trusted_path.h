/*
 * Whether a file may be loaded into another program: anyone else who could change it, or a folder above it, would
 * run code there. SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_TRUSTED_PATH_H
#define HP_CLI_TRUSTED_PATH_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The file and all folders above it must belong to root or to us, and nobody else may write to them; folders with
 * the sticky bit (/tmp) are accepted, because others cannot replace our files there. `path` is from realpath.
 * False: `problem` says what is wrong with which of them.
 */
bool hp_path_is_trusted(const char *path, char *problem, size_t size);

#endif
