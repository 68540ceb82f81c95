/*
 * The tables of each tab, and what they are made of. Tables about functions are made from their numbers in the
 * current window; all others are sections, as in reports: a new section gets a sub-view automatically.
 * SPDX-License-Identifier: MIT
 */
#include "views.h"

#include <stdio.h>
#include <string.h>

#include "alloc_profile.h"
#include "cpu_profile.h"
#include "wait_profile.h"

/* ------------------------------------------------------------------------------------------- sub-views */

/* The tabs of sections; one that is not listed is next to the channels. */
static const struct {
    const char *section; /* or the name of a view that is not a section */
    enum hp_tab tab;
    bool is_own; /* not a section */
} places[] = {
    {"timing", HP_TAB_FUNCTIONS, true},
    {"cpu", HP_TAB_FUNCTIONS, true},
    {"memory", HP_TAB_FUNCTIONS, true},
    {"waiting", HP_TAB_FUNCTIONS, true},
    {"sampled", HP_TAB_FUNCTIONS, true},
    {"calltree", HP_TAB_TREE, false},
    {"stacktree", HP_TAB_TREE, false},
    {"sampled", HP_TAB_STACKS, true},
    {"alloc-functions", HP_TAB_STACKS, false},
    {"channels", HP_TAB_FLOW, false},
    {"tasks", HP_TAB_FLOW, false},
    {"open-tasks", HP_TAB_FLOW, false},
    {"streams", HP_TAB_FLOW, false},
    {"loops", HP_TAB_FLOW, false},
    {"io", HP_TAB_FLOW, false},
    {"io-by", HP_TAB_FLOW, false},
    {"threads", HP_TAB_THREADS, false},
    {"alloc-threads", HP_TAB_THREADS, false},
    {"processes", HP_TAB_THREADS, false},
    {"waiters", HP_TAB_WAITS, true},
    {"waits", HP_TAB_WAITS, true},
    {"locks", HP_TAB_WAITS, false},
    {"blocked-by", HP_TAB_WAITS, false},
    {"critical-path", HP_TAB_WAITS, false},
    {"path-waits", HP_TAB_WAITS, false},
    {"calls", HP_TAB_CALLS, false},
    {"recent", HP_TAB_CALLS, false},
    {"slowest", HP_TAB_CALLS, false},
    {"timeline", HP_TAB_CALLS, false},
    {"cold", HP_TAB_CALLS, false},
};

/* Sections that are covered by tables of functions. */
static bool is_shown_otherwise(const char *section)
{
    static const char *const names[] = {"bottlenecks", "timing",      "functions",  "waits",
                                        "cpu",         "alloc-bytes", "alloc-count"};
    for (size_t at = 0; at < sizeof names / sizeof names[0]; at++)
        if (strcmp(names[at], section) == 0)
            return true;
    return false;
}

/* Views that are not sections, though one may have their name. */
static bool is_own(const char *view)
{
    for (size_t at = 0; at < sizeof places / sizeof places[0]; at++)
        if (places[at].is_own && strcmp(places[at].section, view) == 0)
            return true;
    return false;
}

static bool is_placed(const char *section)
{
    for (size_t at = 0; at < sizeof places / sizeof places[0]; at++)
        if (!places[at].is_own && strcmp(places[at].section, section) == 0)
            return true;
    return false;
}

static const struct hp_section_type *type_of(const char *name)
{
    for (size_t at = 0; at < hp_section_type_count; at++)
        if (strcmp(hp_section_types[at]->name, name) == 0)
            return hp_section_types[at];
    return NULL;
}

/* Whether a section is made of stacks, which may be known of the whole run only. */
static bool is_of_stacks(const char *section)
{
    return strcmp(section, "stacktree") == 0 || strcmp(section, "alloc-functions") == 0;
}

static bool has_sampled(const struct hp_console *console, const char *section)
{
    const struct hp_found_part *part = hp_found_shown(&console->watched.found);
    if (part == NULL)
        return false;
    if (strcmp(section, "alloc-functions") == 0)
        return part->functions.counts.allocs > 0;
    return strcmp(section, "waiters") != 0 || part->functions.counts.waits > 0;
}

/* Sections that are expensive to check, or available on request, always count as having data. */
static bool has_data(const struct hp_console *console, const struct hp_section_type *type)
{
    const bool is_dear =
        strcmp(type->name, "calls") == 0 || strcmp(type->name, "slowest") == 0 || strcmp(type->name, "cold") == 0;
    if (type->is_available != NULL && !type->is_available())
        return false;
    if (is_dear)
        return true;
    if (is_of_stacks(type->name))
        return has_sampled(console, type->name);
    if (strcmp(type->name, "calltree") == 0)
        return console->watched.has_measured;
    if (strcmp(type->name, "io") == 0 || strcmp(type->name, "io-by") == 0) /* of the whole run only */
        return console->watched.side_watch.io != NULL && console->watched.side_watch.io->row_count > 0;
    return type->has_data == NULL || console->watched.range == NULL || type->has_data(console->watched.range);
}

