/*
 * The files of a run: the program, found as execvp finds it, and libhotpath_alloc.so, which is preloaded into it if
 * it can be; and whatever is installed with us. SPDX-License-Identifier: MIT
 */
#ifndef HP_RUN_PROGRAM_FILE_H
#define HP_RUN_PROGRAM_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* ------------------------------------------------------------------------------------------------ finding files */

/* Whether a program of that name is in PATH, as execvp would find it, and its path. */
bool hp_is_in_path(const char *name);
bool hp_find_in_path(const char *name, char *file, size_t size);

/*
 * The full path of a file, by its name in the folder of libraries, such as "hotpath/orders". That folder is found
 * relative to the program, so the prefix may have been moved; a build tree has the same layout. False: not there.
 */
bool hp_installed_find(const char *name, char *path, size_t size);

/* -------------------------------------------------------------------------------------------------- the library */

/*
 * libhotpath_alloc.so, which `hotpath run` preloads into programs that were not linked with it: where it is, and
 * how a program gets it.
 */

/*
 * Its full path: `given` if not NULL, else the one built or installed with this program. `has_locks`, `has_io`: the
 * one that has hooks for these, too.
 */
bool hp_alloc_library_find(const char *given, bool has_locks, bool has_io, char *path, size_t size);

/* The path of libhotpath.so, which it looks for in its own folder. False: it is not there. */
bool hp_alloc_library_partner(const char *library, char path[PATH_MAX]);

/* Called in the new process: prepends the library to LD_PRELOAD. */
void hp_alloc_library_preload(const char *library, bool with_children);

/* Whether only we and root can change the library and the libraries it needs. False: `problem` says why not. */
bool hp_alloc_library_is_trusted(const char *library, char *problem, size_t size);

/* -------------------------------------------------------------------------------------------------- the program */

/* Why the library must not be preloaded into the program. "": not needed, nothing to report; NULL: no obstacle. */
const char *hp_program_obstacle(const char *library, const char *program);

/* Why an emulator of this machine cannot run the program as the kernel would; NULL: it can. */
const char *hp_program_emulation_obstacle(const char *program);

/* Why its locks are not counted either, with this obstacle; NULL: they are, by itself. */
const char *hp_program_lock_obstacle(const char *obstacle, const char *program);

/* Whether a program with this obstacle may still have the library in its environment, for its children. */
bool hp_program_may_pass(const char *obstacle);

/* Whether a program was linked with hotpath, so that it may have measured functions. */
bool hp_program_has_zones(const char *program);

/* Whether the interpreter of a script, or the dynamic linker of a program, does not exist, and its name. */
bool hp_program_lacks_interpreter(const char *program, char *ret_name, size_t size);

#endif
