/*
 * The third tab: the call tree, of measured or of sampled functions. Times are in threads, as everywhere; a bar
 * says what they do. SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "views.h"
#include "wait_cause.h"

/* The cause that a text begins with: "disk: /data/x.db". */
static uint32_t cause_named(const char *text)
{
    uint32_t cause = 0;
    for (; cause < HP_WAIT_CAUSES; cause++) {
        const char *name = hp_wait_cause_name(cause);
        const size_t length = strlen(name);
        if (strncmp(text, name, length) == 0 && (text[length] == '\0' || text[length] == ':'))
            break;
    }
    return cause;
}

/* ------------------------------------------------------------------------------------------ measured functions */

/* What a tree node does itself: CPU time, and waiting by cause. */
static void find_own_parts(const struct hotpath_section *section, const struct hp_row *row, double elapsed,
                           double *parts)
{
    const size_t cpu = hp_section_find_column(section, "own_cpu_ns", 10);
    const size_t waits = hp_section_find_column(section, "waits_ns", 8);
    if (cpu < section->column_count && row->cells[cpu].has_value)
        parts[HP_PART_USER] = row->cells[cpu].number / elapsed;
    if (waits >= section->column_count || !row->cells[waits].has_value || row->cells[waits].histogram == NULL)
        return;
    const struct hotpath_histogram *causes = row->cells[waits].histogram;
    for (size_t at = 0; causes->labels != NULL && at < causes->bars; at++)
        parts[hp_part_of_cause(cause_named(causes->labels[at]))] += (double)causes->amounts[at] / elapsed;
}

/* The unknown rest of a node's own time is waiting; what exceeds its own time is cut. */
static void fit_parts(double *parts, double own)
{
    double known = 0;
    for (unsigned part = 0; part < HP_PARTS; part++)
        known += parts[part];
    for (unsigned part = 0; known > own && part < HP_PARTS; part++)
        parts[part] *= own / known;
    if (known < own)
        parts[HP_PART_SLEEP] += own - known;
}

/* Adds children to their parents: rows come parent first. */
static void add_to_parents(const struct hotpath_section *section, double *parts)
{
    for (size_t row = section->row_count; row-- > 0;) {
        const uint32_t parent = section->rows[row].parent;
        for (unsigned part = 0; parent > 0 && part < HP_PARTS; part++)
            parts[(parent - 1) * HP_PARTS + part] += parts[row * HP_PARTS + part];
    }
}

size_t hp_view_polls_column(const struct hotpath_section *section)
{
    const size_t polls = hp_section_find_column(section, "polls", 5);
    return polls < section->column_count && section->columns[polls].shown.visible ? polls : section->column_count;
}

/* A row of the section, and where its numbers are. */
struct tree {
    const struct hotpath_section *section;
    size_t name, total, self, calls, polls;
    double elapsed, sum; /* of own times */
    const struct hp_row *row;
    const double *parts; /* of the row */
};

static double number_of(const struct tree *tree, size_t column) { return tree->row->cells[column].number; }

static struct hp_table_cell rate_of(const struct tree *tree, size_t column)
{
    const struct hp_cell *cell = &tree->row->cells[column];
    return (struct hp_table_cell){.has_value = cell->has_value,
                                  .number = (double)cell->count * 1e9 / tree->elapsed};
}

