/* The stacks stored with the sessions of a run. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_RUN_STACKS_H
#define HP_CLI_RUN_STACKS_H

#include "function_sums.h"
#include "named_stacks.h"
#include "sessions.h"

struct hp_run_stacks {
    struct hp_named_stacks named;
    struct hp_function_profile functions;
};

/* False: there are none; one that exists but cannot be read costs one line on stderr. Free them in either case. */
bool hp_run_stacks_read(const struct hp_sessions *sessions, struct hp_run_stacks *ret_stacks);
void hp_run_stacks_free(struct hp_run_stacks *stacks);

#endif
