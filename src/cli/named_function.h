/* Finds the function of a run that the user named. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_NAMED_FUNCTION_H
#define HP_CLI_NAMED_FUNCTION_H

#include "run_stacks.h"

/*
 * Its number among the functions of the stacks: the function of that name, of several the one with the most time;
 * else the only function whose name contains the text. False, with one line on stderr: none, or several.
 */
bool hp_named_function_find(const struct hp_run_stacks *stacks, const char *name, uint32_t *ret_function);

#endif
