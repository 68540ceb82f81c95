/*
 * The section `values`: one row per key of HOTPATH_VALUE, HOTPATH_GAUGE_SET and _ADD, HOTPATH_COUNT, and per
 * HOTPATH_DEBUG. The most often updated comes first. SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "arena.h"
#include "order.h"
#include "recent_cell.h"
#include "section.h"
#include "sort.h"
#include "text.h"
#include "value_profile.h"

struct columns {
    size_t name, kind, updates, last, least, mean, most, total, rate, recent, threads, sampled, location, number;
    size_t percentiles[HP_MAX_PERCENTILES];
};

#define AT(column) .index = offsetof(struct columns, column)

static const struct hp_column_spec column_table[] = {
    {"name", "Value", HOTPATH_UNIT_TEXT, HP_COLUMN_NAME | HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(name),
     "The key; for HOTPATH_DEBUG the text of the expression."},
    {"kind", "Kind", HOTPATH_UNIT_TEXT, HP_COLUMN_SHOWN, AT(kind), .words = "value|gauge|count|debug"},
    {"updates", "Updates", HOTPATH_UNIT_COUNT, HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(updates)},
    {"last", "Last", HOTPATH_UNIT_TEXT, HP_COLUMN_KEEP | HP_COLUMN_ELASTIC | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
     AT(last), "The latest value as text; for a gauge its level."},
    {"min", "Min", HOTPATH_UNIT_VALUE, HP_COLUMN_SAMPLED | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(least)},
    {"mean", "Mean", HOTPATH_UNIT_VALUE, HP_COLUMN_SAMPLED | HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
     AT(mean)},
    {"", "", HOTPATH_UNIT_VALUE, HP_COLUMN_SAMPLED | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE | HP_COLUMN_FAMILY,
     AT(percentiles), "A percentile: p99_9 is P99.9."},
    {"max", "Max", HOTPATH_UNIT_VALUE, HP_COLUMN_SAMPLED | HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
     AT(most)},
    {"total", "Total", HOTPATH_UNIT_VALUE, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(total),
     "Only for counts; null for others."},
    {"rate", "Rate/s", HOTPATH_UNIT_VALUE, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(rate),
     "Updates per second, from the first update to the last; for counts, the sum per second."},
    {"recent", "Recent", HOTPATH_UNIT_TEXT, HP_COLUMN_ELASTIC | HP_COLUMN_MAYBE, AT(recent),
     "The latest values, newest first."},
    {"threads", "Threads", HOTPATH_UNIT_COUNT, 0, AT(threads), "Thread records that updated it."},
    {"sampled", "Sampled", HOTPATH_UNIT_TEXT, 0, AT(sampled),
     "yes: several threads add to this gauge; its last level is exact, all else is based on one in 16 levels.",
     .words = "yes|no"},
    {"location", "Location", HOTPATH_UNIT_TEXT, HP_COLUMN_LOCATION | HP_COLUMN_MAYBE, AT(location)},
    {"last_number", "Number", HOTPATH_UNIT_VALUE, HP_COLUMN_MAYBE, AT(number),
     "The latest value, or the level, as a number; null: it is not a number."},
};

struct view {
    struct hotpath_results *results;
    struct hotpath_section *section;
    struct columns columns;
    struct hp_value_distribution *distribution;
};

/* A future row: sorted by the number of updates. */
struct entry {
    const struct hp_object_record *record;
    struct hp_value_sums sums;
};

/* ---------------------------------------------------------------------------------------------- rows */

static void set_value(struct hp_row *row, size_t column, struct hp_value_number number)
{
    hp_section_set_number(row, column, number.real);
    row->cells[column].count = number.is_whole ? (uint64_t)number.whole : 0;
    if (number.is_whole)
        row->cells[column].number = (double)number.whole;
}

static double double_of(uint64_t bits)
{
    double real;
    memcpy(&real, &bits, sizeof real);
    return real;
}

static bool set_copy(struct view *view, struct hp_row *row, size_t column, const struct hp_text *text)
{
    const char *copy = hp_arena_copy(view->results->model->arena, text->bytes, text->length);
    if (copy != NULL)
        hp_section_set_text(row, column, copy);
    return copy != NULL;
}

