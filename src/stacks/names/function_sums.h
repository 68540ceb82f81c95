/* Sums of each function, from the stacks of a run, and of one function by line. SPDX-License-Identifier: MIT */
#ifndef HP_NAMES_FUNCTION_SUMS_H
#define HP_NAMES_FUNCTION_SUMS_H

#include "function_profile.h"
#include "named_stacks.h"

/* False: no memory. The stacks must outlive the profile. */
bool hp_function_sums_make(const struct hp_named_stacks *stacks, struct hp_function_profile *ret_profile);
void hp_function_sums_free(struct hp_function_profile *profile);

/* ------------------------------------------------------------------------------------------ lines of a function */

/* Sums of one function, by source line and by instruction address. */

/* What is summed up. */
enum hp_line_measure { HP_LINES_CPU, HP_LINES_WAITING };

struct hp_line_sum {
    uint64_t at;         /* a source line, 0: unknown; or an address */
    uint64_t own_ns;     /* of stacks that end there */
    uint64_t all_ns;     /* with callees; recursive calls count once */
    uint32_t last_stack; /* the last stack that was counted there */
};

struct hp_line_table {
    struct hp_line_sum *all; /* sorted by line, or by address */
    size_t count;
};

struct hp_line_sums {
    struct hp_line_table lines, places;
    uint64_t own_ns, all_ns; /* of the function */
    uint64_t run_ns;         /* of all stacks */
};

/* For the function with that number. False: no memory. */
bool hp_line_sums_make(const struct hp_named_stacks *stacks, uint32_t function, enum hp_line_measure measure,
                       struct hp_line_sums *ret_sums);
void hp_line_sums_free(struct hp_line_sums *sums);

#endif
