/* What sections are made with. SPDX-License-Identifier: MIT */
#include "section.h"

#include <string.h>

#include "arena.h"
#include "text.h"
#include "utf8.h"

size_t hp_section_add_column(struct hotpath_section *section, const char *key, const char *title,
                             enum hotpath_unit unit, uint32_t traits, bool is_visible)
{
    for (size_t at = 0; at < section->column_count; at++)
        if (strcmp(section->columns[at].shown.key, key) == 0)
            return at;
    if (section->column_count == HP_MAX_COLUMNS)
        return HP_MAX_COLUMNS;
    section->columns[section->column_count] = (struct hp_column){
        .shown = {.key = key, .title = title, .unit = unit, .visible = is_visible}, .traits = traits};
    return section->column_count++;
}

static bool equal_stem(const char *name, size_t length, const char *key, size_t stem_length)
{
    char bytes[64];
    struct hp_text stem;
    hp_text_init(&stem, bytes, sizeof bytes);
    hp_text_bytes(&stem, key, stem_length);
    return hp_text_equal_nocase(name, length, hp_text_end(&stem));
}

/* A column is asked for by its title or its key, with or without the unit: "self", "self_ns". */
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

bool hp_section_set_location(struct hotpath_results *results, struct hp_row *row, size_t column,
                             const struct hp_location *location)
{
    char line[24];
    struct hp_text number;
    const size_t length = strlen(location->file);
    if (length == 0)
        return true; /* there is no place to name */
    hp_text_init(&number, line, sizeof line);
    hp_text_char(&number, ':');
    hp_text_u64(&number, location->line);
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
    hp_text_string(&text, thread->name);
    hp_text_string(&text, thread->name[0] != '\0' ? " " : "");
    if (results->model->run.count > 1) {
        hp_text_u64(&text, thread->pid);
        hp_text_char(&text, '/');
    }
    hp_text_u64(&text, thread->tid);
    if (thread->threads > 1) {
        hp_text_string(&text, " (");
        hp_text_u64(&text, thread->threads);
        hp_text_string(&text, " threads)");
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

bool hp_unit_is_whole(uint32_t unit)
{
    return unit == HOTPATH_UNIT_COUNT || unit == HOTPATH_UNIT_BYTES || unit == HOTPATH_UNIT_SIGNED_COUNT ||
           unit == HOTPATH_UNIT_SIGNED_BYTES;
}

double hp_cell_number(const struct hp_cell *cell, uint32_t unit)
{
    if (unit == HOTPATH_UNIT_SIGNED_COUNT || unit == HOTPATH_UNIT_SIGNED_BYTES)
        return (double)(int64_t)cell->count;
    return hp_unit_is_whole(unit) ? (double)cell->count : cell->number;
}

void hp_section_add_total(struct hotpath_section *section, const char *key, enum hotpath_unit unit, uint64_t count)
{
    if (section->total_count < HP_MAX_TOTALS)
        section->totals[section->total_count++] =
            (struct hp_total){.key = key, .unit = unit, .cell = {.has_value = true, .count = count}};
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
    hp_text_string(&line, before);
    hp_text_string(&line, " '");
    hp_utf8_put_safe(&line, text, length);
    hp_text_string(&line, "'");
    hp_text_string(&line, after);
    hp_text_end(&line);
    const char *copy = hp_arena_copy(results->model->arena, bytes, line.length);
    if (copy != NULL)
        results->warnings[results->warning_count++] = copy;
}
