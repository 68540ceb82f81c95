/* Columns that kinds describe. SPDX-License-Identifier: MIT */
#include "object_columns.h"

#include <string.h>

#include "arena.h"
#include "percentile.h"
#include "text.h"
#include "utf8.h"

#define LONGEST_NAME 48u

/* Name and unit of a column. */
struct name {
    char key[2 * LONGEST_NAME], title[2 * LONGEST_NAME];
    uint32_t unit;
};

static bool is_number(uint32_t unit)
{
    return unit == HOTPATH_UNIT_COUNT || unit == HOTPATH_UNIT_NS || unit == HOTPATH_UNIT_BYTES ||
           unit == HOTPATH_UNIT_NUMBER || unit == HOTPATH_UNIT_SIGNED_COUNT || unit == HOTPATH_UNIT_SIGNED_BYTES ||
           unit == HOTPATH_UNIT_VALUE;
}

static bool is_key(const char *text)
{
    const size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return length > 0 && length < LONGEST_NAME && text[length] == '\0' && strcmp(text, "id") != 0;
}

static void set_text(char *to, size_t size, const char *from)
{
    struct hp_text text;
    hp_text_init(&text, to, size);
    hp_text_string(&text, from);
    hp_text_end(&text);
}

/* False: there is no such column. */
static bool begin_name(const struct hp_object_record *record, const struct hp_kind_field *field, struct name *name)
{
    const char *key = hp_snapshot_text(record->session, field->key);
    const char *title = hp_snapshot_text(record->session, field->title);
    struct hp_text text;
    name->unit = field->unit;
    if (field->merge == HP_MERGE_NONE || !is_number(field->unit) || !is_key(key))
        return false;
    set_text(name->key, sizeof name->key, key);
    hp_text_init(&text, name->title, sizeof name->title);
    hp_utf8_put_safe(&text, title, strnlen(title, LONGEST_NAME));
    hp_text_end(&text);
    return true;
}

/* Skips counters whose type each part stores: the raw number means nothing by itself. */
static bool name_counter(const struct hp_object_record *record, uint32_t counter, struct name *name)
{
    return !(record->kind.typed >> counter & 1) && begin_name(record, &record->kind.counters[counter], name);
}

/* "length_p95", "delay_p95_ns" */
static bool name_percentile(const struct hp_object_columns *columns, const struct hp_object_record *record,
                            uint32_t histogram, double percentile, struct name *name)
{
    const bool is_time = record->kind.histograms[histogram].unit == HOTPATH_UNIT_NS;
    struct hp_percentile_names names;
    const struct hp_percentile_family family = {name->key, name->title, is_time ? "_ns" : "", ""};
    if (!begin_name(record, &record->kind.histograms[histogram], name) ||
        !hp_percentile_name(columns->results->model->arena, percentile, &family, &names))
        return false;
    set_text(name->key, sizeof name->key, names.key);
    set_text(name->title, sizeof name->title, names.title);
    name->unit = is_time ? HOTPATH_UNIT_NS : HOTPATH_UNIT_VALUE;
    return true;
}

/* HP_MAX_COLUMNS: none, or one with another meaning. */
static size_t find(const struct hp_object_columns *columns, const struct name *name)
{
    const struct hotpath_section *section = columns->section;
    for (size_t at = columns->fixed; at < section->column_count; at++)
        if (strcmp(section->columns[at].shown.key, name->key) == 0)
            return section->columns[at].shown.unit == name->unit ? at : HP_MAX_COLUMNS;
    return HP_MAX_COLUMNS;
}

static bool is_taken(const struct hotpath_section *section, const char *key)
{
    size_t at = 0;
    while (at < section->column_count && strcmp(section->columns[at].shown.key, key) != 0)
        at++;
    return at < section->column_count;
}

static bool add(const struct hp_object_columns *columns, const struct name *name)
{
    struct hp_arena *arena = columns->results->model->arena;
    if (is_taken(columns->section, name->key))
        return true;
    const char *key = hp_arena_copy(arena, name->key, strlen(name->key));
    const char *title = hp_arena_copy(arena, name->title, strlen(name->title));
    if (key == NULL || title == NULL)
        return false;
    hp_section_add_column(columns->section, key, title, (enum hotpath_unit)name->unit, 0, true);
    return true;
}

void hp_object_columns_begin(struct hp_object_columns *columns, struct hotpath_results *results,
                             struct hotpath_section *section)
{
    *columns = (struct hp_object_columns){results, section, section->column_count};
}

bool hp_object_columns_add(const struct hp_object_columns *columns, const struct hp_object_record *record)
{
    const struct hp_show_settings *show = &columns->results->settings->show;
    struct name name;
    for (uint32_t counter = 0; counter < record->kind.counter_count; counter++)
        if (name_counter(record, counter, &name) && !add(columns, &name))
            return false;
    for (uint32_t histogram = 0; histogram < record->kind.histogram_count; histogram++)
        for (uint32_t at = 0; at < show->percentile_count && at < HP_MAX_PERCENTILES; at++)
            if (name_percentile(columns, record, histogram, show->percentiles[at], &name) && !add(columns, &name))
                return false;
    return true;
}

void hp_object_columns_set(const struct hp_object_columns *columns, struct hp_row *row,
                           const struct hp_object_record *record, uint32_t counter, uint64_t count)
{
    struct name name;
    const size_t column = name_counter(record, counter, &name) ? find(columns, &name) : HP_MAX_COLUMNS;
    if (column == HP_MAX_COLUMNS)
        return;
    if (hp_unit_is_whole(name.unit))
        hp_section_set_count(row, column, count);
    else if (name.unit == HOTPATH_UNIT_NS)
        hp_section_set_number(row, column, hp_run_ns(&columns->results->model->run, count));
    else
        hp_section_set_value(row, column, (double)count);
}

void hp_object_columns_set_percentiles(const struct hp_object_columns *columns, struct hp_row *row,
                                       const struct hp_object_record *record, uint32_t histogram,
                                       const struct hp_value_distribution *distribution)
{
    const struct hp_show_settings *show = &columns->results->settings->show;
    struct name name;
    double number;
    for (uint32_t at = 0; at < show->percentile_count && at < HP_MAX_PERCENTILES; at++) {
        const size_t column = name_percentile(columns, record, histogram, show->percentiles[at], &name)
                                  ? find(columns, &name)
                                  : HP_MAX_COLUMNS;
        if (column == HP_MAX_COLUMNS ||
            !hp_distribution_percentile(distribution, show->percentiles[at], true, &number))
            continue;
        if (name.unit == HOTPATH_UNIT_NS)
            hp_section_set_number(row, column, hp_run_ns(&columns->results->model->run, (uint64_t)number));
        else
            hp_section_set_value(row, column, number);
    }
}
