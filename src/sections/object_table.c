/*
 * The section `objects`: whatever kinds of objects a session has that have no section of their own, as their kinds describe
 * themselves. Classes come first, then instances that have a record, those that counted most first. What is left of a class, by
 * instances whose records were used again or that never had one, is <other>. SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "arena.h"
#include "identity.h"
#include "object_columns.h"
#include "object_sums.h"
#include "order.h"
#include "section.h"
#include "sort.h"
#include "text.h"
#include "value_profile.h"

#define OTHER "<other>"

struct columns {
    size_t name, kind, instance, state, instances, live, threads, location;
};

#define AT(column) .index = offsetof(struct columns, column)

static const struct hp_column_spec column_table[] = {
    {"name", "Object", HOTPATH_UNIT_TEXT, HP_COLUMN_NAME | HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(name)},
    {"kind", "Kind", HOTPATH_UNIT_TEXT, HP_COLUMN_SHOWN, AT(kind)},
    {"instance", "Instance", HOTPATH_UNIT_TEXT, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(instance),
     "The address of an instance; " OTHER
     ": all that have no row of their own; null: the row is about all of them."},
    {"state", "State", HOTPATH_UNIT_TEXT, HP_COLUMN_MAYBE, AT(state), "Of an instance.", .words = "live|ended"},
    {"instances", "Instances", HOTPATH_UNIT_COUNT, HP_COLUMN_MAYBE, AT(instances),
     "Instances that had a record, those that have ended included; null in the row of one."},
    {"live", "Live", HOTPATH_UNIT_COUNT, HP_COLUMN_MAYBE, AT(live), "Of these, those that have not ended."},
    {"threads", "Threads", HOTPATH_UNIT_COUNT, HP_COLUMN_MAYBE, AT(threads), "Thread records that used it."},
    {"location", "Location", HOTPATH_UNIT_TEXT, HP_COLUMN_LOCATION | HP_COLUMN_MAYBE, AT(location)},
};

struct view {
    struct hotpath_results *results;
    struct hotpath_section *section;
    struct columns columns;
    struct hp_object_columns own; /* of the kinds */
    struct hp_value_distribution *distribution;
    struct entry **entries;
    size_t count;
};

/* A row to be. */
struct entry {
    const struct hp_object_record *record;
    struct hp_object_sums sums;
    size_t class_; /* among classes */
    bool is_instance;
    bool is_other; /* stands for instances without a record */
};

/* ------------------------------------------------------------------------------------------------- rows */

static void fill_percentiles(const struct view *view, struct hp_row *row, const struct hp_object_record *record)
{
    for (uint32_t histogram = 0; histogram < record->kind.histogram_count; histogram++) {
        memset(view->distribution, 0, sizeof *view->distribution);
        for (const struct hp_object_record *one = record; one != NULL; one = one->next)
            for (const struct hp_object_part *at = one->parts; at != NULL; at = at->next)
                hp_snapshot_add_magnitudes(one->session, at->part.histograms[histogram],
                                           &view->distribution->positive);
        hp_object_columns_set_percentiles(&view->own, row, record, histogram, view->distribution);
    }
}

static void fill_class(const struct view *view, struct hp_row *row, const struct hp_object_record *record)
{
    uint64_t instances = 0, ended = 0;
    fill_percentiles(view, row, record);
    for (; record != NULL; record = record->next) {
        instances += record->object.instances;
        ended += record->object.ended_count;
    }
    hp_section_set_count(row, view->columns.instances, instances);
    hp_section_set_count(row, view->columns.live, instances > ended ? instances - ended : 0);
}

static bool fill_instance(const struct view *view, struct hp_row *row, const struct hp_object *object)
{
    char bytes[32];
    struct hp_text text;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_text_address(&text, object->key);
    const char *copy = hp_arena_copy(view->results->model->arena, bytes, text.length);
    if (copy == NULL)
        return false;
    hp_section_set_text(row, view->columns.instance, copy);
    hp_section_set_text(row, view->columns.state, object->state == HP_OBJECT_ENDED ? "ended" : "live");
    return true;
}

static bool fill_row(void *of, struct hp_row *row, const void *what)
{
    const struct view *view = of;
    const struct entry *entry = what;
    const struct hp_object_record *record = entry->record;
    row->id = hp_identity_of_object(record);
    hp_section_set_text(row, view->columns.name, record->name);
    hp_section_set_text(row, view->columns.kind, record->kind_name);
    for (uint32_t counter = 0; counter < record->kind.counter_count; counter++)
        if (!entry->is_other || record->kind.counters[counter].merge == HP_MERGE_SUM)
            hp_object_columns_set(&view->own, row, record, counter, entry->sums.count[counter]);
    if (entry->is_other) {
        hp_section_set_text(row, view->columns.instance, OTHER);
        row->id = hp_identity_with_text(row->id, OTHER);
        return true;
    }
    hp_section_set_count(row, view->columns.threads, entry->sums.threads);
    if (entry->is_instance)
        return fill_instance(view, row, &record->object);
    fill_class(view, row, record);
    return hp_section_set_location(view->results, row, view->columns.location, &record->location);
}

/* ------------------------------------------------------------------------------------------------- entries */

