/* Programs in the folders of PATH. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_IN_PATH_H
#define HP_CLI_IN_PATH_H

#include <stdbool.h>

/* Whether a program of that name is in PATH, as execvp would find it. */
bool hp_is_in_path(const char *name);

#endif
