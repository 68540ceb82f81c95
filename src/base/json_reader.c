/* Reads JSON, token by token. SPDX-License-Identifier: MIT */
#include "json_reader.h"

#include <float.h>
#include <math.h>
#include <string.h>

struct hp_json_reader hp_json_reader_of(const char *bytes, size_t length)
{
    return (struct hp_json_reader){.at = bytes, .end = bytes + length, .is_value_next = true};
}

static enum hp_json_token fail(struct hp_json_reader *reader)
{
    reader->at = reader->end;
    return reader->token = HP_JSON_ERROR;
}

static void skip_blanks(struct hp_json_reader *reader)
{
    while (reader->at < reader->end &&
           (*reader->at == ' ' || *reader->at == '\n' || *reader->at == '\r' || *reader->at == '\t'))
        reader->at++;
}

static bool is_object(const struct hp_json_reader *reader)
{
    const uint32_t level = reader->depth - 1;
    return reader->depth > 0 && (reader->are_objects[level / 64] >> level % 64 & 1) != 0;
}

/* ----------------------------------------------------------------------------------------------------- brackets */

static enum hp_json_token begin(struct hp_json_reader *reader, bool is_of_object)
{
    if (reader->depth == HP_JSON_READ_DEPTH)
        return fail(reader);
    const uint64_t bit = UINT64_C(1) << reader->depth % 64;
    if (is_of_object)
        reader->are_objects[reader->depth / 64] |= bit;
    else
        reader->are_objects[reader->depth / 64] &= ~bit;
    reader->depth++;
    reader->at++;
    reader->is_value_next = false; /* or the end */
    return reader->token = is_of_object ? HP_JSON_OBJECT : HP_JSON_ARRAY;
}

static enum hp_json_token end(struct hp_json_reader *reader)
{
    const bool is_of_object = is_object(reader);
    if (reader->depth == 0 || *reader->at != (is_of_object ? '}' : ']'))
        return fail(reader);
    reader->depth--;
    reader->at++;
    reader->is_value_next = false;
    return reader->token = is_of_object ? HP_JSON_OBJECT_END : HP_JSON_ARRAY_END;
}

/* ------------------------------------------------------------------------------------------------------ strings */

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

/* The four digits after \u; -1: they are none. */
static int32_t read_unit(const char *at, const char *end)
{
    int32_t unit = 0;
    if (end - at < 4)
        return -1;
    for (int digit = 0; digit < 4; digit++) {
        if (hex_digit(at[digit]) < 0)
            return -1;
        unit = unit * 16 + hex_digit(at[digit]);
    }
    return unit;
}

/* The length of an escape; 0: it is none. */
static size_t escape_length(const char *at, const char *end)
{
    if (end - at < 2)
        return 0;
    if (at[1] == 'u')
        return read_unit(at + 2, end) >= 0 ? 6 : 0;
    return memchr("\"\\/bfnrt", at[1], 8) != NULL ? 2 : 0;
}

/* From the opening quote to the closing one. */
static bool read_string(struct hp_json_reader *reader)
{
    const char *at = reader->at + 1;
    if (reader->at == reader->end || *reader->at != '"')
        return false;
    reader->text = at;
    for (;;) {
        while (at < reader->end && (unsigned char)*at >= ' ' && *at != '"' && *at != '\\')
            at++;
        if (at == reader->end || *at == '"')
            break;
        const size_t length = *at == '\\' ? escape_length(at, reader->end) : 0;
        if (length == 0)
            return false;
        at += length;
    }
    if (at == reader->end)
        return false;
    reader->length = (size_t)(at - reader->text);
    reader->at = at + 1;
    return true;
}

