/*
 * The section `values`: one row per key of HOTPATH_VALUE, HOTPATH_GAUGE_SET and _ADD, HOTPATH_COUNT, and per
 * HOTPATH_DEBUG. The most often updated comes first. SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "arena.h"
#include "object_rows.h"
#include "order.h"
#include "section.h"
#include "sort.h"
#include "text.h"
#include "value_profile.h"

struct view {
    struct hotpath_results *results;
    struct hotpath_section *section;
    struct hp_value_distribution *distribution;
};

/* A future row: sorted by the number of updates. */
struct entry {
    const struct hp_object_record *record;
    struct hp_value_sums sums;
};

/* ---------------------------------------------------------------------------------------------- rows */

static struct hp_cell cell_of(struct hp_value_number number)
{
    return (struct hp_cell){.has_value = true,
                            .number = number.is_whole ? (double)number.whole : number.real,
                            .count = number.is_whole ? (uint64_t)number.whole : 0};
}

static double double_of(uint64_t bits)
{
    double real;
    memcpy(&real, &bits, sizeof real);
    return real;
}

/* The level of a gauge; for others the newest value. */
static const char *last_text(struct hp_fields *to, const struct hp_value_sums *sums)
{
    char bytes[HP_RECENT_TEXT + 32];
    struct hp_text text;
    hp_text_init(&text, bytes, sizeof bytes);
    if (sums->has_level && sums->level.is_whole)
        hp_text_i64(&text, sums->level.whole);
    else if (sums->has_level)
        hp_text_real(&text, sums->level.real, 6);
    else if (sums->recent.count > 0)
        hp_recent_put(&text, &sums->recent.all[0]);
    else
        return NULL;
    return hp_fields_copy(to, bytes, text.length);
}

/* The same as a number; some values are none. */
static struct hp_cell last_number(const struct hp_value_sums *sums)
{
    const struct hp_recent *last = &sums->recent.all[0].value;
    if (sums->has_level)
        return cell_of(sums->level);
    if (sums->recent.count == 0)
        return (struct hp_cell){0};
    if (last->type == HP_VALUE_SIGNED || last->type == HP_VALUE_BOOL)
        return cell_of((struct hp_value_number){(double)(int64_t)last->bits, (int64_t)last->bits, true});
    if (last->type == HP_VALUE_UNSIGNED || last->type == HP_VALUE_REAL)
        return hp_cell_of_value(last->type == HP_VALUE_REAL ? double_of(last->bits) : (double)last->bits);
    return (struct hp_cell){0};
}

/* From the first update to the last, so one interval fewer than updates. */
static double rate_of(const struct hp_fields *to, const struct hp_value_sums *sums)
{
    const double seconds = hp_fields_ns(to, sums->last_tick - sums->first_tick) / 1e9;
    const double each = sums->is_count ? sums->total.real / (double)sums->updates : 1;
    return (double)(sums->updates - 1) * each / seconds;
}

static struct hp_cell percentile_of(const struct view *view, const struct hp_value_sums *sums, double percentile)
{
    struct hp_value_number number;
    return hp_value_percentile(sums, view->distribution, percentile, &number) ? cell_of(number)
                                                                              : (struct hp_cell){0};
}

