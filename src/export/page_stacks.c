/*
 * The stacks of a run for the page: a tree of up to a million nodes, as columns of numbers (page.h).
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

#include "named_stacks.h"
#include "page.h"

/* Parents as distances, which are short. */
static bool put_nodes(struct hp_json *json, const struct hp_weighted *weighted, struct hp_page_column *column)
{
    for (size_t at = 1; at < weighted->node_count; at++)
        hp_page_column_add(column, at - weighted->nodes[at].parent);
    if (!hp_page_column_put(column, json, "parents"))
        return false;
    for (size_t at = 1; at < weighted->node_count; at++)
        hp_page_column_add(column, weighted->nodes[at].function);
    return hp_page_column_put(column, json, "functions");
}

static bool put_weights(struct hp_json *json, const struct hp_weighted *weighted, enum hp_dimension dimension,
                        bool is_compared, struct hp_page_column *column)
{
    const struct hp_weights *weights = &weighted->weights[dimension];
    hp_json_begin_object(json);
    hp_json_put_string(json, "key", hp_dimension_types[dimension].key);
    for (size_t at = 1; at < weighted->node_count; at++)
        hp_page_column_add(column, hp_weight_own(weights, at));
    bool has_memory = hp_page_column_put(column, json, "own");
    for (size_t at = 1; is_compared && at < weighted->node_count; at++)
        hp_page_column_add(column, hp_weight_before(weights, at));
    if (is_compared)
        has_memory &= hp_page_column_put(column, json, "before");
    hp_json_end_object(json);
    return has_memory;
}

/* Zones and labels are in no library: their names are shown as the program gave them. */
static bool is_in_library(const struct hp_weighted *weighted, size_t function)
{
    return weighted->functions[function].library != HP_NO_LIBRARY;
}

/* As the tables of the page have them: what is chosen there is looked for here. False: no memory. */
static bool put_shown_names(struct hp_json *json, const struct hp_weighted *weighted)
{
    struct hp_shown_names shown = {0};
    size_t count = 0, next = 0;
    const char **full = malloc((weighted->function_count + 1) * sizeof *full);
    for (size_t at = 0; full != NULL && at < weighted->function_count; at++)
        if (is_in_library(weighted, at))
            full[count++] = weighted->functions[at].name;
    const bool has_memory = full != NULL && hp_shown_names_make(full, count, &shown);
    free(full);
    for (size_t at = 0; has_memory && at < weighted->function_count; at++)
        hp_json_string(json, is_in_library(weighted, at) ? shown.all[next++] : weighted->functions[at].name);
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
    struct hp_page_column column;
    if (weighted == NULL || weighted->node_count < 2) {
        hp_json_null(json);
        return true;
    }
    if (!hp_page_column_begin(&column, weighted->node_count))
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
        if (hp_weighted_is_new(weighted, (enum hp_dimension)at) || weighted->weights[at].total_before > 0)
            has_memory = put_weights(json, weighted, (enum hp_dimension)at, compared_with != NULL, &column);
    hp_json_end_array(json);
    hp_json_end_object(json);
    hp_page_column_free(&column);
    return has_memory;
}
