/*
 * UTF-8 as terminals show it: decoding, width in columns, and a form of any bytes that is safe to print. No locale.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_BASE_UTF8_H
#define HP_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text.h"

#define HP_UTF8_INVALID UINT32_MAX
#define HP_UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/*
 * Reads the character at *at and moves past it; `*at` must be below `end`. HP_UTF8_INVALID for one byte of invalid
 * UTF-8 (overlong, surrogate, beyond U+10FFFF, cut off).
 */
uint32_t hp_utf8_next(const char **at, const char *end);

/* Columns: 0 for combining and invisible characters, 2 for East Asian wide ones and emoji, otherwise 1. */
unsigned hp_utf8_width(uint32_t character);
size_t hp_utf8_columns(const char *bytes, size_t length);

/* Characters that a terminal or an editor interprets instead of showing them. They are escaped in all output. */
bool hp_utf8_is_harmful(uint32_t character);

/*
 * Writes untrusted bytes so that they cannot harm a terminal: control characters and those that change the text
 * direction become \n, \x1b, \u202e; invalid UTF-8 becomes U+FFFD.
 */
void hp_utf8_put_safe(struct hp_text *text, const char *bytes, size_t length);

/*
 * Writes text (already safe) in at most `columns` columns: whole if it fits, otherwise its beginning and its end
 * with an ellipsis between, since names differ at their ends as often as at their beginnings. Returns the columns
 * used.
 */
size_t hp_utf8_put_fitted(struct hp_text *text, const char *bytes, size_t length, size_t columns);

#endif
