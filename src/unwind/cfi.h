/*
 * Call frame information, as compilers write it into .eh_frame and .debug_frame: for each function a small program, whose
 * execution gives a rule for each of its places. SPDX-License-Identifier: MIT
 */
#ifndef HP_UNWIND_CFI_H
#define HP_UNWIND_CFI_H

#include "rule.h"

struct hp_cfi {
    const struct hp_machine *machine;
    const uint8_t *bytes;
    size_t size;
    uint64_t linked;   /* the address that the linker gave to the first byte */
    uint64_t executed; /* bytes of programs, so far */
    bool is_debug;     /* .debug_frame */
};

/* A function, and where what is said of it begins. False: stop. */
typedef bool hp_cfi_function(void *context, uint64_t start, uint64_t end, size_t at);

/* Tells all functions, in the order of the section, without their programs. What is wrong is left out. */
void hp_cfi_list(const struct hp_cfi *cfi, hp_cfi_function *tell, void *context);

/* Who is told of what is found. */
struct hp_cfi_visitor {
    void *context;
    /* From this place on, within the function, the rule is this one. Places ascend. False: stop. */
    bool (*row)(void *context, uint64_t place, const struct hp_unwind_rule *rule);
    /* An expression that a rule will refer to by what is returned; below 0: it cannot be kept. */
    int32_t (*expression)(void *context, const uint8_t *bytes, size_t size);
};

/* Executes the program of one of the functions that were told, which has at least one row. */
void hp_cfi_rows(struct hp_cfi *cfi, size_t at, const struct hp_cfi_visitor *visitor);

#endif
