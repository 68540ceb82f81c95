/*
 * The section `objects`: objects of all kinds without their own section, shown as their kinds describe themselves.
 * SPDX-License-Identifier: MIT
 */
#include "arena.h"
#include "object_columns.h"
#include "object_rows.h"
#include "section.h"
#include "value_profile.h"

struct columns {
    struct hp_object_cells object;
    size_t kind;
};

#define AT(column) .index = offsetof(struct columns, column)

static const struct hp_column_spec column_table[] = {
    {"name", "Object", HOTPATH_UNIT_TEXT, HP_COLUMN_NAME | HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(object.name)},
    {"kind", "Kind", HOTPATH_UNIT_TEXT, HP_COLUMN_SHOWN, AT(kind)},
    {"instance", "Instance", HOTPATH_UNIT_TEXT, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(object.instance),
     HP_OBJECT_ABOUT_INSTANCE},
    {"state", "State", HOTPATH_UNIT_TEXT, HP_COLUMN_MAYBE, AT(object.state), "Of an instance.",
     .words = "live|ended"},
    {"instances", "Instances", HOTPATH_UNIT_COUNT, HP_COLUMN_MAYBE, AT(object.instances),
     HP_OBJECT_ABOUT_INSTANCES},
    {"live", "Live", HOTPATH_UNIT_COUNT, HP_COLUMN_MAYBE, AT(object.live), HP_OBJECT_ABOUT_LIVE},
    {"threads", "Threads", HOTPATH_UNIT_COUNT, HP_COLUMN_MAYBE, AT(object.threads), HP_OBJECT_ABOUT_THREADS},
    {"location", "Location", HOTPATH_UNIT_TEXT, HP_COLUMN_LOCATION | HP_COLUMN_MAYBE, AT(object.location)},
};

struct view {
    struct hp_object_rows rows;
    struct columns columns;
    struct hp_object_columns own; /* of the kinds */
    struct hp_value_distribution *distribution;
};

/* ------------------------------------------------------------------------------------------------- rows */

static void fill_percentiles(const struct view *view, struct hp_row *row, const struct hp_object_record *record)
{
    for (uint32_t histogram = 0; histogram < record->kind.histogram_count; histogram++) {
        hp_object_distribution_of(record, histogram, view->distribution);
        hp_object_columns_set_percentiles(&view->own, row, record, histogram, view->distribution);
    }
}

static bool fill_row(void *of, struct hp_row *row, const void *what)
{
    const struct view *view = of;
    const struct hp_object_entry *entry = what;
    const struct hp_object_record *record = entry->record;
    hp_section_set_text(row, view->columns.kind, record->kind_name);
    for (uint32_t counter = 0; counter < record->kind.counter_count; counter++)
        if (!entry->is_other || record->kind.counters[counter].merge == HP_MERGE_SUM)
            hp_object_columns_set(&view->own, row, record, counter, entry->sums.count[counter]);
    if (!entry->is_instance)
        fill_percentiles(view, row, record);
    return hp_object_rows_fill(&view->rows, row, &view->columns.object, entry);
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
        if (!hp_object_columns_add(&view->own, view->rows.entries[at]->record))
            return false;
    hp_section_show_columns(view->own.results, view->own.section);
    return true;
}

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    struct view *view = hp_arena_take(results->model->arena, sizeof *view);
    struct hp_value_distribution *distribution = hp_arena_take(results->model->arena, sizeof *distribution);
    if (view == NULL || distribution == NULL)
        return false;
    *view = (struct view){.distribution = distribution};
    section->description = "Other objects that the program records.";
    section->if_empty = "no objects of other kinds were recorded";
    if (!hp_section_describe(results, section, 0, &view->columns) ||
        !hp_object_rows_collect(&view->rows, results, is_wanted))
        return false;
    hp_object_columns_begin(&view->own, results, section);
    return add_columns(view) && hp_object_rows_show(&view->rows, section, view->columns.kind, fill_row, view);
}

const struct hp_section_type hp_section_objects = {.name = "objects",
                                                   .is_left_out_empty = true,
                                                   .has_own_columns = true,
                                                   .has_data = has_data,
                                                   .fill = fill,
                                                   HP_COLUMNS(column_table)};