/* Measured functions are shown in more than one way, if there are any; sampled ones, if there are stacks. */
static bool has_own(const struct hp_console *console, const char *view)
{
    const struct hp_watched *watched = &console->watched;
    const struct hp_run *run = &watched->reader.model.run;
    if (strcmp(view, "sampled") == 0)
        return has_sampled(console, view) || !watched->has_measured;
    if (strcmp(view, "waits") == 0)
        return hp_run_has_waits(run);
    if (strcmp(view, "waiters") == 0)
        return !watched->has_measured && has_sampled(console, view);
    if (!watched->has_measured)
        return false;
    if (strcmp(view, "cpu") == 0)
        return hp_run_has_cpu(run);
    if (strcmp(view, "memory") == 0)
        return hp_run_has_allocs(run);
    return strcmp(view, "waiting") != 0 || hp_run_has_waits(run);
}

static void add_sub(struct hp_console *console, const char *name)
{
    if (console->sub_count < HP_CONSOLE_SUBS)
        console->subs[console->sub_count++] = name;
}

void hp_console_find_subs(struct hp_console *console)
{
    console->sub_count = 0;
    for (size_t at = 0; at < sizeof places / sizeof places[0]; at++) {
        const struct hp_section_type *type = type_of(places[at].section);
        if (places[at].tab == console->tab &&
            (places[at].is_own ? has_own(console, places[at].section) : type != NULL && has_data(console, type)))
            add_sub(console, places[at].section);
    }
    for (size_t at = 0; at < hp_section_type_count; at++) {
        const struct hp_section_type *type = hp_section_types[at];
        if (!is_placed(type->name) && !is_shown_otherwise(type->name) && console->tab == HP_TAB_FLOW &&
            has_data(console, type))
            add_sub(console, type->name);
    }
    if (console->sub[console->tab] >= console->sub_count)
        console->sub[console->tab] = 0;
}

const char *hp_console_sub(const struct hp_console *console)
{
    const unsigned sub = console->sub[console->tab];
    return sub < console->sub_count ? console->subs[sub] : "";
}

/* Whether the table is of functions. */
static bool shows_functions(const struct hp_console *console)
{
    return console->tab == HP_TAB_OVERVIEW || console->tab == HP_TAB_FUNCTIONS ||
           strcmp(hp_console_sub(console), "sampled") == 0;
}

bool hp_view_is_of_stacks(const struct hp_console *console)
{
    return strcmp(console->table.key, "sampled") == 0 || strcmp(console->table.key, "waiters") == 0 ||
           is_of_stacks(hp_console_sub(console));
}

/* The sampled functions are those of the window even before the run is cut (watched.c). */
static bool is_of_window(const struct hp_section_type *type)
{
    return type->has_history && !is_of_stacks(type->name);
}

/* Flows are shown together. */
static void request_all(const struct hp_console *console, char *whole, char *range, size_t size)
{
    for (unsigned at = 0; at < console->sub_count; at++) {
        const struct hp_section_type *type = type_of(console->subs[at]);
        char *to = type != NULL && is_of_window(type) ? range : whole;
        const size_t length = strlen(to);
        snprintf(to + length, size - length, "%s%s", length > 0 ? "," : "", console->subs[at]);
    }
}

void hp_console_sections(const struct hp_console *console, char *whole, char *range, size_t size)
{
    whole[0] = range[0] = '\0';
    const char *sub = hp_console_sub(console);
    const struct hp_section_type *type = console->tab == HP_TAB_OVERVIEW || is_own(sub) ? NULL : type_of(sub);
    if (console->overlay == HP_OVERLAY_INSPECT && console->inspected == HP_INSPECTED_SLOWEST)
        snprintf(whole, size, "slowest");
    else if (console->overlay == HP_OVERLAY_INSPECT && console->inspected == HP_INSPECTED_CALLS)
        snprintf(whole, size, "calls");
    else if (console->tab == HP_TAB_FLOW) {
        request_all(console, whole, range, size);
        if (console->overlay == HP_OVERLAY_INSPECT) /* the log of the row */
            snprintf(whole + strlen(whole), size - strlen(whole), "%srecent", whole[0] != '\0' ? "," : "");
    } else if (type != NULL)
        snprintf(is_of_window(type) ? range : whole, size, "%s", sub);
}

