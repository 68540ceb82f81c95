/* Writes the page. SPDX-License-Identifier: MIT */
#include "page.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "files.h"
#include "json.h"
#include "json_report.h"
#include "section.h"
#include "text.h"

/* ---------------------------------------------------------------------------------------------------- page data */

/*
 * Data inside a page.
 */

/* In JSON, only strings can contain this character, and none of them may end the script element. */
bool hp_page_put_data(void *page, const char *bytes, size_t length)
{
    struct hp_text *text = page;
    for (size_t at = 0; at < length; at++)
        if (bytes[at] == '<')
            hp_text_string(text, "\\u003c");
        else
            hp_text_char(text, bytes[at]);
    return !text->is_cut;
}

/* -------------------------------------------------------------------------------------------------- page column */

/*
 * Columns of numbers for the page.
 */

#define LONGEST_NUMBER 10u /* bytes, of 64 bits */

bool hp_page_column_begin(struct hp_page_column *column, size_t most_numbers)
{
    *column = (struct hp_page_column){.bytes = calloc(most_numbers + 1, LONGEST_NUMBER)};
    return column->bytes != NULL;
}

void hp_page_column_add(struct hp_page_column *column, uint64_t number)
{
    for (; number >= 0x80; number >>= 7)
        column->bytes[column->length++] = (unsigned char)(number | 0x80);
    column->bytes[column->length++] = (unsigned char)number;
}

bool hp_page_column_put(struct hp_page_column *column, struct hp_json *json, const char *key)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = malloc(column->length / 3 * 4 + 4);
    size_t length = 0;
    if (text == NULL)
        return false;
    for (size_t at = 0; at < column->length; at += 3) {
        const size_t left = column->length - at;
        const unsigned group = (unsigned)column->bytes[at] << 16 |
                               (left > 1 ? (unsigned)column->bytes[at + 1] << 8 : 0) |
                               (left > 2 ? column->bytes[at + 2] : 0);
        text[length++] = digits[group >> 18];
        text[length++] = digits[group >> 12 & 63];
        text[length++] = left > 1 ? digits[group >> 6 & 63] : '=';
        text[length++] = left > 2 ? digits[group & 63] : '=';
    }
    hp_json_key(json, key);
    hp_json_string_bytes(json, text, length);
    free(text);
    column->length = 0;
    return true;
}

void hp_page_column_free(struct hp_page_column *column)
{
    free(column->bytes);
    column->bytes = NULL;
}

/* ------------------------------------------------------------------------------------------------- page sources */

/*
 * Source text of measured functions, for pages where the user asked for it. The session names the files, and
 * sessions may come from anywhere: only files with the extension of a source are read.
 */

#define LINES_BEFORE 3u /* the recorded line of a function is often below its head */
#define MOST_LINES 120u
#define MOST_FUNCTIONS 500u
#define MOST_BYTES (4u << 20) /* of a file */

static bool is_source(const char *file)
{
    static const char *const endings[] = {".c",   ".h",   ".cc",  ".cpp", ".cxx", ".c++", ".hh", ".hpp",
                                          ".hxx", ".inc", ".inl", ".ipp", ".m",   ".mm",  ".rs"};
    for (size_t at = 0; at < sizeof endings / sizeof endings[0]; at++)
        if (hp_text_has_suffix(file, endings[at]))
            return true;
    return false;
}

/*
 * Compilers often get paths relative to their working directory: a folder above the program, or the current one.
 * -1: not found.
 */
static int open_source(const char *file, const char *program)
{
    char path[4096];
    int fd = hp_regular_open(AT_FDCWD, file, O_RDONLY);
    size_t folder = file[0] != '/' ? strlen(program) : 0;
    while (fd < 0 && folder > 0) {
        while (folder > 0 && program[folder - 1] != '/')
            folder--;
        if (folder > 0 && snprintf(path, sizeof path, "%.*s%s", (int)folder, program, file) < (int)sizeof path)
            fd = hp_regular_open(AT_FDCWD, path, O_RDONLY);
        folder -= folder > 0;
    }
    return fd;
}

