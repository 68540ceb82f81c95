/*
 * Sandboxes of this process, and programs executed in one. SPDX-License-Identifier: MIT
 */
#ifndef HP_PRELOAD_SANDBOX_H
#define HP_PRELOAD_SANDBOX_H

#include <stdbool.h>

#include "preload.h"

/* Whether the caller may be in one. It may also be a thread whose vfork child went into one. */
bool hp_sandbox_is_around(void);
/* Before a function that executes a program with `environ`, deep in the C library. */
void hp_sandbox_before_shell(void);

/*
 * Declares `passed`: the environment for a program to be executed. In a sandbox, and where this library cannot be
 * read any more, it does not name this library. A copy is on the stack (include alloca.h): a vfork child must leave
 * no memory behind, and in a sandbox there may be none.
 */
#define HP_WITHOUT_US(environment_, passed)                                                                        \
    char *const *passed = (environment_);                                                                          \
    struct hp_environment found_;                                                                                  \
    if (__builtin_expect(                                                                                          \
            (hp_sandbox_is_around() || hp_preload_is_out_of_reach()) && hp_preload_is_in(passed, &found_), 0)) {   \
        char **const copy_ = alloca((found_.count + 1) * sizeof *copy_ + found_.length);                           \
        hp_preload_copy(passed, &found_, copy_);                                                                   \
        passed = copy_;                                                                                            \
    }

#endif
