/*
 * Text for people: lines of a report, wrapped at the width of the terminal and with its styles; sections as tables;
 * and the whole of it. SPDX-License-Identifier: MIT
 */
#ifndef HP_REPORT_TABLE_H
#define HP_REPORT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "section.h"
#include "text.h"

#define HP_STYLE_BOLD "\033[1m"
#define HP_STYLE_DIM "\033[2m"
#define HP_STYLE_PLAIN "\033[0m"

struct hp_table_style {
    uint32_t width; /* columns no line should exceed; 0: no bound */
    bool color;
};

/* How prose looks. Each line has its style to itself: pagers forget it at the end of one. */
struct hp_prose {
    const char *code; /* NULL: plain */
    size_t indent;    /* columns that the first line has before it */
    bool has_verdict; /* its last word is one */
};

/* Switches a style on or off, where there are colours at all. */
void hp_prose_put_style(const struct hp_table_style *style, struct hp_text *out, const char *code);

/* The colour of a verdict; NULL: the word is none. */
const char *hp_prose_verdict_color(const char *word, size_t length);

/* Writes text in lines of at most the terminal's width, broken at blanks. A longer word stays whole. */
void hp_prose_put(const struct hp_table_style *style, struct hp_text *out, const char *bytes, size_t length,
                  const struct hp_prose *prose);

void hp_prose_put_plain(const struct hp_table_style *style, struct hp_text *out, const char *bytes, size_t length);
void hp_prose_put_note(const struct hp_table_style *style, struct hp_text *out, const char *line);
void hp_prose_put_warning(const struct hp_table_style *style, struct hp_text *out, const char *line);

/* Remarks of a report: each is made once. Begins as {0}. */
struct hp_said {
    const char *notes[32];
    size_t count;
};

/* A cell as people read it: with its unit and marks, a name indented by its depth. */
void hp_table_put_cell(struct hp_text *text, const struct hp_column *column, const struct hp_row *row,
                       const struct hp_cell *cell);

/* The table, and what its marks and columns mean. False: the arena of the results has no memory. */
bool hp_table_put(const hotpath_results *results, const struct hotpath_section *section, struct hp_text *out,
                  const struct hp_table_style *style, struct hp_said *said);

/* With its heading, its summary and its notes. False as above. */
bool hp_table_put_section(const hotpath_results *results, const struct hotpath_section *section,
                          struct hp_text *out, const struct hp_table_style *style, struct hp_said *said);

/* Writes the report (report_text.c). False: the arena of the results has no memory. */
bool hp_report_text_render(const hotpath_results *results, struct hp_text *out, const struct hp_table_style *style);

#endif
