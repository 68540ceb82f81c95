/* A report as text for people. SPDX-License-Identifier: MIT */
#ifndef HP_RENDER_TABLE_H
#define HP_RENDER_TABLE_H

#include <stdbool.h>

#include "section.h"
#include "text.h"

struct hp_table_style {
    uint32_t width; /* maximum width of a line; 0: unlimited */
    bool color;
};

/* Writes the report. False: the arena of the results has no memory. */
bool hp_table_render(const hotpath_results *results, struct hp_text *out, const struct hp_table_style *style);

#endif
