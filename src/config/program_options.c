/* The options of a program, converted to environment syntax. SPDX-License-Identifier: MIT */
#include "program_options.h"

#include <string.h>

#include "text.h"

#define END_OF(member) (offsetof(struct hotpath_options, member) + sizeof((struct hotpath_options *)0)->member)

/* The first version ended with these fields, which later ones may use; programs built with it will stay around. */
#define FIRST_VERSION_BYTES (offsetof(struct hotpath_options, exclude_wrapper) + 12) /* flags, and reserved bytes */
/* No struct is larger; a larger size is invalid. */
#define LARGEST_BYTES 4096u

static bool are_zero(const struct hotpath_options *options, size_t from, size_t to)
{
    const unsigned char *bytes = (const unsigned char *)options;
    for (size_t i = from; i < to && i < options->size; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

/* Between the reserved fields and the end of the struct there may be padding with arbitrary contents. */
bool hp_options_are_known(const struct hotpath_options *options)
{
    if (!options)
        return true;
    return options->size >= FIRST_VERSION_BYTES && options->size <= LARGEST_BYTES &&
           are_zero(options, offsetof(struct hotpath_options, reserved), END_OF(reserved)) &&
           are_zero(options, sizeof *options, options->size);
}

static size_t field_size(enum hp_option_type type)
{
    switch (type) {
    case HP_OPTION_COUNT:
    case HP_OPTION_LIMIT:
        return sizeof(uint32_t);
    case HP_OPTION_BYTES:
        return sizeof(uint64_t);
    case HP_OPTION_NUMBER:
        return sizeof(double);
    case HP_OPTION_FLAG:
        return sizeof(uint8_t);
    case HP_OPTION_TEXT:
    case HP_OPTION_CHOICE:
        break;
    }
    return sizeof(const char *);
}

/* The number in a field of the program's struct. */
static uint64_t field_number(const struct hp_option *option, const void *field)
{
    uint8_t flag;
    uint32_t count;
    uint64_t bytes;
    switch (field_size(option->type)) {
    case sizeof flag:
        memcpy(&flag, field, sizeof flag);
        return flag;
    case sizeof count:
        memcpy(&count, field, sizeof count);
        return count;
    default:
        memcpy(&bytes, field, sizeof bytes);
        return bytes;
    }
}

/* Converts a number of the program to environment syntax. */
static const char *number_text(const struct hp_option *option, uint64_t number, char buffer[HP_PROGRAM_VALUE_BYTES])
{
    struct hp_text text;
    if (option->type == HP_OPTION_FLAG)
        number = 1;
    if (option->type == HP_OPTION_LIMIT && number == HOTPATH_NO_LIMIT)
        number = 0;
    hp_text_init(&text, buffer, HP_PROGRAM_VALUE_BYTES);
    hp_text_u64(&text, number);
    return hp_text_end(&text);
}

/* The same for a number with decimals; NaN and infinity are not accepted. */
static const char *decimal_text(double number, char buffer[HP_PROGRAM_VALUE_BYTES])
{
    struct hp_text text;
    hp_text_init(&text, buffer, HP_PROGRAM_VALUE_BYTES);
    if (!(number > 0)) {
        hp_text_string(&text, number < 0 ? "-" : "nan");
        number = -number;
    }
    if (number > 0) {
        hp_text_fixed(&text, number, 9);
        while (memchr(buffer, '.', text.length) != NULL && strchr(".0", buffer[text.length - 1]) != NULL)
            text.length--;
    }
    return hp_text_end(&text);
}

const char *hp_program_value(const struct hp_option *option, const struct hotpath_options *options,
                             char buffer[HP_PROGRAM_VALUE_BYTES])
{
    if (!options || !option->field || option->options_offset + field_size(option->type) > options->size)
        return NULL;
    const char *field = (const char *)options + option->options_offset;
    if (option->type == HP_OPTION_TEXT || option->type == HP_OPTION_CHOICE) {
        const char *text;
        memcpy(&text, field, sizeof text);
        return text && text[0] ? text : NULL;
    }
    if (option->type == HP_OPTION_NUMBER) {
        double number;
        memcpy(&number, field, sizeof number);
        return number < 0 || number > 0 || number != number ? decimal_text(number, buffer) : NULL;
    }
    const uint64_t number = field_number(option, field);
    return number != 0 ? number_text(option, number, buffer) : NULL;
}