/* The whole file, with a terminating zero byte. NULL: it cannot be read. To be freed. */
static char *read_source(const char *file, const char *program, size_t *ret_length)
{
    const int fd = is_source(file) ? open_source(file, program) : -1;
    char *bytes = fd >= 0 ? malloc(MOST_BYTES + 1) : NULL;
    size_t length = 0;
    for (ssize_t more = 1; bytes != NULL && more > 0 && length<MOST_BYTES; length += more> 0 ? (size_t)more : 0)
        more = read(fd, bytes + length, MOST_BYTES - length);
    if (fd >= 0)
        close(fd);
    if (bytes != NULL)
        bytes[length] = '\0';
    *ret_length = length;
    return bytes;
}

/* Lines from a few before the line of a function to the first that ends it: a brace in column 1. */
static void put_lines(struct hp_json *json, const char *bytes, size_t length, uint32_t place)
{
    const char *at = bytes, *end = bytes + length;
    const uint32_t first = place > LINES_BEFORE ? place - LINES_BEFORE : 1;
    hp_json_put_u64(json, "first", first);
    hp_json_key(json, "lines");
    hp_json_begin_array(json);
    for (uint32_t line = 1; at < end && line < first + MOST_LINES; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const size_t its = stop != NULL ? (size_t)(stop - at) : (size_t)(end - at);
        if (line >= first)
            hp_json_string_bytes(json, at, its);
        if (line >= place && *at == '}')
            break;
        at += its + (stop != NULL);
    }
    hp_json_end_array(json);
}

static void put_source(struct hp_json *json, const struct hp_location *location, const char *program)
{
    size_t length;
    char *bytes = location->file != NULL ? read_source(location->file, program, &length) : NULL;
    if (bytes == NULL)
        return;
    hp_json_begin_object(json);
    hp_json_put_string(json, "file", location->file);
    hp_json_put_u64(json, "line", location->line);
    put_lines(json, bytes, length, location->line);
    hp_json_end_object(json);
    free(bytes);
}

void hp_page_put_sources(struct hp_json *json, const hotpath_results *results)
{
    const struct hotpath_section *timing = NULL;
    for (size_t at = 0; at < results->section_count; at++)
        if (strcmp(results->sections[at]->name, "timing") == 0)
            timing = results->sections[at];
    const size_t column = timing != NULL ? hp_section_find_column(timing, "location", strlen("location")) : 0;
    const struct hp_snapshot *first = results->model->run.sessions[0];
    const char *program = hp_snapshot_text(first, first->header.executable);
    hp_json_begin_array(json);
    for (size_t row = 0;
         timing != NULL && column < timing->column_count && row < timing->row_count && row < MOST_FUNCTIONS; row++)
        if (timing->rows[row].cells[column].has_value && timing->rows[row].cells[column].location != NULL)
            put_source(json, timing->rows[row].cells[column].location, program);
    hp_json_end_array(json);
}

/* --------------------------------------------------------------------------------------------------------- page */

#define PAGE_VERSION 1u
#define BUFFER_BYTES 16384u
#define MOST_TREE_ROWS 20000u /* more than a flame graph can show at once */

/* ------------------------------------------------------------------------------------------- sections */

static const char *unit_name(uint32_t unit)
{
    static const char *const names[] = {
        [HOTPATH_UNIT_TEXT] = "text",
        [HOTPATH_UNIT_COUNT] = "count",
        [HOTPATH_UNIT_NS] = "ns",
        [HOTPATH_UNIT_BYTES] = "bytes",
        [HOTPATH_UNIT_PERCENT] = "percent",
        [HOTPATH_UNIT_STATE] = "state",
        [HOTPATH_UNIT_NUMBER] = "number",
        [HOTPATH_UNIT_RATE] = "rate",
        [HOTPATH_UNIT_INSTANT] = "instant",
        [HOTPATH_UNIT_HISTOGRAM] = "histogram",
        [HOTPATH_UNIT_SERIES] = "series",
        [HOTPATH_UNIT_SIGNED_COUNT] = "count",
        [HOTPATH_UNIT_SIGNED_BYTES] = "bytes",
        [HOTPATH_UNIT_VALUE] = "value",
        [HOTPATH_UNIT_INSTRUCTIONS] = "instructions",
    };
    return unit < sizeof names / sizeof names[0] && names[unit] != NULL ? names[unit] : "text";
}

