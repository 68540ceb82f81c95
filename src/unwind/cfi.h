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
    uint64_t linked; /* the address that the linker gave to the first byte */
    bool is_debug;   /* .debug_frame */
};

/* Who is told of what is found. */
struct hp_cfi_visitor {
    void *context;
    /* A function begins, and has at least one row. False: leave it out. */
    bool (*function)(void *context, uint64_t start, uint64_t end);
    /* From this place on, within the function, the rule is this one. Places ascend. False: stop reading. */
    bool (*row)(void *context, uint64_t place, const struct hp_unwind_rule *rule);
    /* An expression that a rule will refer to by what is returned; below 0: it cannot be kept. */
    int32_t (*expression)(void *context, const uint8_t *bytes, size_t size);
};

/* Reads all of it. What is wrong is left out; false: the visitor wanted to stop. */
bool hp_cfi_read(const struct hp_cfi *cfi, const struct hp_cfi_visitor *visitor);

#endif