static void show_tree(struct hp_table_fields *to, const struct tree *tree)
{
    HP_SHOW(to, tree->row->cells[tree->name].text, "name", "Call tree", HP_CELL_NAME, HP_FIGURE_TEXT, 24, 0,
            "Functions, indented below their callers.");
    HP_SHOW(to, number_of(tree, tree->total) / tree->elapsed, "total", "Total", HP_CELL_FIGURE, HP_FIGURE_THREADS,
            6, 0, "Threads in the function or its callees, on average.");
    HP_SHOW(to, number_of(tree, tree->self) / tree->elapsed, "own", "Own", HP_CELL_FIGURE, HP_FIGURE_THREADS, 6, 0,
            "Threads in the function itself, on average.");
    HP_SHOW_IF(to, tree->sum > 0, tree->sum > 0 ? 100 * number_of(tree, tree->total) / tree->sum : 0, "share",
               "Share", HP_CELL_FIGURE, HP_FIGURE_PERCENT, 6, 1, "Of the time of all threads in functions.");
    HP_SHOW(to, (struct hp_table_cell){.values = tree->parts}, "what", "Activity", HP_CELL_BAR, HP_FIGURE_TEXT, 20,
            2, "What they do there, callees included.");
    HP_SHOW(to, rate_of(tree, tree->calls), "calls_s", "Calls/s", HP_CELL_FIGURE, HP_FIGURE_RATE, 7, 3,
            "Calls per second.");
    if (tree->polls < tree->section->column_count)
        HP_SHOW(to, rate_of(tree, tree->polls), "polls_s", "Polls/s", HP_CELL_FIGURE, HP_FIGURE_RATE, 7, 4,
                "How often tasks ran, per second.");
}

static void make_measured(struct hp_console *console, const struct hotpath_section *section, double *parts)
{
    struct hp_table *table = &console->table;
    struct hp_table_fields to = {.table = table};
    struct tree tree = {.section = section,
                        .name = hp_section_column(section, "name"),
                        .total = hp_section_column(section, "total_ns"),
                        .self = hp_section_column(section, "self_ns"),
                        .calls = hp_section_column(section, "calls"),
                        .polls = hp_view_polls_column(section),
                        .elapsed = console->watched.elapsed_ns > 0 ? (double)console->watched.elapsed_ns : 1};
    show_tree(&to, &tree);
    struct hp_table_row *rows = hp_table_make_rows(table, &console->arena, section->row_count);
    for (size_t row = 0; row < section->row_count; row++)
        tree.sum += section->rows[row].cells[tree.self].number;
    for (size_t row = 0; rows != NULL && row < section->row_count; row++) {
        tree.row = &section->rows[row];
        tree.parts = &parts[row * HP_PARTS];
        hp_view_begin_row(console, section, row, false);
        find_own_parts(section, tree.row, tree.elapsed, &parts[row * HP_PARTS]);
        fit_parts(&parts[row * HP_PARTS], number_of(&tree, tree.self) / tree.elapsed);
        to = (struct hp_table_fields){.table = table, .row = &rows[row]};
        show_tree(&to, &tree);
    }
    add_to_parents(section, parts);
}

/* ------------------------------------------------------------------------------------------- sampled functions */

#define SMALL_PERCENT 1 /* of all work: a smaller row is folded until it is opened */

/* The same of the section of stacks. */
struct stack_tree {
    const struct hotpath_section *section;
    size_t name, library, total, self, percent, percent_wall, waiting, idle, waits_for;
    double ns, sum; /* of work */
    bool has_waits;
    const struct hp_row *row;
    const double *parts;
};

static double cell_of(const struct stack_tree *tree, size_t column)
{
    const struct hp_cell *cell = &tree->row->cells[column];
    return hp_cell_number(cell, tree->section->columns[column].shown.unit);
}

static double waiting_of(const struct stack_tree *tree)
{
    const double waiting = cell_of(tree, tree->waiting) - cell_of(tree, tree->idle);
    return waiting > 0 ? waiting : 0;
}

static double work_of(const struct stack_tree *tree) { return cell_of(tree, tree->total) + waiting_of(tree); }

