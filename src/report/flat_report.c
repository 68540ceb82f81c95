/* A report as CSV and as Markdown. SPDX-License-Identifier: MIT */
#include "flat_report.h"

#include <string.h>

#include "arena.h"
#include "json_report.h"
#include "table.h"
#include "utf8.h"

#define CELL_BYTES 4096u

static bool is_picture(const struct hp_column *column)
{
    return column->shown.unit == HOTPATH_UNIT_HISTOGRAM || column->shown.unit == HOTPATH_UNIT_SERIES;
}

/* ---------------------------------------------------------------------------------------------------------- CSV */

static void put_quoted(struct hp_text *out, const char *text)
{
    const bool is_plain = strpbrk(text, ",\"\r\n") == NULL;
    hp_text_string(out, is_plain ? "" : "\"");
    for (; *text != '\0'; text++) {
        hp_text_string(out, *text == '"' ? "\"" : "");
        hp_text_char(out, *text);
    }
    hp_text_string(out, is_plain ? "" : "\"");
}

/* As in JSON, which has such values without quotes. */
static void put_number(struct hp_text *out, const struct hp_column *column, const struct hp_cell *cell)
{
    char bytes[80];
    struct hp_text text;
    struct hp_json json;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_json_init(&json, &text, false);
    hp_json_report_put_cell(&json, column, cell);
    for (const char *at = hp_text_end(&text); *at != '\0'; at++)
        if (*at != '"') /* a moment */
            hp_text_char(out, *at);
}

static void put_csv_cell(struct hp_text *out, const struct hp_column *column, const struct hp_cell *cell)
{
    if (!cell->has_value)
        return;
    if (column->traits & HP_COLUMN_LOCATION) {
        put_quoted(out, cell->location->file);
        if (cell->location->line > 0)
            hp_text_format(out, ":%u", (unsigned)cell->location->line);
    } else if (hp_unit_is_text(column->shown.unit)) {
        put_quoted(out, cell->text);
    } else {
        put_number(out, column, cell);
    }
}

static void put_csv_section(const struct hotpath_section *section, struct hp_text *out)
{
    hp_text_string(out, section->is_tree ? "section,depth" : "section");
    for (size_t column = 0; column < section->column_count; column++)
        if (!is_picture(&section->columns[column]))
            hp_text_format(out, ",%s",
                           hp_column_key(section->columns[column].shown.key,
                                         section->columns[column].shown.unit == HOTPATH_UNIT_INSTRUCTIONS)
                               .bytes);
    hp_text_string(out, "\r\n");
    for (size_t row = 0; row < section->row_count; row++) {
        hp_text_string(out, section->name);
        if (section->is_tree)
            hp_text_format(out, ",%u", (unsigned)section->rows[row].depth);
        for (size_t column = 0; column < section->column_count; column++) {
            if (is_picture(&section->columns[column]))
                continue;
            hp_text_char(out, ',');
            put_csv_cell(out, &section->columns[column], &section->rows[row].cells[column]);
        }
        hp_text_string(out, "\r\n");
    }
}

void hp_flat_report_put_csv(const hotpath_results *results, struct hp_text *out)
{
    for (size_t at = 0; at < results->section_count; at++) {
        hp_text_string(out, at > 0 ? "\r\n" : "");
        put_csv_section(results->sections[at], out);
    }
}

/* ----------------------------------------------------------------------------------------------------- Markdown */

static bool is_in_table(const struct hp_column *column)
{
    return column->shown.visible && !(column->traits & HP_COLUMN_BELOW);
}

/* What would end a cell, or be taken for HTML or emphasis. */
static void put_escaped(struct hp_text *out, const char *text)
{
    for (; *text != '\0'; text++)
        if (*text == '<')
            hp_text_string(out, "&lt;");
        else if (strchr("|*_`\\", *text) != NULL)
            hp_text_format(out, "\\%c", *text);
        else
            hp_text_char(out, *text == '\n' ? ' ' : *text);
}

static void put_line(struct hp_text *out, const char *line)
{
    put_escaped(out, line);
    hp_text_string(out, "\n\n");
}

static void put_sentences(const struct hotpath_section *section, size_t column, char *scratch, struct hp_text *out)
{
    struct hp_text text;
    for (size_t row = 0; row < section->row_count; row++) {
        if (!section->rows[row].cells[column].has_value)
            continue;
        hp_text_init(&text, scratch, CELL_BYTES);
        hp_utf8_put_safe(&text, section->rows[row].cells[column].text,
                         strlen(section->rows[row].cells[column].text));
        put_line(out, hp_text_end(&text));
    }
}

static void put_markdown_table(const struct hotpath_section *section, char *scratch, struct hp_text *out)
{
    struct hp_text text;
    for (size_t column = 0; column < section->column_count; column++)
        if (is_in_table(&section->columns[column])) {
            hp_text_string(out, "| ");
            put_escaped(out, section->columns[column].shown.title);
            hp_text_char(out, ' ');
        }
    hp_text_string(out, "|\n");
    for (size_t column = 0; column < section->column_count; column++)
        if (is_in_table(&section->columns[column]))
            hp_text_string(out, hp_unit_is_text(section->columns[column].shown.unit) ? "| --- " : "| ---: ");
    hp_text_string(out, "|\n");
    for (size_t row = 0; row < section->row_count; row++) {
        for (size_t column = 0; column < section->column_count; column++) {
            if (!is_in_table(&section->columns[column]))
                continue;
            hp_text_init(&text, scratch, CELL_BYTES);
            hp_table_put_cell(&text, &section->columns[column], &section->rows[row],
                              &section->rows[row].cells[column]);
            hp_text_string(out, "| ");
            put_escaped(out, hp_text_end(&text));
            hp_text_char(out, ' ');
        }
        hp_text_string(out, "|\n");
    }
    hp_text_char(out, '\n');
}

static void put_markdown_section(const struct hotpath_section *section, char *scratch, struct hp_text *out)
{
    hp_text_format(out, "**%s** - %s", section->name, section->description);
    if (section->row_count < section->total_rows)
        hp_text_format(out, " (%zu/%zu)", section->row_count, section->total_rows);
    hp_text_string(out, "\n\n");
    if (section->summary != NULL)
        put_line(out, section->summary);
    if (section->row_count > 0)
        put_markdown_table(section, scratch, out);
    else if (section->if_empty != NULL)
        put_line(out, section->if_empty);
    for (size_t column = 0; column < section->column_count; column++)
        if (section->columns[column].shown.visible && (section->columns[column].traits & HP_COLUMN_BELOW))
            put_sentences(section, column, scratch, out);
}

bool hp_flat_report_put_markdown(const hotpath_results *results, struct hp_text *out)
{
    char *scratch = hp_arena_take(results->model->arena, CELL_BYTES);
    if (scratch == NULL)
        return false;
    if (results->headline != NULL)
        put_line(out, results->headline);
    for (size_t at = 0; at < results->section_count; at++)
        put_markdown_section(results->sections[at], scratch, out);
    for (size_t at = 0; at < results->warning_count; at++)
        put_line(out, results->warnings[at]);
    return true;
}
