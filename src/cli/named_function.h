/* Which function of a run is meant by what was typed. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_NAMED_FUNCTION_H
#define HP_CLI_NAMED_FUNCTION_H

#include "run_stacks.h"

/*
 * Its number among the functions of the stacks: the one of that name, of several the one that has most time; or the only one with the text
 * in its name. False, with one line on stderr: there is none, or it could be several.
 */
bool hp_named_function_find(const struct hp_run_stacks *stacks, const char *name, uint32_t *ret_function);

#endif
