/*
 * Functions that call each other, each with another kind of frame, and record their return addresses: what an
 * unwinder must find. stack_chain.c is compiled in several ways; CHAIN is the name of its entry point.
 * SPDX-License-Identifier: MIT
 */
#ifndef STACK_CHAIN_H
#define STACK_CHAIN_H

#include <stddef.h>
#include <stdint.h>

#define MOST_TRUTH 256u

/* Return addresses, the innermost last. */
struct stack_truth {
    uintptr_t all[MOST_TRUTH];
    size_t count;
};
extern struct stack_truth stack_truth;

typedef void chain_end(void);

void chain_usual(int depth, chain_end *end);         /* as the build compiles it */
void chain_small(int depth, chain_end *end);         /* -O2, without frame pointers */
void chain_pointers(int depth, chain_end *end);      /* -O2, with frame pointers and .eh_frame */
void chain_only_pointers(int depth, chain_end *end); /* with frame pointers and nothing else */
void chain_debug_frame(int depth, chain_end *end);   /* without frame pointers, with .debug_frame */

#define ENTER_TRUTH() (stack_truth.all[stack_truth.count++] = (uintptr_t)__builtin_return_address(0))
#define LEAVE_TRUTH() (stack_truth.count--)

#endif