static const char *shape_of(const struct hp_column *column)
{
    return column->traits & HP_COLUMN_LOCATION ? "location"
           : column->traits & HP_COLUMN_THREAD ? "thread"
                                               : unit_name(column->shown.unit);
}

static void put_columns(struct hp_json *json, const struct hotpath_section *section)
{
    hp_json_key(json, "columns");
    hp_json_begin_array(json);
    for (size_t at = 0; at < section->column_count; at++) {
        const struct hp_column *column = &section->columns[at];
        hp_json_begin_object(json);
        hp_json_put_string(json, "key", column->shown.key);
        hp_json_put_string(json, "title", column->shown.title);
        hp_json_put_string(json, "unit", shape_of(column));
        hp_json_key(json, "shown");
        hp_json_bool(json, column->shown.visible != 0 && !(column->traits & HP_COLUMN_BELOW));
        if (column->traits & HP_COLUMN_ESTIMATE) {
            hp_json_key(json, "is_estimate");
            hp_json_bool(json, true);
        }
        if (column->traits & HP_COLUMN_BELOW) {
            hp_json_key(json, "is_below");
            hp_json_bool(json, true);
        }
        hp_json_end_object(json);
    }
    hp_json_end_array(json);
}

/* [id, cell, ...]; in a tree [id, number of the parent row or 0, cell, ...]. */
static void put_rows(struct hp_json *json, const struct hotpath_section *section)
{
    hp_json_key(json, "rows");
    hp_json_begin_array(json);
    for (size_t at = 0; at < section->row_count; at++) {
        const struct hp_row *row = &section->rows[at];
        hp_json_begin_array(json);
        hp_json_report_put_id(json, row->id);
        if (section->is_tree)
            hp_json_u64(json, row->parent);
        for (size_t column = 0; column < section->column_count; column++)
            hp_json_report_put_cell(json, &section->columns[column], &row->cells[column]);
        hp_json_end_array(json);
    }
    hp_json_end_array(json);
}

static void put_row_marks(struct hp_json *json, const struct hotpath_section *section, size_t number)
{
    const struct hp_row *row = &section->rows[number];
    char digits[24];
    struct hp_text key;
    bool has_any = false;
    for (size_t at = 0; at < section->column_count; at++) {
        const char *marks = row->cells[at].has_value ? hp_section_marks(&section->columns[at], row) : "";
        if (marks[0] == '\0')
            continue;
        if (!has_any) {
            hp_text_init(&key, digits, sizeof digits);
            hp_text_u64(&key, number);
            hp_json_key(json, hp_text_end(&key));
            hp_json_begin_object(json);
        }
        has_any = true;
        hp_json_put_string(json, section->columns[at].shown.key, marks);
    }
    if (has_any)
        hp_json_end_object(json);
}

/* By the number of the row and the key of the column: {"0": {"delay_p95_ns": "^"}}. The notes explain them. */
static void put_marks(struct hp_json *json, const struct hotpath_section *section)
{
    hp_json_key(json, "marks");
    hp_json_begin_object(json);
    for (size_t at = 0; at < section->row_count; at++)
        put_row_marks(json, section, at);
    hp_json_end_object(json);
}

static void put_notes(struct hp_json *json, const struct hotpath_section *section)
{
    hp_json_key(json, "notes");
    hp_json_begin_array(json);
    for (size_t at = 0; at < section->note_count; at++)
        hp_json_string(json, section->notes[at]);
    hp_json_end_array(json);
}

static void put_section(struct hp_json *json, const struct hotpath_section *section)
{
    hp_json_key(json, section->name);
    hp_json_begin_object(json);
    hp_json_report_put_head(json, section);
    if (section->summary != NULL)
        hp_json_put_string(json, "summary", section->summary);
    if (section->row_count == 0 && section->if_empty != NULL)
        hp_json_put_string(json, "if_empty", section->if_empty);
    hp_json_key(json, "is_tree");
    hp_json_bool(json, section->is_tree);
    put_notes(json, section);
    put_marks(json, section);
    put_columns(json, section);
    put_rows(json, section);
    hp_json_end_object(json);
}

/* ----------------------------------------------------------------------------------------------- page */