static void fields(struct hp_fields *to, void *of, const void *what)
{
    const struct view *view = of;
    const struct entry *entry = what;
    if (to->row != NULL) {
        to->row->id = hp_identity_of_object(entry->record);
        to->row->is_sampled = entry->sums.is_sampled;
        hp_value_distribution_of(entry->record, view->distribution);
    }
    HP_FIELD(to, entry->record->name, "name", "Value", TEXT, HP_COLUMN_FIRST,
             "The key; for HOTPATH_DEBUG the text of the expression.");
    HP_FIELD(to, entry->record->kind_name, "kind", "Kind", TEXT, HP_COLUMN_SHOWN,
             .words = "value|gauge|count|debug");
    HP_FIELD(to, entry->sums.updates, "updates", "Updates", COUNT, HP_COLUMN_KEEP | HP_COLUMN_SHOWN);
    HP_FIELD(to, last_text(to, &entry->sums), "last", "Last", TEXT,
             HP_COLUMN_KEEP | HP_COLUMN_ELASTIC | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
             "The latest value as text; for a gauge its level.");
    HP_FIELD_IF(to, entry->sums.numbers > 0, cell_of(entry->sums.least), "min", "Min", VALUE,
                HP_COLUMN_SAMPLED | HP_COLUMN_SHOWN);
    HP_FIELD_IF(to, entry->sums.numbers > 0, entry->sums.mean, "mean", "Mean", VALUE,
                HP_COLUMN_SAMPLED | HP_COLUMN_LATE | HP_COLUMN_SHOWN);
    HP_FIELD_FAMILY(to, percentile, entry->sums.numbers > 0, percentile_of(view, &entry->sums, percentile), "", "",
                    VALUE, HP_COLUMN_SAMPLED | HP_COLUMN_SHOWN, "A percentile: p99_9 is P99.9.");
    HP_FIELD_IF(to, entry->sums.numbers > 0, cell_of(entry->sums.most), "max", "Max", VALUE,
                HP_COLUMN_SAMPLED | HP_COLUMN_LATE | HP_COLUMN_SHOWN);
    HP_FIELD_IF(to, entry->sums.numbers > 0 && entry->sums.is_count, cell_of(entry->sums.total), "total", "Total",
                VALUE, HP_COLUMN_SHOWN, "Only for counts; null for others.");
    HP_FIELD_IF(to, entry->sums.updates > 1 && entry->sums.last_tick > entry->sums.first_tick,
                rate_of(to, &entry->sums), "rate", "Rate/s", VALUE, HP_COLUMN_SHOWN,
                "Updates per second, from the first update to the last; for counts, the sum per second.");
    HP_FIELD(to, hp_recent_list_text(to, &entry->sums.recent), "recent", "Recent", TEXT,
             HP_COLUMN_ELASTIC | HP_COLUMN_MAYBE, "The latest values, newest first.");
    HP_FIELD(to, entry->sums.parts, "threads", "Threads", COUNT, 0, "Thread records that updated it.");
    HP_FIELD(
        to, entry->sums.is_sampled ? "yes" : "no", "sampled", "Sampled", TEXT, 0,
        "yes: several threads add to this gauge; its last level is exact, all else is based on one in 16 levels.",
        .words = "yes|no");
    HP_FIELD(to, &entry->record->location, "location", "Location", TEXT, HP_COLUMN_LOCATION | HP_COLUMN_MAYBE);
    HP_FIELD(to, last_number(&entry->sums), "last_number", "Number", VALUE, HP_COLUMN_MAYBE,
             "The latest value, or the level, as a number; null: it is not a number.");
}

/* ------------------------------------------------------------------------------------------- section */

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->sums.updates != y->sums.updates)
        return x->sums.updates > y->sums.updates ? -1 : 1;
    const int order = strcmp(x->record->name, y->record->name);
    if (order != 0)
        return order;
    return x->record->offset == y->record->offset ? 0 : x->record->offset < y->record->offset ? -1 : 1;
}

static bool add_entry(struct view *view, const struct hp_object_record *record, struct entry **ret_entry)
{
    *ret_entry = hp_arena_take(view->results->model->arena, sizeof **ret_entry);
    if (*ret_entry == NULL)
        return false;
    (*ret_entry)->record = record;
    hp_value_sums_of(record, &(*ret_entry)->sums);
    return true;
}

static bool fill_rows(struct view *view, const struct hp_objects *objects)
{
    struct entry **entries = hp_arena_take_array(view->results->model->arena, objects->count + 1, sizeof(void *));
    size_t count = 0;
    if (entries == NULL)
        return false;
    for (size_t at = 0; at < objects->count; at++)
        if (hp_is_value(objects->rows[at]->kind_name, &objects->rows[at]->kind) &&
            hp_results_show_object(view->results, objects->rows[at])) {
            if (!add_entry(view, objects->rows[at], &entries[count]))
                return false;
            count += entries[count]->sums.updates > 0; /* no space for any update */
        }
    hp_sort(entries, count, compare_entries);
    return hp_section_fill_rows(view->results, view->section, (const void *const *)entries, count, view);
}

static bool has_data(const struct hotpath_results *results)
{
    return hp_run_has_objects(&results->model->run, hp_is_value);
}

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    const struct hp_objects *objects = hp_model_objects(results->model);
    struct view *view = hp_arena_take(results->model->arena, sizeof *view);
    if (objects == NULL || view == NULL)
        return false;
    *view = (struct view){.results = results, .section = section};
    view->distribution = hp_arena_take(results->model->arena, sizeof *view->distribution);
    section->description = "Values recorded by the program.";
    section->if_empty = "no values were recorded: record them with HOTPATH_VALUE, HOTPATH_GAUGE_SET, HOTPATH_COUNT "
                        "and HOTPATH_DEBUG";
    if (view->distribution == NULL || !hp_section_begin(results, section, view, 0, "updates", NULL) ||
        !fill_rows(view, objects))
        return false;
    if (hp_section_marks_of_rows(section).is_sampled)
        hp_section_note(section, "^ several threads add to the gauge: its last level is exact, everything "
                                 "else is based on one in 16 levels");
    return true;
}

const struct hp_section_type hp_section_values = {
    .name = "values", .is_left_out_empty = true, .has_data = has_data, .fill = fill, .fields = fields};
