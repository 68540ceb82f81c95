/* Assertions about rows, with cmocka, which must be included before. SPDX-License-Identifier: MIT */
#ifndef REPORT_ASSERTS_H
#define REPORT_ASSERTS_H

#include "report_fixture.h"

static inline void assert_number_in(const hotpath_section *section, size_t row, const char *key, double number)
{
    const struct hotpath_cell cell = cell_of(section, row, key);
    assert_true(cell.has_value);
    assert_float_equal(cell.number, number, 0.001);
}

/* Of the section `timing`. */
static inline void assert_number(size_t row, const char *key, double number)
{
    assert_number_in(section_named("timing"), row, key, number);
}

/* Of the call tree. */
static inline void assert_place(size_t row, uint32_t depth, const char *name, uint64_t calls, double total,
                                double self)
{
    const hotpath_section *tree = section_named("calltree");
    assert_string_equal(cell_of(tree, row, "name").text, name);
    assert_int_equal(tree->rows[row].depth, depth);
    assert_int_equal(cell_of(tree, row, "calls").count, calls);
    assert_number_in(tree, row, "total_ns", total);
    assert_number_in(tree, row, "self_ns", self);
}

#endif
