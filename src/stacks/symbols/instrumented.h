/*
 * Finds the functions of a program or library that were compiled with -finstrument-functions: those whose machine
 * code calls the compiler's hook and contains their own address, the argument of the hook. x86-64 and aarch64.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_SYMBOLS_INSTRUMENTED_H
#define HP_SYMBOLS_INSTRUMENTED_H

#include "function_list.h"

const char *hp_instrumented_read(struct hp_arena *arena, const char *path, struct hp_functions *ret_functions);

#endif
