/*
 * The stacks of a program without what says nothing: what starts threads and programs, what recursive calls have
 * between them, and all but one frame of code without names. SPDX-License-Identifier: MIT
 */
#ifndef HP_REPORT_HOT_STACKS_H
#define HP_REPORT_HOT_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "function_profile.h"
#include "function_role.h"

struct hp_arena;

/* A stack: its weight, and its place in `frames`. */
struct hp_hot_stack {
    uint64_t ns;
    size_t first;
    uint32_t count;
};

/* What the stacks of a program are made of, without what says nothing. */
struct hp_hot_stacks {
    const struct hp_function_profile *profile;
    struct hp_arena *arena;
    const char *shown;       /* the program as people know it: "python3" of python3.11 */
    const char *program;     /* its name; "": several */
    bool is_outside;         /* the weight is CPU time outside of zones */
    bool is_wall;            /* the weight is wall-clock time: threads ran at once */
    const uint64_t *held_ns; /* the weight, by node, is time in which others waited for a lock; NULL: it is not */
    bool knows_callers;      /* most stacks are complete */
    const unsigned char *roles; /* by function: enum hp_function_role */
    const uint32_t *frame_of;   /* by function: itself; of code without names, one for each library */
    struct hp_hot_stack *all;
    size_t count;
    uint32_t *frames; /* of all stacks, outermost first */
    uint64_t ns;      /* of all stacks */
    /*
     * By frame: with callees; the same of cleaned stacks, which leave out what recursive calls have between them;
     * of itself; and its mean depth in cleaned stacks.
     */
    uint64_t *total_ns, *seen_ns, *own_ns;
    double *depths;
    uint64_t *tally; /* by frame: of the last question */
};

/* Whether a process belongs to it; HP_NO_FOUND: an unknown one. */
typedef bool hp_is_of_program(const void *context, uint32_t process);

/* Cleans the stacks of these processes, or of all (NULL). False: no memory. */
bool hp_hot_stacks_make(struct hp_hot_stacks *stacks, struct hp_arena *arena,
                        const struct hp_function_profile *profile, hp_is_of_program *is_of_program,
                        const void *context);

/* Cleans what all stacks have outside of zones. False: no memory. */
bool hp_hot_stacks_make_outside(struct hp_hot_stacks *stacks, struct hp_arena *arena,
                                const struct hp_function_profile *profile);

/* Cleans the stacks of holders, while that function waited for their locks. False: no memory. */
bool hp_hot_stacks_make_held(struct hp_hot_stacks *stacks, struct hp_arena *arena,
                             const struct hp_function_profile *profile, const struct hp_found_function *waiter);

static inline enum hp_function_role hp_hot_role(const struct hp_hot_stacks *stacks, uint32_t frame)
{
    return (enum hp_function_role)stacks->roles[frame];
}

/* The function of a frame: of code without names, any one of its library. */
static inline const struct hp_found_function *hp_hot_found(const struct hp_hot_stacks *stacks, uint32_t frame)
{
    return &stacks->profile->all[frame];
}

#endif
