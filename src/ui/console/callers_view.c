/*
 * The call tree inverted: below each function its callers, with the function's own time when they called it.
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "sort.h"
#include "views.h"

/*
 * Rows of the section that a row of the inverted tree stands for: where the time was spent (`origins`), and the
 * caller reached so far (`currents`).
 */
struct turned {
    const struct hotpath_section *section;
    struct hp_console *console;
    size_t name, self, calls, polls;
    bool is_sampled; /* the section of stacks: times are CPU time, and there are no calls */
    double elapsed, sum;
    uint32_t *origins, *currents; /* of all rows with own time */
    size_t made, room;
    size_t from, to; /* the part of these lists that is the row being filled */
};

#define MOST_TURNED 4000u
#define MOST_TURNED_DEPTH 24u
#define LEAST_TURNED 0.0005 /* of all time: smaller rows are left out */

static const char *turned_name(const struct turned *turned, uint32_t row)
{
    const char *name = turned->section->rows[row].cells[turned->name].text;
    return name != NULL ? name : "?";
}

static double turned_time(const struct turned *turned, size_t from, size_t to)
{
    double time = 0;
    for (size_t at = from; at < to; at++)
        time += turned->section->rows[turned->origins[at]].cells[turned->self].number;
    return time;
}

/* Per second, of those that have a value: functions have calls, tasks polls. */
static struct hp_table_cell rate_of(const struct turned *turned, size_t column)
{
    double sum = 0;
    bool has_value = false;
    for (size_t at = turned->from; at < turned->to; at++) {
        const struct hp_cell *its = &turned->section->rows[turned->origins[at]].cells[column];
        has_value |= its->has_value;
        sum += its->has_value ? (double)its->count : 0;
    }
    return (struct hp_table_cell){.has_value = has_value, .number = sum * 1e9 / turned->elapsed};
}

static double own_of(const struct turned *turned)
{
    return turned_time(turned, turned->from, turned->to) / turned->elapsed;
}

static double share_of(const struct turned *turned)
{
    return turned->sum > 0 ? 100 * own_of(turned) / turned->sum : 0;
}

static void show_callers(struct hp_table_fields *to, const struct turned *turned)
{
    HP_SHOW(to, turned_name(turned, turned->currents[turned->from]), "name", "Callers", HP_CELL_NAME,
            HP_FIGURE_TEXT, 24, 0, "Callers, indented below a function.");
    if (turned->is_sampled) {
        HP_SHOW(to, own_of(turned), "own", "Own CPU", HP_CELL_FIGURE, HP_FIGURE_THREADS, 6, 0,
                "CPUs that the function kept busy itself on this call path, on average.");
        HP_SHOW(to, share_of(turned), "share", "CPU %", HP_CELL_FIGURE, HP_FIGURE_PERCENT, 6, 1,
                "Of the CPU time of all functions.");
        return;
    }
    HP_SHOW(to, own_of(turned), "own", "Own", HP_CELL_FIGURE, HP_FIGURE_THREADS, 6, 0,
            "Threads in the function itself on this call path, on average.");
    HP_SHOW_IF(to, turned->sum > 0, share_of(turned), "share", "Share", HP_CELL_FIGURE, HP_FIGURE_PERCENT, 6, 1,
               "Of the time of all threads in functions.");
    HP_SHOW(to, rate_of(turned, turned->calls), "calls_s", "Calls/s", HP_CELL_FIGURE, HP_FIGURE_RATE, 7, 2,
            "Calls per second on this path.");
    if (turned->polls < turned->section->column_count)
        HP_SHOW(to, rate_of(turned, turned->polls), "polls_s", "Polls/s", HP_CELL_FIGURE, HP_FIGURE_RATE, 7, 3,
                "How often tasks ran on this path, per second.");
}

static void make_turned_row(struct turned *turned, size_t from, size_t to, unsigned depth, uint64_t id)
{
    struct hp_table *table = &turned->console->table;
    struct hp_table_row *row = &table->rows[turned->made];
    struct hp_table_fields fields = {.table = table, .row = row};
    row->id = id;
    row->subject = turned->section->rows[turned->currents[from]].id;
    row->index = turned->made++;
    row->depth = depth;
    row->begins_folded = turned->is_sampled; /* there are many of them */
    row->is_folded = hp_table_is_folded(turned->console->view, row);
    turned->from = from;
    turned->to = to;
    show_callers(&fields, turned);
}

/* Entries of one name, adjacent in the list. */
struct group {
    size_t from, to;
    double time;
};

