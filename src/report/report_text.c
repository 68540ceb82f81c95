/* A whole report as text for people. SPDX-License-Identifier: MIT */
#include "table.h"

#include <inttypes.h>
#include <string.h>

#include "arena.h"
#include "profile.h"
#include "section.h"
#include "text.h"
#include "time_range.h"
#include "trust_line.h"
#include "units.h"
#include "utf8.h"

/* -------------------------------------------------------------------------------------------------------- brief */

/*
 * The short report: what is shown unless sections were asked for. Functions are in one table, timing and verdict
 * side by side; flows keep a table each, of a few rows, as long as all of it fits on a screen; every other section
 * is a line with its totals. Rows without a number but zero, and sections that have no others, are left out.
 *
 * The short report.
 */
#define HP_BRIEF_ROWS 5u        /* of a table beside that of functions */
#define HP_BRIEF_FOUND_ROWS 15u /* of one that takes its place */
#define HP_BRIEF_LINES 45u      /* of the whole, at 80 columns, as far as tables can help it */

struct hp_brief {
    const struct hotpath_section *functions; /* timing and verdict, side by side; NULL: no function was measured */
    const char *why_none;                    /* the text in that case, or NULL */
    const struct hotpath_section *tables[HP_MAX_SECTIONS]; /* shown as they are, with fewer rows */
    size_t table_count;
    const struct hotpath_section *lines[HP_MAX_SECTIONS]; /* shown as a line: the totals, or the names of rows */
    size_t line_count;
    size_t lines_left; /* on the screen; private */
};

static const struct hotpath_section *section_of(const hotpath_results *results, enum hp_brief_role role)
{
    for (size_t at = 0; at < results->section_count; at++)
        if (results->sections[at]->type->in_brief == role)
            return results->sections[at];
    return NULL;
}

/*
 * Whether no sections were requested, and there is a verdict to put first. Verdicts are over all threads: they
 * cannot be joined with rows per thread.
 */
static bool brief_applies(const hotpath_results *results)
{
    const struct hotpath_section *verdicts = section_of(results, HP_BRIEF_VERDICTS);
    return hp_results_is_short(results) && results->settings->show.by != HP_BY_THREAD && verdicts != NULL &&
           results->headline != NULL;
}

/* ---------------------------------------------------------------------------------------------- functions */

static const struct hp_row *row_named(const struct hotpath_section *section, const char *name)
{
    const size_t column = hp_section_name_column(section);
    for (size_t at = 0; column < section->column_count && at < section->row_count; at++)
        if (strcmp(section->rows[at].cells[column].text, name) == 0)
            return &section->rows[at];
    return NULL;
}

/* The verdict's visible columns, except the name, which timing has, and the sentences below its table. */
static bool is_joined(const struct hp_column *column)
{
    return column->shown.visible && !(column->traits & (HP_COLUMN_NAME | HP_COLUMN_BELOW));
}

/* The columns of `verdicts`, appended to those of `timing`. */
struct join {
    const struct hotpath_section *timing, *verdicts;
    size_t columns[HP_MAX_COLUMNS]; /* the verdict columns that are taken */
    size_t count;
};

/* Both tables have a column `self`, which HOTPATH_COLUMNS makes visible. */
static bool has_title(const struct hotpath_section *section, const char *title)
{
    for (size_t at = 0; at < section->column_count; at++)
        if (section->columns[at].shown.visible && strcmp(section->columns[at].shown.title, title) == 0)
            return true;
    return false;
}

static void choose_columns(struct join *join)
{
    const size_t room = HP_MAX_COLUMNS - join->timing->column_count;
    for (size_t at = 0; at < join->verdicts->column_count && join->count < room; at++)
        if (is_joined(&join->verdicts->columns[at]) &&
            !has_title(join->timing, join->verdicts->columns[at].shown.title))
            join->columns[join->count++] = at;
}

static bool join_row(const hotpath_results *results, const struct join *join, struct hp_row *row)
{
    const size_t own = join->timing->column_count;
    struct hp_cell *cells = hp_arena_take_array(results->model->arena, own + join->count, sizeof *cells);
    if (cells == NULL)
        return false;
    memcpy(cells, row->cells, own * sizeof *cells);
    memset(cells + own, 0, join->count * sizeof *cells);
    const struct hp_row *verdict = row_named(join->verdicts, cells[hp_section_name_column(join->timing)].text);
    for (size_t at = 0; verdict != NULL && at < join->count; at++)
        cells[own + at] = verdict->cells[join->columns[at]];
    row->cells = cells;
    return true;
}

