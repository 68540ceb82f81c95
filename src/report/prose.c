/* Lines of text in a report. SPDX-License-Identifier: MIT */
#include "prose.h"

#include <string.h>

#include "utf8.h"

void hp_prose_put_style(const struct hp_table_style *style, struct hp_text *out, const char *code)
{
    if (style->color)
        hp_text_string(out, code);
}

/* The colour of a verdict; NULL: the word is none. */
const char *hp_prose_verdict_color(const char *word, size_t length)
{
    static const struct {
        const char *word, *color;
    } colors[] = {{"cpu-bound", "\033[31m"},  {"allocation-heavy", "\033[35m"},
                  {"waiting", "\033[33m"},    {"starved", "\033[33m"},
                  {"mixed", "\033[36m"},      {"idle", HP_STYLE_DIM},
                  {"too-short", HP_STYLE_DIM}};
    for (size_t at = 0; at < sizeof colors / sizeof colors[0]; at++)
        if (strlen(colors[at].word) == length && memcmp(colors[at].word, word, length) == 0)
            return colors[at].color;
    return NULL;
}

static void put_word(const struct hp_table_style *style, struct hp_text *out, const char *word, size_t length,
                     bool is_verdict)
{
    const char *color = is_verdict ? hp_prose_verdict_color(word, length) : NULL;
    if (color != NULL)
        hp_prose_put_style(style, out, color);
    hp_text_bytes(out, word, length);
    if (color != NULL)
        hp_prose_put_style(style, out, HP_STYLE_PLAIN);
}

static void begin_line(const struct hp_table_style *style, struct hp_text *out, const struct hp_prose *prose)
{
    if (prose->code != NULL)
        hp_prose_put_style(style, out, prose->code);
}

static void end_line(const struct hp_table_style *style, struct hp_text *out, const struct hp_prose *prose)
{
    if (prose->code != NULL)
        hp_prose_put_style(style, out, HP_STYLE_PLAIN);
    hp_text_char(out, '\n');
}

/* Writes text in lines of at most the terminal's width, broken at blanks. A longer word stays whole. */
void hp_prose_put(const struct hp_table_style *style, struct hp_text *out, const char *bytes, size_t length,
                  const struct hp_prose *prose)
{
    const char *at = bytes, *const end = bytes + length;
    size_t used = prose->indent;
    begin_line(style, out, prose);
    while (at < end) {
        const char *word_end = memchr(at, ' ', (size_t)(end - at));
        const size_t word = (size_t)((word_end != NULL ? word_end : end) - at);
        const size_t columns = hp_utf8_columns(at, word);
        if (used > 0 && style->width > 0 && used + 1 + columns > style->width) {
            end_line(style, out, prose);
            begin_line(style, out, prose);
            used = 0;
        } else if (used > 0) {
            hp_text_char(out, ' ');
            used++;
        }
        put_word(style, out, at, word, prose->has_verdict && word_end == NULL);
        used += columns;
        at += word + (word_end != NULL);
    }
    end_line(style, out, prose);
}

void hp_prose_put_plain(const struct hp_table_style *style, struct hp_text *out, const char *bytes, size_t length)
{
    hp_prose_put(style, out, bytes, length, &(struct hp_prose){0});
}

void hp_prose_put_note(const struct hp_table_style *style, struct hp_text *out, const char *line)
{
    hp_prose_put(style, out, line, strlen(line), &(struct hp_prose){.code = HP_STYLE_DIM});
}

void hp_prose_put_warning(const struct hp_table_style *style, struct hp_text *out, const char *line)
{
    const char label[] = "warning:";
    hp_text_string(out, label);
    hp_prose_put(style, out, line, strlen(line), &(struct hp_prose){.indent = sizeof label - 1});
}
