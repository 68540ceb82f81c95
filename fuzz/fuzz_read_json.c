/*
 * The JSON reader, on any bytes: it ends, and what it accepts is JSON that reads the same when written again.
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

#include "check.h"
#include "input.h"
#include "json.h"
#include "json_reader.h"

static void write_text(struct hp_json *json, const struct hp_json_reader *reader, bool is_key)
{
    char *copy = malloc(reader->length + 4); /* an escape is longer than what it means */
    const size_t length = hp_json_copy(reader, copy, reader->length + 4);
    REQUIRE(length <= reader->length);
    if (is_key)
        hp_json_key_bytes(json, copy, length);
    else
        hp_json_string_bytes(json, copy, length);
    free(copy);
}

static void write_token(struct hp_json *json, const struct hp_json_reader *reader)
{
    switch (reader->token) {
    case HP_JSON_OBJECT:
        hp_json_begin_object(json);
        break;
    case HP_JSON_OBJECT_END:
        hp_json_end_object(json);
        break;
    case HP_JSON_ARRAY:
        hp_json_begin_array(json);
        break;
    case HP_JSON_ARRAY_END:
        hp_json_end_array(json);
        break;
    case HP_JSON_KEY:
    case HP_JSON_STRING:
        write_text(json, reader, reader->token == HP_JSON_KEY);
        break;
    case HP_JSON_NUMBER:
        hp_json_number(json, reader->number, 15);
        break;
    case HP_JSON_TRUE:
    case HP_JSON_FALSE:
        hp_json_bool(json, reader->token == HP_JSON_TRUE);
        break;
    default:
        hp_json_null(json);
    }
}

/* Writes what is read. False: it is no JSON, or nested more deeply than the writer can. */
static bool copy(const char *bytes, size_t size, struct fuzz_output *output)
{
    char buffer[100];
    struct hp_text text;
    struct hp_json json;
    struct hp_json_reader reader = hp_json_reader_of(bytes, size);
    uint32_t deepest = 0;
    size_t tokens = 0;
    output->length = 0;
    hp_text_init_stream(&text, buffer, sizeof buffer, fuzz_collect, output);
    hp_json_init(&json, &text, false);
    for (; hp_json_next(&reader) > HP_JSON_DONE; tokens++) {
        deepest = reader.depth > deepest ? reader.depth : deepest;
        REQUIRE(tokens <= size);
        write_token(&json, &reader);
    }
    REQUIRE(hp_text_finish(&text));
    return reader.token == HP_JSON_DONE && deepest < HP_JSON_MAX_DEPTH;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct fuzz_output first, second;
    if (!copy((const char *)bytes, size, &first))
        return 0;
    fuzz_require_json(&first);
    REQUIRE(copy(first.bytes, first.length, &second));
    REQUIRE(first.length == second.length);
    return 0;
}
