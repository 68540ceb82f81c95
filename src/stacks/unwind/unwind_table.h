/*
 * How to get from any address in a program or library to the caller: the functions of the image by address, and for
 * requested functions the rows of their addresses, each with one of a few rules. Made once per image; rows are made
 * on first use, since a run visits some hundred of thousands of functions. SPDX-License-Identifier: MIT
 */
#ifndef HP_UNWIND_UNWIND_TABLE_H
#define HP_UNWIND_UNWIND_TABLE_H

#include "cfi.h"
#include "image_file.h"

#define HP_UNWIND_SECTIONS 3u

/* Code described by one owner, up to the beginning of the next. */
struct hp_unwind_stretch {
    uint32_t section;          /* the section of its rows, or one of the values below */
    uint32_t at;               /* offset of the FDE in the section */
    uint32_t first, row_count; /* rows; 0: not made yet, but a known function has some */
    uint32_t signal_end;       /* up to here it is sigreturn code */
};
#define HP_UNWIND_MADE HP_UNWIND_SECTIONS           /* all rows are made */
#define HP_UNWIND_NOT_LOOKED UINT32_MAX             /* not checked for sigreturn code yet */
#define HP_UNWIND_UNKNOWN_CODE (HP_UNWIND_MADE + 1) /* nothing describes it */

struct hp_unwind_table {
    const struct hp_machine *machine; /* NULL: its code cannot be unwound */
    const struct hp_image_file *file; /* its code is read; NULL: it is not */
    struct hp_cfi sections[HP_UNWIND_SECTIONS];
    size_t section_count;
    uint64_t base;    /* the link-time address that places are relative to */
    uint32_t *starts; /* where stretches begin, ascending */
    struct hp_unwind_stretch *stretches;
    size_t count;
    uint32_t *places;  /* of rows: where they begin; ascending within a function */
    uint16_t *rule_of; /* of each row */
    size_t row_count, row_room;
    struct hp_rule_set rules;
};

/*
 * Reads .eh_frame, and .debug_frame for what that lacks; `debug` is the separate debug file, or NULL. `file` must
 * stay open as long as the table is used.
 */
void hp_unwind_table_make(struct hp_unwind_table *table, const struct hp_image_file *file,
                          const struct hp_image_file *debug);
void hp_unwind_table_free(struct hp_unwind_table *table);

/* The rule at a link-time address. Never NULL, but it may be of the kind HP_CFA_NONE. It does not move. */
const struct hp_unwind_rule *hp_unwind_table_find(struct hp_unwind_table *table, uint64_t linked);

/* Whether `start` is the beginning of the function that contains `linked`. */
bool hp_unwind_table_is_start(struct hp_unwind_table *table, uint64_t start, uint64_t linked);

/* The bytes of an expression that a rule of the table refers to, until the next rule is requested. */
const uint8_t *hp_unwind_table_expression(const struct hp_unwind_table *table, const struct hp_unwind_rule *rule,
                                          size_t *ret_size);

#endif
