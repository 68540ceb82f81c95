/* A screen as a grid of cells. SPDX-License-Identifier: MIT */
#include "screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

bool hp_screen_resize(struct hp_screen *screen, unsigned columns, unsigned rows)
{
    columns = columns < HP_SCREEN_MOST ? columns : HP_SCREEN_MOST;
    rows = rows < HP_SCREEN_MOST ? rows : HP_SCREEN_MOST;
    const size_t count = (size_t)columns * rows;
    struct hp_spot *spots = realloc(screen->spots, (count > 0 ? count : 1) * sizeof *spots);
    if (spots == NULL)
        return false;
    screen->spots = spots;
    screen->columns = columns;
    screen->rows = rows;
    hp_screen_clear(screen);
    return true;
}

void hp_screen_clear(struct hp_screen *screen)
{
    for (size_t at = 0; at < (size_t)screen->columns * screen->rows; at++)
        screen->spots[at] = (struct hp_spot){.glyph = ' '};
}

void hp_screen_free(struct hp_screen *screen)
{
    free(screen->spots);
    *screen = (struct hp_screen){.is_ascii = screen->is_ascii};
}

/* NULL: outside. */
static struct hp_spot *spot_at(struct hp_screen *screen, unsigned row, unsigned column)
{
    return row < screen->rows && column < screen->columns ? &screen->spots[(size_t)row * screen->columns + column]
                                                          : NULL;
}

/* Half of a wide character is removed. */
static void break_pair(struct hp_screen *screen, unsigned row, unsigned column)
{
    struct hp_spot *spot = spot_at(screen, row, column), *next = spot_at(screen, row, column + 1);
    if (spot != NULL && spot->glyph == 0 && column > 0)
        spot_at(screen, row, column - 1)->glyph = spot->glyph = ' ';
    if (next != NULL && next->glyph == 0)
        next->glyph = ' ';
}

void hp_screen_glyph(struct hp_screen *screen, unsigned row, unsigned column, enum hp_ink ink, uint32_t glyph)
{
    struct hp_spot *spot = spot_at(screen, row, column);
    if (spot == NULL)
        return;
    break_pair(screen, row, column);
    *spot = (struct hp_spot){.glyph = glyph, .ink = (uint8_t)ink};
}

/* Replaces terminal control characters. */
static uint32_t harmless(uint32_t character)
{
    return character == HP_UTF8_INVALID || hp_utf8_is_harmful(character) ? 0xfffd : character;
}

unsigned hp_screen_put(struct hp_screen *screen, unsigned row, unsigned column, enum hp_ink ink, const char *text)
{
    const char *end = text + strlen(text);
    while (text < end) {
        const uint32_t glyph = harmless(hp_utf8_next(&text, end));
        const unsigned width = hp_utf8_width(glyph);
        if (width == 0)
            continue;
        const bool fits = column + width <= screen->columns;
        hp_screen_glyph(screen, row, column, ink, fits ? glyph : ' ');
        if (fits && width == 2) {
            hp_screen_glyph(screen, row, column + 1, ink, ' ');
            if (row < screen->rows)
                spot_at(screen, row, column + 1)->glyph = 0;
        }
        column += width;
    }
    return column;
}

unsigned hp_screen_width(const char *text) { return (unsigned)hp_utf8_columns(text, strlen(text)); }

unsigned hp_screen_put_fitted(struct hp_screen *screen, unsigned row, unsigned column, unsigned width,
                              enum hp_ink ink, const char *text)
{
    char bytes[4 * HP_SCREEN_MOST + 8];
    struct hp_text fitted;
    if (width == 0)
        return column;
    hp_text_init(&fitted, bytes, sizeof bytes);
    hp_utf8_put_fitted(&fitted, text, strlen(text), width);
    return hp_screen_put(screen, row, column, ink, hp_text_end(&fitted));
}

/* How many bytes of a text fit into a line; a longer one is broken at a blank. */
static size_t line_of(const char *text, unsigned width)
{
    const char *at = text, *end = text + strlen(text), *blank = NULL;
    unsigned used = 0;
    while (at < end) {
        const char *before = at;
        const uint32_t character = hp_utf8_next(&at, end);
        used += character != HP_UTF8_INVALID ? hp_utf8_width(character) : 1;
        if (used > width && blank == NULL && before == text)
            return (size_t)(at - text); /* wider than the line */
        if (used > width)
            return (size_t)((blank != NULL ? blank : before) - text);
        if (character == ' ' && before > text && *at != '%') /* "48 %" stays together */
            blank = before;
    }
    return (size_t)(end - text);
}

unsigned hp_screen_lines(const char *text, unsigned width)
{
    unsigned lines = 1;
    for (size_t length; text[length = line_of(text, width)] != '\0'; lines++)
        text += length + (text[length] == ' ');
    return lines;
}

unsigned hp_screen_put_wrapped(struct hp_screen *screen, unsigned row, unsigned column, unsigned width,
                               unsigned most, const char *text)
{
    char line[4 * HP_SCREEN_MOST + 8];
    unsigned at = 0;
    for (; at < most && *text != '\0'; at++) {
        const size_t length = line_of(text, width);
        const bool is_cut = at + 1 == most && text[length] != '\0';
        snprintf(line, sizeof line, "%.*s", (int)length, text);
        const unsigned end = hp_screen_put(screen, row + at, column, HP_INK_PLAIN, line);
        if (is_cut)
            hp_screen_put(screen, row + at, end < column + width ? end : column + width - 1, HP_INK_PLAIN, "…");
        text += length + (text[length] == ' ');
    }
    return at;
}

