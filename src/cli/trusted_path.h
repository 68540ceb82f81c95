/*
 * Whether a file may be put into another program: somebody else who could change it, or what a folder above it leads to, would run
 * code of his own there. SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_TRUSTED_PATH_H
#define HP_CLI_TRUSTED_PATH_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The file and all folders above it have to belong to root or to us, and nobody else may write to them; of folders in which
 * everybody may make files, but not touch those of others (/tmp), that is true as far as we go. `path` is as realpath gives it.
 * False: `problem` says what is wrong with which of them.
 */
bool hp_path_is_trusted(const char *path, char *problem, size_t size);

#endif
