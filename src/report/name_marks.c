/* Marks around names in a sentence. SPDX-License-Identifier: MIT */
#include "name_marks.h"

#include <stdbool.h>
#include <string.h>

#include "utf8.h"

#define BEGIN '\x01'
#define END '\x02'

void hp_name_mark_begin(struct hp_text *line) { hp_text_char(line, BEGIN); }

void hp_name_mark_end(struct hp_text *line) { hp_text_char(line, END); }

void hp_name_put_marked(struct hp_text *line, const char *name)
{
    hp_name_mark_begin(line);
    hp_utf8_put_safe(line, name, strlen(name));
    hp_name_mark_end(line);
}

/* A name that was cut off with the end of the line is no name. */
size_t hp_name_marks_take(struct hp_text *line, struct hp_name_place *ret_places, size_t most)
{
    size_t count = 0, kept = 0, begin = 0;
    bool is_open = false;
    for (size_t at = 0; at < line->length; at++) {
        const char c = line->bytes[at];
        if (c == END && is_open && kept > begin && count < most)
            ret_places[count++] = (struct hp_name_place){begin, kept - begin};
        begin = c == BEGIN ? kept : begin;
        is_open = c == BEGIN || (is_open && c != END);
        if (c != BEGIN && c != END)
            line->bytes[kept++] = c;
    }
    line->length = kept;
    return count;
}
