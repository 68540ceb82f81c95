/*
 * The file of a program that will be run: whether libhotpath_alloc.so can be preloaded into it, and whether it has
 * zones. Programs are found as execvp finds them. SPDX-License-Identifier: MIT
 */
#ifndef HP_RUN_PROGRAM_FILE_H
#define HP_RUN_PROGRAM_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Why the library must not be preloaded into the program. "": not needed, nothing to report; NULL: no obstacle. */
const char *hp_program_obstacle(const char *library, const char *program);

/* Whether a program with this obstacle may still have the library in its environment, for its children. */
bool hp_program_may_pass(const char *obstacle);

/* Whether a program was linked with hotpath, so that it may have measured functions. */
bool hp_program_has_zones(const char *program);

/* Whether the interpreter of a script, or the dynamic linker of a program, does not exist, and its name. */
bool hp_program_lacks_interpreter(const char *program, char *ret_name, size_t size);

#endif
