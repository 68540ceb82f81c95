/*
 * libhotpath_alloc.so, which `hotpath run` gives to programs that were not linked with it: where it is, and which programs can
 * take it. SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_ALLOC_LIBRARY_H
#define HP_CLI_ALLOC_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/* Its whole path: `given` if that is not NULL, else where it is built or installed beside this program. */
bool hp_alloc_library_find(const char *given, char *path, size_t size);

/*
 * Why this program, found as execvp does, should not be given the library; "": for a reason that is nobody's business (it has
 * what it needs); NULL: there is none.
 */
const char *hp_alloc_library_obstacle(const char *library, const char *program);

/* Whether a program with this obstacle can have the library in its environment all the same, for what it starts. */
bool hp_alloc_library_may_pass(const char *obstacle);

/* In the new process: puts the library in front of what LD_PRELOAD has already. */
void hp_alloc_library_preload(const char *library, bool with_children);

/* Whether nobody but us and root can change it, or the library that it brings along. False: `problem` says what is wrong. */
bool hp_alloc_library_is_trusted(const char *library, char *problem, size_t size);

/* Whether a program was linked with hotpath, so that it may have functions that are measured. */
bool hp_program_has_zones(const char *program);

#endif
