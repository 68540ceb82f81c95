/* The columns of a section, and the cells of its rows. SPDX-License-Identifier: MIT */
#include "columns.h"

#include <string.h>

#include "alloc_profile.h"
#include "arena.h"
#include "cpu_profile.h"
#include "durations.h"
#include "lock_layout.h"
#include "object_snapshot.h"
#include "section.h"
#include "text.h"
#include "wait_profile.h"

/* -------------------------------------------------------------------------------------------------- percentiles */

/* "P99.9": up to three decimals, no trailing zeros. */
static void put_title(struct hp_text *title, double percentile)
{
    if (percentile <= 0 || percentile >= 100) {
        hp_text_string(title, percentile <= 0 ? "Min" : "Max");
        return;
    }
    hp_text_format(title, "P%.3f", percentile);
    while (title->bytes[title->length - 1] == '0')
        title->length--;
    if (title->bytes[title->length - 1] == '.')
        title->length--;
}

static char key_byte(char c) { return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c == '.' ? '_' : c); }

/* A name that is too long is cut. */
static const char *join(struct hp_arena *arena, const char *before, char between, const struct hp_text *middle,
                        const char *after)
{
    char bytes[128];
    struct hp_text text;
    hp_text_init(&text, bytes, sizeof bytes);
    if (before != NULL) {
        hp_text_format(&text, "%s%c", before, between);
    }
    hp_text_bytes(&text, middle->bytes, middle->length);
    hp_text_string(&text, after != NULL ? after : "");
    return hp_arena_copy(arena, bytes, text.length);
}

bool hp_percentile_name(struct hp_arena *arena, double percentile, const struct hp_percentile_family *family,
                        struct hp_percentile_names *ret_names)
{
    char title_bytes[64], key_bytes[64];
    struct hp_text title, key;
    hp_text_init(&title, title_bytes, sizeof title_bytes);
    hp_text_init(&key, key_bytes, sizeof key_bytes);
    put_title(&title, percentile);
    for (size_t at = 0; at < title.length; at++)
        hp_text_char(&key, key_byte(title_bytes[at]));
    ret_names->title = join(arena, family->before_title, ' ', &title, family->after_title);
    ret_names->key = join(arena, family->before_key, '_', &key, family->after_key);
    return ret_names->title != NULL && ret_names->key != NULL;
}

/* ----------------------------------------------------------------------------------------------------- describe */

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

size_t hp_section_add_column(struct hotpath_section *section, const struct hp_column *column)
{
    for (size_t at = 0; at < section->column_count; at++)
        if (strcmp(section->columns[at].shown.key, column->shown.key) == 0)
            return at;
    if (section->column_count == HP_MAX_COLUMNS)
        return HP_MAX_COLUMNS;
    section->columns[section->column_count] = *column;
    return section->column_count++;
}

bool hp_column_may_be_empty(const struct hp_column_spec *spec)
{
    return spec->is_conditional || (spec->traits & (HP_COLUMN_MAYBE | HP_COLUMN_ESTIMATE));
}

void hp_fields_list(hp_put_fields *fields, void *view, struct hp_column_list *ret_list)
{
    struct hp_fields to = {.list = ret_list};
    ret_list->count = 0;
    if (fields != NULL)
        fields(&to, view, NULL);
}

static uint32_t percentiles_of(const struct hotpath_results *results)
{
    const uint32_t count = results->settings->show.percentile_count;
    return count < HP_MAX_PERCENTILES ? count : HP_MAX_PERCENTILES;
}

struct hp_key_text hp_column_key(const char *key, bool is_of_instructions)
{
    struct hp_key_text name;
    struct hp_text text;
    const bool is_duration = is_of_instructions && (hp_text_has_suffix(key, "_ns") || strcmp(key, "_ns") == 0);
    hp_text_init(&text, name.bytes, sizeof name.bytes);
    hp_text_bytes(&text, key, strlen(key) - (is_duration ? strlen("ns") : 0));
    hp_text_string(&text, is_duration ? "instructions" : "");
    hp_text_end(&text);
    return name;
}

