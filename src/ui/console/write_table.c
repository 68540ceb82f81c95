/* Writes the visible table to a file. SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "json.h"
#include "state.h"

#define DIGITS 12u

static bool is_text(const struct hp_console *console, size_t column)
{
    const enum hp_column_kind kind = console->table.columns[column].kind;
    return kind == HP_CELL_NAME || kind == HP_CELL_TEXT;
}

/* Bars and histories are not numbers. */
static bool is_written(const struct hp_console *console, size_t column)
{
    return is_text(console, column) || console->table.columns[column].kind == HP_CELL_FIGURE;
}

/* ------------------------------------------------------------------------------------------------- CSV */

static void write_csv_cell(FILE *file, const struct hp_table_cell *cell, bool has_text)
{
    if (!has_text && cell->has_value)
        fprintf(file, "%.*g", (int)DIGITS, cell->number);
    if (!has_text || cell->text == NULL)
        return;
    fputc('"', file);
    for (const char *at = cell->text; *at != '\0'; at++)
        fputs((char[]){*at, *at == '"' ? '"' : '\0', '\0'}, file);
    fputc('"', file);
}

static void write_csv(const struct hp_console *console, FILE *file)
{
    const struct hp_table *table = &console->table;
    for (size_t at = 0; at < table->column_count; at++)
        fprintf(file, "%s%s", at > 0 ? "," : "", table->columns[at].key);
    fputc('\n', file);
    for (size_t row = 0; row < console->shown.count; row++)
        for (size_t at = 0; at < table->column_count; at++) {
            fputs(at > 0 ? "," : "", file);
            if (is_written(console, at))
                write_csv_cell(file, &console->shown.all[row]->cells[at], is_text(console, at));
            fputs(at + 1 == table->column_count ? "\n" : "", file);
        }
}

/* ------------------------------------------------------------------------------------------------ JSON */

static bool write_out(void *file, const char *bytes, size_t length)
{
    return fwrite(bytes, 1, length, file) == length;
}

static void write_json_row(const struct hp_console *console, struct hp_json *json, const struct hp_table_row *row)
{
    hp_json_begin_object(json);
    for (size_t at = 0; at < console->table.column_count; at++) {
        const struct hp_table_cell *cell = &row->cells[at];
        if (!is_written(console, at))
            continue;
        hp_json_key(json, console->table.columns[at].key);
        if (is_text(console, at) && cell->text != NULL)
            hp_json_string(json, cell->text);
        else if (!is_text(console, at) && cell->has_value)
            hp_json_number(json, cell->number, DIGITS);
        else
            hp_json_null(json);
    }
    hp_json_end_object(json);
}

/* With its window: a number without it says little. */
static void write_json(const struct hp_console *console, FILE *file)
{
    char buffer[4096];
    struct hp_text text;
    struct hp_json json;
    const struct hp_watched *watched = &console->watched;
    hp_text_init_stream(&text, buffer, sizeof buffer, write_out, file);
    hp_json_init(&json, &text, true);
    hp_json_begin_object(&json);
    hp_json_put_string(&json, "view", console->table.key);
    if (console->is_watching && watched->has_data) {
        hp_json_put_string(&json, "program", watched->program);
        hp_json_put_u64(&json, "pid", watched->pid);
        hp_json_put_u64(&json, "from_ns", watched->from_ns);
        hp_json_put_u64(&json, "to_ns", watched->to_ns);
        hp_json_put_string(&json, "headline", watched->headline);
    }
    hp_json_key(&json, "rows");
    hp_json_begin_array(&json);
    for (size_t row = 0; row < console->shown.count; row++)
        write_json_row(console, &json, console->shown.all[row]);
    hp_json_end_array(&json);
    hp_json_end_object(&json);
    hp_text_char(&text, '\n');
    hp_text_finish(&text);
}

void hp_console_write_table(struct hp_console *console, bool is_json)
{
    char path[64];
    snprintf(path, sizeof path, "hotpath-%s.%s", console->table.key, is_json ? "json" : "csv");
    FILE *file = fopen(path, "wxe");
    if (file == NULL) {
        snprintf(console->message, sizeof console->message,
                 "Cannot create %s here: it exists already, or the directory is not writable", path);
        return;
    }
    if (is_json)
        write_json(console, file);
    else
        write_csv(console, file);
    snprintf(console->message, sizeof console->message,
             fclose(file) == 0 ? "Written: %s" : "Cannot write all of %s", path);
}
