/*
 * Which stack a thread is on: its own, or one made by the program, as for coroutines. And alternate stacks for
 * signals. System calls only. SPDX-License-Identifier: MIT
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
 * Whether the calling thread is on its own stack at `here`; if so, returns the known extent. `is_first`: it is the
 * process's first thread. `is_forked`: that may have started on the stack of any thread of its parent.
 */
bool hp_stack_is_own(uintptr_t here, bool is_first, bool is_forked, struct hp_stack *ret_own);

/*
 * Whether a signal frame may lie on a stack between the two addresses, so that the code below may have interrupted
 * the code above. If the layout of such frames is unknown: whether there is room for one.
 */
bool hp_stack_may_have_signal(uintptr_t low, uintptr_t high);

enum hp_alternate {
    HP_ALTERNATE_NONE,
    HP_ALTERNATE_OURS,  /* made by hp_alternate_make, in this process or one it was forked from */
    HP_ALTERNATE_HOSTS, /* the program's */
    HP_ALTERNATE_IN_USE /* a handler of the program runs on it */
};
/* The calling thread's alternate stack; if it is the program's, its size. */
enum hp_alternate hp_alternate_present(uint64_t *ret_bytes);
/* The maximum size of a signal frame on this machine. */
uint64_t hp_alternate_least(void);
/*
 * Gives the calling thread, which has none, an alternate stack, to be passed to hp_alternate_end. False: not
 * possible.
 */
bool hp_alternate_make(struct hp_stack *ret_stack);
/* The same with one that was made for the thread before. */
bool hp_alternate_set(const struct hp_stack *stack);
/* Whether it is the one that the calling thread has. */
bool hp_alternate_is(const struct hp_stack *stack);
/*
 * Removes it from the calling thread, or the thread is gone (`is_own` false). It stays mapped for good if it is in
 * use. All zero: there is none; and that is what it is then.
 */
void hp_alternate_end(struct hp_stack *stack, bool is_own);

/*
 * Whether handlers of this program usually run on alternate stacks, because its own stacks have no room: as in Go.
 */
bool hp_alternate_is_usual(void);

#endif
