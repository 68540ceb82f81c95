/* memory: who allocates, what lives at the peak, what is never freed. SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "mcp_results.h"
#include "mcp_section.h"
#include "mcp_stacks.h"
#include "mcp_tools.h"

static const struct memory {
    const char *of;
    const char *exact, *by_stack;  /* columns of measured functions, and of those found in stacks */
    const char *verb, *exact_verb; /* what a measured function does not free, others may */
    enum hp_dimension dimensions[2];
    size_t dimension_count;
} memories[] = {
    {"total",
     "total_bytes",
     "self_bytes",
     "allocates the most",
     "allocates the most",
     {HP_OF_ALLOC, HP_OF_ZONE_ALLOC},
     2},
    {"peak",
     "peak_usable_bytes",
     "peak_bytes",
     "has the most at the peak of the program",
     "has the highest peak of its own",
     {HP_OF_ALLOC_PEAK},
     1},
    {"left",
     "net_usable_bytes",
     "left_bytes",
     "leaves the most that is never freed",
     "allocates the most that it does not free itself",
     {HP_OF_ALLOC_LEFT},
     1},
};

static const struct memory *memory_of(const struct hp_mcp_call *call)
{
    const struct memory *found = &memories[0];
    for (size_t at = 0; at < sizeof memories / sizeof memories[0]; at++)
        if (hp_mcp_is(call, "of", memories[at].of))
            found = &memories[at];
    return found;
}

static bool put_sentence(struct hp_mcp_answer *answer, const struct hotpath_section *section, const char *verb,
                         const char *key)
{
    const struct hp_row *row = &section->rows[0];
    if (hp_mcp_row_number(section, row, key) <= 0)
        return false;
    hp_mcp_put_format(answer, "%s %s: %s.", hp_mcp_row_quoted(section, row, "name").bytes, verb,
                      hp_mcp_row_shown(section, row, key).bytes);
    if (section->summary != NULL)
        hp_mcp_put_sentence(answer, section->summary);
    return true;
}

/* Without measured functions, all is <outside> of them. */
static bool has_measured(const struct hotpath_section *zones)
{
    const char *name = hp_mcp_row_text(zones, &zones->rows[0], "name");
    return zones->row_count > 1 || (name != NULL && strcmp(name, "<outside>") != 0);
}

/* Whether a row has any of what is asked for. */
static bool has_any(const void *key, const struct hotpath_section *section, const struct hp_row *row)
{
    return hp_mcp_row_number(section, row, key) > 0;
}

#define LEFT_PART 0.05 /* of all bytes: worth a word */

/* Whether much is never freed. */
static bool has_left(const struct hotpath_section *stacks)
{
    double left = 0, all = 0;
    for (size_t at = 0; stacks != NULL && at < stacks->row_count; at++) {
        left = fmax(left, hp_mcp_row_number(stacks, &stacks->rows[at], "left_bytes"));
        all = fmax(all, hp_mcp_row_number(stacks, &stacks->rows[at], "total_bytes"));
    }
    return left > LEFT_PART * all;
}

static bool answer_memory(struct hp_mcp_call *call, struct hp_mcp_answer *answer)
{
    static const char *const exact[] = {"name",      "total_bytes",       "percent_total",    "own_count",
                                        "avg_bytes", "peak_usable_bytes", "net_usable_bytes", "calls",
                                        NULL};
    static const char *const found[] = {
        "name", "library", "self_bytes", "percent_self", "blocks", "total_bytes", "peak_bytes", "left_bytes", NULL};
    const struct memory *memory = memory_of(call);
    const size_t limit = hp_mcp_count(call, "limit");
    const hotpath_results *of_zones = hp_mcp_results(call, "alloc-bytes", memory->exact);
    const hotpath_results *of_stacks = hp_mcp_results(call, "alloc-functions", memory->by_stack);
    if (of_zones == NULL || of_stacks == NULL)
        return false;
    const struct hotpath_section *zones = hp_mcp_section(of_zones, "alloc-bytes");
    const struct hotpath_section *stacks = hp_mcp_section(of_stacks, "alloc-functions");
    const bool is_total = strcmp(memory->of, "total") == 0;
    /* Exact numbers of measured functions come first; what is alive at one moment is known of stacks alone. */
    const bool are_zones_first = zones != NULL && (stacks == NULL || (is_total && has_measured(zones)));
    const bool is_exact_said = are_zones_first && put_sentence(answer, zones, memory->exact_verb, memory->exact);
    const bool is_said =
        is_exact_said || (stacks != NULL && put_sentence(answer, stacks, memory->verb, memory->by_stack));
    if (!is_said)
        hp_mcp_put_sentence(answer, zones == NULL && stacks == NULL ? hp_mcp_why_empty(of_zones, "alloc-bytes")
                                                                    : "No sampled allocation is of that kind.");
    if (zones != NULL)
        hp_mcp_put_section(answer, &(struct hp_mcp_section_table){.section = zones, .keys = exact, .limit = limit});
    if (stacks != NULL)
        hp_mcp_put_section(
            answer,
            &(struct hp_mcp_section_table){
                .section = stacks, .keys = found, .takes = has_any, .context = memory->by_stack, .limit = limit});
    hp_mcp_put_stacks(call, answer,
                      &(struct hp_mcp_stacks){.of = memory->dimensions,
                                              .of_count = memory->dimension_count,
                                              .title = "stacks",
                                              .limit = limit < 5 ? limit : 5,
                                              .depth = 8},
                      false);
    hp_mcp_put_trust(answer, of_zones);
    const struct hotpath_section *first = are_zones_first ? zones : stacks;
    if (is_total && has_left(stacks))
        hp_mcp_next(answer, "memory", "of", "left", NULL);
    else if (first != NULL && hp_mcp_row_text(first, &first->rows[0], "name") != NULL)
        hp_mcp_next(answer, "function", "name", hp_mcp_row_text(first, &first->rows[0], "name"), NULL);
    hp_mcp_next_flow(call, answer, true);
    if (stacks != NULL)
        hp_mcp_next(answer, "memory", "of", strcmp(memory->of, "peak") == 0 ? "total" : "peak", NULL);
    hp_mcp_next_usual(call, answer);
    return true;
}

static const struct hp_mcp_parameter parameters[] = {
    {.name = "of", .type = HP_MCP_CHOICE, .words = "total|peak|left"},
    {.name = "limit", .type = HP_MCP_COUNT, .usual = 10, .most = 1000},
};

const struct hp_mcp_tool hp_mcp_tool_memory = {
    .name = "memory",
    .about = "Which functions and stacks allocate: all in all, alive at the peak, or never freed (left).",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof parameters[0],
    .is_of_session = true,
    .is_of_sizes = true,
    .answer = answer_memory,
};
