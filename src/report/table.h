/* Sections as tables of text for people. SPDX-License-Identifier: MIT */
#ifndef HP_REPORT_TABLE_H
#define HP_REPORT_TABLE_H

#include <stdbool.h>

#include "prose.h"
#include "section.h"

/* Remarks of a report: each is made once. Begins as {0}. */
struct hp_said {
    const char *notes[32];
    size_t count;
};

/* The table, and what its marks and columns mean. False: the arena of the results has no memory. */
bool hp_table_put(const hotpath_results *results, const struct hotpath_section *section, struct hp_text *out,
                  const struct hp_table_style *style, struct hp_said *said);

/* With its heading, its summary and its notes. False as above. */
bool hp_table_put_section(const hotpath_results *results, const struct hotpath_section *section,
                          struct hp_text *out, const struct hp_table_style *style, struct hp_said *said);

#endif
