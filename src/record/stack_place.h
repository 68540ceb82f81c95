/*
 * The place on the stack where the program called malloc, to be taken in malloc itself. Guards of zones that lie below are of
 * calls that are no longer there, since longjmp left them, or of another stack. SPDX-License-Identifier: MIT
 */
#ifndef HP_RECORD_STACK_PLACE_H
#define HP_RECORD_STACK_PLACE_H

#include <stdint.h>

#define HP_STACK_PLACE() ((uintptr_t)__builtin_dwarf_cfa())

#endif
