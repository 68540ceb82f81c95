/* Properties of every report. SPDX-License-Identifier: MIT */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

#define DEEPEST 1100u /* nesting of JSON */
#define ROOMY 60u     /* a width in which every table fits */
#define LEAST_NAME 4u /* minimum width of a name in a table that does not fit */

void fuzz_fail(const char *what, const char *file, int line)
{
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
    abort();
}

bool fuzz_collect(void *output, const char *bytes, size_t length)
{
    struct fuzz_output *to = output;
    if (length > to->capacity - to->length) {
        to->capacity = 2 * (to->capacity + length);
        to->bytes = realloc(to->bytes, to->capacity);
        REQUIRE(to->bytes != NULL);
    }
    if (length > 0)
        memcpy(to->bytes + to->length, bytes, length);
    to->length += length;
    return true;
}

/* ------------------------------------------------------------------------------------------------- JSON */

struct parser {
    const char *at, *end;
    unsigned depth;
};

static bool is_next(const struct parser *parser, char c) { return parser->at < parser->end && *parser->at == c; }

static void expect(struct parser *parser, char c)
{
    REQUIRE(is_next(parser, c));
    parser->at++;
}

static void skip_blanks(struct parser *parser)
{
    while (is_next(parser, ' ') || is_next(parser, '\n'))
        parser->at++;
}

static void parse_escape(struct parser *parser)
{
    REQUIRE(parser->at < parser->end && strchr("\"\\/bfnrtu", *parser->at) != NULL);
    if (*parser->at++ != 'u')
        return;
    for (int digit = 0; digit < 4; digit++, parser->at++)
        REQUIRE(parser->at < parser->end && strchr("0123456789abcdefABCDEF", *parser->at) != NULL);
}

static void parse_string(struct parser *parser)
{
    expect(parser, '"');
    while (!is_next(parser, '"')) {
        REQUIRE(parser->at < parser->end);
        const uint32_t c = hp_utf8_next(&parser->at, parser->end);
        REQUIRE(c != HP_UTF8_INVALID && c >= 0x20 && c != 0x7f);
        if (c == '\\')
            parse_escape(parser);
    }
    expect(parser, '"');
}

static void parse_digits(struct parser *parser)
{
    const char *const from = parser->at;
    while (parser->at < parser->end && *parser->at >= '0' && *parser->at <= '9')
        parser->at++;
    REQUIRE(parser->at > from);
}

static void parse_number(struct parser *parser)
{
    parser->at += is_next(parser, '-');
    const bool is_zero = is_next(parser, '0');
    const char *const from = parser->at;
    parse_digits(parser);
    REQUIRE(!is_zero || parser->at == from + 1);
    if (is_next(parser, '.')) {
        parser->at++;
        parse_digits(parser);
    }
    if (is_next(parser, 'e')) {
        parser->at++;
        parser->at += is_next(parser, '-') || is_next(parser, '+');
        parse_digits(parser);
    }
}

static void parse_word(struct parser *parser, const char *word)
{
    while (*word != '\0')
        expect(parser, *word++);
}

static void parse_value(struct parser *parser);

static void parse_items(struct parser *parser, char closing)
{
    REQUIRE(++parser->depth < DEEPEST);
    parser->at++;
    skip_blanks(parser);
    for (bool is_first = true; !is_next(parser, closing); is_first = false) {
        if (!is_first)
            expect(parser, ',');
        skip_blanks(parser);
        if (closing == '}') {
            parse_string(parser);
            expect(parser, ':');
            skip_blanks(parser);
        }
        parse_value(parser);
        skip_blanks(parser);
    }
    expect(parser, closing);
    parser->depth--;
}

static void parse_value(struct parser *parser)
{
    REQUIRE(parser->at < parser->end);
    switch (*parser->at) {
    case '{':
        parse_items(parser, '}');
        break;
    case '[':
        parse_items(parser, ']');
        break;
    case '"':
        parse_string(parser);
        break;
    case 't':
        parse_word(parser, "true");
        break;
    case 'f':
        parse_word(parser, "false");
        break;
    case 'n':
        parse_word(parser, "null");
        break;
    default:
        parse_number(parser);
    }
}

