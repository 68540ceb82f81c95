/*
 * Texts of the measured program as an answer shows them, and the cells of a row by the keys of their columns.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_MCP_MCP_CELLS_H
#define HP_MCP_MCP_CELLS_H

#include <stdbool.h>

#include "section.h"

#define HP_MCP_NAME_BYTES 200u /* of a name; longer ones are cut */

/* A text as it stands in a cell: harmless, and of at most HP_MCP_NAME_BYTES. */
struct hp_mcp_cell_text {
    char bytes[HP_MCP_NAME_BYTES + 8];
};
struct hp_mcp_cell_text hp_mcp_cell_text(const char *text);

/* Whether a name from a client means this one: as it is, or as cells show it. */
bool hp_mcp_is_name(const char *name, const char *asked);

/* The same for a sentence: in quotes, as JSON has them, unless it is no more than a name of C, C++ or a file. */
struct hp_mcp_quoted {
    char bytes[2 * HP_MCP_NAME_BYTES + 24];
};
struct hp_mcp_quoted hp_mcp_quoted(const char *text);
struct hp_mcp_quoted hp_mcp_in_quotes(const char *text); /* in any case */

/* Text of a cell of a row: the column of that key. NULL: no value. */
const char *hp_mcp_row_text(const struct hotpath_section *section, const struct hp_row *row, const char *key);
double hp_mcp_row_number(const struct hotpath_section *section, const struct hp_row *row, const char *key);
/* As people read it, with its unit; "-": no value. */
struct hp_mcp_cell_text hp_mcp_row_shown(const struct hotpath_section *section, const struct hp_row *row,
                                         const char *key);
/* The same by the number of the column. */
struct hp_mcp_cell_text hp_mcp_column_shown(const struct hotpath_section *section, const struct hp_row *row,
                                            size_t column);

/* The text of a column for a sentence; "-": no value. */
struct hp_mcp_quoted hp_mcp_row_quoted(const struct hotpath_section *section, const struct hp_row *row,
                                       const char *key);

/* A duration of a run as people read it; "1234 instructions" if its clock counts these. */
struct hp_mcp_cell_text hp_mcp_duration(const struct hp_run *run, double ns);

/* The row of that name; NULL: none. */
const struct hp_row *hp_mcp_row_named(const struct hotpath_section *section, const char *name);

#endif