/* Durations are in the unit of the run's clock. */
static uint32_t unit_of(const struct hotpath_results *results, const struct hotpath_section *section,
                        const struct hp_column_spec *spec)
{
    const bool is_duration =
        spec->unit == HOTPATH_UNIT_NS && (section->type->is_of_ticks || (spec->traits & HP_COLUMN_TICKS));
    return is_duration && hp_run_counts_instructions(&results->model->run) ? HOTPATH_UNIT_INSTRUCTIONS : spec->unit;
}

/* Adds a column, or those of a family, and the place of each. Columns that are not present have places, too. */
static bool add_columns(struct hotpath_results *results, struct hotpath_section *section,
                        const struct hp_column_spec *spec, size_t *place_count)
{
    const struct hp_show_settings *show = &results->settings->show;
    const struct hp_percentile_family family = {spec->before, spec->title_before, spec->key, spec->title};
    struct hp_percentile_names names = {spec->title, spec->key};
    const uint32_t count = spec->is_family ? percentiles_of(results) : 1;
    for (uint32_t at = 0; at < count && *place_count < HP_MAX_COLUMNS; at++) {
        uint8_t *place = &section->places[(*place_count)++];
        *place = HP_MAX_COLUMNS;
        if ((section->facts & spec->needs) != spec->needs)
            continue;
        if (spec->is_family && !hp_percentile_name(results->model->arena, show->percentiles[at], &family, &names))
            return false;
        const bool is_visible =
            (spec->traits & HP_COLUMN_SHOWN) && (section->facts & spec->shown_by) == spec->shown_by;
        *place = (uint8_t)hp_section_add_column(
            section, &(struct hp_column){.shown = {.key = names.key,
                                                   .title = names.title,
                                                   .unit = unit_of(results, section, spec),
                                                   .visible = is_visible},
                                         .traits = spec->traits,
                                         .about = spec->about});
    }
    return true;
}

bool hp_section_describe(struct hotpath_results *results, struct hotpath_section *section, void *view,
                         uint32_t facts)
{
    struct hp_column_list list;
    size_t places = 0;
    section->facts = facts | facts_of(results);
    section->counts_instructions = section->type->is_of_ticks && hp_run_counts_instructions(&results->model->run);
    hp_fields_list(section->type->fields, view, &list);
    for (size_t at = 0; at < list.count; at++)
        if (!add_columns(results, section, list.specs[at], &places))
            return false;
    hp_section_show_columns(results, section);
    return true;
}

/* --------------------------------------------------------------------------------------------------------- fill */

struct hp_cell *hp_fields_next_cell(struct hp_fields *to)
{
    const size_t place = to->at < HP_MAX_COLUMNS ? to->section->places[to->at++] : HP_MAX_COLUMNS;
    return place < HP_MAX_COLUMNS ? &to->row->cells[place] : NULL;
}

static void list_column(struct hp_column_list *list, const struct hp_column_spec *spec)
{
    if (list->count < HP_MAX_COLUMNS)
        list->specs[list->count++] = spec;
}

static struct hp_cell *add_total(struct hotpath_results *results, struct hotpath_section *section,
                                 const struct hp_column_spec *spec)
{
    if (section->total_count == HP_MAX_TOTALS || (section->facts & spec->needs) != spec->needs)
        return NULL;
    struct hp_total *total = &section->totals[section->total_count++];
    *total = (struct hp_total){.key = spec->key, .unit = unit_of(results, section, spec)};
    return &total->cell;
}

struct hp_cell *hp_fields_begin(struct hp_fields *to, const struct hp_column_spec *spec)
{
    if (to->list != NULL) {
        list_column(to->list, spec);
        return NULL;
    }
    return to->row != NULL ? hp_fields_next_cell(to) : add_total(to->results, to->section, spec);
}

uint32_t hp_fields_begin_family(struct hp_fields *to, const struct hp_column_spec *spec)
{
    if (to->list == NULL)
        return percentiles_of(to->results);
    list_column(to->list, spec);
    return 0;
}

double hp_fields_percentile(const struct hp_fields *to, uint32_t at)
{
    return to->results->settings->show.percentiles[at];
}

bool hp_section_fill_row(struct hotpath_results *results, struct hotpath_section *section, struct hp_row *row,
                         void *view, const void *entry)
{
    struct hp_fields to = {.results = results, .section = section, .row = row};
    section->type->fields(&to, view, entry);
    return !to.is_out_of_memory;
}

