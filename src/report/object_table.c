/*
 * The section `objects`: objects of all kinds without their own section, shown as their kinds describe themselves.
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "arena.h"
#include "object_rows.h"
#include "section.h"
#include "text.h"
#include "utf8.h"
#include "value_profile.h"

struct view {
    struct hotpath_results *results;
    struct hotpath_section *section;
    struct hp_object_rows rows;
    size_t fixed; /* columns before those of the kinds */
};

/* ------------------------------------------------------------------------------------------------- columns */

/*
 * Columns that the kinds of a session describe: one for each counter, and one for each percentile of a histogram.
 * Two kinds with a key in common share its column. Nothing in a session is trusted: an invalid key is not shown.
 */

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
static bool name_percentile(const struct view *view, const struct hp_object_record *record, uint32_t histogram,
                            double percentile, struct name *name)
{
    const bool is_time = record->kind.histograms[histogram].unit == HOTPATH_UNIT_NS;
    struct hp_percentile_names names;
    const struct hp_percentile_family family = {name->key, name->title, is_time ? "_ns" : "", ""};
    if (!begin_name(record, &record->kind.histograms[histogram], name) ||
        !hp_percentile_name(view->results->model->arena, percentile, &family, &names))
        return false;
    set_text(name->key, sizeof name->key, names.key);
    set_text(name->title, sizeof name->title, names.title);
    name->unit = is_time ? HOTPATH_UNIT_NS : HOTPATH_UNIT_VALUE;
    return true;
}

/* HP_MAX_COLUMNS: none, or one with another meaning. */
static size_t find(const struct view *view, const struct name *name)
{
    const struct hotpath_section *section = view->section;
    for (size_t at = view->fixed; at < section->column_count; at++)
        if (strcmp(section->columns[at].shown.key, name->key) == 0)
            return section->columns[at].shown.unit == name->unit ? at : HP_MAX_COLUMNS;
    return HP_MAX_COLUMNS;
}

static bool add(const struct view *view, const struct name *name)
{
    struct hp_arena *arena = view->results->model->arena;
    if (hp_section_column(view->section, name->key) < view->section->column_count)
        return true;
    const char *key = hp_arena_copy(arena, name->key, strlen(name->key));
    const char *title = hp_arena_copy(arena, name->title, strlen(name->title));
    if (key == NULL || title == NULL)
        return false;
    hp_section_add_column(
        view->section,
        &(struct hp_column){.shown = {.key = key, .title = title, .unit = name->unit, .visible = true}});
    return true;
}

static bool add_columns_of(const struct view *view, const struct hp_object_record *record)
{
    const struct hp_show_settings *show = &view->results->settings->show;
    struct name name;
    for (uint32_t counter = 0; counter < record->kind.counter_count; counter++)
        if (name_counter(record, counter, &name) && !add(view, &name))
            return false;
    for (uint32_t histogram = 0; histogram < record->kind.histogram_count; histogram++)
        for (uint32_t at = 0; at < show->percentile_count && at < HP_MAX_PERCENTILES; at++)
            if (name_percentile(view, record, histogram, show->percentiles[at], &name) && !add(view, &name))
                return false;
    return true;
}

static struct hp_cell cell_of(const struct view *view, uint32_t unit, double number)
{
    if (unit != HOTPATH_UNIT_NS)
        return hp_cell_of_value(number);
    return (struct hp_cell){.has_value = true, .number = number * view->results->model->run.ns_per_tick};
}

static void set_counter(const struct view *view, struct hp_row *row, const struct hp_object_record *record,
                        uint32_t counter, uint64_t count)
{
    struct name name;
    const size_t column = name_counter(record, counter, &name) ? find(view, &name) : HP_MAX_COLUMNS;
    if (column == HP_MAX_COLUMNS)
        return;
    if (hp_unit_is_whole(name.unit))
        row->cells[column] = (struct hp_cell){.has_value = true, .count = count};
    else
        row->cells[column] = cell_of(view, name.unit, (double)count);
}

static void set_percentiles(const struct view *view, struct hp_row *row, const struct hp_object_record *record,
                            uint32_t histogram, const struct hp_value_distribution *distribution)
{
    const struct hp_show_settings *show = &view->results->settings->show;
    struct name name;
    double number;
    for (uint32_t at = 0; at < show->percentile_count && at < HP_MAX_PERCENTILES; at++) {
        const size_t column = name_percentile(view, record, histogram, show->percentiles[at], &name)
                                  ? find(view, &name)
                                  : HP_MAX_COLUMNS;
        if (column == HP_MAX_COLUMNS ||
            !hp_distribution_percentile(distribution, show->percentiles[at], true, &number))
            continue;
        row->cells[column] =
            cell_of(view, name.unit, name.unit == HOTPATH_UNIT_NS ? (double)(uint64_t)number : number);
    }
}

/* ------------------------------------------------------------------------------------------------- rows */

static void fill_own_columns(const struct view *view, struct hp_row *row, const struct hp_object_entry *entry)
{
    const struct hp_object_record *record = entry->record;
    for (uint32_t counter = 0; counter < record->kind.counter_count; counter++)
        if (!entry->is_other || record->kind.counters[counter].merge == HP_MERGE_SUM)
            set_counter(view, row, record, counter, entry->sums.count[counter]);
    for (uint32_t histogram = 0; !entry->is_instance && histogram < record->kind.histogram_count; histogram++) {
        hp_object_distribution_of(record, histogram, view->rows.distribution);
        set_percentiles(view, row, record, histogram, view->rows.distribution);
    }
}

static void fields(struct hp_fields *to, void *view, const void *what)
{
    const struct hp_object_entry *entry = what;
    if (to->row != NULL) {
        to->row->id = hp_object_identity(entry);
        fill_own_columns(view, to->row, entry);
    }
    HP_FIELD(to, entry->record->name, "name", "Object", TEXT, HP_COLUMN_FIRST);
    HP_FIELD(to, entry->record->kind_name, "kind", "Kind", TEXT, HP_COLUMN_SHOWN);
    hp_object_put_instance(to, entry);
    HP_FIELD(to, hp_object_state(entry), "state", "State", TEXT, HP_COLUMN_MAYBE, "Of an instance.",
             .words = "live|ended");
    hp_object_put_rest(to, entry);
}

/* ------------------------------------------------------------------------------------------------- section */

static bool is_wanted(const char *name, const struct hp_kind *kind)
{
    (void)name;
    return !(kind->flags & HP_KIND_OWN_TABLE);
}

static bool has_data(const struct hotpath_results *results)
{
    return hp_run_has_objects(&results->model->run, is_wanted);
}

/* Classes come first, sorted by kind and name. */
static bool add_columns(struct view *view)
{
    for (size_t at = 0; at < view->rows.count && !view->rows.entries[at]->is_instance; at++)
        if (!add_columns_of(view, view->rows.entries[at]->record))
            return false;
    hp_section_show_columns(view->results, view->section);
    return true;
}

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    struct view view = {.results = results, .section = section};
    section->description = "Other objects that the program records.";
    section->if_empty = "no objects of other kinds were recorded";
    if (!hp_section_describe(results, section, &view, 0) || !hp_object_rows_collect(&view.rows, results, is_wanted))
        return false;
    view.fixed = section->column_count;
    return add_columns(&view) && hp_object_rows_show(&view.rows, section, "kind", &view);
}

const struct hp_section_type hp_section_objects = {.name = "objects",
                                                   .is_left_out_empty = true,
                                                   .has_own_columns = true,
                                                   .has_data = has_data,
                                                   .fill = fill,
                                                   .fields = fields};
