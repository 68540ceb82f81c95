/* The columns of a section, from the table of its type. SPDX-License-Identifier: MIT */
#include "columns.h"

#include <string.h>

#include "alloc_profile.h"
#include "cpu_profile.h"
#include "percentile.h"
#include "section.h"
#include "text.h"

/* ------------------------------------------------------------------------------------------------- presence */

static uint32_t facts_of(const struct hotpath_results *results)
{
    const struct hp_settings *settings = results->settings;
    const struct hp_run *run = &results->model->run;
    return (settings->show.by == HP_BY_THREAD ? HP_FACT_BY_THREAD : 0u) |
           (!settings->show.time_exclusive ? HP_FACT_INCLUSIVE : 0u) |
           (hp_run_has_allocs(run) && run->range == NULL ? HP_FACT_ALLOCS : 0u) |
           (run->process_count > 1 ? HP_FACT_PROCESSES : 0u) | (run->range == NULL ? HP_FACT_WHOLE : 0u) |
           (run->range != NULL && hp_run_has_cpu(run) ? HP_FACT_PART_CPU : 0u) |
           (run->range != NULL && hp_run_has_allocs(run) ? HP_FACT_PART_BYTES : 0u);
}

size_t hp_section_add_column(struct hotpath_section *section, const char *key, const char *title,
                             enum hotpath_unit unit, uint32_t traits, bool is_visible)
{
    for (size_t at = 0; at < section->column_count; at++)
        if (strcmp(section->columns[at].shown.key, key) == 0)
            return at;
    if (section->column_count == HP_MAX_COLUMNS)
        return HP_MAX_COLUMNS;
    section->columns[section->column_count] = (struct hp_column){
        .shown = {.key = key, .title = title, .unit = unit, .visible = is_visible}, .traits = traits};
    return section->column_count++;
}

static bool add_family(struct hotpath_results *results, struct hotpath_section *section,
                       const struct hp_column_spec *spec, bool is_visible, size_t *indexes)
{
    const struct hp_show_settings *show = &results->settings->show;
    const struct hp_percentile_family family = {spec->before, spec->title_before, spec->key, spec->title};
    for (uint32_t at = 0; at < show->percentile_count && at < HP_MAX_PERCENTILES; at++) {
        struct hp_percentile_names names;
        if (!hp_percentile_name(results->model->arena, show->percentiles[at], &family, &names))
            return false;
        indexes[at] = hp_section_add_column(section, names.key, names.title, spec->unit, spec->traits, is_visible);
    }
    return true;
}

bool hp_section_describe(struct hotpath_results *results, struct hotpath_section *section, uint32_t facts,
                         void *indexes)
{
    facts |= facts_of(results);
    for (size_t at = 0; at < section->type->column_count; at++) {
        const struct hp_column_spec *spec = &section->type->columns[at];
        size_t *index = (size_t *)(void *)((char *)indexes + spec->index);
        const bool is_visible = (spec->traits & HP_COLUMN_SHOWN) && (facts & spec->shown_by) == spec->shown_by;
        if ((facts & spec->needs) != spec->needs)
            continue;
        if (!(spec->traits & HP_COLUMN_FAMILY))
            *index = hp_section_add_column(section, spec->key, spec->title, spec->unit, spec->traits, is_visible);
        else if (!add_family(results, section, spec, is_visible, index))
            return false;
    }
    hp_section_show_columns(results, section);
    return true;
}

/* -------------------------------------------------------------------------------------------------------- names */

static bool equal_stem(const char *name, size_t length, const char *key, size_t stem_length)
{
    char bytes[64];
    struct hp_text stem;
    hp_text_init(&stem, bytes, sizeof bytes);
    hp_text_bytes(&stem, key, stem_length);
    return hp_text_equal_nocase(name, length, hp_text_end(&stem));
}

/* A column is named by its title or its key, with or without the unit: "self", "self_ns". */
static bool is_called(const struct hp_column *column, const char *name, size_t length)
{
    const char *key = column->shown.key;
    const size_t key_length = strlen(key);
    if (hp_text_equal_nocase(name, length, column->shown.title) || hp_text_equal_nocase(name, length, key))
        return true;
    static const char *const units[] = {"_ns", "_bytes", "_usable_bytes", "_count", "_blocks"};
    for (size_t at = 0; at < sizeof units / sizeof units[0]; at++)
        if (hp_text_has_suffix(key, units[at]) && equal_stem(name, length, key, key_length - strlen(units[at])))
            return true;
    return false;
}

size_t hp_section_find_column(const struct hotpath_section *section, const char *name, size_t length)
{
    size_t at = 0;
    while (at < section->column_count && !is_called(&section->columns[at], name, length))
        at++;
    return at;
}

size_t hp_section_name_column(const struct hotpath_section *section)
{
    size_t at = 0;
    while (at < section->column_count && !(section->columns[at].traits & HP_COLUMN_NAME))
        at++;
    return at;
}

bool hp_section_has_column(const struct hotpath_section *section, const char *name, size_t length)
{
    return hp_section_find_column(section, name, length) < section->column_count;
}

void hp_section_show_columns(struct hotpath_results *results, struct hotpath_section *section)
{
    size_t length;
    for (const char *rest = results->settings->show.columns, *item;
         (item = hp_text_next_item(&rest, &length)) != NULL;) {
        const bool is_all = hp_text_equal_nocase(item, length, "all");
        for (size_t at = 0; at < section->column_count; at++)
            if (is_all || is_called(&section->columns[at], item, length))
                section->columns[at].shown.visible = 1;
    }
}
