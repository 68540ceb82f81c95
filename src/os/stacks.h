/*
 * Which stack a thread is on: its own, or one that the program made, as coroutines have. And alternate stacks for signals.
 * System calls only. SPDX-License-Identifier: MIT
 */
#ifndef HP_OS_STACKS_H
#define HP_OS_STACKS_H

#include <stdbool.h>
#include <stdint.h>

/* Addresses from `low` up to, but not including, `high`. */
struct hp_stack {
    uintptr_t low, high;
};

static inline bool hp_stack_has(const struct hp_stack *stack, uintptr_t address)
{
    return address - stack->low < stack->high - stack->low;
}

/*
 * Whether the calling thread is on its own stack at `here`; then as much of that as is known. `is_first`: it is the one the process
 * began with. `is_forked`: which may have begun on the stack of any thread of its parent.
 */
bool hp_stack_is_own(uintptr_t here, bool is_first, bool is_forked, struct hp_stack *ret_own);

/*
 * Whether a signal's frame may be on a stack between the two addresses, so that what is below may have interrupted what is above.
 * Where it is not known what such a frame looks like: whether there is room for one.
 */
bool hp_stack_may_have_signal(uintptr_t low, uintptr_t high);

enum hp_alternate {
    HP_ALTERNATE_NONE,
    HP_ALTERNATE_OURS,  /* made by hp_alternate_make, if only by that of a process from which this one was forked */
    HP_ALTERNATE_HOSTS, /* the program's */
    HP_ALTERNATE_IN_USE /* a handler of the program is running on it */
};
/* The calling thread's alternate stack; if the program's, how large. */
enum hp_alternate hp_alternate_present(uint64_t *ret_bytes);
/* What the frame of a signal takes on this machine, at most. */
uint64_t hp_alternate_least(void);
/* Gives the calling thread, which has none, an alternate stack. To be given to hp_alternate_end. NULL: it cannot be had. */
void *hp_alternate_make(void);
/* The calling thread has it no more, or is gone (`is_own` false). It stays for good if somebody runs on it. */
void hp_alternate_end(void *stack, bool is_own);

/* Whether handlers of this program run on alternate stacks as a rule, because its own stacks have no room: as Go's do. */
bool hp_alternate_is_usual(void);

#endif
