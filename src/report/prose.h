/*
 * Lines of text in a report: wrapped at the width of the terminal, and with its styles.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_REPORT_PROSE_H
#define HP_REPORT_PROSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
