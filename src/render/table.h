/* Sections as tables of text for people. SPDX-License-Identifier: MIT */
#ifndef HP_RENDER_TABLE_H
#define HP_RENDER_TABLE_H

#include <stdbool.h>

#include "prose.h"
#include "section.h"

/* The table alone. False: the arena of the results has no memory. */
bool hp_table_put(const hotpath_results *results, const struct hotpath_section *section, struct hp_text *out,
                  const struct hp_table_style *style);

/* With its heading, its summary and its notes. False as above. */
bool hp_table_put_section(const hotpath_results *results, const struct hotpath_section *section,
                          struct hp_text *out, const struct hp_table_style *style);

#endif
