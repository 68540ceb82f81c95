/*
 * The function that owns the critical path of a program without measured functions, from its stacks: the deepest
 * one with half of the path that works for no other caller. What several functions call is a helper: that it has
 * the time says less than for whom. docs/critical-path.md describes this. SPDX-License-Identifier: MIT
 */
#ifndef HP_REPORT_PATH_OWNER_H
#define HP_REPORT_PATH_OWNER_H

#include <stdbool.h>
#include <stdint.h>

#include "path_profile.h"

struct hp_arena;

#define HP_OWNER_PART 0.5    /* of the path: it has at least this */
#define HP_OWNER_SHARED 0.03 /* of a function's time, for other callers than that on the path: it is a helper */
#define HP_OWNER_INNER 0.75  /* of the owner's time on the path, in one function below it: that one is named, too */

struct hp_path_owner {
    const struct hp_found_function *function; /* NULL: there is none */
    const struct hp_found_function *inner;    /* the deepest one below it with most of its time; NULL: none */
    const struct hp_found_function *caller; /* of `function`, on the path; NULL: what starts threads, or unknown */
    uint64_t ns;                            /* on the path */
    const char *waits_for;                  /* most of that; NULL: it does not wait */
};

/* False: no memory. */
bool hp_path_find_owner(struct hp_arena *arena, const struct hp_function_profile *functions,
                        const struct hp_run_path *path, struct hp_path_owner *ret_owner);

#endif
