/*
 * Marks around names of functions in a sentence, so that a reader of it need not guess which words are names. A
 * sentence is made with marks in it, which are control characters: texts from outside cannot have them
 * (hp_utf8_put_safe). When it is done, the marks become a list of places.
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

#include <stddef.h>

#include "text.h"

#define HP_NAME_MARKS 16u /* in a sentence; further ones are not listed */

struct hp_name_place {
    size_t at, length; /* in bytes */
};

void hp_name_mark_begin(struct hp_text *line);
void hp_name_mark_end(struct hp_text *line);

/* A name that is safe to show, with its marks. */
void hp_name_put_marked(struct hp_text *line, const char *name);

/* Takes all marks out of a bounded text; returns how many places there are. */
size_t hp_name_marks_take(struct hp_text *line, struct hp_name_place *ret_places, size_t most);

#endif
