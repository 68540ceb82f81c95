/*
 * The stacks of a run for the page: a tree that can have a million nodes. Numbers are columns of bytes in base64:
 * seven bits per byte, the lowest first, the eighth bit says that more follow. A browser reads that ten times as
 * fast as numbers in JSON. SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

#include "page.h"
#include "shown_names.h"

/* A column under construction. */
struct column {
    unsigned char *bytes;
    size_t length;
};

#define LONGEST_NUMBER 10u /* bytes, of 64 bits */

static void put_number(struct column *column, uint64_t number)
{
    for (; number >= 0x80; number >>= 7)
        column->bytes[column->length++] = (unsigned char)(number | 0x80);
    column->bytes[column->length++] = (unsigned char)number;
}

static bool put_column(struct hp_json *json, const char *key, const struct column *column)
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
    return true;
}

/* Parents are written as distances, which are short. */
static bool put_nodes(struct hp_json *json, const struct hp_weighted *weighted, struct column *column)
{
    column->length = 0;
    for (size_t at = 1; at < weighted->node_count; at++)
        put_number(column, at - weighted->nodes[at].parent);
    if (!put_column(json, "parents", column))
        return false;
    column->length = 0;
    for (size_t at = 1; at < weighted->node_count; at++)
        put_number(column, weighted->nodes[at].function);
    return put_column(json, "functions", column);
}

static bool put_weights(struct hp_json *json, const struct hp_weighted *weighted, enum hp_dimension dimension,
                        bool is_compared, struct column *column)
{
    const struct hp_weights *weights = &weighted->weights[dimension];
    hp_json_begin_object(json);
    hp_json_put_string(json, "key", hp_dimension_types[dimension].key);
    column->length = 0;
    for (size_t at = 1; at < weighted->node_count; at++)
        put_number(column, hp_weight_own(weights, at));
    bool has_memory = put_column(json, "own", column);
    column->length = 0;
    for (size_t at = 1; is_compared && at < weighted->node_count; at++)
        put_number(column, hp_weight_before(weights, at));
    if (is_compared)
        has_memory &= put_column(json, "before", column);
    hp_json_end_object(json);
    return has_memory;
}

/* As the tables of the page have them: what is chosen there is looked for here. False: no memory. */
static bool put_shown_names(struct hp_json *json, const struct hp_weighted *weighted)
{
    struct hp_shown_names shown = {0};
    const char **full = malloc((weighted->function_count + 1) * sizeof *full);
    for (size_t at = 0; full != NULL && at < weighted->function_count; at++)
        full[at] = weighted->functions[at].name;
    const bool has_memory = full != NULL && hp_shown_names_make(full, weighted->function_count, &shown);
    free(full);
    for (size_t at = 0; has_memory && at < weighted->function_count; at++)
        hp_json_string(json, shown.all[at]);
    hp_shown_names_free(&shown);
    return has_memory;
}

static bool put_names(struct hp_json *json, const struct hp_weighted *weighted)
{
    hp_json_key(json, "names");
    hp_json_begin_array(json);
    const bool has_memory = put_shown_names(json, weighted);
    hp_json_end_array(json);
    hp_json_key(json, "libraries");
    hp_json_begin_array(json);
    for (size_t at = 0; at < weighted->function_count; at++)
        hp_json_string(json, hp_weighted_library_name(weighted, (uint32_t)at));
    hp_json_end_array(json);
    return has_memory;
}

bool hp_page_put_stacks(struct hp_json *json, const struct hp_weighted *weighted, const char *compared_with)
{
    struct column column = {0};
    if (weighted == NULL || weighted->node_count < 2) {
        hp_json_null(json);
        return true;
    }
    column.bytes = malloc(weighted->node_count * LONGEST_NUMBER);
    if (column.bytes == NULL)
        return false;
    hp_json_begin_object(json);
    hp_json_key(json, "compared_with");
    if (compared_with != NULL)
        hp_json_string(json, compared_with);
    else
        hp_json_null(json);
    hp_json_put_u64(json, "count", weighted->node_count - 1);
    bool has_memory = put_names(json, weighted) && put_nodes(json, weighted, &column);
    hp_json_key(json, "weights");
    hp_json_begin_array(json);
    for (unsigned at = 0; at < HP_DIMENSIONS && has_memory; at++)
        if (hp_weighted_has(weighted, (enum hp_dimension)at) || weighted->weights[at].total_before > 0)
            has_memory = put_weights(json, weighted, (enum hp_dimension)at, compared_with != NULL, &column);
    hp_json_end_array(json);
    hp_json_end_object(json);
    free(column.bytes);
    return has_memory;
}
