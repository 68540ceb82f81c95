/* What the environment requests from this library. SPDX-License-Identifier: MIT */
#ifndef HP_PRELOAD_PRELOAD_H
#define HP_PRELOAD_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>

/* Whether child programs get the library, too: `hotpath run` without --no-children. */
bool hp_preload_is_for_children(void);

/* Whether HOTPATH requests that allocations are recorded. */
bool hp_preload_is_asked_for(void);

/* Removes libhotpath_alloc.so from LD_PRELOAD, so that child programs run without it. */
void hp_preload_end_here(void);

/* At process start, for what follows. */
void hp_preload_note(void);
/* The process has another user, root or namespace. */
void hp_preload_note_move(void);
/*
 * Whether this library cannot be read since then: the dynamic linker of an executed program would print an error
 * into the program's stderr.
 */
bool hp_preload_is_out_of_reach(void);
/*
 * `environ` names this library no longer, unless the program has changed LD_PRELOAD. Only in functions that read
 * `environ` anyway: other threads may be changing it.
 */
void hp_preload_hide(void);

/* An environment that names this library: how many entries it has, which one that is, and how long. */
struct hp_environment {
    size_t count, at, length;
};
bool hp_preload_is_in(char *const *environment, struct hp_environment *ret_found);
/* The same without this library. `copy` has room for count + 1 pointers, and behind them for `length` bytes. */
void hp_preload_copy(char *const *environment, const struct hp_environment *found, char **copy);

/* Whether the program runs under valgrind, whose malloc replaces the C library's and looks like it. */
bool hp_preload_has_valgrind(void);

#endif
