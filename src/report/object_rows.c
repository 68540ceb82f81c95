/* Rows of classes, of instances, and of the rest. SPDX-License-Identifier: MIT */
#include "object_rows.h"

#include <inttypes.h>
#include <string.h>

#include "arena.h"
#include "identity.h"
#include "sort.h"
#include "text.h"

/* ------------------------------------------------------------------------------------------------- entries */

static struct hp_object_entry *add_entry(struct hp_object_rows *rows, const struct hp_object_record *record,
                                         size_t class_)
{
    struct hp_object_entry *entry = hp_arena_take(rows->results->model->arena, sizeof *entry);
    if (entry == NULL)
        return NULL;
    *entry =
        (struct hp_object_entry){.record = record, .class_ = class_, .is_instance = record->object.class_ != 0};
    hp_object_sums_of(record, &entry->sums);
    rows->entries[rows->count++] = entry;
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

/*
 * Adds the instances of a class, which follow it in the model, and the rest. A single instance would repeat its
 * class.
 */
static bool add_instances(struct hp_object_rows *rows, const struct hp_objects *objects, size_t from, size_t count,
                          const struct hp_object_entry *class_)
{
    struct hp_object_sums listed = {0}, left;
    const size_t first = rows->count;
    for (size_t at = from; at < from + count; at++) {
        if (!hp_object_is_used(objects->rows[at]))
            continue;
        const struct hp_object_entry *instance = add_entry(rows, objects->rows[at], class_->class_);
        if (instance == NULL)
            return false;
        add_sums(&listed, &instance->sums);
    }
    const bool is_left = count > 0 && hp_object_sums_left(class_->record, &class_->sums, &listed, &left);
    if (rows->count == first + 1 && !is_left)
        rows->count = first;
    if (!is_left)
        return true;
    struct hp_object_entry *other = add_entry(rows, class_->record, class_->class_);
    if (other == NULL)
        return false;
    other->sums = left;
    other->is_instance = other->is_other = true;
    return true;
}

/* Returns how many rows of the model it took; 0: no memory. */
static size_t add_class(struct hp_object_rows *rows, const struct hp_objects *objects, size_t from)
{
    size_t end = from + 1;
    while (end < objects->count && is_instance_of(objects->rows[end], objects->rows[from]))
        end++;
    if (!hp_object_is_used(objects->rows[from]))
        return end - from;
    const struct hp_object_entry *class_ = add_entry(rows, objects->rows[from], from);
    return class_ != NULL && add_instances(rows, objects, from + 1, end - from - 1, class_) ? end - from : 0;
}

/* Classes, then the instances of each: the most used first, by its kind's first counter, and <other> last. */
static int compare_entries(const void *a, const void *b)
{
    const struct hp_object_entry *x = a, *y = b;
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

bool hp_object_rows_collect(struct hp_object_rows *rows, struct hotpath_results *results, hp_wants_kind *is_wanted)
{
    const struct hp_objects *objects = hp_model_objects(results->model);
    *rows = (struct hp_object_rows){.results = results};
    if (objects == NULL)
        return false;
    rows->entries = hp_arena_take_array(results->model->arena, 2 * objects->count + 1, sizeof(void *));
    if (rows->entries == NULL)
        return false;
    for (size_t at = 0, count; at < objects->count; at += count) {
        count = 1;
        if (is_wanted(objects->rows[at]->kind_name, &objects->rows[at]->kind) &&
            hp_results_show_object(results, objects->rows[at]) && (count = add_class(rows, objects, at)) == 0)
            return false;
    }
    hp_sort(rows->entries, rows->count, compare_entries);
    return true;
}

bool hp_object_rows_show(const struct hp_object_rows *rows, struct hotpath_section *section, size_t usual,
                         hp_fill_row *fill, void *view)
{
    if (!hp_order_choose(rows->results, section, usual, HP_MAX_COLUMNS))
        return false;
    section->order.is_set = !section->order.is_usual; /* the default order is not that of a column */
    section->total_rows = rows->count;
    return hp_order_fill(rows->results, section, rows->results->settings->show.functions_limit,
                         (const void *const *)rows->entries, rows->count, fill, view);
}

/* ------------------------------------------------------------------------------------------------- cells */

static void set_counts(struct hp_row *row, const struct hp_object_cells *cells,
                       const struct hp_object_record *record)
{
    uint64_t instances = 0, ended = 0;
    for (; record != NULL; record = record->next) {
        instances += record->object.instances;
        ended += record->object.ended_count;
    }
    hp_section_set_count(row, cells->instances, instances);
    hp_section_set_count(row, cells->live, instances > ended ? instances - ended : 0);
}

static bool set_address(const struct hp_object_rows *rows, struct hp_row *row, const struct hp_object_cells *cells,
                        const struct hp_object *object, bool is_of_run)
{
    char bytes[32];
    struct hp_text text;
    hp_text_init(&text, bytes, sizeof bytes);
    if (is_of_run) {
        hp_text_format(&text, "[%" PRIu64 "]", object->key);
    } else
        hp_text_address(&text, object->key);
    const char *copy = hp_arena_copy(rows->results->model->arena, bytes, text.length);
    if (copy == NULL)
        return false;
    hp_section_set_text(row, cells->instance, copy);
    hp_section_set_text(row, cells->state, object->state == HP_OBJECT_ENDED ? "ended" : "live");
    return true;
}

bool hp_object_rows_fill(const struct hp_object_rows *rows, struct hp_row *row, const struct hp_object_cells *cells,
                         const struct hp_object_entry *entry)
{
    const struct hp_object_record *record = entry->record;
    row->id = hp_identity_of_object(record);
    hp_section_set_text(row, cells->name, record->name);
    if (entry->is_other) {
        hp_section_set_text(row, cells->instance, HP_OBJECT_OTHER);
        row->id = hp_identity_with_text(row->id, HP_OBJECT_OTHER);
        return true;
    }
    hp_section_set_count(row, cells->threads, entry->sums.threads);
    if (entry->is_instance)
        return set_address(rows, row, cells, &record->object, record->kind.flags & HP_KIND_OF_RUN);
    set_counts(row, cells, record);
    return hp_section_set_location(rows->results, row, cells->location, &record->location);
}

void hp_object_set_percentiles(const struct hotpath_results *results, struct hp_row *row, const size_t *columns,
                               const struct hp_object_record *record, uint32_t histogram,
                               struct hp_value_distribution *distribution)
{
    const struct hp_show_settings *show = &results->settings->show;
    double ticks;
    hp_object_distribution_of(record, histogram, distribution);
    for (size_t at = 0; at < show->percentile_count && at < HP_MAX_PERCENTILES; at++)
        if (hp_distribution_percentile(distribution, show->percentiles[at], true, &ticks))
            hp_section_set_number(row, columns[at], ticks * results->model->run.ns_per_tick);
}
