/* Programs in the folders of PATH. SPDX-License-Identifier: MIT */
#ifndef HP_OS_IN_PATH_H
#define HP_OS_IN_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a program of that name is in PATH, as execvp would find it, and its path. */
bool hp_is_in_path(const char *name);
bool hp_find_in_path(const char *name, char *file, size_t size);

#endif
