/* Marks around names in a sentence. SPDX-License-Identifier: MIT */
#include "name_marks.h"

#include <string.h>

#include "utf8.h"

#define FUNCTION '\x01'
#define TEXT '\x03'
#define END '\x02'
#define DEEPEST 3u /* a function in the words of a cause */

void hp_name_mark_begin(struct hp_text *line) { hp_text_char(line, FUNCTION); }

void hp_text_mark_begin(struct hp_text *line) { hp_text_char(line, TEXT); }

void hp_name_mark_end(struct hp_text *line) { hp_text_char(line, END); }

void hp_name_put_marked(struct hp_text *line, const char *name)
{
    hp_name_mark_begin(line);
    hp_utf8_put_safe(line, name, strlen(name));
    hp_name_mark_end(line);
}

void hp_text_put_marked(struct hp_text *line, const char *text, size_t length)
{
    hp_text_mark_begin(line);
    hp_utf8_put_safe(line, text, length);
    hp_name_mark_end(line);
}

/* Marks that are open, and what they have become. */
struct taken {
    struct hp_name_place open[DEEPEST], *places;
    size_t depth, count, most;
};

static void begin(struct taken *taken, size_t at, bool is_function)
{
    if (taken->depth < DEEPEST)
        taken->open[taken->depth] = (struct hp_name_place){at, 0, is_function};
    taken->depth++;
}

static void end(struct taken *taken, size_t at)
{
    if (taken->depth == 0 || taken->depth-- > DEEPEST)
        return;
    struct hp_name_place place = taken->open[taken->depth];
    place.length = at - place.at;
    if (place.length > 0 && taken->count < taken->most)
        taken->places[taken->count++] = place;
}

/* A name that was cut off with the end of the line is no function, but still a text of the program. */
size_t hp_name_marks_take(struct hp_text *line, struct hp_name_place *ret_places, size_t most)
{
    struct taken taken = {.places = ret_places, .most = most};
    size_t kept = 0;
    for (size_t at = 0; at < line->length; at++) {
        const char c = line->bytes[at];
        if (c == FUNCTION || c == TEXT)
            begin(&taken, kept, c == FUNCTION);
        else if (c == END)
            end(&taken, kept);
        else
            line->bytes[kept++] = c;
    }
    for (size_t at = 0; at < taken.depth && at < DEEPEST; at++)
        taken.open[at].is_function = false;
    while (taken.depth > 0)
        end(&taken, kept);
    line->length = kept;
    return taken.count;
}
