/* Writing JSON. SPDX-License-Identifier: MIT */
#include "json.h"

#include <string.h>

#include "utf8.h"

void hp_json_init(struct hp_json *json, struct hp_text *text, bool is_pretty)
{
    *json = (struct hp_json){.text = text, .is_pretty = is_pretty};
}

static bool has_items(const struct hp_json *json)
{
    return json->depth < HP_JSON_MAX_DEPTH && (json->has_items[json->depth / 64] >> json->depth % 64 & 1) != 0;
}

static void set_has_items(struct hp_json *json, bool value)
{
    if (json->depth >= HP_JSON_MAX_DEPTH)
        return;
    const uint64_t bit = UINT64_C(1) << json->depth % 64;
    if (value)
        json->has_items[json->depth / 64] |= bit;
    else
        json->has_items[json->depth / 64] &= ~bit;
}

static void break_line(struct hp_json *json)
{
    if (!json->is_pretty)
        return;
    hp_text_char(json->text, '\n');
    hp_text_repeat(json->text, ' ', 2 * (size_t)json->depth);
}

/* Everything that goes before a value or a key: nothing after a key, otherwise a comma and a new line. */
static void separate(struct hp_json *json)
{
    if (json->is_after_key) {
        json->is_after_key = false;
        return;
    }
    if (has_items(json))
        hp_text_char(json->text, ',');
    if (json->depth > 0)
        break_line(json);
    set_has_items(json, true);
}

static void begin(struct hp_json *json, char bracket)
{
    separate(json);
    hp_text_char(json->text, bracket);
    json->depth++;
    set_has_items(json, false);
}

static void end(struct hp_json *json, char bracket)
{
    const bool had_items = has_items(json);
    if (json->depth > 0)
        json->depth--;
    if (had_items)
        break_line(json);
    hp_text_char(json->text, bracket);
}

void hp_json_begin_object(struct hp_json *json) { begin(json, '{'); }

void hp_json_end_object(struct hp_json *json) { end(json, '}'); }

void hp_json_begin_array(struct hp_json *json) { begin(json, '['); }

void hp_json_end_array(struct hp_json *json) { end(json, ']'); }

static void put_escaped(struct hp_text *text, uint32_t c)
{
    static const char named[] = "\b\f\n\r\t", letters[] = "bfnrt";
    const char *found = c < 0x20 && c != 0 ? strchr(named, (int)c) : NULL;
    hp_text_char(text, '\\');
    if (c == '"' || c == '\\') {
        hp_text_char(text, (char)c);
    } else if (found != NULL) {
        hp_text_char(text, letters[found - named]);
    } else {
        hp_text_char(text, 'u');
        hp_text_hex(text, c, 4);
    }
}

static void put_string(struct hp_text *text, const char *bytes, size_t length)
{
    const char *at = bytes, *const stop = bytes + length;
    hp_text_char(text, '"');
    while (at < stop) {
        const char *const from = at;
        const uint32_t c = hp_utf8_next(&at, stop);
        if (c == HP_UTF8_INVALID)
            hp_text_string(text, HP_UTF8_REPLACEMENT);
        else if (c == '"' || c == '\\' || hp_utf8_is_harmful(c))
            put_escaped(text, c);
        else
            hp_text_bytes(text, from, (size_t)(at - from));
    }
    hp_text_char(text, '"');
}

void hp_json_key_bytes(struct hp_json *json, const char *key, size_t length)
{
    separate(json);
    put_string(json->text, key, length);
    hp_text_string(json->text, json->is_pretty ? ": " : ":");
    json->is_after_key = true;
}

void hp_json_key(struct hp_json *json, const char *key) { hp_json_key_bytes(json, key, strlen(key)); }

void hp_json_string_bytes(struct hp_json *json, const char *bytes, size_t length)
{
    separate(json);
    put_string(json->text, bytes, length);
}

void hp_json_string(struct hp_json *json, const char *string)
{
    hp_json_string_bytes(json, string, strlen(string));
}

