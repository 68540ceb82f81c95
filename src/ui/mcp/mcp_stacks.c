/* The heaviest stacks of a session. SPDX-License-Identifier: MIT */
#include "mcp_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "units.h"
#include "weight_sources.h"

#define LONGEST_LINE 600u

struct heavy {
    uint32_t node;
    uint64_t own, count;
};

struct found {
    const struct hp_run *run;
    struct hp_weighted weighted;
    const struct hp_weights *weights;
    const struct hp_dimension_type *type;
    struct heavy *all;
    size_t count;
    uint64_t total;
};

static bool read_stacks(struct hp_mcp_call *call, const struct hp_mcp_stacks *stacks, struct found *found)
{
    found->weighted.is_for_people = true;
    if (call->run.stacks != NULL && call->run.stacks->node_count > 0 &&
        !hp_stack_weights_add(&found->weighted, call->run.stacks))
        return false;
    if (!call->run.is_part && !hp_zone_weights_add(&found->weighted, call->run.model))
        return false;
    for (size_t at = 0; at < stacks->of_count && found->weights == NULL; at++)
        if (hp_weighted_has(&found->weighted, stacks->of[at])) {
            found->weights = &found->weighted.weights[stacks->of[at]];
            found->type = &hp_dimension_types[stacks->of[at]];
        }
    return found->weights != NULL;
}

static const char *name_of(const struct hp_weighted *weighted, uint32_t node)
{
    return weighted->functions[weighted->nodes[node].function].name;
}

static bool is_in(const struct hp_weighted *weighted, uint32_t node, const char *function)
{
    for (; function != NULL && node != HP_WEIGHTED_ROOT; node = weighted->nodes[node].parent)
        if (hp_mcp_is_name(name_of(weighted, node), function))
            return true;
    return function == NULL;
}

static int heavier(const void *a, const void *b)
{
    const struct heavy *x = a, *y = b;
    if (x->own != y->own)
        return x->own < y->own ? 1 : -1;
    return (x->node > y->node) - (x->node < y->node);
}

static bool choose(const struct hp_mcp_stacks *stacks, struct found *found)
{
    found->all = calloc(found->weighted.node_count + 1, sizeof *found->all);
    if (found->all == NULL)
        return false;
    for (uint32_t node = 1; node < found->weighted.node_count; node++) {
        const uint64_t own = hp_weight_own(found->weights, node);
        if (own == 0 || !is_in(&found->weighted, node, stacks->function))
            continue;
        found->total += own;
        found->all[found->count++] = (struct heavy){node, own, hp_weight_count(found->weights, node)};
    }
    qsort(found->all, found->count, sizeof *found->all, heavier);
    return found->count > 0;
}

/* The callers that fit, the outermost first: what is left out is nearest to main. */
static void put_stack(struct hp_text *line, const struct hp_weighted *weighted, uint32_t node, size_t depth)
{
    uint32_t way[64];
    size_t length = 0;
    size_t bytes = 0;
    for (; node != HP_WEIGHTED_ROOT && length < depth && length < sizeof way / sizeof way[0];
         node = weighted->nodes[node].parent) {
        const struct hp_mcp_cell_text name = hp_mcp_cell_text(name_of(weighted, node));
        bytes += strlen(name.bytes) + 3;
        if (bytes > LONGEST_LINE && length > 0)
            break;
        way[length++] = node;
    }
    hp_text_string(line, node != HP_WEIGHTED_ROOT ? "... > " : "");
    while (length-- > 0) {
        hp_text_format(line, "%s%s", hp_mcp_cell_text(name_of(weighted, way[length])).bytes,
                       length > 0 ? " > " : "");
    }
}

static void put_weight(struct hp_text *text, const struct found *found, uint64_t weight)
{
    if (found->type->unit == HP_WEIGHT_BYTES)
        hp_units_bytes(text, weight);
    else
        hp_text_string(text, hp_mcp_duration(found->run, (double)weight).bytes);
    hp_text_end(text);
}

static const char *title_of(const struct found *found)
{
    const bool are_instructions = found->type->unit == HP_WEIGHT_NS && hp_run_counts_instructions(found->run);
    return are_instructions ? "Instructions" : found->type->title;
}

static void put_rows(struct hp_mcp_answer *answer, const struct found *found, const struct hp_mcp_stacks *stacks)
{
    const char *const titles[] = {"Share", title_of(found), found->type->counted != NULL ? "Count" : "Stack",
                                  "Stack"};
    const bool is_counted = found->type->counted != NULL;
    hp_mcp_table_begin(answer, stacks->title, titles, is_counted ? 4 : 3);
    for (size_t at = 0; at < found->count && at < stacks->limit && hp_mcp_table_has_room(answer); at++) {
        char weight[60], count[40], line[LONGEST_LINE + 4 * HP_MCP_NAME_BYTES];
        struct hp_text text;
        hp_mcp_table_cell(answer, hp_percent_text(100 * (double)found->all[at].own / (double)found->total).bytes);
        hp_text_init(&text, weight, sizeof weight);
        put_weight(&text, found, found->all[at].own);
        hp_mcp_table_cell(answer, weight);
        hp_text_init(&text, count, sizeof count);
        hp_text_u64(&text, found->all[at].count);
        if (is_counted)
            hp_mcp_table_cell(answer, hp_text_end(&text));
        hp_text_init(&text, line, sizeof line);
        put_stack(&text, &found->weighted, found->all[at].node, stacks->depth);
        hp_mcp_table_long_cell(answer, hp_text_end(&text));
    }
    hp_mcp_table_end(answer, found->count, NULL);
}

/* The innermost function of the heaviest stack: what stands for a wait or for unknown code is none. NULL: none. */
static const char *heaviest_function(const struct found *found)
{
    for (uint32_t node = found->all[0].node; node != HP_WEIGHTED_ROOT; node = found->weighted.nodes[node].parent)
        if (strchr("<[", name_of(&found->weighted, node)[0]) == NULL &&
            strstr(name_of(&found->weighted, node), " [") == NULL)
            return name_of(&found->weighted, node);
    return NULL;
}

static void put_heaviest(struct hp_mcp_answer *answer, const struct found *found)
{
    char weight[60];
    struct hp_text text;
    const char *function = heaviest_function(found);
    const struct hp_mcp_quoted name =
        hp_mcp_quoted(function != NULL ? function : name_of(&found->weighted, found->all[0].node));
    hp_text_init(&text, weight, sizeof weight);
    put_weight(&text, found, found->total);
    hp_mcp_put_format(answer, "%s is innermost in the heaviest stack, %s of %s (%s).", name.bytes,
                      hp_percent_text(100 * (double)found->all[0].own / (double)found->total).bytes, weight,
                      title_of(found));
}

bool hp_mcp_put_stacks(struct hp_mcp_call *call, struct hp_mcp_answer *answer, const struct hp_mcp_stacks *stacks,
                       bool has_sentence)
{
    struct found found = {.run = &call->run.model->run};
    const bool has_any = read_stacks(call, stacks, &found) && choose(stacks, &found);
    if (has_any && has_sentence)
        put_heaviest(answer, &found);
    if (has_any)
        put_rows(answer, &found, stacks);
    if (has_any && has_sentence && heaviest_function(&found) != NULL)
        hp_mcp_next(answer, "function", "name", heaviest_function(&found), NULL);
    answer->lacks_memory |= found.weighted.lacks_memory;
    free(found.all);
    hp_weighted_free(&found.weighted);
    return has_any;
}