/* All rows of nearly all sections; the history is written once, separately. */
static void settle(struct hp_settings *ours, const struct hp_settings *settings)
{
    static const char sections[] = "all,-timeline,-cold";
    static const double percentiles[] = {50, 95, 99};
    struct hp_show_settings *show = &ours->show;
    hp_settings_copy(ours, settings);
    memcpy(show->report, sections, sizeof sections);
    show->functions_limit = HOTPATH_NO_LIMIT;
    show->calltree_limit = MOST_TREE_ROWS;
    show->functions_limit_is_given = true;
    show->columns[0] = show->sort[0] = '\0';
    show->percentile_count = sizeof percentiles / sizeof percentiles[0];
    for (size_t at = 0; at < show->percentile_count; at++)
        show->percentiles[at] = percentiles[at];
    show->by = HP_BY_FUNCTION;
    show->min_percent = 0;
    show->time_exclusive = false;
}

static bool put_data(struct hp_json *json, const hotpath_results *results, const struct hp_page_content *content)
{
    hp_json_begin_object(json);
    hp_json_put_u64(json, "page_version", PAGE_VERSION);
    hp_json_key(json, "is_served");
    hp_json_bool(json, content->is_served);
    if (content->session != NULL)
        hp_json_put_string(json, "session", content->session);
    if (content->is_flame)
        hp_json_put_string(json, "view", "flame");
    if (content->changes != NULL)
        hp_json_put_string(json, "changes", content->changes);
    hp_json_report_put_about(json, results);
    hp_json_key(json, "sections");
    hp_json_begin_object(json);
    for (size_t at = 0; at < results->section_count; at++)
        put_section(json, results->sections[at]);
    hp_json_end_object(json);
    hp_json_report_put_end(json, results);
    hp_json_key(json, "history");
    bool has_memory = hp_page_put_history(json, results->model);
    hp_json_key(json, "heat");
    has_memory &= hp_page_put_heat(json, results->model);
    if (content->has_sources) {
        hp_json_key(json, "sources");
        hp_page_put_sources(json, results);
    }
    hp_json_key(json, "tree_threads");
    has_memory &= hp_page_put_threads(json, results, content->is_served);
    hp_json_key(json, "stacks");
    has_memory &= hp_page_put_stacks(json, content);
    hp_json_end_object(json);
    return has_memory;
}

bool hp_page_write_data(struct hp_model *model, const struct hp_settings *settings,
                        const struct hp_page_content *content, struct hp_text *out)
{
    struct hp_text data;
    struct hp_json json;
    struct hp_settings *ours = hp_arena_take(model->arena, sizeof *ours);
    char *buffer = hp_arena_take(model->arena, BUFFER_BYTES);
    if (ours == NULL || buffer == NULL)
        return false;
    settle(ours, settings);
    const hotpath_results *results = hp_results_of_model(model, ours);
    if (results == NULL)
        return false;
    hp_text_init_stream(&data, buffer, BUFFER_BYTES, hp_page_put_data, out);
    hp_json_init(&json, &data, false);
    const bool has_memory = put_data(&json, results, content);
    hp_text_finish(&data);
    return has_memory;
}

/* Where the content security policy can be extended, in the first lines of the page. */
static size_t end_of_policy(const char *head)
{
    static const char place[] = "base-uri 'none'";
    for (size_t at = 0; at + sizeof place < hp_report_page_head_size; at++)
        if (memcmp(head + at, place, sizeof place - 1) == 0)
            return at;
    return 0;
}

/* The policy of a file allows no connection at all. */
void hp_page_write_head(bool is_served, struct hp_text *out)
{
    const char *head = (const char *)hp_report_page_head;
    const size_t before = is_served ? end_of_policy(head) : 0;
    hp_text_bytes(out, head, before);
    if (before > 0)
        hp_text_string(out, "connect-src 'self'; ");
    hp_text_bytes(out, head + before, hp_report_page_head_size - before);
}

void hp_page_write_tail(struct hp_text *out)
{
    hp_text_bytes(out, (const char *)hp_report_page_tail, hp_report_page_tail_size);
}

bool hp_page_write(struct hp_model *model, const struct hp_settings *settings,
                   const struct hp_page_content *content, struct hp_text *out)
{
    hp_page_write_head(content->is_served, out);
    const bool has_memory = hp_page_write_data(model, settings, content, out);
    hp_page_write_tail(out);
    return has_memory;
}
