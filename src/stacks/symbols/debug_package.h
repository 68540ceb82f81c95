/*
 * The package that has the symbols of a stripped file, where dpkg installed the file. Its lists of files are read,
 * which takes some 8 ms; nothing is run. SPDX-License-Identifier: MIT
 */
#ifndef HP_SYMBOLS_DEBUG_PACKAGE_H
#define HP_SYMBOLS_DEBUG_PACKAGE_H

#include <stdbool.h>
#include <stddef.h>

#define HP_DPKG_LISTS "/var/lib/dpkg/info"

/* "libfoo1-dbgsym". False: no package has the file, as far as the lists in that folder say. */
bool hp_debug_package(const char *lists, const char *path, char *name, size_t size);

#endif
