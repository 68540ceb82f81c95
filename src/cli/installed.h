/* Files that are installed with the program, in the folder of libraries. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_INSTALLED_H
#define HP_CLI_INSTALLED_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The whole path of a file, by its name in the folder of libraries: "hotpath/orders". That folder is found from where the program is, so the
 * prefix may have been moved; a build has the same folders. False: it is not there.
 */
bool hp_installed_find(const char *name, char *path, size_t size);

#endif