void hp_screen_copy(const struct hp_screen *from, unsigned top, struct hp_screen *screen,
                    const struct hp_area *area)
{
    for (unsigned row = 0; row < area->rows && top + row < from->rows && area->row + row < screen->rows; row++)
        for (unsigned column = 0;
             column < area->columns && column < from->columns && area->column + column < screen->columns; column++)
            *spot_at(screen, area->row + row, area->column + column) =
                from->spots[(size_t)(top + row) * from->columns + column];
}

void hp_screen_put_right(struct hp_screen *screen, unsigned row, unsigned end, enum hp_ink ink, const char *text)
{
    const unsigned width = hp_screen_width(text);
    hp_screen_put(screen, row, end > width ? end - width : 0, ink, text);
}

void hp_screen_look(struct hp_screen *screen, unsigned row, unsigned from, unsigned to, enum hp_look look)
{
    for (unsigned column = from; column < to && column < screen->columns && row < screen->rows; column++)
        spot_at(screen, row, column)->look |= (uint8_t)look;
}

void hp_screen_mark(struct hp_screen *screen, unsigned row, unsigned from, unsigned to)
{
    for (unsigned column = from; column < to && column < screen->columns && row < screen->rows; column++) {
        struct hp_spot *spot = spot_at(screen, row, column);
        if (spot->ink == HP_INK_PLAIN || spot->ink == HP_INK_DIM)
            spot->look |= HP_LOOK_REVERSE;
    }
}

void hp_screen_blank(struct hp_screen *screen, unsigned row, unsigned from, unsigned to)
{
    for (unsigned column = from; column < to && column < screen->columns; column++)
        hp_screen_glyph(screen, row, column, HP_INK_PLAIN, ' ');
}

/* --------------------------------------------------------------------------------------------- ASCII */

uint32_t hp_glyph_ascii(uint32_t glyph)
{
    static const struct {
        uint32_t glyph;
        char ascii;
    } pairs[] = {
        {0x2588, '#'}, {0x2593, '%'}, {0x2592, '='}, {0x2591, '-'}, {0xb7, '.'},   {0x258f, '|'}, {0x2581, '_'},
        {0x2582, '_'}, {0x2583, '-'}, {0x2584, '-'}, {0x2585, '='}, {0x2586, '='}, {0x2587, '#'}, {0x203a, '>'},
        {0x25be, 'v'}, {0x25b8, '>'}, {0x25bc, 'v'}, {0x25b2, '^'}, {0x25cf, '*'}, {0x25a0, '#'}, {0x25cb, 'o'},
        {0x25c2, '<'}, {0x2016, '='}, {0x2013, '-'}, {0x2026, '~'}, {0xb5, 'u'},   {0xd7, 'x'},   {0x2502, '|'},
        {0x2500, '-'}, {0x250c, '+'}, {0x2510, '+'}, {0x2514, '+'}, {0x2518, '+'}, {0x2534, '+'}, {0x2190, '<'},
        {0x2192, '>'}, {0x2191, '^'}, {0x2193, 'v'}, {0x2501, '='}, {0x25b6, '>'}, {0x258f, '|'},
    };
    if (glyph < 0x80)
        return glyph;
    for (size_t at = 0; at < sizeof pairs / sizeof pairs[0]; at++)
        if (pairs[at].glyph == glyph)
            return (unsigned char)pairs[at].ascii;
    return '?';
}

uint32_t hp_screen_shown(const struct hp_screen *screen, const struct hp_spot *spot)
{
    return screen->is_ascii && spot->glyph != 0 ? hp_glyph_ascii(spot->glyph) : spot->glyph;
}

/* ---------------------------------------------------------------------------------------------- text */

static void put_character(struct hp_text *text, uint32_t c)
{
    if (c < 0x80) {
        hp_text_char(text, (char)c);
    } else if (c < 0x800) {
        hp_text_format(text, "%c%c", (char)(0xc0 | c >> 6), (char)(0x80 | (c & 0x3f)));
    } else if (c < 0x10000) {
        hp_text_format(text, "%c%c%c", (char)(0xe0 | c >> 12), (char)(0x80 | (c >> 6 & 0x3f)),
                       (char)(0x80 | (c & 0x3f)));
    } else {
        hp_text_format(text, "%c%c%c%c", (char)(0xf0 | c >> 18), (char)(0x80 | (c >> 12 & 0x3f)),
                       (char)(0x80 | (c >> 6 & 0x3f)), (char)(0x80 | (c & 0x3f)));
    }
}

void hp_screen_print(const struct hp_screen *screen, struct hp_text *text)
{
    for (unsigned row = 0; row < screen->rows; row++) {
        const struct hp_spot *spots = &screen->spots[(size_t)row * screen->columns];
        unsigned end = screen->columns;
        while (end > 0 && spots[end - 1].glyph == ' ')
            end--;
        for (unsigned column = 0; column < end; column++)
            if (spots[column].glyph != 0)
                put_character(text, hp_screen_shown(screen, &spots[column]));
        hp_text_char(text, '\n');
    }
}
