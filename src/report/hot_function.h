/*
 * The function that owns the CPU time of a program, from its stacks: the deepest one that holds half of it, what it
 * spends it in, and who calls it. docs/verdict.md describes these rules. SPDX-License-Identifier: MIT
 */
#ifndef HP_REPORT_HOT_FUNCTION_H
#define HP_REPORT_HOT_FUNCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hot_stacks.h"
#include "text.h"

/* --- The thresholds, as parts of the program's CPU time unless noted. */

#define HP_HOT_PART 0.5      /* the hot function has at least this */
#define HP_HOT_NAMED 0.15    /* a part of it that is worth a name */
#define HP_HOT_FLAT 0.1      /* below this, no single function is hot */
#define HP_HOT_LEAF 0.9      /* of a function's time, in its own code: it calls nothing */
#define HP_HOT_CALLER 0.65   /* of a function's time: one caller is as good as the only one */
#define HP_HOT_ALL 0.97      /* of a function's time: as good as all of it */
#define HP_HOT_NAMELESS 0.25 /* in a library without names: they are worth installing */

/* What was said. */
struct hp_hot_function {
    const struct hp_found_function *function; /* the one that was named first; NULL: none */
    const char *nameless;                     /* a library without names that matters; NULL: none */
};

/* "compress_block takes 92 % of the CPU time, all of it in burn"; `whole` is what shares are of. */
void hp_hot_function_put(struct hp_text *line, const struct hp_hot_stacks *stacks, const char *whole,
                         struct hp_hot_function *ret_hot);

/* The function with a name that makes most calls of a frame, by time; NULL: unknown. */
const struct hp_found_function *hp_hot_main_caller(const struct hp_hot_stacks *stacks, uint32_t frame);

/* "libz" of libz.so.1.2.13: a library without its version. */
void hp_hot_put_library(struct hp_text *line, const char *library);

/* A function, marked as one (name_marks.h), without what compilers add to names: "copy" of copy.part.0. */
void hp_hot_put_name(struct hp_text *line, const char *shown);

#endif
