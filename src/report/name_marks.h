/*
 * Marks around names in a sentence, so that a reader of it need not guess which words are names: those of
 * functions, and all other texts of the measured program, such as files, locks, threads and programs. Every text of
 * the program has them, since readers must not take it for words of hotpath (src/ui/mcp). A sentence
 * is made with marks in it, which are control characters: texts from outside cannot have them (hp_utf8_put_safe).
 * When it is done, the marks become a list of places.
 *
 *     hp_name_mark_begin(&line);
 *     hp_text_string(&line, "parse");
 *     hp_name_mark_end(&line);
 *     count = hp_name_marks_take(&line, places, HP_NAME_MARKS);
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_REPORT_NAME_MARKS_H
#define HP_REPORT_NAME_MARKS_H

#include <stdbool.h>
#include <stddef.h>

#include "text.h"

#define HP_NAME_MARKS 32u /* in a sentence; further ones are not listed */

struct hp_name_place {
    size_t at, length; /* in bytes */
    bool is_function;
};

void hp_name_mark_begin(struct hp_text *line);
void hp_text_mark_begin(struct hp_text *line); /* of a text that is no function; a function may be in it */
void hp_name_mark_end(struct hp_text *line);   /* of either */

/* A name that is safe to show, with its marks; and a text that is no function. */
void hp_name_put_marked(struct hp_text *line, const char *name);
void hp_text_put_marked(struct hp_text *line, const char *text, size_t length);

/* Takes all marks out of a bounded text; returns how many places there are. */
size_t hp_name_marks_take(struct hp_text *line, struct hp_name_place *ret_places, size_t most);

#endif
