/*
 * Call frame information, as compilers write it into .eh_frame and .debug_frame: for each function a small program,
 * whose execution gives a rule for each address. SPDX-License-Identifier: MIT
 */
#ifndef HP_UNWIND_CFI_H
#define HP_UNWIND_CFI_H

#include "rules.h"

struct hp_cfi {
    const struct hp_machine *machine;
    const uint8_t *bytes;
    size_t size;
    uint64_t linked;   /* link-time address of the first byte */
    uint64_t executed; /* program bytes executed so far */
    bool is_debug;     /* .debug_frame */
};

/* A function, and the offset of its FDE. False: stop. */
typedef bool hp_cfi_function(void *context, uint64_t start, uint64_t end, size_t at);

/* Lists all functions, in the order of the section, without their programs. Invalid entries are left out. */
void hp_cfi_list(const struct hp_cfi *cfi, hp_cfi_function *tell, void *context);

/* Receives the results. */
struct hp_cfi_visitor {
    void *context;
    /* From this offset in the function on, the rule is this one. Offsets ascend. False: stop. */
    bool (*row)(void *context, uint64_t place, const struct hp_unwind_rule *rule);
    /* Stores an expression; rules refer to it by the result. Negative: it cannot be stored. */
    int32_t (*expression)(void *context, const uint8_t *bytes, size_t size);
};

/* Executes the program of one of the listed functions, which gives at least one row. */
void hp_cfi_rows(struct hp_cfi *cfi, size_t at, const struct hp_cfi_visitor *visitor);

#endif