/* The level of a gauge; for others the newest value. */
static bool fill_last(struct view *view, struct hp_row *row, const struct hp_value_sums *sums)
{
    char bytes[HP_RECENT_TEXT + 32];
    struct hp_text text;
    hp_text_init(&text, bytes, sizeof bytes);
    if (sums->has_level) {
        set_value(row, view->columns.number, sums->level);
        if (sums->level.is_whole)
            hp_text_i64(&text, sums->level.whole);
        else
            hp_text_real(&text, sums->level.real, 6);
        return set_copy(view, row, view->columns.last, &text);
    }
    if (sums->recent.count == 0)
        return true;
    const struct hp_recent *last = &sums->recent.all[0].value;
    if (last->type == HP_VALUE_SIGNED || last->type == HP_VALUE_BOOL)
        set_value(row, view->columns.number,
                  (struct hp_value_number){(double)(int64_t)last->bits, (int64_t)last->bits, true});
    else if (last->type == HP_VALUE_UNSIGNED || last->type == HP_VALUE_REAL)
        hp_section_set_value(row, view->columns.number,
                             last->type == HP_VALUE_REAL ? double_of(last->bits) : (double)last->bits);
    hp_recent_put(&text, &sums->recent.all[0]);
    return set_copy(view, row, view->columns.last, &text);
}

/* From the first update to the last, so one interval fewer than updates. */
static void fill_rate(struct view *view, struct hp_row *row, const struct hp_value_sums *sums)
{
    if (sums->updates < 2 || sums->last_tick <= sums->first_tick)
        return;
    const double seconds = hp_run_ns(&view->results->model->run, sums->last_tick - sums->first_tick) / 1e9;
    const double each = sums->is_count ? sums->total.real / (double)sums->updates : 1;
    hp_section_set_value(row, view->columns.rate, (double)(sums->updates - 1) * each / seconds);
}

static void fill_numbers(struct view *view, struct hp_row *row, const struct entry *entry)
{
    const struct columns *columns = &view->columns;
    const struct hp_value_sums *sums = &entry->sums;
    struct hp_value_number number;
    if (sums->numbers == 0)
        return;
    set_value(row, columns->least, sums->least);
    set_value(row, columns->most, sums->most);
    hp_section_set_value(row, columns->mean, sums->mean);
    if (sums->is_count)
        set_value(row, columns->total, sums->total);
    hp_value_distribution_of(entry->record, view->distribution);
    const struct hp_show_settings *show = &view->results->settings->show;
    for (size_t at = 0; at < show->percentile_count && at < HP_MAX_PERCENTILES; at++)
        if (hp_value_percentile(sums, view->distribution, show->percentiles[at], &number))
            set_value(row, columns->percentiles[at], number);
}

static bool fill_row(void *of, struct hp_row *row, const void *what)
{
    struct view *view = of;
    const struct columns *columns = &view->columns;
    const struct entry *entry = what;
    row->id = hp_identity_of_object(entry->record);
    hp_section_set_text(row, columns->name, entry->record->name);
    hp_section_set_text(row, columns->kind, entry->record->kind_name);
    hp_section_set_count(row, columns->updates, entry->sums.updates);
    hp_section_set_count(row, columns->threads, entry->sums.parts);
    row->is_sampled = entry->sums.is_sampled;
    hp_section_set_text(row, columns->sampled, entry->sums.is_sampled ? "yes" : "no");
    fill_numbers(view, row, entry);
    fill_rate(view, row, &entry->sums);
    return fill_last(view, row, &entry->sums) &&
           hp_recent_set(view->results, row, columns->recent, &entry->sums.recent) &&
           hp_section_set_location(view->results, row, columns->location, &entry->record->location);
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
    struct hotpath_section *section = view->section;
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
    section->total_rows = count;
    return hp_order_fill(view->results, section, view->results->settings->show.functions_limit,
                         (const void *const *)entries, count, fill_row, view);
}

static void add_notes(const struct view *view)
{
    const struct hotpath_section *section = view->section;
    for (size_t at = 0; at < section->row_count; at++)
        if (strcmp(section->rows[at].cells[view->columns.sampled].text, "yes") == 0) {
            hp_section_note(view->section,
                            "^ several threads add to the gauge: its last level is exact, everything "
                            "else is based on one in 16 levels");
            return;
        }
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
    if (view->distribution == NULL || !hp_section_describe(results, section, 0, &view->columns) ||
        !hp_order_choose(results, section, view->columns.updates, HP_MAX_COLUMNS) || !fill_rows(view, objects))
        return false;
    add_notes(view);
    return true;
}

const struct hp_section_type hp_section_values = {
    .name = "values", .is_left_out_empty = true, .has_data = has_data, .fill = fill, HP_COLUMNS(column_table)};
