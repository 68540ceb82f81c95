/*
 * Code that is in no file: functions of the kernel, and code that programs generated. Its names cost time, or are
 * in files that programs write. SPDX-License-Identifier: MIT
 */
#ifndef HP_NAMES_FILELESS_CODE_H
#define HP_NAMES_FILELESS_CODE_H

#include "arena.h"
#include "collector.h"
#include "kernel_names.h"

/*
 * Whether the kernel's functions were seen for so long that reading their names pays: it takes some 40 ms. Else
 * they are left out.
 */
bool hp_kernel_names_pay(const struct hp_stacks *stacks);

/*
 * The function of the kernel that a node of HP_STACK_KERNEL_CODE stands for, HP_NO_KERNEL_FUNCTION: none; and why
 * the thread entered the kernel by it, as a place of HP_STACK_KERNEL, where `place` does not say it.
 */
size_t hp_kernel_function_of(const struct hp_stacks *stacks, const struct hp_stack_node *node);
uint64_t hp_kernel_reason(const struct hp_kernel_names *names, size_t function, uint64_t place);

/* "[kernel: read]" */
void hp_kernel_reason_name(uint64_t place, char *name, size_t size);

/* "<not sampled>", with the reason as far as it is known. */
void hp_not_sampled_name(const struct hp_stack_counts *counts, char *name, size_t size);

/* Names of generated code. */
struct hp_generated_names {
    const char **by_node; /* NULL: it is in a file, or has no name */
    size_t count;         /* of those with names */
    struct hp_arena arena;
};

/* False: no memory. */
bool hp_generated_names_make(const struct hp_stacks *stacks, struct hp_generated_names *ret_names);
void hp_generated_names_free(struct hp_generated_names *names);

#endif