static int compare_times(const void *a, const void *b)
{
    const double x = ((const struct group *)a)->time, y = ((const struct group *)b)->time;
    return x == y ? 0 : x > y ? -1 : 1;
}

static void swap(struct turned *turned, size_t one, size_t other)
{
    const uint32_t origin = turned->origins[one], current = turned->currents[one];
    turned->origins[one] = turned->origins[other];
    turned->currents[one] = turned->currents[other];
    turned->origins[other] = origin;
    turned->currents[other] = current;
}

/* Moves all entries with the first one's name to the front; returns where they end. */
static size_t take_group(struct turned *turned, size_t from, size_t to)
{
    const char *name = turned_name(turned, turned->currents[from]);
    size_t end = from + 1;
    for (size_t at = from + 1; at < to; at++)
        if (strcmp(turned_name(turned, turned->currents[at]), name) == 0)
            swap(turned, at, end++);
    return end;
}

/* Moves each entry to its caller; entries without one are left behind. Returns where the others end. */
static size_t step_up(struct turned *turned, const struct group *group)
{
    size_t end = group->from;
    for (size_t at = group->from; at < group->to; at++) {
        const uint32_t parent = turned->section->rows[turned->currents[at]].parent;
        if (parent == 0)
            continue;
        turned->currents[at] = parent - 1;
        swap(turned, at, end++);
    }
    return end;
}

static uint64_t id_of(uint64_t above, const char *name)
{
    uint64_t id = above * UINT64_C(0x9e3779b97f4a7c15) + 1;
    for (; *name != '\0'; name++)
        id = (id ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return id;
}

/* Makes the rows of a part of the list, most time first, each with its callers below it. */
static void turn(struct turned *turned, size_t from, size_t to, unsigned depth, uint64_t id)
{
    struct group **order = hp_arena_take_array(&turned->console->arena, to - from + 1, sizeof(void *));
    struct group *groups = hp_arena_take_array(&turned->console->arena, to - from + 1, sizeof *groups);
    size_t count = 0;
    if (order == NULL || groups == NULL)
        return;
    for (; from < to; from = groups[count++].to) {
        const size_t end = take_group(turned, from, to);
        groups[count] = (struct group){from, end, turned_time(turned, from, end)};
        order[count] = &groups[count];
    }
    hp_sort(order, count, compare_times);
    for (size_t at = 0; at < count && turned->made < turned->room; at++) {
        const size_t row = turned->made;
        if (turned->is_sampled && order[at]->time < LEAST_TURNED * turned->sum * turned->elapsed)
            break;
        const uint64_t own = id_of(id, turned_name(turned, turned->currents[order[at]->from]));
        make_turned_row(turned, order[at]->from, order[at]->to, depth, own);
        const size_t end = depth < MOST_TURNED_DEPTH ? step_up(turned, order[at]) : order[at]->from;
        turned->console->table.rows[row].has_children = end > order[at]->from;
        if (end > order[at]->from)
            turn(turned, order[at]->from, end, depth + 1, own);
    }
}

void hp_view_callers(struct hp_console *console, const struct hotpath_section *section)
{
    struct hp_table *table = &console->table;
    struct turned turned = {.section = section,
                            .console = console,
                            .name = hp_section_column(section, "name"),
                            .self = hp_section_column(section, "self_ns"),
                            .polls = hp_view_polls_column(section),
                            .is_sampled = strcmp(section->name, "stacktree") == 0,
                            .elapsed = console->watched.elapsed_ns > 0 ? (double)console->watched.elapsed_ns : 1,
                            .room = MOST_TURNED};
    if (turned.is_sampled)
        turned.elapsed = hp_watched_sampled_ns(&console->watched);
    else
        turned.calls = hp_section_column(section, "calls");
    show_callers(&(struct hp_table_fields){.table = table}, &turned);
    table->is_tree = true;
    table->if_empty = section->if_empty;
    turned.origins = hp_arena_take_array(&console->arena, section->row_count + 1, sizeof *turned.origins);
    turned.currents = hp_arena_take_array(&console->arena, section->row_count + 1, sizeof *turned.currents);
    if (turned.origins == NULL || turned.currents == NULL ||
        hp_table_make_rows(table, &console->arena, turned.room) == NULL) {
        table->row_count = 0;
        return;
    }
    size_t count = 0;
    for (uint32_t row = 0; row < section->row_count; row++) {
        turned.sum += section->rows[row].cells[turned.self].number / turned.elapsed;
        turned.origins[count] = turned.currents[count] = row;
        count++;
    }
    turn(&turned, 0, count, 0, 1);
    table->row_count = turned.made;
}
