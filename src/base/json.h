/*
 * Writes JSON, value by value, with commas, indentation and escapes. One line, or indented by two.
 *
 *     hp_json_begin_object(&json);
 *     hp_json_key(&json, "calls");
 *     hp_json_u64(&json, 3);
 *     hp_json_end_object(&json);
 *
 * Strings may contain any bytes: invalid UTF-8 becomes U+FFFD. Numbers that JSON cannot represent become null.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_BASE_JSON_H
#define HP_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text.h"

#define HP_JSON_MAX_DEPTH 1024u /* deeper nesting still closes properly, but has no commas */

struct hp_json {
    struct hp_text *text;
    bool is_pretty;
    bool is_after_key;
    uint32_t depth;
    uint64_t has_items[HP_JSON_MAX_DEPTH / 64]; /* one bit per level */
};

void hp_json_init(struct hp_json *json, struct hp_text *text, bool is_pretty);

void hp_json_begin_object(struct hp_json *json);
void hp_json_end_object(struct hp_json *json);
void hp_json_begin_array(struct hp_json *json);
void hp_json_end_array(struct hp_json *json);

void hp_json_key(struct hp_json *json, const char *key);
void hp_json_key_bytes(struct hp_json *json, const char *key, size_t length);
void hp_json_string(struct hp_json *json, const char *string);
void hp_json_string_bytes(struct hp_json *json, const char *bytes, size_t length);
void hp_json_u64(struct hp_json *json, uint64_t number);
void hp_json_i64(struct hp_json *json, int64_t number);
/* With at most `digits` significant digits (1 to 15), as short as possible. */
void hp_json_number(struct hp_json *json, double number, unsigned digits);
void hp_json_bool(struct hp_json *json, bool value);
void hp_json_null(struct hp_json *json);

/* A key with its value. */
void hp_json_put_string(struct hp_json *json, const char *key, const char *string);
void hp_json_put_u64(struct hp_json *json, const char *key, uint64_t number);

#endif