static const struct hotpath_section *join_tables(const hotpath_results *results, struct join *join)
{
    const struct hotpath_section *timing = join->timing;
    struct hotpath_section *joined = hp_arena_take(results->model->arena, sizeof *joined);
    struct hp_row *rows = hp_arena_take_array(results->model->arena, timing->row_count + 1, sizeof *rows);
    if (joined == NULL || rows == NULL)
        return NULL;
    *joined = *timing;
    choose_columns(join);
    for (size_t at = 0; at < join->count; at++)
        joined->columns[joined->column_count++] = join->verdicts->columns[join->columns[at]];
    for (size_t at = 0; at < join->verdicts->note_count; at++)
        hp_section_note(joined, join->verdicts->notes[at]);
    memcpy(rows, timing->rows, timing->row_count * sizeof *rows);
    joined->rows = rows;
    for (size_t at = 0; at < timing->row_count; at++)
        if (!join_row(results, join, &rows[at]))
            return NULL;
    return joined;
}

/* ---------------------------------------------------------------------------------------------- what is empty */

static bool is_zero(const struct hp_column *column, const struct hp_cell *cell)
{
    if (!cell->has_value || hp_unit_is_text(column->shown.unit))
        return true;
    if (column->shown.unit == HOTPATH_UNIT_HISTOGRAM || column->shown.unit == HOTPATH_UNIT_SERIES)
        return false;
    return hp_cell_number(cell, column->shown.unit) == 0;
}

/* Whether a row has no number but zero in the columns that are shown. A row of texts alone says something. */
static bool is_empty_row(const struct hotpath_section *section, const struct hp_row *row)
{
    bool has_numbers = false;
    for (size_t at = 0; at < section->column_count; at++) {
        const struct hp_column *column = &section->columns[at];
        if (!column->shown.visible)
            continue;
        has_numbers |= !hp_unit_is_text(column->shown.unit);
        if (!is_zero(column, &row->cells[at]))
            return false;
    }
    return has_numbers;
}

static bool is_empty(const struct hotpath_section *section)
{
    for (size_t at = 0; at < section->row_count; at++)
        if (!is_empty_row(section, &section->rows[at]))
            return false;
    return true;
}

/* A copy without empty rows. NULL: no memory. */
static struct hotpath_section *without_empty(const hotpath_results *results, const struct hotpath_section *section)
{
    struct hotpath_section *shorter = hp_arena_take(results->model->arena, sizeof *shorter);
    struct hp_row *rows = hp_arena_take_array(results->model->arena, section->row_count + 1, sizeof *rows);
    if (shorter == NULL || rows == NULL)
        return NULL;
    *shorter = *section;
    shorter->rows = rows;
    shorter->row_count = 0;
    for (size_t at = 0; at < section->row_count; at++)
        if (!is_empty_row(section, &section->rows[at]))
            rows[shorter->row_count++] = section->rows[at];
    return shorter;
}

/* ------------------------------------------------------------------------------------------------ the rest */

#define LINES_AROUND 13u      /* title, verdict, trust line and the like, at 80 columns */
#define LINES_OF_A_TABLE 7u   /* around its rows: a blank one, heading, rules and titles */
#define LINES_OF_FUNCTIONS 6u /* the same without blank and heading, with two of notes */
#define LEAST_ROWS 3u         /* a table of fewer, where there are more, says less than a line */

/* A table of as many rows as fit, or else the line that is counted already. */
static bool add_table(const hotpath_results *results, struct hp_brief *brief, const struct hotpath_section *section,
                      size_t most)
{
    struct hotpath_section *shorter = without_empty(results, section);
    if (shorter == NULL)
        return false;
    const size_t around = LINES_OF_A_TABLE - 1 + shorter->note_count + (shorter->summary != NULL);
    const size_t left = brief->lines_left > around ? brief->lines_left - around : 0;
    const size_t wanted = shorter->row_count < most ? shorter->row_count : most;
    const size_t rows = wanted < left ? wanted : left;
    if (rows < wanted && rows < LEAST_ROWS) {
        brief->lines[brief->line_count++] = section;
        return true;
    }
    shorter->row_count = rows;
    brief->lines_left -= around + rows;
    brief->tables[brief->table_count++] = shorter;
    return true;
}

/* Each section that is not in the table of functions has a line at least. */
static void count_lines(const hotpath_results *results, struct hp_brief *brief)
{
    size_t used = LINES_AROUND + (brief->functions != NULL ? brief->functions->row_count + LINES_OF_FUNCTIONS : 0);
    for (size_t at = 0; at < results->section_count; at++) {
        const enum hp_brief_role role = results->sections[at]->type->in_brief;
        used += role != HP_BRIEF_FUNCTIONS && role != HP_BRIEF_VERDICTS && !is_empty(results->sections[at]);
    }
    brief->lines_left = used < HP_BRIEF_LINES ? HP_BRIEF_LINES - used : 0;
}