/* A character outside of the first 65,536 is two units. Half of one becomes U+FFFD. Returns the bytes read. */
static size_t read_character(const char *at, const char *end, uint32_t *ret_code)
{
    const int32_t unit = read_unit(at + 2, end);
    const bool is_first = unit >= 0xd800 && unit < 0xdc00;
    const bool has_second = is_first && end - at >= 12 && at[6] == '\\' && at[7] == 'u';
    const int32_t second = has_second ? read_unit(at + 8, end) : -1;
    *ret_code = unit >= 0xd800 && unit < 0xe000 ? 0xfffd : (uint32_t)unit;
    if (second < 0xdc00 || second >= 0xe000)
        return 6;
    *ret_code = 0x10000 + (((uint32_t)unit & 0x3ff) << 10) + ((uint32_t)second & 0x3ff);
    return 12;
}

static size_t encode(uint32_t code, char bytes[4])
{
    if (code < 0x80) {
        bytes[0] = (char)code;
        return 1;
    }
    const size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t at = length; --at > 0; code >>= 6)
        bytes[at] = (char)(0x80 | (code & 0x3f));
    bytes[0] = (char)((0xf00u >> length & 0xff) | code);
    return length;
}

static char escaped(char letter)
{
    static const char letters[] = "bfnrt", meanings[] = "\b\f\n\r\t";
    const char *place = memchr(letters, letter, sizeof letters - 1);
    return place != NULL ? meanings[place - letters] : letter;
}

size_t hp_json_copy(const struct hp_json_reader *reader, char *copy, size_t size)
{
    const char *at = reader->text, *end = reader->text + reader->length;
    size_t length = 0;
    while (at < end) {
        char bytes[4];
        size_t count = 1;
        uint32_t code;
        if (*at != '\\') {
            bytes[0] = *at++;
        } else if (at[1] != 'u') {
            bytes[0] = escaped(at[1]);
            at += 2;
        } else {
            at += read_character(at, end, &code);
            count = encode(code, bytes);
        }
        if (length + count >= size)
            break;
        memcpy(copy + length, bytes, count);
        length += count;
    }
    if (size > 0)
        copy[length] = '\0';
    return length;
}

bool hp_json_is(const struct hp_json_reader *reader, const char *text)
{
    return strncmp(text, reader->text, reader->length) == 0 && text[reader->length] == '\0';
}

/* ------------------------------------------------------------------------------------------------------ numbers */

static bool is_digit(const struct hp_json_reader *reader)
{
    return reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9';
}

static double power_of_ten(unsigned exponent)
{
    double power = 1, base = 10;
    for (; exponent > 0; exponent /= 2, base *= base)
        power *= exponent % 2 ? base : 1;
    return power;
}

/* A number being read; digits beyond the 18th only count as places. */
struct digits {
    uint64_t whole;
    unsigned count;
    int exponent;
};

static bool read_digits(struct hp_json_reader *reader, struct digits *digits, bool is_fraction)
{
    const char *first = reader->at;
    for (; is_digit(reader); reader->at++) {
        const bool fits = digits->count < 18;
        if (fits)
            digits->whole = 10 * digits->whole + (uint64_t)(*reader->at - '0');
        digits->count += fits && digits->whole > 0;
        digits->exponent += (!fits && digits->exponent < 100000) - (fits && is_fraction) - (!fits && is_fraction);
    }
    return reader->at > first;
}

static bool read_exponent(struct hp_json_reader *reader, struct digits *digits)
{
    int exponent = 0, sign = 1;
    reader->at++;
    if (reader->at < reader->end && (*reader->at == '-' || *reader->at == '+'))
        sign = *reader->at++ == '-' ? -1 : 1;
    if (!is_digit(reader))
        return false;
    for (; is_digit(reader); reader->at++)
        exponent = exponent < 100000 ? 10 * exponent + (*reader->at - '0') : exponent;
    digits->exponent += sign * exponent;
    return true;
}

