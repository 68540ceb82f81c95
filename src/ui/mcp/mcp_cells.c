/* Texts of the measured program as an answer shows them. SPDX-License-Identifier: MIT */
#include "mcp_cells.h"

#include <string.h>

#include "table.h"
#include "units.h"
#include "utf8.h"

/* The whole characters of a text that fit in that many bytes. */
static size_t cut_length(const char *bytes, size_t length, size_t most)
{
    if (length <= most)
        return length;
    while (most > 0 && ((unsigned char)bytes[most] & 0xc0) == 0x80)
        most--;
    return most;
}

struct hp_mcp_cell_text hp_mcp_cell_text(const char *text)
{
    char safe[4 * HP_MCP_NAME_BYTES];
    struct hp_mcp_cell_text cell;
    struct hp_text made, out;
    hp_text_init(&made, safe, sizeof safe);
    hp_utf8_put_safe(&made, text, strnlen(text, sizeof safe / 2));
    hp_text_end(&made);
    hp_text_init(&out, cell.bytes, sizeof cell.bytes);
    const size_t length = strlen(safe), kept = cut_length(safe, length, HP_MCP_NAME_BYTES - 20);
    for (size_t at = 0; at < kept && out.length < HP_MCP_NAME_BYTES; at++)
        if (safe[at] == '|' && (at == 0 || safe[at - 1] != '\\')) /* what divides cells; a cell stays the same */
            hp_text_string(&out, "\\|");
        else
            hp_text_char(&out, safe[at]);
    if (kept < length)
        hp_text_string(&out, "...");
    hp_text_end(&out);
    return cell;
}

bool hp_mcp_is_name(const char *name, const char *asked)
{
    return strcmp(name, asked) == 0 || strcmp(hp_mcp_cell_text(name).bytes, asked) == 0;
}

/* Whether a name could be taken for words, or for marks around words. */
static bool is_odd(const char *name)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_:~.+-/<>@$()";
    return name[0] == '\0' || name[strspn(name, plain)] != '\0';
}

/* A quote in it has a backslash, and so has a backslash that would give one to a quote. */
static struct hp_mcp_quoted put_between(const char *mark, const char *text)
{
    struct hp_mcp_quoted quoted;
    const struct hp_mcp_cell_text cell = hp_mcp_cell_text(text);
    struct hp_text out;
    hp_text_init(&out, quoted.bytes, sizeof quoted.bytes);
    hp_text_string(&out, mark);
    for (const char *at = cell.bytes; *at != '\0'; at++) {
        const char *next = at + strspn(at, "\\");
        if (*at == '"' || (*at == '\\' && (*next == '"' || *next == '\0')))
            hp_text_char(&out, '\\');
        hp_text_char(&out, *at);
    }
    hp_text_string(&out, mark);
    hp_text_end(&out);
    return quoted;
}

struct hp_mcp_quoted hp_mcp_quoted(const char *text) { return put_between(is_odd(text) ? "\"" : "", text); }

struct hp_mcp_quoted hp_mcp_in_quotes(const char *text) { return put_between("\"", text); }

/* -------------------------------------------------------------------------------------------------------- cells */

static const struct hp_cell *cell_of(const struct hotpath_section *section, const struct hp_row *row,
                                     const char *key)
{
    const size_t column = row != NULL ? hp_section_column(section, key) : section->column_count;
    return column < section->column_count && row->cells[column].has_value ? &row->cells[column] : NULL;
}

const char *hp_mcp_row_text(const struct hotpath_section *section, const struct hp_row *row, const char *key)
{
    const struct hp_cell *cell = cell_of(section, row, key);
    return cell != NULL && hp_unit_is_text(section->columns[hp_section_column(section, key)].shown.unit)
               ? cell->text
               : NULL;
}

double hp_mcp_row_number(const struct hotpath_section *section, const struct hp_row *row, const char *key)
{
    const struct hp_cell *cell = cell_of(section, row, key);
    return cell != NULL ? hp_cell_number(cell, section->columns[hp_section_column(section, key)].shown.unit) : 0;
}

struct hp_mcp_cell_text hp_mcp_column_shown(const struct hotpath_section *section, const struct hp_row *row,
                                            size_t column)
{
    char bytes[2048];
    struct hp_text text;
    const struct hp_cell *cell = &row->cells[column];
    if (!cell->has_value)
        return hp_mcp_cell_text("-");
    if (hp_unit_is_text(section->columns[column].shown.unit))
        return hp_mcp_cell_text(cell->text != NULL ? cell->text : "-");
    hp_text_init(&text, bytes, sizeof bytes);
    hp_table_put_cell(&text, &section->columns[column], row, cell);
    if (section->columns[column].shown.unit == HOTPATH_UNIT_INSTRUCTIONS)
        hp_text_string(&text, " instructions");
    return hp_mcp_cell_text(hp_text_end(&text));
}

struct hp_mcp_cell_text hp_mcp_row_shown(const struct hotpath_section *section, const struct hp_row *row,
                                         const char *key)
{
    return cell_of(section, row, key) != NULL ? hp_mcp_column_shown(section, row, hp_section_column(section, key))
                                              : hp_mcp_cell_text("-");
}

struct hp_mcp_quoted hp_mcp_row_quoted(const struct hotpath_section *section, const struct hp_row *row,
                                       const char *key)
{
    const char *text = hp_mcp_row_text(section, row, key);
    return hp_mcp_quoted(text != NULL ? text : "-");
}

struct hp_mcp_cell_text hp_mcp_duration(const struct hp_run *run, double ns)
{
    struct hp_mcp_cell_text cell;
    struct hp_text text;
    hp_text_init(&text, cell.bytes, sizeof cell.bytes);
    if (hp_run_counts_instructions(run))
        hp_text_format(&text, "%.0f instructions", ns);
    else
        hp_units_ns(&text, ns);
    hp_text_end(&text);
    return cell;
}

const struct hp_row *hp_mcp_row_named(const struct hotpath_section *section, const char *name)
{
    const size_t column = hp_section_name_column(section);
    for (size_t at = 0; column < section->column_count && at < section->row_count; at++)
        if (section->rows[at].cells[column].text != NULL &&
            hp_mcp_is_name(section->rows[at].cells[column].text, name))
            return &section->rows[at];
    return NULL;
}
