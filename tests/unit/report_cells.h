/* Cells of a report's sections, by key. Include it after cmocka. SPDX-License-Identifier: MIT */
#ifndef REPORT_CELLS_H
#define REPORT_CELLS_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "hotpath.h"

/* SIZE_MAX: there is none. */
static inline size_t column_named(const hotpath_section *section, const char *key)
{
    for (size_t at = 0; at < hotpath_section_columns(section); at++)
        if (strcmp(hotpath_section_column(section, at)->key, key) == 0)
            return at;
    return SIZE_MAX;
}

/* Without a value if there is no such column. */
static inline struct hotpath_cell cell_at(const hotpath_section *section, size_t row, const char *key)
{
    struct hotpath_cell cell = {0};
    hotpath_section_cell(section, row, column_named(section, key), &cell);
    return cell;
}

/* "-": the cell is empty. */
static inline void copy_text(const hotpath_section *section, size_t row, const char *key, char *to, size_t size)
{
    const struct hotpath_cell cell = cell_at(section, row, key);
    snprintf(to, size, "%s", cell.has_value ? cell.text : "-");
}

/* -1: the cell is empty. */
static inline void copy_numbers(const hotpath_section *section, size_t row, const char *const *keys, size_t count,
                                double *numbers)
{
    for (size_t at = 0; at < count; at++) {
        const struct hotpath_cell cell = cell_at(section, row, keys[at]);
        numbers[at] = cell.has_value ? cell.number : -1;
    }
}

#endif