/* -------------------------------------------------------------------------------------------- programs */

static const char *state_of(const struct hp_stored_session *program)
{
    static const char *const names[] = {"● live", "  elsewhere", "■ ended", "■ unfinished"};
    return program->is_paused ? "○ off" : names[program->state];
}

/* A process id is a name, not an amount. */
static struct hp_table_cell number_cell(struct hp_arena *arena, uint32_t number)
{
    char text[16];
    snprintf(text, sizeof text, "%u", (unsigned)number);
    struct hp_table_cell cell = hp_table_text(hp_arena_copy(arena, text, strlen(text)));
    cell.number = number;
    return cell;
}

static double age_of(const struct hp_console *console, const struct hp_stored_session *program)
{
    return (double)console->programs_now_ns - (double)program->began_ns;
}

static void show_program(struct hp_table_fields *to, struct hp_console *console,
                         const struct hp_stored_session *program)
{
    HP_SHOW(to, program->command[0] != '\0' ? program->command : "?", "command", "Program", HP_CELL_NAME,
            HP_FIGURE_TEXT, 20, 0, "The command.");
    HP_SHOW(to, state_of(program), "state", "State", HP_CELL_TEXT, HP_FIGURE_TEXT, 12, 0, "Its state.");
    HP_SHOW(to, number_cell(&console->arena, program->pid), "pid", "PID", HP_CELL_TEXT, HP_FIGURE_TEXT, 10, 1,
            "Its process id; for a run, that of the first process.");
    HP_SHOW(to, program->processes, "processes", "Processes", HP_CELL_FIGURE, HP_FIGURE_COUNT, 9, 2,
            "Number of measured processes.");
    HP_SHOW_IF(to, age_of(console, program) >= 0, age_of(console, program), "age", "Age", HP_CELL_FIGURE,
               HP_FIGURE_NS, 7, 3, "Time since it began.");
}

static void make_programs(struct hp_console *console)
{
    struct hp_table *table = &console->table;
    struct hp_table_fields to = {.table = table};
    table->if_empty =
        "No program is being measured. Run 'hotpath run ./program' in another terminal; it appears here.";
    show_program(&to, console, NULL);
    struct hp_table_row *rows = hp_table_make_rows(table, &console->arena, console->programs.count);
    for (size_t at = 0; rows != NULL && at < console->programs.count; at++) {
        const struct hp_stored_session *program = &console->programs.all[at];
        rows[at].id = program->began_ns ^ (uint64_t)program->pid << 40 ^ (uint64_t)program->is_run << 63;
        to = (struct hp_table_fields){.table = table, .row = &rows[at]};
        show_program(&to, console, program);
    }
}

/* ----------------------------------------------------------------------------------------------- tables */

/* Why no function is listed. */
static const char *why_no_function(const struct hp_console *console)
{
    const struct hp_watched *watched = &console->watched;
    if (watched->unknown > 0)
        return "No function history for this time range yet: t shows totals since the start.";
    if (watched->found.folder[0] == '\0')
        return "No function was measured. Was the program compiled with -DHOTPATH? 'hotpath run' finds functions "
               "of any program.";
    return watched->is_live
               ? "No function was measured. Those that stacks find are shown in a second or two, if stacks are "
                 "sampled."
               : "No function was measured, and there are no stacks.";
}

static void make_functions(struct hp_console *console)
{
    hp_view_functions(console, console->table.key);
    if (console->table.if_empty == NULL || console->watched.unknown > 0)
        console->table.if_empty = why_no_function(console);
}

const struct hotpath_section *hp_view_section_named(const struct hp_console *console, const char *name)
{
    const struct hotpath_section *section = hp_watched_section(console->watched.whole, name);
    return section != NULL ? section : hp_watched_section(console->watched.range, name);
}

static void make_table(struct hp_console *console)
{
    const struct hotpath_section *section =
        shows_functions(console) ? NULL : hp_view_section_named(console, hp_console_sub(console));
    if (!console->is_watching)
        make_programs(console);
    else if (shows_functions(console))
        make_functions(console);
    else if (strcmp(console->table.key, "waits") == 0)
        hp_view_waits(console);
    else if (strcmp(console->table.key, "waiters") == 0)
        hp_view_waiters(console);
    else if (section != NULL && console->tab == HP_TAB_TREE && console->is_turned[console->tab])
        hp_view_callers(console, section);
    else if (section != NULL && console->tab == HP_TAB_TREE)
        hp_view_tree(console, section);
    else if (section != NULL && strcmp(section->name, "threads") == 0)
        hp_view_threads(console, section);
    else if (section != NULL)
        hp_view_section(console, section);
    else
        hp_table_add(&console->table, &(struct hp_table_column){"name", "", HP_CELL_NAME, .width = 16});
    if (console->is_watching && console->tab == HP_TAB_TREE && console->table.if_empty == NULL)
        console->table.if_empty = why_no_function(console);
}

