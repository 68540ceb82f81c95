/*
 * The stack address of the program's call of malloc, taken in malloc itself. Guards of zones below it belong to
 * calls that longjmp has left, or to another stack. SPDX-License-Identifier: MIT
 */
#ifndef HP_CORE_STACK_PLACE_H
#define HP_CORE_STACK_PLACE_H

#include <stdint.h>

#define HP_STACK_PLACE() ((uintptr_t)__builtin_dwarf_cfa())

#endif
