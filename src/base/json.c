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

void hp_json_number(struct hp_json *json, double number, unsigned digits)
{
    if (!(number - number == 0)) { /* neither infinite nor NaN */
        hp_json_null(json);
        return;
    }
    separate(json);
    hp_text_real(json->text, number, digits);
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
