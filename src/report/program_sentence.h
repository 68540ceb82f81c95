/*
 * The first sentence about what is not measured: the state of the run, the program, the function that owns the
 * time, and one next step. docs/verdict.md describes its rules. SPDX-License-Identifier: MIT
 */
#ifndef HP_REPORT_PROGRAM_SENTENCE_H
#define HP_REPORT_PROGRAM_SENTENCE_H

#include <stdbool.h>

#include "text.h"

struct hotpath_results;
struct hp_found_function;

/* It was said; `ret_function`: the function that it names first, or NULL. False: no memory. */
bool hp_program_sentence_put(struct hp_text *line, const struct hotpath_results *results,
                             const struct hp_found_function **ret_function);

/* The same if many short processes are the cost of a run. False: nothing was said. */
bool hp_program_starts_put(struct hp_text *line, const struct hotpath_results *results);

#endif
