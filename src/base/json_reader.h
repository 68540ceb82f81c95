/*
 * Reads JSON (RFC 8259), token by token, from memory. Strict: the first thing that is not JSON is an error, and
 * stays one; so is a number that no double can hold. Strings may contain any bytes from 0x20 on. It allocates
 * nothing and does not recurse, so the text may be hostile.
 *
 *     struct hp_json_reader reader = hp_json_reader_of(bytes, length);
 *     if (hp_json_next(&reader) == HP_JSON_OBJECT)
 *         while (hp_json_next(&reader) == HP_JSON_KEY)
 *             if (hp_json_is(&reader, "calls"))
 *                 hp_json_next(&reader), calls = reader.number;
 *             else
 *                 hp_json_skip(&reader);
 *     if (hp_json_finish(&reader))
 *         all of it was read, and it was JSON
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_BASE_JSON_READER_H
#define HP_BASE_JSON_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HP_JSON_READ_DEPTH 4096u /* deeper nesting is an error */

enum hp_json_token {
    HP_JSON_ERROR,
    HP_JSON_DONE, /* the end of the text */
    HP_JSON_OBJECT,
    HP_JSON_OBJECT_END,
    HP_JSON_ARRAY,
    HP_JSON_ARRAY_END,
    HP_JSON_KEY,
    HP_JSON_STRING,
    HP_JSON_NUMBER,
    HP_JSON_TRUE,
    HP_JSON_FALSE,
    HP_JSON_NULL
};

struct hp_json_reader {
    const char *at, *end;
    const char *text; /* of a key or a string: what is between the quotes, still with its escapes */
    size_t length;
    double number;
    enum hp_json_token token; /* the latest one */
    bool is_value_next;       /* after a comma or a colon */
    uint32_t depth;
    uint64_t are_objects[HP_JSON_READ_DEPTH / 64]; /* one bit per level */
};

struct hp_json_reader hp_json_reader_of(const char *bytes, size_t length);

enum hp_json_token hp_json_next(struct hp_json_reader *reader);

/* Skips the next value with all that is in it. False: an error. */
bool hp_json_skip(struct hp_json_reader *reader);

/* Skips what is left of the innermost object or array, whose end is then the latest token. False: an error. */
bool hp_json_leave(struct hp_json_reader *reader);

/* Whether the key or string is `text`, which needs no escapes. */
bool hp_json_is(const struct hp_json_reader *reader, const char *text);

/* Copies the key or string without its escapes; a longer one is cut. Returns its length in `copy`. */
size_t hp_json_copy(const struct hp_json_reader *reader, char *copy, size_t size);

/* Whether nothing is left but blanks, and there was no error. */
bool hp_json_finish(struct hp_json_reader *reader);

#endif