bool hp_console_counts_instructions(const struct hp_console *console)
{
    return console->is_watching && console->watched.has_data &&
           hp_run_counts_instructions(&console->watched.reader.model.run);
}

/* Times are numbers of instructions then, also those that are shown as threads. */
static void show_instructions(struct hp_console *console)
{
    struct hp_table *table = &console->table;
    const double elapsed = hp_view_is_of_stacks(console)
                               ? hp_watched_sampled_ns(&console->watched)
                               : (double)(console->watched.to_ns - console->watched.from_ns);
    for (size_t at = 0; at < table->column_count; at++) {
        struct hp_table_column *column = &table->columns[at];
        if (strcmp(column->key, "calls") == 0)
            column->from = 0; /* instead of their rate */
        else if (column->figure == HP_FIGURE_RATE || column->kind == HP_CELL_SPARK ||
                 strcmp(column->key, "alloc_s") == 0)
            column->from = HP_SCREEN_MOST + 1;
        for (size_t row = 0; column->figure == HP_FIGURE_THREADS && row < table->row_count; row++)
            table->rows[row].cells[at].number *= elapsed;
        if (column->figure == HP_FIGURE_NS || column->figure == HP_FIGURE_THREADS)
            column->figure = HP_FIGURE_COUNT;
    }
}

static const char *key_of(const struct hp_console *console)
{
    if (!console->is_watching)
        return "programs";
    if (console->tab == HP_TAB_TREE && console->is_turned[console->tab])
        return "callers";
    if (console->tab == HP_TAB_OVERVIEW)
        return console->watched.has_measured ? "timing" : "sampled";
    return console->sub_count > 0 ? hp_console_sub(console) : "none";
}

struct hp_table_view *hp_console_view_of(struct hp_console *console, const char *table)
{
    for (size_t at = 0; at < console->view_count; at++)
        if (strcmp(console->views[at].table, table) == 0)
            return &console->views[at];
    if (console->view_count == HP_CONSOLE_VIEWS)
        return &console->views[0];
    struct hp_table_view *view = &console->views[console->view_count++];
    snprintf(view->table, sizeof view->table, "%s", table);
    const char *sort = hp_choice_find(&console->choices, "sort", table);
    if (sort != NULL)
        snprintf(view->sort, sizeof view->sort, "%s", sort);
    view->is_reversed = hp_choice_find(&console->choices, "reverse", table) != NULL;
    return view;
}

/* The overview has its own order, and all columns: it says where the time goes, whatever a tab is sorted by. */
static const char *view_key(const struct hp_console *console)
{
    return console->is_watching && console->tab == HP_TAB_OVERVIEW ? "overview" : console->table.key;
}

static void find_hidden(struct hp_console *console)
{
    console->view->hidden = 0;
    for (size_t at = 1; at < console->table.column_count && at < 64; at++)
        if (hp_choice_has(&console->choices, "hide", console->view->table, console->table.columns[at].key))
            console->view->hidden |= UINT64_C(1) << at;
}

/* Rows are sorted at most every three seconds, and not while the user moves among them. */
#define SORT_NS UINT64_C(3000000000)
#define QUIET_NS UINT64_C(2000000000)

static bool may_sort(const struct hp_console *console)
{
    const struct hp_table_view *view = console->view;
    return console->sorts_anew || view->order_count == 0 ||
           (console->now_ns - view->sorted_ns >= SORT_NS &&
            (console->key_ns == 0 || console->now_ns - console->key_ns >= QUIET_NS));
}

void hp_console_prepare(struct hp_console *console)
{
    hp_arena_reset(&console->arena);
    console->table = (struct hp_table){0};
    hp_console_find_subs(console);
    console->table.key = key_of(console);
    console->view = hp_console_view_of(console, view_key(console));
    make_table(console);
    if (hp_console_counts_instructions(console))
        show_instructions(console);
    find_hidden(console);
    const bool sorts = may_sort(console);
    const bool has_functions = console->is_watching && shows_functions(console);
    if (has_functions && sorts)
        hp_view_functions_before_order(console);
    if (!hp_table_arrange(&console->table, console->view, &console->arena, sorts, &console->shown))
        console->shown = (struct hp_shown_rows){0};
    if (sorts)
        console->view->sorted_ns = console->now_ns;
    if (has_functions)
        hp_view_functions_shown(console);
}
