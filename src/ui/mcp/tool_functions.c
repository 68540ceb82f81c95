/* functions: which functions take the time, or allocate. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "mcp_results.h"
#include "mcp_section.h"
#include "mcp_tools.h"
#include "pattern_list.h"

/* What a sort is made of: for measured functions, and for those found in stacks. */
static const struct ordering {
    const char *sort;
    const char *sections[3]; /* the first that has rows; those of measured functions come first */
    const char *by[3];       /* its column; NULL: its usual order */
    const char *noun;
} orderings[] = {
    {"self", {"bottlenecks", "timing", "functions"}, {NULL, "self_ns", NULL}, "has the most time of its own"},
    {"cpu", {"bottlenecks", "functions"}, {"cpu_ns", "self_ns"}, "has the most CPU time"},
    {"waits", {"bottlenecks", "functions"}, {"waiting_ns", "waiting_ns"}, "waits the longest"},
    {"alloc", {"alloc-bytes", "alloc-functions"}, {NULL, NULL}, "allocates the most"},
    {"calls", {"timing"}, {"calls"}, "is called the most often"},
    {"p99", {"timing"}, {"p99_ns"}, "has the slowest calls: the highest 99th percentile"},
};

static const char *const columns[] = {
    "name",       "library",    "verdict",   "percent_own", "self_ns",       "percent_self",
    "cpu_ns",     "waiting_ns", "waits_for", "total_bytes", "percent_total", "peak_usable_bytes",
    "peak_bytes", "left_bytes", "calls",     "p50_ns",      "p99_ns",        NULL};
static const char *const joined_columns[] = {"calls",       "p50_ns",    "p99_ns", "verdict",
                                             "percent_own", "waits_for", NULL};

static const struct ordering *ordering_of(const struct hp_mcp_call *call)
{
    const struct ordering *found = &orderings[0];
    for (size_t at = 0; at < sizeof orderings / sizeof orderings[0]; at++)
        if (hp_mcp_is(call, "sort", orderings[at].sort))
            found = &orderings[at];
    return found;
}

static bool matches(const void *patterns, const struct hotpath_section *section, const struct hp_row *row)
{
    const char *name = hp_mcp_row_text(section, row, "name"), *file = hp_mcp_row_text(section, row, "file");
    const struct hp_pattern_subject subject = {.names = {name},
                                               .files = {file, hp_mcp_row_text(section, row, "library")}};
    return patterns == NULL || (name != NULL && hp_pattern_list_chooses(patterns, &subject));
}

/* False: `match` is none. */
static bool read_match(struct hp_mcp_call *call, const struct hp_pattern_list **ret_patterns)
{
    static struct hp_pattern_list patterns;
    char problem[300];
    struct hp_text text;
    const char *match = hp_mcp_text(call, "match");
    *ret_patterns = match != NULL ? &patterns : NULL;
    hp_text_init(&text, problem, sizeof problem);
    if (match == NULL || (match[0] != '@' && strlen(match) < HP_PATTERN_LIST_BYTES / 2 &&
                          hp_pattern_list_compile(&patterns, match, false, &text)))
        return true;
    return hp_mcp_fail(call, "match is a part of a name, a glob such as parse*, or /a regular expression/: %s",
                       hp_text_end(&text));
}

static const struct hp_row *first_row(const struct hotpath_section *section, const struct hp_pattern_list *patterns)
{
    for (size_t at = 0; at < section->row_count; at++)
        if (matches(patterns, section, &section->rows[at]))
            return &section->rows[at];
    return NULL;
}

static void put_first(struct hp_mcp_answer *answer, const struct hotpath_section *section,
                      const struct hp_row *first, const struct ordering *ordering)
{
    const char *name = first != NULL ? hp_mcp_row_text(section, first, "name") : NULL;
    const char *for_what = first != NULL ? hp_mcp_row_text(section, first, "waits_for") : NULL;
    const bool is_of_time = strcmp(ordering->sort, "self") == 0 || strcmp(ordering->sort, "cpu") == 0;
    const char *noun =
        is_of_time && section->counts_instructions ? "executes the most instructions" : ordering->noun;
    if (name == NULL)
        hp_mcp_put_sentence(answer, "No function matches.");
    else
        hp_mcp_put_format(answer, "%s %s%s%s%s.", hp_mcp_quoted(name).bytes, noun,
                          for_what != NULL ? " (waits for: " : "",
                          for_what != NULL ? hp_mcp_quoted(for_what).bytes : "", for_what != NULL ? ")" : "");
}

/* The section that the order is of; the results are those with it. NULL: none has rows. */
static const struct hotpath_section *find_section(struct hp_mcp_call *call, const struct ordering *ordering,
                                                  const hotpath_results **ret_results)
{
    const struct hotpath_section *section = NULL;
    for (size_t at = 0; at < 3 && section == NULL && ordering->sections[at] != NULL; at++) {
        char sections[120];
        snprintf(sections, sizeof sections, "%s,timing,bottlenecks", ordering->sections[at]);
        *ret_results = hp_mcp_results(call, sections, ordering->by[at]);
        if (*ret_results == NULL)
            return NULL;
        section = hp_mcp_section(*ret_results, ordering->sections[at]);
    }
    return section;
}

static const char *why_none(const hotpath_results *results, const struct ordering *ordering)
{
    if (strcmp(ordering->sections[0], "timing") == 0)
        return "Calls and percentiles are only known of measured functions, and this session has none: "
               "docs/macros.md says how to measure some.";
    return hp_mcp_why_empty(results, ordering->sections[1]);
}

static bool answer_functions(struct hp_mcp_call *call, struct hp_mcp_answer *answer)
{
    const struct ordering *ordering = ordering_of(call);
    const struct hp_pattern_list *patterns;
    const hotpath_results *results = NULL;
    if (!read_match(call, &patterns))
        return false;
    const struct hotpath_section *section = find_section(call, ordering, &results);
    if (results == NULL)
        return false;
    if (section == NULL) {
        hp_mcp_put_sentence(answer, why_none(results, ordering));
    } else {
        const bool is_timing = strcmp(section->name, "timing") == 0;
        const struct hp_row *first = first_row(section, patterns);
        put_first(answer, section, first, ordering);
        hp_mcp_put_section(answer, &(struct hp_mcp_section_table){
                                       .section = section,
                                       .title = "functions",
                                       .keys = columns,
                                       .joined = hp_mcp_section(results, is_timing ? "bottlenecks" : "timing"),
                                       .joined_keys = joined_columns,
                                       .takes = matches,
                                       .context = patterns,
                                       .limit = hp_mcp_count(call, "limit")});
        if (first != NULL && hp_mcp_row_text(section, first, "name") != NULL)
            hp_mcp_next(answer, "function", "name", hp_mcp_row_text(section, first, "name"), NULL);
    }
    hp_mcp_put_trust(answer, results);
    hp_mcp_next_usual(call, answer);
    return true;
}

static const struct hp_mcp_parameter parameters[] = {
    {.name = "sort", .type = HP_MCP_CHOICE, .words = "self|cpu|waits|alloc|calls|p99"},
    {.name = "match", .type = HP_MCP_TEXT, .about = "part of a name, glob or /regex/"},
    {.name = "limit", .type = HP_MCP_COUNT, .usual = 10, .most = 1000},
};

const struct hp_mcp_tool hp_mcp_tool_functions = {
    .name = "functions",
    .about =
        "The functions with the most own time, CPU time, waiting, allocation, calls or the highest p99; what each "
        "mostly does.",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof parameters[0],
    .is_of_session = true,
    .is_of_sizes = true,
    .answer = answer_functions,
};
