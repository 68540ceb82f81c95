/* Columns of numbers for the page. SPDX-License-Identifier: MIT */
#include "page_column.h"

#include <stdlib.h>

#define LONGEST_NUMBER 10u /* bytes, of 64 bits */

bool hp_page_column_begin(struct hp_page_column *column, size_t most_numbers)
{
    *column = (struct hp_page_column){.bytes = calloc(most_numbers + 1, LONGEST_NUMBER)};
    return column->bytes != NULL;
}

void hp_page_column_add(struct hp_page_column *column, uint64_t number)
{
    for (; number >= 0x80; number >>= 7)
        column->bytes[column->length++] = (unsigned char)(number | 0x80);
    column->bytes[column->length++] = (unsigned char)number;
}

bool hp_page_column_put(struct hp_page_column *column, struct hp_json *json, const char *key)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = malloc(column->length / 3 * 4 + 4);
    size_t length = 0;
    if (text == NULL)
        return false;
    for (size_t at = 0; at < column->length; at += 3) {
        const size_t left = column->length - at;
        const unsigned group = (unsigned)column->bytes[at] << 16 |
                               (left > 1 ? (unsigned)column->bytes[at + 1] << 8 : 0) |
                               (left > 2 ? column->bytes[at + 2] : 0);
        text[length++] = digits[group >> 18];
        text[length++] = digits[group >> 12 & 63];
        text[length++] = left > 1 ? digits[group >> 6 & 63] : '=';
        text[length++] = left > 2 ? digits[group & 63] : '=';
    }
    hp_json_key(json, key);
    hp_json_string_bytes(json, text, length);
    free(text);
    column->length = 0;
    return true;
}

void hp_page_column_free(struct hp_page_column *column)
{
    free(column->bytes);
    column->bytes = NULL;
}
