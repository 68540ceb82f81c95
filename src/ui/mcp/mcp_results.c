/* The sections that an answer is made of. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* strcasestr */
#include "mcp_results.h"

#include <stdio.h>
#include <string.h>

#include "spelling.h"

#define NEAREST 5u

const hotpath_results *hp_mcp_results(struct hp_mcp_call *call, const char *sections, const char *sort)
{
    static struct hp_settings settings;
    static const double percentiles[] = {50, 95, 99};
    hp_settings_copy(&settings, call->source->settings);
    struct hp_show_settings *show = &settings.show;
    snprintf(show->report, sizeof show->report, "%s", sections);
    snprintf(show->sort, sizeof show->sort, "%s", sort != NULL ? sort : "");
    show->columns[0] = show->focus[0] = show->slowest[0] = '\0';
    show->percentile_count = sizeof percentiles / sizeof percentiles[0];
    memcpy(show->percentiles, percentiles, sizeof percentiles);
    show->functions_limit = show->calltree_limit = HOTPATH_NO_LIMIT;
    show->functions_limit_is_given = true;
    show->min_percent = 0;
    show->by = HP_BY_FUNCTION;
    show->exclude_wrapper = show->time_exclusive = show->alloc_cumulative = show->cpu_inclusive = false;
    settings.output.is_session_removed = true; /* the answer names calls of tools, not commands */
    const hotpath_results *results = hp_results_of_model(call->run.model, &settings);
    if (results == NULL)
        hp_mcp_fail(call, "not enough memory for the report");
    return results;
}

static const struct hotpath_section *any_section(const hotpath_results *results, const char *name)
{
    for (size_t at = 0; at < results->section_count; at++)
        if (strcmp(results->sections[at]->name, name) == 0)
            return results->sections[at];
    return NULL;
}

const struct hotpath_section *hp_mcp_section(const hotpath_results *results, const char *name)
{
    const struct hotpath_section *section = any_section(results, name);
    return section != NULL && section->row_count > 0 ? section : NULL;
}

const struct hotpath_section *hp_mcp_functions(const hotpath_results *results)
{
    static const char *const names[] = {"bottlenecks", "timing", "functions"};
    const struct hotpath_section *found = NULL;
    for (size_t at = 0; at < sizeof names / sizeof names[0] && found == NULL; at++)
        found = hp_mcp_section(results, names[at]);
    return found;
}

const char *hp_mcp_why_empty(const hotpath_results *results, const char *name)
{
    const struct hotpath_section *section = any_section(results, name);
    return section != NULL && section->if_empty != NULL && section->if_empty[0] != '\0'
               ? section->if_empty
               : "this session has nothing of that kind";
}

bool hp_mcp_is_of(const void *function, const struct hotpath_section *section, const struct hp_row *row)
{
    const size_t column = hp_section_name_column(section);
    return function == NULL || (column < section->column_count && row->cells[column].text != NULL &&
                                hp_mcp_is_name(row->cells[column].text, function));
}

/* -------------------------------------------------------------------------------------------------------- names */

struct near {
    const char *names[NEAREST];
    size_t scores[NEAREST];
    size_t count;
};

/* The smaller, the nearer: a word that is spelled nearly so, one that has it as a part, or that begins like it. */
static size_t distance(const char *name, const char *asked)
{
    struct hp_spelling spelling = hp_spelling_of(asked, strlen(asked));
    size_t same = 0;
    hp_spelling_try(&spelling, name);
    if (spelling.best != NULL)
        return spelling.score;
    if (strcasestr(name, asked) != NULL || (strlen(name) > 2 && strcasestr(asked, name) != NULL))
        return 20;
    while (name[same] != '\0' && name[same] == asked[same])
        same++;
    return 1000 - (same < 900 ? same : 900);
}

static void try_name(struct near *near, const char *name, const char *asked)
{
    const size_t score = distance(name, asked);
    size_t at = near->count;
    for (size_t old = 0; old < near->count; old++)
        if (strcmp(near->names[old], name) == 0)
            return;
    while (at > 0 && near->scores[at - 1] > score)
        at--;
    if (at == NEAREST)
        return;
    near->count += near->count < NEAREST;
    for (size_t to = near->count - 1; to > at; to--) {
        near->names[to] = near->names[to - 1];
        near->scores[to] = near->scores[to - 1];
    }
    near->names[at] = name;
    near->scores[at] = score;
}

static void fail_name(struct hp_mcp_call *call, const struct near *near, const char *function)
{
    char names[NEAREST * (sizeof(struct hp_mcp_quoted) + 2)] = "";
    struct hp_text text;
    hp_text_init(&text, names, sizeof names);
    for (size_t at = 0; at < near->count; at++)
        hp_text_format(&text, "%s%s", at > 0 ? ", " : "", hp_mcp_in_quotes(near->names[at]).bytes);
    if (near->count == 0)
        hp_mcp_fail(call, "this session has no functions");
    else
        hp_mcp_fail(call, "no function %s in this session; the nearest names: %s", hp_mcp_in_quotes(function).bytes,
                    hp_text_end(&text));
}

const char *hp_mcp_find_name(struct hp_mcp_call *call, const hotpath_results *results, const char *asked)
{
    struct near near = {.count = 0};
    for (size_t at = 0; at < results->section_count; at++) {
        const struct hp_row *row = hp_mcp_row_named(results->sections[at], asked);
        if (row != NULL)
            return row->cells[hp_section_name_column(results->sections[at])].text;
    }
    for (size_t at = 0; at < results->section_count; at++) {
        const struct hotpath_section *section = results->sections[at];
        for (size_t row = 0; row < section->row_count; row++) {
            const char *name = hp_mcp_row_text(section, &section->rows[row], "name");
            if (name != NULL)
                try_name(&near, name, asked);
        }
    }
    fail_name(call, &near, asked);
    return NULL;
}
