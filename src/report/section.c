/* Functions for making sections. SPDX-License-Identifier: MIT */
#include "section.h"

#include <string.h>

#include "arena.h"
#include "text.h"
#include "utf8.h"

bool hp_section_make_rows(struct hotpath_results *results, struct hotpath_section *section, size_t count)
{
    struct hp_row *rows = hp_arena_take_array(results->model->arena, count + 1, sizeof *rows);
    struct hp_cell *cells =
        hp_arena_take_array(results->model->arena, count + 1, section->column_count * sizeof *cells);
    if (rows == NULL || cells == NULL)
        return false;
    for (size_t at = 0; at < count; at++)
        rows[at].cells = cells + at * section->column_count;
    section->rows = rows;
    section->row_count = count;
    return true;
}

static struct hp_cell *cell_of(struct hp_row *row, size_t column)
{
    row->cells[column].has_value = true;
    return &row->cells[column];
}

void hp_section_set_text(struct hp_row *row, size_t column, const char *text) { cell_of(row, column)->text = text; }

void hp_section_set_count(struct hp_row *row, size_t column, uint64_t count)
{
    cell_of(row, column)->count = count;
}

void hp_section_set_number(struct hp_row *row, size_t column, double number)
{
    cell_of(row, column)->number = number;
}

void hp_section_set_value(struct hp_row *row, size_t column, double number)
{
    const bool is_whole = number > -0x1p53 && number < 0x1p53 && (double)(int64_t)number == number;
    hp_section_set_number(row, column, number);
    row->cells[column].count = is_whole ? (uint64_t)(int64_t)number : 0;
}

void hp_section_set_estimate(struct hp_row *row, size_t column, uint64_t count)
{
    if (count > 0)
        hp_section_set_count(row, column, count);
}

bool hp_section_set_location(struct hotpath_results *results, struct hp_row *row, size_t column,
                             const struct hp_location *location)
{
    char line[24];
    struct hp_text number;
    const size_t length = strlen(location->file);
    if (length == 0)
        return true; /* no location to show */
    hp_text_init(&number, line, sizeof line);
    hp_text_format(&number, ":%u", location->line);
    char *text = hp_arena_take(results->model->arena, length + number.length + 1);
    if (text == NULL)
        return false;
    memcpy(text, location->file, length);
    memcpy(text + length, line, number.length);
    cell_of(row, column)->text = text;
    row->cells[column].location = location;
    return true;
}

bool hp_section_set_thread(struct hotpath_results *results, struct hp_row *row, size_t column,
                           const struct hp_thread_label *thread)
{
    char bytes[96];
    struct hp_text text;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_text_format(&text, "%s%s", thread->name, thread->name[0] != '\0' ? " " : "");
    if (results->model->run.process_count > 1) {
        hp_text_format(&text, "%u/", thread->pid);
    }
    hp_text_u64(&text, thread->tid);
    if (thread->threads > 1) {
        hp_text_format(&text, " (%u threads)", thread->threads);
    }
    const char *copy = hp_arena_copy(results->model->arena, bytes, text.length);
    if (copy == NULL)
        return false;
    cell_of(row, column)->text = copy;
    row->cells[column].thread = thread;
    return true;
}

void hp_section_set_signed(struct hp_row *row, size_t column, int64_t number)
{
    cell_of(row, column)->count = (uint64_t)number;
}

void hp_section_set_histogram(struct hp_row *row, size_t column, const struct hotpath_histogram *histogram)
{
    cell_of(row, column)->histogram = histogram;
}

void hp_section_set_series(struct hp_row *row, size_t column, const struct hotpath_series *series)
{
    cell_of(row, column)->series = series;
}

bool hp_unit_is_whole(uint32_t unit)
{
    return unit == HOTPATH_UNIT_COUNT || unit == HOTPATH_UNIT_BYTES || unit == HOTPATH_UNIT_SIGNED_COUNT ||
           unit == HOTPATH_UNIT_SIGNED_BYTES || unit == HOTPATH_UNIT_INSTANT;
}

bool hp_unit_is_text(uint32_t unit) { return unit == HOTPATH_UNIT_TEXT || unit == HOTPATH_UNIT_STATE; }

double hp_cell_number(const struct hp_cell *cell, uint32_t unit)
{
    if (unit == HOTPATH_UNIT_SIGNED_COUNT || unit == HOTPATH_UNIT_SIGNED_BYTES)
        return (double)(int64_t)cell->count;
    return hp_unit_is_whole(unit) ? (double)cell->count : cell->number;
}

bool hp_cell_is_whole_value(const struct hp_cell *cell) { return (double)(int64_t)cell->count == cell->number; }

bool hp_section_has_estimates(const struct hp_section_type *type)
{
    size_t at = 0;
    while (at < type->column_count && !(type->columns[at].traits & HP_COLUMN_ESTIMATE))
        at++;
    return at < type->column_count;
}

const char *hp_section_marks(const struct hp_column *column, const struct hp_row *row)
{
    const bool is_rough = (column->traits & HP_COLUMN_ROUGH) && row->is_rough;
    const bool is_sampled = ((column->traits & HP_COLUMN_SAMPLED) && row->is_sampled) ||
                            ((column->traits & HP_COLUMN_SAMPLED_SELF) && row->is_self_sampled);
    return is_rough && is_sampled ? "~^" : is_rough ? "~" : is_sampled ? "^" : "";
}

void hp_section_add_total(struct hotpath_section *section, const char *key, uint64_t count)
{
    for (size_t at = 0; at < section->type->total_count && section->total_count < HP_MAX_TOTALS; at++) {
        const struct hp_column_spec *spec = &section->type->totals[at];
        if (strcmp(spec->key, key) == 0)
            section->totals[section->total_count++] = (struct hp_total){
                .key = spec->key,
                .unit = spec->unit,
                .cell = {.has_value = count > 0 || !(spec->traits & HP_COLUMN_ESTIMATE), .count = count}};
    }
}

const char *hp_section_why_empty(const struct hotpath_section *section, size_t site_count, const char *otherwise)
{
    return section->total_rows > 0 ? "every function has a smaller share than HOTPATH_MIN_PERCENT"
           : site_count > 0        ? "no function matches the focus"
                                   : otherwise;
}

void hp_section_note(struct hotpath_section *section, const char *line)
{
    if (section->note_count < HP_MAX_NOTES)
        section->notes[section->note_count++] = line;
}

void hp_results_warn_line(struct hotpath_results *results, const char *line)
{
    if (results->warning_count < HP_MAX_WARNINGS)
        results->warnings[results->warning_count++] = line;
}

void hp_results_warn(struct hotpath_results *results, const char *before, const char *text, size_t length,
                     const char *after)
{
    char bytes[512];
    struct hp_text line;
    if (results->warning_count == HP_MAX_WARNINGS)
        return;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_format(&line, "%s '", before);
    hp_utf8_put_safe(&line, text, length);
    hp_text_format(&line, "'%s", after);
    hp_text_end(&line);
    const char *copy = hp_arena_copy(results->model->arena, bytes, line.length);
    if (copy != NULL)
        results->warnings[results->warning_count++] = copy;
}
