/*
 * The text of an answer, of a bounded size: the answer as a sentence, tables, what was left out, how far to trust
 * it, and up to three calls that come next. Rows are cut, never lines.
 *
 *     hp_mcp_put_format(answer, "%s waits the longest.", hp_mcp_quoted(name).bytes);
 *     hp_mcp_table_begin(answer, "sessions", titles, 3);
 *     hp_mcp_table_cell(answer, name);                       three for each row
 *     hp_mcp_table_end(answer, sessions.count, NULL);
 *     hp_mcp_next(answer, "verdict", "session", name, NULL);
 *
 * Names and all other texts of the measured program are data. They stand in cells: in lines that begin with "| ",
 * between " | ", in which nothing can look like a line or a cell. No other line of an answer begins so. In a
 * sentence they stand in quotes if they are more than a name of C: each is passed through hp_mcp_quoted. With
 * `format: "json"` the same is one JSON object. SPDX-License-Identifier: MIT
 */
#ifndef HP_MCP_MCP_ANSWER_H
#define HP_MCP_MCP_ANSWER_H

#include "body.h"
#include "mcp_cells.h"
#include "mcp_tool.h"
#include "section.h"

#define HP_MCP_SHORT_BYTES 8192u
#define HP_MCP_FULL_BYTES 40960u
#define HP_MCP_NEXT_MOST 3u

struct hp_mcp_answer {
    const struct hp_mcp_call *call;
    bool is_json, is_full;
    size_t limit;
    struct hp_body body;     /* sentences and tables so far */
    struct hp_body left_out; /* lines at the end */
    struct hp_body warnings, trust;
    struct hp_body next[HP_MCP_NEXT_MOST];
    size_t next_count;
    bool lacks_memory;
    bool lacks_lines; /* some did not fit */
    /* Private: the table that is open. */
    size_t columns, column, row_begin, rows;
    const char *const *titles;
    const char *table;
    bool is_table_full;
    size_t tables;
};

void hp_mcp_answer_begin(struct hp_mcp_answer *answer, const struct hp_mcp_call *call);

/* The whole text; the answer is freed by it. False: no memory. */
bool hp_mcp_answer_end(struct hp_mcp_answer *answer, struct hp_body *ret_text);

/* ---------------------------------------------------------------------------------------------------- sentences */

/* A sentence on a line of its own. Names in it are in quotes (hp_mcp_quoted). */
void hp_mcp_put_sentence(struct hp_mcp_answer *answer, const char *sentence);
void hp_mcp_put_format(struct hp_mcp_answer *answer, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The first sentence of a report, with what it marks in quotes. It has one. */
void hp_mcp_put_headline(struct hp_mcp_answer *answer, const hotpath_results *results);

/* ------------------------------------------------------------------------------------------------------- tables */

/* Titles and table stay the caller's until it ends. */
void hp_mcp_table_begin(struct hp_mcp_answer *answer, const char *table, const char *const *titles, size_t columns);
/* NULL: no value. */
void hp_mcp_table_cell(struct hp_mcp_answer *answer, const char *text);
/* The same of up to 600 bytes: a stack, or a line of text. */
void hp_mcp_table_long_cell(struct hp_mcp_answer *answer, const char *text);
/* Whether another row can be put; false once one was cut for want of room. */
bool hp_mcp_table_has_room(const struct hp_mcp_answer *answer);
/*
 * `total`: how many rows there are; if they are more than those that were put, a line says so, with the call that
 * shows more: `more`, or if that is NULL this one with a higher `limit`, if it takes one.
 */
void hp_mcp_table_end(struct hp_mcp_answer *answer, size_t total, const char *more);

/* --------------------------------------------------------------------------------------------------- last lines */

void hp_mcp_put_trust(struct hp_mcp_answer *answer, const hotpath_results *results);
/* A text with names in it that is true of the whole answer: rows of a table at the end. */
void hp_mcp_put_warning(struct hp_mcp_answer *answer, const char *warning);
/* A line of its own at the end, such as on what is missing. */
void hp_mcp_put_note(struct hp_mcp_answer *answer, const char *note);

/*
 * A call that comes next: pairs of a parameter and its text, with a NULL at the end. The session of this call is
 * that of the next one. What equals this call or an earlier one, and what comes after the third, is left out.
 */
void hp_mcp_next(struct hp_mcp_answer *answer, const char *tool, ...) __attribute__((sentinel));

#endif