static void show_stack_tree(struct hp_table_fields *to, const struct stack_tree *tree)
{
    const struct hp_column *wall = &tree->section->columns[tree->percent_wall];
    HP_SHOW(to, tree->row->cells[tree->name].text, "name", "Call tree", HP_CELL_NAME, HP_FIGURE_TEXT, 48, 0,
            "Functions found in stacks, indented below their callers.");
    HP_SHOW(to, work_of(tree) / tree->ns, "total", "Total", HP_CELL_FIGURE, HP_FIGURE_THREADS, 5, 0,
            "Threads in the function or its callees, on average: on a CPU or waiting, without idle time.");
    HP_SHOW(to, cell_of(tree, tree->percent), "percent_total", "CPU %", HP_CELL_FIGURE, HP_FIGURE_PERCENT, 5, 0,
            "Of the CPU time of all functions, that on this path, callees included.");
    if (wall->shown.visible)
        HP_SHOW(to, cell_of(tree, tree->percent_wall), "percent_wall", "Wall %", HP_CELL_FIGURE, HP_FIGURE_PERCENT,
                5, 3, "Of the time in which any thread ran, that in which this path kept the program busy.");
    HP_SHOW(to, cell_of(tree, tree->self) / tree->ns, "own", "Own CPU", HP_CELL_FIGURE, HP_FIGURE_THREADS, 5, 2,
            "CPUs that the function kept busy itself on this path, on average.");
    HP_SHOW(to, (struct hp_table_cell){.values = tree->parts}, "what", "Activity", HP_CELL_BAR, HP_FIGURE_TEXT, 20,
            1, "What they do there, callees included.");
    if (tree->has_waits)
        HP_SHOW_IF(to, waiting_of(tree) > 0, tree->row->cells[tree->waits_for].text, "for", "Waits for",
                   HP_CELL_TEXT, HP_FIGURE_TEXT, 30, 4, "What it waited for longest in one place.");
    HP_SHOW(to, tree->row->cells[tree->library].text, "library", "Library", HP_CELL_TEXT, HP_FIGURE_TEXT, 24, 5,
            "The program or library that contains it.");
}

/* On this path, callees included; of the causes of waiting the longest one stands for all. */
static void find_parts(const struct stack_tree *tree, double *parts)
{
    const char *cause = tree->row->cells[tree->waits_for].text;
    parts[HP_PART_USER] = cell_of(tree, tree->total) / tree->ns;
    parts[cause != NULL ? hp_part_of_cause(cause_named(cause)) : HP_PART_SLEEP] += waiting_of(tree) / tree->ns;
}

static void make_sampled(struct hp_console *console, const struct hotpath_section *section, double *parts)
{
    struct hp_table *table = &console->table;
    struct hp_table_fields to = {.table = table};
    struct stack_tree tree = {.section = section,
                              .name = hp_section_column(section, "name"),
                              .library = hp_section_column(section, "library"),
                              .total = hp_section_column(section, "total_ns"),
                              .self = hp_section_column(section, "self_ns"),
                              .percent = hp_section_column(section, "percent_total"),
                              .percent_wall = hp_section_column(section, "percent_wall"),
                              .waiting = hp_section_column(section, "total_waiting_ns"),
                              .idle = hp_section_column(section, "total_idle_ns"),
                              .waits_for = hp_section_column(section, "waits_for"),
                              .ns = hp_watched_sampled_ns(&console->watched)};
    for (size_t row = 0; row < section->row_count; row++) {
        tree.row = &section->rows[row];
        tree.sum += tree.row->depth == 0 ? work_of(&tree) : 0;
        tree.has_waits |= waiting_of(&tree) > 0;
    }
    show_stack_tree(&to, &tree);
    struct hp_table_row *rows = hp_table_make_rows(table, &console->arena, section->row_count);
    for (size_t row = 0; rows != NULL && row < section->row_count; row++) {
        tree.row = &section->rows[row];
        tree.parts = &parts[row * HP_PARTS];
        hp_view_begin_row(console, section, row, 100 * work_of(&tree) < SMALL_PERCENT * tree.sum);
        find_parts(&tree, &parts[row * HP_PARTS]);
        to = (struct hp_table_fields){.table = table, .row = &rows[row]};
        show_stack_tree(&to, &tree);
    }
}

void hp_view_tree(struct hp_console *console, const struct hotpath_section *section)
{
    double *parts = hp_arena_take_array(&console->arena, (section->row_count + 1) * HP_PARTS, sizeof *parts);
    console->table.is_tree = true;
    console->table.if_empty = section->if_empty;
    if (parts == NULL)
        return;
    if (strcmp(section->name, "stacktree") == 0)
        make_sampled(console, section, parts);
    else
        make_measured(console, section, parts);
}
