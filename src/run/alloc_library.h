/*
 * libhotpath_alloc.so, which `hotpath run` preloads into programs that were not linked with it: where it is, and
 * how a program gets it. SPDX-License-Identifier: MIT
 */
#ifndef HP_RUN_ALLOC_LIBRARY_H
#define HP_RUN_ALLOC_LIBRARY_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* Its full path: `given` if not NULL, else the one built or installed with this program. */
bool hp_alloc_library_find(const char *given, char *path, size_t size);

/* The path of libhotpath.so, which it looks for in its own folder. False: it is not there. */
bool hp_alloc_library_partner(const char *library, char path[PATH_MAX]);

/* Called in the new process: prepends the library to LD_PRELOAD. */
void hp_alloc_library_preload(const char *library, bool with_children);

/* Whether only we and root can change the library and the libraries it needs. False: `problem` says why not. */
bool hp_alloc_library_is_trusted(const char *library, char *problem, size_t size);

#endif
