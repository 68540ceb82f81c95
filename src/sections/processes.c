/*
 * The section `processes`: one row per session, by the time it measured.
 *
 * That is the time of all zones that are not inside other zones, added up over its threads: the same as the self times
 * of all its functions together. A process that waits inside main measures that, too; HOTPATH_EXCLUDE_WRAPPER leaves
 * out what main functions do themselves. SPDX-License-Identifier: MIT
 */
#include "processes.h"

#include <string.h>

#include "arena.h"
#include "order.h"
#include "profile.h"
#include "sort.h"
#include "text.h"
#include "utf8.h"

#define COMMAND_COLUMNS 80u /* of a command in a name; all of it is in a column of its own */

struct process {
    const struct hp_session_sums *sums;
    uint64_t measured; /* ticks */
};

struct columns {
    size_t name, state, started, elapsed, threads, calls, total, percent, pid, parent_pid, command, scaled;
};

struct view {
    struct hotpath_results *results;
    struct columns columns;
    uint64_t whole; /* ticks that all of them measured */
};

static struct columns describe(struct hotpath_section *section)
{
    struct columns columns;
    columns.name =
        hp_section_add_column(section, "name", "Process", HOTPATH_UNIT_TEXT, HP_COLUMN_NAME | HP_COLUMN_KEEP, true);
    columns.state = hp_section_add_column(section, "state", "State", HOTPATH_UNIT_TEXT, 0, true);
    columns.started = hp_section_add_column(section, "started_ns", "Started", HOTPATH_UNIT_NS, 0, true);
    columns.elapsed = hp_section_add_column(section, "elapsed_ns", "Elapsed", HOTPATH_UNIT_NS, 0, true);
    columns.threads = hp_section_add_column(section, "threads", "Threads", HOTPATH_UNIT_COUNT, 0, true);
    columns.calls = hp_section_add_column(section, "calls", "Calls", HOTPATH_UNIT_COUNT, HP_COLUMN_KEEP, true);
    columns.total = hp_section_add_column(section, "total_ns", "Total", HOTPATH_UNIT_NS,
                                          HP_COLUMN_KEEP | HP_COLUMN_SAMPLED, true);
    columns.percent = hp_section_add_column(section, "percent_total", "% Total", HOTPATH_UNIT_PERCENT,
                                            HP_COLUMN_LATE | HP_COLUMN_SAMPLED, true);
    columns.pid = hp_section_add_column(section, "pid", "PID", HOTPATH_UNIT_COUNT, 0, false);
    columns.parent_pid = hp_section_add_column(section, "parent_pid", "Parent", HOTPATH_UNIT_COUNT, 0, false);
    columns.command = hp_section_add_column(section, "command", "Command", HOTPATH_UNIT_TEXT, 0, false);
    columns.scaled = hp_section_add_column(section, "scaled", "Scaled", HOTPATH_UNIT_TEXT, 0, false);
    return columns;
}

/* "1234 ./server --worker" */
static const char *name_process(struct hp_arena *arena, const struct hp_snapshot *snapshot)
{
    char bytes[16 + 4 * COMMAND_COLUMNS];
    struct hp_text name;
    const char *command = hp_snapshot_text(snapshot, snapshot->header.command);
    hp_text_init(&name, bytes, sizeof bytes);
    hp_text_u64(&name, snapshot->header.pid);
    if (command[0] != '\0') {
        hp_text_char(&name, ' ');
        hp_utf8_put_fitted(&name, command, strlen(command), COMMAND_COLUMNS);
    }
    return hp_arena_copy(arena, bytes, name.length);
}