static bool add_section(const hotpath_results *results, struct hp_brief *brief,
                        const struct hotpath_section *section)
{
    const enum hp_brief_role role = section->type->in_brief;
    if (is_empty(section))
        return true;
    if (role == HP_BRIEF_WHOLE)
        brief->tables[brief->table_count++] = section;
    if (role == HP_BRIEF_TABLE)
        return add_table(results, brief, section, HP_BRIEF_ROWS);
    if (role == HP_BRIEF_UNMEASURED && brief->functions == NULL)
        return add_table(results, brief, section, HP_BRIEF_FOUND_ROWS);
    if (role == HP_BRIEF_LINE || role == HP_BRIEF_UNMEASURED)
        brief->lines[brief->line_count++] = section;
    return true;
}

/* False: the arena of the results has no memory. */
static bool brief_make(const hotpath_results *results, struct hp_brief *ret_brief)
{
    const struct hotpath_section *timing = section_of(results, HP_BRIEF_FUNCTIONS);
    const struct hotpath_section *verdicts = section_of(results, HP_BRIEF_VERDICTS);
    const struct hotpath_section *first = timing != NULL ? timing : verdicts;
    memset(ret_brief, 0, sizeof *ret_brief);
    ret_brief->why_none = first != NULL ? first->if_empty : NULL;
    if (timing != NULL && verdicts != NULL && timing->row_count > 0) {
        ret_brief->functions = join_tables(results, &(struct join){.timing = timing, .verdicts = verdicts});
        if (ret_brief->functions == NULL)
            return false;
    }
    count_lines(results, ret_brief);
    for (size_t at = 0; at < results->section_count; at++)
        if (!add_section(results, ret_brief, results->sections[at]))
            return false;
    return true;
}

/* -------------------------------------------------------------------------------------------------- report text */

#define LINE_BYTES 2048u
#define LINES_ON_A_SCREEN 40u /* with more below it, the verdict is said again at the end */
#define LINES_AROUND_ROWS 6u  /* of a table: heading, rules, a blank line */

/* ------------------------------------------------------------------------------------------ what comes first */

/* ", from 1.00 s to 3.00 s of 8.00 s", or ", up to 3.00 s of 8.00 s" */
static void put_range(const struct hp_time_range *range, struct hp_text *line)
{
    if (range->from_ns > 0) {
        hp_text_format(line, ", from %s", hp_ns_text((double)range->from_ns).bytes);
    }
    hp_text_format(line, "%s%s of %s", range->from_ns > 0 ? " to " : ", up to ",
                   hp_ns_text((double)range->to_ns).bytes, hp_ns_text((double)range->whole_ns).bytes);
}

static void put_groups(const hotpath_results *results, struct hp_text *line)
{
    const char *before = "";
    for (size_t at = 0; at < results->section_count; at++) {
        const char *group = results->sections[at]->group;
        if (strcmp(group, before) == 0)
            continue; /* sections of a group stand side by side */
        hp_text_format(line, "%s%s", at == 0 ? " | " : ", ", group);
        before = group;
    }
}

static void put_title(const hotpath_results *results, struct hp_text *line)
{
    const struct hp_run *run = &results->model->run;
    if (hp_run_counts_instructions(run))
        hp_text_format(line, "[hotpath] %" PRIu64 " instructions", hp_run_elapsed_ns(run));
    else
        hp_text_format(line, "[hotpath] %s", hp_ns_text((double)hp_run_elapsed_ns(run)).bytes);
    if (results->model->run.range != NULL)
        put_range(results->model->run.range, line);
    if (results->model->run.process_count > 1) {
        hp_text_format(line, ", %zu processes", results->model->run.process_count);
    }
    if (!brief_applies(results))
        put_groups(results, line);
    if (results->label[0] != '\0') {
        hp_text_string(line, " | ");
        hp_utf8_put_safe(line, results->label, strlen(results->label));
    }
}

static void put_metadata(const hotpath_results *results, struct hp_text *line)
{
    size_t length;
    bool is_first = true;
    hp_text_string(line, "metadata: ");
    for (const char *rest = results->metadata, *item; (item = hp_text_next_item(&rest, &length)) != NULL;) {
        hp_text_string(line, is_first ? "" : ", ");
        hp_utf8_put_safe(line, item, length);
        is_first = false;
    }
}