static double value_of(const struct digits *digits)
{
    const double whole = (double)digits->whole;
    const int exponent = digits->exponent;
    if (digits->whole == 0 || exponent < -400)
        return 0;
    if (exponent > 400)
        return HUGE_VAL;
    if (exponent < -300) /* its power alone would be infinite */
        return whole / power_of_ten(300) / power_of_ten((unsigned)(-exponent - 300));
    return exponent < 0 ? whole / power_of_ten((unsigned)-exponent) : whole * power_of_ten((unsigned)exponent);
}

static bool read_number(struct hp_json_reader *reader)
{
    struct digits digits = {0};
    const bool is_negative = *reader->at == '-';
    reader->at += is_negative;
    const char *first = reader->at;
    if (!read_digits(reader, &digits, false) || (*first == '0' && reader->at - first > 1))
        return false;
    if (reader->at < reader->end && *reader->at == '.') {
        reader->at++;
        if (!read_digits(reader, &digits, true))
            return false;
    }
    if (reader->at < reader->end && (*reader->at | 32) == 'e' && !read_exponent(reader, &digits))
        return false;
    reader->number = is_negative ? -value_of(&digits) : value_of(&digits);
    return fabs(reader->number) <= DBL_MAX;
}

/* ------------------------------------------------------------------------------------------------------- values */

static enum hp_json_token read_word(struct hp_json_reader *reader, const char *word, enum hp_json_token token)
{
    const size_t length = strlen(word);
    if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, word, length) != 0)
        return fail(reader);
    reader->at += length;
    return reader->token = token;
}

static enum hp_json_token read_value(struct hp_json_reader *reader)
{
    reader->is_value_next = false;
    if (reader->at == reader->end)
        return fail(reader);
    switch (*reader->at) {
    case '{':
    case '[':
        return begin(reader, *reader->at == '{');
    case '"':
        return read_string(reader) ? (reader->token = HP_JSON_STRING) : fail(reader);
    case 't':
        return read_word(reader, "true", HP_JSON_TRUE);
    case 'f':
        return read_word(reader, "false", HP_JSON_FALSE);
    case 'n':
        return read_word(reader, "null", HP_JSON_NULL);
    default:
        return read_number(reader) ? (reader->token = HP_JSON_NUMBER) : fail(reader);
    }
}

static enum hp_json_token read_key(struct hp_json_reader *reader)
{
    if (!read_string(reader))
        return fail(reader);
    skip_blanks(reader);
    if (reader->at == reader->end || *reader->at != ':')
        return fail(reader);
    reader->at++;
    reader->is_value_next = true;
    return reader->token = HP_JSON_KEY;
}

enum hp_json_token hp_json_next(struct hp_json_reader *reader)
{
    const bool is_first = reader->token == HP_JSON_OBJECT || reader->token == HP_JSON_ARRAY;
    if (reader->token == HP_JSON_ERROR && reader->at == reader->end)
        return fail(reader);
    skip_blanks(reader);
    if (reader->is_value_next)
        return read_value(reader);
    if (reader->at == reader->end)
        return reader->depth == 0 ? (reader->token = HP_JSON_DONE) : fail(reader);
    if (*reader->at == '}' || *reader->at == ']')
        return end(reader);
    if (reader->depth == 0 || (!is_first && *reader->at != ','))
        return fail(reader);
    reader->at += !is_first;
    skip_blanks(reader);
    return is_object(reader) ? read_key(reader) : read_value(reader);
}

bool hp_json_leave(struct hp_json_reader *reader)
{
    const uint32_t depth = reader->depth;
    while (depth > 0 && reader->depth >= depth)
        if (hp_json_next(reader) == HP_JSON_ERROR)
            return false;
    return depth > 0;
}

bool hp_json_skip(struct hp_json_reader *reader)
{
    const enum hp_json_token token = hp_json_next(reader);
    return token == HP_JSON_OBJECT || token == HP_JSON_ARRAY ? hp_json_leave(reader) : token != HP_JSON_ERROR;
}

bool hp_json_finish(struct hp_json_reader *reader) { return hp_json_next(reader) == HP_JSON_DONE; }