void hp_json_u64(struct hp_json *json, uint64_t number)
{
    separate(json);
    hp_text_u64(json->text, number);
}

void hp_json_i64(struct hp_json *json, int64_t number)
{
    separate(json);
    hp_text_i64(json->text, number);
}

void hp_json_bool(struct hp_json *json, bool value)
{
    separate(json);
    hp_text_string(json->text, value ? "true" : "false");
}

void hp_json_null(struct hp_json *json)
{
    separate(json);
    hp_text_string(json->text, "null");
}

/* Powers of ten up to 10^22 are exact in a double, so each step rounds once: two for any duration, 15 at the ends. */
static double scale_by_ten(double value, int exponent)
{
    static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    for (; exponent > 22; exponent -= 22)
        value *= power[22];
    for (; exponent < -22; exponent += 22)
        value /= power[22];
    return exponent < 0 ? value / power[-exponent] : value * power[exponent];
}

/* The decimal exponent of the first significant digit. */
static int decimal_exponent(double value)
{
    int exponent = 0;
    for (; value >= 1e16; exponent += 16)
        value /= 1e16;
    for (; value >= 10; exponent++)
        value /= 10;
    for (; value < 1e-16; exponent -= 16)
        value *= 1e16;
    for (; value < 1; exponent--)
        value *= 10;
    return exponent;
}

/* `digits` with the decimal point after the first `whole` of them (whole may be 0 or less). */
static void put_plain(struct hp_text *text, const char *digits, int count, int whole)
{
    if (whole <= 0)
        hp_text_char(text, '0');
    for (int at = 0; at < whole; at++)
        hp_text_char(text, at < count ? digits[at] : '0');
    if (count <= whole)
        return;
    hp_text_char(text, '.');
    for (int at = whole; at < 0; at++)
        hp_text_char(text, '0');
    hp_text_bytes(text, digits + (whole > 0 ? whole : 0), (size_t)(count - (whole > 0 ? whole : 0)));
}

static void put_exponent(struct hp_text *text, int exponent)
{
    hp_text_char(text, 'e');
    hp_text_char(text, exponent < 0 ? '-' : '+');
    hp_text_u64(text, (uint64_t)(exponent < 0 ? -exponent : exponent));
}

/*
 * Digits are made as one integer of at most 15 digits, where a double is exact. That is not the shortest text that
 * reads back to the same double, but it differs from it by less than one part in 10^14, and no measurement here is
 * that good.
 */
static void put_number(struct hp_text *text, double value, unsigned digits)
{
    int exponent = decimal_exponent(value);
    uint64_t integer = (uint64_t)(scale_by_ten(value, (int)digits - 1 - exponent) + 0.5);
    uint64_t limit = 1;
    for (unsigned digit = 0; digit < digits; digit++)
        limit *= 10;
    if (integer >= limit) {
        integer /= 10;
        exponent++;
    }
    char decimal[20];
    int count = 0;
    for (uint64_t power = limit / 10; power > 0; power /= 10)
        decimal[count++] = (char)('0' + integer / power % 10);
    while (count > 1 && decimal[count - 1] == '0')
        count--;
    if (exponent >= -7 && exponent < 21) {
        put_plain(text, decimal, count, exponent + 1);
    } else {
        put_plain(text, decimal, count, 1);
        put_exponent(text, exponent);
    }
}

void hp_json_number(struct hp_json *json, double number, unsigned digits)
{
    if (!(number - number == 0)) { /* neither infinite nor NaN */
        hp_json_null(json);
        return;
    }
    separate(json);
    if (number < 0)
        hp_text_char(json->text, '-');
    if (number == 0)
        hp_text_char(json->text, '0');
    else
        put_number(json->text, number < 0 ? -number : number, digits < 1 ? 1 : digits > 15 ? 15 : digits);
}

void hp_json_put_string(struct hp_json *json, const char *key, const char *string)
{
    hp_json_key(json, key);
    hp_json_string(json, string);
}

void hp_json_put_u64(struct hp_json *json, const char *key, uint64_t number)
{
    hp_json_key(json, key);
    hp_json_u64(json, number);
}