static struct entry *add_entry(struct view *view, const struct hp_object_record *record, size_t class_)
{
    struct entry *entry = hp_arena_take(view->results->model->arena, sizeof *entry);
    if (entry == NULL)
        return NULL;
    *entry = (struct entry){.record = record, .class_ = class_, .is_instance = record->object.class_ != 0};
    hp_object_sums_of(record, &entry->sums);
    view->entries[view->count++] = entry;
    return entry;
}

static bool is_instance_of(const struct hp_object_record *record, const struct hp_object_record *class_)
{
    return record->object.class_ != 0 && strcmp(record->kind_name, class_->kind_name) == 0 &&
           strcmp(record->name, class_->name) == 0 &&
           (record->kind.flags & HP_KIND_BY_NAME || (record->location.line == class_->location.line &&
                                                     strcmp(record->location.file, class_->location.file) == 0));
}

static void add_sums(struct hp_object_sums *to, const struct hp_object_sums *from)
{
    for (uint32_t counter = 0; counter < HP_KIND_COUNTERS; counter++)
        to->count[counter] += from->count[counter];
}

/* The instances of a class, which follow it in the model, and what is left. One alone would say the same as its class. */
static bool add_instances(struct view *view, const struct hp_objects *objects, size_t from, size_t count,
                          const struct entry *class_)
{
    struct hp_object_sums listed = {0}, left;
    const size_t first = view->count;
    for (size_t at = from; at < from + count; at++) {
        const struct entry *instance = add_entry(view, objects->rows[at], class_->class_);
        if (instance == NULL)
            return false;
        add_sums(&listed, &instance->sums);
    }
    const bool is_left = count > 0 && hp_object_sums_left(class_->record, &class_->sums, &listed, &left);
    if (count == 1 && !is_left)
        view->count = first;
    if (!is_left)
        return true;
    struct entry *other = add_entry(view, class_->record, class_->class_);
    if (other == NULL)
        return false;
    other->sums = left;
    other->is_instance = other->is_other = true;
    return true;
}

/* Returns how many rows of the model that were; 0: no memory. */
static size_t add_class(struct view *view, const struct hp_objects *objects, size_t from)
{
    size_t end = from + 1;
    while (end < objects->count && is_instance_of(objects->rows[end], objects->rows[from]))
        end++;
    const struct entry *class_ = add_entry(view, objects->rows[from], from);
    return class_ != NULL && add_instances(view, objects, from + 1, end - from - 1, class_) ? end - from : 0;
}

/* Classes, then the instances of each: the most used first, by its kind's first counter, and <other> last. */
static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->is_instance != y->is_instance)
        return x->is_instance ? 1 : -1;
    if (x->class_ != y->class_)
        return x->class_ < y->class_ ? -1 : 1;
    if (x->is_other != y->is_other)
        return x->is_other ? 1 : -1;
    if (x->sums.count[0] != y->sums.count[0])
        return x->sums.count[0] > y->sums.count[0] ? -1 : 1;
    return x->record->offset == y->record->offset ? 0 : x->record->offset < y->record->offset ? -1 : 1;
}

static bool add_entries(struct view *view, const struct hp_objects *objects)
{
    view->entries = hp_arena_take_array(view->results->model->arena, 2 * objects->count + 1, sizeof(void *));
    if (view->entries == NULL)
        return false;
    for (size_t at = 0, rows; at < objects->count; at += rows) {
        rows = 1;
        if (objects->rows[at]->kind.flags & HP_KIND_OWN_TABLE)
            continue;
        if (!hp_object_columns_add(&view->own, objects->rows[at]) || (rows = add_class(view, objects, at)) == 0)
            return false;
    }
    hp_sort(view->entries, view->count, compare_entries);
    return true;
}

/* ------------------------------------------------------------------------------------------------- section */

static bool has_data(const struct hotpath_results *results)
{
    return hp_run_has_objects(&results->model->run, false);
}

static bool fill_rows(struct view *view)
{
    struct hotpath_section *section = view->section;
    hp_section_show_columns(view->results, section);
    if (!hp_order_choose(view->results, section, view->columns.kind, HP_MAX_COLUMNS))
        return false;
    section->order.is_set = !section->order.is_usual; /* the usual one is that of no column */
    section->total_rows = view->count;
    return hp_order_fill(view->results, section, view->results->settings->show.functions_limit,
                         (const void *const *)view->entries, view->count, fill_row, view);
}

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    const struct hp_objects *objects = hp_model_objects(results->model);
    struct view *view = hp_arena_take(results->model->arena, sizeof *view);
    if (objects == NULL || view == NULL)
        return false;
    *view = (struct view){.results = results, .section = section};
    view->distribution = hp_arena_take(results->model->arena, sizeof *view->distribution);
    section->description = "Channels and other things of the program's own.";
    section->if_empty = "no objects were recorded: HOTPATH_CHANNEL_SENT and HOTPATH_CHANNEL_RECEIVED do so";
    if (view->distribution == NULL || !hp_section_describe(results, section, 0, &view->columns))
        return false;
    hp_object_columns_begin(&view->own, results, section);
    return add_entries(view, objects) && fill_rows(view);
}

const struct hp_section_type hp_section_objects = {.name = "objects",
                                                   .is_left_out_empty = true,
                                                   .has_own_columns = true,
                                                   .has_data = has_data,
                                                   .fill = fill,
                                                   HP_COLUMNS(column_table)};