void fuzz_require_json(const struct fuzz_output *json)
{
    struct parser parser = {json->bytes, json->bytes + json->length, 0};
    parse_value(&parser);
    if (is_next(&parser, '\n'))
        parser.at++;
    REQUIRE(parser.at == parser.end);
}

void fuzz_require_same_json(const struct fuzz_output *compact, const struct fuzz_output *pretty)
{
    size_t same = 0;
    bool is_string = false;
    for (size_t at = 0; at < pretty->length; at++) {
        const char c = pretty->bytes[at];
        if (!is_string && (c == ' ' || c == '\n') && at + 1 < pretty->length)
            continue;
        REQUIRE(same < compact->length && compact->bytes[same] == c);
        same++;
        if (c == '"')
            is_string = !is_string;
        if (is_string && c == '\\') { /* an escaped character does not end the string */
            at++;
            REQUIRE(at < pretty->length && same < compact->length && compact->bytes[same] == pretty->bytes[at]);
            same++;
        }
    }
    REQUIRE(same == compact->length);
}

/* ------------------------------------------------------------------------------------------------ tables */

/* Only colour sequences may begin with an escape character. */
static size_t style_length(const char *at, const char *end)
{
    static const char *const styles[] = {"\033[0m",  "\033[1m",  "\033[2m", "\033[31m",
                                         "\033[33m", "\033[35m", "\033[36m"};
    for (size_t which = 0; which < sizeof styles / sizeof styles[0]; which++) {
        const size_t length = strlen(styles[which]);
        if ((size_t)(end - at) >= length && memcmp(at, styles[which], length) == 0)
            return length;
    }
    return 0;
}

/* No control characters, line ends or changes of text direction. */
static bool is_harmless(uint32_t c)
{
    return c != HP_UTF8_INVALID && c >= 0x20 && (c < 0x7f || c >= 0xa0) && c != 0x200e && c != 0x200f &&
           (c < 0x2028 || c > 0x202e) && (c < 0x2066 || c > 0x2069);
}

size_t fuzz_require_harmless(const char *line, size_t length)
{
    const char *at = line, *const end = line + length;
    size_t columns = 0;
    while (at < end) {
        const size_t style = style_length(at, end);
        if (style > 0) {
            at += style;
            continue;
        }
        const uint32_t c = hp_utf8_next(&at, end);
        REQUIRE(is_harmless(c));
        columns += hp_utf8_width(c);
    }
    return columns;
}

/* A style may precede a word. */
static bool is_one_word(const char *line, size_t length) { return memchr(line, ' ', length) == NULL; }

static bool is_rule(const char *line, size_t length) { return length > 0 && line[0] == '+'; }

/* Whether some column of the table below this rule has the minimum width. */
static bool is_squeezed(const char *rule, size_t length)
{
    size_t width = 0;
    for (size_t at = 1; at < length; at++) {
        if (rule[at] != '+') {
            width++;
            continue;
        }
        if (width <= LEAST_NAME + 2)
            return true;
        width = 0;
    }
    return false;
}

struct table {
    unsigned rules; /* so far: 1 is above the titles, 3 the last */
    size_t columns;
};

static void require_table_line(struct table *table, const char *line, size_t length, size_t columns, size_t width)
{
    REQUIRE(is_rule(line, length) || line[0] == '|' || line[0] == '\033');
    if (is_rule(line, length) && table->rules == 0) {
        table->columns = columns;
        REQUIRE(width == 0 || columns <= width || (width < ROOMY && is_squeezed(line, length)));
    }
    REQUIRE(columns == table->columns);
    table->rules += is_rule(line, length);
    if (table->rules == 3)
        table->rules = 0;
}

void fuzz_require_lines(const struct fuzz_output *text, size_t width)
{
    struct table table = {0};
    for (size_t at = 0; at < text->length;) {
        const char *const line = text->bytes + at;
        const char *const end = memchr(line, '\n', text->length - at);
        /* A style may follow the last line. */
        const size_t length = end != NULL ? (size_t)(end - line) : text->length - at;
        const size_t columns = fuzz_require_harmless(line, length);
        if (table.rules > 0 || is_rule(line, length))
            require_table_line(&table, line, length, columns, width);
        else
            REQUIRE(width == 0 || columns <= width || is_one_word(line, length));
        at += length + 1;
    }
    REQUIRE(table.rules == 0);
}
