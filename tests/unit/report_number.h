/*
 * A number of the running session's report, by section, name of the row, and key of the column; 0 if there is none.
 * hotpath_set_reporter(read_number, NULL) comes first. SPDX-License-Identifier: MIT
 */
#ifndef REPORT_NUMBER_H
#define REPORT_NUMBER_H

#include <string.h>

#include "hotpath.h"

static struct {
    const char *section, *name, *key;
    double number;
} wanted;

static void read_number(const hotpath_results *results, void *context)
{
    (void)context;
    wanted.number = 0;
    for (size_t at = 0; wanted.section != NULL && at < hotpath_results_sections(results); at++) {
        const hotpath_section *section = hotpath_results_section(results, at);
        struct hotpath_cell name, cell;
        if (strcmp(hotpath_section_name(section), wanted.section) != 0)
            continue;
        for (size_t column = 0; column < hotpath_section_columns(section); column++)
            for (size_t row = hotpath_section_rows(section); row-- > 0;) /* the first one: that of all instances */
                if (strcmp(hotpath_section_column(section, column)->key, wanted.key) == 0 &&
                    hotpath_section_cell(section, row, 0, &name) == HOTPATH_OK && name.text != NULL &&
                    strcmp(name.text, wanted.name) == 0 &&
                    hotpath_section_cell(section, row, column, &cell) == HOTPATH_OK && cell.has_value)
                    wanted.number = cell.number;
    }
}

static double number_of(const char *section, const char *name, const char *key)
{
    wanted.section = section;
    wanted.name = name;
    wanted.key = key;
    assert_int_equal(hotpath_report(), HOTPATH_OK);
    return wanted.number;
}

#endif
