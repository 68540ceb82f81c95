/* Programs in the folders of PATH, and files installed with the program. SPDX-License-Identifier: MIT */
#ifndef HP_OS_FIND_FILE_H
#define HP_OS_FIND_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a program of that name is in PATH, as execvp would find it, and its path. */
bool hp_is_in_path(const char *name);
bool hp_find_in_path(const char *name, char *file, size_t size);

/*
 * The full path of a file, by its name in the folder of libraries, such as "hotpath/orders". That folder is found
 * relative to the program, so the prefix may have been moved; a build tree has the same layout. False: not there.
 */
bool hp_installed_find(const char *name, char *path, size_t size);

#endif
