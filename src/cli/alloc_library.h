/*
 * libhotpath_alloc.so, which `hotpath run` preloads into programs that were not linked with it: where it is, and
 * which programs can load it. SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_ALLOC_LIBRARY_H
#define HP_CLI_ALLOC_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/* Its full path: `given` if not NULL, else the one built or installed with this program. */
bool hp_alloc_library_find(const char *given, char *path, size_t size);

/*
 * Why the library must not be preloaded into this program, which is found as execvp finds it. "": not needed,
 * nothing to report; NULL: no obstacle.
 */
const char *hp_alloc_library_obstacle(const char *library, const char *program);

/* Whether a program with this obstacle may still have the library in its environment, for its children. */
bool hp_alloc_library_may_pass(const char *obstacle);

/* Called in the new process: prepends the library to LD_PRELOAD. */
void hp_alloc_library_preload(const char *library, bool with_children);

/* Whether only we and root can change the library and the libraries it needs. False: `problem` says why not. */
bool hp_alloc_library_is_trusted(const char *library, char *problem, size_t size);

/* Whether a program was linked with hotpath, so that it may have measured functions. */
bool hp_program_has_zones(const char *program);

#endif