static bool fill_row(const struct view *view, struct hp_row *row, const struct process *process)
{
    const struct columns *columns = &view->columns;
    const struct hp_run *run = &view->results->run;
    const struct hp_snapshot *snapshot = process->sums->snapshot;
    const char *name = name_process(view->results->arena, snapshot);
    if (name == NULL)
        return false;
    hp_section_set_text(row, columns->name, name);
    hp_section_set_text(row, columns->state, hp_snapshot_state_name(hp_snapshot_state(snapshot)));
    hp_section_set_number(row, columns->started, (double)hp_run_started_ns(run, snapshot));
    hp_section_set_number(row, columns->elapsed, hp_run_ns(run, hp_snapshot_elapsed(snapshot)));
    hp_section_set_count(row, columns->threads, snapshot->header.threads_seen);
    hp_section_set_count(row, columns->calls, process->sums->calls);
    hp_section_set_number(row, columns->total, hp_run_ns(run, process->measured));
    if (view->whole > 0)
        hp_section_set_number(row, columns->percent, 100 * (double)process->measured / (double)view->whole);
    row->is_sampled = process->sums->is_scaled;
    hp_section_set_text(row, columns->scaled, hp_profile_scaled_name(row->is_sampled, false));
    hp_section_set_count(row, columns->pid, snapshot->header.pid);
    hp_section_set_count(row, columns->parent_pid, snapshot->header.parent_pid);
    hp_section_set_text(row, columns->command, hp_snapshot_text(snapshot, snapshot->header.command));
    return true;
}

static uint64_t measured_by(const struct hp_session_sums *session, const struct hp_settings *settings)
{
    const struct hp_sums main = {.self = session->in_main};
    const uint64_t apart = settings->exclude_wrapper ? hp_sums_self(&main) : 0;
    return session->total > apart ? session->total - apart : 0;
}

/* Those that measured the same stay in the order they were given in. */
static int compare_processes(const void *a, const void *b)
{
    const struct process *x = a, *y = b;
    if (x->measured != y->measured)
        return x->measured > y->measured ? -1 : 1;
    return x->sums == y->sums ? 0 : x->sums < y->sums ? -1 : 1;
}

/* The processes in order; NULL: no memory. */
static struct process **rank(struct view *view)
{
    const size_t count = view->results->run.count;
    struct process *processes = hp_arena_take_array(view->results->arena, count, sizeof *processes);
    struct process **order = hp_arena_take_array(view->results->arena, count, sizeof(void *));
    if (processes == NULL || order == NULL)
        return NULL;
    for (size_t at = 0; at < count; at++) {
        processes[at].sums = &view->results->profile->sessions[at];
        processes[at].measured = measured_by(processes[at].sums, view->results->settings);
        view->whole += processes[at].measured;
        order[at] = &processes[at];
    }
    hp_sort(order, count, compare_processes);
    return order;
}

static void add_notes(const struct hotpath_results *results, struct hotpath_section *section)
{
    if (results->run.states[HP_SNAPSHOT_ENDED] > 0)
        hp_section_note(section, "ended: killed, or left by _exit or exec; counted up to the last sign");
    bool has_scaled = false;
    for (size_t at = 0; at < section->row_count; at++)
        has_scaled |= section->rows[at].is_sampled;
    if (has_scaled)
        hp_profile_note_scaled(results->profile, section);
    if (results->settings->exclude_wrapper)
        hp_section_note(section, "Total is without what the main function does itself");
}

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    struct view view = {.results = results, .columns = describe(section)};
    hp_section_show_columns(results, section);
    if (!hp_order_choose(results, section, view.columns.total, view.columns.percent))
        return false;
    section->description = "Time in zones, process by process.";
    section->percent_of = "rows";
    section->total_rows = results->run.count;
    struct process **order = rank(&view);
    if (order == NULL || !hp_section_make_rows(results, section, results->run.count))
        return false;
    for (size_t row = 0; row < section->row_count; row++)
        if (!fill_row(&view, &section->rows[row], order[row]))
            return false;
    add_notes(results, section);
    return hp_order_apply(results, section, results->settings->functions_limit);
}

static bool has_data(const struct hotpath_results *results) { return results->run.count > 1; }

const struct hp_section_type hp_section_processes = {.name = "processes", .has_data = has_data, .fill = fill};
