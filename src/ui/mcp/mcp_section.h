/* Sections of a report as tables of an answer. SPDX-License-Identifier: MIT */
#ifndef HP_MCP_MCP_SECTION_H
#define HP_MCP_MCP_SECTION_H

#include "mcp_answer.h"

/*
 * A table of a section: rows that `takes` accepts (NULL: all), up to the limit of the call. `keys` are its columns
 * in their order, with a NULL at the end; NULL: the visible ones. Columns without any value are left out; with
 * `detail: "full"` all others are there. Columns of the row of the same name in `joined` follow. Returns how many
 * rows were accepted.
 */
struct hp_mcp_section_table {
    const struct hotpath_section *section;
    const char *title; /* NULL: the name of the section */
    const char *const *keys;
    const struct hotpath_section *joined;
    const char *const *joined_keys;
    bool (*takes)(const void *context, const struct hotpath_section *section, const struct hp_row *row);
    const void *context;
    size_t limit;
    const char *more; /* the call that shows more rows; NULL: this one with a higher limit */
};
size_t hp_mcp_put_section(struct hp_mcp_answer *answer, const struct hp_mcp_section_table *table);

/* The same of one row; nothing if it is NULL. */
void hp_mcp_put_row(struct hp_mcp_answer *answer, const struct hotpath_section *section, const struct hp_row *row,
                    const char *const *keys);

#endif
