/*
 * The sections that an answer is made of, and what tools say of a session in the same way.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_MCP_MCP_RESULTS_H
#define HP_MCP_MCP_RESULTS_H

#include "mcp_answer.h"

/*
 * The sections of that list with all of their rows, sorted by a column (NULL: the usual one). NULL: no memory, and
 * the problem of the call says so.
 */
const hotpath_results *hp_mcp_results(struct hp_mcp_call *call, const char *sections, const char *sort);

/* The section of that name, if it has rows; NULL: none. */
const struct hotpath_section *hp_mcp_section(const hotpath_results *results, const char *name);

/*
 * The first section of functions with rows: their verdicts; else, if only time was measured, their times; else
 * those found in stacks. NULL: none.
 */
const struct hotpath_section *hp_mcp_functions(const hotpath_results *results);

/* Why a section has no rows, or a general sentence. */
const char *hp_mcp_why_empty(const hotpath_results *results, const char *name);

/*
 * Whether a row is that of the function that the call asks about (`name` or `function`); without one every row is.
 */
bool hp_mcp_is_of(const void *function, const struct hotpath_section *section, const struct hp_row *row);

/*
 * The name of rows of these sections that is asked for, by itself or as cells show it. NULL: there is none, and the
 * problem of the call has the five nearest names.
 */
const char *hp_mcp_find_name(struct hp_mcp_call *call, const hotpath_results *results, const char *asked);

#endif