void hp_section_add_totals(struct hotpath_results *results, struct hotpath_section *section, const void *about)
{
    struct hp_fields to = {.results = results, .section = section};
    section->type->totals(&to, NULL, about);
}

/* -------------------------------------------------------------------------------------------------------- cells */

void hp_fields_set_cell(struct hp_fields *to, struct hp_cell *cell, const struct hp_column_spec *spec,
                        struct hp_cell value)
{
    (void)to, (void)spec;
    *cell = value;
}

void hp_fields_set_text(struct hp_fields *to, struct hp_cell *cell, const struct hp_column_spec *spec,
                        const char *value)
{
    to->is_out_of_memory |= value == NULL && !hp_column_may_be_empty(spec);
    *cell = (struct hp_cell){.has_value = value != NULL, .text = value};
}

/* No sample does not mean that there was nothing. */
void hp_fields_set_count(struct hp_fields *to, struct hp_cell *cell, const struct hp_column_spec *spec,
                         uint64_t value)
{
    if (!hp_unit_is_whole(spec->unit))
        hp_fields_set_number(to, cell, spec, (double)value);
    else if (value > 0 || !(spec->traits & HP_COLUMN_ESTIMATE))
        *cell = (struct hp_cell){.has_value = true, .count = value};
}

void hp_fields_set_signed(struct hp_fields *to, struct hp_cell *cell, const struct hp_column_spec *spec,
                          int64_t value)
{
    if (hp_unit_is_whole(spec->unit))
        hp_fields_set_count(to, cell, spec, (uint64_t)value);
    else
        hp_fields_set_number(to, cell, spec, (double)value);
}

struct hp_cell hp_cell_of_value(double number)
{
    const bool is_whole = number > -0x1p53 && number < 0x1p53 && (double)(int64_t)number == number;
    return (struct hp_cell){.has_value = true, .number = number, .count = is_whole ? (uint64_t)(int64_t)number : 0};
}

void hp_fields_set_number(struct hp_fields *to, struct hp_cell *cell, const struct hp_column_spec *spec,
                          double value)
{
    (void)to;
    if (spec->unit == HOTPATH_UNIT_VALUE)
        *cell = hp_cell_of_value(value);
    else
        *cell = (struct hp_cell){.has_value = true, .number = value};
}

void hp_fields_set_location(struct hp_fields *to, struct hp_cell *cell, const struct hp_column_spec *spec,
                            const struct hp_location *value)
{
    char line[24];
    struct hp_text number;
    const size_t length = value != NULL ? strlen(value->file) : 0;
    if (length == 0)
        return; /* no location to show */
    hp_text_init(&number, line, sizeof line);
    hp_text_format(&number, ":%u", value->line);
    char *text = hp_arena_take(to->results->model->arena, length + number.length + 1);
    to->is_out_of_memory |= text == NULL;
    if (text == NULL)
        return;
    memcpy(text, value->file, length);
    memcpy(text + length, line, number.length);
    hp_fields_set_text(to, cell, spec, text);
    cell->location = value;
}

double hp_fields_ns(const struct hp_fields *to, uint64_t ticks)
{
    return hp_run_ns(&to->results->model->run, ticks);
}

struct hp_cell hp_percent_of(uint64_t part, uint64_t whole)
{
    return (struct hp_cell){.has_value = whole > 0, .number = whole > 0 ? 100 * (double)part / (double)whole : 0};
}

const char *hp_fields_name_thread(struct hp_fields *to, const struct hp_thread_label *thread)
{
    char bytes[96];
    struct hp_text text;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_text_format(&text, "%s%s", thread->name, thread->name[0] != '\0' ? " " : "");
    if (to->results->model->run.process_count > 1)
        hp_text_format(&text, "%u/", thread->pid);
    hp_text_u64(&text, thread->tid);
    if (thread->threads > 1)
        hp_text_format(&text, " (%u threads)", thread->threads);
    return hp_fields_copy(to, bytes, text.length);
}

void hp_fields_set_thread(struct hp_fields *to, struct hp_cell *cell, const struct hp_column_spec *spec,
                          const struct hp_thread_label *value)
{
    if (value == NULL)
        return;
    hp_fields_set_text(to, cell, spec, hp_fields_name_thread(to, value));
    cell->thread = value;
}

