/*
 * The function that owns the CPU time of a program, from its stacks: the deepest one that holds half of it, what it
 * spends it in, and who calls it. docs/verdict.md describes these rules. SPDX-License-Identifier: MIT
 */
#ifndef HP_REPORT_HOT_FUNCTION_H
#define HP_REPORT_HOT_FUNCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "function_profile.h"
#include "text.h"

struct hp_arena;

/* --- The thresholds, as parts of the program's CPU time unless noted. */

#define HP_HOT_PART 0.5      /* the hot function has at least this */
#define HP_HOT_NAMED 0.15    /* a part of it that is worth a name */
#define HP_HOT_FLAT 0.1      /* below this, no single function is hot */
#define HP_HOT_LEAF 0.9      /* of a function's time, in its own code: it calls nothing */
#define HP_HOT_CALLER 0.65   /* of a function's time: one caller is as good as the only one */
#define HP_HOT_ALL 0.97      /* of a function's time: as good as all of it */
#define HP_HOT_NAMELESS 0.25 /* in a library without names: they are worth installing */

/* What the stacks of a program are made of, without what says nothing. */
struct hp_hot_stacks {
    const struct hp_function_profile *profile;
    struct hp_arena *arena;
    const char *shown;          /* the program as people know it: "python3" of python3.11 */
    const char *program;        /* its name; "": several */
    bool is_outside;            /* the weight is CPU time outside of zones */
    bool is_wall;               /* the weight is wall-clock time: threads ran at once */
    bool knows_callers;         /* most stacks are complete */
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

/* What was said. */
struct hp_hot_function {
    const struct hp_found_function *function; /* the one that was named first; NULL: none */
    const char *nameless;                     /* a library without names that matters; NULL: none */
};

/* "compress_block takes 92 % of the CPU time, all of it in burn"; `whole` is what shares are of. */
void hp_hot_function_put(struct hp_text *line, const struct hp_hot_stacks *stacks, const char *whole,
                         struct hp_hot_function *ret_hot);

/* "libz" of libz.so.1.2.13: a library without its version. */
void hp_hot_put_library(struct hp_text *line, const char *library);

/* A function without what compilers add to names: "copy" of copy.part.0. */
void hp_hot_put_name(struct hp_text *line, const char *shown);

#endif
