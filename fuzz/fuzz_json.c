/*
 * The JSON writer: writes values from the input, compact and pretty. Both must be valid JSON, and equal except for
 * blanks; numbers must read back unchanged. SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

#include "check.h"
#include "input.h"
#include "json.h"

#define DEEPEST 1000u

/* One value with everything in it. */
static void put_value(struct hp_json *json, struct fuzz_input *input, unsigned depth);

static void put_items(struct hp_json *json, struct fuzz_input *input, unsigned depth, bool is_object)
{
    char key[64];
    while (input->left > 0 && fuzz_byte(input) % 4 != 0) {
        if (is_object) {
            fuzz_text(input, key, sizeof key);
            hp_json_key(json, key);
        }
        put_value(json, input, depth + 1);
    }
}

static void put_text(struct hp_json *json, struct fuzz_input *input)
{
    char text[300];
    const size_t length = fuzz_bytes(input, text, (size_t)fuzz_number(input, 2) % sizeof text);
    hp_json_string_bytes(json, text, length);
}

static void put_number(struct hp_json *json, struct fuzz_input *input)
{
    const unsigned digits = fuzz_byte(input);
    const uint64_t bits = fuzz_number(input, 8);
    double number;
    memcpy(&number, &bits, sizeof number);
    hp_json_number(json, number, digits);
}

static void put_value(struct hp_json *json, struct fuzz_input *input, unsigned depth)
{
    const uint8_t kind = fuzz_byte(input);
    switch (depth < DEEPEST ? kind % 8 : kind % 6) {
    case 0:
        put_number(json, input);
        break;
    case 1:
        hp_json_u64(json, fuzz_number(input, 8));
        break;
    case 2:
        hp_json_i64(json, (int64_t)fuzz_number(input, 8));
        break;
    case 3:
        hp_json_bool(json, kind & 8);
        break;
    case 4:
        hp_json_null(json);
        break;
    case 5:
        put_text(json, input);
        break;
    case 6:
        hp_json_begin_object(json);
        put_items(json, input, depth, true);
        hp_json_end_object(json);
        break;
    default:
        hp_json_begin_array(json);
        put_items(json, input, depth, false);
        hp_json_end_array(json);
    }
}

static void write_values(struct fuzz_input input, bool is_pretty, struct fuzz_output *output)
{
    char buffer[100]; /* small, so that it is flushed in the middle of everything */
    struct hp_text text;
    struct hp_json json;
    output->length = 0;
    hp_text_init_stream(&text, buffer, sizeof buffer, fuzz_collect, output);
    hp_json_init(&json, &text, is_pretty);
    put_value(&json, &input, 0);
    REQUIRE(hp_text_finish(&text));
}

/* A number written with 15 digits must read back unchanged, except for the last digit. */
static void check_number(struct fuzz_input input)
{
    char bytes[64], *end;
    struct hp_text text;
    struct hp_json json;
    const uint64_t bits = fuzz_number(&input, 8);
    double number;
    memcpy(&number, &bits, sizeof number);
    hp_text_init(&text, bytes, sizeof bytes);
    hp_json_init(&json, &text, false);
    hp_json_number(&json, number, 15);
    hp_text_end(&text);
    REQUIRE(!text.is_cut);
    const double again = strtod(bytes, &end);
    const double size = number < 0 ? -number : number;
    if (size > 1e-290 && size < 1e308) { /* at the ends there are fewer digits, or rounding overflows */
        const double error = again / number - 1;
        REQUIRE(*end == '\0' && error < 1e-13 && error > -1e-13);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct fuzz_output compact, pretty;
    const struct fuzz_input input = {bytes, size};
    write_values(input, false, &compact);
    write_values(input, true, &pretty);
    fuzz_require_json(&compact);
    fuzz_require_json(&pretty);
    fuzz_require_same_json(&compact, &pretty);
    check_number(input);
    return 0;
}