void hp_fields_set_histogram(struct hp_fields *to, struct hp_cell *cell, const struct hp_column_spec *spec,
                             const struct hotpath_histogram *value)
{
    (void)spec;
    to->is_out_of_memory |= value == NULL;
    *cell = (struct hp_cell){.has_value = value != NULL, .histogram = value};
}

void hp_fields_set_series(struct hp_fields *to, struct hp_cell *cell, const struct hp_column_spec *spec,
                          const struct hotpath_series *value)
{
    (void)spec;
    to->is_out_of_memory |= value == NULL;
    *cell = (struct hp_cell){.has_value = value != NULL, .series = value};
}

const char *hp_fields_copy(struct hp_fields *to, const char *text, size_t length)
{
    const char *copy = text != NULL ? hp_arena_copy(to->results->model->arena, text, length) : NULL;
    to->is_out_of_memory |= text != NULL && copy == NULL;
    return copy;
}

/* --------------------------------------------------------------------------------------------------- histograms */

#define BARS_PER_OCTAVE 4u

/* Bars are counted first, then put into arrays. */
struct bars {
    size_t count;
    double *from, *to;
    uint64_t *amounts; /* NULL: they are counted */
};

static void put_bar(struct bars *bars, double from, double to, uint64_t amount)
{
    if (amount == 0)
        return;
    if (bars->amounts != NULL) {
        bars->from[bars->count] = from;
        bars->to[bars->count] = to;
        bars->amounts[bars->count] = amount;
    }
    bars->count++;
}

/* Where a counter begins, in ticks. */
typedef double bound_of_counter(size_t line, size_t step);

static uint64_t amount_of(const uint64_t *counters, size_t first, size_t steps)
{
    uint64_t amount = 0;
    for (size_t step = first; step < first + steps; step++)
        amount += counters[step];
    return amount;
}

/* A line of 64 counters. Most are empty, and metrics read many. */
static void put_line(struct bars *bars, const uint64_t *line, size_t number, bool is_fine, bound_of_counter *bound,
                     double scale)
{
    const size_t steps = is_fine ? 1 : 64 / BARS_PER_OCTAVE;
    uint64_t any = 0;
    for (size_t step = 0; step < 64; step++)
        any |= line[step];
    for (size_t step = 0; step < 64 && any != 0; step += steps) {
        const uint64_t amount = amount_of(line, step, steps);
        if (amount != 0)
            put_bar(bars, bound(number, step) * scale, bound(number, step + steps) * scale, amount);
    }
}

/* Fine: a bar for each counter. */
typedef void put_bars(const void *of, bool is_fine, double scale, struct bars *bars);

static const struct hotpath_histogram *histogram_of(const struct hotpath_results *results, put_bars *put,
                                                    const void *of, double scale, enum hotpath_unit unit)
{
    struct hp_arena *arena = results->model->arena;
    const bool is_fine = results->settings->show.fine_histograms;
    struct bars bars = {0};
    put(of, is_fine, scale, &bars);
    struct hotpath_histogram *histogram = hp_arena_take(arena, sizeof *histogram);
    double *bounds = hp_arena_take_array(arena, 2 * bars.count + 1, sizeof *bounds);
    uint64_t *amounts = hp_arena_take_array(arena, bars.count + 1, sizeof *amounts);
    if (histogram == NULL || bounds == NULL || amounts == NULL)
        return NULL;
    *histogram = (struct hotpath_histogram){.bars = bars.count,
                                            .unit = unit,
                                            .amount_unit = HOTPATH_UNIT_COUNT,
                                            .from = bounds,
                                            .to = bounds + bars.count,
                                            .amounts = amounts};
    bars = (struct bars){.from = bounds, .to = bounds + bars.count, .amounts = amounts};
    put(of, is_fine, scale, &bars);
    return histogram;
}

/* Counters of the first line count one value each, those of every further line twice as many as the line before. */
static double bound_of_duration(size_t line, size_t step)
{
    const uint64_t width = line > 0 ? UINT64_C(1) << (line - 1) : 1;
    return (double)(line > 0 ? 64 + step : step) * (double)width;
}