/* What a reader must know about the sessions before he reads their numbers: in this line and in the next. */
static void put_cut_off(const hotpath_results *results, struct hp_text *line)
{
    const struct hp_run *run = &results->model->run;
    if (run->cut_off == 0)
        return;
    hp_text_string(line, "warning: ");
    hp_trust_put_cut_off(run, line);
    if (run->count == 1) {
        hp_text_format(line, ": %zu of %" PRIu64 " bytes", run->sessions[0]->size, run->sessions[0]->header.used);
    }
}

/* Whether a process of a run went on as another program, which has a session of its own. */
static bool became_another(const struct hp_run *run, const struct hp_snapshot *session)
{
    const struct hp_process_id process = hp_process_id_of(&session->header);
    for (size_t at = 0; at < run->count; at++)
        if (hp_process_id_is_same(hp_process_id_of(&run->sessions[at]->header), process) &&
            run->sessions[at]->header.exec_count > session->header.exec_count)
            return true;
    return false;
}

/*
 * Processes that ended in the middle of measured calls, and did not become another program: their last calls are
 * not whole.
 */
static size_t count_cut_short(const hotpath_results *results)
{
    size_t count = 0;
    const struct hp_run *run = &results->model->run;
    for (size_t at = 0; at < run->count; at++) {
        const struct hp_session_sums *session = &results->model->profile->sessions[at];
        count += session->open > 0 && hp_snapshot_state(session->snapshot) == HP_SNAPSHOT_ENDED &&
                 !became_another(run, session->snapshot);
    }
    return count;
}

/* "the program was killed by SIGSEGV" */
static void put_killed(const hotpath_results *results, struct hp_text *line)
{
    hp_text_format(line, "the program was killed by %s", results->model->killed_by);
}

/*
 * A process that leaves by _exit or exec with no measured call open has told all it knows: there is nothing to say
 * about that.
 */
static void put_ended(const hotpath_results *results, struct hp_text *line)
{
    const struct hp_run *run = &results->model->run;
    const size_t cut_short = count_cut_short(results);
    const bool is_killed = results->model->killed_by != NULL;
    if (is_killed)
        put_killed(results, line);
    if (cut_short == 0 || (run->count == 1 && (run->cut_off > 0 || results->trust->is_sandboxed)))
        return;
    if (is_killed)
        hp_text_string(line, "; ");
    if (run->process_count > 1) {
        hp_text_format(line, "%zu of %zu%s%s", cut_short, run->process_count,
                       cut_short == 1 ? " processes was" : " processes were",
                       is_killed ? " cut off in the middle of measured calls"
                                 : " killed, or ended by _exit, in the middle of measured calls");
    } else {
        hp_text_string(line, is_killed
                                 ? "it was in the middle of measured calls"
                                 : "the process was killed, or ended by _exit, in the middle of measured calls");
    }
    hp_text_string(line, ", which are counted up to their last recorded time");
}

/* Makes one line in scratch memory with `put` and writes it, if not empty, wrapped and in the style of `code`. */
static void put_line(const hotpath_results *results, struct hp_text *out, const struct hp_table_style *style,
                     char *scratch, void (*put)(const hotpath_results *, struct hp_text *), const char *code)
{
    struct hp_text line;
    hp_text_init(&line, scratch, LINE_BYTES);
    put(results, &line);
    if (line.length > 0)
        hp_prose_put(style, out, scratch, line.length, &(struct hp_prose){.code = code});
}

static void put_trust(const hotpath_results *results, struct hp_text *line) { hp_trust_put(results->trust, line); }

/* ----------------------------------------------------------------------------------------------- short report */

static void put_headline(const hotpath_results *results, struct hp_text *out, const struct hp_table_style *style)
{
    hp_prose_put(style, out, results->headline, strlen(results->headline), &(struct hp_prose){.has_verdict = true});
}

/* Its first words: what follows is about how it was measured. */
static size_t first_words(const char *summary)
{
    const char *end = strstr(summary, "; "), *stop = strstr(summary, ". ");
    if (end == NULL || (stop != NULL && stop < end))
        end = stop;
    return end != NULL ? (size_t)(end - summary) : strlen(summary);
}

static const char *name_of_row(const struct hotpath_section *section, size_t column, size_t row)
{
    const char *name = section->rows[row].cells[column].text;
    return name != NULL ? name : "";
}

static bool is_among(const char *name, const char *const *names, size_t count)
{
    for (size_t at = 0; at < count; at++)
        if (strcmp(name, names[at]) == 0)
            return true;
    return false;
}

