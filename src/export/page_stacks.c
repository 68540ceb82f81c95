/*
 * The stacks of a run for the page: a tree of up to a million nodes, as columns of numbers (page.h).
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

#include "arith.h"
#include "function_role.h"
#include "named_stacks.h"
#include "page.h"
#include "text.h"

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

/* What a run had on average, of several that were added. */
static uint64_t mean(uint64_t sum, size_t runs) { return runs > 1 ? (sum + runs / 2) / runs : sum; }

static bool put_weights(struct hp_json *json, const struct hp_page_content *content, enum hp_dimension dimension,
                        struct hp_page_column *column)
{
    const struct hp_weighted *weighted = content->weighted;
    const struct hp_weights *weights = &weighted->weights[dimension];
    const bool is_compared = content->compared_with != NULL;
    hp_json_begin_object(json);
    hp_json_put_string(json, "key", hp_dimension_types[dimension].key);
    for (size_t at = 1; at < weighted->node_count; at++)
        hp_page_column_add(column, mean(hp_weight_own(weights, at), content->runs_now));
    bool has_memory = hp_page_column_put(column, json, "own");
    for (size_t at = 1; is_compared && at < weighted->node_count; at++)
        hp_page_column_add(column, mean(hp_weight_before(weights, at), content->runs_before));
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

/* Functions of the C library wait for their callers; those that start programs and threads say nothing. */
enum { IS_SYSTEM = 1, IS_START = 2 };

static bool put_system(struct hp_json *json, const struct hp_weighted *weighted, struct hp_page_column *column)
{
    for (size_t at = 0; at < weighted->function_count; at++) {
        const uint32_t library = weighted->functions[at].library;
        const char *path = library < weighted->library_count ? weighted->libraries[library].path : "";
        const bool is_start =
            hp_function_role(weighted->functions[at].name, hp_text_base_name(path)) == HP_ROLE_START;
        hp_page_column_add(column, (hp_is_system_path(path) ? IS_SYSTEM : 0u) | (is_start ? IS_START : 0u));
    }
    return hp_page_column_put(column, json, "system");
}

/* ------------------------------------------------------------------------------------------------------- lines */

#define MOST_LINES 5000u

/* What was sampled in a line of a function. */
struct line {
    uint32_t function, line;
    uint64_t ns, samples;
};

static int by_place(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    return x->function != y->function ? hp_by_number(x->function, y->function) : hp_by_number(x->line, y->line);
}

static int most_time_first(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    return x->ns != y->ns ? hp_by_number(y->ns, x->ns) : by_place(a, b);
}

/* Adds up what is in the same line; returns how many lines are left. */
static size_t add_up(struct line *lines, size_t count)
{
    size_t kept = 0;
    qsort(lines, count, sizeof *lines, by_place);
    for (size_t at = 0; at < count; at++)
        if (kept > 0 && by_place(&lines[kept - 1], &lines[at]) == 0) {
            lines[kept - 1].ns += lines[at].ns;
            lines[kept - 1].samples += lines[at].samples;
        } else {
            lines[kept++] = lines[at];
        }
    qsort(lines, kept, sizeof *lines, most_time_first);
    return kept < MOST_LINES ? kept : MOST_LINES;
}

static size_t find_lines(const struct hp_page_content *content, struct line *lines)
{
    const struct hp_named_stacks *named = content->named;
    const struct hp_weighted *weighted = content->weighted;
    size_t count = 0;
    for (size_t at = 1; at < named->node_count && at < weighted->place_count; at++) {
        const struct hp_named_node *node = &named->nodes[at];
        const uint64_t ns = node->weight[HP_STACK_USER_NS] + node->weight[HP_STACK_KERNEL_NS];
        const uint32_t line = node->frame_count > 0 ? named->frames[node->first_frame].line : 0;
        if (ns > 0 && line > 0)
            lines[count++] = (struct line){weighted->nodes[weighted->places[at]].function, line, ns,
                                           node->weight[HP_STACK_SAMPLES]};
    }
    return count > 0 ? add_up(lines, count) : 0;
}

static bool put_lines(struct hp_json *json, const struct hp_page_content *content, struct hp_page_column *column)
{
    struct line *lines = content->named != NULL ? calloc(content->named->node_count + 1, sizeof *lines) : NULL;
    const size_t count = lines != NULL ? find_lines(content, lines) : 0;
    hp_json_key(json, "lines");
    hp_json_begin_object(json);
    hp_json_put_u64(json, "count", count);
    for (size_t at = 0; at < count; at++)
        hp_page_column_add(column, lines[at].function);
    bool has_memory = hp_page_column_put(column, json, "functions");
    for (size_t at = 0; at < count; at++)
        hp_page_column_add(column, lines[at].line);
    has_memory &= hp_page_column_put(column, json, "lines");
    for (size_t at = 0; at < count; at++)
        hp_page_column_add(column, lines[at].ns);
    has_memory &= hp_page_column_put(column, json, "ns");
    for (size_t at = 0; at < count; at++)
        hp_page_column_add(column, lines[at].samples);
    has_memory &= hp_page_column_put(column, json, "samples");
    hp_json_end_object(json);
    free(lines);
    return has_memory && (lines != NULL || content->named == NULL);
}

/* -------------------------------------------------------------------------------------------------- all of it */

struct hp_weighted hp_page_weighted(void)
{
    return (struct hp_weighted){.processes = HP_FRAMES_BY_BOTH, .is_for_people = true, .has_places = true};
}

static size_t longest_column(const struct hp_weighted *weighted)
{
    const size_t nodes = weighted->node_count, functions = weighted->function_count;
    const size_t most = nodes > functions ? nodes : functions;
    return most > MOST_LINES ? most : MOST_LINES;
}

bool hp_page_put_stacks(struct hp_json *json, const struct hp_page_content *content)
{
    const struct hp_weighted *weighted = content->weighted;
    const char *compared_with = content->compared_with;
    struct hp_page_column column;
    if (weighted == NULL || weighted->node_count < 2) {
        hp_json_null(json);
        return true;
    }
    if (!hp_page_column_begin(&column, longest_column(weighted)))
        return false;
    hp_json_begin_object(json);
    hp_json_key(json, "compared_with");
    if (compared_with != NULL)
        hp_json_string(json, compared_with);
    else
        hp_json_null(json);
    if (content->runs_now > 1 || content->runs_before > 1) {
        hp_json_put_u64(json, "runs", content->runs_now);
        hp_json_put_u64(json, "runs_before", content->runs_before);
    }
    hp_json_put_u64(json, "count", weighted->node_count - 1);
    bool has_memory = put_names(json, weighted) && put_system(json, weighted, &column) &&
                      put_nodes(json, weighted, &column) && put_lines(json, content, &column);
    hp_json_key(json, "weights");
    hp_json_begin_array(json);
    for (unsigned at = 0; at < HP_DIMENSIONS && has_memory; at++)
        if (hp_weighted_is_new(weighted, (enum hp_dimension)at) || weighted->weights[at].total_before > 0)
            has_memory = put_weights(json, content, (enum hp_dimension)at, &column);
    hp_json_end_array(json);
    has_memory = has_memory && hp_page_put_slots(json, content);
    hp_json_end_object(json);
    hp_page_column_free(&column);
    return has_memory;
}