static void put_durations(const void *of, bool is_fine, double scale, struct bars *bars)
{
    const struct hp_durations *durations = of;
    for (size_t line = 0; line < HP_DURATION_LINES; line++)
        put_line(bars, durations->lines[line], line, is_fine, bound_of_duration, scale);
}

const struct hotpath_histogram *hp_histogram_of_durations(const struct hotpath_results *results,
                                                          const struct hp_durations *durations, double scale,
                                                          enum hotpath_unit unit)
{
    return histogram_of(results, put_durations, durations, scale, unit);
}

_Static_assert(HP_MAGNITUDE_STEPS == 64, "of a line");

static double bound_of_magnitude(size_t octave, size_t step)
{
    double one = 1; /* the beginning of the octave */
    for (; octave > HP_MAGNITUDE_ONE; octave--)
        one *= 2;
    for (; octave < HP_MAGNITUDE_ONE; octave++)
        one /= 2;
    return one * (1 + (double)step / HP_MAGNITUDE_STEPS);
}

static void put_magnitudes(const void *of, bool is_fine, double scale, struct bars *bars)
{
    const struct hp_magnitudes *magnitudes = of;
    put_bar(bars, 0, scale, magnitudes->zeros);
    for (size_t octave = 0; octave < HP_MAGNITUDES; octave++)
        put_line(bars, magnitudes->steps[octave], octave, is_fine, bound_of_magnitude, scale);
}

const struct hotpath_histogram *hp_histogram_of_magnitudes(const struct hotpath_results *results,
                                                           const struct hp_magnitudes *magnitudes)
{
    return histogram_of(results, put_magnitudes, magnitudes, results->model->run.ns_per_tick, HOTPATH_UNIT_NS);
}

struct steps {
    const uint64_t *all;
    uint32_t bits, octaves;
};

/* Small durations are their own steps; no step is used between these and the first octave that is divided. */
static double bound_of_step(const struct steps *steps, uint32_t step)
{
    return step <= 1u << steps->bits ? (double)step : hp_step_from(step, steps->bits);
}

static void put_steps(const void *of, bool is_fine, double scale, struct bars *bars)
{
    const struct steps *steps = of;
    const uint32_t each = is_fine ? 1 : (1u << steps->bits) / BARS_PER_OCTAVE;
    for (uint32_t step = 0; step < steps->octaves << steps->bits; step += each)
        put_bar(bars, bound_of_step(steps, step) * scale, bound_of_step(steps, step + each) * scale,
                amount_of(steps->all, step, each));
}

const struct hotpath_histogram *hp_histogram_of_steps(const struct hotpath_results *results, const uint64_t *steps,
                                                      uint32_t bits, uint32_t octaves, double tick_ns)
{
    return histogram_of(results, put_steps, &(struct steps){steps, bits, octaves}, tick_ns, HOTPATH_UNIT_NS);
}

const struct hotpath_histogram *hp_histogram_of_waits(struct hp_arena *arena, const uint64_t *by_cause)
{
    struct hotpath_histogram *histogram = hp_arena_take(arena, sizeof *histogram);
    const char **labels = hp_arena_take_array(arena, HP_WAIT_CAUSES, sizeof *labels);
    uint64_t *amounts = hp_arena_take_array(arena, HP_WAIT_CAUSES, sizeof *amounts);
    if (histogram == NULL || labels == NULL || amounts == NULL)
        return NULL;
    size_t count = 0;
    for (uint32_t cause = 0; cause < HP_WAIT_CAUSES; cause++) {
        size_t at = count;
        if (by_cause[cause] == 0)
            continue;
        for (; at > 0 && amounts[at - 1] < by_cause[cause]; at--) {
            amounts[at] = amounts[at - 1];
            labels[at] = labels[at - 1];
        }
        amounts[at] = by_cause[cause];
        labels[at] = hp_wait_cause_name(cause);
        count++;
    }
    *histogram = (struct hotpath_histogram){.bars = count,
                                            .unit = HOTPATH_UNIT_TEXT,
                                            .amount_unit = HOTPATH_UNIT_NS,
                                            .amounts = amounts,
                                            .labels = labels};
    return histogram;
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

size_t hp_section_column(const struct hotpath_section *section, const char *key)
{
    size_t at = 0;
    while (at < section->column_count && strcmp(section->columns[at].shown.key, key) != 0)
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
