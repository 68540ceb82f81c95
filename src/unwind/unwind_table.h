/*
 * How to get from any place in a program or library to the caller: the functions of the image by address, and for each that
 * something was asked of the rows of its places, with one of a few rules. Made once per image; rows are made when they are first
 * asked for, since of thousands of functions a run comes by some hundred. SPDX-License-Identifier: MIT
 */
#ifndef HP_UNWIND_UNWIND_TABLE_H
#define HP_UNWIND_UNWIND_TABLE_H

#include "cfi.h"
#include "image_file.h"
#include "rule_set.h"

#define HP_UNWIND_SECTIONS 3u

/* Code that one has the say about, up to where the next begins. */
struct hp_unwind_stretch {
    uint32_t section;          /* who has its rows, or one of those below */
    uint32_t at;               /* what is said of the function, in the section */
    uint32_t first, row_count; /* rows; 0: not made yet, but a function that is known has some */
    uint32_t signal_end;       /* up to this place it is code that handlers return to */
};
#define HP_UNWIND_MADE HP_UNWIND_SECTIONS           /* all rows are there */
#define HP_UNWIND_NOT_LOOKED UINT32_MAX             /* nobody has looked for such code */
#define HP_UNWIND_UNKNOWN_CODE (HP_UNWIND_MADE + 1) /* nobody says anything of it */

struct hp_unwind_table {
    const struct hp_machine *machine; /* NULL: one whose code cannot be unwound */
    const struct hp_image_file *file; /* whose code is looked at; NULL: none is */
    struct hp_cfi sections[HP_UNWIND_SECTIONS];
    size_t section_count;
    uint64_t base;    /* the address, as linked, that places count from */
    uint32_t *starts; /* where stretches begin, ascending */
    struct hp_unwind_stretch *stretches;
    size_t count;
    uint32_t *places;  /* of rows: where they begin; ascending within a function */
    uint16_t *rule_of; /* of each row */
    size_t row_count, row_room;
    struct hp_rule_set rules;
};

/*
 * Reads .eh_frame, and .debug_frame for what that has not; `debug` is the file with debug information, or NULL. `file` has to stay
 * open as long as the table is used.
 */
void hp_unwind_table_make(struct hp_unwind_table *table, const struct hp_image_file *file,
                          const struct hp_image_file *debug);
void hp_unwind_table_free(struct hp_unwind_table *table);

/* The rule at an address, as linked. Never NULL, but it may be of the kind HP_CFA_NONE. It stays where it is. */
const struct hp_unwind_rule *hp_unwind_table_find(struct hp_unwind_table *table, uint64_t linked);

/* Whether `start` is where the function begins that `linked` is in. */
bool hp_unwind_table_is_start(struct hp_unwind_table *table, uint64_t start, uint64_t linked);

/* The bytes of an expression that a rule of the table refers to, until the next rule is asked for. */
const uint8_t *hp_unwind_table_expression(const struct hp_unwind_table *table, const struct hp_unwind_rule *rule,
                                          size_t *ret_size);

#endif
