/* Files that are installed with the program, in the folder of libraries. SPDX-License-Identifier: MIT */
#ifndef HP_OS_INSTALLED_H
#define HP_OS_INSTALLED_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The full path of a file, by its name in the folder of libraries, such as "hotpath/orders". That folder is found
 * relative to the program, so the prefix may have been moved; a build tree has the same layout. False: not there.
 */
bool hp_installed_find(const char *name, char *path, size_t size);

#endif
