/* Functions for making sections. SPDX-License-Identifier: MIT */
#include "section.h"

#include "arena.h"
#include "text.h"
#include "utf8.h"

const struct hp_section_type *const hp_section_types[] = {
#define HP_SECTION(type, source) &type,
#include "sections.def"
#undef HP_SECTION
};

const size_t hp_section_type_count = sizeof hp_section_types / sizeof hp_section_types[0];

_Static_assert(sizeof hp_section_types / sizeof hp_section_types[0] <= HP_MAX_SECTIONS,
               "HP_MAX_SECTIONS has to grow");

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
    struct hp_column_list list;
    size_t at = 0;
    hp_fields_list(type->fields, NULL, &list);
    while (at < list.count && !(list.specs[at]->traits & HP_COLUMN_ESTIMATE))
        at++;
    return at < list.count;
}

const char *hp_section_marks(const struct hp_column *column, const struct hp_row *row)
{
    const bool is_rough = (column->traits & HP_COLUMN_ROUGH) && row->is_rough;
    const bool is_sampled = ((column->traits & HP_COLUMN_SAMPLED) && row->is_sampled) ||
                            ((column->traits & HP_COLUMN_SAMPLED_SELF) && row->is_self_sampled);
    return is_rough && is_sampled ? "~^" : is_rough ? "~" : is_sampled ? "^" : "";
}

const char *hp_section_why_empty(const struct hotpath_section *section, size_t site_count, const char *otherwise)
{
    return section->total_rows > 0 ? "every function has a smaller share than HOTPATH_MIN_PERCENT"
           : site_count > 0        ? "no function matches the focus"
                                   : otherwise;
}

bool hp_section_note(struct hotpath_section *section, const char *line)
{
    if (line != NULL && section->note_count < HP_MAX_NOTES)
        section->notes[section->note_count++] = line;
    return line != NULL;
}

const char *hp_results_keep(const struct hotpath_results *results, const struct hp_text *line)
{
    return hp_arena_copy(results->model->arena, line->bytes, line->length);
}

struct hp_row hp_section_marks_of_rows(const struct hotpath_section *section)
{
    struct hp_row any = {0};
    for (size_t at = 0; at < section->row_count; at++) {
        any.is_open |= section->rows[at].is_open;
        any.is_rough |= section->rows[at].is_rough;
        any.is_sampled |= section->rows[at].is_sampled;
        any.is_self_sampled |= section->rows[at].is_self_sampled;
    }
    return any;
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