/* Calls of one function, and channels with one label, have the same name: it is printed once. */
static void put_row_names(const struct hotpath_section *section, struct hp_text *line)
{
    const size_t column = hp_section_name_column(section);
    const char *names[HP_BRIEF_ROWS];
    size_t count = 0;
    for (size_t at = 0; column < section->column_count && at < section->row_count; at++) {
        const char *name = name_of_row(section, column, at);
        if (is_among(name, names, count))
            continue;
        hp_text_string(line, count > 0 ? ", " : "");
        if (count == HP_BRIEF_ROWS) {
            hp_text_string(line, "...");
            return;
        }
        hp_utf8_put_safe(line, name, strlen(name));
        names[count++] = name;
    }
}

/* "cpu: 200.64 ms, ...", or where there are no totals the names of its rows. */
static void put_totals(const struct hotpath_section *section, struct hp_text *out,
                       const struct hp_table_style *style)
{
    static const char total[] = "Total: ", estimated[] = "Estimated: ";
    char bytes[1024];
    struct hp_text line;
    const char *summary = section->summary;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_format(&line, "%s: ", section->name);
    if (summary != NULL && strncmp(summary, total, sizeof total - 1) == 0)
        summary += sizeof total - 1;
    if (summary != NULL && strncmp(summary, estimated, sizeof estimated - 1) == 0) {
        summary += sizeof estimated - 1;
        hp_text_string(&line, "about ");
    }
    if (summary != NULL)
        hp_text_bytes(&line, summary, first_words(summary));
    else
        put_row_names(section, &line);
    hp_prose_put_plain(style, out, bytes, line.length);
}

/* Whether `hotpath report` can read the session after this report. */
static bool can_be_shown_again(const hotpath_results *results)
{
    return !results->settings->output.is_session_removed && results->trust->storage == HP_STORAGE_FILE;
}

static bool put_brief(const hotpath_results *results, struct hp_text *out, const struct hp_table_style *style)
{
    struct hp_brief brief;
    struct hp_said said = {0};
    if (!brief_make(results, &brief))
        return false;
    hp_text_char(out, '\n');
    put_headline(results, out, style);
    if (brief.functions == NULL && brief.why_none != NULL)
        hp_prose_put_plain(style, out, brief.why_none, strlen(brief.why_none));
    if (brief.functions != NULL && !hp_table_put(results, brief.functions, out, style, &said))
        return false;
    for (size_t at = 0; at < brief.line_count; at++)
        put_totals(brief.lines[at], out, style);
    if (brief.line_count > 0 && can_be_shown_again(results))
        hp_prose_put_note(style, out, "All tables: hotpath report -v; one table: hotpath report --section NAME");
    for (size_t at = 0; at < brief.table_count; at++)
        if (!hp_table_put_section(results, brief.tables[at], out, style, &said))
            return false;
    return true;
}

static bool put_sections(const hotpath_results *results, struct hp_text *out, const struct hp_table_style *style)
{
    struct hp_said said = {0};
    for (size_t at = 0; at < results->section_count; at++)
        if (!hp_table_put_section(results, results->sections[at], out, style, &said))
            return false;
    return true;
}

/* About how many lines there are below the verdict. */
static size_t line_count(const hotpath_results *results)
{
    size_t count = 0;
    for (size_t at = 0; at < results->section_count; at++)
        count += results->sections[at]->row_count + results->sections[at]->note_count + LINES_AROUND_ROWS;
    return count;
}

bool hp_report_text_render(const hotpath_results *results, struct hp_text *out, const struct hp_table_style *style)
{
    char *scratch = hp_arena_take(results->model->arena, LINE_BYTES);
    if (scratch == NULL)
        return false;
    put_line(results, out, style, scratch, put_title, HP_STYLE_BOLD);
    if (results->metadata[0] != '\0')
        put_line(results, out, style, scratch, put_metadata, NULL);
    put_line(results, out, style, scratch, put_cut_off, NULL);
    put_line(results, out, style, scratch, put_ended, NULL);
    for (size_t at = 0; at < results->warning_count; at++)
        hp_prose_put_warning(style, out, results->warnings[at]);
    const bool is_brief = brief_applies(results);
    if (is_brief ? !put_brief(results, out, style) : !put_sections(results, out, style))
        return false;
    hp_text_char(out, '\n');
    put_line(results, out, style, scratch, put_trust, HP_STYLE_DIM);
    if (!is_brief && results->headline != NULL && line_count(results) > LINES_ON_A_SCREEN)
        put_headline(results, out, style);
    return true;
}
